# SPDX-License-Identifier: Apache-2.0
"""Columns that users hand over, read by one set of rules at every door.

A column is a list, an array, a Series or an Arrow array of one dimension. Tables, texts, mappings,
sets, iterators and single values are none (TypeError), nor are arrays of other dimensions
(ValueError). A masked array is refused: what is below the mask would count.

Each entry is read by itself, as exactly the number it is. Numpy finds one type for all entries of
a list, so that a single text or a single real among integers would change how everybody's entries
are read: lists are read as objects. A missing entry turns a column of integers into doubles, which
merge large ones: such columns are read as objects too. Which types are refused does not depend on
the values, and messages speak of types only.

Numbers are integers, doubles, Fractions and Decimals, of Python, numpy, pandas, polars and Arrow.
Texts, dates, durations and complex numbers are none. What is missing, which is None, NA or NaT, is
a ValueError, and booleans and extended precision are a TypeError, unless the door says that it
reads them: what is missing as a value of its own, booleans as 0 and 1, extended precision exactly.
NaN and infinities are numbers here: what they count for is for the door to say.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from sordino.numbers.rational import is_integer, read_signed

Array: TypeAlias = npt.NDArray[Any]
Exact: TypeAlias = "int | Fraction | float"

_FARTHEST = 10_000  # decimals with more digits than this are infinite, or 0
_CLAMPED_DIGITS = 1000
_LARGEST_CLAMPED: int = 10**_CLAMPED_DIGITS
_WHOLE = int | np.integer | np.bool_
_NUMBERS = int | float | Fraction | Decimal | np.integer | np.floating
_BOOLEANS = bool | np.bool_
_DATES = datetime.date | datetime.timedelta | np.datetime64 | np.timedelta64
DAYS = "turn dates into numbers, such as (d - START).dt.days"
_MISSING_TYPES = {"NoneType", "NAType", "NaTType"}
_ARRAYS_OF = {
    "U": "strings",
    "S": "bytes",
    "b": "booleans",
    "M": "dates",
    "m": "durations",
    "c": "complex numbers",
    "f": "long doubles",
}


@dataclass(frozen=True, slots=True)
class Door:
    """The words in which a door refuses what is no column of numbers.

    In a sentence ``{0}`` is what was handed over: for ``rule`` the type of an entry or of an array,
    for ``shape`` something that is no column. Hints for texts, dates and mappings are added to the
    rule. The words of booleans and extended precision are those of the rule unless they are given.
    """

    rule: str
    shape: str
    missing: str
    masked: str | None = None
    table: str | None = None
    booleans: str | None = None
    extended: str | None = None
    entry: str = "{0}"
    texts: str = ""
    dates: str = ""
    mappings: str = ""
    reads_missing: bool = False
    reads_booleans: bool = False
    reads_extended: bool = False


def clamping_door(name: str, *, rule: str | None = None, reads_booleans: bool = True) -> Door:
    """Return a door that clamps what it reads, so that nothing missing or far out is an error.

    >>> clamping_door("bids").rule.format("str")
    'bids must be numbers, got str'
    """
    return Door(
        rule=rule or f"{name} must be numbers, got {{0}}",
        shape=f"{name} must be one column, got {{0}}",
        missing=f"some {name} are missing; fill them in or leave them out",
        masked=f"{name} must not be masked; leave out what has no value, or fill it in, first",
        reads_missing=True,
        reads_booleans=reads_booleans,
        reads_extended=True,
    )


def read_numbers(door: Door, values: object) -> Array:
    """Return a column of numbers: an array of integers or doubles, or objects one by one."""
    array = read_entries(door, values)
    kinds = check_numbers(door, array)
    if kinds == {float}:
        return array.astype(np.float64)
    whole = _packed(array) if kinds == {int} else None
    return array if whole is None else whole


def read_whole(door: Door, values: object) -> Array:
    """Return a column of integers, of any size; numbers of other types are refused.

    >>> read_whole(clamping_door("counts"), [3, 2**63]).tolist()
    [3, 9223372036854775808]
    """
    array = read_entries(door, values)
    kinds = check_numbers(door, array)
    if array.dtype.kind == "f" and array.size:  # numpy makes an empty list doubles
        raise TypeError(door.rule.format("an array of real numbers"))
    if array.dtype.kind != "O":
        return array
    for kind in kinds:
        if not issubclass(kind, int | np.integer):
            raise TypeError(door.rule.format(door.entry.format(kind.__name__)))
    whole = _packed(array)
    return array if whole is None else whole


def read_entries(door: Door, values: object) -> Array:
    """Return a column as an array: of its own type if it has one, of objects otherwise."""
    refuse_tables(door, values)
    if isinstance(values, Sequence) and not isinstance(values, str | bytes | bytearray):
        return np.fromiter(values, dtype=object, count=len(values))
    if isinstance(values, str | bytes | bytearray | np.generic | Mapping | Set | Iterator):
        raise TypeError(door.shape.format(f"a value of type {type(values).__name__}"))
    array = unboxed(values)
    if array is None or (array.ndim == 0 and not isinstance(values, np.ndarray)):
        raise TypeError(door.shape.format(f"a value of type {type(values).__name__}"))
    if array.ndim != 1:
        raise ValueError(door.shape.format(f"an array of {array.ndim} dimensions"))
    return array


def refuse_tables(door: Door, values: object) -> None:
    """Refuse a masked array and a table, of which numpy would take something else."""
    kind = f"a value of type {type(values).__name__}"
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(door.masked or door.shape.format(kind))
    if hasattr(type(values), "columns"):
        raise TypeError(door.table or door.shape.format(kind))


def unboxed(values: Any) -> Array | None:
    """Return what another library holds as an array; objects where one type would change some."""
    if not hasattr(values, "__array__"):
        return None
    array = np.asarray(values)
    if array.dtype.kind == "f" and not _holds_reals(values):
        # A missing entry has turned a column of integers into doubles, which merge large ones.
        return np.fromiter(_one_by_one(values), dtype=object, count=array.size)
    return array.astype(object) if array.dtype.kind == "T" else array


def check_numbers(door: Door, array: Array) -> set[type]:
    """Refuse an array of what is not numbers; return the types of its objects, if it has any."""
    code = array.dtype.kind
    kinds = kinds_of(array) if code == "O" else set()
    for kind in kinds:
        check_kind(door, kind)
    if code == "O":
        return kinds
    if code == "b" and not door.reads_booleans:
        raise TypeError(door.booleans or door.rule.format("an array of booleans"))
    if code == "f" and array.dtype.itemsize > 8 and not door.reads_extended:
        raise TypeError(door.extended or door.rule.format("an array of long doubles"))
    if code not in "biuf":
        name = f"an array of {_ARRAYS_OF.get(code, array.dtype.type.__name__)}"
        hint = door.texts if code == "U" else door.dates if code in "Mm" else ""
        raise TypeError(door.rule.format(name) + hint)
    return kinds


def check_kind(door: Door, kind: type) -> None:
    """Refuse an entry that is not a number, by its type."""
    if kind.__name__ in _MISSING_TYPES:
        if not door.reads_missing:
            raise ValueError(door.missing)
    elif issubclass(kind, _BOOLEANS):
        if not door.reads_booleans:
            raise TypeError(door.booleans or _refused(door, kind))
    elif issubclass(kind, np.longdouble):
        if not door.reads_extended:
            raise TypeError(door.extended or _refused(door, kind))
    elif not is_number(kind):
        raise TypeError(_refused(door, kind))


def is_number(kind: type) -> bool:
    """Tell whether entries of a type are numbers; booleans and durations are not."""
    return issubclass(kind, _NUMBERS) and not issubclass(kind, bool | np.timedelta64)


def _refused(door: Door, kind: type) -> str:
    hint = ""
    if issubclass(kind, str):
        hint = door.texts
    elif issubclass(kind, _DATES):
        hint = door.dates
    elif issubclass(kind, Mapping):
        hint = door.mappings
    return door.rule.format(door.entry.format(kind.__name__)) + hint


def _holds_reals(values: Any) -> bool:
    """Tell whether a column was made for reals, by the type that it states."""
    if isinstance(values, np.ndarray):
        return True
    stated = getattr(values, "dtype", None) or getattr(values, "type", None)
    return str(stated).lower().startswith(("float", "double", "halffloat"))


def _one_by_one(values: Any) -> Iterable[Any]:
    for way in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, way):
            return cast("Iterable[Any]", getattr(values, way)())
    return cast("Iterable[Any]", values)


def kinds_of(array: Array) -> set[type]:
    """Return the types of the objects in an array."""
    return set(map(type, array.reshape(-1).tolist()))


def as_int64(array: Array) -> npt.NDArray[np.int64] | None:
    """Return objects as 64-bit integers, if that is what all of them are."""
    if not all(issubclass(kind, _WHOLE) and not _is_time(kind) for kind in kinds_of(array)):
        return None
    return _packed(array)


def _packed(whole: Array) -> npt.NDArray[np.int64] | None:
    """Return whole numbers that are objects as 64-bit integers, or None if one does not fit."""
    try:
        return whole.astype(np.int64)
    except OverflowError:
        return None


def is_missing(x: object) -> bool:
    """Tell whether an entry stands for nothing: None, NaN and what other libraries have for it.

    >>> [is_missing(x) for x in (None, float("nan"), Decimal("nan"), 0, "")]
    [True, True, True, False, False]
    """
    if isinstance(x, np.datetime64 | np.timedelta64):
        return bool(np.isnat(x))
    if isinstance(x, Decimal):
        return x.is_nan()
    if isinstance(x, float | np.floating):
        return bool(np.isnan(x))
    return type(x).__name__ in _MISSING_TYPES


def number_of(x: object) -> Exact | None:
    """Return the number that an entry is, exactly; None if it is not a number.

    Whole numbers are int, whatever their type was, infinities are float, all others Fraction.
    Decimals from 10**10000 on count as infinite, those of 10**-10000 and less as 0.

    >>> number_of(2.0), number_of(True), number_of(Decimal("0.1")), number_of("2")
    (2, 1, Fraction(1, 10), None)
    """
    if isinstance(x, _WHOLE) and not _is_time(type(x)):
        return int(x)
    if is_missing(x) or not isinstance(x, float | np.floating | Decimal | Fraction):
        return None
    if isinstance(x, Decimal) and x and x.is_finite() and abs(x.adjusted()) >= _FARTHEST:
        x = 0.0 if x.adjusted() < 0 else math.copysign(math.inf, x)
    if abs(x) == math.inf:
        return math.inf if x > 0 else -math.inf
    above, below = x.as_integer_ratio()
    exact = Fraction(int(above), int(below))
    return exact.numerator if exact.denominator == 1 else exact


def clamped(x: Any) -> int | float | Fraction | Decimal:
    """Return a number from -10**1000 to 10**1000, as it is; what is not finite is a float.

    Decimals closer to 0 than 10**-1000 are 0. Clamping moves no two numbers further apart, and no
    number is written out that would take long.

    >>> clamped(Decimal("1e-5000")), clamped(Fraction(1, 3)), clamped(Decimal("-inf"))
    (0, Fraction(1, 3), -inf)
    """
    if isinstance(x, float | np.floating):
        return float(x)
    if isinstance(x, Decimal):
        if not x.is_finite():
            return math.nan if x.is_nan() else math.copysign(math.inf, x)
        if not x or x.adjusted() < -_CLAMPED_DIGITS:
            return 0
        if x.adjusted() >= _CLAMPED_DIGITS:
            return _LARGEST_CLAMPED if x > 0 else -_LARGEST_CLAMPED
        return x
    exact = x if isinstance(x, Fraction) else int(x)
    return min(max(exact, -_LARGEST_CLAMPED), _LARGEST_CLAMPED)


def nearest_double(x: object) -> float:
    """Return the double nearest to an entry, an infinity beyond all of them, NaN if it is missing.

    >>> nearest_double(Fraction(1, 3)), nearest_double(10**400), nearest_double(None)
    (0.3333333333333333, inf, nan)
    """
    if is_missing(x):
        return math.nan
    try:
        return float(x)  # type: ignore[arg-type]  # its kind has been checked
    except OverflowError:
        return math.inf if x > 0 else -math.inf  # type: ignore[operator]  # it is a number


def as_doubles(array: Array) -> npt.NDArray[np.float64]:
    """Return a column of numbers as the nearest doubles; what is missing is NaN."""
    if array.dtype.kind != "O" or kinds_of(array) <= {int, float}:
        try:
            with np.errstate(over="ignore"):  # long doubles may become infinite
                return array.astype(np.float64, copy=False)
        except OverflowError:  # an integer is beyond all doubles
            pass
    return np.array([nearest_double(x) for x in array.tolist()], dtype=np.float64)


def _is_time(kind: type) -> bool:
    return issubclass(kind, np.timedelta64)  # which numpy counts among the integers


def read_finite(name: str, value: object, *, rule: str = "a finite number") -> Fraction:
    """Read a finite number of either sign; whoever has dates is told what to do with them.

    >>> read_finite("low", -0.1)
    Fraction(-1, 10)
    >>> read_finite("low", "0")
    Traceback (most recent call last):
    TypeError: low must be a finite number, got a value of type str
    """
    if isinstance(value, np.floating):
        value = Decimal(str(value))  # what it prints as, in its own precision
    if is_integer(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | Decimal):
        hint = f"; {DAYS}" if isinstance(value, _DATES) else ""
        raise TypeError(f"{name} must be {rule}, got a value of type {type(value).__name__}{hint}")
    if isinstance(value, float | Decimal) and not Decimal(value).is_finite():
        raise ValueError(
            f"{name} must be {rule}, got {str(value).lower().replace('infinity', 'inf')}"
        )
    return read_signed(name, value)
