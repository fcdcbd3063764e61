# SPDX-License-Identifier: Apache-2.0
"""What the first rows of a CSV file look like: types, and how days and fractions are written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sordino.errors import CatalogError
from sordino.query.catalog import Column, CsvFile
from sordino.query.csv_files import read_blocks
from sordino.query.csv_times import pattern_of
from sordino.query.csv_values import TEXT, without
from sordino.query.malformed import Malformed
from sordino.query.missing import WORDS
from sordino.query.types import Type

_ROWS = 10_000  # that are looked at
_DOTTED = "%d.%m.%Y"  # no other way to write days is meant by one order alone
_INTEGER = "^ *([+-]?[1-9][0-9]{0,17}|0) *$"  # with leading zeros it is a code
_REAL = "^ *[+-]?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)? *$"
_COMMA = "^ *[+-]?(0|[1-9][0-9]*)(,[0-9]+)? *$"
_DAY = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_MOMENT = "^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?$"
_WORD = "^(?i:true|false|yes|no)$"
_PATTERNS = (  # the first that all values have
    (Type.INTEGER, _INTEGER),
    (Type.REAL, _REAL),
    (Type.BOOLEAN, _WORD),
    (Type.DATE, _DAY),
    (Type.TIMESTAMP, _MOMENT),
)


@dataclass(frozen=True, slots=True)
class Guess:
    """Types by column, and the file with the options that they need."""

    source: CsvFile
    types: dict[str, Type]


def guess(source: CsvFile, names: Iterable[str]) -> Guess:
    """Look at the first rows of a file; a column whose values are not alike is text.

    Words for a missing value are told if a column is of a type but for them.
    """
    listed = list(names)
    columns = _first_rows(source, listed)
    words = {name: _words_of(columns[name]) for name in listed}
    typed = _guess(source, listed, {name: without(columns[name], words[name]) for name in listed})
    absent = {word for name in listed if typed.types[name] is not Type.TEXT for word in words[name]}
    nulls = (*source.nulls, *(word for word in WORDS if word in absent))
    return replace(typed, source=replace(typed.source, nulls=nulls))


def _words_of(column: Any) -> list[str]:
    """Return the words for a missing value that a column has."""
    words = pa.array(WORDS, TEXT)
    present = pc.is_in(words, value_set=pc.unique(column))
    found: list[str] = words.filter(present).to_pylist()
    return found


def _guess(source: CsvFile, listed: list[str], columns: dict[str, Any]) -> Guess:
    types = {name: _type_of(columns[name]) for name in listed}
    dotted = [name for name in listed if _is_all(columns[name], pattern_of(_DOTTED))]
    if dotted and Type.DATE not in types.values():
        source = replace(source, date_format=_DOTTED)
        types |= dict.fromkeys(dotted, Type.DATE)
    commas = [
        name for name in listed if types[name] is Type.TEXT and _is_all(columns[name], _COMMA)
    ]
    if commas and Type.REAL not in types.values():
        source = replace(source, decimal=",")
        types |= dict.fromkeys(commas, Type.REAL)
    return Guess(source, types)


def column_of(source: CsvFile, name: str, kind: Type) -> Any:
    """Return the values of a column as text, for what the owner declares public."""
    column = Column(name, kind)
    try:
        parts = [block.texts[0].column for block in read_blocks(source, [column])]
    except Malformed as error:
        raise _unread(source, error) from None
    return pa.chunked_array(parts, TEXT)


def _first_rows(source: CsvFile, names: list[str]) -> dict[str, Any]:
    parts: list[list[Any]] = [[] for _ in names]
    rows = 0
    try:
        for block in read_blocks(source, [Column(name, Type.TEXT) for name in names]):
            for part, texts in zip(parts, block.texts, strict=True):
                part.append(texts.column)
                _check_readable(source, texts.unreadable)
            rows += len(block.lines)
            if rows >= _ROWS:
                break
    except Malformed as error:
        raise _unread(source, error) from None
    columns = (pa.chunked_array(part, TEXT).slice(0, _ROWS) for part in parts)
    return dict(zip(names, columns, strict=True))


def _check_readable(source: CsvFile, unreadable: Any) -> None:
    if np.any(unreadable):
        raise CatalogError(
            f"{str(source.path)!r} has values that are no text in {source.encoding}; say what its "
            "encoding is, as in --encoding cp1252"
        )


def _unread(source: CsvFile, error: Malformed) -> CatalogError:
    return CatalogError(f"{str(source.path)!r} is not well-formed: {error}; mend the file")


def _type_of(column: Any) -> Type:
    return next((kind for kind, pattern in _PATTERNS if _is_all(column, pattern)), Type.TEXT)


def _is_all(column: Any, pattern: str) -> bool:
    """Tell whether all values that are there match, and there are any."""
    matches = pc.match_substring_regex(column, pattern)
    return bool(pc.all(matches, min_count=1).as_py())
