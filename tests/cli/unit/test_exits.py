# SPDX-License-Identifier: Apache-2.0
"""Each kind of error has its exit code and one shape as JSON, and the help tells the codes."""

import json
from pathlib import Path

import pytest
import typer

from sordino.cli.usage import MEANINGS, code_of, refusals
from sordino.errors import (
    BudgetExceeded,
    CatalogError,
    LedgerError,
    QuestionTooDear,
    SealedError,
    UnknownName,
)
from sordino.session.service import error_to_json

ERRORS = [
    (SealedError(), 1, "sealed"),
    (CatalogError("x"), 2, "catalog"),
    (UnknownName("unknown_column", "x", hint="y"), 2, "unknown_column"),
    (ValueError("x"), 2, "argument"),
    (TypeError("x"), 2, "argument"),
    (BudgetExceeded("a", "b", "c"), 3, "budget_exceeded"),
    (QuestionTooDear("a", "b"), 3, "question_too_dear"),
    (LedgerError("x"), 4, "ledger"),
]


@pytest.mark.parametrize(("error", "code", "name"), ERRORS, ids=str)
def test_an_error_has_one_code_and_one_shape(
    error: Exception, code: int, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(error) == code
    told = error_to_json(error)
    assert told["code"] == name
    assert list(told) == ["code", "message", "why", "hint", "span"]
    for as_json, said in ((False, f"sordino: {error}\n"), (True, json.dumps(told) + "\n")):
        with pytest.raises(typer.Exit) as left, refusals(as_json=as_json):
            raise error
        assert left.value.exit_code == code
        assert capsys.readouterr() == ("", said)


def test_a_mistake_of_our_own_is_not_taken_for_one_of_the_user() -> None:
    with pytest.raises(RuntimeError), refusals():
        raise RuntimeError("a mistake")


def test_the_page_on_commands_has_every_code() -> None:
    page = Path(__file__).parents[3] / "docs" / "commands.md"
    text = page.read_text("utf-8")
    for code in (0, 1, 2, 3, 4, 130):
        assert f"{code} " in MEANINGS
        assert f"\n| {code} | " in text
