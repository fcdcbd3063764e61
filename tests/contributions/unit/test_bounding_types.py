# SPDX-License-Identifier: Apache-2.0
"""No record decides how the records of others are read: neither by its type nor by its size."""

from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sordino as so
from sordino.contributions.bounding import Contributions, bound_contributions
from sordino.contributions.columns import identify

SECRET = bytes(32)
ODD = [
    0.5, "1", b"1", 2**64, -(2**70), np.inf, None, np.nan, True, "ann\0", Decimal("0.1"),
    Fraction(1, 3), np.uint64(2**64 - 1), np.datetime64("2020-01-01T00:00:01", "s"),
    date(2020, 1, 1), datetime(2020, 1, 1, 12), pd.NA, pd.NaT, pd.Timestamp("2020-01-01"),
    np.datetime64("NaT"), np.float32(0.1), np.longdouble(1) / 3,
]  # fmt: skip
NUMBERS = [
    0, 7, -3, 0.5, 1.5, 2.5, np.nan, None, np.inf, -np.inf, 2**63, -(2**70), 1e300, True, pd.NA,
    Decimal("2.5"), Decimal("1e999999999"), Fraction(10, 3), np.float32(0.1), np.uint64(2**64 - 1),
]  # fmt: skip


def entries(kept: Contributions) -> dict[Any, Any]:
    amounts = [None] * len(kept.units) if kept.amounts is None else kept.amounts
    pairs = zip(map(identify, kept.units), map(identify, kept.keys), strict=True)
    return dict(zip(pairs, amounts, strict=True))


def moved(kept: Contributions, other: Contributions, listed: list[Any]) -> int:
    one, two = kept.totals(listed=listed).units, other.totals(listed=listed).units
    return int(np.abs(one - two).sum())


@pytest.mark.parametrize("odd", ODD, ids=lambda x: f"{type(x).__name__} {x}")
def test_an_identifier_of_another_type_moves_nobody_else(odd: Any) -> None:
    units = [unit for unit in range(300) for _ in range(5)]
    keys = [key for _ in range(300) for key in range(10, 15)]
    listed = list(range(10, 15))
    before = bound_contributions(units, keys, groups=1, secret=SECRET)
    assert moved(before, bound_contributions([*units, 300], [*keys, odd], groups=1, secret=SECRET),
                 listed) == 0  # fmt: skip
    assert moved(before, bound_contributions([*units, odd], [*keys, 12], groups=1, secret=SECRET),
                 listed) <= 1  # fmt: skip


def test_a_time_among_dates_moves_nobody_else() -> None:
    days = [np.datetime64("2020-01-01") + day for day in range(200)]
    units = [unit for unit in days for _ in range(5)]
    keys = list(range(5)) * 200
    before = entries(bound_contributions(units, keys, groups=1, secret=SECRET))
    for odd in (np.datetime64("2020-03-04T05:06:07", "s"), np.datetime64("1999", "Y")):
        after = bound_contributions([*units, odd], [*keys, 0], groups=1, secret=SECRET)
        assert set(entries(after)) - set(before) == {(identify(odd), identify(0))}
        assert set(before) < set(entries(after))
    for unit in ("h", "s", "ms", "us", "ns"):
        column = np.array(units, dtype=f"M8[{unit}]")
        assert entries(bound_contributions(column, keys, groups=1, secret=SECRET)) == before
    for objects in (np.array(units).tolist(), pd.Series(units), [pd.Timestamp(x) for x in units]):
        assert entries(bound_contributions(objects, keys, groups=1, secret=SECRET)) == before
    months = np.arange(-30, 30).astype("M8[M]")
    one, two = ({identify(x) for x in column} for column in (months, months.astype("M8[D]")))
    assert one == two


MIXED = st.one_of(st.integers(-2, 2), st.sampled_from(ODD), st.sampled_from(["a", "b", "a\0"]))
ROW = st.tuples(MIXED, MIXED, st.sampled_from(NUMBERS))


@pytest.mark.parametrize("bounds", [(-4, 6), (-4.0, 6.0), (0.0, 1e30)], ids=str)
@pytest.mark.parametrize("clamp", ["row", "amount"])
@settings(max_examples=60, deadline=None)
@given(rows=st.lists(ROW, max_size=12), own=st.lists(ROW, max_size=4), groups=st.integers(1, 2))
def test_one_unit_changes_no_entry_of_another_whatever_its_rows_hold(
    bounds: Any, clamp: Any, rows: list[Any], own: list[Any], groups: int
) -> None:
    def cut(listed: list[Any]) -> Contributions:
        units, keys, values = ([row[place] for row in listed] for place in range(3))
        return bound_contributions(
            units, keys, values, groups=groups, rows=2, low=bounds[0], high=bounds[1],
            clamp=clamp, secret=SECRET,
        )  # fmt: skip

    before, after = cut(rows), cut(rows + [("new", key, value) for _, key, value in own])
    found = {pair: x for pair, x in entries(after).items() if pair[0] != identify("new")}
    assert found == entries(before)
    assert (before.grid, before.most_amount, before.whole) == (
        after.grid, after.most_amount, after.whole)  # fmt: skip
    new = [x for pair, x in entries(after).items() if pair[0] == identify("new")]
    assert len(new) <= groups
    assert all(abs(Fraction(x)) <= after.most_amount for x in new)  # type: ignore[operator]
    known = list(after.totals().keys)
    for unit, share in ((before, 0), (after, len(new))):
        totals = unit.totals(listed=known)
        assert totals.units.sum() == len(entries(before)) + share


def test_the_bounds_say_whether_amounts_are_whole_and_the_values_do_not() -> None:
    def cut(values: Any, low: Any, high: Any) -> Contributions:
        units, keys = list(range(len(values))), ["a"] * len(values)
        return bound_contributions(units, keys, values, groups=1, low=low, high=high, secret=SECRET)

    columns: list[Any] = [
        [3, 4], [3, 4, 0.5], [3, 4, None], [3, 4, 2**63, -1], [3, 4, 2**64], np.array([3.0, 4.0]),
        np.array([3, 4], dtype=np.int8), pd.Series([3, 4, None]), pd.Series([3, 4]),
        pd.array([3, 4, None], dtype="Int64"), np.array([3, 4], dtype=np.uint64),
        np.array([3, 4], dtype=np.longdouble), [Decimal(3), Fraction(4)],
    ]  # fmt: skip
    for column in columns:
        whole, real = cut(column, 0, 10), cut(column, 0, 10.0)
        assert (whole.grid, whole.whole, whole.most_amount) == (Fraction(1), True, 10)
        assert (real.grid, real.whole, real.most_amount) == (Fraction(1, 2**27), False, 10)
        for kept in (whole, real):
            assert kept.amounts is not None
            assert kept.amounts[:2].tolist() == [3, 4]
            assert kept.amounts.dtype == (np.int64 if kept.whole else np.float64)
    nothing: list[Any] = [[], np.array([])]
    for empty in nothing:
        assert cut(empty, 0, 10).grid == 1
        assert cut(empty, 0, 10.0).grid == Fraction(1, 2**27)
    rounded = cut([0.5, 1.5, 2.5, -0.5, 7.49, np.nan, None, -np.inf], -2, 7).amounts
    assert rounded is not None
    assert rounded.tolist() == [0, 2, 2, 0, 7, -2, -2, -2]


@pytest.mark.parametrize("high", [1e-9, 1.0, 3e9, 1e20, 1e28, 1e30, 1e40], ids=str)
def test_a_number_is_rounded_alike_whatever_type_it_has(high: float) -> None:
    numbers = [0, 1, -1, 3, 2**52, -(2**52) + 1, 2**62, -(2**63)]
    numbers += [5 * 2**k for k in range(60)] + [-3 * 2**k for k in range(61)]

    def cut(column: Any) -> list[Any]:
        kept = bound_contributions(
            np.arange(len(numbers)), [0] * len(numbers), column,
            groups=1, low=-high, high=high, secret=SECRET,
        )  # fmt: skip
        assert kept.amounts is not None
        return list(kept.amounts)

    expected = cut([Fraction(x) for x in numbers])
    for column in (np.array(numbers), np.array(numbers, dtype=float), numbers,
                   np.array(numbers, dtype=object), np.array(numbers, dtype="g")):  # fmt: skip
        assert cut(column) == expected
    large = np.array([2**63, 2**64 - 1] * (len(numbers) // 2) + [0] * (len(numbers) % 2),
                     dtype=np.uint64)  # fmt: skip
    assert cut(large) == cut(large.tolist())


@pytest.mark.parametrize("clamp", ["row", "amount"])
@pytest.mark.parametrize("bounds", [(-0.1, 0.3), (0.1, 0.1), (-0.7, -0.3), (-1.0, 1e9)], ids=str)
def test_amounts_their_limits_and_the_bounds_are_in_one_unit(bounds: Any, clamp: Any) -> None:
    """The noise made from the limits must be for the amounts that come with them."""
    units, keys = [1, 1, 2, 2, 3], ["a", "b", "a", "a", "a"]
    values = [*bounds, *bounds, 1e300]
    kept, fewer = (
        bound_contributions(
            units[n:], keys[n:], values[n:], groups=2, rows=2, low=bounds[0], high=bounds[1],
            clamp=clamp, secret=SECRET,
        )
        for n in (0, 2)
    )  # fmt: skip
    for one, other in ((kept, fewer), (kept.in_steps(), fewer.in_steps())):
        limits = one.limits(neighbours="add_remove")
        found = so.sensitivity.sum(neighbours=limits)
        totals = [x.totals(listed=["a", "b"]).amounts for x in (one, other)]
        moves = [abs(Fraction(a) - Fraction(b)) for a, b in zip(*totals, strict=True)]
        assert sum(moves) <= found.l1
        assert sum(moves) >= found.l1 / 8
        assert limits.whole is one.whole is found.whole
        so.Laplace(sensitivity=found, epsilon=1).release(totals[0])
    # stating the bounds once more must not make the noise too small either
    again = so.sensitivity.sum(bounds=bounds, neighbours=kept.limits(neighbours="add_remove"))
    steps, amounts = kept.in_steps().amounts, kept.amounts
    assert steps is not None
    assert amounts is not None
    assert sum((abs(Fraction(x)) for x in amounts[:2]), Fraction(0)) <= again.l1
    assert [int(x) * kept.grid for x in steps] == [Fraction(x) for x in amounts]


def test_sums_of_reals_that_are_no_doubles_stay_exact() -> None:
    kept = bound_contributions(
        list(range(3)), [0] * 3, [1e300, 1e300, 2.0**-30], groups=1, rows=2**25,
        low=0.0, high=1.0, clamp="row", secret=SECRET,
    )  # fmt: skip
    assert kept.totals().amounts.tolist() == [2 + 2.0**-30]  # type: ignore[union-attr]
    far = bound_contributions(
        [1, 1, 2], [0] * 3, [1e300, 1e300, 2.0**-30], groups=1, rows=2**29,
        low=0.0, high=1.0, clamp="row", secret=SECRET,
    )  # fmt: skip
    huge = replace(far, _steps=np.array([2**59, 1]))
    amounts = huge.totals().amounts
    assert amounts is not None
    assert amounts.tolist() == [2**29 + Fraction(1, 2**30)]
    released = so.Laplace(sensitivity=1.0, epsilon=1).release(amounts)
    assert released.dtype == so.Laplace(sensitivity=1.0, epsilon=1).release([0.5]).dtype


def test_listed_keys_are_matched_exactly() -> None:
    close = np.array([2**60, 2**60 + 1, 2**60 + 1, 2**63 + 1], dtype=np.uint64)
    kept = bound_contributions([1, 2, 3, 4], close, groups=1, secret=SECRET)
    for listed in ([2**60 + 1, 2**60, 2**63, 2**63 + 1], [2.0**60, 2**60 + 2, -1, "x"]):
        expected = [sum(int(x) == y for x in close) for y in listed]
        assert kept.totals(listed=listed).units.tolist() == expected
    assert kept.totals(listed=close[[0, 1]]).units.tolist() == [1, 2]
    assert kept.totals(listed=close[[1]].astype(np.int64)).units.tolist() == [2]
    texts = bound_contributions([1, 2], np.array(["a", "b"]), groups=1, secret=SECRET)
    assert texts.totals(listed=["a\0", "a", b"a", 1, "b"]).units.tolist() == [0, 1, 0, 0, 1]
    mixed = bound_contributions([1, 2, 3], [1, "1", 1.5], groups=1, secret=SECRET)
    assert mixed.totals(listed=["1", 1.5, True, b"1"]).units.tolist() == [1, 1, 1, 0]
    nothing = bound_contributions([], [], groups=1, secret=SECRET)
    assert nothing.totals(listed=["a", 1]).units.tolist() == [0, 0]


def test_different_identifiers_stay_different() -> None:
    names: list[Any] = ["ann", "ann\0", "1", b"1", 1, 1.5, "", b"", 0, 2**64, np.inf, -np.inf]
    names += [date(1970, 1, 1), date(1970, 1, 2), Fraction(1, 3), "nan", 10**400]
    kept = bound_contributions(names, ["k"] * len(names), groups=1, rows=1, secret=SECRET)
    assert len(kept.units) == len(names) == len(set(map(identify, names)))
    assert kept.totals().units.tolist() == [len(names)]
    keys = bound_contributions([5] * len(names), names, groups=len(names), secret=SECRET)
    assert set(map(identify, keys.keys)) == set(map(identify, names))


def test_one_identifier_comes_back_alike_whatever_type_it_had() -> None:
    """Otherwise a record would show in how the key of another one is written."""
    same: list[list[Any]] = [
        [1, True, 1.0, np.int8(1), Decimal(1), Fraction(1)],
        ["a", np.str_("a")],
        [0.5, Fraction(1, 2), Decimal("0.5"), np.float32(0.5)],
        [date(2020, 1, 1), np.datetime64("2020-01-01", "ns"), pd.Timestamp("2020-01-01")],
    ]
    for names in same:
        seen = set()
        for name in names:
            kept = bound_contributions([1, 2], [name, "other"], groups=1, secret=SECRET)
            key = kept.keys[0]
            seen.add((repr(key), type(key)))
        assert len(seen) == 1


def test_rows_without_a_unit_or_a_key_are_left_out() -> None:
    right = entries(bound_contributions([1, 2], [1, 1], [3, 4],
                                        groups=1, low=0, high=9, secret=SECRET))  # fmt: skip
    for units in ([1, None, 2, 1], pd.Series([1, None, 2, 1]), np.array([1, np.nan, 2, 1]),
                  pd.array([1, None, 2, 1], dtype="Int64")):  # fmt: skip
        kept = bound_contributions(units, [1, 1, 1, np.nan], [3, 8, 4, 8],
                                   groups=1, low=0, high=9, secret=SECRET)  # fmt: skip
        assert entries(kept) == right
    gone = bound_contributions([None], [1], [2], groups=1, low=0, high=9, secret=SECRET)
    assert entries(gone) == {}
    assert gone.totals(listed=[1]).amounts.tolist() == [0]  # type: ignore[union-attr]
    far = np.array([0, 2**62], dtype="M8[Y]")  # beyond what has a name in days
    assert len(bound_contributions(far, far, groups=1, secret=SECRET).keys) == 1


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u1", "u8", "?"])
def test_keys_of_every_width_are_told_apart(kind: str) -> None:
    ends = [0, 1] if kind == "?" else [int(np.iinfo(kind).min), int(np.iinfo(kind).max)]
    keys = np.tile(np.array(ends, dtype=kind), 10_000)
    kept = bound_contributions(np.arange(20_000), keys, groups=1, secret=SECRET)
    assert kept.totals().units.tolist() == [10_000, 10_000]
    assert kept.totals().keys.dtype == (np.int64 if kind == "?" else keys.dtype)
    assert kept.totals(listed=ends[::-1]).units.tolist() == [10_000, 10_000]
