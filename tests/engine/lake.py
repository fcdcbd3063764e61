# SPDX-License-Identifier: Apache-2.0
"""Frames stored as Parquet beside a real Spark server, and engines that read them there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sordino.catalog.model import Catalog, Frame, SparkTable
from sordino.engine.compile.dialect import Scope, Writer, select
from sordino.engine.spark.connection import Connection
from sordino.engine.spark.dialect import SPARK
from sordino.engine.spark.engine import SparkEngine
from sordino.query.tree import Field, Scalar
from sordino.query.types import ARROW_TYPES
from tests.engine.poison import fields_of
from tests.support.spark import shared

_places = count()
_AT_ONCE = 40  # expressions in one statement


def folder() -> Path:
    """Return an empty folder that the server reads."""
    made = shared().folder / "held" / f"{id(_places)}-{next(_places)}"
    made.mkdir(parents=True)
    return made


class Lake(SparkEngine):
    """A Spark engine on the frames of a catalog, whose rows can be exchanged."""

    def __init__(
        self, catalog: Catalog, *, threads: int | None = None, version: str | None = None
    ) -> None:
        del threads
        address, place = shared().address, folder()
        self._folders: dict[str, Path] = {}
        tables = []
        for number, table in enumerate(catalog.tables):
            if not isinstance(table.source, Frame):
                raise TypeError("only frames are stored")
            self._folders[table.name] = place / f"t{number}"
            self._folders[table.name].mkdir()
            self.swap(table.name, table.source.table)
            source = SparkTable(address, str(self._folders[table.name]), "parquet", version)
            tables.append(replace(table, source=source))
        super().__init__(replace(catalog, tables=tuple(tables)), address)

    def swap(self, table: str, frame: pa.Table) -> None:
        """Put other rows in the place of a table."""
        for file in self._folders[table].iterdir():
            file.unlink()
        pq.write_table(frame, self._folders[table] / f"rows{next(_places)}.parquet")


class LakeLab:
    """Where expressions are computed on rows by Spark: many in one statement."""

    dialect = SPARK

    def __init__(self, every: Iterable[Scalar]) -> None:
        self._connection = Connection(shared().address)
        self._folder = folder()
        self._every: dict[tuple[Field, ...], list[Scalar]] = {}
        for scalar in every:
            self._every.setdefault(tuple(fields_of(scalar)), []).append(scalar)
        self._values: dict[int, list[Any]] = {}

    def computed(
        self, scalar: Scalar, fields: list[Field], rows: list[tuple[Any, ...]]
    ) -> list[Any]:
        """Return the value of a scalar on each row, as the engine has it."""
        alike = self._every[tuple(fields)]
        place = next(place for place, other in enumerate(alike) if other == scalar)
        key = hash((tuple(fields), place))
        if key not in self._values:
            first = place - place % _AT_ONCE
            few = alike[first : first + _AT_ONCE]
            for offset, values in enumerate(self._together(few, fields, rows)):
                self._values[hash((tuple(fields), first + offset))] = values
        return self._values[key]

    def _together(
        self, scalars: list[Scalar], fields: list[Field], rows: list[tuple[Any, ...]]
    ) -> list[list[Any]]:
        columns = {
            field.name: pa.array([row[place] for row in rows], ARROW_TYPES[field.type])
            for place, field in enumerate(fields)
        }
        file = self._folder / f"rows{next(_places)}.parquet"
        pq.write_table(pa.table({"row": pa.array(range(len(rows)), pa.int64()), **columns}), file)
        self._connection.view("t", self._connection.session.read.parquet(str(file)))
        writer = Writer(SPARK)
        scope = Scope(writer, {name: f"`{name}`" for name in columns})
        texts = [scope.scalar(scalar).text for scalar in scalars]
        named = [f"{text} AS v{place}" for place, text in enumerate(texts)]
        sql, bound, _ = writer.statement(select(["`row`", *named], scope.source("t")))
        found = self._connection.rows(sql, bound).sort_by("row")
        return [found.column(f"v{place}").to_pylist() for place in range(len(scalars))]

    def close(self) -> None:
        self._connection.close()
