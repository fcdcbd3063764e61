# SPDX-License-Identifier: Apache-2.0
"""An answer as bytes and back, for ever: what the ledger keeps."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from sordino.answer.answer import Answer, Column, End, Held, canonical, charge_from_json
from sordino.query.types import Type, Value

_VERSION = 1  # what a version means never changes
_BEGINS = b'{"answer":%d,' % _VERSION


def to_bytes(answer: Answer) -> bytes:
    """Write an answer; equal answers give equal bytes."""
    return canonical(
        {
            "answer": _VERSION,
            "columns": columns_to_json(answer.columns),
            "notes": list(answer.notes),
            "confidence": str(answer.confidence),
            "charge": answer.charge.to_json(),
            "facts": answer.facts,
        }
    )


def from_bytes(body: bytes) -> Answer:
    """Read what ``to_bytes`` wrote."""
    data = json.loads(body)
    if not isinstance(data, dict) or data.get("answer") != _VERSION:
        raise ValueError("these bytes are not an answer that this version can read")
    return Answer(
        columns=tuple(_column(column) for column in data["columns"]),
        notes=tuple(data["notes"]),
        confidence=Fraction(data["confidence"]),
        charge=charge_from_json(data["charge"]),
        facts=data["facts"],
    )


def is_readable(body: bytes) -> bool:
    """Tell whether bytes are an answer of a version that this one can read."""
    return body.startswith(_BEGINS)


def columns_to_json(columns: Iterable[Column]) -> list[dict[str, Any]]:
    """Return the columns as JSON values."""
    return [
        {
            "title": column.title,
            "type": column.type.value,
            "kind": column.kind,
            "values": [_write(value) for value in column.values],
            "low": None if column.low is None else list(column.low),
            "high": None if column.high is None else list(column.high),
            "confidence": None if column.confidence is None else str(column.confidence),
            "gap": None if column.gap is None else column.gap,
            "listed": column.listed,
        }
        for column in columns
    ]


def _column(data: dict[str, Any]) -> Column:
    kind = Type(data["type"])
    confidence = data["confidence"]
    return Column(
        title=data["title"],
        type=kind,
        kind=data["kind"],
        values=tuple(_read(value, kind) for value in data["values"]),
        low=None if data["low"] is None else tuple(map(_read_end, data["low"])),
        high=None if data["high"] is None else tuple(map(_read_end, data["high"])),
        confidence=None if confidence is None else Fraction(confidence),
        gap=data["gap"],
        listed=data["listed"],
    )


def _write(value: Held) -> Any:
    if isinstance(value, tuple):
        return [_write(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


def _read(value: Any, kind: Type) -> Held:
    if isinstance(value, list):
        return tuple(_read_one(item, kind) for item in value)
    return _read_one(value, kind)


def _read_one(value: Any, kind: Type) -> Value:
    if value is None:
        return None
    match kind:
        case Type.DATE:
            return date.fromisoformat(value)
        case Type.TIMESTAMP:
            return datetime.fromisoformat(value)
        case Type.REAL:
            return float(value)
        case Type.INTEGER | Type.TEXT | Type.BOOLEAN:
            kept: Value = value
            return kept


def _read_end(value: Any) -> End:
    return None if value is None else float(value)
