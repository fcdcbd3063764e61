# SPDX-License-Identifier: Apache-2.0
"""What is told of keys that are kept depends on these keys alone."""

import datetime
import itertools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino.mechanisms.keys.selection import place, select_keys

RULE: dict[str, Any] = {"epsilon": 1, "delta": 1e-9, "neighbours": "add_remove"}
KEPT = 1000
HIDDEN: list[Any] = [
    "secret-long", "z", 2.5, 2**63, 2**200, 10**5000, None, math.nan, -0.0, True, b"z", (1, "z"),
    Decimal("1e999999"), Decimal("sNaN"), Fraction(1, 3), datetime.date(2024, 1, 1),
    np.datetime64("NaT"), np.timedelta64(3, "s"), [1, 2], {}, object(),
]  # fmt: skip


def told(keys: Any, counts: list[int]) -> str:
    found = select_keys(keys, counts, **RULE)
    assert type(found) is list
    return repr([(type(key), key) for key in found])


@pytest.mark.parametrize("hidden", range(len(HIDDEN)))
@pytest.mark.parametrize(
    "keys", [["b", "x"], [1, 2], [1.0, 0.0], ["b", 1], [None, "b"]], ids=range(5)
)
def test_a_key_that_is_not_kept_leaves_no_trace(keys: list[Any], hidden: int) -> None:
    with_it = [keys[0], HIDDEN[hidden], keys[1]]
    # The optimal law keeps a key of no unit never, and one of a single unit with 1e-9.
    for count in (0, 1):
        assert told(with_it, [KEPT, count, KEPT]) == told(keys, [KEPT, KEPT])


def test_noisy_counts_come_with_their_keys() -> None:
    for order in itertools.permutations([("b", 1000), ("x", 500), (7, 2000), ("hidden", 1)]):
        keys, counts = map(list, zip(*order, strict=True))
        kept, noisy = select_keys(keys, counts, method="laplace", **RULE)
        assert kept == [7, "b", "x"]
        assert abs(noisy - [2000, 1000, 500]).max() < 40


@pytest.mark.parametrize("twice", ["a", 1, math.nan, np.datetime64("NaT"), (math.nan, "a"), None])
def test_a_key_is_found_to_be_listed_twice_only_if_both_are_kept(twice: Any) -> None:
    keys = ["m", twice, twice]
    with pytest.raises(ValueError, match="listed twice"):
        select_keys(keys, [KEPT, KEPT, KEPT], **RULE)
    assert select_keys(keys, [KEPT, 0, 0], **RULE) == ["m"]
    assert len(select_keys(keys, [KEPT, KEPT, 0], **RULE)) == 2


ORDERED: list[list[Any]] = [
    [-math.inf, -3, -0.0, 0.0, 0, False, 1.0, True, 1, 1.5, 2**70, math.inf, math.nan],
    ["", "A", "a", "b", b"a", datetime.date(2024, 1, 9), datetime.date(2024, 1, 10)],
    [np.float32(0.5), np.int64(3), "a", np.str_("b"), ("a", 1), ("a", 2), ("b",), None],
]


@pytest.mark.parametrize("number", range(len(ORDERED)))
def test_keys_of_all_kinds_have_one_order_whatever_order_they_come_in(number: int) -> None:
    keys = ORDERED[number]
    plain_keys = [key.item() if isinstance(key, np.generic) else key for key in keys]
    expected = repr(sorted(plain_keys, key=place))
    rng = np.random.default_rng(number)
    for _ in range(20):
        order = rng.permutation(len(keys)).tolist()
        found = select_keys([keys[i] for i in order], [KEPT] * len(keys), **RULE)
        assert repr(found) == expected
    assert len({place(key) for key in keys}) == len(keys)
    plain = [key for key in keys if isinstance(key, int | float) and not math.isnan(key)]
    assert sorted(plain, key=place) == sorted(plain)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array(["b", "a"]), ["a", "b"]),
        (np.array([5, 3], dtype=np.int8), [3, 5]),
        (np.array(["b", 3], dtype=object), [3, "b"]),
        (np.array(["2024-01-02", "2024-01-01"], dtype="M8[ns]"), None),
        (("b", "a"), ["a", "b"]),
    ],
    ids=range(5),
)
def test_arrays_of_keys_come_back_as_lists_of_plain_keys(array: Any, expected: Any) -> None:
    found = select_keys(array, [KEPT, KEPT], **RULE)
    assert found == (sorted(array) if expected is None else expected)
    if expected is not None:
        assert list(map(type, found)) == list(map(type, expected))


@pytest.mark.parametrize("keys", ["ab", b"ab", 3, np.array([["a"], ["b"]]), np.ma.array([1, 2])])
def test_keys_that_are_no_column_are_refused(keys: Any) -> None:
    with pytest.raises(TypeError, match="one column"):
        select_keys(keys, [1, 2], **RULE)
