# SPDX-License-Identifier: Apache-2.0
"""The best of a hidden number of runs: its exact law, and what it costs."""

import math
import pickle
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

import sordino as so
from sordino.mechanisms.choose.private_candidates import BestOf, Distribution, best_of
from sordino.privacy import losses
from sordino.randomness.samplers import draw_negative_binomial
from tests.support.seeded import SeededBits
from tests.support.tape import Words, replay

Real = Any  # mpmath has no types
Pgf = Callable[[Real], Real]
HALF = Fraction(1, 2)


def negative_binomial(eta: Fraction, gamma: Fraction) -> Pgf:
    e, g = (mpf(x.numerator) / x.denominator for x in (eta, gamma))
    if eta == 0:
        return lambda x: mp.log(1 - (1 - g) * x) / mp.log(g)
    return lambda x: ((1 - (1 - g) * x) ** -e - 1) / (g**-e - 1)


def poisson(mean: Real) -> Pgf:
    return lambda x: mp.exp(mean * (x - 1))


def best(law: list[Real], scores: list[int], pgf: Pgf) -> list[Real]:
    """The law of the first best result of a random number of runs; the last entry is none."""
    found = []
    for chance, score in zip(law, scores, strict=True):
        less = mp.fsum(p for p, s in zip(law, scores, strict=True) if s < score)
        same = mp.fsum(p for p, s in zip(law, scores, strict=True) if s == score)
        found.append((pgf(less + same) - pgf(less)) * chance / same)
    return [*found, pgf(mpf(0))]


def loss(p: list[Real], q: list[Real]) -> Real:
    return max(abs(mp.log(a / b)) for a, b in zip(p, q, strict=True) if a > 0)


def tilted(rng: np.random.Generator, outputs: int, epsilon: float) -> tuple[list[Real], list[Real]]:
    """Two laws whose log ratios are at most epsilon in size."""
    p = [mpf(10) ** -mpf(x) for x in rng.uniform(0, 6, outputs)]
    q = [a * mp.exp(mpf(epsilon) / 2 * mpf(x)) for a, x in zip(p, _ends(rng, outputs), strict=True)]
    return [x / mp.fsum(p) for x in p], [x / mp.fsum(q) for x in q]


def _ends(rng: np.random.Generator, outputs: int) -> list[float]:
    return [float(x) for x in rng.choice([-1, 1, rng.uniform(-1, 1)], outputs)]


SHAPES = [Fraction(-9, 10), -HALF, Fraction(0), HALF, Fraction(1), Fraction(2), Fraction(5)]


def made(eta: Fraction, gamma: Fraction, epsilon: float) -> BestOf:
    return BestOf(
        loss=losses.pure(epsilon=epsilon), gamma=gamma, distribution="negative_binomial", eta=eta
    )


@pytest.mark.parametrize("eta", SHAPES, ids=str)
def test_no_base_loses_more_than_is_stated(eta: Fraction) -> None:
    rng = np.random.default_rng(7)
    with mp.workdps(60):
        for _ in range(60):
            epsilon = float(rng.choice([0.1, 1, 3]))
            gamma = Fraction(1, int(rng.choice([2, 10, 10**6])))
            stated = made(eta, gamma, epsilon).loss.pure
            assert stated == (2 + eta) * Fraction(repr(epsilon))
            p, q = tilted(rng, 4, epsilon)
            pgf = negative_binomial(eta, gamma)
            for scores in ([0, 1, 2, 3], [0, 1, 1, 2], [0, 0, 0, 1], [0, 0, 0, 0]):
                found = loss(best(p, scores, pgf), best(q, scores, pgf))
                assert found <= mpf(stated.numerator) / stated.denominator + mpf(10) ** -30


@pytest.mark.parametrize("eta", SHAPES, ids=str)
def test_what_is_stated_is_reached(eta: Fraction) -> None:
    """The best output becomes likelier by e^eps, the second best less likely by e^eps."""
    gamma = Fraction(1, 10**24)
    with mp.workdps(80):
        e, second, first = mp.e, mpf(10) ** -14, mpf(10) ** -7
        p = [1 - first - second, second, first]
        q = [1 - e * first - second / e, second / e, e * first]
        pgf = negative_binomial(eta, gamma)
        found = loss(best(p, [0, 1, 2], pgf), best(q, [0, 1, 2], pgf))
        assert (2 + eta) * 0.9999 < found <= 2 + eta


def test_a_fixed_number_of_runs_loses_more_than_a_random_one() -> None:
    with mp.workdps(60):
        e = mp.e
        p, q = [e / (1 + e), 1 / (1 + e)], [1 / (1 + e), e / (1 + e)]
        fixed = loss(best(p, [0, 1], lambda x: x**10), best(q, [0, 1], lambda x: x**10))
        assert fixed == pytest.approx(10)
        pgf = negative_binomial(Fraction(1), Fraction(1, 10))
        assert loss(best(p, [0, 1], pgf), best(q, [0, 1], pgf)) < 3
    assert BestOf(loss=losses.pure(epsilon=1), expected_runs=10).loss.pure == 3


@pytest.mark.parametrize("mean", [0.2, 1, 12])
@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_the_pure_loss_of_a_poisson_number_is_never_exceeded_and_reached(
    mean: float, epsilon: float
) -> None:
    stated = BestOf(
        loss=losses.pure(epsilon=epsilon), expected_runs=mean, distribution="poisson"
    ).loss.epsilon(delta=0)
    rng = np.random.default_rng(11)
    with mp.workdps(60):
        pgf = poisson(mpf(repr(mean)))
        for _ in range(100):
            p, q = tilted(rng, 4, epsilon)
            for scores in ([0, 1, 2, 3], [0, 1, 1, 2]):
                assert loss(best(p, scores, pgf), best(q, scores, pgf)) <= stated
        truth = 1 / (1 + mp.exp(-mpf(epsilon)))
        slice_ = mpf(10) ** -9
        p = [truth * (1 - slice_), truth * slice_, 1 - truth]
        q = [(1 - truth) * (1 - slice_), (1 - truth) * slice_, truth]
        found = loss(best(p, [0, 1, 2], pgf), best(q, [0, 1, 2], pgf))
        assert stated * (1 - 1e-7) < found <= stated


@pytest.mark.parametrize("distribution", ["geometric", "logarithmic", "poisson"])
def test_the_best_noisy_value_keeps_to_the_stated_delta(distribution: Distribution) -> None:
    """Each run releases a number with Gaussian noise, which is its own score."""
    base = so.Gaussian(sensitivity=1, epsilon=0.5, delta=1e-6)
    tuner = BestOf(loss=base, expected_runs=5, distribution=distribution, delta=1e-5)
    ((leaf, _),) = tuner.loss.parts
    epsilon = tuner.loss.epsilon(delta=1e-5)
    assert leaf.pure is None
    assert 0.5 < epsilon < 1.5
    with mp.workdps(40):
        weights = {
            x: mp.exp(-mpf(x) ** 2 / 2 / (mpf(base.noise.variance.numerator)
                                          / base.noise.variance.denominator))
            for x in range(-140, 141)
        }  # fmt: skip
        total = mp.fsum(weights.values())
        values = range(-139, 141)
        p = [weights[x] / total for x in values]
        q = [weights[x - 1] / total for x in values]
        pgf = (
            poisson(mpf(5))
            if tuner.gamma is None or tuner.eta is None
            else negative_binomial(tuner.eta, tuner.gamma)
        )
        bounds = []
        for one, other in ((p, q), (q, p)):
            laws = []
            for law in (one, other):
                at, cumulative = mpf(0), [pgf(mpf(0))]
                for chance in law:
                    at += chance
                    cumulative.append(pgf(at))
                laws.append([b - a for a, b in pairwise(cumulative)])
            bounds.append(
                mp.fsum(max(a - mp.exp(epsilon) * b, 0) for a, b in zip(*laws, strict=True))
            )
        assert max(bounds) <= 1e-5


@pytest.mark.parametrize(
    ("distribution", "runs"), [("geometric", 4), ("logarithmic", 3), ("poisson", 2)]
)
def test_releases_follow_the_law_of_the_first_best(distribution: Distribution, runs: int) -> None:
    """A G-test on seeded bits: four outputs, two of which have the same score."""
    law, scores = [8, 4, 2, 2], [0, 1, 1, 2]
    rng = np.random.default_rng(1)
    outputs = chain.from_iterable(rng.choice(4, 1000, p=np.array(law) / 16) for _ in range(10**6))
    tuner = BestOf(loss=losses.pure(epsilon=1), expected_runs=runs, distribution=distribution)
    draws = 4000
    with replay(SeededBits(3)):
        counts = Counter(
            tuner.release(lambda: int(next(outputs)), score=scores.__getitem__)
            for _ in range(draws)
        )
    pgf = (
        poisson(mpf(runs))
        if tuner.gamma is None or tuner.eta is None
        else negative_binomial(tuner.eta, tuner.gamma)
    )
    expected = best([mpf(x) / 16 for x in law], scores, pgf)
    seen = [counts[0], counts[1], counts[2], counts[3], counts[None]]
    statistic = 2 * sum(
        n * math.log(n / draws / e) for n, e in zip(seen, expected, strict=True) if n
    )
    assert sum(seen) == draws
    assert (counts[None] > 0) == (distribution == "poisson")
    assert statistic < 36  # 4 degrees of freedom: exceeded with probability 3e-7


def words_for(runs: int) -> Words:
    """Coins for gamma 1/10 that make so many runs."""
    return Words([*[1 << 12] * (runs - 1), 0])


def test_every_run_happens_whatever_it_returns() -> None:
    tuner = BestOf(loss=losses.pure(epsilon=1), expected_runs=10)
    for runs in (1, 2, 7):
        seen: list[int] = []

        def run(seen: list[int] = seen) -> tuple[str, float]:
            seen.append(1)
            return "perfect", math.inf

        with replay(words_for(runs)):
            assert tuner.release(run) == ("perfect", math.inf)
        assert len(seen) == runs
        assert draw_negative_binomial(Fraction(1), Fraction(1, 10), words_for(runs)) == runs


@pytest.mark.parametrize(
    ("scores", "place"),
    [
        ([1, 3, 3, 2], 1),
        ([math.nan, 0, math.nan], 1),
        ([math.nan, math.nan], 0),
        ([2, math.nan, 1], 0),
        ([-math.inf, -math.inf], 0),
        ([math.nan, -math.inf], 1),
        ([Fraction(1, 3), 1 / 3], 0),
        ([10**400, 1.0], 0),
    ],
)
def test_the_first_of_the_best_scores_wins_and_nan_is_the_worst(
    scores: list[Any], place: int
) -> None:
    results = [(f"candidate {i}", score) for i, score in enumerate(scores)]
    tuner = BestOf(loss=losses.pure(epsilon=1), expected_runs=10)
    supply = iter(results)
    with replay(words_for(len(scores))):
        assert tuner.release(lambda: next(supply)) is results[place]
    with replay(words_for(len(scores))):
        supply = iter(results)
        found = tuner.release(lambda: next(supply), score=lambda result: result[1])
        assert found is results[place]


def test_no_run_at_all_returns_none() -> None:
    tuner = BestOf(loss=losses.pure(epsilon=1), expected_runs=0.5, distribution="poisson")

    def run() -> tuple[str, int]:
        raise AssertionError("there must be no run")

    with replay(Words([0])):
        assert tuner.release(run) is None


def test_the_number_of_runs_is_not_shown() -> None:
    tuner = BestOf(loss=losses.pure(epsilon=1), expected_runs=10)
    before = repr(tuner)
    with replay(words_for(7)):
        assert tuner.release(lambda: ("a", 0)) == ("a", 0)
    assert repr(tuner) == before == "BestOf(loss=Loss(Pure(epsilon=1)), gamma=0.1)"

    def broken() -> tuple[str, int]:
        raise RuntimeError("no convergence")

    with replay(words_for(7)), pytest.raises(RuntimeError, match="no convergence") as caught:
        tuner.release(broken)
    frames = [entry.frame.f_locals for entry in caught.traceback if entry.name == "release"]
    assert frames
    for names in frames:
        assert 7 not in [value for value in names.values() if type(value) is int]


def test_the_expected_number_of_runs_is_met() -> None:
    for distribution in ("geometric", "logarithmic", "poisson"):
        for runs in (1.01, 2, 10, 1000):
            tuner = BestOf(
                loss=losses.pure(epsilon=1), expected_runs=runs, distribution=distribution
            )
            assert tuner.expected_runs == pytest.approx(runs, rel=1e-12)
    for eta in (-0.9, -0.5, 0.5, 5):
        tuner = BestOf(
            loss=losses.pure(epsilon=1),
            expected_runs=10,
            distribution="negative_binomial",
            eta=eta,
        )
        assert tuner.expected_runs == pytest.approx(10, rel=1e-12)
    assert made(Fraction(0), Fraction(1, 10), 1).expected_runs == pytest.approx(3.9086503371293)


def test_best_of_runs_a_mechanism_that_states_its_loss() -> None:
    class Trainer:
        loss = losses.pure(epsilon=0.1)

        def __call__(self) -> tuple[str, int]:
            return "model", 3

    assert best_of(Trainer(), runs=5) == ("model", 3)
    assert best_of(lambda: "model", len, runs=5, loss=losses.pure(epsilon=1)) == "model"
    with pytest.raises(TypeError, match="loss must be what one run costs"):
        best_of(lambda: ("model", 3), runs=5)
    with pytest.raises(TypeError, match="takes a function without arguments, not tuple"):
        best_of(("model", 3), runs=5)  # type: ignore[arg-type]  # on purpose


def test_a_tuner_is_a_value() -> None:
    each = losses.pure(epsilon=0.1)
    words: list[dict[str, Any]] = [
        {"expected_runs": 10},
        {"gamma": 0.25},
        {"gamma": 0.25, "distribution": "logarithmic"},
        {"gamma": 0.25, "distribution": "negative_binomial", "eta": -0.5},
        {"expected_runs": 3, "distribution": "poisson", "delta": 1e-6},
    ]
    tuners = [BestOf(loss=each, **case) for case in words]
    for tuner in tuners:
        assert pickle.loads(pickle.dumps(tuner)) == tuner  # noqa: S301 - made here
        with pytest.raises(AttributeError):
            tuner.gamma = HALF  # type: ignore[misc]  # on purpose
    assert len(set(tuners)) == len(tuners)
    assert [repr(tuner).removeprefix("BestOf(loss=Loss(Pure(epsilon=0.1)), ") for tuner in tuners][
        1:
    ] == [
        "gamma=0.25)",
        "gamma=0.25, distribution='logarithmic')",
        "gamma=0.25, distribution='negative_binomial', eta=-0.5)",
        "expected_runs=3, distribution='poisson', delta=1e-06)",
    ]
    assert BestOf(loss=so.Laplace(sensitivity=1, epsilon=0.1), expected_runs=2).loss.pure == (
        Fraction(3, 10)
    )


PURE, GAUSS = losses.pure(epsilon=1), losses.concentrated(rho=0.1)
BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"loss": 0.1, "gamma": 0.1}, TypeError, "loss must be what one run costs"),
    ({"loss": PURE}, ValueError, "give exactly one of expected_runs and gamma"),
    ({"loss": PURE, "gamma": 0.1, "expected_runs": 5}, ValueError, "give exactly one"),
    ({"loss": PURE, "gamma": 1}, ValueError, "gamma must be a number between 0 and 1"),
    ({"loss": PURE, "expected_runs": 1}, ValueError, "expected_runs must be above 1"),
    ({"loss": PURE, "expected_runs": 10**7}, ValueError, "expected_runs must be above 1"),
    ({"loss": PURE, "gamma": 0.1, "distribution": "binomial"}, ValueError, "distribution must be"),
    ({"loss": PURE, "gamma": 0.1, "eta": 2}, ValueError, "eta goes with distribution="),
    (
        {"loss": PURE, "gamma": 0.1, "distribution": "negative_binomial"},
        ValueError,
        "distribution='negative_binomial' needs eta",
    ),
    (
        {"loss": PURE, "gamma": 0.1, "distribution": "negative_binomial", "eta": -1},
        ValueError,
        "eta must be above -1",
    ),
    (
        {"loss": PURE, "expected_runs": 500, "distribution": "negative_binomial", "eta": -0.999},
        ValueError,
        "so many runs are not reached with an eta of -0.999",
    ),
    ({"loss": PURE, "gamma": 0.1, "distribution": "poisson"}, ValueError, "a poisson number"),
    ({"loss": GAUSS, "gamma": 0.1}, ValueError, "the runs have no finite epsilon"),
    ({"loss": GAUSS, "gamma": 0.1, "delta": 1}, ValueError, "delta must be a number between"),
    (
        {"loss": losses.approximate(epsilon=1, delta=1e-6), "gamma": 0.1, "delta": 1e-5},
        ValueError,
        "no Rényi divergence of the runs is finite",
    ),
]


@pytest.mark.parametrize(("words", "error", "message"), BAD)
def test_bad_parameters_are_refused(
    words: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{message}"):
        BestOf(**words)


def test_a_run_without_a_score_is_refused() -> None:
    tuner = BestOf(loss=PURE, expected_runs=10)
    with pytest.raises(TypeError, match=r"must return a pair \(candidate, score\)"):
        tuner.release(lambda: "model")
