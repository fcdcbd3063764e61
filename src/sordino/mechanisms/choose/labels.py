# SPDX-License-Identifier: Apache-2.0
"""Names that come along with numbers: the keys of a mapping, the labels of a Series.

Numbers with names go by name and numbers without names by their place in the row. Where the two
could be mistaken for one another, a guess could give a candidate the number of another one, so it
is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, MappingView, Sequence, Set
from numbers import Number as AnyNumber
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.mechanisms.choose.domains import Domain

Names: TypeAlias = "Sequence[Any] | npt.NDArray[Any]"  # all candidates, in a public order

ROWS = "for raw rows count them first, as with collections.Counter(rows)"
_NUMBERS = (AnyNumber, np.number, np.bool_)
_STRANGER = "scores name something that is not among the candidates"
_NEVER = "and never add a candidate because the data has it"


def labels_of(given: Any) -> Any:
    """Return the index of a pandas Series, the keys of a mapping, or None."""
    if isinstance(given, Mapping):
        return given.keys()
    index = getattr(given, "index", None)
    return index if hasattr(given, "to_numpy") and hasattr(index, "tolist") else None


def as_mapping(what: str, given: Any, candidates: Any = None) -> Mapping[Any, Any] | None:
    """Return numbers that have names of their own as a mapping; None if they only have an order.

    The labels 0, 1, ... that pandas gives to rows without names are no names, unless there are
    numbers among the candidates. So the candidates decide, which are public, and not which labels
    the data have left over.
    """
    if isinstance(given, Mapping):
        return given
    labels = labels_of(given)
    if labels is None or (counts_rows(labels) and not _has_numbers(candidates)):
        return None
    found = dict(zip(labels.tolist(), given.to_numpy().tolist(), strict=True))
    if len(found) != len(given):
        raise ValueError(
            f"a candidate is named twice in {what}; every candidate must be there once"
        )
    return found


def in_order(what: str, given: Any, names: Names) -> list[Any]:
    """Return one public number for each candidate: by name if they have names, else as they come.

    >>> in_order("base", {"b": 2, "a": 1}, ["a", "b"]), in_order("base", [2, 1], ["a", "b"])
    ([1, 2], [2, 1])
    """
    named = as_mapping(what, given, names)
    if named is None:
        found = in_row(what, given)
    elif named.keys() == known_names(names):
        found = [named[name] for name in names]
    else:
        raise ValueError(f"{what} must name every candidate, and nothing else")
    if len(found) != len(names):
        raise ValueError(f"{what} must have one number for {each_of(len(names))}, got {len(found)}")
    return found


def in_row(what: str, given: Any) -> list[Any]:
    """Return numbers that go by the order of the candidates; refuse what has names or no order."""
    rule = f"{what} must be a list in the order of the candidates, got"
    labels = labels_of(given)
    if isinstance(given, str | bytes | Mapping | MappingView | Set) or is_table(given):
        raise TypeError(f"{rule} a value of type {type(given).__name__}")
    if labels is not None and not counts_rows(labels):
        raise TypeError(
            f"{rule} a {type(given).__name__} with labels; put it into that order and give its "
            "values, as with .tolist()"
        )
    try:
        return list(given)
    except TypeError:
        raise TypeError(f"{rule} a value of type {type(given).__name__}") from None


def known_names(names: Names) -> set[Any]:
    """Return the candidates as a set, to look names up."""
    try:
        return set(names)
    except TypeError:
        raise TypeError(
            "candidates that are called by name must be hashable, such as tuples"
        ) from None


def stranger(candidates: Names, named: Mapping[Any, Any], how: str = "") -> ValueError:
    """Return the error for a name that is no candidate; of names it tells the type only."""
    ours = {type(plain(name)).__name__ for name in candidates}
    theirs = {type(name).__name__ for name in named}
    if len(ours) == len(theirs) == 1 and ours != theirs:
        return ValueError(
            f"{_STRANGER}: candidates are of type {ours.pop()}, scores are named by "
            f"{theirs.pop()}; give both the same type"
        )
    return ValueError(f"{_STRANGER}; leave it out, {how}{_NEVER}")


ROW_NUMBERS = (
    f"{_STRANGER}: its labels 0, 1, ... are names because there are numbers among the candidates; "
    "give a plain list in the order of the candidates, as with .tolist()"
)


def plain(candidate: Any) -> Any:
    """Return a numpy scalar as the Python object it stands for, anything else as it is."""
    return candidate.item() if isinstance(candidate, np.generic) else candidate


def each_of(many: int) -> str:
    """Say how many candidates there are, in a sentence about each of them.

    >>> each_of(1), each_of(4)
    ('the only candidate', 'each of 4 candidates')
    """
    return "the only candidate" if many == 1 else f"each of {many} candidates"


def is_table(given: Any) -> bool:
    """Tell whether something has columns, as the tables of pandas, polars and pyarrow have."""
    return hasattr(type(given), "columns")


def counts_rows(labels: Any) -> bool:
    """Tell whether labels are the numbers 0, 1, ... that pandas gives to rows without names."""
    return type(labels).__name__ == "RangeIndex" and (labels.start, labels.step) == (0, 1)


def _has_numbers(candidates: Any) -> bool:
    """Tell whether a number is among the candidates, of any type that equals a label."""
    if isinstance(candidates, range):
        return True
    if isinstance(candidates, Domain):
        return isinstance(candidates.member(0), AnyNumber)
    if isinstance(candidates, np.ndarray) and candidates.dtype.kind != "O":
        return candidates.dtype.kind in "biufc"
    return candidates is not None and any(
        isinstance(candidate, AnyNumber | np.generic)
        and not isinstance(candidate, np.str_ | np.bytes_)
        for candidate in candidates
    )
