# SPDX-License-Identifier: Apache-2.0
"""Questions in SQL on neighbouring tables; nothing that is asserted depends on noise."""

from dataclasses import replace
from typing import Any

import pytest

import sordino as so
from sordino.auditing.questions import replay_question
from sordino.auditing.replays.recording import replay
from sordino.catalog.model import Catalog, Limits
from sordino.errors import UnknownName
from tests.fixtures.hospital import between, filled, hospital

VISITS: list[dict[str, object]] = [
    {"patient_id": 1, "disease": "flu", "cost": 10.0, "age": 30},
    {"patient_id": 1, "disease": "asthma", "cost": 5000.0, "age": 30},
    {"patient_id": 2, "disease": "flu", "cost": 70.0, "age": 61},
    {"patient_id": 3, "disease": "migraine", "cost": 400.0, "age": 12},
]
FEWER = [row for row in VISITS if row["patient_id"] != 1]


def tables(rows: list[dict[str, object]]) -> dict[str, Any]:
    return {"visits": filled("visits", rows)}


def changed(catalog: Catalog, name: str, **changes: Any) -> Catalog:
    """The catalog with its first table, or a column of it, declared otherwise."""
    table = catalog.tables[0]
    if name == table.name:
        table = replace(table, **changes)
    else:
        columns = [replace(c, **changes) if c.name == name else c for c in table.columns]
        table = replace(table, columns=tuple(columns))
    return replace(catalog, tables=(table, *catalog.tables[1:]))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM visits",
        "SELECT SUM(cost), AVG(age) FROM visits",
        "SELECT disease, COUNT(*), SUM(cost) FROM visits GROUP BY disease",
        "SELECT COUNT(DISTINCT patient_id) FROM visits WHERE cost > 50",
        "SELECT MEDIAN(age), MODE(disease) FROM visits",
    ],
)
def test_one_patient_moves_no_answer_further_than_declared(sql: str) -> None:
    for one, other in ((VISITS, FEWER), (FEWER, VISITS)):
        found = replay_question(hospital(tables(one)), tables(other), sql, epsilon=1)
        assert found.findings == ()
        assert found.private
        assert any(change.l1 > 0 for change in found.changes)
        assert all(change.l1 <= (change.declared or 0) for change in found.changes)


def test_rows_that_are_declared_to_be_people_move_too_much() -> None:
    sql = "SELECT COUNT(*), SUM(cost) FROM visits"
    broken = changed(hospital(tables(VISITS)), "visits", unit="row", limits=Limits(rows=1))
    found = replay_question(broken, tables(FEWER), sql, epsilon=1)
    assert found.kinds == {"sensitivity"}
    assert "one person moves the exact values by 2" in str(found)
    mended = changed(hospital(tables(VISITS)), "visits", limits=Limits(rows=1))
    assert replay_question(mended, tables(FEWER), sql, epsilon=1).private


def test_bounds_that_are_taken_from_the_data_are_found() -> None:
    def declared(rows: list[dict[str, Any]]) -> Catalog:
        most = int(max(row["cost"] for row in rows))
        return changed(hospital(tables(rows)), "cost", bounds=between(0, most))

    sql = "SELECT SUM(cost) FROM visits"
    found = replay_question(declared(VISITS), declared(FEWER), sql, epsilon=1)
    assert {"mechanisms", "sql"} <= found.kinds
    mended = replay_question(hospital(tables(VISITS)), hospital(tables(FEWER)), sql, epsilon=1)
    assert mended.private


def test_an_error_that_one_side_alone_gives_is_found() -> None:
    broken = {"visits": filled("visits", FEWER).drop_columns(["cost"])}
    found = replay_question(
        hospital(tables(VISITS)), broken, "SELECT COUNT(*) FROM visits", epsilon=1
    )
    assert found.kinds == {"error"}
    assert "x gives no error" in str(found)


def test_a_question_that_cannot_be_asked_at_all_is_refused() -> None:
    with pytest.raises(UnknownName):
        replay_question(
            hospital(tables(VISITS)), tables(FEWER), "SELECT COUNT(*) FROM nowhere", epsilon=1
        )


def asked(rows: list[dict[str, Any]], epsilon: float, keys: list[str]) -> so.Answer:
    names = ("patient_id", "disease", "cost")
    frame = {name: [row[name] for row in rows] for name in names}
    with so.table(
        frame, unit="patient_id", rows=2, bounds={"cost": (0, 5000)}, keys={"disease": keys},
        epsilon=100,
    ) as session:  # fmt: skip
        return session.ask(
            "SELECT disease, COUNT(*) AS n FROM data GROUP BY disease", epsilon=epsilon
        )


DISEASES = ["asthma", "flu", "migraine"]


def test_a_session_is_replayed_and_its_price_is_seen() -> None:
    def kept(rows: Any) -> Any:
        return asked(rows, 1, DISEASES)

    def dear(rows: Any) -> Any:
        return asked(rows, len(rows), DISEASES)

    def keyed(rows: Any) -> Any:
        return asked(rows, 1, sorted({row["disease"] for row in rows}))

    found = replay(kept, VISITS, FEWER, epsilon=1, repeats=3)
    assert found.findings == ()
    assert found.draws == (2, 2)  # the charge, and the noise
    assert [change.kind for change in found.changes] == ["Laplace"]
    assert 0 < found.changes[0].l1 <= (found.changes[0].declared or 0)
    dearer = replay(dear, VISITS, FEWER, repeats=0)
    assert "price" in dearer.kinds
    assert "epsilon 4" in str(dearer)
    assert "draws" in replay(keyed, VISITS, FEWER, repeats=0).kinds
