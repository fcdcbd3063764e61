# SPDX-License-Identifier: Apache-2.0
"""Contributions are cut unit by unit: exactly, and in no order but the secret's."""

from collections import Counter, defaultdict
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.contributions import bounding
from sordino.contributions.bounding import Contributions, bound_contributions
from sordino.randomness.hashing import digests, keyed_hash
from sordino.sensitivity.norms import Neighbours

SECRET = bytes(range(32))
Row = tuple[Any, Any, int]


def hashed(first: int, second: int, purpose: str = "groups") -> int:
    columns = [np.array([x % 2**64], dtype=np.uint64) for x in (first, second)]
    return int(keyed_hash(columns[0], columns[1], SECRET, purpose=purpose)[0])


def word(x: int | str) -> int:
    return int(digests([b"s" + x.encode()], SECRET)[0]) if isinstance(x, str) else x


def cut(rows: list[Row], *, groups: int, limit: int | None, low: int, high: int, clamp: str) -> Any:
    """The definition, one unit at a time, in plain Python."""
    units: dict[Any, dict[Any, list[int]]] = defaultdict(lambda: defaultdict(list))
    for unit, key, value in rows:
        units[unit][key].append(min(max(value, low), high) if clamp == "row" else value)
    found = {}
    for unit, keys in units.items():
        ranked = sorted(keys, key=lambda key: (hashed(word(unit), word(key)), key))
        for key in ranked[:groups]:
            values = keys[key]
            if limit is not None and len(values) > limit:
                values = drawn(values, hashed(word(unit), word(key)))[:limit]
            total = sum(values)
            found[unit, key] = (
                len(values),
                total if clamp == "row" else min(max(total, low), high),
            )
    return found


def drawn(values: list[int], pair: int) -> list[int]:
    seen: Counter[int] = Counter()
    ranked = []
    for value in values:
        ranked.append((hashed(hashed(pair, value, "rows"), seen[value], "turns"), value))
        seen[value] += 1
    return [value for _, value in sorted(ranked)]


def entries(kept: Contributions) -> dict[Any, tuple[Any, ...]]:
    sizes = [None] * len(kept.units) if kept.rows is None else kept.rows.tolist()
    amounts = [None] * len(kept.units) if kept.amounts is None else kept.amounts.tolist()
    pairs = zip(kept.units.tolist(), kept.keys.tolist(), strict=True)
    return dict(zip(pairs, zip(sizes, amounts, strict=True), strict=True))


def columns(rows: list[Row]) -> list[Any]:
    return [np.array([row[place] for row in rows]) for place in range(3)]


INTEGERS = st.tuples(st.integers(-3, 3), st.integers(0, 4), st.integers(-9, 9))
FAR = st.tuples(
    st.sampled_from([-(2**63), 0, 5, 2**62, 2**63 - 1]),
    st.sampled_from([-(2**63), -1, 0, 2**63 - 1]),
    st.sampled_from([-(2**61), -1, 0, 7, 2**61]),
)
TEXTS = st.tuples(st.sampled_from(["", "a", "ä", "b"]), st.sampled_from("xyz"), st.integers(-3, 3))


@pytest.mark.parametrize("rows", [INTEGERS, FAR, TEXTS], ids=["small", "far", "texts"])
@pytest.mark.parametrize("clamp", ["row", "amount"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_columns_agree_with_the_definition_and_order_does_not_matter(
    rows: st.SearchStrategy[Row], clamp: Any, data: st.DataObject
) -> None:
    listed = data.draw(st.lists(rows, min_size=1, max_size=30))
    groups, limit = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    low, high = -4, 6
    expected = cut(listed, groups=groups, limit=limit, low=low, high=high, clamp=clamp)
    for order in (listed, data.draw(st.permutations(listed))):
        units, keys, values = columns(order)
        kept = bound_contributions(
            units, keys, values,
            groups=groups, rows=limit, low=low, high=high, clamp=clamp, secret=SECRET,
        )  # fmt: skip
        assert entries(kept) == expected
        assert list(entries(kept)) == sorted(expected)


@settings(max_examples=60, deadline=None)
@given(st.lists(INTEGERS, max_size=30), st.lists(INTEGERS, max_size=20), st.integers(1, 3))
def test_one_unit_moves_few_totals_by_little_and_no_entry_of_another_unit(
    others: list[Row], own: list[Row], groups: int
) -> None:
    limit, low, high = 2, -4, 6
    listed = list(range(5))
    for clamp, most in (("row", limit * high), ("amount", high)):
        totals = []
        kepts = []
        for rows in (others, others + [(99, key, value) for _, key, value in own]):
            units, keys, values = columns(rows) if rows else ([], [], [])
            kept = bound_contributions(
                units, keys, np.array(values, dtype=np.int64),
                groups=groups, rows=limit, low=low, high=high, clamp=clamp,  # type: ignore[arg-type]
                secret=SECRET,
            )  # fmt: skip
            assert kept.most_amount == most
            totals.append(kept.totals(listed=listed))
            kepts.append(entries(kept))
        left = {pair: entry for pair, entry in kepts[1].items() if pair[0] != 99}
        assert left == kepts[0]
        for name, bound in (("units", 1), ("rows", limit), ("amounts", most)):
            moved = getattr(totals[1], name) - getattr(totals[0], name)
            assert np.count_nonzero(moved) <= groups
            assert np.abs(moved).max(initial=0) <= bound


def test_numbering_the_units_by_their_rank_would_let_one_unit_move_the_others() -> None:
    """The hash must be one of the identifier: a rank among all units changes with all of them."""
    keys = np.tile(np.arange(8), 20)
    names = np.repeat(np.arange(20), 8)

    def kept(units: Any) -> dict[Any, Any]:
        return entries(bound_contributions(units, keys, groups=1, secret=SECRET))

    texts = np.array([f"u{name:02d}" for name in names])
    for units in (texts, names * 10**12):  # factorised in both cases
        fewer = bound_contributions(units[8:], keys[8:], groups=1, secret=SECRET)
        whole = bound_contributions(units, keys, groups=1, secret=SECRET)
        assert set(entries(fewer)) <= set(entries(whole))
    ranks, fewer_ranks = np.unique(texts, return_inverse=True)[1], np.repeat(np.arange(19), 8)
    before = {key for _, key in sorted(kept(ranks))[1:]}
    wrong = sum(
        a[1] != b[1]
        for a, b in zip(
            sorted(kept(ranks))[1:],
            sorted(entries(bound_contributions(fewer_ranks, keys[8:], groups=1, secret=SECRET))),
            strict=True,
        )
    )
    assert before
    assert wrong > 5


def test_few_bits_of_the_hash_still_keep_the_right_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    units, keys = rng.integers(0, 40, 4000), rng.integers(0, 30, 4000)
    right = entries(bound_contributions(units, keys, groups=5, rows=3, secret=SECRET))
    for bits in (1, 2, 4):
        monkeypatch.setattr(bounding, "_hash_bits", lambda _, bits=bits: bits)
        found = entries(bound_contributions(units, keys, groups=5, rows=3, secret=SECRET))
        assert found == right
    assert len(right) == 200


def test_equal_hashes_are_ordered_by_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    def same(ids: Any, _keys: Any, _secret: bytes, **_: str) -> Any:
        return np.zeros(ids.size, dtype=np.uint64)

    monkeypatch.setattr(bounding, "keyed_hash", same)
    kept = bound_contributions([1, 1, 1, 2], ["c", "a", "b", "c"], groups=2, secret=SECRET)
    assert list(entries(kept)) == [(1, "a"), (1, "b"), (2, "c")]


def test_every_group_of_a_unit_is_kept_equally_often() -> None:
    units, keys = np.repeat(np.arange(6000), 6), np.tile(np.arange(6), 6000)
    found = bound_contributions(units, keys, groups=2, secret=SECRET).totals().units
    assert found.sum() == 12_000
    assert abs(found - 2000).max() < 6 * np.sqrt(6000 * 2 / 9)


def test_every_row_of_a_group_is_kept_equally_often_and_equal_values_are_not_kept_together() -> (
    None
):
    units = np.repeat(np.arange(8000), 4)
    values = np.tile([5, 5, 5, 9], 8000)
    kept = bound_contributions(
        units, np.zeros_like(units), values,
        groups=1, rows=1, low=0, high=10, clamp="row", secret=SECRET,
    )  # fmt: skip
    assert kept.amounts is not None
    nines = int((kept.amounts == 9).sum())
    assert abs(nines - 2000) < 6 * np.sqrt(8000 * 3 / 16)


def test_reals_are_rounded_to_a_public_grid_and_nan_counts_as_the_lower_bound() -> None:
    values = [0.3, np.inf, -np.inf, np.nan, 1e300, 2.0**-60]
    kept = bound_contributions(
        list(range(6)), [0] * 6, values, groups=1, rows=1, low=-1, high=0.75, clamp="row",
        secret=SECRET,
    )  # fmt: skip
    step = Fraction(1, 2**30)
    assert kept.grid == step
    assert kept.amounts is not None
    steps = [round(Fraction(0.3) / step), 3 << 28, -(1 << 30), -(1 << 30), 3 << 28, 0]
    expected = [x * step for x in steps]
    assert kept.amounts.tolist() == expected
    assert entries(kept.in_steps()) == {(i, 0): (1, x) for i, x in enumerate(steps)}
    assert kept.most_amount == 1
    order = [4, 2, 0, 1, 3, 5]
    again = bound_contributions(
        order, [0] * 6, np.array(values)[order], groups=1, low=-1, high=0.75, secret=SECRET
    )
    assert again.amounts is not None
    assert again.amounts.tolist() == expected


def test_sums_of_large_numbers_do_not_overflow() -> None:
    large = [2**61] * 9 + [-(2**61)] * 8
    kept = bound_contributions(
        [1] * 17, [1] * 17, large, groups=1, low=-(2**60), high=2**60, secret=SECRET
    )
    assert entries(kept) == {(1, 1): (None, 2**60)}
    many = bound_contributions(
        list(range(40)), [1] * 40, [2**60] * 40, groups=1, low=0, high=2**60, secret=SECRET
    )
    assert many.totals().amounts.tolist() == [40 * 2**60]  # type: ignore[union-attr]
    close = [2**61, 2**61, 2**61, -(2**61), -(2**61), 5 - 2**61]
    settled = bound_contributions([1] * 6, [1] * 6, close, groups=1, low=-9, high=9, secret=SECRET)
    assert entries(settled) == {(1, 1): (None, 5)}


def test_listed_keys_have_a_total_each_and_no_others() -> None:
    kept = bound_contributions([1, 2, 3], ["b", "a", "b"], groups=1, rows=1, secret=SECRET)
    found = kept.totals(listed=["b", "z"])
    assert found.keys.tolist() == ["b", "z"]
    assert found.units.tolist() == [2, 0]
    assert kept.totals().keys.tolist() == ["a", "b"]
    for wrong in (["b", "b"], ["b", None], [1, True]):
        with pytest.raises(ValueError, match="different keys"):
            kept.totals(listed=wrong)


def test_the_limits_are_a_promise_about_units() -> None:
    kept = bound_contributions([1], [1], [1], groups=3, low=-2, high=5, rows=2, secret=SECRET)
    units = kept.limits(neighbours="add_remove")
    assert (units.groups, units.rows, units.amount) == (3, 2, Fraction(5))
    assert units.neighbours is Neighbours.add_remove
    assert repr(kept) == "<contributions, at most 3 groups of each unit>"


def test_many_kinds_of_identifiers_come_back_as_they_were() -> None:
    dates = np.array(["2020-01-02", "1999-12-31"], dtype="datetime64[D]")
    for units in (
        np.array([True, False]),
        np.array([3, 200], dtype=np.uint8),
        np.array([2**64 - 1, 0], dtype=np.uint64),
        np.array([b"x", b"y"]),
        np.array(["a\0", "a"], dtype=object),
        [7, -7],
        dates,
    ):
        kept = bound_contributions(units, units, groups=1, secret=SECRET)
        expected = sorted(np.asarray(units).tolist())
        assert kept.units.tolist() == kept.keys.tolist() == expected
    empty = bound_contributions([], [], groups=1, rows=1, secret=SECRET)
    assert entries(empty) == {}
    assert empty.totals().units.size == 0


@pytest.mark.parametrize(
    ("units", "arguments", "error", "message"),
    [
        ([1j], {}, TypeError, "numbers, texts, bytes or dates, got complex"),
        (np.array([1j]), {}, TypeError, "units must be numbers, texts, bytes or dates"),
        (np.array([[1]]), {}, ValueError, "one column"),
        ("1", {}, TypeError, "one column"),
        ([1, 2], {}, ValueError, "columns of one length"),
        ([(1,)], {}, TypeError, "dates, got tuple"),
        ([datetime(2020, 1, 1, tzinfo=UTC)], {}, TypeError, "without a time zone"),
        (np.ma.array([1]), {}, TypeError, "masked"),
        ([1], {"groups": 0}, ValueError, "groups must be a positive whole number"),
        ([1], {"low": 0}, TypeError, "leave them out"),
        ([1], {"values": [1]}, TypeError, "values need low and high"),
        ([1], {"values": [1], "low": 2, "high": 1}, ValueError, "low end above"),
        ([1], {"values": ["1"], "low": 0, "high": 1}, TypeError, "numbers, got str"),
        (
            [1],
            {"values": np.array(["1"]), "low": 0, "high": 1},
            TypeError,
            "got an array of str",
        ),
        ([1], {"values": [1], "low": 0, "high": 1, "clamp": "row"}, TypeError, "needs rows"),
        ([1], {"clamp": "both"}, ValueError, "'row' or 'amount'"),
        ([1], {"values": [1], "low": 0, "high": 2**61}, ValueError, "too large"),
        ([1], {"secret": b"short"}, ValueError, "16 random bytes"),
    ],
)
def test_what_cannot_be_cut_is_refused(
    units: Any, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    given = {"groups": 1, "secret": SECRET, **arguments}
    with pytest.raises(error, match=message):
        bound_contributions(units, [1], given.pop("values", None), **given)
