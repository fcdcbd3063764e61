# SPDX-License-Identifier: Apache-2.0
import pytest
from typer.testing import CliRunner

import sordino
from sordino.cli.main import app


def output(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_version_is_the_version_of_the_package() -> None:
    assert output("--version") == f"sordino {sordino.__version__}\n"


def test_the_help_names_every_command() -> None:
    assert "demo" in output("--help")


def test_the_demo_prints_its_page() -> None:
    assert "all of it, added up" in output("demo")


@pytest.mark.parametrize("arguments", [["nonsense"], ["demo", "--seed", "1"]])
def test_unknown_words_are_refused(arguments: list[str]) -> None:
    assert CliRunner().invoke(app, arguments).exit_code == 2
