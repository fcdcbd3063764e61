# SPDX-License-Identifier: Apache-2.0
"""Starting up loads nothing heavy; ``make bench`` tells how long it takes."""

import subprocess
import sys

HEAVY = {
    "duckdb", "flint", "matplotlib", "numpy", "pandas", "polars", "pyarrow", "rich", "scipy",
    "sqlglot", "typer",
}  # fmt: skip


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


def test_a_client_loads_next_to_nothing() -> None:
    heavy = {"duckdb", "flint", "msgspec", "numpy", "pyarrow", "scipy", "sqlglot", "sqlite3"}
    made = "so.connect('https://study.example', token='sd_x')"
    assert loaded_by(f"import sordino as so; {made}") & heavy == set()
    assert loaded_by("import sordino.answer.render, sordino.remote.session") & heavy == set()
