# SPDX-License-Identifier: Apache-2.0
"""Random compositions whose truth is a sum of positive numbers: no transform, grid or tilt.

Either all losses are multiples of one step, and their laws are added up place by place, or they are
those of sampled responses, and what is counted is how many of them were answered with the truth.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from sordino.privacy.laplace import DiscreteLaplace
from sordino.privacy.leaf import Floats, Leaf
from sordino.privacy.loss import Loss
from sordino.privacy.pure import Approximate, KaryResponse, Pure
from sordino.privacy.subsampled import PoissonSubsampled

SURE = 1e-9  # relative: what the sums of this page may be off by, and more
MANY = 49  # different leaves: from here on they are joined in pairs
LEAST = 1e-60  # chances below this are left out
DIGITS = 40  # a loss of 1e-7 is a logarithm of which 15 digits leave hardly any
LARGEST = 30_000  # places or counts whose sum takes no time
Atoms = dict[int, float]
Truth = Callable[[float], float]


@dataclass(frozen=True)
class Composition:
    """A composition, and the least delta that is true of it at each epsilon."""

    loss: Loss
    truth: Truth


def response(step: Fraction, place: int, categories: int) -> Atoms:
    lie = math.exp(-float(place * step))
    whole = 1 + (categories - 1) * lie
    atoms = {place: 1 / whole, -place: lie / whole}
    return atoms | ({0: (categories - 2) * lie / whole} if categories > 2 else {})


def laplace(step: Fraction, shift: int) -> Atoms:
    fall = math.exp(-float(step))
    atoms = {shift - 2 * at: -math.expm1(-float(step)) * fall**at for at in range(1, shift)}
    return {
        at: mass / (1 + fall) for at, mass in {shift: 1.0, -shift: fall**shift, **atoms}.items()
    }


def leaf_on_lattice(dice: random.Random, step: Fraction, place: int) -> tuple[Leaf, Atoms]:
    bound = place * step
    match dice.choice(("pure", "approximate", "response", "laplace")):
        case "pure":
            return Pure(epsilon=bound), response(step, place, 2)
        case "approximate":
            slack = Fraction(1, 10 ** dice.randint(4, 16))
            return Approximate(epsilon=bound, delta=slack), response(step, place, 2)
        case "response":
            categories = dice.choice((2, 3, 10, 10**6))
            leaf = KaryResponse(epsilon=bound, categories=categories)
            return leaf, response(step, place, categories)
    shift = min(place, 25)
    return DiscreteLaplace(eta=step, shift=shift), laplace(step, shift)


def added(masses: Floats, atoms: Atoms) -> Floats:
    """Add a loss to a sum of losses; the first place of the result is that of the least loss."""
    low, high = min(atoms), max(atoms)
    total = np.zeros(masses.size + high - low)
    for place, mass in atoms.items():
        total[place - low : place - low + masses.size] += mass * masses
    return total


def on_lattice(dice: random.Random, *, leaves: int) -> Composition:
    step = Fraction(dice.choice((1, 2, 3, 5)), dice.choice((100, 1000, 3000, 10**4)))
    places = dice.sample(range(1, 3 * leaves + 20), leaves)
    parts: list[tuple[Leaf, int]] = []
    masses, first, sound = np.ones(1), 0, 0.0
    for place in places:
        leaf, atoms = leaf_on_lattice(dice, step, place)
        times = dice.choice((1, 1, 2, 5) if leaves >= MANY else (1, 2, 7, 40, 300))
        if masses.size + times * (max(atoms) - min(atoms)) > LARGEST:
            continue
        parts.append((leaf, times))
        for _ in range(times):
            masses, first = added(masses, atoms), first + min(atoms)
        if isinstance(leaf, Approximate):
            sound += times * math.log1p(-float(leaf.slack))
    failed = -math.expm1(sound)

    def truth(epsilon: float) -> float:
        at = Fraction(epsilon) / step
        whole = math.floor(at)
        ahead = (np.arange(first - whole, first - whole + masses.size) - float(at - whole)) * float(
            step
        )
        use = ahead > 0
        return failed + (1 - failed) * float(masses[use] @ -np.expm1(-ahead[use]))

    return Composition(Loss(tuple(parts)), truth)


def counts(uses: int, chance: mpmath.mpf) -> tuple[int, Floats]:
    """Return the first number of successes that is likely at all, and the chances from there on."""
    peak = min(int(mpmath.floor((uses + 1) * chance)), uses)
    choose = mpmath.loggamma(uses + 1)
    choose -= mpmath.loggamma(peak + 1) + mpmath.loggamma(uses - peak + 1)
    top = float(
        mpmath.exp(choose + peak * mpmath.log(chance) + (uses - peak) * mpmath.log1p(-chance))
    )
    odds = float(chance / (1 - chance))
    above, below, at = [top], [top], peak
    while at < uses and above[-1] > LEAST:
        above.append(above[-1] * (uses - at) / (at + 1) * odds)
        at += 1
    at = peak
    while at > 0 and below[-1] > LEAST:
        below.append(below[-1] * at / (uses - at + 1) / odds)
        at -= 1
    return at, np.array(below[:0:-1] + above)


def answers(
    epsilon: Fraction, rate: Fraction, uses: int, *, reverse: bool
) -> tuple[Floats, Floats]:
    """Return the losses of so many sampled responses together, and their chances."""
    with mpmath.workdps(DIGITS):
        bound, share = (mpmath.mpf(x.numerator) / x.denominator for x in (epsilon, rate))
        lie = 1 / (1 + mpmath.exp(bound))
        without = (lie, 1 - lie)
        with_unit = tuple(
            (1 - share) * a + share * b for a, b in zip(without, without[::-1], strict=True)
        )
        p, q = (without, with_unit) if reverse else (with_unit, without)
        high, low = (mpmath.log(a / b) for a, b in zip(p, q, strict=True))
        first, chances = counts(uses, p[0])
        start, apart = float(uses * low + first * (high - low)), float(high - low)
    losses: Floats = start + apart * np.arange(chances.size, dtype=np.float64)
    return losses, chances


def sampled(dice: random.Random, *, leaves: int) -> Composition:
    parts: list[tuple[Leaf, int]] = []
    ways: tuple[list[tuple[Floats, Floats]], ...] = ([], [])
    for _ in range(leaves):
        epsilon = Fraction(f"{10 ** dice.uniform(-3, 1.1):.3g}")
        rate = Fraction(f"{10 ** dice.uniform(-6, -0.01):.3g}")
        uses = int(10 ** dice.uniform(0, 6 if leaves == 1 else 2))
        parts.append((PoissonSubsampled(base=Pure(epsilon=epsilon), rate=rate), uses))
        for way, reverse in zip(ways, (False, True), strict=True):
            way.append(answers(epsilon, rate, uses, reverse=reverse))

    def one_way(way: list[tuple[Floats, Floats]], epsilon: float) -> float:
        (losses, chances), rest = way[0], way[1:]
        if rest:
            values = [one_way(rest, epsilon - loss) for loss in losses.tolist()]
            return float(chances @ np.array(values))
        use = losses > epsilon
        return float(chances[use] @ -np.expm1(epsilon - losses[use]))

    return Composition(Loss(tuple(parts)), lambda e: max(one_way(way, e) for way in ways))


def check(made: Composition, dice: random.Random) -> None:
    """Compare both ends of an epsilon and of a delta with the truth, and with smaller deltas."""
    loss, truth, distribution = made.loss, made.truth, made.loss.pld()
    before = math.inf
    for delta in sorted(10 ** dice.uniform(-15, -2) for _ in range(2)):
        epsilon, bracket = loss.epsilon(delta=delta), distribution.epsilon(delta=delta)
        assert bracket.lower <= epsilon * (1 + SURE) <= before * (1 + 2 * SURE)
        before = epsilon
        if epsilon < math.inf:
            # Losses are doubles here, so that an epsilon may be off by its own rounding.
            assert truth(epsilon * (1 + 1e-14)) <= delta * (1 + SURE)
        if 0 < bracket.lower < math.inf:
            assert truth(bracket.lower * (1 - 1e-11)) >= delta * (1 - SURE)
    top = before if before < math.inf else 1.0
    least = 1.0
    for epsilon in sorted(top * dice.uniform(0, 1.3) for _ in range(2)):
        delta, bracket, exact = (
            loss.delta(epsilon=epsilon),
            distribution.delta(epsilon=epsilon),
            truth(epsilon),
        )
        assert bracket.lower * (1 - SURE) <= exact + LEAST * LARGEST
        assert exact * (1 - SURE) <= delta <= least * (1 + SURE)
        least = delta


def of_seed(seed: int) -> None:
    """Draw what kind of composition it is, and check it."""
    dice = random.Random(seed)  # noqa: S311 - which composition it is, is no secret
    kind, most = dice.choice(((on_lattice, 5), (on_lattice, 5), (sampled, 1), (sampled, 2)))
    check(kind(dice, leaves=dice.randint(1, most)), dice)


@pytest.mark.parametrize("seed", [*range(12), 44])  # the last has losses of 1e-7
def test_no_number_is_on_the_wrong_side_of_the_truth(seed: int) -> None:
    of_seed(seed)


@pytest.mark.parametrize("leaves", [MANY, 120])
def test_nor_is_that_of_many_different_losses(leaves: int) -> None:
    dice = random.Random(leaves)  # noqa: S311 - as above
    check(on_lattice(dice, leaves=leaves), dice)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(12, 412))
def test_no_number_of_many_is_on_the_wrong_side_of_the_truth(seed: int) -> None:
    of_seed(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(60))
def test_nor_is_that_of_any_number_of_different_losses(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - which composition it is, is no secret
    check(on_lattice(dice, leaves=dice.randint(MANY, 200)), dice)
