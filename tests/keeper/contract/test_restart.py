# SPDX-License-Identifier: Apache-2.0
"""After a restart: what was charged and has no answer is listed, and answered once if so stated."""

from pathlib import Path
from typing import Any

import pytest

from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import SealedError
from sordino.keeper.asking import resume
from sordino.ledger.verify import verify
from tests.keeper.study import Study, study, told


def failed(served: Study, credential: str, **terms: Any) -> None:
    """Ask a question that is charged and fails."""

    def fail(*_: object, **__: object) -> None:
        raise SealedError

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(DuckdbEngine, "run", fail)
        assert served.ask(credential, **terms).status == 500


@pytest.mark.parametrize("terms", [{}, {"key": "one"}, {"key": "one", "fresh": True}])
def test_a_charge_is_answered_after_a_restart_as_its_analyst(
    tmp_path: Path, terms: dict[str, Any]
) -> None:
    with study(tmp_path / "study", server='slot = "off"\nresume = true') as served:
        ann, ida = served.person("ann", "analyst"), served.person("ida", "auditor")
        failed(served, ann, **terms)
        served.restart()
        (waiting,) = told(served.send("unanswered", ida))["charges"]
        assert (waiting["who"], waiting["number"]) == ("ann", 2)
        resume(served.keeper)
        assert told(served.send("unanswered", ida)) == {"charges": []}
        reply = served.ask(ann, **terms)
        assert told(reply)["again"]
        assert told(reply)["receipt"].startswith("people:2:")
        (verified,) = verify(served.keeper.generations.now.session.ledger)
        assert (verified.charges, verified.answers) == (1, 1)


def test_a_charge_is_tried_once(tmp_path: Path) -> None:
    runs: list[int] = []

    def fail(*_: object, **__: object) -> None:
        runs.append(1)
        raise SealedError

    with study(tmp_path / "study", server='slot = "off"') as served:
        failed(served, served.person("ann", "analyst"))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(DuckdbEngine, "run", fail)
            for _ in range(3):
                served.restart()
                resume(served.keeper)
        assert len(runs) == 1
        assert len(served.charges) == 1


def test_a_charge_about_older_rows_is_not_answered_with_newer_ones(tmp_path: Path) -> None:
    with study(tmp_path / "study", server='slot = "off"') as served:
        failed(served, served.person("ann", "analyst"))
        served.close()
        served.rows = 300
        served.write()
        served.open()
        resume(served.keeper)
        session = served.keeper.generations.now.session
        assert len(session.ledger.unanswered()) == 1
        assert len(served.charges) == 1


def test_a_failed_question_is_taken_up_by_who_asks_again(tmp_path: Path) -> None:
    with study(tmp_path / "study", server='slot = "off"') as served:
        ann = served.person("ann", "analyst")
        served.person("ann", "analyst")
        capped = served.token("ann", ["ask"], cap=100_000_000)
        failed(served, ann)
        assert served.ask(capped).status == 200
        assert told(served.send("me", capped))["spent_nanos"] == 0
        assert len(served.charges) == 1
