# SPDX-License-Identifier: Apache-2.0
"""The answer to a question: a table of noisy numbers with error bars, its price and its limits.

It is written as bytes and read again: what the ledger keeps, for ever.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from os import PathLike
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, overload

from sordino.ledger.entry import Receipt
from sordino.privacy.currency import Currency, Price
from sordino.query.types import Type, Value

CellValue: TypeAlias = "Value | tuple[Value, ...]"  # a list where several candidates were chosen
End: TypeAlias = "float | None"
ColumnKind: TypeAlias = Literal["key", "measure", "diagnostic"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of an answer and how far off it may be.

    With ``confidence`` the exact value lies from ``low`` to ``high``, which is within
    ``half_width`` of ``value``. For keys, which are exact, and where nothing can be said, the other
    fields are None. ``float(cell)`` and ``int(cell)`` are its value.

    >>> print(Cell(value=1204, half_width=31.0, confidence=0.95, low=1173.0, high=1235.0))
    1,204 ± 31
    """

    value: CellValue
    half_width: End = None
    confidence: float | None = None
    low: End = None
    high: End = None

    def __str__(self) -> str:
        from sordino.answer.render import plain, with_error  # which itself shows cells

        if self.confidence is None:
            return plain(self.value)
        return " ".join(with_error(self.value, self.half_width, self.low, self.high))

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def _number(self) -> float:
        if isinstance(self.value, int | float):
            return self.value
        raise TypeError(f"this cell holds no number, but {type(self.value).__name__}")


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its type is fixed by the question, whatever the data holds.

    ``low`` and ``high`` are there for noisy numbers; an end is None where nothing can be said.
    ``gap`` belongs to chosen values: with the confidence, a choice has at most so many rows less
    than the best candidate.
    """

    title: str
    type: Type
    kind: ColumnKind
    values: tuple[CellValue, ...]
    low: tuple[End, ...] | None = None
    high: tuple[End, ...] | None = None
    confidence: Fraction | None = None
    gap: float | None = None
    listed: bool = False

    @property
    def noisy(self) -> bool:
        """Tell whether its numbers have error bars."""
        return self.low is not None

    @property
    def half_widths(self) -> tuple[End, ...]:
        """How far each value is from the farther end of its interval, rounded up."""
        return tuple(self.cell(row).half_width for row in range(len(self.values)))

    def cell(self, row: int) -> Cell:
        """Return one cell."""
        value = self.values[row]
        if self.low is None or self.high is None or self.confidence is None:
            return Cell(value)
        low, high, sure = self.low[row], self.high[row], float(self.confidence)
        if low is None or high is None or not isinstance(value, int | float):
            return Cell(value, confidence=sure)
        return Cell(value, half_width(value, low, high), sure, low, high)

    def take(self, rows: list[int]) -> Column:
        """Return the same column with some of its rows, in that order."""
        ends = [None if x is None else tuple(x[i] for i in rows) for x in (self.low, self.high)]
        return Column(
            self.title,
            self.type,
            self.kind,
            tuple(self.values[i] for i in rows),
            ends[0],
            ends[1],
            self.confidence,
            self.gap,
            self.listed,
        )


def half_width(value: float, low: float, high: float) -> float:
    """Return how far a value is from the farther end of its interval, rounded up.

    >>> half_width(10, 7.5, 12.0), half_width(0.5, 0.25, 0.75)
    (2.5, 0.25)
    """
    far = max(high - value, value - low, 0.0)
    exact = max(Fraction(high) - Fraction(value), Fraction(value) - Fraction(low))
    return far if far >= exact else math.nextafter(far, math.inf)


class Facts(TypedDict):
    """What is public about an answer: what was asked, and how it was made private.

    They are JSON values, and keep the order in which they were written.
    """

    software: dict[str, str]
    date: NotRequired[str]  # answers of version 0.1 may lack it
    question: str
    fingerprint: str
    tables: list[str]
    unit: str
    neighbours: str
    protects: str
    epsilon: str | None
    delta_for_keys: str
    loss: dict[str, Any]
    releases: list[dict[str, Any]]
    keys: list[dict[str, Any]]
    key_selection: str | None
    limits: dict[str, Any]
    post_processing: dict[str, Any]


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """A table of private numbers; ``print`` shows it, and it can be handed on without more noise.

    ``answer["n"]`` is a column as a list of cells, ``answer[0]`` a row as a mapping from titles to
    cells, and ``answer.cell(0, "n")`` one cell, with ``value``, ``half_width``, ``low`` and
    ``high``. ``notes`` say what the error bars do not cover.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: that of the plan it was made by; whatever is computed from an answer costs nothing.
        Numerics: intervals are rounded outwards.
        Proof: docs/proofs/queries.md, theorem 3.
    """

    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    confidence: Fraction
    charge: Receipt  # without what was asked of which data, which is not kept with an answer
    facts: Facts = field(hash=False)
    again: bool = field(default=False, compare=False)  # given before, and now for nothing

    @property
    def price(self) -> Price:
        """What was charged."""
        return self.charge.price

    @property
    def receipt(self) -> str:
        """What the ledger can be held to: whose entry, its number, and its hash."""
        return str(self.charge.seen)

    @property
    def left(self) -> Price:
        """What was left of the budget after the charge."""
        return self.charge.left

    @property
    def epsilon(self) -> float | None:
        """The epsilon that was asked for or found; None if the question was asked in rho."""
        stated = self.facts.get("epsilon")
        return None if stated is None else float(Fraction(stated))

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of the columns."""
        return tuple(column.title for column in self.columns)

    def column(self, title: str | int) -> Column:
        """Return the column of a title, or at a place."""
        if isinstance(title, int):
            return self.columns[title]
        for column in self.columns:
            if column.title == title:
                return column
        raise KeyError(f"no column {title!r}; there are {', '.join(map(repr, self.titles))}")

    def cell(self, row: int, column: str | int) -> Cell:
        """Return one cell."""
        found = self.column(column)
        return found.cell(self._row(row))

    def _row(self, row: int) -> int:
        many = len(self)
        if -many <= row < many:
            return range(many)[row]
        there = f"there are {many:,}, from 0 to {many - 1}" if many > 1 else "there is only row 0"
        raise IndexError(f"no row {row}; {there if many else 'the answer has no rows'}")

    def __len__(self) -> int:
        return len(self.columns[0].values) if self.columns else 0

    def __iter__(self) -> Iterator[dict[str, Cell]]:
        return (self[row] for row in range(len(self)))

    @overload
    def __getitem__(self, key: int) -> dict[str, Cell]: ...
    @overload
    def __getitem__(self, key: str) -> list[Cell]: ...
    def __getitem__(self, key: int | str) -> dict[str, Cell] | list[Cell]:
        if isinstance(key, str):
            column = self.column(key)
            return [column.cell(row) for row in range(len(self))]
        row = self._row(key)
        return {column.title: column.cell(row) for column in self.columns}

    def __str__(self) -> str:
        from sordino.answer.render import as_text  # only when shown, to keep start-up fast

        return as_text(self)

    def __repr__(self) -> str:
        rows, titles = len(self), ", ".join(self.titles)
        return f"<answer: {rows} {'row' if rows == 1 else 'rows'} of {titles}>"

    def _repr_html_(self) -> str:
        from sordino.answer.render import as_html  # only when shown, to keep start-up fast

        return as_html(self)

    def to_arrow(self) -> Any:
        """Return a pyarrow table: each noisy column is followed by half-widths, low and high ends.

        The column ``n`` has ``n_half_width``, ``n_low`` and ``n_high`` beside it.
        """
        from sordino.answer.frames import to_arrow  # pyarrow takes long to import

        return to_arrow(self)

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame with the columns of ``to_arrow``."""
        from sordino.answer.frames import to_pandas  # pandas takes long to import

        return to_pandas(self)

    def to_polars(self) -> Any:
        """Return a polars DataFrame with the columns of ``to_arrow``."""
        from sordino.answer.frames import to_polars  # polars takes long to import

        return to_polars(self)

    def plot(self, path: str | PathLike[str] | None = None) -> Any:
        """Draw bars with error bars, and return the matplotlib figure; with a path also save it."""
        from sordino.answer.plot import plot  # matplotlib is an extra

        return plot(self, path)

    def record(self) -> dict[str, Any]:
        """Return a record of the release, ready to be signed: what was released, how, at what cost.

        It holds JSON values only, always in the same order, and the SHA-256 of the answer itself.
        """
        body = canonical(columns_to_json(self.columns))
        return {
            "record": 1,
            **copy.deepcopy(self.facts),
            "confidence": str(self.confidence),
            "columns": [{"title": c.title, "type": c.type.value} for c in self.columns],
            "rows": len(self),
            "answer_sha256": hashlib.sha256(body).hexdigest(),
            "notes": list(self.notes),
            "ledger": receipt_to_json(self.charge),
        }

    def record_json(self) -> str:
        """Return the record as one line of JSON, the same text every time."""
        return canonical(self.record()).decode("utf-8")

    def certificate(self) -> str:
        """Return a page in plain language: who is protected, how well, and what is not covered."""
        from sordino.answer.certificate import certificate  # only when asked for

        return certificate(self)


def canonical(data: object) -> bytes:
    """Return JSON as bytes: no spaces, keys in the order they have, UTF-8."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8")


# Its bytes, for ever. -----------------------------------------------------------------------------

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
