# SPDX-License-Identifier: Apache-2.0
import logging
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest

from sordino.answer.answer import from_bytes, to_bytes
from sordino.errors import SealedError
from sordino.mechanisms import Laplace
from sordino.mechanisms.keys.selection import KeySelection
from sordino.plan.aggregates import Direct
from sordino.plan.plan import (
    Added,
    Cells,
    Chosen,
    Crowded,
    Ranked,
    Ranks,
    RowCount,
    Shares,
    UnitCount,
    Votes,
)
from sordino.query.tree import Kind, Literal, Measure, MeasureRef, Ordered, PostCall
from sordino.query.types import Range, Type
from sordino.release import Options, release
from tests.release.unit.plans import (
    AGE,
    COST,
    DISEASE,
    RECEIPT,
    ROWS,
    WIDE,
    added,
    key,
    make,
    sealed,
    titled,
)

# Noise of so small a scale that it is 0 but for a probability below 1e-100: exact answers.
SILENT = Added(ROWS, 0, Laplace(sensitivity=1, epsilon=2**18), Fraction(1))


def test_every_declared_group_is_answered_in_its_order_whether_or_not_it_has_rows() -> None:
    plan = make(keys=(key("a", "b", "c"),), releases=(SILENT,))
    answer = release(plan, sealed({"k0": ["c", "a"], "s0": [5, 3]}), RECEIPT)
    assert [cell.value for cell in answer["disease"]] == ["a", "b", "c"]
    assert [cell.value for cell in answer["m0"]] == [3, 0, 5]


def test_absent_groups_get_noise_like_all_others() -> None:
    names = [f"g{i}" for i in range(2000)]
    plan = make(keys=(key(*names),), releases=(added(0, scale=20),))
    answer = release(plan, sealed({"k0": ["g0"], "s0": [0]}), RECEIPT)
    values = [cell.value for cell in answer["m0"]]
    # Noise of scale 20 is 0 with probability 0.025: 500 zeros in 2000 have no chance at all.
    assert sum(value == 0 for value in values) < 500


def test_the_order_of_rows_from_the_engine_leaves_no_trace() -> None:
    plan = make(
        keys=(key("a", "b"), key(1, 2, title="ward", type=Type.INTEGER)), releases=(SILENT,)
    )
    rows = [("a", 1, 10), ("a", 2, 20), ("b", 2, 40)]
    answers = []
    for listed in (rows, rows[::-1]):
        columns = list(zip(*listed, strict=True))
        table = {"k0": columns[0], "k1": columns[1], "s0": columns[2]}
        answers.append(release(plan, sealed(table), RECEIPT))
    assert answers[0] == answers[1]
    assert [cell.value for cell in answers[0]["m0"]] == [10, 20, 0, 40]


def test_rows_with_keys_that_are_not_declared_are_not_answered() -> None:
    plan = make(keys=(key("a"),), releases=(SILENT,))
    answer = release(plan, sealed({"k0": ["a", "zz", None], "s0": [1, 2, 3]}), RECEIPT)
    assert [cell.value for cell in answer["m0"]] == [1]


def test_the_group_of_all_other_keys_comes_last() -> None:
    plan = make(keys=(key("a", other="rest"),), releases=(SILENT,))
    answer = release(plan, sealed({"k0": ["rest", "a"], "s0": [2, 1]}), RECEIPT)
    assert [cell.value for cell in answer["disease"]] == ["a", "rest"]
    assert [cell.value for cell in answer["m0"]] == [1, 2]


def test_without_keys_there_is_one_row_even_if_the_engine_returns_none() -> None:
    empty = pa.table({"s0": pa.array([], pa.int64())})
    assert release(make(releases=(SILENT,)), sealed(empty), RECEIPT).cell(0, "m0").value == 0


def test_sums_beyond_64_bits_are_exact() -> None:
    large = 2**100 + 1
    table = pa.table({"s0": pa.array([Decimal(large)], pa.decimal128(38, 0))})
    plan = make(
        releases=(replace(SILENT, step=Fraction(1, 2**100)),),
        measures=(Measure(Kind.SUM),),
    )
    cell = release(plan, sealed(table), RECEIPT).cell(0, "m0")
    assert cell.value == 1.0
    assert cell.low is not None
    assert cell.high is not None
    assert Fraction(cell.low) <= Fraction(large, 2**100) <= Fraction(cell.high)


def test_discovered_keys_are_those_that_enough_units_have_in_their_own_order() -> None:
    rule = KeySelection(epsilon=1, delta=1e-6, neighbours="add_remove")
    plan = make(
        keys=(key(),),
        parts=(Cells((RowCount(), UnitCount())),),
        releases=(SILENT,),
        selection=rule,
    )
    many = rule.count_for(1)
    table = {
        "k0": ["zebra", "rare", "ant", None],
        "s0": [9, 8, 7, 6],
        "s1": [many, 0, many, many],
    }
    answer = release(plan, sealed(table), RECEIPT)
    assert [cell.value for cell in answer["disease"]] == ["ant", "zebra", None]
    assert [cell.value for cell in answer["m0"]] == [7, 9, 6]


def test_a_key_that_nobody_has_is_never_told() -> None:
    rule = KeySelection(epsilon=1, delta=1e-6, neighbours="add_remove")
    plan = make(keys=(key(),), parts=(Cells((UnitCount(),)),), releases=(SILENT,), selection=rule)
    table = {"k0": [f"k{i}" for i in range(3000)], "s0": [1] * 3000}
    # Each is kept with probability 1e-6.
    assert len(release(plan, sealed(table), RECEIPT)) <= 2


def test_if_no_key_is_kept_the_answer_has_no_rows() -> None:
    rule = KeySelection(epsilon=1, delta=1e-6, neighbours="add_remove")
    domain = ("flu", "cold")
    ages, diseases = Ranks(AGE, 0, 120, 0), Votes(DISEASE, domain)
    plan = make(
        keys=(key(),),
        measures=(
            Measure(Kind.COUNT),
            Measure(Kind.QUANTILE, AGE, WIDE, Fraction(1, 2)),
            Measure(Kind.MODE, DISEASE, domain=domain),
        ),
        parts=(Cells((RowCount(), UnitCount())), ages, diseases),
        releases=(
            SILENT,
            Ranked(ages, None, Fraction(1, 2), None, Fraction(1), Fraction(1), 1),
            Chosen(diseases, None, Fraction(1), 1),
        ),
        formulas=(Direct(0), Direct(1), Direct(2)),
        selection=rule,
        order=(Ordered(MeasureRef(0, Type.INTEGER)),),
    )
    cells = {"k0": ["a"], "s0": [3], "s1": [0]}
    other = {"k0": ["a"], "v": [1], "s0": [3]}
    answer = release(plan, sealed(cells, other, other), RECEIPT, Options(consistent=True))
    assert len(answer) == 0
    assert "(no rows)" in str(answer)
    assert from_bytes(to_bytes(answer)) == answer
    assert answer.to_arrow().num_rows == 0


def test_infinite_results_are_missing_so_that_every_answer_can_be_kept() -> None:
    huge = Literal(1e308, Type.REAL)
    product = PostCall("mul", (MeasureRef(0, Type.INTEGER), huge), Type.REAL)
    plan = titled(make(releases=(SILENT,)), PostCall("mul", (product, huge), Type.REAL))
    answer = release(plan, sealed({"s0": [1000]}), RECEIPT)
    assert answer.cell(0, "x").value is None
    assert from_bytes(to_bytes(answer)) == answer


def test_what_fails_is_always_the_same_error_and_its_cause_is_for_the_owner(
    caplog: pytest.LogCaptureFixture,
) -> None:
    plan = make(keys=(key("a"),))
    with caplog.at_level(logging.ERROR, "sordino.owner"), pytest.raises(SealedError) as caught:
        release(plan, sealed({"k0": ["secret"], "s0": [1.5]}), RECEIPT)
    assert str(caught.value) == str(SealedError())
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "an answer could not be released: TypeError" in caplog.text
    assert "secret" not in caplog.text
    assert all(record.exc_info is None for record in caplog.records)


def test_a_wrong_number_of_tables_is_a_sealed_error() -> None:
    with pytest.raises(SealedError):
        release(make(), sealed(), RECEIPT)


def test_diagnostics_for_all_groups_are_a_note_and_those_by_group_are_columns() -> None:
    plan = make(
        keys=(key("a", "b"),),
        parts=(Cells((RowCount(), RowCount())), Crowded()),
        releases=(SILENT, replace(SILENT, column=1), replace(SILENT, part=Crowded())),
        diagnostics=(("rows clamped", 1), ("crowded units", 2)),
    )
    cells = {"k0": ["a", "b"], "s0": [1, 2], "s1": [3, 4]}
    answer = release(plan, sealed(cells, {"s0": [12]}), RECEIPT)
    assert [cell.value for cell in answer["rows clamped"]] == [3, 4]
    assert answer.column("rows clamped").kind == "diagnostic"
    assert any(note.startswith("crowded units: 12") for note in answer.notes)


def test_the_interval_of_a_count_is_that_of_its_mechanism() -> None:
    mechanism = Laplace(sensitivity=1, epsilon=Fraction(1, 10))
    plan = make(releases=(Added(ROWS, 0, mechanism, Fraction(1)),))
    cell = release(plan, sealed({"s0": [1000]}), RECEIPT).cell(0, "m0")
    assert cell.half_width == mechanism.accuracy(confidence=Fraction(95, 100))
    assert cell.confidence == 0.95


def test_a_measure_that_two_columns_show_is_drawn_once() -> None:
    measures = (Measure(Kind.COUNT), Measure(Kind.COUNT, None))
    plan = make(measures=measures, formulas=(Direct(0), Direct(0)))
    answer = release(plan, sealed({"s0": [1000]}), RECEIPT)
    assert answer.cell(0, "m0") == answer.cell(0, "m1")


@pytest.mark.parametrize("kind", [Kind.MAX, Kind.MIN, Kind.QUANTILE])
def test_no_end_of_a_quantile_lies_beyond_the_public_bounds(kind: Kind) -> None:
    costs = Range(Fraction(0), Fraction(3000))
    half = Fraction(1, 2) if kind is Kind.QUANTILE else None
    toward = {Kind.MIN: 0, Kind.MAX: 1}.get(kind)
    ranks = Ranks(COST, 0, 3000 * 16, -4)  # steps of 1/16, which ends are moved out by
    plan = make(
        measures=(Measure(kind, COST, costs, half),),
        parts=(ranks,),
        releases=(Ranked(ranks, 0, half, toward, Fraction(1), Fraction(1), 1),),
        formulas=(Direct(0),),
    )
    for table in ({"v": [48000], "s0": [10**5]}, {"v": [0], "s0": [10**5]}):
        cell = release(plan, sealed(table), RECEIPT).cell(0, "m0")
        assert cell.low is not None
        assert cell.high is not None
        assert 0 <= cell.low <= cell.high <= 3000


def test_weighed_counts_of_all_groups_have_one_half_width() -> None:
    mechanism = Laplace(sensitivity=2**16, epsilon=Fraction(1, 3))
    names = [f"g{at}" for at in range(50)]
    plan = make(
        keys=(key(*names),),
        releases=(Added(ROWS, 0, mechanism, Fraction(1, 2**16)),),
        shares=Shares(rows=1),
    )
    table = {"k0": names, "s0": [at * 54321 for at in range(50)]}
    answer = release(plan, sealed(table), RECEIPT)
    far = mechanism.accuracy(confidence=Fraction(95, 100)) / 2**16
    assert {cell.half_width for cell in answer["m0"]} == {far + 0.5}
    assert all(isinstance(cell.value, int) for cell in answer["m0"])
