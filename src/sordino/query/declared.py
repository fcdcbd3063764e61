# SPDX-License-Identifier: Apache-2.0
"""Reading what an owner declares public off the data: it happens on the owner's word alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime
from pathlib import Path
from typing import Any

from sordino.errors import CatalogError
from sordino.query.arrow import plain, type_of
from sordino.query.names import about
from sordino.query.schemas import parquet_files
from sordino.query.types import Type, Value
from sordino.query.values import LONGEST_TEXT
from sordino.query.written import value

MOST_DISTINCT = 1000


def public_entry(name: str, kind: Type, columns: Iterable[Any]) -> str:
    """Return the bounds or the keys that the values of a column have, as TOML.

    Of several files there are several ``columns``, which may be of different types. Text has keys,
    all else has bounds. Empty if there are no values to tell them from.
    """
    with about(f"column {name!r}"):
        found = sorted({value for column in columns for value in _values(kind, column)})
    if kind is Type.BOOLEAN or not found:
        return ""
    if kind is Type.TEXT:
        if len(found) > MOST_DISTINCT:
            raise CatalogError(
                f"{name!r} has more than {MOST_DISTINCT:,} distinct values; list its keys yourself "
                "or leave it without"
            )
        return f"keys = [{', '.join(map(value, found))}]"
    low, high = found[0], found[-1]
    if kind.is_time:
        return f"bounds = [{low.year}, {high.year}]"
    return f"bounds = [{value(low)}, {value(high)}]" if low < high else ""


def parquet_values(path: Path, name: str) -> list[Any]:
    """Return a column of a Parquet file, or one for each file that a pattern matches."""
    import pyarrow as pa  # pyarrow is loaded only where files are read
    import pyarrow.parquet as pq

    try:
        return [pq.read_table(file, columns=[name]).column(0) for file in parquet_files(path)]
    except (OSError, pa.ArrowException, IndexError):
        raise CatalogError(f"column {name!r} of {str(path)!r} cannot be read") from None


def _values(kind: Type, column: Any) -> Iterable[Any]:
    """Return the distinct values of a column that are of a type."""
    import pyarrow.compute as pc  # pyarrow is loaded only where files are read

    if type_of(column.type) is Type.TEXT and kind is not Type.TEXT:
        texts = pc.unique(plain(column, Type.TEXT)).to_pylist()
        read = (_parsed(kind, text) for text in texts if text is not None)
    else:
        read = iter(pc.unique(plain(column, kind)).to_pylist())
    return {found for found in read if _is_fit(found)}


def _is_fit(found: Value) -> bool:
    if isinstance(found, str):
        return len(found) <= LONGEST_TEXT and "\0" not in found
    if isinstance(found, float):
        return abs(found) < 1e100  # infinities and NaN are not
    return found is not None


_PARSERS: dict[Type, Callable[[str], Value]] = {
    Type.INTEGER: int,
    Type.REAL: float,
    Type.DATE: date.fromisoformat,
    Type.TIMESTAMP: lambda text: datetime.fromisoformat(text).replace(tzinfo=None),
}


def _parsed(kind: Type, text: str) -> Value:
    parser = _PARSERS.get(kind)
    try:
        return None if parser is None else parser(text.strip())
    except ValueError:
        return None
