# SPDX-License-Identifier: Apache-2.0
"""What differs between two runs on neighbouring data that saw the same noisy values."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from sordino.auditing.replays.draws import Array, Draw
from sordino.privacy.gaussian import continuous_delta

Kind: TypeAlias = Literal[
    "sensitivity",
    "scale",
    "draws",
    "reuse",
    "output",
    "no noise",
    "error",
    "price",
    "lines",
    "sql",
    "mechanisms",
]
Fact: TypeAlias = tuple[Kind, int]
# The address of an object in memory differs in any two runs.
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+")
_TOLERANCE = 1e-9  # Sums of doubles in another order are off by less.


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that tells neighbours apart, or may: its kind, where, and in words."""

    kind: Kind
    words: str
    where: str = ""

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        return f"{self.kind}: {self.words}{place}"


@dataclass(frozen=True, slots=True)
class Change:
    """How far the numbers under one draw of noise moved from one data set to the other.

    ``loss`` is the change over the scale of the noise: an epsilon for Laplace noise, the ratio of
    shift and sigma for Gaussian noise, None where the scale is not known.
    """

    kind: str
    where: str
    l1: float
    l2: float
    linf: float
    norm: str
    loss: float | None
    declared: float | None


def facts(draws: Sequence[Draw], value: Any, error: BaseException | None) -> dict[Fact, str]:
    """Return what an outsider may learn from a run that is no noisy value, by kind and place."""
    found: dict[Fact, str] = {("draws", 0): "; ".join(map(_drawn, draws))}
    for place, draw in enumerate(draws):
        found["price", place] = str(draw.price)
        found["scale", place] = _shown(draw)
    found["error", 0] = raised(error)
    if error is None:
        found["output", 0] = form(value)
        found |= {("no noise", at): _plain(leaf) for at, leaf in enumerate(leaves(value))}
    return found


def told(fact: Fact, one: Sequence[Draw], other: Sequence[Draw], shown: tuple[str, str]) -> Finding:
    """Say in words that a fact differs; ``shown`` is what it is on x and on y."""
    kind, place = fact
    where = one[place].where if kind in {"price", "scale"} else ""
    mine, yours = map(_short, _unlike(*shown))
    match kind:
        case "draws":
            return _other_draws(one, other)
        case "price":
            words = f"draw {place + 1} costs {mine} on x and {yours} on y"
        case "scale":
            words = f"draw {place + 1} has {mine} on x and {yours} on y"
        case "error":
            words = f"x gives {mine}, y gives {yours}"
        case "output":
            words = f"the output is {mine} on x and {yours} on y"
        case _:
            words = f"a value in the output is {mine} on x and {yours} on y, whatever the noise"
    return Finding(kind, words, where)


def _unlike(one: str, other: str) -> tuple[str, str]:
    """Return the lines that differ."""
    mine, yours = one.split("\n"), other.split("\n")
    return (
        ", ".join(line for line in mine if line not in yours) or one,
        ", ".join(line for line in yours if line not in mine) or other,
    )


def reused(draws: Sequence[Draw]) -> Iterator[Finding]:
    """Yield the draws whose noise was added to more than one number."""
    for place, draw in enumerate(draws, start=1):
        found = draw.onto()
        if found is not None and np.unique(found[0]).size < found[0].size:
            words = f"the same noise of draw {place} is added to more than one number"
            yield Finding("reuse", words, draw.where)


def _other_draws(one: Sequence[Draw], other: Sequence[Draw]) -> Finding:
    for place, (a, b) in enumerate(zip(one, other, strict=False), start=1):
        if _drawn(a) != _drawn(b):
            words = f"draw {place} is {_drawn(a)} on x and {_drawn(b)} on y"
            return Finding("draws", words, b.where)
    longer = one if len(one) > len(other) else other
    words = f"{len(one)} {'draw' if len(one) == 1 else 'draws'} on x and {len(other)} on y"
    return Finding("draws", words, longer[min(len(one), len(other))].where)


def _shown(draw: Draw) -> str:
    """Show the parameters of a draw, and how often and by what its noise was multiplied."""
    shown = [f"{name} {_plain(value)}" for name, value in draw.parameters.items()]
    if draw.candidates is not None:
        shown.append(f"{draw.candidates} values to choose from")
    factors = np.concatenate([np.zeros(0), *(use.factor.reshape(-1) for use in draw.uses)])
    if np.any(factors != 1):
        shown.append(f"noise times {_plain(factors)}")
    elif draw.uses:
        shown.append(f"noise on {factors.size} numbers")
    return "\n".join(shown)


def _plain(value: Any) -> str:
    if callable(value):  # made anew in each run
        return str(getattr(value, "__qualname__", type(value).__name__))
    if isinstance(value, np.ndarray | np.generic):
        return str(value.tolist())
    return _ADDRESS.sub("0x...", repr(value))


def changes(one: Sequence[Draw], other: Sequence[Draw]) -> Iterator[Change | None]:
    """Yield how far the numbers under each draw moved; None where that was not seen."""
    for a, b in zip(one, other, strict=False):
        if a.norm is None or (a.kind, a.shape) != (b.kind, b.shape):
            yield None
        else:
            yield _change(a, b)


def _change(a: Draw, b: Draw) -> Change | None:
    mine, yours = _values(a), _values(b)
    if mine is None and yours is None:
        return None
    at, before, factor = mine or yours or (np.zeros(0),) * 3
    first = before if mine else np.zeros_like(before)
    size = _moved(first, _put(yours, before.shape) if yours else np.zeros_like(before))
    l1, l2, linf = float(size.sum()), float(np.sqrt((size**2).sum())), float(size.max(initial=0))
    loss = None
    if a.scale is not None and a.norm != "linf":
        width = np.broadcast_to(a.scale, a.shape).reshape(-1)[at] * np.abs(factor)
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.where(size > 0, size / width, 0.0)
        loss = float(parts.sum() if a.norm == "l1" else np.sqrt((parts**2).sum()))
    return Change(a.kind, a.where, l1, l2, linf, a.norm or "linf", loss, a.declared)


def _moved(one: Array, other: Array) -> Array:
    """Return how far numbers moved: for ever where one side alone is infinite or not a number."""
    with np.errstate(invalid="ignore"):
        size = np.abs(one - other)
    size = np.where(np.isnan(size), np.inf, size)
    return np.where((one == other) | (np.isnan(one) & np.isnan(other)), 0.0, size)


def _values(draw: Draw) -> tuple[Array, Array, Array] | None:
    if draw.location is not None and not draw.uses and draw.declared is not None:
        flat = draw.location.astype(np.float64).reshape(-1)  # a mechanism that was handed zero
        return np.arange(flat.size), flat, np.ones(flat.size)
    return draw.onto()


def _put(found: tuple[Array, Array, Array], shape: tuple[int, ...]) -> Array:
    values = np.zeros(shape)
    values[: found[1].size] = found[1][: values.size]
    return values


def too_far(found: Sequence[Change]) -> Iterator[Finding]:
    """Yield the changes that are larger than the noise was made for."""
    for change in found:
        if change.linf == math.inf:
            words = "a number is infinite or not a number on one side, which no noise hides"
            yield Finding("sensitivity", words, change.where)
            continue
        if change.loss == math.inf:
            words = "a number that moves gets noise of scale 0"
            yield Finding("sensitivity", words, change.where)
        size = getattr(change, change.norm)
        if change.declared is not None and size > change.declared * (1 + _TOLERANCE):
            words = f"the numbers moved by {size:.6g} in {change.norm}, "
            words += f"declared is {change.declared:.6g}"
            yield Finding("sensitivity", words, change.where)


def too_dear(found: Sequence[Change], epsilon: float, delta: float) -> Iterator[Finding]:
    """Yield a finding if the changes cost more than a claim, by the noise on top of them.

    Losses of Laplace noise add up; ratios of Gaussian noise add up as squares, and what they lose
    is held against the epsilon that Laplace noise has left.
    """
    known = [change for change in found if change.loss]
    pure = sum(change.loss or 0.0 for change in known if change.norm == "l1")
    squares = sum((change.loss or 0.0) ** 2 for change in known if change.norm == "l2")
    worst = max(known, key=lambda change: change.loss or 0.0, default=None)
    if worst is None or math.isinf(pure + squares):  # the latter is told by too_far
        return
    moved = f"the numbers moved by {getattr(worst, worst.norm):.6g} in {worst.norm}"
    if pure > epsilon * (1 + _TOLERANCE):
        words = f"{moved}: that costs epsilon {pure:.6g}, claimed is {epsilon:g}"
        yield Finding("sensitivity", words, worst.where)
    elif squares:
        left = max(Fraction(epsilon) - Fraction(pure), Fraction(0))
        true = continuous_delta(ratio=Fraction(squares), epsilon=left)
        if true > delta * (1 + 1e-6):
            words = f"{moved}: that costs delta {true:.6g} at epsilon {epsilon:g}, "
            yield Finding("sensitivity", f"{words}claimed is {delta:g}", worst.where)


def form(value: Any) -> str:
    """Say what form a value has, without the numbers in it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {form(v)}" for key, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}: {_forms(value)}"
    if isinstance(value, float | np.floating):
        return "a float" if math.isfinite(value) else f"the float {float(value)}"
    kind, shape = getattr(value, "dtype", ""), getattr(value, "shape", None)
    suffix = f" of {kind} of shape {shape}" if isinstance(shape, tuple) and shape else ""
    size = f" of {len(value)}" if isinstance(value, set | frozenset) else ""
    return "None" if value is None else f"a {type(value).__name__}{suffix}{size}"


def _forms(values: Sequence[Any]) -> str:
    forms = list(dict.fromkeys(map(form, values)))
    return forms[0] if len(forms) == 1 else ", ".join(map(form, values))


def leaves(value: Any, seen: set[int] | None = None) -> list[Any]:
    """Return all single values of an output, in order, with labels and what objects hold.

    ``seen`` are the objects that were looked into, as they may hold each other.
    """
    seen = set() if seen is None else seen
    if isinstance(value, np.ndarray):
        return list(value.reshape(-1).tolist())
    parts = None if id(value) in seen else _parts(value)
    if parts is None:
        return [value]
    if hasattr(value, "__dict__"):
        seen.add(id(value))
    return [leaf for v in parts for leaf in leaves(v, seen)]


def _parts(value: Any) -> list[Any] | None:
    """Return what a value is made of; None if it is a single one."""
    if isinstance(value, Mapping | list | tuple):
        return list(value.values() if isinstance(value, Mapping) else value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, part.name) for part in dataclasses.fields(value)]
    if hasattr(value, "to_numpy"):
        return [_labels(value), value.to_numpy()]
    shown: Any = type(value).__repr__
    if shown is not object.__repr__:
        return None
    slots = getattr(type(value), "__slots__", ())
    return [*getattr(value, "__dict__", {}).values(), *(getattr(value, n, None) for n in slots)]


def _labels(table: Any) -> str:
    """Return the names of rows and columns of a table."""
    held = [getattr(table, name, None) for name in ("index", "columns", "names", "name")]
    return repr([list(one) if isinstance(one, Iterable) else one for one in held])


def raised(end: object) -> str:
    """Say which error a run ended in."""
    if not isinstance(end, BaseException):
        return "no error"
    return f"{type(end).__name__}: {_ADDRESS.sub('0x...', str(end))}"


def _drawn(draw: Draw) -> str:
    return f"{draw.kind} of shape {draw.shape}" if draw.shape else draw.kind


def _short(text: str, longest: int = 60) -> str:
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
