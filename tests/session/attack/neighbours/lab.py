# SPDX-License-Identifier: Apache-2.0
"""One small world that attains what is declared: units at every limit, and questions for all."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

from sordino.catalog.model import Column, ForeignKey, Frame, Limits, Purse, Table
from sordino.privacy.budget import Budget, Counted
from sordino.query.types import Range, Type
from tests.session.attack.neighbours.data import Row, Rows, World
from tests.session.attack.neighbours.dice import dice
from tests.session.attack.neighbours.schemas import Schema

_KINDS = ("a", "b", "c")
_NAN, _INF = float("nan"), float("inf")


def _between(low: int, high: int) -> Range:
    return Range(Fraction(low), Fraction(high))


def lab_schema(*, counted: Counted = "epsilon", limits: Limits | None = None) -> Schema:
    """Return the schema of the lab; three rows of a unit count if nothing else is said."""
    limits = limits or Limits(rows=3)
    visits = Table(
        "visits",
        Frame(None),
        (
            Column("uid", Type.INTEGER),
            Column("rid", Type.INTEGER),
            Column("amount", Type.INTEGER, bounds=_between(0, 10)),
            Column("cost", Type.REAL, bounds=_between(0, 100)),
            Column("kind", Type.TEXT, keys=_KINDS),
            Column("sort", Type.TEXT, keys=_KINDS, other="rest"),
            Column("city", Type.TEXT),
            Column("flag", Type.BOOLEAN),
        ),
        unit="uid",
        limits=limits,
    )
    more = Table(
        "more",
        Frame(None),
        (
            Column("uid", Type.INTEGER),
            Column("score", Type.INTEGER, bounds=_between(-5, 5)),
            Column("word", Type.TEXT),
        ),
        unit="uid",
        limits=Limits(rows=1),
    )
    items = Table(
        "items",
        Frame(None),
        (Column("rid", Type.INTEGER), Column("dose", Type.REAL, bounds=_between(0, 50))),
        parent=ForeignKey("rid", "visits", "rid"),
        limits=limits,
    )
    places = Table(
        "places",
        Frame(None),
        (
            Column("word", Type.TEXT),
            Column("region", Type.TEXT, keys=("north", "south")),
            Column("factor", Type.REAL, bounds=_between(-2, 50)),
        ),
        public=True,
    )
    survey = Table(
        "survey",
        Frame(None),
        (
            Column("answer", Type.INTEGER, bounds=_between(1, 5)),
            Column("income", Type.REAL, bounds=_between(0, 1000)),
            Column("town", Type.TEXT),
        ),
        unit="row",
        people="rows",
    )
    if counted == "epsilon":
        budget = Budget(epsilon=1000)
    else:
        budget = Budget(epsilon=1000, delta=1e-6, currency=counted)
    purse = Purse(budget, Fraction(1, 1000))
    return Schema(
        (visits, more, items, places, survey),
        "visits", "more", "items", "places", "survey",
        (("people", purse), ("rows", purse)),
    )  # fmt: skip


def lab_world(schema: Schema) -> World:
    """Return calm units that stay, and three that come and go at every limit."""
    random = dice(0)
    staying: Rows = {
        "visits": [],
        "more": [],
        "items": [],
        "survey": [],
        "places": [
            {"word": word, "region": region, "factor": 50.0}
            for word in ("a", "b", "w0", "w1")
            for region in ("north", "south", "south")
        ],
    }
    for number in range(9):
        visits = [
            _visit(number, place, cost=cost, city=f"town{place}", kind=_KINDS[place])
            for place, cost in enumerate((0.1, 0.2, 0.3))
        ]
        if number == 8:
            visits += [_visit(8, 3 + at, cost=_NAN, city=f"far{at}", kind="z") for at in range(6)]
        _fill(staying, number, visits)
    staying["visits"] += [_visit(None, 990, cost=1.0, city="lost", kind="a")]
    staying["survey"] += [_answer(random) for _ in range(5)]
    exact = [_visit(100, at, cost=100.0, city="same", kind="a") for at in range(3)]
    crowd = [
        _visit(101, at, cost=_INF, city=f"city{at}", kind=_KINDS[at % 3], sort=f"odd{at}")
        for at in range(20)
    ]
    alone = [_visit(102, 0, cost=100.0, city="lonely", kind="c")]
    lost = [_visit(None, 500 + at, cost=100.0, city="town1", kind="b") for at in range(12)]
    leaving = []
    for number, visits in ((100, exact), (101, crowd), (102, alone)):
        rows: Rows = {}
        _fill(rows, number, visits)
        town = {100: "a", 101: "new", 102: "b"}[number]
        rows["survey"] = [{"answer": 5, "income": 1000.0, "town": town}]
        leaving.append(rows)
    leaving[2]["visits"] = leaving[2]["visits"] + lost
    return World(schema, staying, tuple(leaving))


def _fill(rows: Rows, number: int, visits: list[Row]) -> None:
    rows.setdefault("visits", []).extend(visits)
    more = [{"uid": number, "score": 5, "word": f"w{at}"} for at in range(len(visits))]
    rows.setdefault("more", []).extend(more)
    items = [{"rid": visit["rid"], "dose": 50.0} for visit in visits for _ in range(2)]
    rows.setdefault("items", []).extend(items)


def _visit(
    number: int | None, place: int, *, cost: float, city: str, kind: str, sort: str | None = None
) -> dict[str, Any]:
    return {
        "uid": number,
        "rid": (number or 0) * 1000 + place,
        "amount": 2**62 if cost == _INF else 10,
        "cost": cost,
        "kind": kind,
        "sort": sort or kind,
        "city": city,
        "flag": place % 2 == 0,
    }


def _answer(random: Random) -> Row:
    return {
        "answer": random.randint(1, 5),
        "income": random.choice((0.0, 10.5, _NAN, 2000.0)),
        "town": random.choice(("x", "y", "z")),
    }


QUESTIONS = (
    "SELECT COUNT(*) FROM visits",
    "SELECT SUM(amount), SUM(cost) FROM visits",
    "SELECT COUNT(amount) FROM visits",
    "SELECT COUNT(DISTINCT uid) FROM visits",
    "SELECT SUM(1000 * amount) FROM visits",
    "SELECT SUM(CLAMP(1000 * cost, 0, 7)) FROM visits",
    "SELECT AVG(cost), VARIANCE(amount) FROM visits",
    "SELECT kind, COUNT(*), SUM(amount) FROM visits GROUP BY kind",
    "SELECT kind, COUNT(DISTINCT uid) FROM visits GROUP BY kind",
    "SELECT sort, COUNT(DISTINCT uid), COUNT(*) FROM visits GROUP BY sort",
    "SELECT city, COUNT(*), SUM(amount) FROM visits GROUP BY city",
    "SELECT COUNT(DISTINCT city) FROM visits",
    "SELECT kind, COUNT(DISTINCT city) FROM visits GROUP BY kind",
    "SELECT MEDIAN(cost), MIN(amount) FROM visits",
    "SELECT kind, MEDIAN(amount) FROM visits GROUP BY kind",
    "SELECT MODE(kind) FROM visits",
    "SELECT flag, TOP(2, kind) FROM visits GROUP BY flag",
    "SELECT COUNT(*), SUM(p.factor) FROM visits v JOIN places p ON v.kind = p.word",
    "SELECT p.region, COUNT(*) FROM visits v LEFT JOIN places p ON v.kind = p.word GROUP BY 1",
    "SELECT p.word, COUNT(*) FROM visits v LEFT JOIN places p ON v.city = p.word GROUP BY 1",
    "SELECT COUNT(*) FROM visits v JOIN more m ON v.uid = m.uid",
    "SELECT SUM(m.score) FROM visits v LEFT JOIN more m ON v.uid = m.uid AND v.kind = m.word",
    "SELECT COUNT(*) FROM visits a JOIN visits b ON a.uid = b.uid",
    "SELECT COUNT(*), SUM(dose) FROM items",
    "SELECT SUM(CLAMP(n, 0, 30)) FROM (SELECT uid, COUNT(*) AS n FROM visits GROUP BY uid) t",
    "SELECT COUNT(*) FROM (SELECT uid, SUM(cost) AS s FROM visits GROUP BY uid) t WHERE s > 0.6",
    "SELECT SUM(amount) FROM (SELECT amount, cost, MAX(cost) OVER (PARTITION BY uid) AS top "
    "FROM visits) t WHERE cost = top",
    "SELECT COUNT(*), SUM(score) FROM more",
    "SELECT SUM(income), COUNT(income) FROM survey",
    "SELECT town, COUNT(*), SUM(answer) FROM survey GROUP BY town",
    "SELECT p.region, COUNT(*) FROM survey s JOIN places p ON s.town = p.word GROUP BY 1",
    "SELECT HISTOGRAM(cost, 5) FROM visits",
    "SELECT SUM(amount) AS s, SUM(amount) AS t, COUNT(*) FROM visits",
    "SELECT SUM(CASE WHEN flag THEN 1000 * amount ELSE amount END) FROM visits",
)  # fmt: skip
