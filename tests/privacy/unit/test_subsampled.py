# SPDX-License-Identifier: Apache-2.0
import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from sordino.privacy import ContinuousGaussian, DiscreteLaplace
from sordino.privacy.grouped import Grouped
from sordino.privacy.laplace import ContinuousLaplace
from sordino.privacy.leaf import Floats, Leaf
from sordino.privacy.pure import Approximate, Pure
from sordino.privacy.subsampled import FixedSizeSubsampled, PoissonSubsampled
from tests.privacy.contract.leaves import LOPSIDED

KINDS = (PoissonSubsampled, FixedSizeSubsampled)
AT = np.linspace(-1.2, 1.2, 49)


def gaussian(sigma: str) -> ContinuousGaussian:
    return ContinuousGaussian(variance=Fraction(sigma) ** 2, squared_sensitivity=Fraction(1))


def poisson(base: Leaf, rate: str) -> PoissonSubsampled:
    return PoissonSubsampled(base=base, rate=Fraction(rate))


def fixed(base: Leaf, rate: str) -> FixedSizeSubsampled:
    return FixedSizeSubsampled(base=base, rate=Fraction(rate))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("epsilon", "rate", "amplified"),
    [
        ("1", "0.01", 0.01703686323617655),
        ("2", "0.1", 0.4940287080441788),
        ("0.5", "0.5", 0.2809298036201614),
    ],
)
def test_the_pure_loss_of_a_sample(
    kind: type[PoissonSubsampled], epsilon: str, rate: str, amplified: float
) -> None:
    loss = kind(base=Pure(epsilon=Fraction(epsilon)), rate=Fraction(rate))
    assert loss.epsilon(delta=0) == pytest.approx(amplified, rel=1e-15)
    assert loss.delta(epsilon=loss.epsilon(delta=0)) == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_the_delta_of_a_sample_is_a_share_of_the_delta(kind: type[PoissonSubsampled]) -> None:
    base = Approximate(epsilon=Fraction(1), delta=Fraction(1, 1000))
    loss = kind(base=base, rate=Fraction(1, 100))
    assert loss.delta(epsilon=0.01703686323617656) == pytest.approx(1e-5, rel=1e-12)
    assert loss.epsilon(delta=9e-6) == math.inf


def counts(values: Iterable[int], eta: float) -> Floats:
    """The law of a sum plus discrete Laplace noise."""
    q = math.exp(-eta)
    place = np.arange(-80, 90)
    law: Floats = (1 - q) / (1 + q) * q ** np.abs(place - sum(values))
    return law


def stick(p: Floats, q: Floats) -> Floats:
    found: Floats = np.maximum(p - np.exp(AT)[:, None] * q, 0).sum(axis=1)
    return found


def poisson_law(units: tuple[int, ...], rate: float, eta: float) -> Floats:
    law = np.zeros(170)
    for kept in product((0, 1), repeat=len(units)):
        chance = math.prod(rate if k else 1 - rate for k in kept)
        law += chance * counts([u for u, k in zip(units, kept, strict=True) if k], eta)
    return law


@pytest.mark.parametrize("rate", [0.2, 0.7])
def test_counts_of_a_poisson_sample_keep_to_the_loss(rate: float) -> None:
    base = DiscreteLaplace(eta=Fraction(1, 2), shift=1)
    loss = PoissonSubsampled(base=base, rate=Fraction(repr(rate)))
    for others in product((0, 1), repeat=3):
        with_unit = poisson_law((*others, 1), rate, 0.5)
        without = poisson_law(others, rate, 0.5)
        forward, backward = stick(with_unit, without), stick(without, with_unit)
        assert np.all(forward <= loss.profile(AT) + 1e-13)
        assert np.all(backward <= loss.profile(AT, reverse=True) + 1e-13)
        if not any(others):
            assert forward == pytest.approx(loss.profile(AT), abs=1e-13)
            assert backward == pytest.approx(loss.profile(AT, reverse=True), abs=1e-13)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_counts_of_a_sample_of_fixed_size_keep_to_the_loss(size: int) -> None:
    def law(units: tuple[int, ...]) -> Floats:
        samples = list(combinations(units, size))
        total: Floats = np.sum([counts(sample, 0.8) for sample in samples], axis=0)
        return total / len(samples)

    loss = FixedSizeSubsampled(
        base=DiscreteLaplace(eta=Fraction(4, 5), shift=1), rate=Fraction(size, 4)
    )
    closest = 1.0
    for others in product((0, 1), repeat=3):
        for one, other in ((0, 1), (1, 0)):
            found = stick(law((one, *others)), law((other, *others)))
            assert np.all(found <= loss.profile(AT) + 1e-13)
            closest = min(closest, float((loss.profile(AT) - found).max()))
    assert closest < 0.15


def test_a_sample_of_a_sample_is_a_smaller_sample() -> None:
    twice = poisson(poisson(gaussian("1"), "0.2"), "0.5")
    once = poisson(gaussian("1"), "0.1")
    for reverse in (False, True):
        assert twice.profile(AT, reverse=reverse) == pytest.approx(
            once.profile(AT, reverse=reverse), rel=1e-12
        )


@pytest.mark.parametrize("base", [gaussian("2"), Pure(epsilon=Fraction(1)), LOPSIDED], ids=repr)
def test_the_sample_of_everything_changes_nothing(base: Leaf) -> None:
    for loss in (poisson(base, "1"), fixed(base, "1")):
        assert loss.delta(epsilon=0.3) == pytest.approx(base.delta(epsilon=0.3), rel=1e-12)
        assert loss.renyi(order=3) == pytest.approx(base.renyi(order=3), rel=1e-5)
        assert loss.pure is None or loss.pure == pytest.approx(base.pure, rel=1e-15)
    assert poisson(base, "1").symmetric == base.symmetric
    assert poisson(base, "1").reach(1e-9) == pytest.approx(base.reach(1e-9))


# From integrals of (1 - q + q e^(mu x - mu^2/2))^order and of its power 1 - order, at 30 digits.
@pytest.mark.parametrize(
    ("rate", "sigma", "order", "divergence"),
    [
        ("0.01", "1", 2.0, 0.00017181342207455),
        ("0.01", "1", 1.5, 0.00012725374332745),
        ("0.01", "1", 8.0, 0.00089364390760603),
        ("0.1", "2", 2.5, 0.0035940771994132),
        ("0.001", "0.7", 8.0, 0.28959291651115),
        ("0.5", "5", 20.0, 0.12370466089677),
    ],
)
def test_the_renyi_divergences_of_a_sampled_gaussian(
    rate: str, sigma: str, order: float, divergence: float
) -> None:
    stated = poisson(gaussian(sigma), rate).renyi(order=order)
    assert divergence <= stated <= divergence * (1 + 1e-6)


@pytest.mark.parametrize("order", [1.5, 2.0, 3.0, 3.7, 8.0])
def test_divergences_of_a_sampled_response_are_those_of_the_mixture(order: float) -> None:
    keep = math.e / (1 + math.e)
    p, q = np.array([keep, 1 - keep]), np.array([1 - keep, keep])
    for rate in (0.001, 0.1, 0.6):
        mixed = (1 - rate) * q + rate * p
        true = max(
            math.log(float((a**order * b ** (1 - order)).sum())) / (order - 1)
            for a, b in ((mixed, q), (q, mixed))
        )
        loss = PoissonSubsampled(base=Pure(epsilon=Fraction(1)), rate=Fraction(repr(rate)))
        assert loss.renyi(order=order) == pytest.approx(true, rel=1e-6)
        assert loss.renyi(order=order) >= true * (1 - 1e-10)


def test_very_high_orders_fall_back_to_the_loss_without_sampling() -> None:
    loss = poisson(gaussian("2"), "0.1")
    assert loss.renyi(order=1e6) == gaussian("2").renyi(order=1e6)
    assert fixed(gaussian("2"), "0.1").renyi(order=1e6) == gaussian("2").renyi(order=1e6)
    assert loss.renyi(order=4000) <= gaussian("2").renyi(order=4000)


def test_sampling_saves_about_the_square_of_the_rate() -> None:
    for rate in ("0.1", "0.01", "0.001"):
        share = float(Fraction(rate)) ** 2
        whole = gaussian("1").renyi(order=2)
        assert poisson(gaussian("1"), rate).renyi(order=2) == pytest.approx(
            share * math.expm1(whole), rel=0.02
        )
        assert fixed(gaussian("1"), rate).renyi(order=2) < 2 * share * math.expm1(whole)


def test_a_sample_of_fixed_size_dominates_both_orders_of_its_base() -> None:
    loss = fixed(LOPSIDED, "0.5")
    inner = np.log1p(np.expm1(np.array([0.0, 0.2, 0.5])) / 0.5)
    larger = np.maximum(LOPSIDED.profile(inner), LOPSIDED.profile(inner, reverse=True))
    assert loss.profile(np.array([0.0, 0.2, 0.5])) == pytest.approx(larger / 2, rel=1e-14)


def test_the_summit_of_a_sample_of_fixed_size() -> None:
    loss = fixed(Pure(epsilon=Fraction(2)), "0.1")
    assert loss.pure is not None
    close = float(loss.pure) * (1 - 1e-7)
    slope = loss.profile(np.array([close]))[0] / -math.expm1(-float(loss.pure) * 1e-7)
    assert loss.summit == pytest.approx(slope, rel=1e-6)
    assert loss.atoms == (loss.pure, -loss.pure)
    assert fixed(ContinuousLaplace(epsilon=Fraction(2)), "0.1").summit > 0
    assert fixed(gaussian("1"), "0.1").atoms == ()


def test_wrong_pairings_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Poisson sampling .* \(add_remove\), but .* replace_one"):
        poisson(fixed(gaussian("1"), "0.1"), "0.1")
    with pytest.raises(ValueError, match=r"fixed size .* \(replace_one\), but .* add_remove"):
        fixed(poisson(gaussian("1"), "0.1"), "0.1")
    group = poisson(gaussian("2"), "0.1").group(2)
    assert isinstance(group, Grouped)
    with pytest.raises(ValueError, match="add_remove"):
        fixed(group, "0.1")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rate", [0, 0.5, Fraction(0), Fraction(-1, 2), Fraction(3, 2)])
def test_a_rate_is_an_exact_share(kind: type[PoissonSubsampled], rate: Fraction) -> None:
    with pytest.raises(ValueError, match="rate must be a Fraction above 0 and at most 1"):
        kind(base=Pure(epsilon=Fraction(1)), rate=rate)
