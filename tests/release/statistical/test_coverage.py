# SPDX-License-Identifier: Apache-2.0
"""Stated intervals hold the exact values at least as often as they say, for every aggregate.

Each question goes through the whole pipeline once up to the exact integers, and is then released
many times. Nothing is cut or clamped in the data, so the exact values are those of plain SQL. A
test fails if so few intervals hold as happens with probability 1e-6 at the stated confidence.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from sordino.engine.protocol import Exact
from sordino.ledger.entry import Receipt
from sordino.plan.plan import Plan
from sordino.release import Options, release
from sordino.session import Session
from sordino.session.opening import table
from tests.support.seeded import SeededBits
from tests.support.tape import replay

FALSE_ALARM = 1e-6
WARDS = 24
SEEDS = {"row": 1, "unit": 2, "discovered": 3, "rho": 4}
Truth = Callable[[np.ndarray[Any, Any]], float]


@dataclass(frozen=True)
class Setting:
    """A session over some data, and the data by ward."""

    name: str
    session: Session
    wards: dict[str, dict[str, np.ndarray[Any, Any]]]


def make(name: str) -> Setting:
    """Return wards of 0 to 700 rows; in one setting a person has up to three rows."""
    rng = np.random.default_rng(SEEDS[name])
    sizes = [0, 1, 3, *rng.integers(5, 700, WARDS - 3).tolist()]
    if name == "discovered":
        sizes = [size + 900 for size in sizes]
    ward = np.repeat([f"w{i:02}" for i in range(WARDS)], sizes)
    rows = ward.size
    columns = {
        "pid": rng.permutation(np.arange(rows) // (1 if name == "row" else 3)),
        "ward": ward,
        "age": np.clip(rng.normal(45, 20, rows).round(), 0, 120).astype(np.int64),
        "cost": np.round(rng.gamma(2, 4, rows).clip(0, 60) * 4) / 4,
        "drug": rng.choice(["a", "b", "c", "d"], rows, p=[0.4, 0.35, 0.2, 0.05]),
    }
    keys = {"drug": ["a", "b", "c", "d"]}
    if name != "discovered":
        keys["ward"] = [f"w{i:02}" for i in range(WARDS)]
    session = table(
        pa.table({title: pa.array(values.tolist()) for title, values in columns.items()}),
        unit="row" if name == "row" else "pid",
        bounds={"age": (0, 120), "cost": (0, 64)},
        keys=keys,
        rows=None if name == "row" else 3,
        epsilon=10**6,
        delta=0.01 if name in ("discovered", "rho") else None,
        currency="rho" if name == "rho" else None,
    )
    split = {
        f"w{i:02}": {title: values[ward == f"w{i:02}"] for title, values in columns.items()}
        for i in range(WARDS)
    }
    return Setting(name, session, split)


@pytest.fixture(scope="module", params=list(SEEDS))
def setting(request: pytest.FixtureRequest) -> Iterator[Setting]:
    found = make(request.param)
    yield found
    found.session.close()


def sealed(setting: Setting, plan: Plan) -> tuple[Exact, Receipt]:
    session = setting.session
    receipt = session._ledger.charge(
        plan.people, plan.loss, slack=plan.slack, plan=plan.fingerprint, who="test"
    )
    return session._engine.run(plan.bounded, receipt, salt=1), receipt


# For each aggregate: the SQL, how many times it is released, and the exact value of a ward.
AGGREGATES: dict[str, tuple[str, int, Truth, str]] = {
    "count": ("COUNT(*)", 40, len, "age"),
    "units": ("COUNT(DISTINCT pid)", 40, lambda x: len(set(x.tolist())), "pid"),
    "sum": ("SUM(cost)", 40, np.sum, "cost"),
    "avg": ("AVG(age)", 40, np.mean, "age"),
    "variance": ("VARIANCE(age)", 40, np.var, "age"),
    "stddev": ("STDDEV(age)", 20, np.std, "age"),
    "ratio": ("SUM(cost) / (COUNT(*) + 1)", 12, lambda x: np.sum(x) / (len(x) + 1), "cost"),
    "median": ("MEDIAN(age)", 6, np.median, "age"),
    "decile": ("QUANTILE(cost, 0.9)", 6, lambda x: float(np.quantile(x, 0.9)), "cost"),
    "min": ("MIN(age)", 6, np.min, "age"),
    "max": ("MAX(cost)", 6, np.max, "cost"),
    "distinct": ("COUNT(DISTINCT age)", 20, lambda x: len(set(x.tolist())), "age"),
}
CASES = list(AGGREGATES)


@pytest.mark.parametrize("name", CASES)
def test_intervals_hold_as_often_as_they_say(setting: Setting, name: str) -> None:
    expression, times, truth, column = AGGREGATES[name]
    confidence = 0.9
    sql = f"SELECT ward, {expression} AS x FROM data GROUP BY ward"  # noqa: S608 - a literal
    plan = setting.session.plan(sql, epsilon=2, confidence=confidence)
    exact, receipt = sealed(setting, plan)
    held = seen = 0
    with replay(SeededBits(CASES.index(name))):
        for _ in range(times):
            for row in release(plan, exact, receipt, Options(integer=False)):
                rows = setting.wards[str(row["ward"].value)][column]
                if not rows.size and name not in ("count", "units", "sum", "ratio", "distinct"):
                    continue
                cell, expected = row["x"], truth(rows)
                seen += 1
                if cell.low is None or cell.high is None:
                    held += 1  # nothing was stated
                else:
                    held += bool(cell.low - 1e-9 <= expected <= cell.high + 1e-9)
    assert seen > 100
    assert binom.cdf(held, seen, confidence) > FALSE_ALARM


def test_rounded_and_clipped_counts_are_held_too(setting: Setting) -> None:
    plan = setting.session.plan(
        "SELECT ward, COUNT(*) AS x FROM data GROUP BY ward", epsilon=2, confidence=0.9
    )
    exact, receipt = sealed(setting, plan)
    for options in (Options(nonnegative=True), Options(consistent=True), Options()):
        held = seen = 0
        with replay(SeededBits(77)):
            for _ in range(20):
                for row in release(plan, exact, receipt, options):
                    size, cell = setting.wards[str(row["ward"].value)]["age"].size, row["x"]
                    assert isinstance(cell.value, int)
                    assert cell.half_width is not None
                    seen += 1
                    held += abs(cell.value - size) <= cell.half_width
        assert binom.cdf(held, seen, 0.9) > FALSE_ALARM


def test_choices_keep_to_their_gap(setting: Setting) -> None:
    plan = setting.session.plan(
        "SELECT ward, MODE(drug) AS best, TOP(2, drug) AS both FROM data GROUP BY ward",
        epsilon=2,
        confidence=0.9,
    )
    exact, receipt = sealed(setting, plan)
    held = {"best": 0, "both": 0}
    seen = 0
    with replay(SeededBits(5)):
        for _ in range(10):
            answer = release(plan, exact, receipt)
            for row in answer:
                drugs = setting.wards[str(row["ward"].value)]["drug"].tolist()
                votes = sorted((drugs.count(drug) for drug in "abcd"), reverse=True)
                seen += 1
                for title, rank in (("best", 0), ("both", 1)):
                    gap, value = answer.column(title).gap, row[title].value
                    assert gap is not None
                    chosen = value if isinstance(value, tuple) else (value,)
                    worst = min(drugs.count(drug) for drug in chosen)
                    held[title] += votes[rank] - worst <= gap + 1e-9
    for times in held.values():
        assert binom.cdf(times, seen, 0.9) > FALSE_ALARM


def test_the_intervals_of_counts_are_not_wider_than_they_need_be(setting: Setting) -> None:
    plan = setting.session.plan(
        "SELECT ward, COUNT(*) AS x FROM data GROUP BY ward", epsilon=2, confidence=0.9
    )
    exact, receipt = sealed(setting, plan)
    held = seen = 0
    with replay(SeededBits(6)):
        for _ in range(60):
            for row in release(plan, exact, receipt, Options(integer=False)):
                size, cell = setting.wards[str(row["ward"].value)]["age"].size, row["x"]
                assert cell.low is not None
                assert cell.high is not None
                seen += 1
                held += cell.low <= size <= cell.high
    # Discrete noise can overshoot 0.9, by less than 0.05 at these scales.
    assert binom.sf(held, seen, float(Fraction(95, 100))) > FALSE_ALARM
