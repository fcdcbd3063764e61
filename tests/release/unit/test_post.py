# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction
from typing import Any

import pytest

from sordino.answer import Answer
from sordino.mechanisms import Laplace
from sordino.plan.aggregates import Direct, Mean
from sordino.plan.intervals import level_for, level_of_release
from sordino.plan.plan import Added, Chosen, RowCount, Votes
from sordino.query import tree
from sordino.query.types import Range, Type
from sordino.release import Options, release
from tests.release.unit.plans import (
    AGE,
    ALONE,
    CONFIDENCE,
    COST,
    DISEASE,
    RECEIPT,
    ROWS,
    WIDE,
    key,
    make,
    sealed,
    statistics,
    titled,
)

N, M = tree.MeasureRef(0, Type.INTEGER), tree.MeasureRef(1, Type.INTEGER)
NAMES = ("a", "b", "c", "d")


def silent(column: int) -> Added:
    return Added(ROWS, column, Laplace(sensitivity=1, epsilon=2**18), Fraction(1))


def two_counts(**post: Any) -> Answer:
    plan = make(
        keys=(key(*NAMES),),
        measures=(tree.Measure(tree.Kind.COUNT), tree.Measure(tree.Kind.COUNT, COST)),
        parts=statistics(RowCount(), RowCount(COST)),
        releases=(silent(0), silent(1)),
        formulas=(Direct(0), Direct(1)),
        **post,
    )
    return release(plan, sealed(TABLE), RECEIPT)


TABLE = {"k0": ["d", "c", "b", "a"], "s0": [40, 10, 10, 30], "s1": [4, 3, 2, 1]}


def names(answer: Answer) -> list[Any]:
    return [cell.value for cell in answer["disease"]]


def test_having_keeps_the_groups_whose_noisy_numbers_fulfil_it() -> None:
    above = tree.PostCall("gt", (N, tree.Literal(10, Type.INTEGER)), Type.BOOLEAN)
    answer = two_counts(having=above)
    assert names(answer) == ["a", "d"]
    assert any("kept by their noisy values" in note for note in answer.notes)


def test_order_and_limit_apply_to_noisy_numbers_and_ties_keep_the_order_of_keys() -> None:
    assert names(two_counts(order=(tree.Ordered(N),))) == ["b", "c", "a", "d"]
    assert names(two_counts(order=(tree.Ordered(N, descending=True),))) == ["d", "a", "b", "c"]
    assert names(two_counts(order=(tree.Ordered(N), tree.Ordered(M, descending=True)))) == [
        "c", "b", "a", "d",
    ]  # fmt: skip
    assert names(two_counts(order=(tree.Ordered(N, descending=True),), limit=2)) == ["d", "a"]


def test_missing_values_come_last_in_either_direction() -> None:
    zero = tree.PostCall("sub", (N, tree.Literal(30, Type.INTEGER)), Type.INTEGER)
    odd = tree.PostCall("div", (tree.Literal(1, Type.INTEGER), zero), Type.REAL)
    assert names(two_counts(order=(tree.Ordered(odd),)))[-1] == "a"
    assert names(two_counts(order=(tree.Ordered(odd, descending=True),)))[-1] == "a"


def test_an_expression_shares_its_confidence_among_its_releases() -> None:
    mechanism = Laplace(sensitivity=1, epsilon=Fraction(1, 10))
    plan = make(
        measures=(tree.Measure(tree.Kind.COUNT), tree.Measure(tree.Kind.COUNT, COST)),
        parts=statistics(RowCount(), RowCount(COST)),
        releases=tuple(Added(ROWS, at, mechanism, Fraction(1)) for at in (0, 1)),
        formulas=(Direct(0), Direct(1)),
    )
    plan = titled(plan, tree.PostCall("sub", (N, M), Type.INTEGER))
    cell = release(plan, sealed({"s0": [500], "s1": [100]}), RECEIPT).cell(0, "x")
    assert cell.half_width == 2 * mechanism.accuracy(confidence=Fraction(975, 1000))
    assert level_for(plan, frozenset({0})) == CONFIDENCE


def test_a_release_used_twice_in_an_expression_is_one_event() -> None:
    twice = tree.PostCall("add", (N, N), Type.INTEGER)
    plan = titled(make(), twice)
    assert level_for(plan, frozenset({0})) == CONFIDENCE
    cell = release(plan, sealed({"s0": [500]}), RECEIPT).cell(0, "x")
    one = plan.releases[0]
    assert isinstance(one, Added)
    assert cell.half_width == 2 * one.mechanism.accuracy(confidence=CONFIDENCE)


def test_draws_are_made_for_the_column_that_needs_the_most_confidence() -> None:
    plan = make(
        measures=(tree.Measure(tree.Kind.AVG, AGE, WIDE), tree.Measure(tree.Kind.COUNT)),
        parts=statistics(RowCount(), RowCount(AGE)),
        releases=(silent(0), silent(1)),
        formulas=(Mean(0, 1, Fraction(0), Fraction(0), Fraction(120)), Direct(1)),
    )
    assert level_of_release(plan, 1) == Fraction(975, 1000)


def test_a_quotient_by_a_count_that_may_be_0_has_no_error_bar() -> None:
    ratio = tree.PostCall("div", (N, M), Type.REAL)
    plan = make(
        measures=(tree.Measure(tree.Kind.COUNT), tree.Measure(tree.Kind.COUNT, COST)),
        parts=statistics(RowCount(), RowCount(COST)),
        releases=tuple(
            Added(ROWS, at, Laplace(sensitivity=1, epsilon=Fraction(1, 10)), Fraction(1))
            for at in (0, 1)
        ),
        formulas=(Direct(0), Direct(1)),
    )
    exact = sealed({"s0": [5], "s1": [0]})
    answers = [release(titled(plan, ratio), exact, RECEIPT) for _ in range(30)]
    # Each interval holds 0 with probability 0.975 at least.
    silent = [answer for answer in answers if answer.cell(0, "x").half_width is None]
    assert len(silent) > 15
    assert any(note.startswith("?") for note in silent[0].notes)


def test_columns_of_keys_and_literals_are_exact() -> None:
    upper = tree.PostCall("upper", (tree.KeyRef(0, Type.TEXT),), Type.TEXT)
    plan = titled(make(keys=(key("a", "b"),)), upper)
    answer = release(plan, sealed({"k0": ["a"], "s0": [1]}), RECEIPT)
    assert [cell.value for cell in answer["x"]] == ["A", "B"]
    assert answer.column("x").kind == "key"
    assert not answer.column("x").noisy


@pytest.mark.parametrize(
    ("high", "type_", "starts"),
    [(120, Type.INTEGER, [0, 40, 80]), (1, Type.REAL, [0.0, 1 / 3, 2 / 3])],
)
def test_bins_are_shown_by_their_ends(high: int, type_: Type, starts: list[float]) -> None:
    wide = Range(Fraction(0), Fraction(high))
    binned = tree.Key(AGE, "age", None, bins=tree.Bins(wide, 3))
    ref = tree.KeyRef(0, Type.INTEGER)
    outputs = (
        tree.Output("age", ref),
        tree.Output("age_from", tree.PostCall("bin_from", (ref,), Type.REAL)),
        tree.Output("age_to", tree.PostCall("bin_to", (ref,), Type.REAL)),
        tree.Output("n", N),
    )
    plan = make(keys=(binned,), outputs=outputs, releases=(silent(0),))
    answer = release(plan, sealed({"k0": [2, 0], "s0": [7, 5]}), RECEIPT)
    assert [cell.value for cell in answer["age_from"]] == starts
    assert [cell.value for cell in answer["age"]] == starts
    assert [cell.value for cell in answer["age_to"]] == [*starts[1:], high]
    assert [cell.value for cell in answer["n"]] == [5, 0, 7]
    assert answer.column("age_from").type is type_


def test_types_come_from_the_question_and_the_options_alone() -> None:
    whole = release(make(), sealed({"s0": [3]}), RECEIPT)
    real = release(make(), sealed({"s0": [3]}), RECEIPT, Options(integer=False))
    assert whole.column("m0").type is Type.INTEGER
    assert real.column("m0").type is Type.REAL
    assert isinstance(real.cell(0, "m0").value, float)


def test_choices_are_columns_with_a_gap_in_rows() -> None:
    domain = ("flu", "cold", "asthma")
    votes = Votes(DISEASE, domain)
    plan = make(
        measures=(
            tree.Measure(tree.Kind.MODE, DISEASE, domain=domain),
            tree.Measure(tree.Kind.TOP, DISEASE, count=2, domain=domain),
        ),
        parts=(votes,),
        releases=(Chosen(votes, None, Fraction(1), 1), Chosen(votes, 2, Fraction(1), 1)),
        formulas=(Direct(0), Direct(1)),
        shares=ALONE,
    )
    answer = release(plan, sealed({"v": [0, 1, 2], "s0": [1, 10**6, 10**5]}), RECEIPT)
    assert answer.cell(0, "m0").value == "cold"
    assert answer.cell(0, "m1").value == ("cold", "asthma")
    assert sum("chosen by noisy votes" in note for note in answer.notes) == 2
