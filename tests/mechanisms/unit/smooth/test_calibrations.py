# SPDX-License-Identifier: Apache-2.0
"""The losses of all noises, at the corners and on grids of scales, shifts and outputs."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt
import pytest

from sordino.mechanisms.smooth import (
    CauchyNoise,
    LaplaceNoise,
    LomaxNoise,
    PowerNoise,
    StudentNoise,
)
from sordino.mechanisms.smooth.noise import Noise

Floats = npt.NDArray[np.float64]
Density = Callable[[Floats], Floats]


def read(x: float | str) -> Fraction:
    return Fraction(str(x))


def factor(noise: Noise, epsilon: float, beta: float | str, delta: float | str = 0) -> float:
    found = noise.factor(epsilon=read(epsilon), delta=read(delta), beta=read(beta))
    return float(found)


@pytest.mark.parametrize(
    ("epsilon", "beta", "expected"),
    [
        (1, 0.7353256640555191, 0.9595173756674719),
        (1, 0.1, 0.9595173756674719),
        (1, 0.9, 1.3594633227496848),
        (0.5, 0.25, 2.011785240533923),
        (0.1, 0.05, 11.256045755944704),
        (2, 1, 0.4254590641196608),
    ],
)
def test_cauchy_factors_by_hand(epsilon: float, beta: float, expected: float) -> None:
    found = factor(CauchyNoise(), epsilon, beta)
    assert found == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("epsilon", "beta", "shape", "expected"),
    [(1, 0.1, 10, 10.612873947026), (1, 0.2, 5, 5.7402095856439), (0.5, 0.05, 10, 22.779902846015)],
)
def test_lomax_factors_by_hand(epsilon: float, beta: float, shape: int, expected: float) -> None:
    found = factor(LomaxNoise(shape=shape), epsilon, beta)
    assert found == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("epsilon", "delta", "beta", "expected"),
    [
        (1, "1e-6", "0.034462182", 1.442908264),
        (1, "1e-6", "0.017231091", 1.162937865),
        (1, "1e-6", "0.068924364", 3.068708196),
        (0.5, "1e-6", "0.017231091", 2.77861778),
        (1, "1e-10", "0.021080148", 1.592987527),
    ],
)
def test_laplace_factors_by_hand(epsilon: float, delta: str, beta: str, expected: float) -> None:
    found = factor(LaplaceNoise(), epsilon, beta, delta)
    assert found == pytest.approx(expected, rel=1e-7, abs=0)  # beta was rounded to 8 digits


@pytest.mark.parametrize("noise", [StudentNoise(degrees=1), PowerNoise(gamma=2)], ids=repr)
def test_student_with_one_degree_and_power_noise_of_two_are_cauchy(noise: Noise) -> None:
    for epsilon, beta in ((1, 0.2), (1, 0.9), (0.1, 0.05), (3, 2.5)):
        found = factor(noise, epsilon, beta)
        assert found == pytest.approx(factor(CauchyNoise(), epsilon, beta), rel=1e-14, abs=0)


def student(d: int) -> Density:
    return lambda z: (1 + z * z / d) ** (-(d + 1) / 2)


def lomax(a: float) -> Density:
    return lambda z: (1 + np.abs(z)) ** (-a - 1)


def power(gamma: float) -> Density:
    return lambda z: 1 / (1 + np.abs(z) ** gamma)


PURE: list[tuple[str, Noise, Density, list[tuple[float, float]]]] = [
    ("cauchy", CauchyNoise(), student(1), [(1, 0.3), (1, 0.735), (1, 0.9), (0.1, 0.05), (4, 3.9)]),
    ("lomax 4", LomaxNoise(shape=4), lomax(4), [(1, 0.25), (1, 0.1), (0.1, 0.02), (5, 1.2)]),
    ("lomax 1/2", LomaxNoise(shape=0.5), lomax(0.5), [(1, 0.9), (0.2, 0.1)]),
    ("power 1.2", PowerNoise(gamma=1.2), power(1.2), [(1, 0.9), (0.2, 0.1), (3, 0.5)]),
    ("power 1.5", PowerNoise(gamma=1.5), power(1.5), [(1, 0.5), (1, 0.99), (0.1, 0.01), (4, 2)]),
    ("power 2", PowerNoise(gamma=2), power(2), [(1, 0.3), (1, 0.9), (4, 3.9)]),
    ("power 3", PowerNoise(gamma=3), power(3), [(1, 0.25), (1, 0.49), (0.1, 0.04), (5, 2.4)]),
    ("power 4", PowerNoise(), power(4), [(1, 0.17), (1, 0.3), (0.1, 0.01), (5, 1.6)]),
    ("power 10", PowerNoise(gamma=10), power(10), [(1, 0.05), (1, 0.11), (8, 0.4)]),
    ("student 2", StudentNoise(degrees=2), student(2), [(1, 0.25), (0.3, 0.14), (6, 0.1)]),
    ("student 3", StudentNoise(), student(3), [(1, 0.17), (1, 0.3), (0.1, 0.01), (5, 1.6)]),
    ("student 10", StudentNoise(degrees=10), student(10), [(1, 0.05), (1, 0.099), (20, 1.9)]),
]
OUTPUTS = np.concatenate([[0.0], np.logspace(-6, 9, 4000)])


def loss(density: Density, t: float, shift: float, outputs: Floats) -> float:
    """The largest absolute log ratio of noise of scale 1 at 0 and of scale exp(t) at the shift."""
    ratios = [
        np.log(density(z)) + t - np.log(density((z - shift) * math.exp(-t)))
        for z in (outputs, -outputs, shift + outputs, shift - outputs)
    ]
    return float(max(np.abs(ratio).max() for ratio in ratios))


@pytest.mark.parametrize(("noise", "density", "targets"), [case[1:] for case in PURE],
                         ids=[case[0] for case in PURE])  # fmt: skip
def test_pure_losses_are_kept_on_a_grid_and_reached_at_a_corner(
    noise: Noise, density: Density, targets: list[tuple[float, float]]
) -> None:
    for epsilon, beta in targets:
        c = factor(noise, epsilon, beta)
        times, shares = np.linspace(-beta, beta, 13), (0.0, 0.4, 1.0)
        found = {
            (t, share): loss(density, t, share * min(1, math.exp(t)) / c, OUTPUTS)
            for t, share in product(times.tolist(), shares)
        }
        worst = max(found.values())
        assert worst <= epsilon * (1 + 1e-9)
        corners = max(found[times[place], 1.0] for place in (0, 6, 12))
        assert corners == worst
        assert worst >= epsilon * (1 - 1e-3)  # outputs are on a grid too


@pytest.mark.parametrize("degrees", [1, 2, 3, 5, 20])
def test_the_closed_form_of_the_student_loss_is_the_supremum(degrees: int) -> None:
    for t, shift in product((-0.4, -0.1, 0.0, 0.2, 0.5), (0.0, 0.3, 1.1)):
        e = shift / math.sqrt(degrees)
        angle = math.acosh(math.cosh(t) + e * e * math.exp(-t) / 2)
        closed = (degrees - 1) * abs(t) / 2 + (degrees + 1) * angle / 2
        fine = np.concatenate([np.linspace(0, 30, 60_001), np.logspace(1.4, 9, 20_000)])
        found = loss(student(degrees), t, shift, fine)
        assert found == pytest.approx(closed, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("degrees", [1, 2, 3, 10])
def test_student_factors_are_below_the_sufficient_condition(degrees: int) -> None:
    for epsilon, share in product((0.01, 0.5, 1, 3), (0.1, 0.5, 0.9)):
        beta = round(share * epsilon / degrees, 6)
        if beta:
            sufficient = (degrees + 1) / (2 * math.sqrt(degrees)) / (epsilon - degrees * beta)
            assert factor(StudentNoise(degrees=degrees), epsilon, beta) < sufficient


@pytest.mark.parametrize("gamma", [1.1, 1.5, 2, 3, 4.5, 12])
def test_the_losses_of_sliding_and_of_stretching_are_those_of_the_closed_forms(
    gamma: float,
) -> None:
    fine = np.concatenate([np.linspace(0, 30, 60_001), np.logspace(1.4, 18, 20_000)])
    fine = np.concatenate([fine, np.logspace(-18, -3, 10_000)])
    for epsilon in (0.05, 1.0, 4.0):
        turn = -math.expm1(-epsilon / (gamma - 1))
        slide = math.expm1(epsilon) ** (1 / gamma) * turn ** (1 - 1 / gamma)
        assert loss(power(gamma), 0.0, slide, fine) == pytest.approx(epsilon, rel=1e-5)
    for t in (0.1, 0.7):
        stretched = max(1, gamma - 1) * t
        assert loss(power(gamma), t, 0.0, fine) == pytest.approx(stretched, rel=0.2)
        assert loss(power(gamma), t, 0.0, fine) <= stretched * (1 + 1e-9)


@pytest.mark.parametrize("gamma", [1.1, 1.5, 2, 3, 6, 40])
def test_the_textbook_constants_for_power_noise_hold_and_are_wasteful(gamma: float) -> None:
    noise = PowerNoise(gamma=gamma)
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(9)):
        beta, c = noise.textbook(epsilon=epsilon, delta=Fraction(0), beta=None)
        assert c * beta == 1
        assert noise.factor(epsilon=epsilon, delta=Fraction(0), beta=beta) < c
    with pytest.raises(ValueError, match="textbook constants for power noise need beta"):
        noise.textbook(epsilon=Fraction(1), delta=Fraction(0), beta=Fraction(1, 2))


def laplace_delta(epsilon: float, t: float, shift: float) -> float:
    """The hockey-stick divergence of Lap(0, 1) from Lap(shift, exp(t)), interval by interval."""
    k, r = math.exp(-t), epsilon - t

    def excess(z: float) -> float:
        return abs(z - shift) * k - abs(z) - r

    def below(z: float, centre: float, scale: float) -> float:
        x = (z - centre) / scale
        return math.exp(x) / 2 if x < 0 else 1 - math.exp(-x) / 2

    cuts = {0.0, shift}
    if k != 1:
        cuts |= {(r - shift * k) / (1 - k), (r + shift * k) / (k - 1)}
    cuts.add((shift * k - r) / (1 + k))
    ends = [-math.inf, *sorted(cuts), math.inf]
    total = 0.0
    for low, high in pairwise(ends):
        middle = (max(low, min(high, 0) - 1e3) + min(high, max(low, 0) + 1e3)) / 2
        if high > low and excess(middle) > 0:
            upper = low >= max(0, shift)  # by tails, which do not cancel
            p = (
                below(-low, 0, 1) - below(-high, 0, 1)
                if upper
                else below(high, 0, 1) - below(low, 0, 1)
            )
            q = (
                below(-low, -shift, 1 / k) - below(-high, -shift, 1 / k)
                if upper
                else below(high, shift, 1 / k) - below(low, shift, 1 / k)
            )
            total += p - math.exp(epsilon) * q
    return total


def test_the_hockey_stick_equals_quadrature() -> None:
    z = np.linspace(-60, 60, 2_400_001)
    for epsilon, t, shift in ((1, -0.3, 0.5), (1, 0.4, 0.9), (0.5, 0.0, 0.7), (2, -0.5, 2.4)):
        p, q = np.exp(-abs(z)) / 2, np.exp(-abs(z - shift) * math.exp(-t) - t) / 2
        area = np.maximum(p - math.exp(epsilon) * q, 0).sum() * (z[1] - z[0])
        assert laplace_delta(epsilon, t, shift) == pytest.approx(area, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 3, 10, 30])
@pytest.mark.parametrize("delta", [1e-10, 1e-6, 1e-3, 0.1])
def test_laplace_deltas_are_kept_on_a_grid_and_reached_at_the_corner(
    epsilon: float, delta: float
) -> None:
    for share in (0.3, 1, 2):
        beta = round(share * epsilon / (2 * math.log(2 / delta)), 9)
        try:
            c = factor(LaplaceNoise(), epsilon, beta, delta)
        except ValueError:
            continue
        grid = {
            (t, part): laplace_delta(epsilon, t, part * min(1, math.exp(t)) / c)
            for t in np.linspace(-beta, beta, 41).tolist()
            for part in (0.0, 0.5, 0.9, 1.0)
        }
        worst = max(grid.values())
        assert worst <= delta * (1 + 1e-7)
        assert grid[-beta, 1.0] == worst
        if c > 1.001 * max(1 / epsilon, math.exp(-beta) / (epsilon - beta)):
            assert worst == pytest.approx(delta, rel=1e-6, abs=0)


@pytest.mark.parametrize(
    ("epsilon", "delta", "ratio"),
    [(0.1, 1e-6, 3.2e-4), (1, 1e-6, 4.1e-3), (4, 1e-6, 0.034), (10, 1e-6, 0.33), (15, 1e-6, 1.45),
     (20, 1e-6, 5.2), (40, 1e-6, 279), (10, 0.1, 0.947), (10, 0.3, 1.254), (7.5, 0.74, 1.016)],
)  # fmt: skip
def test_how_much_of_delta_the_textbook_constants_spend(
    epsilon: float, delta: float, ratio: float
) -> None:
    beta = epsilon / (2 * math.log(2 / delta))
    spent = laplace_delta(epsilon, -beta, math.exp(-beta) * epsilon / 2) / delta
    assert spent == pytest.approx(ratio, rel=0.02, abs=0)


def test_the_default_beta_for_laplace_needs_less_noise_than_the_textbooks() -> None:
    noise = LaplaceNoise()
    for epsilon, delta in product((0.001, 0.1, 1, 10, 100, 1000), (1e-100, 1e-10, 1e-3, 0.1, 0.7)):
        target = {"epsilon": read(epsilon), "delta": read(delta)}
        _, beta = noise.fitted(**target, beta=None)
        assert noise.factor(**target, beta=beta) <= 2 / read(epsilon)


def test_the_textbook_constants_for_cauchy_spend_less_than_a_quarter() -> None:
    beta, c = CauchyNoise().textbook(epsilon=Fraction(1), delta=Fraction(0), beta=None)
    assert (beta, c) == (Fraction(1, 6), Fraction(6))
    spent = max(loss(student(1), t, min(1, math.exp(t)) / 6, OUTPUTS) for t in (-1 / 6, 0, 1 / 6))
    assert spent == pytest.approx(0.226, rel=0.01, abs=0)


@pytest.mark.parametrize(
    ("noise", "change", "match"),
    [
        (CauchyNoise(), {"beta": 1}, "below epsilon"),
        (CauchyNoise(), {"delta": 0.1}, "no delta"),
        (LomaxNoise(shape=5), {"beta": 0.3}, "epsilon / shape"),
        (LomaxNoise(shape=0.5), {"beta": 1}, "below epsilon"),
        (LomaxNoise(shape=4), {"delta": 0.1}, "no delta"),
        (LomaxNoise(), {}, "shape of this noise is open"),
        (StudentNoise(), {"beta": 0.34}, "epsilon / degrees"),
        (StudentNoise(), {"delta": 0.1}, "no delta"),
        (PowerNoise(), {"beta": 0.34}, r"epsilon / \(gamma - 1\)"),
        (PowerNoise(gamma=1.5), {"beta": 1}, "below epsilon"),
        (PowerNoise(), {"delta": 0.1}, "no delta"),
        (LaplaceNoise(), {}, "needs a delta"),
        (LaplaceNoise(), {"delta": 1e-6, "beta": 0.3}, "too large"),
    ],
)
def test_what_no_factor_can_hide_is_refused(
    noise: Noise, change: dict[str, float], match: str
) -> None:
    given = {"epsilon": 1.0, "beta": 0.1, **change}
    with pytest.raises(ValueError, match=match):
        factor(noise, **given)
