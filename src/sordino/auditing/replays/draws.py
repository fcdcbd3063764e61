# SPDX-License-Identifier: Apache-2.0
"""Draws of noise that are kept: what was drawn, where in the code, and what it was added to.

Noise is a number or an array that behaves like those of numpy and notes what it is added to. A
product with a plain number is still noise, of another scale; a part of an array is still noise; a
sum with a plain number is a noisy value, and the plain number is noted. All else is plain. Where
sums are chained, further numbers that are added to a noisy value count as added to its noise.

In a run that replays another a sum comes out as it did there: whoever sees the noisy value alone
learns nothing more, and what differs further on does not come from it.
"""

from __future__ import annotations

import copy
import sys
import sysconfig
import threading
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterator


Array: TypeAlias = npt.NDArray[Any]
Norm: TypeAlias = Literal["l1", "l2", "linf"]

_SHIFT = 1 << 52
_OWN = str(Path(__file__).parent)
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


@dataclass(slots=True)
class Use:
    """One sum that noise went into: which numbers of the draw, times what, and onto what.

    ``steps`` is how many numbers were added to the noise, one after the other.
    """

    places: Array
    factor: Array
    before: Array
    result: Array
    steps: int = 1


@dataclass(slots=True)
class Draw:
    """One call that drew noise.

    ``parameters`` must not depend on the data. ``norm`` is how changes are measured against
    ``scale``: the sum of both is a loss for Laplace noise (l1), the root of the sum of squares a
    ratio for Gaussian noise (l2). ``declared`` is the sensitivity that the noise was made for.
    ``candidates`` is of how many values of the data it chooses.
    ``twin`` is the same draw of the run that is replayed, and ``tied`` tells whether this one came
    out as the same noisy values. ``chained`` is that of the recorder,
    and ``ends`` how many steps each sum will have.
    """

    kind: str
    parameters: dict[str, Any]
    where: str
    shape: tuple[int, ...] = ()
    norm: Norm | None = None
    scale: Array | None = None
    location: Array | None = None
    declared: float | None = None
    candidates: int | None = None
    price: str | None = None
    result: Any = None
    uses: list[Use] = field(default_factory=list)
    twin: Draw | None = None
    tied: bool = False
    chained: bool = False
    ends: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """How many numbers were drawn."""
        return int(np.prod(self.shape, dtype=np.int64))

    def onto(self) -> tuple[Array, Array, Array] | None:
        """Return what the noise was added to, by place, with the factor of the noise.

        None if that was not seen.
        """
        centres = np.zeros(self.size)
        if self.location is not None:
            centres = np.broadcast_to(self.location, self.shape).astype(np.float64).reshape(-1)
        if not self.uses:
            return (np.arange(self.size), centres, np.ones(self.size)) if centres.any() else None
        places = np.concatenate([use.places.reshape(-1) for use in self.uses])
        before = np.concatenate([use.before.reshape(-1) for use in self.uses])
        factor = np.concatenate([use.factor.reshape(-1) for use in self.uses])
        return places, before.astype(np.float64) + centres[places], factor


class Tape:
    """Pieces of randomness that were read outside of any draw."""

    def __init__(self, recorded: Sequence[bytes]) -> None:
        self.kept: list[bytes] = []
        self._recorded = recorded

    def take(self, fresh: bytes) -> bytes:
        """Return the same piece of the run that is replayed, or a fresh one of the same length."""
        place = len(self.kept)
        held = self._recorded[place] if place < len(self._recorded) else b""
        self.kept.append(held if len(held) == len(fresh) else fresh)
        return self.kept[-1]


class Recorder:
    """Keeps the draws of one run; a run that replays another gets its noisy values.

    Runs of the same number draw the same noise by numpy too, which matters where it cannot be
    followed. With ``shifted`` noise that is followed is another one, so that only sums come out as
    in the run that is replayed. With ``chained`` all that is added to noise, one number after the
    other, is one sum, and only the last of them is a noisy value; ``guide`` is a run on the same
    data that tells which is the last. A recorder keeps the draws of its own thread, until it is
    closed.
    """

    def __init__(
        self,
        number: int,
        replayed: Recorder | None = None,
        *,
        shifted: bool = False,
        chained: bool = False,
        guide: Recorder | None = None,
    ) -> None:
        self.number = number
        self.chained = chained
        self.shifted = shifted
        self._thread: int | None = threading.get_ident()
        self.draws: list[Draw] = []
        self.tape: Tape = Tape(() if replayed is None else replayed.tape.kept)
        self._recorded: list[Draw] = [] if replayed is None else replayed.draws
        self._guides: list[Draw] = [] if guide is None else guide.draws
        self._depth = 0

    @property
    def seed(self) -> int:
        """What the next draw is made from: the number of the run and of the draw."""
        return (self.number << 32) + len(self.draws)

    def seed_of(self, draw: Draw) -> int:
        """What a draw is made from; another number if the run is shifted and it is followed."""
        return self.seed + (_SHIFT if self.shifted and draw.norm is not None else 0)

    @property
    def inside(self) -> bool:
        """Tell whether draws are not to be kept.

        So it is while a draw is being made, as what it draws in turn is its own affair; in other
        threads; and once the run is over, in generators that were made in it and live on.
        """
        return self._depth > 0 or threading.get_ident() != self._thread

    def close(self) -> None:
        """Keep nothing from now on; all that still draws through here draws real noise."""
        self._thread = None

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Make one draw; those that it makes in turn are not kept."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def keep(self, draw: Draw, result: Any = None) -> Any:
        """Keep a draw; return its result, or that of the same draw in the run that is replayed.

        Only what is told once and for all is replayed; what can be asked again holds its own data.
        """
        place = len(self.draws)
        self.draws.append(draw)
        draw.result, draw.chained = result, self.chained
        if place < len(self._guides):
            draw.ends = tuple(use.steps for use in self._guides[place].uses)
        held = self._recorded[place] if place < len(self._recorded) else None
        if held is not None and (held.kind, held.shape) == (draw.kind, draw.shape):
            draw.twin = held
        if draw.twin is None or not is_told(result):
            return result
        draw.tied = True
        draw.result = copy.deepcopy(draw.twin.result)
        return draw.result


def is_told(result: Any) -> bool:
    """Tell whether a result is plain values: numbers, text, and collections of them."""
    if isinstance(result, Mapping):
        return all(is_told(part) for pair in result.items() for part in pair)
    if isinstance(result, list | tuple | set | frozenset):
        return all(map(is_told, result))
    if isinstance(result, np.ndarray):
        return result.dtype.kind != "O" or all(map(is_told, result.reshape(-1).tolist()))
    return isinstance(result, int | float | complex | str | bytes | np.generic | date | Fraction)


def caller() -> str:
    """Return file and line of the code under test that asked for a draw."""
    frame = sys._getframe(1)
    while frame.f_back is not None and not is_under_test(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def is_under_test(filename: str) -> bool:
    """Tell whether a file is part of the code under test: neither of a library nor of ours."""
    return not filename.startswith((_OWN, "<", *_LIBRARIES)) and "site-packages" not in filename


_SUMS = {np.add: 1.0, np.subtract: -1.0}


# Both kinds of noise name the same fields: a number of numpy that has a second base breaks it.
class NoiseArray(np.ndarray):
    """An array of noise."""

    draw: Draw | None
    places: Array
    factor: Array
    use: Use | None
    step: int

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _applied(ufunc, method, inputs, options)

    def __array_finalize__(self, whole: Any) -> None:
        self.draw, self.use, self.step = None, None, 0

    def __getitem__(self, key: Any) -> Any:
        part = plain(self)[key]
        if self.draw is None:
            return part
        return followed(part, self.draw, self.places[key], self.factor[key])


def _operators(ufunc: Any) -> tuple[Any, Any]:
    """Return the methods by which a number is the first or the second in an operation of numpy."""

    def first(self: Any, other: Any) -> Any:
        return ufunc(self, other)

    def second(self: Any, other: Any) -> Any:
        return ufunc(other, self)

    return first, second


class Noise(np.float64):
    """A single number of noise."""

    draw: Draw | None
    places: Array
    factor: Array
    use: Use | None
    step: int

    __add__, __radd__ = _operators(np.add)
    __sub__, __rsub__ = _operators(np.subtract)
    __mul__, __rmul__ = _operators(np.multiply)
    __truediv__, _ = _operators(np.divide)
    __array_ufunc__ = NoiseArray.__array_ufunc__

    def __neg__(self) -> Any:
        return np.negative(self)


def followed(value: Any, draw: Draw, places: Any, factor: Any) -> Any:
    """Return a value that notes in a draw what it is added to."""
    array = np.asarray(value)
    if array.dtype.kind != "f":
        return value
    noise: Any = Noise(value) if array.ndim == 0 else array.view(NoiseArray)
    noise.draw, noise.use, noise.step = draw, None, 0
    noise.places = np.asarray(places)
    noise.factor = np.asarray(factor, dtype=np.float64)
    return noise


def noise_of(value: Any, draw: Draw) -> Any:
    """Return all that a draw drew, so that it notes what it is added to."""
    shape = np.shape(value)
    size = int(np.prod(shape, dtype=np.int64))
    return followed(value, draw, np.arange(size).reshape(shape), np.ones(shape))


def plain(value: Any) -> Any:
    """Return a value as numpy has it."""
    if isinstance(value, Noise):
        return np.float64(float(value))
    return value.view(np.ndarray) if isinstance(value, NoiseArray) else value


def _applied(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    values = tuple(map(plain, inputs))
    if options.get("out"):
        options = options | {"out": tuple(map(plain, options["out"]))}
    before = tuple(map(np.copy, values)) if ufunc in _SUMS and options.get("out") else values
    result = getattr(ufunc, method)(*values, **options)
    noisy = [place for place, value in enumerate(inputs) if getattr(value, "draw", None)]
    if method != "__call__" or len(noisy) != 1:
        return result
    at = noisy[0]
    held, other = inputs[at], before[1 - at] if len(values) > 1 else None
    if ufunc in _SUMS:
        sign = _SUMS[ufunc]  # of the second number
        return _summed(held, other, result, signs=(1.0, sign) if at == 0 else (sign, 1.0))
    if held.use is not None:  # a noisy value is no noise of another scale
        return result
    if ufunc is np.negative:
        return followed(result, held.draw, held.places, -held.factor)
    if ufunc is np.multiply or (ufunc is np.divide and at == 0):
        return _scaled(held, other, result, ufunc)
    return result


def _summed(held: Any, other: Any, result: Any, *, signs: tuple[float, float]) -> Any:
    """Note what noise was added to; return the sum, or that of the run that is replayed.

    ``signs`` are those of the noise and of the other number in the sum.
    """
    try:
        before = signs[1] * np.asarray(other, dtype=np.float64)
    except (TypeError, ValueError):  # it is no number
        return result
    draw, use = held.draw, held.use
    places, factor, before = np.broadcast_arrays(held.places, held.factor, before)
    if use is not None and (use.steps, use.before.shape) == (held.step, before.shape):
        use.before = signs[0] * use.before + before
        use.steps += 1
    else:
        use = Use(places.copy(), factor.copy(), before.copy(), np.array(result))
        draw.uses.append(use)
    number = next(place for place, one in enumerate(draw.uses) if one is use)
    twin = None if draw.twin is None or number >= len(draw.twin.uses) else draw.twin.uses[number]
    last = draw.ends[number] if number < len(draw.ends) else 1
    draw.tied = twin is not None and use.steps == last and twin.result.shape == np.shape(result)
    if twin is not None and draw.tied and isinstance(result, np.ndarray):
        result[...] = twin.result
    elif twin is not None and draw.tied:
        result = type(result)(twin.result)
    use.result = np.array(result)
    if not draw.chained:
        return result
    noisy = followed(result, draw, places, factor)
    if isinstance(noisy, Noise | NoiseArray):
        noisy.use, noisy.step = use, use.steps
    return noisy


def _scaled(held: Any, other: Any, result: Any, ufunc: Any) -> Any:
    try:
        factor = ufunc(held.factor, np.asarray(other, dtype=np.float64))
    except (TypeError, ValueError):
        return result
    return followed(result, held.draw, np.broadcast_to(held.places, factor.shape), factor)
