# SPDX-License-Identifier: Apache-2.0
"""Starting up is fast and loads nothing heavy."""

import subprocess
import sys
from time import perf_counter

import pytest

from tests.house.tree import SCRIPT

HEAVY = {
    "duckdb", "flint", "matplotlib", "numpy", "pandas", "polars", "pyarrow", "rich", "scipy",
    "sqlglot", "typer",
}  # fmt: skip
COMMANDS = {
    "import sordino": [sys.executable, "-c", "import sordino"],
    "sordino --help": [str(SCRIPT), "--help"],
}


def loaded_by(statement: str) -> set[str]:
    script = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_the_package_loads_no_heavy_library() -> None:
    assert loaded_by("import sordino") & HEAVY == set()


def test_the_mechanisms_do_not_load_what_draws_or_prints() -> None:
    loaded = loaded_by("import sordino; sordino.Laplace")
    assert "numpy" in loaded
    assert loaded & {"matplotlib", "pandas", "polars", "rich", "scipy", "typer"} == set()


def test_the_command_line_is_ready_before_the_mechanisms_are() -> None:
    assert loaded_by("import sordino.cli.main") & (HEAVY - {"typer", "rich"}) == set()


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_starting_takes_less_than_four_tenths_of_a_second(command: list[str]) -> None:
    times = []
    for _ in range(5):
        began = perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        times.append(perf_counter() - began)
    assert min(times) < 0.4
