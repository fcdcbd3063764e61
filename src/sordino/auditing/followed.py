# SPDX-License-Identifier: Apache-2.0
"""Noise that notes what it is added to: numbers and arrays that behave like those of numpy.

A product with a plain number is still noise, of another scale; a part of an array is still noise;
a sum with a plain number is a noisy value, and the plain number is noted. All else is plain. Where
sums are chained, further numbers that are added to a noisy value count as added to its noise.

In a run that replays another a sum comes out as it did there: whoever sees the noisy value alone
learns nothing more, and what differs further on does not come from it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sordino.auditing.draws import Array, Draw, Use

_SUMS = {np.add: 1.0, np.subtract: -1.0}


class NoiseArray(np.ndarray):
    """An array of noise.

    Guarantee: none needed; for invented data only.
    """

    draw: Draw | None
    places: Array
    factor: Array
    use: Use | None
    step: int

    def __array_finalize__(self, whole: Any) -> None:
        self.draw, self.use, self.step = None, None, 0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _applied(ufunc, method, inputs, options)

    def __getitem__(self, key: Any) -> Any:
        part = plain(self)[key]
        if self.draw is None:
            return part
        return followed(part, self.draw, self.places[key], self.factor[key])


class Noise(np.float64):
    """A single number of noise.

    Guarantee: none needed; for invented data only.
    """

    draw: Draw | None
    places: Array
    factor: Array
    use: Use | None
    step: int

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _applied(ufunc, method, inputs, options)

    def __add__(self, other: Any) -> Any:
        return np.add(self, other)

    def __radd__(self, other: Any) -> Any:
        return np.add(other, self)

    def __sub__(self, other: Any) -> Any:
        return np.subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        return np.subtract(other, self)

    def __mul__(self, other: Any) -> Any:
        return np.multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return np.multiply(other, self)

    def __truediv__(self, other: Any) -> Any:
        return np.divide(self, other)

    def __neg__(self) -> Any:
        return np.negative(self)


def followed(value: Any, draw: Draw, places: Any, factor: Any) -> Any:
    """Return a value that notes in a draw what it is added to."""
    array = np.asarray(value)
    if array.dtype.kind != "f":
        return value
    found: Any = Noise(value) if array.ndim == 0 else array.view(NoiseArray)
    found.draw, found.use, found.step = draw, None, 0
    found.places = np.asarray(places)
    found.factor = np.asarray(factor, dtype=np.float64)
    return found


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
    if factor.shape != held.factor.shape:
        places = np.broadcast_to(held.places, factor.shape)
        return followed(result, held.draw, places, factor)
    return followed(result, held.draw, held.places, factor)
