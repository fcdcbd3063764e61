# SPDX-License-Identifier: Apache-2.0
"""`sordino people` and `sordino token`, against a running server."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner, Result

from sordino.cli.main import app
from tests.support.servers import RunningServer


def run(
    demo: RunningServer, token: Path | None, *words: str, typed: str | None = None, **variables: str
) -> Result:
    named = [] if token is None else ["--token-file", str(token)]
    command = [*words, "--state", str(demo.state), *named]
    return CliRunner().invoke(app, command, input=typed, env=variables)


def made(demo: RunningServer, token: Path, *words: str, typed: str | None = None) -> Any:
    done = run(demo, token, *words, "--json", typed=typed)
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def me(demo: RunningServer, secret: str) -> httpx.Response:
    return httpx.get(f"{demo.url}/v1/me", headers={"Authorization": f"Bearer {secret}"})


def test_people_come_get_roles_and_tokens_and_go(demo: RunningServer, owners: Path) -> None:
    added = made(demo, owners, "people", "add", "carol", "--role", "analyst", "--role", "approver")
    assert added["roles"] == ["analyst", "approver"]
    token = made(
        demo, owners, *("token", "make", "carol", "--scope", "price", "--scope", "ask"),
        *("--cap", "0.5", "--table", "visits", "--note", "notebook", "--days", "7"),
    )  # fmt: skip
    told = me(demo, token["secret"]).json()
    assert told["name"] == "carol"
    assert told["scopes"] == ["ask", "price"]
    assert told["cap_nanos"] == 500_000_000
    assert told["tables"] == ["visits"]
    listed = made(demo, owners, "token", "list")
    assert token["id"] in {one["id"] for one in listed}
    assert token["secret"] not in json.dumps(listed)
    done = run(demo, owners, "token", "list", COLUMNS="200")
    assert "notebook" in done.stdout
    row = next(line for line in done.stdout.splitlines() if "notebook" in line)
    assert " ".join(row.split()).startswith(f"{token['id']} carol ask price of visits 0 of 0.5 ")
    assert "no cap" in done.stdout  # the owner's own
    assert made(demo, owners, "token", "revoke", token["id"]) == {"id": token["id"]}
    assert me(demo, token["secret"]).status_code == 401
    done = run(demo, owners, "people", "list")
    assert "carol" in done.stdout
    made(demo, owners, "people", "dismiss", "carol")
    gone = next(one for one in made(demo, owners, "people", "list") if one["name"] == "carol")
    assert gone["ended"] is not None


def test_a_password_is_read_from_standard_input(demo: RunningServer, owners: Path) -> None:
    words = ("people", "add", "dora", "--role", "auditor", "--password")
    made(demo, owners, *words, typed="correct horse battery\n")
    body = {"name": "dora", "password": "correct horse battery"}
    logged_in = httpx.post(f"{demo.url}/v1/sessions", json=body, timeout=60)
    assert logged_in.status_code == 201
    made(demo, owners, "people", "password", "dora", typed="another horse battery\n")
    assert httpx.post(f"{demo.url}/v1/sessions", json=body, timeout=60).status_code == 401
    done = run(demo, owners, "people", "password", "dora", typed="")
    assert done.exit_code == 2
    assert "nothing came" in done.stderr


def test_ones_own_token_may_be_made_and_listed(demo: RunningServer) -> None:
    alice = demo.token("alice")
    done = run(demo, None, "token", "list", "--json", SORDINO_TOKEN=alice)
    assert {one["who"] for one in json.loads(done.stdout)} == {"alice"}
    done = run(demo, None, "people", "list", SORDINO_TOKEN=alice)
    assert done.exit_code == 2
    assert "this token may not do that" in done.stderr


def test_a_token_file_that_others_can_read_is_refused(demo: RunningServer, owners: Path) -> None:
    owners.chmod(0o644)
    done = run(demo, owners, "people", "list")
    assert done.exit_code == 2
    assert "others can read" in done.stderr


def test_without_a_token_it_says_where_to_put_one(demo: RunningServer) -> None:
    done = run(demo, None, "people", "list", SORDINO_TOKEN="")
    assert done.exit_code == 2
    assert "SORDINO_TOKEN" in done.stderr


@pytest.mark.parametrize("words", [("people", "list"), ("metrics",)])
def test_without_a_server_it_says_how_to_start_one(tmp_path: Path, words: tuple[str, ...]) -> None:
    command = [*words, "--state", str(tmp_path), "--json"]
    done = CliRunner().invoke(app, command, env={"SORDINO_TOKEN": "sd_x"})
    assert done.exit_code == 2
    told = json.loads(done.stderr)
    assert told["code"] == "server"
    assert "no server is running" in told["message"]


def test_words_that_the_server_does_not_know_are_named(demo: RunningServer, owners: Path) -> None:
    for words, said in (
        (("people", "add", "eve", "--role", "boss"), "there is no role 'boss'; there are analyst"),
        (("token", "make", "alice", "--scope", "al"), "there is no scope 'al'; there are price"),
    ):
        done = run(demo, owners, *words)
        assert done.exit_code == 2
        assert said in done.stderr


def test_what_a_token_may_still_spend_stands_below_the_budget(
    demo: RunningServer, owners: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    capped = made(demo, owners, "token", "make", "alice", "--cap", "0.25")["secret"]
    words = ("login", demo.url, "--name", "capped")
    done = CliRunner().invoke(app, words, input=f"{capped}\n")
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""  # nothing is prompted where nobody sits
    done = CliRunner().invoke(app, ("budget", "--server", "capped"))
    assert "this token: epsilon 0.25 of epsilon 0.25 left" in done.stdout
    done = CliRunner().invoke(app, words, input="")
    assert done.exit_code == 2
    assert "a token is read from standard input, and nothing came" in done.stderr
