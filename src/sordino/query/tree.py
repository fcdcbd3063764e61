# SPDX-License-Identifier: Apache-2.0
"""A question as a tree: private rows, keys, measures, and what is done to the noisy numbers.

The tree is typed and closed. It is made by ``sordino.sql`` alone, from names of the catalog, from
literals and from the operations of ``query.operations``; no text of the analyst is in it but in
literals and titles, and neither becomes SQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TypeAlias

from sordino.query.types import Range, Type, Value

# Scalars: one value for each row, whatever the row holds. ---------------------------------------


@dataclass(frozen=True, slots=True)
class Field:
    """A column of rows inside a question; ``name`` is made by us and unique in the question.

    ``range`` and ``domain`` are public: where numbers are expected to lie, and the finite list of
    values to group by, if there is one. Neither is trusted.
    """

    name: str
    type: Type
    title: str
    range: Range | None = None
    domain: tuple[Value, ...] | None = None
    other: Value = None


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that the analyst wrote; it reaches the engine as a bound parameter."""

    value: Value
    type: Type


@dataclass(frozen=True, slots=True)
class Call:
    """An operation of ``query.operations`` on other scalars; it never fails, for any values."""

    operation: str
    arguments: tuple[Scalar, ...]
    type: Type
    range: Range | None = None


Scalar: TypeAlias = "Field | Literal | Call"


# Rows: every step gives rows that belong to one unit each, and looks at no other unit. ----------


@dataclass(frozen=True, slots=True)
class Scan:
    """All rows of a private table that belong to somebody; each field with its column."""

    table: str
    fields: tuple[tuple[Field, str], ...]


@dataclass(frozen=True, slots=True)
class Where:
    """The rows for which a condition is true; not those for which it is missing."""

    rows: Rows
    condition: Scalar


@dataclass(frozen=True, slots=True)
class Derive:
    """The same rows with new fields in place of the old."""

    rows: Rows
    fields: tuple[tuple[Field, Scalar], ...]


@dataclass(frozen=True, slots=True)
class JoinPublic:
    """Each row with every matching row of a public table; ``outer`` keeps rows without a match."""

    rows: Rows
    table: str
    fields: tuple[tuple[Field, str], ...]  # of the public table
    on: tuple[tuple[Scalar, str], ...]  # equal to a column of the public table, never empty
    outer: bool = False


@dataclass(frozen=True, slots=True)
class JoinUnit:
    """Each row with every row of the same unit on the other side that has equal fields too.

    Of each unit at most 200 rows of a side take part, where both sides may have many: they are
    chosen by a salted hash of the row, before anything is joined. With ``outer`` all rows of the
    other side do, so that no row seems to have no match.
    """

    rows: Rows
    other: Rows
    on: tuple[tuple[Scalar, Scalar], ...] = ()  # besides the unit
    outer: bool = False


class UnitKind(StrEnum):
    """What can be computed from all rows of one unit."""

    COUNT = "count"  # of rows, or of values that are there
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class UnitMeasure:
    """A number computed from all rows of one unit; sums clamp values to a range, and need one."""

    kind: UnitKind
    argument: Scalar | None = None
    range: Range | None = None


@dataclass(frozen=True, slots=True)
class PerUnit:
    """One row for each unit that has any rows."""

    rows: Rows
    fields: tuple[tuple[Field, UnitMeasure], ...]


@dataclass(frozen=True, slots=True)
class Window:
    """The same rows, each with numbers computed from all rows of its unit besides."""

    rows: Rows
    fields: tuple[tuple[Field, UnitMeasure], ...]


Rows: TypeAlias = "Scan | Where | Derive | JoinPublic | JoinUnit | PerUnit | Window"


def walk(rows: Rows) -> Iterator[Rows]:
    """Yield a step and all steps below it, those of the left side of a join first."""
    yield rows
    if not isinstance(rows, Scan):
        yield from walk(rows.rows)
    if isinstance(rows, JoinUnit):
        yield from walk(rows.other)


def tables_in(rows: Rows) -> tuple[str, ...]:
    """Return the private tables that rows come from, each once."""
    return tuple(dict.fromkeys(step.table for step in walk(rows) if isinstance(step, Scan)))


# Keys and measures. ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bins:
    """Equal bins of a public range, each with its lower end and without its upper, but the last."""

    range: Range
    count: int


@dataclass(frozen=True, slots=True)
class Key:
    """What rows are grouped by.

    ``domain`` is the public list of values that are answered, all of them; None means that keys
    are discovered. Rows whose value is not on the list form the group ``other`` if there is one, or
    are left out. With ``bins`` the scalar is a number and the key is the index of its bin.
    """

    scalar: Scalar
    title: str
    domain: tuple[Value, ...] | None
    other: Value = None
    bins: Bins | None = None

    @property
    def type(self) -> Type:
        """The type of the key."""
        return Type.INTEGER if self.bins else self.scalar.type


class Kind(StrEnum):
    """What can be asked about a group."""

    COUNT = "count"  # of rows; with an argument, of values that are there
    COUNT_UNITS = "count_units"
    COUNT_DISTINCT = "count_distinct"
    SUM = "sum"
    AVG = "avg"
    VARIANCE = "variance"  # of all rows, divided by their number
    STDDEV = "stddev"
    QUANTILE = "quantile"  # median, quantiles
    MIN = "min"
    MAX = "max"
    MODE = "mode"
    TOP = "top"


@dataclass(frozen=True, slots=True)
class Measure:
    """One aggregate. Equal measures are one, and are released once.

    ``range`` is what values are clamped to before anything else is done with them; it is there for
    all kinds that need one. ``quantile`` is for QUANTILE, ``count`` for TOP, and ``domain`` are
    the public candidates of MODE and TOP.
    """

    kind: Kind
    argument: Scalar | None = None
    range: Range | None = None
    quantile: Fraction | None = None
    count: int | None = None
    domain: tuple[Value, ...] | None = None


# Post: expressions over noisy numbers and public keys. ------------------------------------------


@dataclass(frozen=True, slots=True)
class MeasureRef:
    """A noisy number: a place in ``Query.measures``."""

    index: int
    type: Type


@dataclass(frozen=True, slots=True)
class KeyRef:
    """A key of the group: a place in ``Query.keys``."""

    index: int
    type: Type


@dataclass(frozen=True, slots=True)
class PostCall:
    """An operation of ``query.operations`` on noisy numbers."""

    operation: str
    arguments: tuple[PostScalar, ...]
    type: Type


PostScalar: TypeAlias = "MeasureRef | KeyRef | Literal | PostCall"


def refs_in(scalar: PostScalar) -> frozenset[MeasureRef]:
    """Return the noisy numbers that an expression is made from."""
    if isinstance(scalar, PostCall):
        return frozenset().union(*map(refs_in, scalar.arguments))
    return frozenset({scalar} if isinstance(scalar, MeasureRef) else ())


def measures_in(scalar: PostScalar) -> frozenset[int]:
    """Return the places of the measures that an expression is made from."""
    return frozenset(ref.index for ref in refs_in(scalar))


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the answer."""

    title: str
    scalar: PostScalar


@dataclass(frozen=True, slots=True)
class Ordered:
    """A column to sort by; missing values come last."""

    scalar: PostScalar
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Post:
    """What becomes of the noisy numbers; it costs nothing."""

    outputs: tuple[Output, ...]
    having: PostScalar | None = None
    order: tuple[Ordered, ...] = ()
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A question: every question that is answered has this shape."""

    rows: Rows
    keys: tuple[Key, ...]
    measures: tuple[Measure, ...]
    post: Post
    sql: str  # what the analyst wrote; for messages and records, never for an engine
