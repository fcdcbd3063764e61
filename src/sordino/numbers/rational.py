# SPDX-License-Identifier: Apache-2.0
"""Exact fractions: what a user typed is read as one, and doubles are one, or a bound on it."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

if TYPE_CHECKING:
    import numpy as np

Integer: TypeAlias = "int | np.integer[Any]"
Number: TypeAlias = "int | float | Fraction | Decimal | np.integer[Any] | np.floating[Any]"
Exact: TypeAlias = int | Fraction | Decimal

LARGEST_BITS = 512  # of a numerator or a denominator
_LONGEST_DECIMAL = 160  # digits, or zeros: 10**155 already has more than 512 bits
_SMALLEST, _LARGEST = Fraction(1, 10**154), 10**154
_LONGEST_ECHO = 60
_LONGEST_BRIEF = 20
_LONGEST_TEXT = 400  # characters; a number of more has more digits than are read
_DECIMAL = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DIGITS = re.compile(r"-?[0-9]+")
_DECIMAL_COMMA = re.compile(r"[0-9]*,[0-9]+")


def positive(name: str, value: object) -> Fraction:
    """Read a number above zero.

    >>> positive("epsilon", 0.1)
    Fraction(1, 10)
    >>> positive("epsilon", float("nan"))
    Traceback (most recent call last):
    ValueError: epsilon must be a positive number, got nan
    """
    return _read(name, value, "a positive number", lambda x: x > 0)


def covering(name: str, value: object) -> Fraction:
    """Read a number above zero that data handed over in binary must keep to.

    A float may be a little more than the decimal it prints as; here the larger of the two counts.

    >>> covering("sensitivity", 0.1) > Fraction(1, 10), covering("sensitivity", 0.3)
    (True, Fraction(3, 10))
    """
    read = positive(name, value)
    if is_float(value):
        above, below = value.as_integer_ratio()
        return max(read, Fraction(int(above), int(below)))
    return read


def finite(name: str, value: object) -> Fraction:
    """Read any number but an infinite one.

    >>> finite("bound", -0.1)
    Fraction(-1, 10)
    """
    return _read(name, value, "a finite number", lambda _: True)


def nonnegative(name: str, value: object) -> Fraction:
    """Read a number that is zero or above."""
    return _read(name, value, "a number that is not negative", lambda x: x >= 0)


def probability(name: str, value: object) -> Fraction:
    """Read a number strictly between 0 and 1."""
    return _read(name, value, "a number between 0 and 1, both excluded", lambda x: 0 < x < 1)


def probability_or_zero(name: str, value: object) -> Fraction:
    """Read a number from 0, included, to 1, excluded."""
    return _read(name, value, "a number of at least 0 and below 1", lambda x: 0 <= x < 1)


def confidence_level(value: object) -> Fraction:
    """Read a confidence; whoever means a percentage is told how to write it.

    >>> confidence_level(95)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: confidence must be a number between 0 and 1, ... got 95; write 95 % as 0.95
    """
    try:
        return probability("confidence", value)
    except ValueError as error:
        number = _finite(value)
        if number is None or not 1 < number < 100 or _is_long(number):
            raise
        share = written(Fraction(number) / 100)
        raise ValueError(f"{error}; write {_echo(value)} % as {share}") from None


def positive_whole(name: str, value: object) -> int:
    """Read a positive number of an integer type."""
    rule = "a positive whole number"
    if not is_integer(value):
        raise TypeError(f"{name} must be {rule}, got {_echo(value)}")
    return _read(name, value, rule, lambda x: x > 0).numerator


def decimal_of(name: str, text: str) -> Decimal:
    """Read a number that was typed: a plain decimal, with an exponent if that is shorter.

    >>> decimal_of("delta", "1e-6")
    Decimal('0.000001')
    >>> decimal_of("epsilon", "1_0")
    Traceback (most recent call last):
    ValueError: epsilon must be a number, got '1_0'; write it in plain digits, as 0.5 or 1e-6
    """
    if len(text) <= _LONGEST_TEXT and _DECIMAL.fullmatch(text):
        try:
            return Decimal(text)
        except InvalidOperation:  # an exponent of twenty digits
            pass
    hint = "write it in plain digits, as 0.5 or 1e-6"
    if _DECIMAL_COMMA.fullmatch(text):
        hint = f"write {text.replace(',', '.', 1)}"
    raise ValueError(f"{name} must be a number, got {_echo(text)}; {hint}")


def whole_of(name: str, text: str) -> int:
    """Read a whole number that was typed.

    >>> whole_of("rows", "12")
    12
    >>> whole_of("rows", "1e3")
    Traceback (most recent call last):
    ValueError: rows must be a whole number, got '1e3'; write it in plain digits, as 12
    """
    if len(text) <= _LONGEST_DECIMAL and _DIGITS.fullmatch(text):
        return int(text)
    hint = "write it in plain digits, as 12"
    raise ValueError(f"{name} must be a whole number, got {_echo(text)}; {hint}")


def is_integer(value: object) -> TypeGuard[Integer]:
    """Tell whether a value has an integer type; booleans, durations and 1.0 have not."""
    if isinstance(value, int):
        return not isinstance(value, bool)
    return _is_of_numpy(value, "integer") and not _is_of_numpy(value, "timedelta64")


def is_float(value: object) -> TypeGuard[float | np.floating[Any]]:
    """Tell whether a value is a binary fraction of any precision."""
    return isinstance(value, float) or _is_of_numpy(value, "floating")


def _is_of_numpy(value: object, name: str) -> bool:
    """Tell whether a value is of a class of numpy, which no value is unless numpy is loaded."""
    if isinstance(value, int | Fraction | Decimal | str | None):
        return False
    kind = getattr(sys.modules.get("numpy"), name, None)
    return kind is not None and isinstance(value, kind)


def written(x: Fraction) -> str:
    """Write a fraction the way a user would have typed it.

    >>> written(Fraction(1, 10)), written(Fraction(3)), written(Fraction(1, 3))
    ('0.1', '3', 'Fraction(1, 3)')
    """
    if x.denominator == 1:
        return str(x.numerator)
    printed = repr(float(x))
    return printed if Fraction(printed) == x else repr(x)


def written_real(x: Fraction) -> str:
    """Write a real sensitivity the way a user would have typed it, with a decimal point.

    >>> written_real(Fraction(1)), written_real(Fraction(1, 2))
    ('1.0', '0.5')
    """
    printed = float(x)
    return repr(printed) if covering("sensitivity", printed) == x else repr(x)


def brief(x: Fraction) -> str:
    """Write a fraction for a message: as it was typed if that is short, else about what it is.

    >>> brief(Fraction(1, 10)), brief(Fraction(2**51)), brief(Fraction(1, 3**90))
    ('0.1', '2251799813685248', '1.15e-43')
    """
    text = written(x)
    return text if len(text) <= _LONGEST_BRIEF else f"{float(x):.3g}"


def _read(name: str, value: object, rule: str, allowed: Callable[[Exact], bool]) -> Fraction:
    number = _finite(value)
    if number is None:
        known = is_float(value) or isinstance(value, Decimal)
        error = ValueError if known else TypeError
        raise error(f"{name} must be {rule}, got {_echo(value)}")
    if not allowed(number):
        raise ValueError(f"{name} must be {rule}, got {_echo(value)}")
    if _is_long(number):
        raise ValueError(f"{name} must be {_limit(number)}, got {_echo(value)}")
    return Fraction(number)


def _limit(number: Exact) -> str:
    """Say which limit a number breaks that has too many bits."""
    if -_SMALLEST < number < _SMALLEST:
        return "a number of at least 1e-154"
    if not -_LARGEST <= number <= _LARGEST:
        return "a number of at most 1e154"
    return "a number of at most 154 digits"


def readable(share: Fraction) -> Fraction:
    """Return a share of 1 that has few enough bits to be read: itself, or what is a bit less.

    >>> readable(Fraction(1, 3)), readable(Fraction(1, 3) ** 400)
    (Fraction(1, 3), Fraction(0, 1))
    """
    if not _is_long(share):
        return share
    steps = 1 << (LARGEST_BITS - 1)
    return Fraction(math.floor(share * steps), steps)


def _finite(value: object) -> Exact | None:
    """Return the exact number a value stands for, or None if it stands for none."""
    if is_integer(value):
        return int(value)
    if is_float(value):
        # The shortest decimal that stands for this number among those of its own precision.
        value = Decimal(repr(float(value)) if isinstance(value, float) else str(value))
    if isinstance(value, Decimal):
        return value if value.is_finite() else None
    return value if isinstance(value, Fraction) else None


def _is_long(number: Exact) -> bool:
    """Tell whether a number has too many bits, from its size alone."""
    if isinstance(number, Decimal):
        _, digits, exponent = number.as_tuple()
        if len(digits) + abs(int(exponent)) > 2 * _LONGEST_DECIMAL:
            return True
        number = Fraction(number)
    return max(number.numerator.bit_length(), number.denominator.bit_length()) > LARGEST_BITS


def _echo(value: object) -> str:
    """Quote an argument, or only name its type when it is no number or a long one."""
    text = ""
    if _is_of_numpy(value, "generic"):
        text = str(value)
    elif isinstance(value, bool | float | complex | str | None):
        text = repr(value)
    elif isinstance(value, int | Fraction | Decimal):
        long = (
            value.is_finite() and _is_long(value) if isinstance(value, Decimal) else _is_long(value)
        )
        text = str(value) if isinstance(value, Decimal) or not long else ""
    return text if 0 < len(text) <= _LONGEST_ECHO else f"a value of type {type(value).__name__}"


def up(x: Fraction) -> float:
    """Return the least double that is at least ``x``, or infinity."""
    near = nearest(x)
    return near if near >= x else math.nextafter(near, math.inf)


def down(x: Fraction) -> float:
    """Return the greatest double that is at most ``x``, or minus infinity."""
    return -up(-x)


def up_as_printed(x: Fraction) -> float:
    """Return the least double that is at least ``x`` when read as the decimal it prints as.

    This is how losses leave the library, because this is how numbers enter it: three tenths
    become 0.3, although the double 0.3 is a little less than three tenths.

    >>> up(Fraction(3, 10)), up_as_printed(Fraction(3, 10))
    (0.30000000000000004, 0.3)
    """
    return ratio_as_printed(x.numerator, x.denominator)


def ratio_as_printed(numerator: int, denominator: int) -> float:
    """Return the same for a quotient, which need not be in lowest terms.

    Quotients and decimals are rounded to doubles alike, and the larger of two never to the smaller
    double. So the decimal of any double below the nearest one is below the quotient, and that of
    any double above it is above: the nearest one is the least that will do, or else the next.
    """
    near = _nearest(numerator, denominator)
    above, below = Decimal(repr(near)).as_integer_ratio()
    if above * denominator < numerator * below:
        near = math.nextafter(near, math.inf)
    return near + 0.0  # a zero without a sign


def reading(x: float) -> Fraction | float:
    """Return the decimal that a double prints as; an infinity stays what it is."""
    return Fraction(Decimal(repr(float(x)))) if math.isfinite(x) else x


def nearest(x: Fraction) -> float:
    """Return the double next to ``x``; the largest ones stand for all beyond."""
    return _nearest(x.numerator, x.denominator)


def _nearest(numerator: int, denominator: int) -> float:
    """Return the double next to a quotient; the largest ones stand for all beyond."""
    try:
        return numerator / denominator
    except OverflowError:
        return sys.float_info.max if numerator > 0 else -sys.float_info.max


def log2_down(x: Fraction) -> int:
    """Return the logarithm to base 2 of a number above 0, rounded down.

    >>> log2_down(Fraction(9)), log2_down(Fraction(1, 3))
    (3, -2)
    """
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    return exponent if Fraction(2) ** exponent <= x else exponent - 1


def read_signed(name: str, value: Number) -> Fraction:
    """Read a finite number of either sign."""
    if isinstance(value, float | Decimal) and not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r}")
    if isinstance(value, int | float | Fraction | Decimal) and value < 0:
        return -nonnegative(name, -value)
    return nonnegative(name, value)


def one_of(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a word that is not among the choices."""
    if not isinstance(value, str) or value not in choices:
        shown = repr(value) if isinstance(value, str) else f"a value of type {type(value).__name__}"
        raise ValueError(f"{name} must be {' or '.join(map(repr, choices))}, got {shown[:60]}")
