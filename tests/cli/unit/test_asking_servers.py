# SPDX-License-Identifier: Apache-2.0
"""Commands that ask a server in place of a catalog."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import sordino as so
from sordino.remote import profiles
from tests.cli.unit.conftest import Run
from tests.support.remotes import Server

SQL = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
HERE = ("--server", "here")


@pytest.fixture(scope="module")
def house() -> Iterator[Server]:
    with Server() as started:
        yield started


@pytest.fixture
def token(
    house: Server, clinic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The token of ann, whose server has the clinic; it is in no profile yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with so.open(clinic / "sordino.toml") as session:
        house.serve(session)
        yield house.token("ann")


@pytest.fixture
def here(house: Server, token: str) -> str:
    profiles.keep(profiles.Profile("here", house.url, token))
    return token


def test_login_tries_a_token_and_keeps_it(house: Server, token: str, run: Run) -> None:
    done = run("login", house.url, "--name", "here", typed=f"{token}\n")
    assert done.exit_code == 0, done.output
    assert "ann may ask" in done.stdout
    assert token not in done.output
    assert profiles.profile("here").token == token
    assert run("ask", SQL, "--epsilon", "1", *HERE).exit_code == 0
    wrong = run("login", house.url, "--name", "other", typed="sd_wrong\n")
    assert (wrong.exit_code, "needs a token that is known" in wrong.stderr) == (2, True)
    assert "other" not in profiles.profiles()


def test_login_takes_a_password_for_a_token_of_some_hours(
    house: Server, token: str, run: Run
) -> None:
    assert house.keeper is not None
    house.keeper.people.put("bob", ["analyst"], by="test", password="correct horse battery")  # noqa: S106
    done = run("login", house.url, "--user", "bob", "--json", typed="correct horse battery\n")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["who"], told["name"]) == ("bob", "127.0.0.1")
    kept = profiles.profile("127.0.0.1")
    assert kept.token not in (token, "")
    assert kept.token not in done.output
    wrong = run("login", house.url, "--user", "bob", typed="wrong horse battery\n")
    assert "do not belong together" in wrong.stderr


@pytest.mark.usefixtures("here")
def test_a_question_is_explained_asked_and_found_again(run: Run) -> None:
    price = run("explain", SQL, "--epsilon", "1", *HERE)
    assert "epsilon 1; the whole budget is" in price.stdout
    assert "columns_of_answer" in json.loads(
        run("explain", SQL, "--epsilon", "1", *HERE, "--json").stdout
    )
    first = run("ask", SQL, "--epsilon", "1", *HERE, "--csv", "answer.csv")
    assert first.exit_code == 0, first.output
    assert "north" in first.stdout
    assert Path("answer.csv").read_text("utf-8").startswith("ward,n,n_half_width,n_low,n_high\n")
    again = json.loads(run("ask", SQL, "--epsilon", "1", *HERE, "--json").stdout)
    assert (again["again"], again["price"], again["who"]) == (True, "epsilon 1", "ann")
    assert "left" in run("budget", *HERE).stdout
    assert json.loads(run("budget", *HERE, "--json").stdout)["who"] == "ann"
    listed = run("history", *HERE)
    assert "charge of epsilon 1" in listed.stdout
    assert "answer to 2: SELECT ward" in listed.stdout
    assert listed.stdout.split("\n")[0].split() == ["number", "when", "who", "what"]
    charge, answer = json.loads(run("history", *HERE, "--json", "--last", "2").stdout)
    assert (charge["kind"], answer["kind"]) == ("charge", "answer")


@pytest.mark.usefixtures("here")
def test_the_environment_can_name_the_server(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SORDINO_SERVER", "here")
    assert json.loads(run("ask", SQL, "--epsilon", "1", "--json").stdout)["who"] == "ann"


@pytest.mark.usefixtures("here")
def test_errors_are_those_of_asking_at_home(run: Run) -> None:
    for words, code, said in (
        (("SELECT COUNT(wrad) FROM visits", "--epsilon", "1"), 2, "did you mean ward?"),
        ((SQL, "--epsilon", "1e6"), 3, "is left"),
        ((SQL,), 2, "say what the answer may cost"),
    ):
        done = run("ask", *words, *HERE)
        assert (done.exit_code, said in done.stderr) == (code, True), done.stderr
    told = json.loads(run("ask", SQL, "--epsilon", "1e6", *HERE, "--json").stderr)
    assert told["code"] == "budget_exceeded"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--catalog", "other.toml"), "ask a server or a catalog"),
        (("--who", "bob"), "leave out --who"),
        (("--receipt", "people:1:" + "0" * 64), "leave out --receipt"),
        (("--csv", "nowhere/answer.csv"), "there is no folder"),
    ],
)
def test_what_has_no_meaning_there_is_refused(words: tuple[str, ...], said: str, run: Run) -> None:
    done = run("ask", SQL, "--epsilon", "1", *HERE, *words)
    assert (done.exit_code, said in done.stderr) == (2, True), done.stderr


def test_a_server_without_a_profile_says_how_to_get_one(run: Run, tmp_path: Path) -> None:
    done = run("ask", SQL, "--epsilon", "1", "--server", "https://nobody.example")
    assert "keep one with 'sordino login'" in done.stderr
    assert not (tmp_path / "state").exists()


@pytest.mark.usefixtures("here")
def test_a_prompt_asks_a_server(run: Run) -> None:
    typed = f"{SQL};\n\\tables\n\\budget\n\\history 2\n\\who\n\\who bob\n\\fresh\nSELECT x;\n"
    done = run("repl", *HERE, "--epsilon", "1", "--yes", typed=typed)
    assert done.exit_code == 2, done.output  # for who cannot be changed
    for said in ("north", "ward text, 2 keys", "charge of epsilon 1", "ann is charged"):
        assert said in done.stdout, said
    assert "log in as somebody else" in done.stderr
    answers = run("repl", *HERE, "--epsilon", "1", "--yes", "--json", typed=f"{SQL}\n")
    assert json.loads(answers.stdout)["again"]
    assert "charge of epsilon 1" in run("history", *HERE).stdout
