# SPDX-License-Identifier: Apache-2.0
"""No file names a machine, and every locked file can be installed from anywhere."""

import re
from pathlib import Path

import pytest

from tests.house.tree import ROOT, name_of, own_files

# Written in pieces, so that this file does not contain what it looks for.
FORBIDDEN = re.compile(
    "|".join(
        [
            "/(?:" + "|".join(["wor" + "k", "roo" + "t", "far" + "m", "opt/" + "pypi"]) + ")/",
            "pythonhos" + "ted",
            "pypi" + r"\.org",
            "npm" + r"js\.",
            "index" + "-url",
            "find" + "-links",
        ]
    )
)
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


def text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        return ""


@pytest.mark.parametrize(
    "line",
    ["see /" + "work/x", "--extra-index" + "-url x", "https://files.pythonhos" + "ted.org/x"],
)
def test_a_machine_path_or_a_registry_is_recognised(line: str) -> None:
    assert FORBIDDEN.search(line)


def test_no_file_names_a_machine_or_a_registry() -> None:
    files = own_files()
    assert ROOT / "README.md" in files
    found = {name_of(path): FORBIDDEN.search(text_of(path)) for path in files}
    assert {name: match[0] for name, match in found.items() if match} == {}


@pytest.mark.parametrize("path", LOCKS, ids=name_of)
def test_every_locked_library_has_one_version_and_hashes(path: Path) -> None:
    entries = re.split(r"\n(?=\S)", path.read_text("utf-8").strip())
    entries = [entry for entry in entries if not entry.startswith("#")]
    assert len(entries) > 5 or path.stem == "spark-server"
    for entry in entries:
        assert re.match(r"[a-z0-9-]+==[\w.]+( ; .*)? \\\n    --hash=sha256:", entry), entry
        assert "://" not in entry


def test_the_locks_agree_where_they_overlap() -> None:
    """They name the same versions; on which platforms one is needed depends on what needs it."""
    runtime, *others = (
        set(re.findall(r"(?m)^\S+==\S+", (ROOT / "requirements" / name).read_text("utf-8")))
        for name in ("runtime.txt", "plot.txt", "dev.txt", "server.txt", "bench.txt")
    )
    assert runtime
    for pinned in others:
        assert runtime <= pinned
