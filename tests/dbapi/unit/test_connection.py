# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import sordino as so
from sordino import dbapi
from sordino.errors import LedgerError, QueryError

COUNT = "SELECT COUNT(*) AS n FROM visits"
TOML = (Path(__file__).parents[2] / "fixtures" / "wards.toml").read_text("utf-8")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    rows = "".join(f"{k % 400},{'north' if k % 2 else 'south'}\n" for k in range(800))
    (tmp_path / "visits.csv").write_text(f"person,ward\n{rows}", "utf-8")
    catalog = tmp_path / "sordino.toml"
    catalog.write_text(TOML, "utf-8")
    return catalog


@pytest.fixture
def session() -> Iterator[so.Session]:
    columns = {"ward": ["north", "south"] * 400}
    with so.table(columns, name="visits", unit="row", types={"ward": "text"}, epsilon=4) as opened:
        yield opened


def left(connection: dbapi.Connection) -> str:
    return str(connection.session.budget[0].left)


def test_the_module_says_what_it_is() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 2, "qmark")
    for name in dbapi.__all__:
        assert hasattr(dbapi, name)


def test_a_catalog_is_opened_and_closed_again(place: Path) -> None:
    with dbapi.connect(place, epsilon=1) as connection:
        ((number,),) = connection.cursor().execute(COUNT).fetchall()
        assert isinstance(number, int)
        assert left(connection) == "epsilon 3"
    with pytest.raises(ValueError, match="closed"):
        connection.session.ask(COUNT, epsilon=1, fresh=True)


def test_the_catalog_is_by_default_in_the_current_folder(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place.parent)
    with dbapi.connect(who="alice") as connection:
        assert connection.session.who == "alice"


def test_what_was_spent_outlives_the_connection(place: Path) -> None:
    with dbapi.connect(place, epsilon=1) as connection:
        cursor = connection.cursor().execute(COUNT)
        first, receipt = cursor.fetchall(), cursor.answer.receipt
    with dbapi.connect(place, epsilon=1, receipt=receipt) as connection:
        assert left(connection) == "epsilon 3"
        assert connection.cursor().execute(COUNT).fetchall() == first
        assert left(connection) == "epsilon 3"


def test_a_ledger_without_a_charge_that_was_made_is_refused(place: Path) -> None:
    with dbapi.connect(place, ledger="memory", epsilon=1) as connection:
        receipt = connection.cursor().execute(COUNT).answer.receipt
    with pytest.raises(dbapi.OperationalError) as raised:
        dbapi.connect(place, receipt=receipt)
    assert isinstance(raised.value.__cause__, LedgerError)


def test_a_catalog_that_is_not_there_is_an_operational_error(tmp_path: Path) -> None:
    with pytest.raises(dbapi.OperationalError, match="there is no file"):
        dbapi.connect(tmp_path / "sordino.toml")


def test_a_session_that_is_given_stays_open(session: so.Session) -> None:
    with (
        dbapi.connect(session, epsilon=1) as dear,
        dbapi.connect(session, epsilon=0.25) as cheap,
    ):
        dear.cursor().execute(COUNT)
        cheap.cursor().execute(COUNT)
        assert left(dear) == left(cheap) == "epsilon 2.75"
    assert len(session.ask(COUNT, epsilon=1)) == 1


def test_a_session_that_is_given_has_its_analyst(session: so.Session) -> None:
    with pytest.raises(dbapi.ProgrammingError, match="has its analyst and its ledger already"):
        dbapi.connect(session, who="alice")


def test_an_argument_that_is_not_known_is_refused_at_once(session: so.Session) -> None:
    with pytest.raises(dbapi.ProgrammingError, match="'epsilom' is not known here"):
        dbapi.connect(session, epsilom=1)  # type: ignore[call-arg]  # the point of the test


def test_committing_does_nothing_and_rolling_back_is_refused(session: so.Session) -> None:
    connection = dbapi.connect(session, epsilon=1)
    connection.cursor().execute(COUNT)
    connection.commit()
    with pytest.raises(dbapi.NotSupportedError, match="no charge is ever taken back"):
        connection.rollback()
    assert left(connection) == "epsilon 3"


def test_a_closed_connection_refuses_everything_but_closing(session: so.Session) -> None:
    connection = dbapi.connect(session, epsilon=1)
    cursor = connection.cursor().execute(COUNT)
    connection.close()
    connection.close()
    for use in (
        connection.cursor,
        connection.commit,
        connection.rollback,
        cursor.fetchall,
        lambda: cursor.execute(COUNT, fresh=True),
    ):
        with pytest.raises(dbapi.InterfaceError, match="connection is closed"):
            use()
    assert left(connection) == "epsilon 3"


def test_a_budget_that_is_spent_is_an_operational_error(session: so.Session) -> None:
    cursor = dbapi.connect(session, epsilon=5).cursor()
    with pytest.raises(dbapi.OperationalError, match="this asks for epsilon 5, but epsilon 4"):
        cursor.execute(COUNT)
    assert cursor.description is None


def test_a_question_that_is_refused_costs_nothing(session: so.Session) -> None:
    connection = dbapi.connect(session, epsilon=1)
    with pytest.raises(dbapi.ProgrammingError, match="did you mean") as raised:
        connection.cursor().execute("SELECT COUNT(*) FROM visit")
    assert isinstance(raised.value.__cause__, QueryError)
    assert left(connection) == "epsilon 4"


def test_threads_share_a_connection_and_its_budget(session: so.Session) -> None:
    connection = dbapi.connect(session, epsilon=1)

    def ask(_: int) -> str:
        with connection.cursor() as cursor:
            try:
                return str(cursor.execute(COUNT, fresh=True).answer.price)
            except dbapi.OperationalError:
                return "refused"

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(ask, range(12)))
    assert sorted(found) == ["epsilon 1"] * 4 + ["refused"] * 8
    assert left(connection) == "epsilon 0"
