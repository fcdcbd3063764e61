# SPDX-License-Identifier: Apache-2.0
"""Small examples, how bounds are read, and bad arguments."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import sordino.sensitivity as s
from sordino.sensitivity import Units
from tests.sensitivity.unit.queries import norms


def test_x9_and_x11_a_count_of_flu_and_five_foods() -> None:
    assert s.count(neighbours="add_remove").l1 == 1
    foods = s.choices(most=5, cells=5, neighbours="add_remove")
    assert norms(foods) == [5, 5, 1]


@pytest.mark.parametrize("ends", [(0.1, 0.7), (-0.1, 0.3), (-0.7, -0.1), (np.float32(-0.1), 0.7)])
def test_bounds_cover_the_doubles_that_values_are_clamped_to(ends: tuple[float, float]) -> None:
    low, high = (Fraction(*float(end).as_integer_ratio()) for end in ends)
    one, other = (Fraction(str(end)) for end in ends)
    width = s.sum(bounds=ends, neighbours="replace_one").l1
    assert width == max(high, other) - min(low, one)
    assert width >= high - low
    assert s.sum(bounds=ends, neighbours="add_remove").l1 >= max(abs(low), abs(high))


def test_decimals_and_fractions_are_taken_as_they_are() -> None:
    for ends in ((Decimal("0.1"), Decimal("0.7")), (Fraction(1, 10), Fraction(7, 10))):
        assert s.sum(bounds=ends, neighbours="replace_one").l1 == Fraction(6, 10)
        assert str(s.sum(bounds=ends, neighbours="add_remove")).endswith("moves by at most 0.7")


def test_answers_are_whole_if_the_bounds_were_given_as_integers() -> None:
    assert s.sum(bounds=(0, 5), neighbours="add_remove").whole
    assert not s.sum(bounds=(0, 5.0), neighbours="add_remove").whole
    assert not s.mean(bounds=(0, 5), size=5, neighbours="replace_one").whole
    assert s.maximum(bounds=(0, np.int8(5)), neighbours="add_remove").whole
    assert s.linear([[1, 2]], neighbours="add_remove").whole
    assert not s.linear([[1, 2.0]], neighbours="add_remove").whole
    assert s.linear([[1, 2]], bounds=(0, 1), neighbours="add_remove").whole
    units = Units(neighbours="add_remove", groups=1, amount=2.0)
    assert not s.sum(bounds=(0, 5), neighbours=units).whole


ADD, REPLACE = "add_remove", "replace_one"
PEOPLE = Units(neighbours=ADD, groups=2)
BAD: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: s.mean(bounds=(0, 1), size=5, neighbours=ADD), ValueError, "noisy sum over a noisy"),
    (
        lambda: s.variance(bounds=(0, 1), size=5, neighbours=ADD, divisor="n"),
        ValueError,
        "a noisy sum of squares and a noisy count",
    ),
    (lambda: s.mean(bounds=(0, 1), size=5, neighbours=PEOPLE), ValueError, "no formula for Units"),
    (
        lambda: s.variance(bounds=(0, 1), size=5, neighbours=PEOPLE, divisor="n"),
        ValueError,
        "no formula for Units",
    ),
    (lambda: s.linear([[1]], neighbours=PEOPLE), ValueError, "no formula for Units"),
    (lambda: s.choices(most=1, neighbours=PEOPLE), ValueError, "histogram.neighbours=Units"),
    (lambda: s.mean(bounds=(0, 1), size=0, neighbours=REPLACE), ValueError, "size must be"),
    (
        lambda: s.variance(bounds=(0, 1), size=1, neighbours=REPLACE, divisor="n-1"),
        ValueError,
        "at least 2",
    ),
    (
        lambda: s.variance(bounds=(0, 1), size=1, neighbours=REPLACE, divisor="2"),  # type: ignore[arg-type]
        ValueError,
        "divisor must be 'n' or 'n-1'",
    ),
    (lambda: s.sum(bounds=(1, 0), neighbours=ADD), ValueError, "a low end above the high end"),
    (lambda: s.sum(neighbours=ADD), TypeError, r"bounds must be a pair \(low, high\)"),
    (lambda: s.sum(bounds=5, neighbours=ADD), TypeError, "bounds must be a pair"),  # type: ignore[arg-type]
    (lambda: s.sum(bounds=(0, "1"), neighbours=ADD), TypeError, r"bounds\[1\] must be a number"),  # type: ignore[arg-type]
    (lambda: s.sum(bounds=(False, 1), neighbours=ADD), TypeError, r"bounds\[0\] must be a number"),
    (lambda: s.sum(bounds=(0, math.inf), neighbours=ADD), ValueError, "finite number, got inf"),
    (lambda: s.sum(bounds=(math.nan, 1), neighbours=ADD), ValueError, "finite number, got nan"),
    (lambda: s.sum(bounds=(0, 10**400), neighbours=ADD), ValueError, "at most 1e154"),
    (lambda: s.sum(bounds=(0, Decimal("1e999")), neighbours=ADD), ValueError, "bounds.1. must be"),
    (lambda: s.sum(bounds=(0, 1), neighbours="both"), ValueError, "neighbours must be"),
    (lambda: s.sum(bounds=(0, 1), neighbours=ADD, cells=1), ValueError, "cells goes with Units"),
    (lambda: s.count(neighbours=ADD, cells=1), ValueError, "cells goes with Units"),
    (lambda: s.rows(neighbours=ADD, cells=1), ValueError, "cells goes with Units"),
    (
        lambda: s.maximum(bounds=(0, 1), neighbours=ADD, cells=1),
        ValueError,
        "a maximum of records has one answer",
    ),
    (lambda: s.maximum(bounds=(0, 1), neighbours=ADD, size=3), ValueError, "size is for replace"),
    (lambda: s.count(neighbours=PEOPLE), ValueError, r"give Units\(..., rows=...\)"),
    (lambda: s.sum(bounds=(0, 1), neighbours=PEOPLE), ValueError, "give rows=... or amount"),
    (
        lambda: s.sum(neighbours=Units(neighbours=ADD, groups=1, rows=1)),
        ValueError,
        "give bounds for the values",
    ),
    (
        lambda: s.count(neighbours=Units(neighbours=ADD, groups=1, rows=1), cells=0),
        ValueError,
        "cells must be a positive",
    ),
    (lambda: s.choices(most=3, cells=2, neighbours=ADD), ValueError, "at most the number of cells"),
    (lambda: s.choices(most=0, neighbours=ADD), ValueError, "most must be a positive"),
    (lambda: s.histogram(cells=1.5, neighbours=ADD), TypeError, "cells must be a positive"),  # type: ignore[arg-type]
    (lambda: s.quantile(at=50, bounds=(0, 1), neighbours=ADD), ValueError, "at must be a number"),
    (lambda: s.quantile(at=-0.1, bounds=(0, 1), neighbours=ADD), ValueError, "at must be a number"),
    (lambda: s.linear([], neighbours=ADD), TypeError, "matrix must be a list of rows"),
    (lambda: s.linear([[]], neighbours=ADD), TypeError, r"matrix\[0\] must be a row"),
    (lambda: s.linear([1, 2], neighbours=ADD), TypeError, r"matrix\[0\] must be a row"),  # type: ignore[list-item]
    (lambda: s.linear([[1], [1, 2]], neighbours=ADD), ValueError, "the same length"),
    (lambda: s.linear([[math.nan]], neighbours=ADD), ValueError, r"matrix\[0\]\[0\] must be a fin"),
    (lambda: s.linear([[1, 2]], bounds=[(0, 1)], neighbours=ADD), ValueError, "2 pairs"),
    (lambda: s.linear([[1]], bounds=[(0, 1, 2)], neighbours=ADD), TypeError, r"bounds\[0\] must"),
    (lambda: s.linear([[1]], bounds=3, neighbours=ADD), TypeError, "a pair for each column"),
    (lambda: s.linear([[1] * 17], bounds=(0, 1), neighbours=ADD), ValueError, "at most 16 columns"),
    (
        lambda: s.linear([[1] * 21_000], neighbours=REPLACE),
        ValueError,
        "divide the query into several ones",
    ),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_what_has_no_sensitivity_is_refused_with_the_reason(case: int) -> None:
    make, error, match = BAD[case]
    with pytest.raises(error, match=match):
        make()
