# SPDX-License-Identifier: Apache-2.0
"""Random compositions of sampled Gaussian noise, beside an integral of their own over frequencies.

The loss of one use is a smooth function of a normal number, so a sum over evenly spaced numbers has
all digits of its transform. With t a tilt and f the transform of the tilted sum of all losses, less
epsilon, delta is its moment times the mean of f(w) / ((t + i w) (t + 1 + i w)): no grid of losses,
no window and no profile is used.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

import numpy as np
import pytest

from sordino.privacy import losses
from sordino.privacy.leaf import Floats
from sordino.privacy.loss import Loss, compose

SURE = 1e-7  # relative: what the sums of this page may be off by, and more
REACH = 13.0  # standard deviations
NODES = 900
LEFT_OUT = 36.0  # exp of minus this is what comes back from the next period
AWAY = (1.0, 2.0, 4.0, 8.0)  # changes of the tilt, in inverse deviations of the sum
FEWEST = 200  # uses, so that the transform fades


@dataclass(frozen=True)
class Way:
    """The losses of one use of each noise, in one order of the pairs, and their chances."""

    parts: list[tuple[Floats, Floats, int]]

    def moment(self, tilt: float) -> float:
        """The logarithm of the mean of exp(tilt * loss) of all uses together."""
        means = (float(p @ np.expm1(tilt * loss)) for loss, p, _ in self.parts)
        return sum(n * math.log1p(m) for m, (_, _, n) in zip(means, self.parts, strict=True))

    def delta(self, epsilon: float) -> float:
        """The profile at an epsilon, by the tilt at which the bound of a moment is the least."""
        logs = np.linspace(-5, 4, 181)
        rises = [self.moment(math.exp(x)) - math.exp(x) * epsilon - x for x in logs.tolist()]
        tilt = math.exp(float(logs[int(np.argmin(rises))]))
        height = self.moment(tilt)
        tilted = []
        for loss, p, n in self.parts:
            mass = p * np.exp(tilt * loss)
            tilted.append((loss, mass / mass.sum(), n))
        mean = sum(n * float(mass @ loss) for loss, mass, n in tilted)
        square = sum(n * float(mass @ (loss - mass @ loss) ** 2) for loss, mass, n in tilted)
        aways = [a / math.sqrt(square) for a in AWAY]
        high = min((self.moment(tilt + a) - height + LEFT_OUT) / a for a in aways)
        low = max((height - self.moment(tilt - a) - LEFT_OUT) / a for a in aways)
        period = max(high, epsilon) - min(low, epsilon) + LEFT_OUT / tilt
        total, chunk = 0.0, 64
        for start in count(0, chunk):
            w = np.arange(start, start + chunk) * (2 * math.pi / period)
            log = 1j * w * (mean - epsilon)
            for loss, mass, n in tilted:
                turned = np.outer(w, loss - mass @ loss)
                log += n * np.log1p((-2 * np.sin(turned / 2) ** 2 + 1j * np.sin(turned)) @ mass)
            values = np.exp(log) / ((tilt + 1j * w) * (tilt + 1 + 1j * w))
            total += float(values.real.sum()) - float(values[0].real) / 2 * (start == 0)
            if abs(values).max() < SURE / 1000 / chunk * abs(total):
                return total * 2 / period * math.exp(height - tilt * epsilon)
        raise AssertionError


def both_ways(sigma: float, rate: float) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Losses and chances of one use, with the unit in P and with the unit in Q."""
    low, high = -REACH, REACH + 1 / sigma
    x = np.linspace(low, high, NODES)
    without = np.exp(-(x**2) / 2)
    without /= without.sum()
    ratio = x / sigma - 1 / (2 * sigma**2)
    loss = np.log1p(rate * np.expm1(ratio))
    return (loss, without * np.exp(loss)), (-loss, without)


def of_seed(seed: int) -> None:
    """Draw a composition, and hold both ends of an epsilon and of a delta against the truth."""
    dice = random.Random(seed)  # noqa: S311 - which composition it is, is no secret
    parts: list[Loss] = []
    ways = Way([]), Way([])
    for _ in range(dice.choice((1, 1, 2, 3))):
        uses = int(FEWEST * 10 ** dice.uniform(0, 4))
        sigma = float(f"{10 ** dice.uniform(-0.2, 2):.3g}")
        rate = min(sigma * math.sqrt(10 ** dice.uniform(-2, 1) / uses), 1.0)
        exact = Fraction(f"{rate:.3g}")
        noise = losses.gaussian(sigma=sigma)
        parts.append(uses * losses.subsampled(noise, rate=exact, neighbours="add_remove"))
        for way, (loss, p) in zip(ways, both_ways(sigma, float(exact)), strict=True):
            way.parts.append((loss, p, uses))
    whole = compose(parts)
    distribution = whole.pld()

    def truth(epsilon: float) -> float:
        return max(way.delta(epsilon) for way in ways)

    delta = 10 ** dice.uniform(-14, -2)
    bracket = distribution.epsilon(delta=delta)
    assert bracket.lower <= whole.epsilon(delta=delta) <= bracket.upper < math.inf
    if bracket.upper > 0:
        assert truth(whole.epsilon(delta=delta)) <= delta * (1 + SURE)
    if bracket.lower > 0:
        assert truth(bracket.lower) >= delta * (1 - SURE)
    epsilon = dice.uniform(0.2, 1.2) * bracket.upper
    among, exact_delta = distribution.delta(epsilon=epsilon), truth(epsilon)
    assert among.lower * (1 - SURE) <= exact_delta <= whole.delta(epsilon=epsilon) * (1 + SURE)


def test_the_integral_is_that_of_gaussian_noise_without_a_sample() -> None:
    sigma, uses, epsilon = 20.0, 900, 4.0
    (loss, p), _ = both_ways(sigma, 1.0)
    mu = math.sqrt(uses) / sigma

    def below(z: float) -> float:
        return math.erfc(-z / math.sqrt(2)) / 2

    exact = below(mu / 2 - epsilon / mu) - math.exp(epsilon) * below(-mu / 2 - epsilon / mu)
    assert Way([(loss, p, uses)]).delta(epsilon) == pytest.approx(exact, rel=SURE / 100)


@pytest.mark.parametrize("seed", range(1, 5))
def test_no_number_is_on_the_wrong_side_of_an_integral(seed: int) -> None:
    of_seed(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5, 305))
def test_no_number_of_many_is_on_the_wrong_side_of_an_integral(seed: int) -> None:
    of_seed(seed)
