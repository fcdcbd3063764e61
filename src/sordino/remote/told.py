# SPDX-License-Identifier: Apache-2.0
"""What a server tells, as values: prices, budgets and tables, each read with suspicion."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from sordino.ledger.left import Budgets, Left
from sordino.plan.told import COLUMNS, RELEASES, Told
from sordino.privacy.currency import Price, read_price
from sordino.query.types import Type
from sordino.remote.wire import not_ours

Json = Mapping[str, Any]
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RemoteExplanation(Told):
    """What an answer would cost and how accurate it would be, as a server says.

    ``columns`` are the titles, types and kinds of the answer's columns, ``left`` says what is left
    before it, and ``quote`` is what ``RemoteSession.buy`` takes: this price and no other.
    """

    price: Price
    facts: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    columns: tuple[RemoteColumn, ...]
    people: str
    left: str
    number: str  # by which the history names the plan
    quote: str | None = field(repr=False)
    json: Json = field(repr=False)  # as the server told it
    sql: str = field(repr=False)
    told: tuple[tuple[tuple[str, ...], ...], ...] = field(repr=False)  # widths, and releases

    def widths(self) -> list[tuple[str, ...]]:
        """Return a line for each column of the answer: title, half-width, what it is about."""
        return list(self.told[0])

    def rows(self) -> list[tuple[str, ...]]:
        """Return a line for each release: what, noise, shift, price and share, as texts."""
        return list(self.told[1])


@dataclass(frozen=True, slots=True)
class RemoteColumn:
    """A column that an answer will have."""

    title: str
    type: Type
    kind: str


@dataclass(frozen=True, slots=True)
class Described:
    """A column of a table of the server: its type and what is declared of it."""

    name: str
    type: Type
    bounds: tuple[float, float] | None
    keys: tuple[object, ...] | None
    other: object = None

    def __str__(self) -> str:
        if self.bounds is not None:
            return f"{self.name} {self.type.value} from {self.bounds[0]:g} to {self.bounds[1]:g}"
        keys = "" if self.keys is None else f", {len(self.keys):,} keys"
        return f"{self.name} {self.type.value}{keys}"


@dataclass(frozen=True, slots=True)
class RemoteTable:
    """A table of the server, as far as it is public."""

    name: str
    columns: tuple[Described, ...]
    people: str | None
    unit: str | None
    public: bool
    limits: Json

    def __str__(self) -> str:
        whose = "public" if self.public else f"of {self.people}"
        return f"{self.name} ({whose}): {'; '.join(map(str, self.columns))}"


def suspicious(read: Callable[P, T]) -> Callable[P, T]:
    """Let a function refuse what has another form than a server of ours gives it."""

    @wraps(read)
    def reading(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return read(*arguments, **named)
        except (LookupError, TypeError, ValueError, AttributeError):
            raise not_ours() from None

    return reading


@suspicious
def explanation_of(told: Any, sql: str) -> RemoteExplanation:
    """Read what an answer would cost."""
    return RemoteExplanation(
        price=read_price(told["price"]),
        facts=tuple((str(name), str(text)) for name, text in told["facts"].items()),
        warnings=(*map(str, told["warnings"]), *_hindrances(told)),
        columns=tuple(
            RemoteColumn(str(one["title"]), Type(one["type"]), str(one["kind"]))
            for one in told["columns_of_answer"]
        ),
        people=str(told["people"]),
        left=str(told["left"]),
        number=str(told["plan"]),
        quote=told.get("quote"),
        json={name: value for name, value in told.items() if name != "quote"},
        sql=sql,
        told=(
            tuple(tuple(str(one[name]) for name in COLUMNS) for one in told["columns"]),
            tuple(tuple(str(one[name]) for name in RELEASES) for one in told["releases"]),
        ),
    )


def _hindrances(told: Json) -> Iterator[str]:
    """Say what keeps a question from being answered at once, where the server says so."""
    if told.get("needs_approval"):
        yield (
            "somebody has to approve this before it is answered; to ask for that, send a request, "
            "as 'sordino request send' does"
        )
    if not told.get("fits_token", True):
        yield f"this costs more than may still be spent with this token: {told['left_of_token']}"


@suspicious
def budgets_of(told: Any) -> Budgets:
    """Read what is left."""
    return Budgets(_left(one, str(told["who"])) for one in told["people"])


def _left(one: Json, who: str) -> Left:
    own, in_all, cap = one["left_for_who"], one["left"], one["cap"]
    shown = in_all if own is None else own
    price = read_price(shown["price"])
    question = one["question_nanos"]
    return Left(
        people=str(one["people"]),
        who=who,
        left=price,
        delta=Fraction(repr(float(shown["delta"]))),
        in_all=read_price((shown if in_all is None else in_all)["price"]),
        cap=read_price(cap["price"]),
        question=None if question is None else Price(price.currency, int(question)),
    )


@suspicious
def tables_of(told: Any) -> tuple[RemoteTable, ...]:
    """Read what can be asked about."""
    return tuple(
        RemoteTable(
            name=str(one["name"]),
            columns=tuple(map(_column, one["columns"])),
            people=one["people"],
            unit=one["unit"],
            public=bool(one["public"]),
            limits=dict(one["limits"]),
        )
        for one in told["tables"]
    )


def _column(one: Json) -> Described:
    bounds, keys = one["bounds"], one["keys"]
    return Described(
        name=str(one["name"]),
        type=Type(one["type"]),
        bounds=None if bounds is None else (float(bounds[0]), float(bounds[1])),
        keys=None if keys is None else tuple(keys),
        other=one["other"],
    )


def is_refused(told: Any) -> bool:
    """Tell whether a price in a list is a refusal."""
    return isinstance(told, dict) and "problem" in told
