# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction

import numpy as np
import pytest

from sordino.privacy import ContinuousGaussian
from sordino.privacy.pure import Pure
from sordino.privacy.subsampled import (
    amplified,
    backward_delta,
    base_epsilons,
    between_whole_orders,
    beyond,
    forward_delta,
    log_moment,
    sampled_loss,
)

GAUSSIAN = ContinuousGaussian(variance=Fraction(1), squared_sensitivity=Fraction(1))


def test_amplified_losses_round_trip() -> None:
    for epsilon in ("1e-6", "0.5", "3", "40"):
        for rate in ("1e-6", "0.2", "1"):
            small = amplified(Fraction(epsilon), Fraction(rate))
            back = base_epsilons(np.array([float(small)]), float(Fraction(rate)))[0]
            assert back == pytest.approx(float(epsilon), rel=1e-9)
            found = sampled_loss(float(epsilon), float(Fraction(rate)))
            assert found == pytest.approx(float(small))
            assert small <= Fraction(epsilon) * (1 + Fraction(1, 10**15))


def test_large_losses_do_not_overflow() -> None:
    assert base_epsilons(np.array([5000.0]), 0.01)[0] == pytest.approx(5000 + math.log(100))
    assert sampled_loss(5000.0, 0.01) == pytest.approx(5000 - math.log(100))


def test_deltas_of_both_orders_by_hand() -> None:
    base, rate, x = Pure(epsilon=Fraction(1)), Fraction(1, 2), math.exp(0.1)
    keep = math.e / (1 + math.e)
    p, q = (keep, 1 - keep), (1 - keep, keep)
    mixed = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    forward = sum(max(a - x * b, 0) for a, b in zip(mixed, q, strict=True))
    backward = sum(max(b - x * a, 0) for a, b in zip(mixed, q, strict=True))
    assert forward_delta(base, rate, Fraction(1, 10)) == pytest.approx(forward, rel=1e-14)
    assert backward_delta(base, rate, Fraction(1, 10)) == pytest.approx(backward, rel=1e-14)
    assert backward_delta(base, rate, Fraction(7, 10)) == 0.0  # beyond ln 2
    assert backward_delta(base, rate, Fraction(0)) == forward_delta(base, rate, Fraction(0))


def test_moments_of_whole_orders_by_hand() -> None:
    rate = Fraction(1, 10)
    second = 1 + 0.01 * math.expm1(1)
    assert log_moment(GAUSSIAN, rate, 1, twice=False) == 0.0
    assert log_moment(GAUSSIAN, rate, 2, twice=False) == pytest.approx(math.log(second), rel=1e-8)
    third = 1 + 3 * 0.9 * 0.01 * math.expm1(1) + 0.001 * math.expm1(3)
    assert log_moment(GAUSSIAN, rate, 3, twice=False) == pytest.approx(math.log(third), rel=1e-8)
    more = 1 + 2 * (third - 1 + 3 * 0.01 * math.expm1(1))
    assert log_moment(GAUSSIAN, rate, 3, twice=True) == pytest.approx(math.log(more), rel=1e-8)
    everything = log_moment(GAUSSIAN, Fraction(1), 3, twice=False)
    assert everything == pytest.approx(3.0, rel=1e-8)


def test_orders_between_are_interpolated() -> None:
    squares = {n: float(n * n - n) for n in range(1, 9)}
    assert between_whole_orders(lambda n: squares[n], Fraction(3)) == pytest.approx(3.0)
    assert between_whole_orders(lambda n: squares[n], Fraction(7, 2)) == pytest.approx(9 / 2.5)
    assert between_whole_orders(lambda n: squares[n], Fraction(3, 2)) == pytest.approx(1 / 0.5)


def test_what_lies_beyond_a_loss_is_bounded() -> None:
    # Without sampling, the integral of e^a H(a) beyond 5, by a fine sum.
    a = np.linspace(5, 30, 200_001)
    true = float(np.trapezoid(np.exp(a) * GAUSSIAN.profile(a), a))
    assert true <= beyond(GAUSSIAN, 1.0, 2.0, 5.0) <= 30 * true
