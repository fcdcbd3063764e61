# SPDX-License-Identifier: Apache-2.0
"""What replies tell of the data: nothing but answers, which are noisy."""

import logging
import random
from pathlib import Path
from typing import Any

import pytest

from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import CatalogError, LedgerError, SealedError
from sordino.keeper.main import _log_to
from sordino.ledger.ledger import Ledger
from tests.keeper.study import Study, question, study, told

CANARY = "zq7canary"
STUDY = {"server": 'slot = "off"'}


CAUSES: list[BaseException] = [
    SealedError(),
    *(
        kind(f"{CANARY} {k}")
        for k, kind in enumerate(
            [ValueError, TypeError, KeyError, RuntimeError, OSError, ArithmeticError, LookupError]
        )
    ),
    MemoryError(CANARY),
    RecursionError(CANARY),
    UnicodeDecodeError("utf-8", CANARY.encode(), 0, 1, CANARY),
    ZeroDivisionError(CANARY),
    AssertionError(CANARY),
    StopIteration(CANARY),
]


def test_sealed_failures_have_the_same_bytes_whatever_has_failed(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = served.person("ann", "analyst")
    replies = []
    for cause in CAUSES:

        def fail(*_: object, cause: BaseException = cause, **__: object) -> None:
            raise cause

        monkeypatch.setattr(DuckdbEngine, "run", fail)
        replies.append(served.ask(ann))
    assert all(reply == replies[0] for reply in replies)
    assert replies[0].status == 500
    assert len(served.charges) == 1


def test_a_ledger_that_cannot_be_used_has_the_same_bytes_whatever_is_wrong(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = served.person("ann", "analyst")
    replies = []
    for cause in (LedgerError(CANARY), LedgerError("x"), CatalogError(CANARY)):

        def fail(*_: object, cause: BaseException = cause, **__: object) -> None:
            raise cause

        monkeypatch.setattr(Ledger, "obtain", fail)
        replies.append(served.ask(ann))
    assert all(reply == replies[0] for reply in replies)
    assert (replies[0].status, CANARY in replies[0].body.decode()) == (503, False)


def questions(many: int) -> list[dict[str, Any]]:
    """Questions of many kinds, right and wrong ones."""
    draw = random.Random(8)  # noqa: S311 - to choose questions, not noise
    measures = ["COUNT(*)", "SUM(age)", "AVG(age)", "MIN(age)", "MEDIAN(age)", "SUM(height)", "x"]
    wheres = ["", " WHERE age > 50", " WHERE ward = 'north'", " WHERE age = 'x'", " WHERE 1 = 1"]
    groups = ["", " GROUP BY ward", " GROUP BY age", " GROUP BY patient"]
    prices: list[dict[str, Any]] = [
        {"epsilon": "0.1"},
        {"epsilon": 50},
        {"within": 20},
        {"within": "5%"},
        {"rho": 1},
        {"epsilon": "0"},
        {"epsilon": 1, "rows": 2, "diagnostics": True},
    ]
    return [
        {
            "sql": f"SELECT {draw.choice(measures)} AS m FROM visits"  # noqa: S608 - a question
            f"{draw.choice(wheres)}{draw.choice(groups)}",
            **draw.choice(prices),
        }
        for _ in range(many)
    ]


def test_prices_and_refusals_have_the_same_bytes_on_neighbouring_data(tmp_path: Path) -> None:
    """One person more, with very many rows, changes no byte of what is free."""
    asked = questions(300)
    told_by = []
    for rows in (200, 5_001):
        with study(tmp_path / str(rows), server='slot = "off"', rows=rows) as served:
            ann = served.person("ann", "analyst")
            found = []
            for begin in range(0, len(asked), 50):
                body = {"questions": asked[begin : begin + 50]}
                prices = told(served.send("prices", ann, body))["prices"]
                for price in prices:
                    price.pop("quote", None)  # which is signed with a key of its own
                found.append(prices)
            dear = served.ask(ann, epsilon=5)
            told_by.append((found, dear, served.send("catalog", ann).body[40:]))
    assert told_by[0] == told_by[1]
    problems = sum("problem" in price for part in told_by[0][0] for price in part)
    assert 50 < problems < 290  # so that there are both


def test_canaries_stand_in_no_log_and_no_state(
    served: Study, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    log = served.folder / "keeper.log"
    logger = logging.getLogger("sordino.keeper")
    before = list(logger.handlers)
    _log_to(log)
    try:
        ann = served.person("ann", "analyst", password=f"password {CANARY}")
        served.ask(ann, sql=f"SELECT COUNT(*) FROM visits WHERE ward = '{CANARY}'")  # noqa: S608
        served.ask(ann, sql=f"SELECT {CANARY} FROM visits")  # noqa: S608
        served.send("login", None, {"name": CANARY, "password": CANARY})
        served.send("me", f"sd_{CANARY}")
        served.send("budget", ann, seen=f"people:9:{'ab' * 32}")

        def fail(*_: object, **__: object) -> None:
            raise RuntimeError(CANARY)

        monkeypatch.setattr(DuckdbEngine, "run", fail)
        assert served.ask(ann).status == 500
        monkeypatch.setattr(Ledger, "heads", fail)
        assert served.send("heads", ann).status == 500
    finally:
        for handler in set(logger.handlers) - set(before):
            logger.removeHandler(handler)
            handler.close()
    written = log.read_text()
    assert "RuntimeError" in written
    assert "LedgerError" in written
    assert CANARY not in written
    assert ann not in written
    assert CANARY not in served.keeper.numbers()
    out, err = capfd.readouterr()
    assert CANARY not in out + err


def test_an_answer_has_its_shape_whatever_the_data_holds(tmp_path: Path) -> None:
    shapes = []
    for rows in (1, 5_000):
        with study(tmp_path / str(rows), server='slot = "off"', rows=rows) as served:
            answer = told(served.ask(served.person("ann", "analyst"), **question()))
            shapes.append(
                (answer["columns"], [row["ward"] for row in answer["rows"]], answer["notes"])
            )
    assert shapes[0] == shapes[1]
