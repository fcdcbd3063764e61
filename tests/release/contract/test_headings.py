# SPDX-License-Identifier: Apache-2.0
"""The columns of an answer are those that its plan names, for every question and every option."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import get_args

import pytest

from sordino.answer import Answer
from sordino.catalog.model import Catalog
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.engine.protocol import OpenEngine
from sordino.plan.ask import Options
from sordino.plan.plan import Plan
from sordino.plan.words import Heading, headings
from sordino.privacy.budget import Counted
from sordino.query.tree import Key, Kind, Measure, MeasureRef, Output, Query
from sordino.query.types import Type
from sordino.release import release
from tests.fixtures.hospital import DISEASES, filled, hospital
from tests.fixtures.sql_cases import accepted
from tests.plan.unit import questions
from tests.release.unit import plans
from tests.session.attack.neighbours.asked import asked
from tests.support.trace import prepare

SHOWN = [Options(integer=integer, consistent=not integer) for integer in (True, False)]
VISITS = [
    {"patient_id": k, "visit_id": k, "disease": DISEASES[k % 4], "ward": 1 + k % 40,
     "cost": 10.0 * k, "age": k}
    for k in range(100)
]  # fmt: skip
WORLDS, QUESTIONS = 6, 20


def above(answer: Answer) -> tuple[Heading, ...]:
    return tuple(Heading(c.title, c.type, c.kind, c.listed) for c in answer.columns)


def check(engine: OpenEngine, plan: Plan, *, typed: bool = True) -> None:
    """Hold the answer to the plan; with ``typed`` its values fit what the question says, too."""
    sealed = engine.run(plan.bounded, plans.RECEIPT, salt=0)
    for options in SHOWN:
        answer = release(plan, sealed, plans.RECEIPT, options)
        assert above(answer) == headings(plan, options)
        for column in answer.columns:
            assert not typed or all(fits(x, column.type) for x in column.values), column.title
    assert plan.columns == headings(plan, Options())


def fits(value: object, kind: Type) -> bool:
    """Tell whether a value may stand in a column; lists and times are left to other tests."""
    if kind is Type.INTEGER:
        return value is None or isinstance(value, int | tuple)
    return kind is not Type.REAL or value is None or isinstance(value, float)


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckdbEngine]:
    made = DuckdbEngine(hospital({"visits": filled("visits", VISITS)}), threads=1)
    yield made
    made.close()


@pytest.mark.parametrize("sql", accepted())
def test_a_statement_has_the_columns_that_were_named(sql: str, engine: DuckdbEngine) -> None:
    for diagnostics in (False, True):
        check(engine, prepare(engine, sql, epsilon=Fraction(3), diagnostics=diagnostics).plan)


@pytest.mark.parametrize("seed", range(WORLDS))
def test_a_random_question_has_the_columns_that_were_named(seed: int) -> None:
    checked = 0
    with asked(f"headings {seed}") as world:
        for _, prepared in world.questions(QUESTIONS):
            check(world.engine, prepared.plan)
            checked += 1
    assert checked >= QUESTIONS // 4


KEYS = [(), (questions.DECLARED,), (questions.DISCOVERED,)]


@pytest.mark.parametrize(
    ("measure", "keys", "counted"), list(product(questions.EVERYTHING, KEYS, get_args(Counted)))
)
def test_a_plan_made_by_hand_has_the_columns_that_were_named(
    measure: Measure, keys: tuple[Key, ...], counted: Counted, engine: DuckdbEngine
) -> None:
    declared: Catalog = questions.catalog(counted=counted)
    asked: Query = questions.question([questions.COUNT, measure], *keys)
    for diagnostics in (False, True):
        plan = questions.plan_question(asked, declared, epsilon=1, diagnostics=diagnostics)
        check(engine, plan, typed=False)  # a type of a choice is not that of its candidates


def test_a_count_is_named_whole_although_the_question_has_a_real_number() -> None:
    ref = Output("n", MeasureRef(0, Type.REAL))
    plan = plans.make(measures=(Measure(Kind.COUNT),), outputs=(ref,))
    assert plan.columns == (Heading("n", Type.INTEGER, "measure"),)
    assert headings(plan, Options(integer=False)) == (Heading("n", Type.REAL, "measure"),)
