# SPDX-License-Identifier: Apache-2.0
"""Lock files: every extra has one, no address is in them, and they keep to the stated bounds."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
FILE = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = FILE["project"]
ALONE = {"spark-server": FILE["dependency-groups"]["spark-server"]}  # without what sordino needs
BOUNDED = ("duckdb", "numpy", "pyarrow", "python-flint", "scipy", "sqlglot")


def pinned(lock: Path) -> dict[str, set[Version]]:
    """Return the versions that a file locks, by the name of the library."""
    found: dict[str, set[Version]] = {}
    for name, version in re.findall(
        r"^([a-z0-9-]+)==([^ ;]+)", lock.read_text("utf-8"), re.MULTILINE
    ):
        found.setdefault(name, set()).add(Version(version))
    return found


def test_every_extra_and_what_everybody_needs_is_locked() -> None:
    assert {lock.stem for lock in LOCKS} == {
        "runtime",
        *PROJECT["optional-dependencies"],
        *ALONE,
    }


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_lock_holds_no_address_and_a_hash_for_every_library(lock: Path) -> None:
    text = lock.read_text("utf-8")
    assert not re.search(r"://|^-|@", text, re.MULTILINE)
    entries = re.split(r"\n(?=\S)", text.split("make lock\n", 1)[1].strip())
    assert len(entries) > 20 or len(entries) == len(ALONE[lock.stem])
    assert all("--hash=sha256:" in entry for entry in entries)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_lock_keeps_to_the_stated_bounds(lock: Path) -> None:
    more = PROJECT["optional-dependencies"].get(lock.stem, ())
    stated = ALONE.get(lock.stem) or [*PROJECT["dependencies"], *more]
    versions = pinned(lock)
    for line in stated:
        wanted = Requirement(line)
        assert versions[wanted.name]
        assert all(version in wanted.specifier for version in versions[wanted.name]), line


def test_libraries_that_could_break_a_promise_have_an_upper_bound() -> None:
    stated = {one.name: one for one in map(Requirement, PROJECT["dependencies"])}
    psycopg = Requirement(PROJECT["optional-dependencies"]["postgres"][0])
    for one in (*(stated[name] for name in BOUNDED), psycopg):
        assert any(spec.operator == "<" for spec in one.specifier), one
    assert Version("2.1") not in stated["duckdb"].specifier
