# SPDX-License-Identifier: Apache-2.0
"""The same question of the same data is answered from the ledger; anything else is charged."""

import os
import subprocess
import sys
from pathlib import Path

import sordino as so
from sordino.release import Options
from tests.session.unit.clinic import SQL, charges, clinic

FINGERPRINTS = """
import sys
import sordino as so
with so.open(sys.argv[1], ledger="memory") as data:
    for sql in (
        "SELECT COUNT(*) AS n FROM visits WHERE cost IN (1, 2, 3) OR cost NOT IN (7, 5)",
        "SELECT AVG(cost), MEDIAN(cost), STDDEV(cost) FROM visits WHERE cost < 8",
        "SELECT FLOOR(cost) AS c, COUNT(DISTINCT person) FROM visits GROUP BY FLOOR(cost)",
        "SELECT COUNT(*) FROM visits AS a JOIN visits AS b USING (person) WHERE a.cost > b.cost",
    ):
        print(data.plan(sql, epsilon=1).fingerprint)
"""


def test_every_process_gives_a_question_the_same_fingerprint(tmp_path: Path) -> None:
    path, told = clinic(tmp_path, budget="epsilon = 9\ndelta = 1e-6"), set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", FINGERPRINTS, str(path)],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        told.add(done.stdout)
    (lines,) = told
    assert len(set(lines.split())) == 4


def test_the_stored_answer_can_be_had_without_asking(tmp_path: Path) -> None:
    with so.open(clinic(tmp_path)) as data:
        plan = data.plan(SQL, epsilon=1)
        assert data.stored(plan) is None
        answer = data.ask(SQL, epsilon=1)
        assert data.stored(plan) == answer
        assert data.stored(plan, Options(nonnegative=True)) is None
        assert charges(data) == 1
