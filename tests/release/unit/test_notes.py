# SPDX-License-Identifier: Apache-2.0
import re
from fractions import Fraction

from sordino.mechanisms.keys.selection import KeySelection
from sordino.plan.aggregates import Direct, Mean
from sordino.plan.plan import Cells, Plan, Ranked, Ranks, RowCount, Shares, Total, UnitCount
from sordino.query import tree
from sordino.query.types import Range, Type
from sordino.release import Options, release
from tests.release.unit.plans import AGE, COST, RECEIPT, WIDE, added, key, make, sealed

CELLS = {"k0": ["a"], "s0": [5], "s1": [5], "s2": [0]}
PRICES = Range(Fraction(0), Fraction(5000))


def notes(plan: Plan, *tables: dict[str, object], options: Options | None = None) -> str:
    answer = release(plan, sealed(*(tables or (CELLS,))), RECEIPT, options or Options())
    return "\n".join(answer.notes)


def test_an_answer_about_single_rows_without_keys_needs_no_notes() -> None:
    assert notes(make(), {"s0": [5]}) == ""


def test_limits_are_named_as_not_covered() -> None:
    plan = make(keys=(key("a", "b", "c"),), shares=Shares(rows=4, groups=1, rows_per_group=3))
    assert (
        "not covered: of each person at most 4 rows, 3 rows in a group, 1 group drawn by lot "
        "count; more rows count in part"
    ) in notes(plan)
    one = notes(make(keys=(key("a", "b", "c"),), shares=Shares(rows=1)))
    assert "not covered: of each person at most 1 row counts; more rows count in part" in one


def test_limits_that_do_not_matter_are_not_named() -> None:
    units = make(
        keys=(key("a", "b"),),
        measures=(tree.Measure(tree.Kind.COUNT_UNITS),),
        parts=(Cells((UnitCount(),)),),
        shares=Shares(rows=4, groups=2),
    )
    assert "not covered" not in notes(units)


def average(exponent: int) -> Plan:
    """Return a plan with noise of the half-width 6 on a total of costs."""
    return make(
        measures=(tree.Measure(tree.Kind.AVG, COST, PRICES),),
        parts=(Cells((RowCount(), Total(COST, 0, 5000 * 2**-exponent, exponent))),),
        releases=(added(0), added(1)),
        formulas=(Mean(1, 0, Fraction(0), Fraction(0), Fraction(5000)),),
    )


def test_clamping_and_rounding_are_named_as_not_covered() -> None:
    found = notes(average(-3), {"s0": [5], "s1": [100]})
    assert "not covered: cost counts as within 0 to 5,000" in found
    assert "not covered: cost is rounded to steps of 0.125" in found


def test_rounding_that_nobody_could_see_is_not_worth_a_note() -> None:
    assert "rounded to steps" not in notes(average(-11), {"s0": [5], "s1": [100]})


def test_an_expression_is_written_out_and_a_long_one_has_the_title_of_its_column() -> None:
    twice = tree.Call("mul", (COST, tree.Literal(2, Type.INTEGER)), Type.REAL)
    many = twice
    for _ in range(10):
        many = tree.Call("add", (many, COST), Type.REAL)
    parts = (Cells((Total(twice, 0, 10, 0), Total(many, 0, 10, 0))),)
    measures = tuple(tree.Measure(tree.Kind.SUM, x, PRICES) for x in (twice, many))
    releases, formulas = (added(0), added(1)), (Direct(0), Direct(1))
    plan = make(measures=measures, parts=parts, releases=releases, formulas=formulas)
    found = notes(plan, {"s0": [5], "s1": [100]})
    assert "cost * 2 counts as within 0 to 5,000" in found
    assert "the argument of m1 counts as within 0 to 5,000" in found


def test_discovered_keys_say_how_many_units_a_group_needs() -> None:
    for groups in (1, 3):
        rule = KeySelection(epsilon=1, delta=1e-6, groups=groups, neighbours="add_remove")
        plan = make(
            keys=(key(),), parts=(Cells((UnitCount(),)),), releases=(added(0),), selection=rule
        )
        found = notes(plan)
        many = rule.count_for(0.95)
        assert f"groups of few people are withheld: one of {many} is shown with 95 %" in found
        assert ("a smaller groups= lowers that" in found) is (groups > 1)


def test_declared_keys_say_that_others_are_left_out_unless_they_have_a_group() -> None:
    assert "rows whose disease is not declared are left out" in notes(make(keys=(key("a"),)))
    assert "left out" not in notes(make(keys=(key("a", other="rest"),)))


def test_rows_are_kept_by_noise_only_where_noisy_values_choose_them() -> None:
    by_key, by_count = (
        tree.Ordered(tree.KeyRef(0, Type.TEXT)),
        tree.Ordered(tree.MeasureRef(0, Type.INTEGER)),
    )
    condition = tree.PostCall(
        "gt", (tree.MeasureRef(0, Type.INTEGER), tree.Literal(0, Type.INTEGER)), Type.BOOLEAN
    )
    words, keys = "rows are kept by their noisy values", (key("a", "b"),)
    assert words in notes(make(keys=keys, order=(by_count,), limit=1))
    assert words in notes(make(keys=keys, having=condition))
    assert words not in notes(make(keys=keys, order=(by_key,), limit=1))
    assert words not in notes(make(keys=keys, order=(by_count,)))
    assert words not in notes(make(keys=keys, limit=1))


def test_an_extreme_is_said_to_be_a_quantile() -> None:
    ages = Ranks(AGE, 0, 120, 0)
    plan = make(
        measures=(tree.Measure(tree.Kind.MAX, AGE, WIDE),),
        parts=(ages,),
        releases=(Ranked(ages, 0, None, 1, Fraction(1), Fraction(1), 1),),
        formulas=(Direct(0),),
    )
    found = notes(plan, {"v": [5], "s0": [100]})
    assert re.search(r"m0 is a quantile with about [0-9.]+ rows above it", found)


def test_post_processing_is_always_said() -> None:
    plan = make(shares=Shares(rows=4), releases=(added(0, step=Fraction(1, 4)),))
    table: dict[str, object] = {"s0": [5]}
    assert "counts below 0 are shown as 0" in notes(plan, table, options=Options(nonnegative=True))
    assert "the total of the noisy ones" in notes(plan, table, options=Options(consistent=True))


def test_every_note_is_one_short_line() -> None:
    found = notes(make(keys=(key("a", "b", "c"),), shares=Shares(rows=4, groups=2)))
    assert all(len(note) <= 130 for note in found.splitlines())
