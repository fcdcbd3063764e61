# SPDX-License-Identifier: Apache-2.0
"""What the engine is asked for, and what measures share."""

from dataclasses import replace
from fractions import Fraction

import pytest

from sordino.errors import MissingBound
from sordino.plan.aggregates import Direct, Mean, Rank, Spread, Tally, Target, Vote, is_there
from sordino.plan.bound import Outline, bound
from sordino.plan.plan import Cells, Crowded, Distinct, Ranks, RowCount, Total, UnitCount, Votes
from sordino.query.tree import Call, Field, Kind, Literal, Measure, Scalar
from sordino.query.types import Type
from tests.fixtures.hospital import DISEASES, between
from tests.plan.unit import questions


def outlined(*measures: Measure, **how: object) -> Outline:
    return bound(questions.question(measures), questions.catalog(), **how)  # type: ignore[arg-type]


def released(outline: Outline, measure: int) -> Target:
    formula = outline.formulas[measure]
    assert isinstance(formula, Direct)
    return outline.targets[formula.release]


def statistics(outline: Outline) -> tuple[object, ...]:
    first = outline.bounded.parts[0]
    assert isinstance(first, Cells)
    return first.statistics


def test_avg_takes_the_total_of_sum_and_one_count() -> None:
    outline = outlined(questions.SUM, questions.AVG, Measure(Kind.COUNT, questions.COST))
    total, count = statistics(outline)
    assert isinstance(total, Total)
    assert total.offset == 0
    assert count == RowCount(questions.COST)
    average, cells = outline.formulas[1], outline.bounded.parts[0]
    assert isinstance(average, Mean)
    assert isinstance(cells, Cells)
    assert [outline.targets[at] for at in (average.total, average.count)] == [
        Tally(cells, 0),
        Tally(cells, 1),
    ]
    assert average.offset == 0
    assert released(outline, 2) == Tally(cells, 1)


def test_avg_alone_moves_half_as_far_around_the_middle() -> None:
    (total, _) = statistics(outlined(questions.AVG))
    (plain,) = statistics(outlined(questions.SUM))
    assert isinstance(total, Total)
    assert isinstance(plain, Total)
    assert total.largest * 2 == plain.largest


def test_avg_keeps_a_total_of_its_own_where_the_range_is_far_from_zero() -> None:
    year = between(2000, 2010)
    far = [Measure(kind, questions.AGE, year) for kind in (Kind.SUM, Kind.AVG)]
    assert len(statistics(outlined(*far))) == 3


def test_a_share_of_yes_moves_by_half_a_step_either_way() -> None:
    yes = Measure(Kind.AVG, questions.AGE, between(0, 1))
    total = statistics(outlined(yes))[0]
    assert isinstance(total, Total)
    assert total.largest * Fraction(2) ** total.exponent == Fraction(1, 2)


def test_variance_and_avg_share_the_total_and_the_middle() -> None:
    outline = outlined(
        questions.VARIANCE, questions.STDDEV, Measure(Kind.AVG, questions.AGE, questions.AGE.range)
    )
    total, square, count = statistics(outline)
    assert isinstance(total, Total)
    assert isinstance(square, Total)
    assert (total.power, square.power) == (1, 2)
    assert (total.offset, total.exponent) == (square.offset, square.exponent) == (60, 0)
    assert count == RowCount(questions.AGE)
    spread, root, average = outline.formulas
    assert isinstance(spread, Spread)
    assert isinstance(root, Spread)
    assert isinstance(average, Mean)
    assert (spread.root, root.root) == (False, True)
    assert average.total == spread.total
    assert average.offset == 60


def test_squares_have_half_of_the_bits() -> None:
    wide = Measure(Kind.VARIANCE, questions.COST, questions.COST.range)
    _, square, _ = statistics(outlined(wide))
    assert isinstance(square, Total)
    assert max(abs(square.low), abs(square.high)) <= 2**15


def test_all_rows_and_rows_with_a_value_are_counted_apart() -> None:
    assert statistics(outlined(questions.COUNT, Measure(Kind.COUNT, questions.AGE))) == (
        RowCount(),
        RowCount(questions.AGE),
    )


def test_what_is_never_missing_is_counted_with_all_rows() -> None:
    zero, one = Literal(0, Type.INTEGER), Literal(1, Type.INTEGER)
    missing = Literal(None, Type.INTEGER)
    yes = Call("is_null", (questions.AGE,), Type.BOOLEAN)
    filled = Call("coalesce", (questions.AGE, zero), Type.INTEGER)
    either = Call("case", (yes, one, filled), Type.INTEGER, between(0, 1))
    never: tuple[Scalar, ...] = (zero, yes, filled, either)
    assert all(map(is_there, never))
    assert not is_there(Call("case", (yes, one, missing), Type.INTEGER))
    assert not is_there(Call("case", (yes, one, questions.AGE), Type.INTEGER))
    assert not is_there(Call("coalesce", (questions.AGE, missing), Type.INTEGER))
    assert not is_there(Call("add", (one, one), Type.INTEGER))
    outline = outlined(questions.COUNT, Measure(Kind.AVG, either, either.range))
    assert [s for s in statistics(outline) if isinstance(s, RowCount)] == [RowCount()]


def test_every_kind_has_its_part_and_target() -> None:
    outline = bound(
        questions.question(questions.EVERYTHING, questions.DECLARED), questions.catalog()
    )
    kinds = [type(part) for part in outline.bounded.parts]
    assert kinds == [Cells, Ranks, Votes, Distinct]
    cells, ranks, votes, distinct = outline.bounded.parts
    assert isinstance(cells, Cells)
    assert isinstance(ranks, Ranks)
    assert isinstance(votes, Votes)
    assert isinstance(distinct, Distinct)
    expected: dict[Measure, Target] = {
        questions.MEDIAN: Rank(ranks, Fraction(1, 2), None),
        questions.LEAST: Rank(ranks, None, 0),
        questions.MODE: Vote(votes, None),
        questions.TOP: Vote(votes, 2),
        questions.DISTINCT: Tally(distinct, 0),
        questions.COUNT: Tally(cells, 0),
    }
    for measure, target in expected.items():
        assert released(outline, questions.EVERYTHING.index(measure)) == target


def test_a_list_is_no_longer_than_its_candidates() -> None:
    long = replace(questions.TOP, count=50)
    target = released(outlined(long), 0)
    assert isinstance(target, Vote)
    assert target.many == len(DISEASES)


def test_units_are_counted_whenever_keys_are_discovered() -> None:
    assert statistics(
        bound(questions.question([questions.MODE], questions.DISCOVERED), questions.catalog())
    ) == (UnitCount(),)
    both = statistics(
        bound(
            questions.question([questions.UNITS, questions.COUNT], questions.DISCOVERED),
            questions.catalog(),
        )
    )
    assert both == (UnitCount(), RowCount())


def test_no_cells_are_asked_for_where_nothing_is_added_up() -> None:
    assert [type(part) for part in outlined(questions.MODE).bounded.parts] == [Votes]


def test_diagnostics_count_rows_beyond_the_range_and_crowded_units() -> None:
    outline = outlined(questions.SUM, questions.AVG, questions.COUNT, diagnostics=True)
    assert isinstance(outline.bounded.parts[-1], Crowded)
    titles = [title for title, _ in outline.diagnostics]
    assert titles == [
        "rows, weighed, with cost outside 0 to 5,000",
        "patients with more rows than count in full",
    ]
    tally = outline.targets[outline.diagnostics[0][1]]
    assert isinstance(tally, Tally)
    outside = statistics(outline)[tally.column]
    assert isinstance(outside, RowCount)
    assert isinstance(outside.argument, Call)
    assert outside.argument.operation == "case"


def test_diagnostics_look_at_what_was_there_before_a_clamp() -> None:
    low, high = Literal(0.0, Type.REAL), Literal(9.0, Type.REAL)
    cut = Call("clamp", (questions.COST, low, high), Type.REAL, between(0, 9))
    outline = outlined(Measure(Kind.SUM, cut, cut.range), diagnostics=True)
    outside = statistics(outline)[1]
    assert isinstance(outside, RowCount)
    assert "clamp" not in repr(outside)


def test_rows_that_stand_for_themselves_are_never_crowded() -> None:
    income = Field("f3", Type.REAL, "income", between(0, 10))
    asked = questions.question([Measure(Kind.SUM, income, income.range)], rows=questions.SURVEY)
    outline = bound(asked, questions.catalog(), diagnostics=True)
    assert not any(isinstance(part, Crowded) for part in outline.bounded.parts)


def test_an_aggregate_without_a_range_or_candidates_is_refused() -> None:
    with pytest.raises(MissingBound, match="SUM needs public bounds") as bounds:
        outlined(replace(questions.SUM, range=None))
    assert bounds.value.code == "no_bounds"
    with pytest.raises(MissingBound, match="MODE chooses among public values") as keys:
        outlined(replace(questions.MODE, domain=None))
    assert keys.value.code == "no_keys"
