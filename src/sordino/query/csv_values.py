# SPDX-License-Identifier: Apache-2.0
"""The values of a CSV file as text that every source has: ISO 8601, and fractions with a point.

A text that is not written as declared is missing. Whether there is such a day, and whether digits
are a number, is seen where text is read as the declared type.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sordino.query.catalog import CsvFile
from sordino.query.csv_times import MONTHS, pattern_of
from sordino.query.types import Type

TEXT = pa.large_string()
_FEW = 1024  # cells that are looked at one by one if one of them is no text


def decoded(raw: Any) -> Any:
    """Return bytes as text; what is no UTF-8 is missing."""
    try:
        return raw.cast(TEXT)
    except pa.ArrowInvalid:
        parts = [raw.slice(start, _FEW) for start in range(0, len(raw), _FEW)]
        return pa.concat_arrays([_decoded(part) for part in parts])


def _decoded(few: Any) -> Any:
    try:
        return few.cast(TEXT)
    except pa.ArrowInvalid:
        return pa.array([_text(cell) for cell in few.to_pylist()], TEXT)


def _text(cell: bytes | None) -> str | None:
    try:
        return None if cell is None else cell.decode()
    except UnicodeDecodeError:
        return None


def without(text: Any, nulls: Iterable[str]) -> Any:
    """Return text in which those that mean nothing are missing."""
    listed = pa.array(nulls, TEXT)
    return _unless(pc.is_in(text, value_set=listed), text) if len(listed) else text


def normal(text: Any, kind: Type, source: CsvFile) -> Any:
    """Return the text of a column as values of its type are written in every source."""
    if kind is Type.DATE and source.date_format is not None:
        return iso_times(text, source.date_format)
    if kind is Type.TIMESTAMP and source.timestamp_format is not None:
        return iso_times(text, source.timestamp_format)
    if kind is Type.REAL and source.decimal == ",":
        return pc.replace_substring(_unless(pc.match_substring(text, "."), text), ",", ".")
    return text


def _unless(condition: Any, text: Any) -> Any:
    return pc.if_else(condition, pa.scalar(None, TEXT), text)


def iso_times(text: Any, form: str) -> Any:
    """Return the texts that are of a format, in ISO 8601; others are missing.

    >>> iso_times(pa.array(["24.12.2024", "2024-12-24"], TEXT), "%d.%m.%Y").to_pylist()
    ['2024-12-24', None]
    """
    found = pc.extract_regex(text, pattern_of(form))
    part = {
        field.name: pc.struct_field(found, [place]).cast(TEXT)
        for place, field in enumerate(found.type)
    }
    day = _joined("-", _year(part), _month(part), _two(part["d"]))
    if not {"H", "I"} & set(part):
        return day
    clock = [_two(part[name]) if name in part else pa.scalar("00", TEXT) for name in "MS"]
    moment = _joined(" ", day, _joined(":", _hour(part), *clock))
    return _joined(".", moment, pc.utf8_rpad(part["f"], 6, "0")) if "f" in part else moment


def _joined(sign: str, *texts: Any) -> Any:
    return pc.binary_join_element_wise(*texts, pa.scalar(sign, TEXT))


def _two(digits: Any) -> Any:
    return pc.utf8_lpad(digits.cast(TEXT), 2, "0")


def _year(part: dict[str, Any]) -> Any:
    """Return four digits; of two, those below 69 are of this century, as POSIX has it."""
    if "Y" in part:
        return part["Y"]
    early = pc.less(part["y"], pa.scalar("69", TEXT))
    century = pc.if_else(early, pa.scalar("20", TEXT), pa.scalar("19", TEXT))
    return _joined("", century, part["y"])


def _month(part: dict[str, Any]) -> Any:
    if "m" in part:
        return _two(part["m"])
    return _two(pc.add(pc.index_in(pc.utf8_lower(part["b"]), pa.array(MONTHS, TEXT)), 1))


def _hour(part: dict[str, Any]) -> Any:
    if "H" in part:
        return _two(part["H"])
    twelve = part["I"].cast(pa.int64())
    late = pc.equal(pc.utf8_lower(part["p"]), pa.scalar("pm", TEXT))
    return _two(pc.add(pc.if_else(pc.equal(twelve, 12), 0, twelve), pc.if_else(late, 12, 0)))
