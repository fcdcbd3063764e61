# SPDX-License-Identifier: Apache-2.0
"""The neighbour test finds faults: 51 privacy faults are put in, and each of them is found.

Each mutant is asked the questions of a lab, on data sets that differ by one unit, until a check
says that something is wrong. Without a mutant no check says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest

from sordino.cache import Kept, Shelf
from sordino.catalog.model import Limits
from sordino.errors import QueryError
from sordino.sql.parse import parse
from tests.engine.reference.bounded import bounded_reference
from tests.engine.reference.rows import Cut
from tests.session.attack.mutants.engine import ENGINE
from tests.session.attack.mutants.noisy import NOISY
from tests.session.attack.mutants.public import PUBLIC
from tests.session.attack.neighbours.campaign import Settings, Site, Tally, listening
from tests.session.attack.neighbours.dice import dice
from tests.session.attack.neighbours.lab import QUESTIONS, lab_schema, lab_world
from tests.session.attack.neighbours.releases import release_faults
from tests.support.trace import look, prepare

MUTANTS = {**ENGINE, **PUBLIC, **NOISY}
HOSTILE = (
    "SELECT uid, COUNT(*) FROM visits GROUP BY uid",
    'SELECT "UID", COUNT(*) FROM visits GROUP BY 1',
    "SELECT SUM(CLAMP(uid, 0, 9)) FROM visits",
    "SELECT COUNT(*) FROM places p LEFT JOIN visits v ON v.kind = p.word",
    "SELECT COUNT(*) FROM visits v JOIN more m ON v.kind = m.word",
    "SELECT SUM(t) FROM (SELECT uid, SUM(amount) OVER (PARTITION BY kind) AS t FROM visits) x",
    "SELECT COUNT(*) FROM visits WHERE amount > (SELECT MAX(amount) FROM visits)",
)
ORDERED = (
    "SELECT kind, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY kind ORDER BY n DESC LIMIT 2",
    "SELECT kind, SUM(amount) AS n FROM visits GROUP BY kind",
    "SELECT flag, COUNT(*) FROM visits WHERE flag GROUP BY flag",
)
SALT = 7
AIMS = {  # the question that is asked first, for speed; all others follow
    "values are clamped before they are multiplied":
        "SELECT SUM(CLAMP(1000 * cost, 0, 7)) FROM visits",
    "the offset is forgotten": "SELECT AVG(cost), VARIANCE(amount) FROM visits",
    "one group too many is kept": "SELECT kind, COUNT(DISTINCT uid) FROM visits GROUP BY kind",
    "a limit of rows in a group is ignored": "SELECT kind, COUNT(*) FROM visits GROUP BY kind",
    "distinct values of a unit are not cut": "SELECT COUNT(DISTINCT city) FROM visits",
    "groups outside the declared keys are kept": "SELECT kind, COUNT(*) FROM visits GROUP BY kind",
    "rows are counted before the join":
        "SELECT COUNT(*) FROM visits v JOIN more m ON v.uid = m.uid",
    "rows of nobody are kept": "SELECT COUNT(DISTINCT uid) FROM visits",
    "groups are chosen by the order of rows": "SELECT city, COUNT(*) FROM visits GROUP BY city",
    "groups are chosen by their size": "SELECT kind, COUNT(*) FROM visits GROUP BY kind",
    "units are counted by rows": "SELECT COUNT(DISTINCT uid) FROM visits",
    "a public row without a match is kept":
        "SELECT p.word, COUNT(*) FROM visits v LEFT JOIN places p ON v.city = p.word GROUP BY 1",
    "private tables are joined past the unit":
        "SELECT COUNT(*) FROM visits v JOIN more m ON v.uid = m.uid",
    "a window looks at everybody":
        "SELECT SUM(amount) FROM (SELECT amount, cost, MAX(cost) OVER (PARTITION BY uid) AS top "
        "FROM visits) t WHERE cost = top",
    "sums of a unit are added up as doubles":
        "SELECT COUNT(*) FROM (SELECT uid, SUM(cost) AS s FROM visits GROUP BY uid) t "
        "WHERE s > 0.6",
    "coarse weights are not divided": "SELECT MEDIAN(cost) FROM visits",
    "a declared limit is trusted": "SELECT COUNT(*), SUM(score) FROM more",
    "a public join is taken to keep rows alone":
        "SELECT p.region, COUNT(*) FROM survey s JOIN places p ON s.town = p.word GROUP BY 1",
    "units of several groups are counted as one":
        "SELECT kind, COUNT(DISTINCT uid) FROM visits GROUP BY kind",
    "Gaussian noise is made for one group": "SELECT kind, COUNT(*) FROM visits GROUP BY kind",
    "coarse weights are taken for rows": "SELECT MEDIAN(cost) FROM visits",
    "equal noise is charged once": "SELECT AVG(cost), VARIANCE(amount) FROM visits",
    "selecting keys is not charged": "SELECT city, COUNT(*) FROM visits GROUP BY city",
    "the slack is not charged": "SELECT city, COUNT(*) FROM visits GROUP BY city",
    "keys are selected for one group": "SELECT city, COUNT(*) FROM visits GROUP BY city",
    "only the point of a quantile is charged": "SELECT MEDIAN(cost) FROM visits",
    "groups are sorted before noise": "SELECT kind, COUNT(*) FROM visits GROUP BY kind",
    "all keys are told": "SELECT city, COUNT(*) FROM visits GROUP BY city",
    "keys pass a threshold without noise": "SELECT town, COUNT(*) FROM survey GROUP BY town",
    "the quantile is exact": "SELECT MEDIAN(cost) FROM visits",
    "the mode is exact": "SELECT flag, TOP(2, kind) FROM visits GROUP BY flag",
}  # fmt: skip
FAILURES = ("the engine failed", "preparing failed")


@pytest.fixture(scope="module")
def sites() -> Iterator[list[Site]]:
    """The lab in all currencies, with few limits and with all of them."""
    cut = Limits(rows=3, groups=2, rows_per_group=2)
    schemas = [
        lab_schema(),
        lab_schema(counted="rho", limits=cut),
        lab_schema(limits=Limits(rows=7)),
    ]
    made = [Site(dice(1), lab_world(schema)) for schema in schemas]
    yield made
    for site in made:
        site.close()


def verdicts(sites: list[Site], first: tuple[str, ...] = ()) -> Iterator[str]:
    """Go through everything that a check has against the program, some questions first."""
    _forget(sites)
    yield from _refusals(sites[0])
    for sql in (*first, *QUESTIONS, *ORDERED):
        for site in sites:
            tally = Tally()
            settings = Settings(Fraction(1), None, diagnostics=False, salt=SALT)
            site.ask(sql, settings, tally, "lab")
            yield from (f"neighbours: {fault.kind}: {sql}" for fault in tally.faults)
        yield from _afterwards(sites[0], sql)


def _refusals(site: Site) -> Iterator[str]:
    for sql in HOSTILE:
        try:
            parse(sql, site.engines[0].catalog)
        except QueryError:
            continue
        yield f"refusals: accepted: {sql}"


def _afterwards(site: Site, sql: str) -> Iterator[str]:
    """Compare with plain Python, and look at what is told."""
    engine, rows = site.engines[-1], site.rows[-1]
    prepared = prepare(engine, sql, epsilon=Fraction(1), salt=SALT)
    try:
        wanted = bounded_reference(prepared.plan.bounded, rows, engine.catalog)
        found = look(engine, prepared, salt=SALT)
        for mine, theirs in zip(found, wanted, strict=True):
            if {g: n for g, n in mine.items() if any(n)} != {
                g: n for g, n in theirs.items() if any(n)
            }:
                yield f"reference: other numbers than plain Python: {sql}"
    except Cut:
        pass
    with listening():
        for fault in release_faults(engine, prepared, salt=SALT):
            yield f"release: {fault}: {sql}"


def _forget(sites: list[Site]) -> None:
    """Let engines compile anew, by what is in force now."""
    for engine in (engine for site in sites for engine in site.engines):
        engine._compiled = Kept(engine._compile, Shelf(64, weigh=lambda _: 1))
        engine._tried = Kept(engine._try, Shelf(64, weigh=lambda _: 1))


def test_nothing_is_found_without_a_mutant(sites: list[Site]) -> None:
    assert list(verdicts(sites)) == []


@pytest.mark.parametrize("name", MUTANTS)
def test_every_mutant_is_found(name: str, sites: list[Site]) -> None:
    with MUTANTS[name]():
        aim = (AIMS[name],) if name in AIMS else ()
        found = verdicts(sites, aim)
        verdict = next((v for v in found if not any(f in v for f in FAILURES)), None)
    _forget(sites)
    assert verdict is not None, f"nobody noticed that {name}"
    print(f"{name}: {verdict}")  # noqa: T201  # shown with -rP
