# SPDX-License-Identifier: Apache-2.0
"""Sealed values are opened by the release, and by nobody else."""

import pickle
from pathlib import Path

import pytest

from sordino.catalog.model import Catalog, Column, ParquetFile, Table
from sordino.engine.sealed import Key, Sealed, take_key
from sordino.query.types import Type
from sordino.release.key import KEY
from sordino.release.rehearsal import rehearse
from tests.house.tree import SOURCES, name_of


def test_the_key_opens() -> None:
    assert Sealed([37]).open(KEY) == [37]


@pytest.mark.parametrize("key", [None, object(), "", Key()])
def test_nothing_but_the_key_opens(key: object) -> None:
    with pytest.raises(TypeError, match="opened by the release alone"):
        Sealed([37]).open(key)  # type: ignore[arg-type]  # the point of the test
    with pytest.raises(TypeError):
        Sealed([37]).open()  # type: ignore[call-arg]  # the point of the test


def test_the_key_is_taken_once_and_the_release_has_it() -> None:
    with pytest.raises(RuntimeError, match="has been taken"):
        take_key()


def test_the_key_is_named_in_the_release_alone() -> None:
    named = {name_of(path) for path in SOURCES if "release.key" in path.read_text("utf-8")}
    assert named
    assert all(name.startswith("src/sordino/release/") for name in named)
    taken = {name_of(path) for path in SOURCES if "take_key" in path.read_text("utf-8")}
    assert taken == {"src/sordino/engine/sealed.py", "src/sordino/release/key.py"}


def test_sealed_values_are_neither_shown_nor_written() -> None:
    assert repr(Sealed([37])) == str(Sealed([37])) == "<sealed>"
    with pytest.raises(TypeError, match="not written anywhere"):
        pickle.dumps(Sealed([37]))


def test_a_rehearsal_looks_at_no_table_that_lies_in_a_file(tmp_path: Path) -> None:
    table = Table(
        "t", ParquetFile(tmp_path / "t.parquet"), (Column("v", Type.INTEGER),), unit="row"
    )
    with pytest.raises(TypeError, match="only tables in memory"):
        rehearse(Catalog((table,)), {}, "SELECT COUNT(*) FROM t", epsilon=1)
