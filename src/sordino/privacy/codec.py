# SPDX-License-Identifier: Apache-2.0
"""Losses as JSON, for ever: a tag, and exact numbers written as fractions.

A tag that was once written keeps its meaning. Fields are only ever added, and only if a record
without them still means the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from sordino.privacy.bounded_range import BoundedRange
from sordino.privacy.concentrated import Concentrated
from sordino.privacy.discrete_gaussian import DiscreteGaussian
from sordino.privacy.gaussian import ContinuousGaussian
from sordino.privacy.grouped import Grouped
from sordino.privacy.laplace import ContinuousLaplace, DiscreteLaplace
from sordino.privacy.leaf import RELATIONS, Leaf, Relation
from sordino.privacy.pure import Approximate, KaryResponse, Pure
from sordino.privacy.shuffled import Shuffled, ShuffledResponse
from sordino.privacy.subsampled import FixedSizeSubsampled, PoissonSubsampled, Subsampled
from sordino.privacy.tables import MOST_OUTCOMES, PmfPair

Json: TypeAlias = dict[str, Any]
_Stated: TypeAlias = tuple[Leaf, Relation | None]

TAG = "leaf"
_BASE, _RELATED = "base", "related"
_FRACTION = re.compile(r"(0|-?[1-9][0-9]*)/([1-9][0-9]*)")
_LONGEST = 20_000  # characters of a number; no loss needs more
_DEEPEST = 8  # losses inside losses


@dataclass(frozen=True, slots=True)
class _Field:
    """How one number of a record is written: the word in JSON, the attribute, what it holds."""

    word: str
    attribute: str
    write: Callable[[Any], Any]
    read: Callable[[str, Any, int], Any]


@dataclass(frozen=True, slots=True)
class _Kind:
    make: Callable[..., Any]
    fields: tuple[_Field, ...]


def leaf_to_json(leaf: Leaf, stated: Relation | None = None) -> Json:
    """Write a loss, and the relation it was stated for, as a dictionary for JSON.

    The relation is written around the outermost loss that names none of its own.

    >>> leaf_to_json(Pure(epsilon=Fraction(1, 10)))
    {'leaf': 'pure', 'epsilon': '1/10'}
    >>> leaf_to_json(Pure(epsilon=Fraction(1, 10)), "add_remove")
    {'leaf': 'related', 'base': {'leaf': 'pure', 'epsilon': '1/10'}, 'neighbours': 'add_remove'}
    """
    if stated is not None and leaf.neighbours is None:
        return {TAG: _RELATED, _BASE: leaf_to_json(leaf), "neighbours": stated}
    for tag, kind in _KINDS.items():
        if kind.make is type(leaf):
            record: Json = {TAG: tag}
            for field in kind.fields:
                value = getattr(leaf, field.attribute)
                inner = field.word == _BASE
                record[field.word] = leaf_to_json(value, stated) if inner else field.write(value)
            return record
    raise TypeError(f"a loss of type {type(leaf).__name__} cannot be written")


def leaf_from_json(data: object) -> tuple[Leaf, Relation | None]:
    """Read a loss that ``leaf_to_json`` wrote, and the relation it was stated for.

    >>> leaf_from_json({"leaf": "pure", "epsilon": "1/10"})
    (Pure(epsilon=0.1), None)
    >>> leaf_from_json({"leaf": "purple"})
    Traceback (most recent call last):
    ValueError: unknown loss 'purple'; known are approximate, bounded_range, concentrated, \
discrete_gaussian, discrete_laplace, fixed_size_subsampled, gaussian, grouped, kary_response, \
laplace, pmf_pair, poisson_subsampled, pure, related, shuffled, shuffled_response
    """
    return _read_leaf("loss", data, 0)


def _read_leaf(word: str, data: Any, depth: int) -> _Stated:
    if depth > _DEEPEST:
        raise ValueError(f"losses are nested more than {_DEEPEST} deep")
    if not isinstance(data, dict):
        raise ValueError(f"{word} must be an object, got {type(data).__name__}")
    tag = data.get(TAG)
    kind = _KINDS.get(tag) if isinstance(tag, str) else None
    if kind is None:
        raise ValueError(f"unknown loss {_short(tag)}; known are {', '.join(sorted(_KINDS))}")
    words = {field.word for field in kind.fields}
    extra, missing = sorted(map(_short, data.keys() - words - {TAG})), sorted(words - data.keys())
    if extra:
        raise ValueError(f"the loss {tag!r} has no field {extra[0]}")
    if missing:
        raise ValueError(f"the loss {tag!r} needs the field {missing[0]!r}")
    values = {f.word: f.read(f.word, data[f.word], depth) for f in kind.fields}
    stated: Relation | None = None
    if _BASE in values:
        values[_BASE], stated = values[_BASE]
    if tag == _RELATED:
        return _related(values[_BASE], stated, values["neighbours"])
    leaf = kind.make(**values)
    if isinstance(leaf, Subsampled):
        leaf.check_neighbours(stated)
    return leaf, stated


def _related(leaf: Leaf, stated: Relation | None, neighbours: Relation) -> _Stated:
    """Add a relation to a loss that names the same one, or none; only then is it news."""
    held = stated or leaf.neighbours
    if held not in (None, neighbours):
        raise ValueError(f"this loss holds for {held}, not for {neighbours}")
    return leaf, stated if leaf.neighbours else neighbours


def _read_fraction(word: str, value: Any, _: int = 0) -> Fraction:
    match = _FRACTION.fullmatch(value) if isinstance(value, str) else None
    if match is None or len(value) > _LONGEST:
        raise ValueError(f"{word} must be a fraction such as '1/10', got {_short(value)}")
    found = Fraction(int(match[1]), int(match[2]))
    if _write_fraction(found) != value:
        raise ValueError(f"{word} must be in lowest terms, got {_short(value)}")
    return found


def _write_fraction(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"


def _read_whole(word: str, value: Any, _: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{word} must be a whole number, got {_short(value)}")
    return value


def _read_whole_or_none(word: str, value: Any, depth: int) -> int | None:
    return None if value is None else _read_whole(word, value, depth)


def _read_relation(word: str, value: Any, _: int) -> str:
    if value not in RELATIONS:
        raise ValueError(f"{word} must be one of {', '.join(RELATIONS)}, got {_short(value)}")
    return str(value)


def _read_fractions(word: str, value: Any, _: int) -> tuple[Fraction, ...]:
    if not isinstance(value, list) or len(value) > MOST_OUTCOMES:
        raise ValueError(f"{word} must be a list of at most {MOST_OUTCOMES} fractions")
    return tuple(_read_fraction(word, item) for item in value)


def _write_fractions(value: tuple[Fraction, ...]) -> list[str]:
    return [_write_fraction(item) for item in value]


def _short(value: object) -> str:
    if isinstance(value, str | int | float | None) and len(repr(value)) <= 60:
        return repr(value)
    return f"a value of type {type(value).__name__}"


def _same(value: Any) -> Any:
    return value


def _fraction(word: str, attribute: str | None = None) -> _Field:
    return _Field(word, attribute or word, _write_fraction, _read_fraction)


def _whole(word: str) -> _Field:
    return _Field(word, word, _same, _read_whole)


def _read_base(word: str, value: Any, depth: int) -> _Stated:
    return _read_leaf(word, value, depth + 1)


_EPSILON = _fraction("epsilon", "bound")
_INNER = _Field(_BASE, _BASE, leaf_to_json, _read_base)
_KINDS: dict[str, _Kind] = {
    "pure": _Kind(Pure, (_EPSILON,)),
    "approximate": _Kind(Approximate, (_EPSILON, _fraction("delta", "slack"))),
    "concentrated": _Kind(Concentrated, (_fraction("rho", "exact"),)),
    "laplace": _Kind(ContinuousLaplace, (_EPSILON,)),
    "discrete_laplace": _Kind(DiscreteLaplace, (_fraction("eta"), _whole("shift"))),
    "gaussian": _Kind(
        ContinuousGaussian, (_fraction("variance"), _fraction("squared_sensitivity"))
    ),
    "discrete_gaussian": _Kind(
        DiscreteGaussian,
        (
            _fraction("variance"),
            _whole("squared_sensitivity"),
            _Field("coordinates", "coordinates", _same, _read_whole_or_none),
        ),
    ),
    "bounded_range": _Kind(BoundedRange, (_EPSILON,)),
    "kary_response": _Kind(KaryResponse, (_EPSILON, _whole("categories"))),
    "shuffled": _Kind(Shuffled, (_EPSILON, _whole("people"))),
    "shuffled_response": _Kind(ShuffledResponse, (_EPSILON, _whole("people"))),
    "poisson_subsampled": _Kind(PoissonSubsampled, (_INNER, _fraction("rate"))),
    "fixed_size_subsampled": _Kind(FixedSizeSubsampled, (_INNER, _fraction("rate"))),
    "pmf_pair": _Kind(
        PmfPair,
        tuple(_Field(word, word, _write_fractions, _read_fractions) for word in ("p", "q")),
    ),
    "grouped": _Kind(Grouped, (_INNER, _whole("size"))),
    _RELATED: _Kind(_related, (_INNER, _Field("neighbours", "neighbours", _same, _read_relation))),
}
