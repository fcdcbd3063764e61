# SPDX-License-Identifier: Apache-2.0
"""Reading public numbers of either sign, and private columns of numbers."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.exact.rational import is_integer
from sordino.mechanisms.additive import as_array
from sordino.theorems.arguments import read_signed

_COLUMN = "values must be a list or a column of numbers, got {0}"
_DATES = (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)
_DATE_NAMES = {kind.__name__ for kind in _DATES} | {"datetime", "Timestamp", "Timedelta"}
_DAYS = "turn dates into numbers, such as (d - START).dt.days"


def read_finite(name: str, value: object, *, rule: str = "a finite number") -> Fraction:
    """Read a finite number of either sign; whoever has dates is told what to do with them.

    >>> read_finite("low", -0.1)
    Fraction(-1, 10)
    >>> read_finite("low", "0")
    Traceback (most recent call last):
    TypeError: low must be a finite number, got a value of type str

    Guarantee: none needed; public inputs only.
    """
    if isinstance(value, np.floating):
        value = Decimal(str(value))  # what it prints as, in its own precision
    if is_integer(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | Decimal):
        hint = f"; {_DAYS}" if isinstance(value, _DATES) else ""
        raise TypeError(f"{name} must be {rule}, got a value of type {type(value).__name__}{hint}")
    if isinstance(value, float | Decimal) and not Decimal(value).is_finite():
        raise ValueError(
            f"{name} must be {rule}, got {str(value).lower().replace('infinity', 'inf')}"
        )
    return read_signed(name, value)


def read_column(values: object) -> npt.NDArray[Any]:
    """Read a row of numbers: integers, doubles, or objects that are numbers of several types.

    Guarantee: none by itself; messages speak of types and never of contents.
    """
    try:
        array = as_array(values)
    except TypeError as error:
        raise TypeError(_said_of_values(str(error))) from None
    if array is None or array.ndim != 1:
        shown = f"an array of {array.ndim} dimensions" if array is not None else None
        raise TypeError(_COLUMN.format(shown or f"a value of type {type(values).__name__}"))
    return array


def _said_of_values(said: str) -> str:
    """Turn what is said of releases with noise into what helps somebody who has a column."""
    said = said.replace("release takes", "values must be").replace(" or arrays of numbers", "")
    if said.endswith("one by one"):  # releasing row by row does not help here
        said = said.partition(";")[0]
    return f"{said}; {_DAYS}" if said.split()[-1] in _DATE_NAMES else said
