# SPDX-License-Identifier: Apache-2.0
"""The documentation runs, and every page can be found."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from sordino.cli.main import app
from sordino.remote import profiles
from tests.house.tree import PAGES, ROOT, SCRIPT, SOURCES, name_of
from tests.support.servers import serving

SERVED = {"remote.md"}  # pages that ask a server
README = ROOT / "README.md"
INDEX = ROOT / "docs" / "index.md"
FENCE = re.compile(r"^( *)```([\w-]*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


class Block(NamedTuple):
    language: str
    line: int
    text: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    return [
        Block(match[2], text.count("\n", 0, match.start()) + 2, match[3])
        for match in FENCE.finditer(text)
    ]


def links(page: Path) -> list[Path]:
    """The local files a page links to."""
    targets = [target.partition("#")[0] for target in LINK.findall(page.read_text("utf-8"))]
    return [(page.parent / target).resolve() for target in targets if target and ":" not in target]


def commands(block: Block) -> list[str]:
    """The commands of a block; activating an environment and starting a shell are left out."""
    lines = [line.removeprefix("$ ") for line in block.text.splitlines() if line.startswith("$ ")]
    return [line for line in lines if line != "python" and not line.startswith(". ")]


RUNNING = [
    page for page in PAGES if any(block.language in ("python", "console") for block in blocks(page))
]


def run_installed(command: str) -> None:
    """Run a command as it is typed, by the script that is installed."""
    path = f"{SCRIPT.parent}{os.pathsep}{os.environ['PATH']}"
    arguments = shlex.split(command)
    done = subprocess.run(
        arguments, env=os.environ | {"PATH": path}, capture_output=True, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stderr.decode()}"


def run_here(command: str) -> None:
    """Run a command in this process, which has loaded what every command would load again."""
    script, *arguments = shlex.split(command)
    assert script == SCRIPT.name
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, f"{command}: {done.output}{done.exception!r}"


def test_the_readme_shows_python_sql_and_commands() -> None:
    found = blocks(README)
    assert any(block.language == "python" and "SELECT" in block.text for block in found)
    assert any(commands(block) for block in found if block.language == "console")


@contextmanager
def surroundings(page: Path, folder: Path) -> Iterator[None]:
    """What a page supposes to be there: for some, a server with a profile of an analyst."""
    if page.name not in SERVED:
        yield
        return
    with pytest.MonkeyPatch.context() as patched, serving("--demo") as server:
        patched.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        patched.setenv("XDG_STATE_HOME", str(folder / "state"))
        profiles.keep(profiles.Profile("study", server.url, server.token("alice")))
        yield


@pytest.mark.parametrize("page", RUNNING, ids=name_of)
def test_the_blocks_of_a_page_run_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with surroundings(page, tmp_path):
        run_blocks(page, tmp_path)


def run_blocks(page: Path, tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")  # where the examples are
    namespace: dict[str, object] = {"__name__": "__main__"}
    run = run_installed if page == README else run_here
    for block in blocks(page):
        if block.language == "console":
            for command in commands(block):
                run(command)
        if block.language == "python":
            padded = "\n" * (block.line - 1) + block.text
            exec(compile(padded, name_of(page), "exec"), namespace)  # noqa: S102 - our own pages


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_fenced_block_says_what_it_is(page: Path) -> None:
    assert [block for block in blocks(page) if not block.language] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_local_link_leads_somewhere(page: Path) -> None:
    assert [name_of(target) for target in links(page) if not target.exists()] == []


def test_every_page_that_a_docstring_cites_exists() -> None:
    cited = [
        (name_of(source), page)
        for source in SOURCES
        for page in re.findall(r"docs/[\w/-]+\.md", source.read_text("utf-8"))
    ]
    assert cited
    assert [(source, page) for source, page in cited if not (ROOT / page).exists()] == []


def test_every_page_is_reached_from_the_index() -> None:
    reached, waiting = {INDEX}, [INDEX]
    while waiting:
        for target in links(waiting.pop()):
            if target.suffix == ".md" and target.exists() and target not in reached:
                reached.add(target)
                waiting.append(target)
    unreached = set((ROOT / "docs").rglob("*.md")) - reached
    assert sorted(map(name_of, unreached)) == []
