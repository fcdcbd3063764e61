# SPDX-License-Identifier: Apache-2.0
"""What a keeper tries out at its start: on invented rows first, and how long real ones take."""

from pathlib import Path

import pytest

from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import SealedError
from sordino.keeper import main
from sordino.keeper.trials import check_slot, rehearse_first, trials
from sordino.plan.plan import Plan
from sordino.query.tree import tables_in
from sordino.session import Session
from tests.keeper.study import Study, study

STUDY = {"server": 'slot = "1s"'}


def test_every_private_table_is_asked_about_with_a_sum_where_there_is_a_number(
    served: Study,
) -> None:
    found = {name: ask.sql for name, ask in trials(served.keeper.generations.now.catalog)}
    assert found == {
        "visits": 'SELECT COUNT(*) AS n, SUM("age") AS s FROM "visits"',
        "staff": 'SELECT COUNT(*) AS n, SUM("years") AS s FROM "staff"',
    }


def test_the_first_rehearsal_looks_at_no_private_row_and_charges_nothing(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[object] = []
    run = DuckdbEngine.run

    def watched(self: DuckdbEngine, *arguments: object, **named: object) -> object:
        ran.append(self)
        return run(self, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(DuckdbEngine, "run", watched)
    session = served.keeper.generations.now.session
    rehearse_first(served.keeper)
    assert len(ran) == 1
    assert session._engine not in ran
    assert served.entries == []


def test_a_trial_charges_nothing_and_is_never_opened(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(*_: object) -> None:
        raise AssertionError("the seal was opened")

    monkeypatch.setattr("sordino.session.session.release", opened)
    session = served.keeper.generations.now.session
    before = served.keeper.generations.now.session.budget
    for _, ask in trials(session.catalog):
        assert session.time_of(session.plan_ask(ask), deadline=60) > 0
        with pytest.raises(SealedError):
            session.time_of(session.plan_ask(ask), deadline=0)
    assert served.entries == []
    assert list(session.budget) == list(before)


@pytest.mark.parametrize(
    ("took", "said"),
    [(0.4, ""), (0.6, "took 0.6 s, more than half of a slot of 1 s"), (None, "longer than a slot")],
)
def test_the_owner_is_warned_of_a_slot_that_is_too_short(
    served: Study, monkeypatch: pytest.MonkeyPatch, took: float | None, said: str
) -> None:
    def time_of(_: Session, plan: Plan, *, deadline: float) -> float:
        assert deadline == 1.0
        if took is None or "visits" not in tables_in(plan.query.rows):
            raise SealedError
        return took

    monkeypatch.setattr(Session, "time_of", time_of)
    warnings: list[str] = []
    check_slot(served.keeper, warnings.append)
    visits = [text for text in warnings if "'visits'" in text]
    assert [said in text for text in visits] == ([True] if said else [])
    assert sum("'staff'" in text for text in warnings) == 1


def test_without_slots_nothing_is_tried_out(tmp_path: Path) -> None:
    with study(tmp_path / "study", server='slot = "off"') as served:
        check_slot(served.keeper, pytest.fail)


def test_a_table_that_cannot_be_read_does_not_keep_a_server_from_starting(
    served: Study, caplog: pytest.LogCaptureFixture
) -> None:
    (served.folder / "visits.parquet").unlink()
    (served.folder / "staff.parquet").write_bytes(b"no parquet")
    warnings: list[str] = []
    rehearse_first(served.keeper)
    check_slot(served.keeper, warnings.append)
    told = [*warnings, *caplog.messages]
    assert any("'visits'" in text for text in told)
    assert any("'staff'" in text for text in told)


def test_a_warning_is_on_standard_error_and_in_the_log(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    main._warn("a slot is short")
    assert capsys.readouterr().err == "sordino keeper: a slot is short\n"
    assert caplog.messages == ["a slot is short"]
