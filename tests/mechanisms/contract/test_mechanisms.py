# SPDX-License-Identifier: Apache-2.0
"""Laws for every mechanism: its noise keeps what its loss and accuracy promise, by computation."""

import math
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest

from sordino import Laplace
from sordino.mechanisms import ADDING
from sordino.mechanisms.additive import to_grid
from sordino.randomness.samplers import discrete_gaussian, discrete_laplace
from tests.mechanisms.contract.cases import (
    EVERY,
    EXAMPLES,
    ON_INTEGERS,
    Floats,
    Mechanism,
    Vector,
    draw_examples,
    law,
    log_of,
    shifts,
    weight_of,
    width_of,
)
from tests.support.tape import Tape, replay

every = pytest.mark.parametrize("mechanism", EVERY, ids=repr)
on_integers = pytest.mark.parametrize("mechanism", ON_INTEGERS, ids=repr)


def pairs(mechanism: Mechanism, shift: Vector) -> tuple[Floats, Floats]:
    """The laws of the outputs of two neighbours, with equal outputs at equal places."""
    middle = int(width_of(mechanism)) + max(shift)
    noise = law(mechanism, middle)
    reach = min(int(width_of(mechanism)), {1: 10**6, 2: 400, 3: 70}[len(shift)])
    windows = [np.arange(-reach, reach + k + 1) for k in shift]
    here = [noise[middle + window] for window in windows]
    there = [noise[middle + window - k] for window, k in zip(windows, shift, strict=True)]
    return reduce(np.multiply.outer, here), reduce(np.multiply.outer, there)


def test_every_mechanism_is_enrolled() -> None:
    assert set(EXAMPLES) == set(ADDING)
    assert all(EXAMPLES.values())


@on_integers
def test_no_output_is_more_telling_than_the_pure_loss(mechanism: Mechanism) -> None:
    """The logarithm of the ratio of probabilities, over all outputs of all pairs of neighbours."""
    pure = mechanism.loss.epsilon(delta=0)
    if not isinstance(mechanism, Laplace):
        assert pure == math.inf
        return
    worst = 0.0
    for shift in shifts(mechanism):
        reach = 3 * max(shift) + 3
        noise = [
            {
                y: -abs(y - k) * mechanism.noise.eta + abs(y) * mechanism.noise.eta
                for y in range(-reach, reach)
            }
            for k in shift
        ]
        losses = {Fraction(0)}
        for one in noise:
            losses = {total + loss for total in losses for loss in one.values()}
        assert max(losses) == -min(losses)
        assert max(losses) <= mechanism.epsilon  # exact fractions
        worst = max(worst, float(max(losses)))
    assert worst == pytest.approx(float(mechanism.epsilon), rel=1e-15, abs=0)
    assert pure == float(mechanism.epsilon)


@on_integers
def test_no_set_of_outputs_is_more_telling_than_the_profile(mechanism: Mechanism) -> None:
    """The hockey-stick divergence at ten epsilons, both orders, for all pairs of neighbours."""
    largest = mechanism.loss.epsilon(delta=1e-9) or 1.0
    epsilons = [largest * step / 9 for step in range(10)]
    claims = [mechanism.loss.delta(epsilon=epsilon) for epsilon in epsilons]
    attained = [0.0] * len(epsilons)
    for shift in shifts(mechanism):
        here, there = pairs(mechanism, shift)
        for i, epsilon in enumerate(epsilons):
            for p, q in ((here, there), (there, here)):
                measured = float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
                assert measured <= claims[i] * (1 + 1e-9) + 1e-14
                attained[i] = max(attained[i], measured)
    if isinstance(mechanism, Laplace) or mechanism.sensitivity == 1:
        assert attained == pytest.approx(claims, rel=1e-8, abs=1e-13)


@every
def test_rounding_to_the_grid_keeps_to_the_shift(mechanism: Mechanism) -> None:
    """Real neighbours around the ties of the grid, where rounding moves them furthest apart."""
    if mechanism.whole:
        assert mechanism.grid == 1
        return
    step, exponent = float(mechanism.grid), int(math.log2(mechanism.grid))
    sensitivity = float(mechanism.sensitivity)
    bound = (
        mechanism.noise.shift
        if isinstance(mechanism, Laplace)
        else math.isqrt(mechanism.noise.squared_sensitivity)
    )
    for place in range(-7, 8):
        x = place * step / 2
        for y in (
            x + sensitivity,
            math.nextafter(x, math.inf) + sensitivity - step,
            x - sensitivity,
        ):
            if abs(y - x) <= sensitivity:
                assert abs(to_grid(x, exponent) - to_grid(y, exponent)) <= bound


@every
def test_delta_falls_with_epsilon_and_epsilon_with_delta(mechanism: Mechanism) -> None:
    top = mechanism.loss.epsilon(delta=1e-9)
    deltas = [mechanism.loss.delta(epsilon=top * step / 20) for step in range(25)]
    assert deltas == sorted(deltas, reverse=True)
    epsilons = [mechanism.loss.epsilon(delta=delta) for delta in (0, 1e-12, 1e-6, 1e-3, 0.1, 0.9)]
    assert epsilons == sorted(epsilons, reverse=True)


@every
def test_epsilon_and_delta_invert_each_other(mechanism: Mechanism) -> None:
    for delta in (1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.3, 0.9):
        epsilon = mechanism.loss.epsilon(delta=delta)
        assert mechanism.loss.delta(epsilon=epsilon) <= delta
        if epsilon > 0:
            assert mechanism.loss.delta(epsilon=math.nextafter(epsilon, 0)) > delta


@on_integers
def test_rho_bounds_the_divergence_of_every_order(mechanism: Mechanism) -> None:
    """For all pairs of neighbours; coordinates add up, so one is computed at a time."""
    weight = weight_of(mechanism)
    for order in (1.001, 1.5, 2.0, 4.0):
        reach = int(4 * width_of(mechanism) + 4 * order * int(mechanism.sensitivity))
        x = np.arange(-reach, reach + 1, dtype=np.float64)
        logs = [log_of(mechanism, x - k) for k in range(int(mechanism.sensitivity) + 1)]
        total = weight(x).sum()
        divergences = [
            math.log(float(np.exp(order * log + (1 - order) * logs[0]).sum()) / total) / (order - 1)
            for log in logs
        ]
        for shift in shifts(mechanism):
            whole = sum(divergences[k] for k in shift)
            assert whole <= order * mechanism.loss.rho * (1 + 1e-8)
        if order < 1.01:
            assert max(divergences) >= mechanism.loss.rho * 0.99


@on_integers
@pytest.mark.parametrize("confidence", [0.3, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("coordinates", [1, 10])
def test_accuracy_covers_and_one_less_does_not(
    mechanism: Mechanism, confidence: float, coordinates: int
) -> None:
    reach = int(width_of(mechanism))
    noise = law(mechanism, reach)
    half_width = int(mechanism.accuracy(confidence=confidence, coordinates=coordinates))
    inside = noise[reach - half_width : reach + half_width + 1].sum()
    assert inside**coordinates >= confidence * (1 - 1e-12)
    if half_width:
        inside = noise[reach - half_width + 1 : reach + half_width].sum()
        assert inside**coordinates < confidence


@on_integers
def test_moments_and_the_law_are_those_of_the_noise(mechanism: Mechanism) -> None:
    reach = int(width_of(mechanism))
    noise, places = law(mechanism, reach), np.arange(-reach, reach + 1)
    assert mechanism.expected_error == pytest.approx(float(noise @ np.abs(places)), rel=1e-9)
    assert mechanism.std**2 == pytest.approx(float(noise @ places**2), rel=1e-9)
    assert mechanism.variance >= mechanism.std**2 * (1 - 1e-12)
    for place in range(-3, 4):
        assert mechanism.pmf(place) == pytest.approx(float(noise[reach + place]), rel=1e-9)
        below = float(noise[: reach + place + 1].sum())
        assert mechanism.cdf(place) == pytest.approx(below, rel=1e-9)


@every
def test_moments_fit_each_other_and_the_accuracy(mechanism: Mechanism) -> None:
    """By Jensen's and Chebyshev's inequalities; half a step of the grid is next to nothing."""
    assert 0 < mechanism.expected_error <= mechanism.std * (1 + 1e-9)
    for confidence in (0.5, 0.9, 0.99):
        bound = mechanism.std / math.sqrt(1 - confidence)
        assert mechanism.accuracy(confidence=confidence) <= bound * (1 + 1e-9) + 1


@every
def test_accuracy_grows_with_confidence_and_coordinates(mechanism: Mechanism) -> None:
    levels = [mechanism.accuracy(confidence=c) for c in (0.1, 0.5, 0.9, 0.99, 0.999999)]
    assert levels == sorted(levels)
    sizes = [mechanism.accuracy(confidence=0.9, coordinates=n) for n in (1, 2, 10, 10**6)]
    assert sizes == sorted(sizes)
    kind = int if mechanism.whole else float
    assert {type(x) for x in levels + sizes} == {kind}


@every
def test_there_is_always_noise(mechanism: Mechanism) -> None:
    if isinstance(mechanism, Laplace):
        assert mechanism.scale > 0
        assert mechanism.noise.eta > 0
    else:
        assert mechanism.variance > 0
        assert mechanism.sigma > 0


@every
def test_a_release_keeps_the_shape_and_has_the_type_of_the_mechanism(mechanism: Mechanism) -> None:
    fits = getattr(mechanism, "coordinates", None) or 10**6
    for value, shape in draw_examples():
        if np.size(value) > fits:
            continue
        released = mechanism.release(value)
        if shape is None:
            assert type(released) is (int if mechanism.whole else float)
        else:
            assert type(released) is np.ndarray
            assert released.shape == shape
            assert released.dtype == (np.int64 if mechanism.whole else np.float64)


@every
def test_the_noise_drawn_is_the_noise_accounted_for(mechanism: Mechanism) -> None:
    """The same bits give the same number, from the mechanism and from a sampler of its law."""
    if isinstance(mechanism, Laplace):
        sampler = discrete_laplace(mechanism.scale / mechanism.grid)
        assert mechanism.scale / mechanism.grid * mechanism.noise.eta == 1
    else:
        sampler = discrete_gaussian(mechanism.variance / mechanism.grid**2)
        assert mechanism.variance / mechanism.grid**2 == mechanism.noise.variance
    data = np.random.default_rng(3).bytes(10_000)
    with replay(Tape(data)):
        drawn = [sampler.one() for _ in range(20)]
    with replay(Tape(data)):
        assert [mechanism.release(0) for _ in range(20)] == [x * mechanism.grid for x in drawn]
