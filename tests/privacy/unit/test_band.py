# SPDX-License-Identifier: Apache-2.0
"""Sums by few frequencies, beside exact sums: no number may be off by more than it says."""

import math

import mpmath
import numpy as np
import pytest

from sordino.privacy import losses
from sordino.privacy.band import OUTSIDE, Band, Row, Tilted, band
from sordino.privacy.convolve import convolve

STEP = 0.01


def tilted(rows: list[Row], times: list[int], tilt: float, *, step: float = STEP) -> Tilted:
    """Return rows as they come out of a tilt, with a window by Bernstein's inequality."""
    mean = sum(
        n * float((at + np.arange(p.size)) @ p) for (at, p), n in zip(rows, times, strict=True)
    )
    squares = [float((at + np.arange(p.size)) ** 2 @ p) for at, p in rows]
    width = sum(n * square for square, n in zip(squares, times, strict=True))
    longest = max(max(abs(at), abs(at + p.size)) for at, p in rows)
    away = OUTSIDE * longest + math.sqrt(2 * OUTSIDE * width + (OUTSIDE * longest) ** 2)
    return Tilted(
        step=step,
        tilt=tilt,
        log_scale=0.0,
        first=math.floor(mean - away),
        last=math.ceil(mean + away),
        rows=rows,
        times=times,
        infinity=0.0,
        relative=0.0,
    )


def sums(
    uses: int, chance: mpmath.mpf, tilt: float, places: list[int]
) -> list[tuple[mpmath.mpf, ...]]:
    """Return gain and slope of a binomial law at some places, with 40 digits."""
    found = []
    for place in places:
        gain, slope = mpmath.mpf(0), mpmath.mpf(0)
        mass = mpmath.binomial(uses, place) * chance**place * (1 - chance) ** (uses - place)
        for at in range(place, uses + 1):
            ahead = (at - place) * mpmath.mpf(STEP)
            gain += mass * mpmath.exp(-tilt * ahead) * -mpmath.expm1(-ahead)
            slope += mass * mpmath.exp(-(tilt + 1) * ahead)
            mass *= mpmath.mpf(uses - at) / (at + 1) * chance / (1 - chance)
            if mass < mpmath.mpf(10) ** -60:
                break
        found.append((gain, slope))
    return found


@pytest.mark.parametrize(
    ("uses", "chance", "tilt"),
    [
        (2000, "0.5", 2.0),
        (10_000, "0.3", 0.7),
        (10_000, "0.0625", 6.0),
        (10**6, "0.0009765625", 3.0),
        (10**6, "0.5", 0.25),
    ],
)
def test_gains_and_slopes_of_a_binomial_law_are_as_close_as_they_say(
    uses: int, chance: str, tilt: float
) -> None:
    with mpmath.workdps(40):
        p = mpmath.mpf(chance)
        row = (0, np.array([1 - float(chance), float(chance)]))
        made = band(tilted([row], [uses], tilt))
        assert made is not None
        assert made.gains.size < made.size / 4
        mean, deviation = uses * p, mpmath.sqrt(uses * p * (1 - p))
        places = [int(mean + z * deviation) for z in (-6, -2, -1, 0, 1, 2, 4, 6, 8)]
        for place, (gain, slope) in zip(places, sums(uses, p, tilt, places), strict=True):
            here = place - made.first
            off = abs(made.gain(here) - gain) + STEP * abs(made.slope(here) - slope)
            assert off <= made.error
        middle = sums(uses, p, tilt, [int(mean)])[0][0]
        assert made.error <= 1e-8 * middle


def test_the_few_frequencies_say_what_all_of_them_say() -> None:
    dice = np.random.default_rng(7)
    fewer = 0
    for _ in range(40):
        rows: list[Row] = []
        times = []
        for _ in range(int(dice.integers(1, 4))):
            mass = dice.random(int(dice.integers(2, 40))) ** 4
            rows.append((int(dice.integers(-30, 30)), mass / mass.sum()))
            times.append(int(dice.integers(300, 5000)))
        whole = tilted(rows, times, float(dice.uniform(0.1, 3)))
        few, all_of_them = band(whole), convolve(whole)
        if few is None:
            continue
        fewer += 1
        losses_ahead = STEP * np.arange(all_of_them.size)
        for place in dice.integers(0, few.size, 5).tolist():
            ahead = losses_ahead[: all_of_them.size - place]
            mass = all_of_them.mass[place:]
            gain = float(mass @ (np.exp(-whole.tilt * ahead) * -np.expm1(-ahead)))
            # The masses add up to 1, so summing them anew is off by little more than a unit.
            assert abs(few.gain(place) - gain) <= few.error + all_of_them.error + 1e-14
    assert fewer > 30


def test_beyond_the_band_a_transform_is_negligible() -> None:
    dice, found = np.random.default_rng(11), 0
    for _ in range(60):
        size = int(dice.integers(2, 200))
        mass = dice.random(size) ** dice.integers(1, 12, size)
        rows = [(int(dice.integers(-size, size)), mass / mass.sum())]
        uses = int(dice.choice([200, 1000, 30_000, 10**6]))
        made = band(tilted(rows, [uses], 1.0))
        if made is None:
            continue
        found += 1
        beyond = np.linspace(made.angle * made.gains.size, math.pi, 20_000)
        places = np.arange(size)
        moduli = np.abs(np.exp(1j * beyond[:, None] * places) @ rows[0][1])
        assert (uses * np.log(moduli)).max() <= -OUTSIDE
    assert found > 40


def test_sums_that_stay_on_a_wider_lattice_or_hardly_move_have_no_band() -> None:
    assert band(tilted([(-2, np.array([0.4, 0, 0, 0, 0.6]))], [10**5], 1.0)) is None
    assert band(tilted([(0, np.array([1 - 1e-6, 0, 0, 1e-6]))], [10**5], 1.0)) is None
    assert band(tilted([(0, np.array([0.5, 0.5]))], [30], 1.0)) is None
    assert band(tilted([(3, np.array([1.0]))], [1000], 1.0)) is None


def test_short_series_inside_of_blocks_change_nothing() -> None:
    places = np.arange(-4000, 4001)
    mass = np.exp(-(((places - 700) / 900) ** 2)) + 1e-3 * np.exp(-(((places + 2000) / 200) ** 2))
    row = (-4000, mass / mass.sum())
    made = band(tilted([row], [5000], 1.0, step=1e-4))
    assert isinstance(made, Band)
    with mpmath.workdps(30):
        for k in (1, made.gains.size // 2, made.gains.size - 1):
            angle = 2 * mpmath.pi * k / round(2 * math.pi / made.angle)
            one = mpmath.fsum(
                mpmath.mpf(float(p)) * mpmath.expj(angle * (int(at) - 700))
                for at, p in zip(places, row[1], strict=True)
            )
            fall, more = (mpmath.exp(-t * mpmath.mpf(1e-4) - 1j * angle) for t in (1, 2))
            wanted = one**5000 * (fall - more) / ((1 - fall) * (1 - more))
            shift = mpmath.expj(angle * (5000 * 700 - made.centre))
            got = complex(made.gains[k]) * math.pi / made.angle
            assert abs(got - wanted * shift) <= 1e-9 * abs(wanted)


@pytest.mark.parametrize("sigma", [0.3, 1, 5, 100])
@pytest.mark.parametrize("delta", [1e-2, 1e-7, 1e-15])
@pytest.mark.parametrize("uses", [10_000, 10**6])
def test_a_sample_of_everybody_is_bracketed_around_the_closed_form(
    sigma: float, delta: float, uses: int
) -> None:
    noise = losses.gaussian(sigma=sigma)
    exact = (uses * noise).epsilon(delta=delta)
    bracket = (uses * losses.subsampled(noise, rate=1)).pld().epsilon(delta=delta)
    assert bracket.lower <= exact <= bracket.upper
    assert bracket.upper - bracket.lower <= 1e-3 * exact
