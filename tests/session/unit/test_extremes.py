# SPDX-License-Identifier: Apache-2.0
"""Numbers at the ends of what doubles hold: answered, or refused before the charge in our words."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import sordino as so
from sordino.errors import MissingBound, SordinoError
from sordino.session import Session

NUMBERS = ["1e300", "-1e300", "1e308", "1e200", "1e-300", "1e-320", "0", "1e154", "1e18", "1e19",
           "9007199254740992", "0.1", "1e-9"]  # fmt: skip
EXPRESSIONS = ["x*{}", "n*{}", "x/{}", "x-{}", "{}", "POWER(x,{})", "EXP(x*{})", "x*{0}*{0}",
               "CAST(x*{} AS BIGINT)", "FLOOR(x*{})", "ABS(n-{})", "GREATEST(x,{})", "n % {}",
               "CASE WHEN n > 1 THEN {} ELSE 0 END"]  # fmt: skip
AGGREGATES = ["SUM({})", "AVG({})", "VARIANCE({})", "STDDEV({})", "MEDIAN({})", "MIN({})",
              "MAX({})", "COUNT(DISTINCT {})", "COUNT({})", "SUM({})*1e308*10", "AVG({})/1e-320",
              "ROUND(SUM({}),400)"]  # fmt: skip
ENDS = [("0", "1"), ("0", "1e300"), ("-1e300", "1e300"), ("0", "1e-300"), ("1e-320", "1e-310"),
        ("-1e308", "1e308"), ("-1e200", "1e200"), ("1", "1"), ("0", "1e18"), None]  # fmt: skip
PRICES: list[dict[str, object]] = [
    {"epsilon": 1}, {"epsilon": 1e-6}, {"epsilon": 500},
    {"within": 5, "expected_rows": 10}, {"within": "5%", "expected_rows": 10},
    {"within": 1e-150, "expected_rows": 10},
]  # fmt: skip
ROWS = {"who": ["a", "a", "b"], "x": [1.0, 2.0, 50.0], "n": [1, 2, 3]}


@st.composite
def questions(draw: st.DrawFn) -> str:
    inner = draw(st.sampled_from(EXPRESSIONS)).format(draw(st.sampled_from(NUMBERS)))
    ends = draw(st.sampled_from(ENDS))
    if ends is not None:
        inner = f"CLAMP({inner}, {ends[0]}, {ends[1]})"
    if draw(st.integers(0, 4)) == 0:
        return f"SELECT {inner} AS k, COUNT(*) AS n FROM data GROUP BY 1"  # noqa: S608
    return f"SELECT {draw(st.sampled_from(AGGREGATES)).format(inner)} AS v FROM data"  # noqa: S608


def opened() -> Session:
    return so.table(
        ROWS,
        unit="who",
        bounds={"x": (0, 100), "n": (0, 100)},
        types={"x": "real", "n": "integer"},
        epsilon=10**9,
        delta=1e-3,
    )


@pytest.fixture(scope="module")
def session() -> Session:
    return opened()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(questions(), st.sampled_from(PRICES))
@example("SELECT VARIANCE(CLAMP(x*1e300, -1e300, 1e300)) AS v FROM data", PRICES[0])
@example("SELECT VARIANCE(CLAMP(x*1e200, -1e200, 1e200)) AS v FROM data", PRICES[0])
@example("SELECT VAR_POP(CLAMP(n*-1e300, 1e-320, 1e-310)) AS v FROM data", PRICES[4])
@example("SELECT CAST(1e300 AS BIGINT) AS k, COUNT(*) AS n FROM data GROUP BY 1", PRICES[0])
def test_what_is_beyond_reach_is_refused_before_the_charge(
    session: Session, sql: str, price: dict[str, object]
) -> None:
    before, refused = str(session.budget), ""
    try:
        plan = session.plan(sql, **price)  # type: ignore[arg-type]
    except SordinoError as error:
        refused = error.code
    except ValueError as error:
        refused = str(error)
    if refused:
        ours = refused.replace("_", "").isalpha()
        assert ours or refused.startswith("this is too little")  # of the price that was asked with
        assert str(session.budget) == before
    else:
        assert len(session.answer(plan)) >= 0  # and no SealedError


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT VARIANCE(CLAMP(x*1e300, -1e300, 1e300)) AS v FROM data",
        "SELECT STDDEV(CLAMP(x*1e200, 0, 1e200)) AS v FROM data",
        "SELECT SUM(CLAMP(x*1e300, 0, 1e300)) AS v FROM data",
        "SELECT MEDIAN(CLAMP(x*1e300, 0, 1e300)) AS v FROM data",
        "SELECT CAST(1e300 AS BIGINT) AS k, COUNT(*) AS n FROM data GROUP BY 1",
    ],
)
def test_ranges_beyond_reach_are_told_to_be_too_wide(sql: str) -> None:
    with opened() as data, pytest.raises(MissingBound, match="beyond") as caught:
        data.explain(sql, epsilon=1)
    assert caught.value.code == "too_wide"
    assert "CLAMP" in caught.value.hint


def test_an_answer_says_that_rows_without_an_id_do_not_count() -> None:
    note = "not covered: rows without the id of a person do not count"
    rows = {"who": [1, None, 2], "x": [1.0, 2.0, 3.0]}
    for unit, many in (("who", 1), ("row", 0)):
        with so.table(rows, unit=unit, types={"who": "integer", "x": "real"}, epsilon=10) as data:
            assert data.ask("SELECT COUNT(*) AS n FROM data", epsilon=1).notes.count(note) == many
    with so.table(rows, unit="who", types={"who": "integer", "x": "real"}, epsilon=10) as data:
        per = "SELECT AVG(CLAMP(n, 0, 5)) AS a FROM (SELECT who, COUNT(*) AS n FROM data GROUP BY who) t"  # noqa: E501
        assert note in data.ask(per, epsilon=1).notes
