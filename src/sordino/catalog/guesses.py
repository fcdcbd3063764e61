# SPDX-License-Identifier: Apache-2.0
"""What the first rows of a CSV file look like: types, and how days and fractions are written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sordino.catalog.csv.files import TEXT, read_blocks, without
from sordino.catalog.csv.options import pattern_of
from sordino.catalog.model import Column, CsvFile
from sordino.catalog.schemas import WORDS, Malformed
from sordino.errors import CatalogError
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
_NEARLY = 0.95  # of the values of a column, that it is remarked what they are
_DIGITS = "^ *[+-]?[0-9]+ *$"  # codes with leading zeros are no numbers and no mistake
_PARTS = {
    "d": "(0?[1-9]|[12][0-9]|3[01])",
    "m": "(0?[1-9]|1[0-2])",
    "Y": "[0-9]{4}",
    "y": "[0-9]{2}",
}
_ORDERS = tuple(  # formats of two orders: which of them is meant, only days after the 12th tell
    (f"%d{sign}%m{sign}%{year}", f"%m{sign}%d{sign}%{year}")
    for sign, year in (("/", "Y"), ("/", "y"), ("-", "Y"))
)


@dataclass(frozen=True, slots=True)
class Nearly:
    """A column that is text, although nearly all of its values are ``what``, numbers or dates.

    ``line`` is where the first other value stands.
    """

    what: str
    line: int


@dataclass(frozen=True, slots=True)
class Guess:
    """Types by column, and the file with the options that they need.

    Of columns that are text, ``nearly`` says which are hardly meant to be, and ``orders`` which are
    days that could be read in several formats.
    """

    source: CsvFile
    types: dict[str, Type]
    nearly: dict[str, Nearly] = field(default_factory=dict)
    orders: dict[str, tuple[str, ...]] = field(default_factory=dict)


def guess(source: CsvFile, names: Iterable[str]) -> Guess:
    """Look at the first rows of a file; a column whose values are not alike is text.

    Words for a missing value are told if a column is of a type but for them.
    """
    listed = list(names)
    columns, lines = _first_rows(source, listed)
    words = {name: _words_of(columns[name]) for name in listed}
    known = {name: without(columns[name], words[name]) for name in listed}
    typed = _guess(source, listed, known)
    absent = {word for name in listed if typed.types[name] is not Type.TEXT for word in words[name]}
    nulls = (*source.nulls, *(word for word in WORDS if word in absent))
    nearly = {
        name: found
        for name in listed
        if typed.types[name] is Type.TEXT and name not in typed.orders
        if (found := _nearly(known[name], lines, typed.source)) is not None
    }
    return replace(typed, source=replace(typed.source, nulls=nulls), nearly=nearly)


def _nearly(column: Any, lines: Any, source: CsvFile) -> Nearly | None:
    """Say what nearly all values of a column are, if they are, and where the first other one is."""
    days = _DAY if source.date_format is None else pattern_of(source.date_format)
    numbers = _COMMA if source.decimal == "," else _REAL
    for what, pattern in (("numbers", numbers), ("dates", days), ("times", _MOMENT)):
        matches = pc.match_substring_regex(column, pattern)
        share = pc.mean(matches).as_py()
        if share is not None and share >= _NEARLY and not _is_all(column, _DIGITS):
            return Nearly(what, int(lines[pc.index(matches, False).as_py()]))
    return None


def _words_of(column: Any) -> list[str]:
    words = pa.array(WORDS, TEXT)
    present = pc.is_in(words, value_set=pc.unique(column))
    found: list[str] = words.filter(present).to_pylist()
    return found


def _guess(source: CsvFile, listed: list[str], columns: dict[str, Any]) -> Guess:
    types = {name: _type_of(columns[name]) for name in listed}
    orders: dict[str, tuple[str, ...]] = {}
    if source.date_format is not None:  # then days are written so, and in no other way
        for name in listed:
            if types[name] is Type.DATE:
                types[name] = Type.TEXT
            if _is_all(columns[name], pattern_of(source.date_format)):
                types[name] = Type.DATE
    elif Type.DATE not in types.values():
        orders = _formats_of(listed, columns)
        told = {forms[0] for forms in orders.values() if len(forms) == 1}
        if len(told) == 1:
            (form,) = told
            source = replace(source, date_format=form)
            days = [name for name, forms in orders.items() if form in forms]
            types |= dict.fromkeys(days, Type.DATE)
            orders = {name: forms for name, forms in orders.items() if form not in forms}
    commas = [
        name for name in listed if types[name] is Type.TEXT and _is_all(columns[name], _COMMA)
    ]
    if commas and Type.REAL not in types.values():
        source = replace(source, decimal=",")
        types |= dict.fromkeys(commas, Type.REAL)
    return Guess(source, types, orders=orders)


def _formats_of(listed: list[str], columns: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the formats that all values of a column have, by columns that have such formats."""
    groups = ((_DOTTED,), *_ORDERS)
    return {
        name: fits
        for name in listed
        for forms in groups
        if (fits := tuple(form for form in forms if _is_all(columns[name], _days(form))))
    }


def _days(form: str) -> str:
    """Return what days of a format look like: as ``pattern_of`` has it, with months up to 12."""
    parts = re.sub("%(.)", lambda found: _PARTS[found[1]], form.replace(".", "[.]"))
    return f"^ *{parts} *$"


def column_of(source: CsvFile, name: str, kind: Type) -> Any:
    """Return the values of a column as text, for what the owner declares public."""
    column = Column(name, kind)
    try:
        parts = [block.texts[0].column for block in read_blocks(source, [column])]
    except Malformed as error:
        raise _unread(source, error) from None
    return pa.chunked_array(parts, TEXT)


def _first_rows(source: CsvFile, names: list[str]) -> tuple[dict[str, Any], Any]:
    parts: list[list[Any]] = [[] for _ in names]
    lines: list[Any] = []
    rows = 0
    try:
        for block in read_blocks(source, [Column(name, Type.TEXT) for name in names]):
            for part, texts in zip(parts, block.texts, strict=True):
                part.append(texts.column)
                _check_readable(source, texts.unreadable)
            lines.append(block.lines)
            rows += len(block.lines)
            if rows >= _ROWS:
                break
    except Malformed as error:
        raise _unread(source, error) from None
    columns = (pa.chunked_array(part, TEXT).slice(0, _ROWS) for part in parts)
    begun = np.concatenate(lines) if lines else np.zeros(0, np.int64)
    return dict(zip(names, columns, strict=True)), begun


def _check_readable(source: CsvFile, unreadable: Any) -> None:
    if np.any(unreadable):
        raise CatalogError(
            f"{str(source.path)!r} has values that are no text in {source.encoding}; say what its "
            "encoding is, as in --encoding cp1252"
        )


def _unread(source: CsvFile, error: Malformed) -> CatalogError:
    return CatalogError(
        f"{str(source.path)!r} is not well-formed: {error}; mend the file, or draft it without "
        '--guess-types and add malformed = "skip" to the table, which leaves out such lines'
    )


def _type_of(column: Any) -> Type:
    return next((kind for kind, pattern in _PATTERNS if _is_all(column, pattern)), Type.TEXT)


def _is_all(column: Any, pattern: str) -> bool:
    """Tell whether all values that are there match, and there are any."""
    matches = pc.match_substring_regex(column, pattern)
    return bool(pc.all(matches, min_count=1).as_py())
