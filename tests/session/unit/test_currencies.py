# SPDX-License-Identifier: Apache-2.0
"""Questions under a budget in each currency, from the catalog to the last answer that fits."""

from pathlib import Path

import pytest

import sordino as so
from sordino import dbapi
from sordino.errors import BudgetExceeded
from sordino.ledger.history import entries
from sordino.privacy.budget import Counted
from sordino.privacy.currency import Price
from sordino.privacy.loss import Loss
from sordino.session.session import Session
from tests.session.unit.clinic import clinic

SQL = "SELECT COUNT(*) AS n FROM visits"
EPSILON, DELTA = 1.0, 1e-6
HALF = DELTA / 2  # what turns what is counted into epsilon


def stated(counted: Counted) -> str:
    return f'epsilon = {EPSILON}\ndelta = {DELTA}\ncurrency = "{counted}"'


def asked_until_the_end(
    data: Session, *, epsilon: float | None = None, within: float | None = None
) -> tuple[int, Loss]:
    """Ask anew until nothing is left; return how many answers there were, and their loss."""
    one, many = data.explain(SQL, epsilon=epsilon, within=within), 0
    while one.price <= Price(one.price.currency, data.budget[0].left.nanos, one.price.attos):
        data.ask(SQL, fresh=True, epsilon=epsilon, within=within)
        many += 1
    with pytest.raises(BudgetExceeded):
        data.ask(SQL, fresh=True, epsilon=epsilon, within=within)
    return many, many * one.plan.loss


@pytest.mark.parametrize("counted", ["rho", "gdp"])
def test_all_that_a_budget_grants_keeps_its_promise(tmp_path: Path, counted: Counted) -> None:
    with so.open(clinic(tmp_path, budget=stated(counted))) as data:
        many, loss = asked_until_the_end(data, epsilon=0.2)
        assert many > 10
        assert loss.epsilon(delta=HALF) <= EPSILON
        (left,) = data.budget
        assert left.left.nanos < data.explain(SQL, epsilon=0.2).price.nanos


def test_gdp_grants_more_counts_than_rho_and_nearly_as_many_as_can_be(tmp_path: Path) -> None:
    found = {}
    both: tuple[Counted, ...] = ("rho", "gdp")
    for counted in both:
        folder = tmp_path / counted
        folder.mkdir()
        with so.open(clinic(folder, budget=stated(counted))) as data:
            # The noise is the same, so that only what it is charged for differs.
            found[counted] = asked_until_the_end(data, within=620)
    (few, _), (more, loss) = found["rho"], found["gdp"]
    assert more > 1.1 * few
    assert 0.95 * EPSILON < loss.epsilon(delta=HALF) <= EPSILON


def test_a_charge_in_gdp_is_on_record_with_what_its_noise_may_fail_by(tmp_path: Path) -> None:
    path = clinic(tmp_path, budget=stated("gdp"))
    with so.open(path) as data:
        price = data.explain(SQL, epsilon=0.2).price
        assert (price.currency.kind, price.attos) == ("gdp", 1)
        answer = data.ask(SQL, epsilon=0.2)
        assert (answer.charge.price.nanos, answer.charge.slack) == (price.nanos, price.delta)
        assert "gdp" in str(answer)
        assert "for keys" not in str(answer)
    with so.open(path, receipt=answer.receipt) as data:
        again = data.ask(SQL, epsilon=0.2)
        assert again.again
        assert again == answer
        (charge,) = [entry for entry in entries(data.ledger) if entry.kind == "charge"]
        assert (charge.price, charge.price_slack) == (price.nanos, 1)
        with pytest.raises(ValueError, match="this budget counts gdp; ask with an epsilon"):
            data.ask(SQL, rho=0.001)


def test_keys_are_discovered_under_a_budget_in_gdp() -> None:
    columns = {"ward": ["north"] * 700 + ["south"] * 600}
    terms = {"epsilon": 2.0, "delta": 1e-6}
    with so.table(columns, unit="row", types={"ward": "text"}, currency="gdp", **terms) as data:  # type: ignore[arg-type]
        answer = data.ask("SELECT ward, COUNT(*) AS n FROM data GROUP BY ward", epsilon=1)
        assert sorted(map(str, answer["ward"])) == ["north", "south"]
        assert 5e-8 <= answer.charge.slack < 5.0001e-8
        assert "for keys" in str(answer)


def test_the_database_interface_pays_in_gdp(tmp_path: Path) -> None:
    path = clinic(tmp_path, budget=stated("gdp"))
    with dbapi.connect(path, epsilon=0.2) as connection:
        cursor = connection.cursor()
        cursor.execute(SQL)
        assert len(cursor.fetchall()) == 1
        (left,) = connection.session.budget
        assert left.left.currency.kind == "gdp"
        assert 0 < left.left.nanos < left.cap.nanos


def test_a_question_that_is_too_dear_says_what_would_fit(tmp_path: Path) -> None:
    with so.open(clinic(tmp_path, budget=stated("gdp"))) as data:
        told = data.explain(SQL, epsilon=3)
        assert "this costs more than the whole budget" in told.warnings
        with pytest.raises(BudgetExceeded, match="or Gaussian noise of sigma"):
            data.ask(SQL, epsilon=3)
        assert "budget" not in " ".join(data.explain(SQL, epsilon=0.5).warnings)
