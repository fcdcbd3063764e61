# SPDX-License-Identifier: Apache-2.0
"""An answer as bytes and back, for ever: what the ledger keeps."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from sordino.answer.answer import Answer, CellValue, Column, End, canonical
from sordino.ledger.entry import Receipt
from sordino.privacy.currency import Currency, Price
from sordino.query.types import Type, Value

_VERSION = 1  # what a version means never changes
_BEGINS = b'{"answer":%d,' % _VERSION
_NOT_COVERED = "not covered: "  # notes are kept as text alone, and these words tell their kind


def to_bytes(answer: Answer) -> bytes:
    """Write an answer; equal answers give equal bytes."""
    return canonical(
        {
            "answer": _VERSION,
            "columns": columns_to_json(answer.columns),
            "notes": list(answer.notes),
            "confidence": str(answer.confidence),
            "charge": receipt_to_json(answer.charge),
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
        charge=receipt_from_json(data["charge"]),
        facts=data["facts"],
    )


def is_readable(body: bytes) -> bool:
    """Tell whether bytes are an answer of a version that this one can read."""
    return body.startswith(_BEGINS)


def not_covered(text: str) -> str:
    """Return a note that says what the error bars do not cover."""
    return _NOT_COVERED + text


def notes_by_kind(notes: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the notes on how exact numbers are, and what the error bars do not cover."""
    exactness: list[str] = []
    uncovered: list[str] = []
    for note in notes:
        text = note.removeprefix(_NOT_COVERED)
        (exactness if text == note else uncovered).append(text)
    return exactness, uncovered


def receipt_to_json(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt as JSON values, without what was asked of which data."""
    currency = receipt.price.currency
    return {
        "number": receipt.number,
        "people": receipt.people,
        "who": receipt.who,
        "head": receipt.head,
        "currency": currency.kind,
        "order": None if currency.order is None else str(currency.order),
        "price_nanos": receipt.price.nanos,
        "left_nanos": receipt.left.nanos,
        "delta_for_keys": str(receipt.slack),
        "delta_for_keys_left": str(receipt.slack_left),
    }


def receipt_from_json(data: dict[str, Any]) -> Receipt:
    """Read what ``receipt_to_json`` wrote."""
    order = None if data["order"] is None else Fraction(data["order"])
    currency = Currency(data["currency"], order)
    return Receipt(
        people=str(data["people"]),
        number=int(data["number"]),
        head=str(data["head"]),
        who=str(data["who"]),
        price=Price(currency, int(data["price_nanos"])),
        slack=Fraction(data["delta_for_keys"]),
        left=Price(currency, int(data["left_nanos"])),
        slack_left=Fraction(data["delta_for_keys_left"]),
    )


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


def _write(value: CellValue) -> Any:
    if isinstance(value, tuple):
        return [_write(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


def _read(value: Any, kind: Type) -> CellValue:
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
