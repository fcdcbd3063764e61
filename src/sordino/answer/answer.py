# SPDX-License-Identifier: Apache-2.0
"""The answer to a question: a table of noisy numbers with error bars, its price and its limits."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike
from typing import Any, overload

from sordino.answer.charge import Charge
from sordino.answer.column import Cell, Column
from sordino.privacy.currency import Price


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
    charge: Charge
    facts: dict[str, Any] = field(hash=False)  # public: what was asked, and how it was made private
    again: bool = field(default=False, compare=False)  # given before, and now for nothing

    @property
    def price(self) -> Price:
        """What was charged."""
        return self.charge.price

    @property
    def receipt(self) -> str:
        """What the ledger can be held to: whose entry, its number, and its hash."""
        return f"{self.charge.people}:{self.charge.number}:{self.charge.head}"

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
        """Return the column of a title, or at a place.

        Guarantee: none needed; an answer is already private.
        """
        if isinstance(title, int):
            return self.columns[title]
        for column in self.columns:
            if column.title == title:
                return column
        raise KeyError(f"no column {title!r}; there are {', '.join(map(repr, self.titles))}")

    def cell(self, row: int, column: str | int) -> Cell:
        """Return one cell.

        Guarantee: none needed; an answer is already private.
        """
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
        from sordino.answer.text import as_text  # only when shown, to keep start-up fast

        return as_text(self)

    def __repr__(self) -> str:
        rows, titles = len(self), ", ".join(self.titles)
        return f"<answer: {rows} {'row' if rows == 1 else 'rows'} of {titles}>"

    def _repr_html_(self) -> str:
        from sordino.answer.html import as_html  # only when shown, to keep start-up fast

        return as_html(self)

    def to_arrow(self) -> Any:
        """Return a pyarrow table: each noisy column is followed by half-widths, low and high ends.

        The column ``n`` has ``n_half_width``, ``n_low`` and ``n_high`` beside it.

        Guarantee: none needed; an answer is already private.
        """
        from sordino.answer.frames import to_arrow  # pyarrow takes long to import

        return to_arrow(self)

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame with the columns of ``to_arrow``.

        Guarantee: none needed; an answer is already private.
        """
        from sordino.answer.frames import to_pandas  # pandas takes long to import

        return to_pandas(self)

    def to_polars(self) -> Any:
        """Return a polars DataFrame with the columns of ``to_arrow``.

        Guarantee: none needed; an answer is already private.
        """
        from sordino.answer.frames import to_polars  # polars takes long to import

        return to_polars(self)

    def plot(self, path: str | PathLike[str] | None = None) -> Any:
        """Draw bars with error bars, and return the matplotlib figure; with a path also save it.

        Guarantee: none needed; an answer is already private.
        """
        from sordino.answer.plot import plot  # matplotlib is an extra

        return plot(self, path)

    def record(self) -> dict[str, Any]:
        """Return a record of the release, ready to be signed: what was released, how, at what cost.

        It holds JSON values only, always in the same order, and the SHA-256 of the answer itself.

        Guarantee: none needed; public inputs only, and a digest of what is already private.
        """
        from sordino.answer.codec import columns_to_json  # only when asked for

        body = canonical(columns_to_json(self.columns))
        return {
            "record": 1,
            **copy.deepcopy(self.facts),
            "confidence": str(self.confidence),
            "columns": [{"title": c.title, "type": c.type.value} for c in self.columns],
            "rows": len(self),
            "answer_sha256": hashlib.sha256(body).hexdigest(),
            "notes": list(self.notes),
            "ledger": self.charge.to_json(),
        }

    def record_json(self) -> str:
        """Return the record as one line of JSON, the same text every time.

        Guarantee: as for ``record``.
        """
        return canonical(self.record()).decode("utf-8")

    def certificate(self) -> str:
        """Return one page in plain language: who is protected, how well, and what is not covered.

        Guarantee: none needed; public inputs only.
        """
        from sordino.answer.certificate import certificate  # only when asked for

        return certificate(self)


def canonical(data: object) -> bytes:
    """Return JSON as bytes: no spaces, keys in the order they have, UTF-8.

    Guarantee: none needed; what it is given is already private.
    """
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8")
