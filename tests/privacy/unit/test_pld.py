# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sordino.privacy import losses
from sordino.privacy.bounded_range import BoundedRange
from sordino.privacy.convolve import Masses, above, below
from sordino.privacy.discrete_gaussian import DiscreteGaussian
from sordino.privacy.gaussian import ContinuousGaussian
from sordino.privacy.laplace import ContinuousLaplace, DiscreteLaplace
from sordino.privacy.leaf import Leaf
from sordino.privacy.pld import Bracket, Pld
from sordino.privacy.pure import Approximate, Pure
from sordino.privacy.subsampled import PoissonSubsampled
from sordino.privacy.tables import PmfPair

pytestmark = pytest.mark.long


def gaussian(sigma: str) -> ContinuousGaussian:
    return ContinuousGaussian(variance=Fraction(sigma) ** 2, squared_sensitivity=Fraction(1))


def pld(*parts: tuple[Leaf, int]) -> Pld:
    return Pld(parts)


def assert_tight(bracket: Bracket, value: float, width: float) -> None:
    """The bracket holds the value, to the digits it was given with, and is no wider than said."""
    slack = 1e-9 * abs(value)
    assert bracket.lower <= value + slack
    assert value - slack <= bracket.upper
    assert bracket.upper - bracket.lower <= width * bracket.upper


@pytest.mark.parametrize(
    ("times", "epsilon", "delta"),
    [
        (2, "0", 0.448180838242837),
        (2, "0.5", 0.350495989981105),
        (2, "1", 0.241836675359208),
        (2, "1.5", 0.12384911904467),
        (3, "0", 0.5676853147),
        (3, "1", 0.3102260478),
        (3, "2", 0.1470662598),
    ],
)
def test_composed_laplace_profiles_are_the_known_ones(
    times: int, epsilon: str, delta: float
) -> None:
    bracket = pld((ContinuousLaplace(epsilon=Fraction(1)), times)).delta(epsilon=float(epsilon))
    assert_tight(bracket, delta, 1e-3)


def test_a_hundred_small_laplace_uses_have_the_known_delta() -> None:
    bracket = pld((ContinuousLaplace(epsilon=Fraction(1, 10)), 100)).delta(epsilon=3.0)
    assert_tight(bracket, 0.00117117412, 1e-3)


@pytest.mark.parametrize(
    ("times", "epsilon", "delta", "total"),
    [
        (10, "0.1", 1e-6, 0.9993709057217587),
        (100, "0.1", 1e-6, 4.774567588107986),
        (1000, "0.01", 1e-6, 1.365446709993756),
        (30, "0.5", 1e-9, 14.99849686874005),
    ],
)
def test_pure_losses_compose_as_the_optimal_theorem_says(
    times: int, epsilon: str, delta: float, total: float
) -> None:
    assert_tight(pld((Pure(epsilon=Fraction(epsilon)), times)).epsilon(delta=delta), total, 1e-5)


def test_discrete_laplace_on_counts_costs_what_pure_losses_cost() -> None:
    counts = pld((DiscreteLaplace(eta=Fraction(1, 100), shift=1), 1000))
    assert_tight(counts.epsilon(delta=1e-6), 1.365446709993756, 1e-5)


def test_an_approximate_loss_composes_with_its_failures() -> None:
    leaf = Approximate(epsilon=Fraction(1, 10), delta=Fraction(1, 10**6))
    assert_tight(pld((leaf, 10)).delta(epsilon=0.6), 0.003142236208576664, 1e-3)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.25, 0.0604359), (0.5, 0.0178350), (1.0, 3.73956e-4)]
)
def test_bounded_range_envelopes_compose_to_the_known_values(epsilon: float, delta: float) -> None:
    bracket = pld((BoundedRange(epsilon=Fraction(1, 5)), 10)).delta(epsilon=epsilon)
    assert bracket.lower <= delta * (1 + 1e-5)
    assert delta * (1 - 1e-5) <= bracket.upper
    assert bracket.upper - bracket.lower <= 1e-3 * bracket.upper


@pytest.mark.parametrize("delta", [0.1, 1e-3, 1e-6, 1e-12, 1e-30, 1e-100])
@pytest.mark.parametrize("times", [2, 10, 1000])
def test_gaussians_compose_to_a_gaussian(times: int, delta: float) -> None:
    one = ContinuousGaussian(variance=Fraction(50**2), squared_sensitivity=Fraction(1))
    whole = ContinuousGaussian(variance=Fraction(50**2, times), squared_sensitivity=Fraction(1))
    exact = whole.epsilon(delta=Fraction(repr(delta)))
    bracket = pld((one, times)).epsilon(delta=delta)
    assert bracket.lower <= exact <= bracket.upper * (1 + 1e-12)
    assert bracket.upper - bracket.lower <= 1e-3 * bracket.upper + 1e-9


MIX: tuple[tuple[Leaf, int], ...] = (
    (ContinuousLaplace(epsilon=Fraction("0.05")), 200),
    (gaussian("20"), 200),
    (Pure(epsilon=Fraction("0.02")), 200),
    (BoundedRange(epsilon=Fraction("0.02")), 200),
)
SUBSAMPLED = PoissonSubsampled(base=gaussian("1"), rate=Fraction("0.01"))


@pytest.mark.parametrize(
    ("parts", "seen"),
    [
        (((gaussian("50"), 1000),), 2.9216),
        (((ContinuousLaplace(epsilon=Fraction("0.01")), 1000),), 1.3629),
        (((SUBSAMPLED, 10_000),), 6.9074),
    ],
    ids=["gaussian", "laplace", "subsampled"],
)
def test_brackets_are_narrow_and_agree_with_other_accountants(
    parts: tuple[tuple[Leaf, int], ...], seen: float
) -> None:
    bracket = Pld(parts).epsilon(delta=1e-6)
    assert bracket.upper <= seen * (1 + 1e-4)
    assert bracket.lower >= seen * (1 - 5e-4)
    assert bracket.upper - bracket.lower <= 1e-3 * bracket.upper


def test_exponential_mechanisms_cost_less_than_pure_ones() -> None:
    bracket = Pld(MIX).epsilon(delta=1e-6)
    assert bracket.upper <= 5.2856 * 0.98
    assert bracket.upper - bracket.lower <= 1e-3 * bracket.upper
    as_pure = Pld((*MIX[:2], (Pure(epsilon=Fraction("0.02")), 400))).epsilon(delta=1e-6)
    assert_tight(as_pure, 5.28562, 1e-3)


def test_the_upper_end_alone_is_the_upper_end_of_the_bracket() -> None:
    for parts in (MIX, ((SUBSAMPLED, 100),)):
        whole = Pld(parts)
        assert whole.epsilon_upper(delta=1e-6) == whole.epsilon(delta=1e-6).upper
        assert whole.delta_upper(epsilon=2.0) == whole.delta(epsilon=2.0).upper


def brute_force(pairs: list[PmfPair], epsilon: float) -> float:
    """Sum (p - e^epsilon q)+ over all outcomes of all pairs together, both ways round."""
    found = []
    for swap in (False, True):
        total = []
        for outcome in product(*(range(len(pair.p)) for pair in pairs)):
            p = math.prod(float(pair.p[i]) for pair, i in zip(pairs, outcome, strict=True))
            q = math.prod(float(pair.q[i]) for pair, i in zip(pairs, outcome, strict=True))
            p, q = (q, p) if swap else (p, q)
            total.append(max(p - math.exp(epsilon) * q, 0.0))
        found.append(math.fsum(total))
    return max(found)


def test_brackets_hold_the_direct_sum_on_small_cases() -> None:
    _hold_the_direct_sum(cases=12)


@pytest.mark.soak
def test_brackets_hold_the_direct_sum_on_more_cases() -> None:
    _hold_the_direct_sum(cases=200)


def _hold_the_direct_sum(*, cases: int) -> None:
    rng = np.random.default_rng(7)
    for case in range(cases):
        pairs = []
        for _ in range(int(rng.integers(1, 5))):
            size = int(rng.integers(2, 5))
            cuts = rng.integers(1, 30, size=(2, size))
            if case % 4 == 0:
                cuts[1, 0] = 0  # an outcome that only one side has
            p = tuple(Fraction(int(n), int(cuts[0].sum())) for n in cuts[0])
            q = tuple(Fraction(int(n), int(cuts[1].sum())) for n in cuts[1])
            pairs.append(PmfPair(p=p, q=q))
        whole = Pld(tuple((pair, 1) for pair in pairs))
        for epsilon in (0.0, 0.1, 0.7, 1.5, 3.0):
            exact = brute_force(pairs, epsilon)
            bracket = whole.delta(epsilon=epsilon)
            assert bracket.lower <= exact * (1 + 1e-12) + 1e-15
            assert exact * (1 - 1e-12) - 1e-15 <= bracket.upper
            assert bracket.upper - bracket.lower <= 0.05


def test_many_different_losses_are_joined_in_pairs() -> None:
    leaves = [Pure(epsilon=Fraction(n, 1000)) for n in range(1, 121)]
    together = Pld(tuple((leaf, 1 + at % 3) for at, leaf in enumerate(leaves)))
    found = together.epsilon(delta=1e-6)
    variance = sum(
        (1 + at % 3) * float(leaf.epsilon(delta=0)) ** 2 for at, leaf in enumerate(leaves)
    )
    normal = ContinuousGaussian(
        variance=Fraction(1), squared_sensitivity=Fraction(repr(round(variance, 9)))
    )
    assert found.lower <= found.upper
    assert found.upper == pytest.approx(normal.epsilon(delta=Fraction(1, 10**6)), rel=0.02)
    assert found.upper - found.lower <= 0.02 * found.upper


def test_a_million_uses_stay_sound_although_rounding_adds_up() -> None:
    bracket = pld((Pure(epsilon=Fraction(6, 10**4)), 10**6)).epsilon(delta=1e-6)
    exact = 2.7559474295779967  # the optimal theorem
    assert bracket.lower <= exact <= bracket.upper
    assert bracket.upper <= exact * 1.00001


def test_beyond_the_largest_loss_there_is_no_delta() -> None:
    assert pld((Pure(epsilon=Fraction(1, 10)), 10)).delta(epsilon=1.0) == Bracket(0.0, 0.0)


def test_narrow_discrete_noise_composes_by_its_lattice() -> None:
    leaf = DiscreteGaussian(variance=Fraction(1), squared_sensitivity=1)
    bracket = pld((leaf, 2)).delta(epsilon=1.0)
    # Neighbours that move two cells by one each: summed directly.
    assert_tight(bracket, 0.2625001969545944, 1e-5)


def profile_of(masses: Masses, epsilons: np.ndarray) -> np.ndarray:
    losses = masses.losses
    gains = masses.mass * -np.expm1(np.minimum(epsilons[:, None] - losses, 0.0))
    return np.asarray(masses.infinity + gains.sum(axis=1))


@pytest.mark.parametrize("points", [20, 60, 300])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("leaf", [SUBSAMPLED, *(leaf for leaf, _ in MIX)], ids=range(5))
def test_even_on_coarse_grids_the_bounds_are_bounds(leaf: Leaf, points: int, reverse: bool) -> None:
    low, high = leaf.reach(1e-12)
    step = (high - low) / points
    epsilons = np.linspace(1.2 * min(low, -high), 1.2 * max(high, -low), 997)
    exact = leaf.profile(epsilons, reverse=reverse)
    upper = profile_of(above(leaf, step=step, tail=1e-12, reverse=reverse), epsilons)
    lower = profile_of(below(leaf, step=step, tail=1e-12, reverse=reverse), epsilons)
    assert (upper >= exact - 1e-11).all()
    assert (lower <= exact + 1e-11).all()


def test_many_different_losses_may_each_be_repeated_often() -> None:
    leaves = tuple((Pure(epsilon=Fraction(1, 1000 + i)), 10**4) for i in range(60))
    few = tuple((Pure(epsilon=Fraction(1, 1000 + i)), 10**4) for i in range(0, 60, 2))
    found = Pld(leaves).epsilon(delta=1e-6)
    assert found.lower <= found.upper
    assert found.upper > Pld(few).epsilon(delta=1e-6).lower
    normal = ContinuousGaussian(
        variance=Fraction(1),
        squared_sensitivity=sum((n * leaf.bound**2 for leaf, n in leaves), Fraction(0)),
    )
    assert found.upper == pytest.approx(normal.epsilon(delta=Fraction(1, 10**6)), rel=0.01)


@pytest.mark.parametrize(
    "parts",
    [
        ((Pure(epsilon=Fraction(800)), 2),),
        ((Pure(epsilon=Fraction(800)), 1), (Pure(epsilon=Fraction(1, 10)), 5)),
        ((gaussian("1/60"), 2),),
    ],
    ids=["pure", "mix", "gaussian"],
)
def test_losses_beyond_the_range_of_doubles_count_as_unbounded(
    parts: tuple[tuple[Leaf, int], ...],
) -> None:
    bracket = Pld(parts).epsilon(delta=1e-6)
    assert bracket.upper > 690
    assert Pld(parts).delta(epsilon=1.0).upper > 0.99


def test_absurdly_many_uses_have_no_distribution_and_say_so() -> None:
    whole = pld((Pure(epsilon=Fraction(1, 10**8)), 10**15))
    assert whole.epsilon(delta=1e-6) == Bracket(0.0, 1e7)  # the sum of all losses
    assert whole.delta(epsilon=1.0) == Bracket(0.0, 1.0)


def test_losses_that_are_zero_or_unbounded_compose() -> None:
    """With probability 1/10 all is told, and otherwise nothing."""
    telling = losses.pmfs([0.9, 0.1, 0], [0.9, 0, 0.1])
    assert (3 * telling).delta(epsilon=1) == pytest.approx(1 - 0.9**3, rel=1e-9, abs=0)
    assert (2 * telling).epsilon(delta=0.18) == math.inf
    assert (2 * telling).epsilon(delta=0.3) <= 1e-3
    mixed = telling + losses.pure(epsilon=1)
    assert mixed.epsilon(delta=0.1001) <= 1
    assert mixed.epsilon(delta=0.0999) == math.inf


@pytest.mark.parametrize("uses", [1000, 1500, 2000, 10_000])
def test_a_delta_below_all_doubles_is_not_zero(uses: int) -> None:
    """All losses are at their largest, and only then is the sum above all but one of them."""
    whole = pld((ContinuousLaplace(epsilon=Fraction(1)), uses))
    truth = -uses * math.log(2)  # of the logarithm, less about 0.46
    before = 0.0
    for short in (0.5, 1, 2):
        bracket = whole.delta(epsilon=uses - short)
        assert max(before, math.exp(truth - 1)) <= bracket.upper <= 1e-200
        assert bracket.lower <= math.exp(truth) * uses**2
        assert bracket.upper > 0
        before = bracket.upper


def test_a_delta_of_many_samples_agrees_with_its_epsilon() -> None:
    """No moment of the first, coarse grid says anything, so it must not choose the tilt."""

    def sampled(rate: str, sigma: str) -> PoissonSubsampled:
        return PoissonSubsampled(base=gaussian(sigma), rate=Fraction(rate))

    whole = pld((sampled("0.01191", "6.199"), 1031624), (sampled("0.007726", "1.644"), 5703873))
    epsilon = whole.epsilon(delta=1.49e-9)
    assert epsilon.upper < 1.001 * epsilon.lower
    bracket = whole.delta(epsilon=epsilon.upper)
    assert 1.3e-9 < bracket.lower <= 1.49e-9
    assert bracket.upper <= 1.5e-9
