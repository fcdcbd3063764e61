# SPDX-License-Identifier: Apache-2.0
"""Questions about the hospital, built by hand, so that planning is tested without a parser."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Unpack

from sordino.catalog.model import Catalog, Limits, Purse
from sordino.plan import allocate
from sordino.plan.ask import Terms, read_ask
from sordino.plan.plan import Plan
from sordino.privacy.budget import Budget, Counted
from sordino.query.tree import (
    Field,
    Key,
    KeyRef,
    Kind,
    Measure,
    MeasureRef,
    Output,
    Post,
    Query,
    Rows,
    Scan,
)
from sordino.query.types import Type
from tests.fixtures.hospital import DISEASES, between, hospital

COST = Field("f0", Type.REAL, "cost", between(0, 5000))
AGE = Field("f1", Type.INTEGER, "age", between(0, 120))
DISEASE = Field("f2", Type.TEXT, "disease", domain=DISEASES)
VISITS = Scan("visits", ((COST, "cost"), (AGE, "age"), (DISEASE, "disease")))
INCOME = Field("f3", Type.REAL, "income", between(0, 200_000))
SURVEY = Scan("survey", ((INCOME, "income"),))

DECLARED = Key(DISEASE, "disease", DISEASES)
DISCOVERED = Key(DISEASE, "disease", None)

COUNT = Measure(Kind.COUNT)
UNITS = Measure(Kind.COUNT_UNITS)
SUM = Measure(Kind.SUM, COST, COST.range)
AVG = Measure(Kind.AVG, COST, COST.range)
STDDEV = Measure(Kind.STDDEV, AGE, AGE.range)
VARIANCE = Measure(Kind.VARIANCE, AGE, AGE.range)
MEDIAN = Measure(Kind.QUANTILE, AGE, AGE.range, quantile=Fraction(1, 2))
LEAST = Measure(Kind.MIN, AGE, AGE.range)
MODE = Measure(Kind.MODE, DISEASE, domain=DISEASES)
TOP = Measure(Kind.TOP, DISEASE, count=2, domain=DISEASES)
DISTINCT = Measure(Kind.COUNT_DISTINCT, AGE)
EVERYTHING = (COUNT, UNITS, SUM, AVG, STDDEV, MEDIAN, LEAST, MODE, TOP, DISTINCT)

_WHOLE = (Kind.COUNT, Kind.COUNT_UNITS, Kind.COUNT_DISTINCT)


def question(measures: Sequence[Measure], *keys: Key, rows: Rows = VISITS) -> Query:
    outputs = [Output(key.title, KeyRef(at, key.type)) for at, key in enumerate(keys)]
    for at, measure in enumerate(measures):
        kind = Type.INTEGER if measure.kind in _WHOLE else Type.REAL
        outputs.append(Output(f"{measure.kind}_{at}", MeasureRef(at, kind)))
    return Query(rows, keys, tuple(measures), Post(tuple(outputs)), "SELECT ...")


COUNTED: tuple[Counted, ...] = ("epsilon", "rho", "gdp")


def catalog(
    *, counted: Counted = "epsilon", slack: Fraction = Fraction(1, 10**6), **limits: int
) -> Catalog:
    """The hospital with a budget in one of the currencies, and other limits for visits."""
    base = hospital()
    if counted == "epsilon":
        budget = Budget(epsilon=10)
    else:
        budget = Budget(epsilon=10, delta=1e-6, currency=counted)
    tables = tuple(
        replace(table, limits=Limits(**limits)) if limits and table.name == "visits" else table
        for table in base.tables
    )
    purses = tuple((people, Purse(budget, slack)) for people, _ in base.purses)
    return replace(base, tables=tables, purses=purses)


def plan_question(query: Query, catalog: Catalog, **terms: Unpack[Terms]) -> Plan:
    """The plan of a question on terms that are written as an analyst writes them."""
    return allocate.plan_question(query, catalog, read_ask(query.sql, **terms))
