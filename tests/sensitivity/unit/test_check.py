# SPDX-License-Identifier: Apache-2.0
"""Brute force, against a plainer brute force, and what its reports say."""

import itertools
import math
import pickle
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino import sensitivity
from sordino.sensitivity import Neighbours, Sensitivity, check, local
from tests.sensitivity.unit.queries import norms

BOTH = list(Neighbours)
Data = tuple[Any, ...]


def related(one: Data, other: Data, neighbours: str) -> bool:
    """Whether two data sets are neighbours, from the definition on histograms."""
    a, b = Counter(one), Counter(other)
    apart = (a - b).total() + (b - a).total()
    return apart == 1 if neighbours == "add_remove" else apart == 2 and len(one) == len(other)


def related_in_order(one: Data, other: Data, neighbours: str) -> bool:
    if neighbours == "replace_one":
        return len(one) == len(other) and sum(map(lambda a, b: a != b, one, other)) == 1
    short, long = sorted((one, other), key=len)
    return len(long) == len(short) + 1 and any(
        long[:place] + long[place + 1 :] == short for place in range(len(long))
    )


def plain(
    f: Any, universe: Sequence[Any], size: int, neighbours: str, *, least: int, ordered: bool
) -> list[Fraction]:
    """The three norms, by comparing each data set with each other one."""
    sizes = range(least, size + 1)
    if ordered:
        data = [d for n in sizes for d in itertools.product(universe, repeat=n)]
    else:
        data = [d for n in sizes for d in itertools.combinations_with_replacement(universe, n)]
    test = related_in_order if ordered else related
    answers = [[Fraction(x) for x in f(d)] for d in data]
    top = [Fraction(0)] * 3
    for (one, a), (other, b) in itertools.combinations(zip(data, answers, strict=True), 2):
        if test(one, other, neighbours):
            moved = [abs(x - y) for x, y in zip(a, b, strict=True)]
            sums = sum(moved, Fraction(0)), sum((x * x for x in moved), Fraction(0))
            top = list(map(max, top, (*sums, max(moved))))
    return top


def always(answer: object) -> Any:
    return lambda data: answer if len(data) >= 0 else data


def mixed(data: Data) -> list[Fraction]:
    """A function without any structure."""
    spot = sum((3 * x + 1) ** 2 for x in data) + 5 * len(data)
    return [Fraction(spot % 7, 3), Fraction(spot % 5), Fraction(-(spot % 11), 2)]


def in_order(data: Data) -> list[Fraction]:
    spot = sum((place + 1) * (x + 1) for place, x in enumerate(data))
    return [Fraction(spot % 7), Fraction(spot % 5, 4)]


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize(("least", "size"), [(0, 3), (1, 4), (2, 3)])
@pytest.mark.parametrize("ordered", [False, True])
def test_all_neighbours_are_compared_and_no_others(
    neighbours: Neighbours, least: int, size: int, ordered: bool
) -> None:
    f = in_order if ordered else mixed
    found = check(f, range(3), size, neighbours, least=least, ordered=ordered)
    wanted = plain(f, range(3), size, neighbours, least=least, ordered=ordered)
    assert norms(found) == wanted
    test = related_in_order if ordered else related
    for witness in found.witnesses:
        one, other = map(tuple, witness.data())
        assert test(one, other, neighbours)
        assert witness.answers == (tuple(f(one)), tuple(f(other)))
    attained = {name for witness in found.witnesses for name in witness.attains}
    assert attained == {"l1", "l2", "linf"}


@pytest.mark.parametrize("neighbours", BOTH)
def test_the_numbers_of_data_sets_and_pairs_are_those_of_the_definition(
    neighbours: Neighbours,
) -> None:
    data = [d for n in range(4) for d in itertools.combinations_with_replacement(range(4), n)]
    kept = [d for d in data if d or neighbours == "add_remove"]
    pairs = sum(related(a, b, neighbours) for a, b in itertools.combinations(kept, 2))
    found = check(len, range(4), 3, neighbours)
    assert found.datasets == len(kept)
    # Two data sets may be a replacement apart in one way only, so each pair is seen once.
    assert found.pairs == pairs


@pytest.mark.parametrize("neighbours", BOTH)
def test_the_local_sensitivity_is_that_of_the_neighbours_of_one_data_set(
    neighbours: Neighbours,
) -> None:
    data = [d for n in range(5) for d in itertools.combinations_with_replacement(range(3), n)]
    for here in (d for d in data if 1 <= len(d) <= 3):
        moves = [
            sum(abs(a - b) for a, b in zip(mixed(here), mixed(there), strict=True))
            for there in data
            if related(here, there, neighbours)
        ]
        assert local(mixed, here, range(3), neighbours).l1 == max(moves)


def test_the_largest_local_sensitivity_is_the_global_one() -> None:
    data = itertools.combinations_with_replacement(range(4), 3)
    top = max(local(max, d, range(4), "replace_one").l1 for d in data)
    assert top == check(max, range(4), 3, "replace_one", least=3).l1 == 3


def test_local_sensitivity_in_order() -> None:
    found = local(lambda d: d[0] if d else 0, (1, 2), [5], "add_remove", ordered=True)
    assert found.l1 == 4
    assert local(lambda d: d[0] if d else 0, (1, 2), [5], "add_remove").l1 == 1


def test_answers_may_be_numbers_of_any_kind() -> None:
    answers = [3, Fraction(3), Decimal(3), 3.0, np.int64(3), np.float64(3), [3], (3,), True + 2]
    for three in (*answers, np.array([3]), np.array(3)):
        given: dict[Data, Any] = {(): [0], ("a",): three}
        assert check(given.__getitem__, ["a"], 1, "add_remove").l1 == 3
    assert check(bool, ["a"], 1, "add_remove").l1 == 1


def test_doubles_are_the_numbers_they_are() -> None:
    found = check(lambda d: 0.1 * len(d), ["a"], 1, "add_remove", claimed=Fraction(1, 10))
    assert found.l1 == Fraction(0.1) > Fraction(1, 10)
    assert found.holds is False
    assert "may be rounding" in str(found)


def test_huge_answers_do_not_overflow() -> None:
    found = check(lambda d: [2**70 * len(d), 2**62 * len(d)], ["a"], 2, "add_remove")
    assert found.l1 == 2**70 + 2**62
    assert found.l2_squared == 2**140 + 2**124
    large = check(lambda d: [2**40 * len(d)] * 3, ["a"], 2, "add_remove")
    assert large.l2_squared == 3 * 2**80


def test_a_false_claim_is_told_with_the_pair_that_breaks_it() -> None:
    found = check(sum, range(5), 3, "replace_one", claimed=3)
    assert found.holds is False
    assert str(found) == (
        "55 data sets of 1 to 3 records; one record replaced; moves by at most 4\n"
        "the claim is wrong: L1 of at most 3, but it is 4\n"
        "            one   other\n"
        "  records   0     4\n"
        "  answer    0     4\n"
        "  moved by  4"
    )


def test_a_claim_that_holds_here_is_told_so() -> None:
    assert check(sum, range(5), 3, "replace_one").holds is None
    found = check(sum, range(5), 3, "replace_one", claimed=4)
    assert found.holds is True
    assert "the claim holds here" in str(found)


def test_each_norm_of_a_claim_is_checked() -> None:
    def cells(data: Data) -> list[int]:
        return [data.count(0), data.count(1)]

    wrong = Sensitivity(query="a histogram", l1=2, l2_squared=1, linf=1, neighbours="replace_one")
    found = check(cells, range(3), 3, "replace_one", claimed=wrong)
    assert found.holds is False
    assert "the claim is wrong: L2 of at most 1, but it is 1.41421" in str(found)
    right = sensitivity.histogram(neighbours="replace_one")
    assert check(cells, range(3), 3, "replace_one", claimed=right).holds is True


def test_a_wrong_rule_for_the_median_is_found_out() -> None:
    # The middle value moves no further than to its neighbours: true nearby, not globally.
    found = check(lambda d: sorted(d)[len(d) // 2], range(6), 3, "replace_one", claimed=2, least=3)
    assert found.holds is False
    assert found.l1 == 5


def test_a_split_by_position_moves_every_part_when_a_record_goes() -> None:  # E-C9
    def parts(data: Data) -> list[int]:
        return [sum(data[:1]), sum(data[1:2]), sum(data[2:])]

    found = check(parts, (1, 10, 100), 3, "add_remove", ordered=True)
    assert found.witness is not None
    assert all(found.witness.difference)
    # With fixed positions a replacement stays in its part.
    fixed = check(parts, (1, 10, 100), 3, "replace_one", ordered=True)
    assert fixed.l1 == fixed.linf == 99


def test_records_in_order_are_printed_in_order() -> None:
    found = check(lambda d: d[:1] == ("b",), ("a", "b"), 2, "add_remove", ordered=True, least=1)
    assert found.witness is not None
    lines = str(found.witness).splitlines()
    assert lines[1].split() == ["records", "b", "a"]
    assert lines[2].split() == ["b"]


def test_records_may_be_anything() -> None:
    found = check(lambda d: sum(r["x"] for r in d), [{"x": 1}, {"x": 3}], 2, "replace_one")
    assert found.l1 == 2
    assert "{'x': 1}" in str(found)


def test_a_function_that_does_not_move_has_pairs_too() -> None:
    found = check(always(7), ["a", "b"], 2, "replace_one")
    assert norms(found) == [0, 0, 0]
    assert found.l2 == 0.0
    assert found.witness is not None
    assert check(len, ["a"], 1, "replace_one").l1 == 0


def test_reports_are_values() -> None:
    one, two = (check(sum, range(3), 2, "add_remove", claimed=2) for _ in range(2))
    assert one == two
    assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301 - our own bytes


def test_too_many_data_sets_are_refused_with_their_number_and_a_way_out() -> None:
    with pytest.raises(ValueError, match="there are 352715 data sets, and at most 200000"):
        check(sum, range(10), 11, "add_remove", least=1)
    assert math.comb(21, 11) - 1 == 352715
    with pytest.raises(ValueError, match=r"pairs of neighbours.*take a smaller size or universe"):
        check(sum, range(600), 2, "replace_one")
    with pytest.raises(ValueError, match=r"more than 10\*\*\d+ data sets"):
        check(sum, range(10), 300, "add_remove", ordered=True)
    with pytest.raises(ValueError, match="take a smaller size"):
        check(sum, range(10), 10**9, "add_remove")
    with pytest.raises(ValueError, match="take a smaller universe"):
        local(sum, range(500), range(500), "replace_one")


def broken(data: Data) -> Any:
    raise RuntimeError(len(data))


BAD: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (max, {}, ValueError, r"fails on the data set \(\) with ValueError; leave it out with least=1"),
    (broken, {"least": 1}, ValueError, r"fails on the data set \(0,\) with RuntimeError$"),
    (always(None), {}, TypeError, "must return a number or a list of numbers, not NoneType"),
    (always("1"), {}, TypeError, "not str"),
    (Counter, {}, TypeError, "not Counter"),
    (always(math.nan), {}, ValueError, "not nan as for the data set"),
    (always(Decimal("inf")), {}, ValueError, "not Infinity"),
    (always([]), {}, ValueError, "not an empty list"),
    (lambda d: [0] * len(d) or [0, 0], {}, ValueError, "equally many numbers"),
    (sum, {"universe": []}, ValueError, "universe must hold at least one record"),
    (sum, {"universe": "abc"}, TypeError, "universe must be a list of records, not str"),
    (sum, {"universe": 3}, TypeError, "universe must be a list of records, not int"),
    (sum, {"size": 0}, ValueError, "size must be a positive whole number"),
    (sum, {"size": 2.0}, TypeError, "size must be a positive whole number"),
    (sum, {"least": -1}, ValueError, "least must be"),
    (sum, {"least": 2}, ValueError, "lower least"),
    (sum, {"least": 3, "neighbours": "replace_one"}, ValueError, "lower least"),
    (sum, {"neighbours": "bounded"}, ValueError, "neighbours must be"),
    (sum, {"claimed": -1}, ValueError, "claimed must be"),
    (sum, {"claimed": "1"}, TypeError, "claimed must be"),
    (
        sum,
        {"claimed": sensitivity.count(neighbours="replace_one")},
        ValueError,
        "the claim is about replace_one, not about add_remove",
    ),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_arguments_and_functions_are_refused_in_one_sentence(case: int) -> None:
    f, changed, error, match = BAD[case]
    given: dict[str, Any] = {"universe": range(3), "size": 2, "neighbours": "add_remove"}
    with pytest.raises(error, match=match):
        check(f, **(given | changed))


def test_the_data_of_a_local_sensitivity_is_never_quoted() -> None:
    for f, match in (
        (broken, "a data set of 2 records with"),
        (always(math.inf), "not inf as for"),
    ):
        with pytest.raises(ValueError, match=match) as caught:
            local(f, (123, 456), range(2), "replace_one")
        assert "123" not in str(caught.value)


def test_records_may_be_arrays() -> None:
    universe = [np.array([0, 1]), np.array([2, 5])]
    assert check(lambda d: sum(map(np.sum, d)), universe, 2, "replace_one").l1 == 6


def test_a_report_does_not_pass_for_a_yes() -> None:
    report = check(len, [0, 5], 3, "add_remove", claimed=Fraction(1, 2))
    assert report.holds is False
    with pytest.raises(TypeError, match=r"neither true nor false; read \.holds"):
        assert report
