# SPDX-License-Identifier: Apache-2.0
"""The corrected statements and worked examples of docs/errata.md, by their ids."""

import math
import re
from fractions import Fraction
from pathlib import Path

import pytest

from sordino import Gaussian, Laplace
from sordino.privacy import ContinuousGaussian, classic_sigma

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errata.md"
IDS = ["E-L1", "E-L2", "E-L3", "E-L4", "E-L5", "E-L7", "E-G1", "E-G2",
       *(f"E-X{number}" for number in range(1, 20)),
       *(f"E-N{number}" for number in range(1, 6)), *(f"E-S{number}" for number in range(1, 8)),
       "E-N6", "E-C1", "E-C4", "E-C5", "E-C6", "E-C9",
       "X1", "X2", "X3", "X4", "X5", "X6", "X7", "X8", "X9", "X10", "X11",
       *(f"X{number}" for number in range(12, 19)), "X19", "X20",
       "X21", "X22", "X23", "X24", "X28", "X29", "X25", "X26", "X30"]  # fmt: skip


def test_every_id_has_its_paragraph() -> None:
    written = re.findall(r"(?m)^\*\*((?:E-[LGNSCX]|X)\d+)\. ", PAGE.read_text("utf-8"))
    assert written == IDS


def test_el1_the_ratio_of_densities_has_a_positive_exponent() -> None:
    """E-L1."""
    m = Laplace(sensitivity=1, epsilon=0.7)
    ratio = math.exp(-5 / float(m.scale)) / math.exp(-6 / float(m.scale))
    assert ratio == pytest.approx(math.exp(0.7), rel=1e-14, abs=0)


def test_el3_half_a_unit_of_noise_hides_nothing() -> None:
    """E-L3: the scale is sensitivity / epsilon, however small the step between the values."""
    assert Laplace(sensitivity=1, epsilon=0.1).scale == 10
    assert Laplace(sensitivity=1.0, epsilon=0.1).scale > 10


def test_el4_and_x3_the_commonest_of_ten_thousand_names() -> None:
    """X3 and E-L4: the union bound, the exact continuous value and the discrete one."""
    assert math.log(10_000 / 0.05) == pytest.approx(12.20607264553017, rel=1e-15, abs=0)
    exact = -math.log(-math.expm1(math.log1p(-0.05) / 10_000))
    assert exact == pytest.approx(12.18053818568197, rel=1e-14, abs=0)
    assert math.log(20) == pytest.approx(2.995732273553991, rel=1e-15, abs=0)
    on_reals = Laplace(sensitivity=1.0, epsilon=1)
    assert on_reals.accuracy(confidence=0.95, coordinates=10_000) == pytest.approx(
        exact, rel=1e-6, abs=0
    )
    assert on_reals.accuracy(confidence=0.95) == pytest.approx(math.log(20), rel=1e-6, abs=0)
    counts = Laplace(sensitivity=1, epsilon=1)
    assert counts.accuracy(confidence=0.95, coordinates=10_000) == 12
    assert counts.accuracy(confidence=0.95) == 3


def test_eg1_the_classic_sigma_breaks_its_promise_at_large_epsilon() -> None:
    """E-G1: for delta 1e-5 the true delta at epsilon 10 is 2.2653744e-5, at 20 1.5266947e-3."""
    for epsilon, true_delta in ((10, 2.2653744e-5), (20, 1.5266947e-3)):
        sigma = Fraction(math.sqrt(2 * math.log(1.25e5)) / epsilon)
        loss = ContinuousGaussian(variance=sigma**2, squared_sensitivity=Fraction(1))
        assert loss.delta(epsilon=epsilon) == pytest.approx(true_delta, rel=3e-8, abs=0)
        assert loss.delta(epsilon=epsilon) > 1e-5
        ours = Gaussian(sensitivity=1.0, epsilon=epsilon, delta=1e-5)
        assert ours.sigma > sigma
        assert ours.loss.delta(epsilon=epsilon) <= 1e-5
        with pytest.raises(ValueError, match="proved for epsilon below 1 only"):
            classic_sigma(sensitivity=1, epsilon=epsilon, delta=1e-5)


def test_eg1_the_classic_sigma_crosses_over_at_eight_point_four_two() -> None:
    """E-G1: by computation the formula still holds at 8.41 and no longer at 8.43."""
    for epsilon, holds in ((Fraction("8.41"), True), (Fraction("8.43"), False)):
        sigma = Fraction(math.sqrt(2 * math.log(1.25e5))) / epsilon
        loss = ContinuousGaussian(variance=sigma**2, squared_sensitivity=Fraction(1))
        assert (loss.delta(epsilon=epsilon) <= 1e-5) is holds


def test_eg2_delta_is_a_probability() -> None:
    """E-G2."""
    for delta in (1, 1.25, 2):
        with pytest.raises(ValueError, match="delta must be a number between 0 and 1"):
            Gaussian(sensitivity=1, epsilon=1, delta=delta)
        with pytest.raises(ValueError, match="delta must be a number between 0 and 1"):
            classic_sigma(sensitivity=1, epsilon=0.5, delta=delta)


def test_x9_a_count_of_flu() -> None:
    """X9: 3 persons, 2 without one of them; epsilon 0.1 means scale 10 and a half-width of 30."""
    m = Laplace(sensitivity=3 - 2, epsilon=0.1)
    assert m.scale == 10
    assert m.accuracy(confidence=0.95) == 30
    on_reals = Laplace(sensitivity=1.0, epsilon=0.1)
    assert on_reals.accuracy(confidence=0.95) == pytest.approx(29.9573227355, rel=1e-5, abs=0)


def test_x10_a_histogram_of_flu() -> None:
    """X10: scale 10 on each cell when a person comes or goes, 20 when one replaces another."""
    assert Laplace(sensitivity=1, epsilon=0.1).scale == 10
    assert Laplace(sensitivity=2, epsilon=0.1).scale == 20
    wrong = Laplace(sensitivity=1, epsilon=0.1).noise
    two_cells = type(wrong)(eta=wrong.eta, shift=2)
    assert two_cells.epsilon(delta=0) == 0.2


def test_x21_the_variance_of_the_noise() -> None:
    """X21: 2 / epsilon^2 for continuous noise, less for discrete noise."""
    eta = float(Laplace(sensitivity=1, epsilon=1).noise.eta)
    q = math.exp(-eta)
    law = [(1 - q) / (1 + q) * q ** abs(x) for x in range(-60, 61)]
    mean = math.fsum(x * p for x, p in zip(range(-60, 61), law, strict=True))
    variance = math.fsum(x * x * p for x, p in zip(range(-60, 61), law, strict=True))
    assert mean == pytest.approx(0, abs=1e-15)
    assert variance == pytest.approx(2 * q / (1 - q) ** 2, rel=1e-14, abs=0)
    assert variance == pytest.approx(1.841347188415585, rel=1e-14, abs=0)
    assert variance < 2


def test_x23_the_tail_of_the_noise() -> None:
    """X23: continuous noise exceeds t scales with probability e^-t."""
    m = Laplace(sensitivity=1.0, epsilon=1)
    for t in (0.5, 1, 3, 10):
        covered = Fraction(-math.expm1(-t))
        assert m.accuracy(confidence=covered) == pytest.approx(t, rel=1e-6, abs=0)


def test_x24_what_epsilon_means() -> None:
    """X24: a count tells two neighbours apart as well as randomized response, 2/3 and 3/4."""
    for epsilon, kept in ((math.log(2), 2 / 3), (math.log(3), 3 / 4)):
        assert math.exp(epsilon) / (1 + math.exp(epsilon)) == pytest.approx(kept, rel=1e-15, abs=0)
        distance = Laplace(sensitivity=1, epsilon=epsilon).loss.delta(epsilon=0)
        assert (1 + distance) / 2 == pytest.approx(kept, rel=1e-14, abs=0)


def test_x28_classic_against_exact_sigma() -> None:
    """X28: 4.8448 by the classic formula, 3.7306 for real noise and 3.7405 for integers."""
    assert math.sqrt(2 * math.log(1.25e5)) == pytest.approx(4.8448052626054, rel=1e-13, abs=0)
    assert classic_sigma(sensitivity=1, epsilon=0.5, delta=1e-5) == pytest.approx(
        2 * 4.8448052626054
    )
    real = Gaussian(sensitivity=1.0, epsilon=1, delta=1e-5)
    assert real.sigma == pytest.approx(3.73063163481594, rel=1e-8, abs=0)
    assert real.sigma >= 3.73063163481594
    assert Gaussian(sensitivity=1, epsilon=1, delta=1e-5).sigma == pytest.approx(
        3.7405, rel=1e-5, abs=0
    )
