# SPDX-License-Identifier: Apache-2.0
"""Private medians, quantiles, maxima and trimmed means, with noise as wide as the data need."""

from __future__ import annotations

import math
from fractions import Fraction

from sordino.exact.rational import Integer, Number, positive
from sordino.mechanisms.smooth.mechanism import Calibration, NoiseName, Smooth
from sordino.mechanisms.smooth.noise import Noise
from sordino.sensitivity import order_statistics as ranks
from sordino.sensitivity import trimmed
from sordino.sensitivity.bounds import read_bounds
from sordino.sensitivity.smooth import LocalSensitivity, Range, from_local

_STEP_BITS = 30  # the default step is at most 2**-30 of the range, and more than half of that


def median(
    values: object,
    *,
    bounds: Range,
    epsilon: Number,
    delta: Number = 0,
    noise: NoiseName | Noise = "cauchy",
    beta: Number | None = None,
    calibration: Calibration = "exact",
    step: Number | None = None,
    floor: Number | None = None,
    clamp: bool = True,
) -> float:
    """Release the median of values clamped to public bounds; the lower of two middle ones.

    A value that is missing, which is None or NaN, counts as the lower bound: an error would tell
    that there is one. Leave out records without a value only if their number is public.

    ``noise``, ``beta`` and ``calibration`` are those of Smooth. Results are multiples of ``step``,
    by default a power of two of about 2**-30 of the range, which is also the ``floor`` of the
    smooth bound; unless ``clamp`` is False they stay within the bounds.

    Guarantee:
        Neighbours: replace_one, with a public number of records.
        Loss: epsilon, or (epsilon, delta), for each call.
        Numerics: exact; the smooth bound is rounded up in a way that keeps it smooth.
        Proof: docs/proofs/smooth.md.
    """
    made = _mechanism(
        bounds, clamp=clamp, noise=noise, epsilon=epsilon, delta=delta, beta=beta,
        calibration=calibration, step=step, floor=floor,
    )  # fmt: skip
    return _release_rank(made, values, ranks.middle, bounds)


def quantile(
    values: object,
    *,
    rank: Integer,
    bounds: Range,
    epsilon: Number,
    delta: Number = 0,
    noise: NoiseName | Noise = "cauchy",
    beta: Number | None = None,
    calibration: Calibration = "exact",
    step: Number | None = None,
    floor: Number | None = None,
    clamp: bool = True,
) -> float:
    """Release the value of a public rank, from 1 for the least one.

    Guarantee: as for median.
    """
    place = ranks.at_rank(rank)
    made = _mechanism(
        bounds, clamp=clamp, noise=noise, epsilon=epsilon, delta=delta, beta=beta,
        calibration=calibration, step=step, floor=floor,
    )  # fmt: skip
    return _release_rank(made, values, place, bounds)


def maximum(
    values: object,
    *,
    bounds: Range,
    epsilon: Number,
    delta: Number = 0,
    noise: NoiseName | Noise = "cauchy",
    beta: Number | None = None,
    calibration: Calibration = "exact",
    step: Number | None = None,
    floor: Number | None = None,
    clamp: bool = True,
) -> float:
    """Release the largest value.

    One record can always raise it to the upper bound, so the noise is as wide as what is missing to
    that bound, and more: a bound far above the data makes this useless.

    Guarantee: as for median.
    """
    made = _mechanism(
        bounds, clamp=clamp, noise=noise, epsilon=epsilon, delta=delta, beta=beta,
        calibration=calibration, step=step, floor=floor,
    )  # fmt: skip
    return _release_rank(made, values, ranks.largest, bounds)


def trimmed_mean(
    values: object,
    *,
    trim: Integer,
    bounds: Range,
    epsilon: Number,
    delta: Number = 0,
    noise: NoiseName | Noise = "cauchy",
    beta: Number | None = None,
    calibration: Calibration = "exact",
    step: Number | None = None,
    floor: Number | None = None,
    clamp: bool = True,
) -> float:
    """Release the mean of what is left without the ``trim`` least and the ``trim`` largest values.

    The default step is made for the range of the values; the mean of many records moves by much
    less, and a smaller ``step`` may be wanted.

    Guarantee: as for median, for values rounded to 2**-52 of the larger bound.
    """
    made = _mechanism(
        bounds, clamp=clamp, noise=noise, epsilon=epsilon, delta=delta, beta=beta,
        calibration=calibration, step=step, floor=floor,
    )  # fmt: skip
    setting = ranks.read_setting(bounds, made.beta, made.floor)
    return made.release(*trimmed.trimmed_mean(values, trim, setting))


def custom(
    value: object,
    local: LocalSensitivity,
    *,
    global_bound: Number,
    records: Integer | None = None,
    bounds: Range | None = None,
    epsilon: Number,
    delta: Number = 0,
    noise: NoiseName | Noise = "cauchy",
    beta: Number | None = None,
    calibration: Calibration = "exact",
    step: Number | None = None,
    floor: Number | None = None,
) -> float:
    """Release a user's own statistic, whose local sensitivity within k changes is local(k).

    ``value`` is the statistic of the data, and ``local`` belongs to the same data: see
    LocalSensitivity for what it must keep to. ``global_bound`` is the global sensitivity, or more,
    and ``records`` the public number of records, from which on it takes the place of local(k). With
    ``bounds``, which are public, results are moved into them.

    Guarantee:
        Neighbours: those that ``local`` and ``global_bound`` were made for.
        Loss: epsilon, or (epsilon, delta), for each call, if these keep to what is asked of them.
        Numerics: as for median; the value must be exact, or its error be part of ``local``.
        Proof: docs/proofs/smooth.md, theorem 1.
    """
    made = Smooth(
        noise=noise,
        epsilon=epsilon,
        delta=delta,
        beta=beta,
        calibration=calibration,
        step=default_step(positive("global_bound", global_bound)) if step is None else step,
        floor=floor,
        bounds=bounds,
    )
    bound = from_local(
        local, beta=made.beta, global_bound=global_bound, floor=made.floor, records=records
    )
    return made.release(value, bound)


def _mechanism(
    bounds: Range,
    *,
    clamp: bool,
    noise: NoiseName | Noise,
    epsilon: Number,
    delta: Number,
    beta: Number | None,
    calibration: Calibration,
    step: Number | None,
    floor: Number | None,
) -> Smooth:
    ends = read_bounds(bounds)
    if ends.width == 0:
        raise ValueError("bounds must be (low, high) with low below high")
    return Smooth(
        noise=noise,
        epsilon=epsilon,
        delta=delta,
        beta=beta,
        calibration=calibration,
        step=default_step(ends.width) if step is None else step,
        floor=floor,
        bounds=bounds if clamp else None,
    )


def default_step(span: Fraction) -> Fraction:
    """Return a power of two that is at most 2**-30 of a range, and more than half of that.

    Guarantee: none needed; public inputs only.
    """
    _, exponent = math.frexp(float(span))
    return Fraction(2) ** (exponent - 1 - _STEP_BITS)


def _release_rank(made: Smooth, values: object, rank: ranks.Rank, bounds: Range) -> float:
    setting = ranks.read_setting(bounds, made.beta, made.floor)
    return made.release(*ranks.order_statistic(values, rank, setting))
