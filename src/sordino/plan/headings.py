# SPDX-License-Identifier: Apache-2.0
"""What columns an answer has, before there is one: titles, types and kinds.

The release makes its columns by what is said here, so that an answer never has others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from sordino.plan.ask import Options
from sordino.plan.intervals import is_noisy, measure_type, release_of
from sordino.plan.plan import Chosen, Crowded, Plan
from sordino.query.tree import Key, KeyRef, MeasureRef, Output, PostCall, PostScalar, Query
from sordino.query.types import ColumnKind, Type

_PLAIN = Options()
BIN_ENDS = {"bin_from": 0, "bin_to": 1}  # which end of a bin an operation tells


@dataclass(frozen=True, slots=True)
class Heading:
    """A column of an answer without its values; ``listed``: each value is a list of several.

    >>> Heading("n", Type.INTEGER, "measure").title
    'n'
    """

    title: str
    type: Type
    kind: ColumnKind
    listed: bool = False


def headings(plan: Plan, options: Options = _PLAIN) -> tuple[Heading, ...]:
    """Return the columns that the answer to a plan has: those asked for, then the diagnostics.

    They depend on the question and on how numbers are shown, never on the data.
    """
    asked = (heading(plan, output, options) for output in plan.query.post.outputs)
    besides = (Heading(title, Type.INTEGER, "diagnostic") for title, _ in diagnosed(plan))
    return (*asked, *besides)


def heading(plan: Plan, output: Output, options: Options = _PLAIN) -> Heading:
    """Return what stands above one column that was asked for."""
    scalar = output.scalar
    if not is_noisy(scalar):
        return Heading(output.title, key_type(plan.query, scalar), "key")
    if not isinstance(scalar, MeasureRef):
        return Heading(output.title, scalar.type, "measure")
    if isinstance(release_of(plan, scalar.index), Chosen):
        listed = plan.query.measures[scalar.index].count is not None
        return Heading(output.title, scalar.type, "measure", listed=listed)
    whole = measure_type(plan, scalar.index) is Type.INTEGER and options.integer
    return Heading(output.title, Type.INTEGER if whole else Type.REAL, "measure")


def diagnosed(plan: Plan) -> Iterator[tuple[str, int]]:
    """Yield the diagnostics that have a number for each group; the others stand in the notes."""
    for title, place in plan.diagnostics:
        if by_group(plan, place):
            yield title, place


def by_group(plan: Plan, place: int) -> bool:
    """Tell whether a release has a number for each of several groups."""
    return bool(plan.query.keys) and not isinstance(plan.releases[place].part, Crowded)


@dataclass(frozen=True, slots=True)
class Edges:
    """The ends of the bins of a key, by their index."""

    ends: tuple[Fraction, ...]

    @classmethod
    def of(cls, key: Key) -> Edges | None:
        """Return the ends of a key's bins, or None if it has no bins."""
        if key.bins is None:
            return None
        low, high, many = key.bins.range.low, key.bins.range.high, key.bins.count
        return cls(tuple(low + (high - low) * at / many for at in range(many + 1)))

    @property
    def type(self) -> Type:
        """Whole if all ends are."""
        return Type.INTEGER if all(end.denominator == 1 for end in self.ends) else Type.REAL

    def end(self, index: object, side: int) -> int | float | None:
        """Return the lower (0) or the upper (1) end of a bin; None for what is no bin."""
        if not isinstance(index, int):
            return None
        edge = self.ends[index + side]
        return edge.numerator if self.type is Type.INTEGER else float(edge)


def key_type(query: Query, scalar: PostScalar) -> Type:
    """Return the type of a public column; the ends of bins are whole if all of them are."""
    key = binned(query, scalar)
    edges = None if key is None else Edges.of(key)
    return scalar.type if edges is None else edges.type


def binned(query: Query, scalar: PostScalar) -> Key | None:
    """Return the key of which a column tells an end of its bins, or None."""
    if isinstance(scalar, PostCall) and scalar.operation in BIN_ENDS:
        return binned(query, scalar.arguments[0])
    if isinstance(scalar, KeyRef) and query.keys[scalar.index].bins is not None:
        return query.keys[scalar.index]
    return None
