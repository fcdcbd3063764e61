# SPDX-License-Identifier: Apache-2.0
"""A plan in words and as a picture."""

from dataclasses import replace
from fractions import Fraction
from xml.etree import ElementTree

import pytest

from sordino.catalog.model import Catalog
from sordino.plan.explain import Explanation, explain, graph_of
from sordino.privacy.budget import Counted
from sordino.query.tree import (
    Call,
    JoinPublic,
    JoinUnit,
    Key,
    Literal,
    Output,
    PerUnit,
    Query,
    UnitKind,
    UnitMeasure,
    Where,
)
from sordino.query.types import Type
from tests.plan.unit.questions import (
    AGE,
    AVG,
    COUNT,
    COUNTED,
    DECLARED,
    DISCOVERED,
    DISEASE,
    EVERYTHING,
    INCOME,
    SURVEY,
    UNITS,
    VISITS,
    catalog,
    plan_question,
    question,
)

HOSTILE = '<script>"\\n&</script>'


def explained(
    query: Query, *, ours: Catalog | None = None, rows: int | None = None, epsilon: float = 0.5
) -> Explanation:
    ours = ours or catalog(rows=8)
    plan = plan_question(query, ours, epsilon=epsilon)
    return explain(plan, ours.purse(plan.people), expected_rows=rows)


def test_a_small_plan_reads_like_this() -> None:
    told = str(explained(question([COUNT, AVG], DECLARED), rows=1000))
    assert told == "\n".join(
        [
            "price       epsilon 0.5; the whole budget is epsilon 10",
            "hidden      one of the patients with all rows, added or removed",
            "groups      disease: 4 groups declared, all are answered",
            "limits      8 rows in all; of a unit with more, each row counts less",
            "error bars  hold with 95 % each, for what counts",
            "",
            "column   half-width  about",
            "-------  ----------  ------------------------",
            "count_0  ± 130",
            "avg_1    ± 1,250     in a group of 1,000 rows",
            "",
            "released               noise                   one unit moves it by"
            "                           epsilon  share",
            "---------------------  ----------------------  "
            "---------------------------------------------  -------  -----",
            "rows                   Laplace, scale 43.3     at most 8 rows"
            "                                 0.1847   37 %",
            "sum of cost less 2500  Laplace, scale 108,000  "
            "at most 20,000: 8 rows, each by at most 2,500  0.1847   37 %",
            "rows with cost         Laplace, scale 61.3     at most 8 rows"
            "                                 0.1306   26 %",
        ]
    )


@pytest.mark.parametrize("counted", COUNTED)
@pytest.mark.parametrize("key", [DECLARED, DISCOVERED])
def test_every_release_is_told_and_the_shares_add_up(key: Key, counted: Counted) -> None:
    told = explained(question(EVERYTHING, key), ours=catalog(counted=counted))
    rows = told.rows()
    assert len(rows) == len(told.plan.releases) + (key is DISCOVERED)
    assert sum(float(row[3]) for row in rows) == pytest.approx(float(told.price.value), rel=0.01)
    assert all(cell for row in rows for cell in row)
    assert len(told.widths()) == len(EVERYTHING)
    assert counted in str(told).splitlines()[0]


def test_discovered_keys_are_told_with_the_units_they_need() -> None:
    told = explained(question([UNITS], DISCOVERED))
    assert told.plan.keys is not None
    needed = told.plan.keys.count_for(Fraction(95, 100))
    assert f"a group of {needed} units is told with 95 %" in str(told)
    assert "at most 8 groups of a unit count, drawn by lot" in str(told)
    assert "delta 1e-07 to discover keys" in str(told)


def test_a_row_that_stands_for_itself_is_not_cut() -> None:
    told = explained(question([COUNT], rows=SURVEY))
    assert "one row of each unit, so nothing is cut" in str(told)


def test_warnings_name_what_is_wrong() -> None:
    assert explained(question([COUNT])).warnings == ()
    dear = explained(question([COUNT], DISCOVERED), epsilon=11, rows=1)
    assert [text.split()[0] for text in dear.warnings] == ["this", "epsilon", "the"]
    ours = catalog(slack=Fraction(1, 10**8))
    plan = plan_question(question([COUNT], DISCOVERED), ours, epsilon=1, delta=1e-6)
    told = explain(plan, ours.purse("patients"))
    assert told.warnings == ("discovering keys costs more delta than the whole budget has",)
    assert "warning: discovering" in str(told)


def hostile() -> Explanation:
    field = replace(DISEASE, title=HOSTILE)
    query = question([COUNT], Key(field, HOSTILE, None))
    outputs = (query.post.outputs[0], Output(HOSTILE, query.post.outputs[1].scalar))
    where = Where(VISITS, Call("eq", (field, Literal(HOSTILE, Type.TEXT)), Type.BOOLEAN))
    return explained(replace(query, rows=where, post=replace(query.post, outputs=outputs)))


def test_pictures_and_tables_escape_what_the_analyst_wrote() -> None:
    told = hostile()
    html = told._repr_html_()
    assert "<script>" not in told.svg()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    ElementTree.fromstring(told.svg())  # noqa: S314 - our own text
    for line in told.dot().splitlines()[3:-1]:
        plain = line.replace("\\\\", "").replace('\\"', "")
        assert plain.count('"') in (0, 4)


def test_the_picture_leads_from_tables_to_answers() -> None:
    each = PerUnit(VISITS, ((AGE, UnitMeasure(UnitKind.COUNT)),))
    rows = JoinPublic(JoinUnit(VISITS, each), "cities", (), ((DISEASE, "name"),))
    plan = plan_question(question([COUNT, AVG], DISCOVERED, rows=rows), catalog(), epsilon=1)
    graph = graph_of(plan)
    titles = [box.title for box in graph.boxes]
    assert titles.count("visits") == 2
    assert {"cities", "per unit", "join", "group by", "limit", "keys", "count_0"} <= set(titles)
    for before, after in graph.arrows:
        assert graph.boxes[before].layer < graph.boxes[after].layer
    ends = set(range(len(graph.boxes))) - {before for before, _ in graph.arrows}
    assert {graph.boxes[at].below for at in ends} == {"answer"}
    assert {graph.boxes[at].kind for at in ends} == {"public"}


def test_nothing_exact_reaches_an_answer_without_noise() -> None:
    plan = plan_question(question(EVERYTHING, DISCOVERED), catalog(), epsilon=1, diagnostics=True)
    graph = graph_of(plan)
    for before, after in graph.arrows:
        kinds = graph.boxes[before].kind, graph.boxes[after].kind
        assert kinds != ("private", "public")
    assert sum(box.below == "diagnostic" for box in graph.boxes) == len(plan.diagnostics)


def test_a_question_about_rows_that_stand_for_themselves_is_drawn() -> None:
    told = explained(
        question([COUNT], rows=Where(SURVEY, Call("gt", (INCOME, INCOME), Type.BOOLEAN)))
    )
    assert "one row a unit" in told.svg()
    assert told.dot().startswith("digraph plan {")
