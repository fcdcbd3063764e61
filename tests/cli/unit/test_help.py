# SPDX-License-Identifier: Apache-2.0
"""Every command and every option says what it is for, and --json is nearly everywhere."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from sordino.cli.main import app


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    below = getattr(command, "commands", None)
    if below is None:
        yield name, command
        return
    for word, one in below.items():
        yield from commands(one, f"{name} {word}".strip())


ALL = dict(commands(get_command(app), ""))


def test_every_command_is_known() -> None:
    assert sorted(ALL) == [
        *("account", "ask", "audit", "backup", "budget", "catalog check", "catalog swap", "check"),
        *("choose", "demo", "explain", "history", "init", "journal"),
        *("ledger amend", "ledger export", "ledger verify"),
        *("local best", "local encode", "local estimate", "log", "login", "metrics"),
        *("people add", "people dismiss", "people list", "people password", "repl"),
        *("request list", "request send", "request show", "request vote", "request withdraw"),
        *("restore", "serve", "token list", "token make", "token revoke"),
    ]


@pytest.mark.parametrize("name", ALL)
def test_every_option_says_what_it_is_for(name: str) -> None:
    command = ALL[name]
    assert re.fullmatch(r"[A-Z][^\n]{10,90}\.", command.help or "")
    for parameter in command.params:
        told = getattr(parameter, "help", None)
        assert told, f"{name}: {parameter.name} has no help"
        assert told.endswith(".")


@pytest.mark.parametrize("name", ALL)
def test_every_command_speaks_json_but_for_the_export_which_always_does(name: str) -> None:
    options = {word for parameter in ALL[name].params for word in parameter.opts}
    assert ("--json" in options) is (name != "ledger export")


@pytest.mark.parametrize("name", ALL)
def test_the_help_of_a_command_is_plain_text(name: str) -> None:
    done = CliRunner().invoke(app, [*name.split(), "--help"])
    assert done.exit_code == 0
    assert "\x1b" not in done.output
    assert max(map(len, done.output.splitlines())) <= 80


def test_the_help_tells_the_exit_codes() -> None:
    text = " ".join(CliRunner().invoke(app, ["--help"]).output.split())
    assert "3 the budget says no; 4 the ledger cannot be used" in text
