# SPDX-License-Identifier: Apache-2.0
"""A session that lives long: what it holds does not grow with what it was asked."""

import gc
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import sordino as so
from sordino.cache import MEGABYTE
from sordino.engine.duckdb import connection as duckdb_connection
from sordino.engine.duckdb.connection import Database
from sordino.plan.plan import Plan
from sordino.randomness.samplers import Joined, WideGaussian
from tests.session.unit.clinic import SQL, clinic, write_catalog, write_rows

ASKS = 150
TABLES = 32 * MEGABYTE  # of noise that are kept, by all sessions together
SOAK, WARM = 20_000, 3_000  # until all shelves are full
MOST_GROWTH = 50e6  # bytes
PLANS = 9  # of nine thousand values each


class Newborn:
    """The objects of some types that were made since this was, and are alive.

    They are told by their true types: objects of other tests may still be alive whose ``__class__``
    raises, and ``isinstance`` asks for it.
    """

    def __init__(self, *types: type) -> None:
        self._types = types
        self._before = self._living()  # held, so that none of them lends its id to another

    def _living(self) -> list[Any]:
        gc.collect()
        return [x for x in gc.get_objects() if type(x) in self._types]

    def __call__(self) -> list[Any]:
        before = set(map(id, self._before))
        return [x for x in self._living() if id(x) not in before]


class NoiseTables(Newborn):
    """How much memory tables of noise take."""

    def __init__(self) -> None:
        super().__init__(Joined, WideGaussian)

    @property
    def size(self) -> int:
        return sum(x.nbytes for x in self())


@pytest.mark.parametrize("budget", ["epsilon = 10000", "epsilon = 10000\ndelta = 1e-6"])
def test_prices_do_not_keep_their_tables_of_noise(tmp_path: Path, budget: str) -> None:
    questions = (SQL, "SELECT AVG(cost) AS m FROM visits")
    tables = NoiseTables()
    with so.open(clinic(tmp_path, budget=budget), ledger="memory") as session:
        for k in range(ASKS):
            session.ask(questions[k % 2], epsilon=Fraction(1, 10) + Fraction(k, 10**6))
        assert 0 < tables.size <= TABLES
    assert tables.size <= TABLES


def test_mechanisms_that_are_held_do_not_hold_their_tables() -> None:
    tables = NoiseTables()
    held = [so.Laplace(sensitivity=1, epsilon=Fraction(1, 10 + k)) for k in range(ASKS)]
    for mechanism in held:
        mechanism.release(0)
    assert 0 < tables.size <= TABLES
    assert isinstance(held[0].release(0), int)  # its tables are made again


def test_plans_are_kept_by_their_lists_of_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sordino.session.session.MAX_BYTES_OF_PLANS", MEGABYTE)
    monkeypatch.setattr("sordino.session.session.MAX_BYTES_OF_QUESTIONS", MEGABYTE)
    person = '[tables.visits.columns]\nperson = { type = "integer", bounds = [0, 9000] }\n'
    visits = f'[tables.visits]\nparquet = "visits.parquet"\nunit = "row"\n{person}'
    write_rows(tmp_path / "visits.parquet")
    question = "SELECT person, COUNT(*) AS n FROM visits GROUP BY person"
    plans = Newborn(Plan)
    with so.open(write_catalog(tmp_path, visits), ledger="memory") as session:
        for k in range(PLANS):
            session.plan(question, epsilon=1 + k)
        assert 1 <= len(plans()) <= PLANS // 3


def test_a_database_that_has_served_long_is_opened_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duckdb_connection, "_WORN", 3)
    (tmp_path / "visits.csv").write_text("person,cost\n" + "1,5\n" * 40 + "2,7\n" * 40, "utf-8")
    visits = '[tables.visits]\ncsv = "visits.csv"\nunit = "row"\n[tables.visits.columns]\n'
    visits += 'cost = { type = "integer", bounds = [0, 10] }\n'
    path = write_catalog(tmp_path, visits, budget="epsilon = 1000000")
    question = "SELECT SUM(cost + {}) AS s FROM visits"
    databases, folders = Newborn(Database), set[Path]()
    with so.open(path, ledger="memory") as session:
        for k in range(12):
            sql = question.format(k)
            total = session.ask(sql, epsilon=1000).cell(0, "s").value
            assert total == pytest.approx(480 + 80 * k, abs=5)
            folders |= {database._home for database in databases()}
            assert len(databases()) == 1
    assert len(folders) >= 4
    assert not any(folder.exists() for folder in folders)


_SOAK = """
import gc, json, os, sys, threading
from fractions import Fraction
from pathlib import Path
import sordino as so

def state():
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    memory = pages * os.sysconf("SC_PAGE_SIZE")
    return memory, len(os.listdir("/proc/self/fd")), threading.active_count()

asks, warm = int(sys.argv[2]), int(sys.argv[3])
questions = (
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT AVG(cost) AS m FROM visits",
    "SELECT COUNT(*) AS n FROM visits WHERE cost > {}",
    "SELECT SUM(cost) AS s, COUNT(*) AS n FROM visits WHERE cost <> {}",
    "SELECT FLOOR(cost) AS c, COUNT(*) AS n FROM visits GROUP BY 1",
    "SELECT MEDIAN(cost) AS q FROM visits",
)
states = []
with so.open(sys.argv[1]) as session:
    for k in range(warm + asks):
        if k == warm:
            states.append(state())
        sql = questions[k % len(questions)].format(k)
        session.ask(sql, epsilon=Fraction(1, 10) + Fraction(k, 10**7))
    states.append(state())
print(json.dumps(states))
"""


@pytest.mark.soak
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_twenty_thousand_questions_leave_a_session_as_large_as_it_was(tmp_path: Path) -> None:
    catalog = clinic(tmp_path, budget="epsilon = 1000000")
    command = [sys.executable, "-c", _SOAK, str(catalog), str(SOAK), str(WARM)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    before, after = json.loads(done.stdout)
    assert after[0] - before[0] <= MOST_GROWTH, (before, after)
    assert after[1:] == before[1:]  # descriptors and threads
