# SPDX-License-Identifier: Apache-2.0
"""`sordino request`, `catalog` and `journal`, over HTTP and at the socket of a server."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from sordino.cli.main import app
from sordino.remote import profiles
from tests.support.servers import RunningServer

SQL = "SELECT AVG(cost) AS cost FROM visits"
Run = Callable[..., Result]


@pytest.fixture(params=["http", "socket"])
def run(
    request: pytest.FixtureRequest,
    demo: RunningServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """Run a command as somebody: by a profile, or by a file with the token."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("COLUMNS", raising=False)
    over_http = request.param == "http"

    def command(who: str, *words: str) -> Result:
        secret = demo.token(who)
        if over_http:
            profiles.keep(profiles.Profile(who, demo.url, secret))
            return CliRunner().invoke(app, [*words, "--server", who])
        file = tmp_path / f"{who}.token"
        file.write_text(secret, "utf-8")
        file.chmod(0o600)
        return CliRunner().invoke(
            app, [*words, "--state", str(demo.state), "--token-file", str(file)]
        )

    return command


def said(done: Result, code: int = 0) -> str:
    assert done.exit_code == code, done.output
    return done.stdout


def made(done: Result) -> Any:
    return json.loads(said(done))


def test_a_dear_question_is_sent_shown_voted_on_and_listed(run: Run) -> None:
    words = ("request", "send", SQL, "--epsilon", "1.25", "--comment", "for the \x1b[31mreport")
    request = made(run("alice", *words, "--json"))
    number = str(request["number"])
    assert (request["state"], request["question"]["epsilon"]) == ("sent", "1.25")
    assert f"request {number} was sent" in said(run("alice", *words))  # and is the same one
    shown = said(run("owner", "request", "show", number))
    for text in (
        f"{number} of alice, sent; needs 1 vote",
        "epsilon 1.25",
        SQL,
        "for the ",
        "Laplace",
    ):
        assert text in shown, text
    assert "\x1b" not in shown
    assert made(run("owner", "request", "show", number, "--json"))["number"] == int(number)
    done = run("alice", "request", "vote", number, "approve")
    assert "this token may not do that" in done.stderr
    done = run("owner", "request", "vote", number, "maybe")
    assert (done.exit_code, "approve, deny, return" in done.stderr) == (2, True)
    voted = run("owner", "request", "vote", number, "deny", "--comment", "ask within 5%")
    assert said(voted) == f"request {number} is denied\n"
    shown = said(run("alice", "request", "show", number))
    assert "deny ask within 5%" in shown
    assert f"{number} of alice, denied\n" in shown
    denied = made(run("alice", "request", "list", "--only", "denied", "--json"))
    assert int(number) in [one["number"] for one in denied]
    listed = said(run("owner", "request", "list"))
    line = next(one for one in listed.splitlines() if one.startswith(f"{number} "))
    assert line.split()[1:5] == ["denied", "alice", "epsilon", "1.25"]
    assert "\x1b" not in listed
    assert run("bob", "request", "show", number).exit_code == 2
    assert "--epsilon 0.5" in run("alice", "request", "send", SQL).stderr
    cheap = run("alice", "request", "send", SQL, "--epsilon", "0.1")
    assert "needs no approval" in cheap.stderr


def test_an_approved_question_is_asked(run: Run, request: pytest.FixtureRequest) -> None:
    price = "1.5" if "http" in request.node.name else "1.625"
    number = str(made(run("bob", "request", "send", SQL, "--epsilon", price, "--json"))["number"])
    assert run("owner", "request", "vote", number, "approve").stdout.endswith("is approved\n")
    if "http" in request.node.name:
        assert made(run("bob", "ask", SQL, "--epsilon", price, "--json"))["price"] == "epsilon 1.5"
        assert "answer" in said(run("bob", "request", "show", number))
    else:
        withdrawn = run("bob", "request", "withdraw", number)
        assert said(withdrawn) == f"request {number} is withdrawn\n"


def test_a_catalog_is_checked_and_swapped_and_the_journal_tells(
    run: Run, demo: RunningServer, tmp_path: Path
) -> None:
    served = Path(demo.told["catalog"])
    draft = tmp_path / "draft.toml"
    draft.write_text(served.read_text("utf-8") + "\n# another line\n", "utf-8")
    told = said(run("owner", "catalog", "check", str(draft)))
    assert told == "no table and no limit is another one\n"
    swapped = made(run("owner", "catalog", "swap", str(draft), "--why", "a line more", "--json"))
    assert swapped["entries"] == []
    assert served.read_text("utf-8") == draft.read_text("utf-8")
    again = said(run("owner", "catalog", "swap", "--why", "the same"))
    assert again.startswith(f"the server serves {swapped['generation']}\n")
    steps = made(run("ada", "journal", "--last", "2", "--json"))
    assert [step["about"].partition(": ")[2] for step in steps] == ["a line more", "the same"]
    shown = said(run("ada", "journal", "--last", "1")).splitlines()
    assert len(shown) == 2  # the titles, and one step
    assert shown[1].endswith(f"owner   catalog   {swapped['generation']}: the same")
    assert run("alice", "journal").exit_code == 2
    draft.write_text(draft.read_text("utf-8").replace("[server]", "[sevrer]"), "utf-8")
    wrong = run("owner", "catalog", "check", str(draft))
    assert "sevrer" in said(wrong, 1)
    assert run("owner", "catalog", "swap", str(draft), "--why", "wrong").exit_code == 2
    gone = run("owner", "catalog", "check", str(tmp_path / "gone.toml"))
    assert (gone.exit_code, "cannot be read" in gone.stderr) == (2, True)


def test_a_server_has_one_way_to_it(demo: RunningServer) -> None:
    words = ["journal", "--server", "here", "--state", str(demo.state)]
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, "leave out --server" in done.stderr) == (2, True)
