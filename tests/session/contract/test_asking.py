# SPDX-License-Identifier: Apache-2.0
"""Laws of asking, for a session here and for one on a server: what is charged, and what is not."""

from typing import Any

import pyarrow as pa
import pytest

import sordino as so
from sordino.errors import BudgetExceeded, QueryError, SealedError
from tests.session.contract.doors import FRAME, Broken, Door, Either, Sessions


def number(answer: so.Answer, title: str) -> Any:
    return answer.cell(0, title)


def left(of: Either) -> str:
    return str(of.budget[0].left)


def test_an_answer_is_charged_and_says_what_is_left(session: Sessions) -> None:
    data = session()
    answer = data.ask("SELECT ward, COUNT(*) AS n FROM data GROUP BY ward", epsilon=2)
    assert [row["ward"].value for row in answer] == ["north", "south", "west"]
    assert str(answer.price) == "epsilon 2"
    assert left(data) == str(answer.left) == "epsilon 8"
    assert 400 < number(answer, "n").value < 600  # noise of scale 1.5


def test_explaining_costs_nothing_and_names_the_price(session: Sessions) -> None:
    data = session()
    found = data.explain("SELECT AVG(cost) FROM data", epsilon=0.5)
    assert str(found.price) == "epsilon 0.5"
    assert left(data) == "epsilon 10"


def test_accuracy_first_finds_a_price_and_keeps_to_it(session: Sessions) -> None:
    data = session()
    answer = data.ask("SELECT COUNT(*) AS n FROM data", within=50)
    assert number(answer, "n").half_width <= 50
    cheaper = float(answer.price.value) * 0.97
    assert number(data.ask("SELECT COUNT(*) AS n FROM data", epsilon=cheaper), "n").half_width > 50


def test_a_refused_question_costs_nothing(session: Sessions) -> None:
    data = session()
    with pytest.raises(QueryError):
        data.ask("SELECT person FROM data", epsilon=1)
    assert left(data) == "epsilon 10"


def test_what_goes_beyond_the_budget_is_refused_and_costs_nothing(session: Sessions) -> None:
    data = session(epsilon=1)
    data.ask("SELECT COUNT(*) FROM data", epsilon=0.75)
    with pytest.raises(BudgetExceeded, match=r"epsilon 0\.5, but epsilon 0\.25 is left"):
        data.ask("SELECT COUNT(*) FROM data", epsilon=0.5)
    assert left(data) == "epsilon 0.25"


def test_the_charge_stays_when_the_engine_fails(broken: Broken) -> None:
    data = broken(SealedError())
    with pytest.raises(SealedError, match="the charge stays"):
        data.ask("SELECT COUNT(*) FROM data", epsilon=0.25)
    assert left(data) == "epsilon 0.75"


def test_one_price_must_be_stated(session: Sessions) -> None:
    data = session()
    with pytest.raises(TypeError, match="say what the answer may cost"):
        data.ask("SELECT COUNT(*) FROM data")
    with pytest.raises(TypeError, match="one of the two"):
        data.ask("SELECT COUNT(*) FROM data", epsilon=1, within=5)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), True, "much"])
def test_a_price_that_is_none_is_refused_and_costs_nothing(epsilon: Any, session: Sessions) -> None:
    data = session()
    with pytest.raises((ValueError, TypeError)):
        data.ask("SELECT COUNT(*) FROM data", epsilon=epsilon)
    assert left(data) == "epsilon 10"


def test_a_fresh_answer_to_the_same_question_is_charged_and_drawn_again(session: Sessions) -> None:
    data = session()
    sql = "SELECT ward, SUM(cost) AS total FROM data GROUP BY ward"
    one, other = data.ask(sql, epsilon=1), data.ask(sql, epsilon=1, fresh=True)
    assert left(data) == "epsilon 8"
    assert [c.value for c in one["total"]] != [c.value for c in other["total"]]  # 2**-60 by chance


def test_a_budget_in_rho_is_paid_in_rho(session: Sessions) -> None:
    data = session(epsilon=2, delta=1e-6, currency="rho")
    answer = data.ask("SELECT ward, COUNT(*) FROM data GROUP BY ward", epsilon=0.5)
    assert str(answer.price).startswith("rho ")
    again = data.ask("SELECT ward, COUNT(*) FROM data GROUP BY ward", rho=0.001)
    assert str(again.price) == "rho 0.001"


def test_keys_that_are_discovered_are_paid_with_a_delta(door: Door) -> None:
    data = door(so.table(FRAME, unit="person", epsilon=4, delta=1e-6, rows=3))
    answer = data.ask("SELECT ward, COUNT(*) FROM data GROUP BY ward", epsilon=2, delta=1e-7)
    assert [row["ward"].value for row in answer] == ["north", "south"]
    assert (
        data.budget[0].delta
        == door(so.table(FRAME, unit="person", epsilon=4, delta=9e-7)).budget[0].delta
    )
    assert "to discover keys" in str(data.budget[0])


@pytest.mark.parametrize("rows", [0, -1, 2.5, True, 10**9])
def test_limits_that_are_none_are_refused_and_cost_nothing(rows: Any, session: Sessions) -> None:
    data = session()
    with pytest.raises(ValueError, match="rows must be a whole number from 1"):
        data.ask("SELECT COUNT(*) FROM data", epsilon=1, rows=rows)
    assert left(data) == "epsilon 10"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"confidence": 1 - 1e-12}, "confidence must be at most"),
        ({"confidence": 95}, "write 95 % as 0.95"),
        ({"diagnostics": "no"}, "diagnostics must be True or False"),
        ({"fresh": "no"}, "fresh must be True or False"),
        ({"nonnegative": 1}, "nonnegative must be True or False"),
        ({"consistent": "no"}, "consistent must be True or False"),
        ({"integer": None}, "integer must be True or False"),
        ({"expected_rows": "x"}, "expected_rows must be a positive number, got 'x'"),
        ({"expected_rows": "100"}, "expected_rows must be a positive number, got '100'"),
        ({"expected_rows": 0}, "expected_rows must be a positive number, got 0"),
        ({"confidence": 0}, "confidence must be a number between 0 and 1"),
        ({"confidence": "0.95"}, "confidence must be a number between 0 and 1"),
    ],
)
def test_odd_arguments_are_refused_and_cost_nothing(
    asked: Any, said: str, session: Sessions
) -> None:
    data = session()
    with pytest.raises((ValueError, TypeError), match=said):
        data.ask("SELECT COUNT(*) FROM data", epsilon=1, **asked)
    assert left(data) == "epsilon 10"


def test_a_join_that_is_cut_says_so_and_makes_no_row_seem_alone(door: Door) -> None:
    frame = pa.table({"u": [k % 3 for k in range(900)], "i": list(range(900))})
    data = door(so.table(frame, unit="u", bounds={"i": (0, 1000)}, rows=1000, epsilon=10**7))
    inner = "SELECT COUNT(*) AS n FROM data AS a JOIN data AS b ON a.u = b.u AND a.i = b.i"
    answer = data.ask(inner, epsilon=10**5)
    assert any("at most 200 rows of a side are joined" in note for note in answer.notes)
    assert "at most 200 rows of a unit" in str(data.explain(inner, epsilon=1))
    outer = (
        "SELECT COUNT(*) AS n FROM data AS a LEFT JOIN (SELECT u, i + 0 AS i, 1 AS there FROM data)"
        " AS b ON a.u = b.u AND a.i = b.i WHERE b.there IS NULL"
    )
    assert number(data.ask(outer, epsilon=10**5), "n").value == 0  # noise of a hundredth
    alone = data.ask("SELECT COUNT(*) AS n FROM data", epsilon=10**5)
    assert not any("joined" in note for note in alone.notes)
