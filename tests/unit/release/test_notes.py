# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction

from sordino.mechanisms.partitions import KeySelection
from sordino.plan.bounded import Cells, Ranks, RowCount, Shares, Total, UnitCount
from sordino.plan.plan import Direct, Mean, Plan, Ranked
from sordino.query.tree import Kind, Measure
from sordino.query.types import Range
from sordino.release import Options, release
from tests.unit.release.plans import AGE, COST, RECEIPT, WIDE, added, key, make, sealed

CELLS = {"k0": ["a"], "s0": [5], "s1": [5], "s2": [0]}
PRICES = Range(Fraction(0), Fraction(5000))


def notes(plan: Plan, *tables: dict[str, object], options: Options | None = None) -> str:
    answer = release(plan, sealed(*(tables or (CELLS,))), RECEIPT, options or Options())
    return "\n".join(answer.notes)


def test_an_answer_about_single_rows_without_keys_needs_no_notes() -> None:
    assert notes(make(), {"s0": [5]}) == ""


def test_limits_are_named_as_not_covered() -> None:
    found = notes(make(shares=Shares(rows=4, groups=2, rows_per_group=3)), {"s0": [5]})
    assert "a unit counts with at most 4 rows" in found
    assert "in each group a unit counts with at most 3 rows" in found
    assert "of each unit at most 2 groups count" in found


def test_clamping_and_rounding_are_named_as_not_covered() -> None:
    plan = make(
        measures=(Measure(Kind.AVG, COST, PRICES),),
        parts=(Cells((RowCount(), Total(COST, 0, 40000, -3))),),
        releases=(added(0, 0), added(0, 1)),
        formulas=(Mean(1, 0, Fraction(0), Fraction(0), Fraction(5000)),),
    )
    found = notes(plan, {"s0": [5], "s1": [100]})
    assert "values of cost count as within 0 to 5,000" in found
    assert "in steps of 0.125" in found


def test_discovered_keys_say_how_many_units_a_group_needs() -> None:
    rule = KeySelection(epsilon=1, delta=1e-6, neighbours="add_remove")
    plan = make(
        keys=(key(),), parts=(Cells((UnitCount(),)),), releases=(added(0, 0),), selection=rule
    )
    found = notes(plan)
    assert f"one that {rule.count_for(0.95)} units have is shown with probability 0.95" in found


def test_declared_keys_say_that_others_are_left_out_unless_they_have_a_group() -> None:
    assert "not declared are left out" in notes(make(keys=(key("a"),)))
    assert "left out" not in notes(make(keys=(key("a", other="rest"),)))


def test_an_extreme_is_said_to_be_a_quantile() -> None:
    plan = make(
        measures=(Measure(Kind.MAX, AGE, WIDE),),
        parts=(Ranks(AGE, 0, 120, 0),),
        releases=(Ranked(0, 0, None, 1, Fraction(1), Fraction(1), 1),),
        formulas=(Direct(0),),
    )
    found = notes(plan, {"v": [5], "s0": [100]})
    assert "MAX is answered by an extreme quantile: about " in found
    assert "rows lie above it" in found


def test_post_processing_is_always_said() -> None:
    plan = make(shares=Shares(rows=4))
    table: dict[str, object] = {"s0": [5]}
    assert "counts below 0 are shown as 0" in notes(plan, table, options=Options(nonnegative=True))
    assert "add up to the total" in notes(plan, table, options=Options(consistent=True))
    assert "whole numbers are rounded" in notes(plan, table)
    assert "post-processing" not in notes(plan, table, options=Options(integer=False))
