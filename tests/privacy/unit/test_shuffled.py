# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sordino as so
from sordino.privacy import losses
from sordino.privacy.loss import Loss, loss_from_json, loss_to_json, single
from sordino.privacy.pure import Pure
from sordino.privacy.shuffled import Shuffled, ShuffledResponse

KINDS = pytest.mark.parametrize("kind", [Shuffled, ShuffledResponse])
Pair = list[tuple[mpmath.mpf, mpmath.mpf]]


def shuffled(epsilon: str, people: int) -> Shuffled:
    return Shuffled(epsilon=Fraction(epsilon), people=people)


def answers(epsilon: str, people: int) -> ShuffledResponse:
    return ShuffledResponse(epsilon=Fraction(epsilon), people=people)


def coins(bound: str, people: int) -> Pair:
    """The dominating pair, written out: C fair signs and the sign of the one."""
    with mpmath.workdps(30):
        w = mpmath.exp(mpmath.mpf(bound))
        share, p = 2 / (1 + w), w / (1 + w)
        pair = []
        for c in range(people):
            chance = mpmath.binomial(people - 1, c) * share**c * (1 - share) ** (people - 1 - c)
            for plus in range(c + 2):
                one, other = (mpmath.binomial(c, k) / 2**c for k in (plus - 1, plus))
                pair.append(
                    (chance * (p * one + (1 - p) * other), chance * ((1 - p) * one + p * other))
                )
        return [(x, y) for x, y in pair if x > 0]


def yes_and_no(bound: str, people: int, ones: int) -> Pair:
    """What is seen of yes and no, if so many others hold a yes."""
    with mpmath.workdps(30):
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(bound)))
        law = [mpmath.mpf(1)]
        for chance in [p] * ones + [1 - p] * (people - 1 - ones):
            law = [
                (law[y] * (1 - chance) if y < len(law) else 0) + (law[y - 1] * chance if y else 0)
                for y in range(len(law) + 1)
            ]
        ends = [mpmath.mpf(0), *law, mpmath.mpf(0)]
        pairs = list(pairwise(ends))
        return [(p * one + (1 - p) * other, (1 - p) * one + p * other) for one, other in pairs]


def stick(pair: Pair, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(30):
        factor = mpmath.exp(mpmath.mpf(repr(epsilon)))
        return mpmath.fsum(max(p - factor * q, 0) for p, q in pair)


def product(pair: Pair) -> Pair:
    return [(p * r, q * s) for p, q in pair for r, s in pair]


@pytest.mark.parametrize(
    ("bound", "people"), [("1", 1), ("1", 2), ("0.5", 7), ("3", 20), ("1", 60)]
)
def test_delta_is_that_of_the_coins(bound: str, people: int) -> None:
    pair, loss = coins(bound, people), shuffled(bound, people)
    for share in (0.0, 0.02, 0.1, 0.37, 0.5, 0.9, 0.999):
        epsilon = round(share * float(bound), 6)
        true = stick(pair, epsilon)
        assert true <= loss.delta(epsilon=epsilon) <= true * (1 + 1e-5)


@pytest.mark.parametrize(
    ("bound", "people"), [("1", 1), ("1", 2), ("0.5", 7), ("3", 12), ("1", 50)]
)
def test_delta_of_answers_is_the_worst_of_all_that_the_others_may_hold(
    bound: str, people: int
) -> None:
    pairs, loss = (
        [yes_and_no(bound, people, ones) for ones in range(people)],
        answers(bound, people),
    )
    for share in (0.0, 0.1, 0.3, 0.7, 0.95):
        epsilon = round(share * float(bound), 6)
        turned = [[(q, p) for p, q in pair] for pair in pairs]
        true = max(stick(pair, epsilon) for pair in pairs + turned)
        assert true <= loss.delta(epsilon=epsilon) <= true * (1 + 1e-6)


def test_known_values() -> None:
    assert answers("1", 50).delta(epsilon=0.3) == pytest.approx(0.0023562452, abs=5e-11)
    assert answers("1", 1000).delta(epsilon=0.3) >= 2.534e-19
    assert answers("2", 1000).delta(epsilon=0.5) >= 8.8389e-11
    assert shuffled("1", 10_000).epsilon(delta=1e-6) == pytest.approx(0.0432, abs=1e-4)


def closed_form(bound: float, people: int, delta: float) -> float:
    """Feldman, McMillan and Talwar 2021, theorem 3.1."""
    assert bound <= math.log(people / (16 * math.log(2 / delta)))
    w = math.exp(bound)
    spread = 8 * math.sqrt(w * math.log(4 / delta) / people) + 8 * w / people
    return math.log1p((w - 1) / (w + 1) * spread)


@pytest.mark.parametrize("people", [10**4, 10**8])
@pytest.mark.parametrize("bound", ["0.1", "1", "3"])
def test_epsilon_is_below_the_closed_form(bound: str, people: int) -> None:
    for delta in (1e-4, 1e-9):
        assert shuffled(bound, people).epsilon(delta=delta) < closed_form(
            float(bound), people, delta
        )
    assert closed_form(1, 10**4, 1e-6) == pytest.approx(0.21402565193, rel=1e-9)


def test_the_usual_number_of_clones_would_cost_more() -> None:
    """What is proved here, 2/(w + 1), against e^-1: as if there were fewer people."""
    fewer = int(10**4 * math.exp(-1) * (1 + math.e) / 2)
    ratio = shuffled("1", 10**4).epsilon(delta=1e-6) / shuffled("1", fewer).epsilon(delta=1e-6)
    assert 0.8 < ratio < 0.85


@KINDS
def test_more_people_hide_more(kind: type[Shuffled]) -> None:
    found = [kind(epsilon=Fraction(1), people=n) for n in (1, 2, 3, 10, 30, 100, 1000)]
    for delta in (1e-9, 1e-3, 0.1):
        epsilons = [loss.epsilon(delta=delta) for loss in found]
        assert all(before >= after for before, after in pairwise(epsilons))
        assert epsilons[-1] < epsilons[0]
    assert all(one.rho > other.rho for one, other in pairwise(found))


def test_more_people_hide_more_across_the_ways_to_compute_it() -> None:
    many = [1_000, 10**6, 10**6 + 1, 2 * 10**6, 10**10]
    epsilons = [answers("2", n).epsilon(delta=1e-6) for n in many]
    assert all(before * (1 + 1e-12) >= after for before, after in pairwise(epsilons))
    assert answers("2", 10**8).delta(epsilon=0.01) == shuffled("2", 10**8).delta(epsilon=0.01)
    assert shuffled("1", 10**10).delta(epsilon=1e-5) == shuffled("1", 10**30).delta(epsilon=1e-5)


@KINDS
@settings(max_examples=15, deadline=None)
@given(
    bound=st.fractions(Fraction(1, 100), 6, max_denominator=100),
    people=st.integers(1, 300),
    percent=st.integers(0, 120),
)
def test_no_report_is_told_apart_better_than_alone(
    kind: type[Shuffled], bound: Fraction, people: int, percent: int
) -> None:
    loss, alone = kind(epsilon=bound, people=people), Pure(epsilon=bound)
    at = bound * percent / 100
    assert loss.delta(epsilon=at) <= alone.delta(epsilon=at) * (1 + 1e-12)
    assert loss.delta(epsilon=bound) == 0.0
    assert loss.epsilon(delta=0) == alone.epsilon(delta=0)
    assert loss.rho <= alone.rho
    assert loss.renyi(order=2) <= alone.renyi(order=2)


@settings(max_examples=30, deadline=None)
@given(people=st.integers(1, 200), tenths=st.integers(1, 40), exponent=st.integers(-12, -1))
def test_answers_of_yes_and_no_are_below_the_bound_for_all_randomizers(
    people: int, tenths: int, exponent: int
) -> None:
    bound, delta = str(tenths / 10), 10.0**exponent
    assert answers(bound, people).epsilon(delta=delta) <= shuffled(bound, people).epsilon(
        delta=delta
    )


@pytest.mark.parametrize("bound", ["31", "1e-10"])
def test_outside_its_range_a_loss_is_that_of_a_report_by_itself(bound: str) -> None:
    loss, alone = shuffled(bound, 10**6), Pure(epsilon=Fraction(bound))
    assert loss.delta(epsilon=0.5) == alone.delta(epsilon=0.5)
    assert loss.epsilon(delta=1e-6) == alone.epsilon(delta=1e-6)
    assert (loss.rho, loss.kl, loss.renyi(order=2)) == (alone.rho, alone.kl, alone.renyi(order=2))


@pytest.mark.parametrize(("bound", "people"), [("1", 3), ("2", 30), ("0.5", 60)])
def test_divergences_are_those_of_the_coins_and_never_less(bound: str, people: int) -> None:
    pair, loss = coins(bound, people), shuffled(bound, people)
    with mpmath.workdps(30):
        divergence = mpmath.fsum(p * mpmath.log(p / q) for p, q in pair)
        assert divergence <= loss.kl <= divergence * (1 + 1e-3)
        for order in (1.001, 1.5, 2.0, 5.0, 20.0, 100.0, 1000.0):
            at = mpmath.mpf(repr(order))
            total = mpmath.fsum(p**at * q ** (1 - at) for p, q in pair)
            true = mpmath.log(total) / (at - 1)
            assert true <= loss.renyi(order=order) <= true * (1 + 1e-2)
            assert true / at <= loss.rho


def test_in_a_crowd_rho_is_near_the_divergence() -> None:
    for people in (10**5, 10**8, 10**10):
        loss = shuffled("0.1", people)
        assert loss.kl <= loss.rho <= 1.05 * loss.kl
        spread = math.tanh(0.05) ** 2 * 2 / (people * 2 / (1 + math.exp(0.1)))
        assert loss.kl == pytest.approx(spread, rel=1e-2)


def test_two_shuffles_are_those_of_the_product() -> None:
    pair = coins("1", 6)
    together = 2 * single(shuffled("1", 6))
    for epsilon in (0.0, 0.3, 0.8, 1.4):
        true = stick(product(pair), epsilon)
        assert true <= together.delta(epsilon=epsilon) <= true * (1 + 1e-3)


def test_two_shuffles_of_answers_are_at_least_those_of_every_crowd() -> None:
    together = 2 * single(answers("1", 8))
    for epsilon in (0.0, 0.3, 0.8, 1.4):
        true = max(stick(product(yes_and_no("1", 8, ones)), epsilon) for ones in range(8))
        assert true <= together.delta(epsilon=epsilon) <= true * 1.5


def test_many_shuffles_are_like_a_gaussian() -> None:
    loss = shuffled("1", 10**6)
    sigma = 1 / math.sqrt(2 * loss.kl)
    like = 100 * losses.gaussian(sigma=sigma)
    found = (100 * single(loss)).epsilon(delta=1e-6)
    assert found == pytest.approx(like.epsilon(delta=1e-6), rel=5e-3)


def test_a_shuffle_is_a_loss_like_any_other() -> None:
    loss = losses.shuffled(epsilon=1, people=500)
    assert loss.neighbours == "replace_one"
    mixed = loss + losses.shuffled_response(epsilon=0.5, people=100) + losses.pure(epsilon=0.1)
    assert loss.epsilon(delta=1e-6) < mixed.epsilon(delta=1e-6) < mixed.epsilon(delta=0)
    assert loss_from_json(loss_to_json(mixed)) == mixed
    assert loss.group(3).epsilon(delta=1e-6) > loss.epsilon(delta=1e-6)
    assert so.explain_composition(mixed, delta=1e-6).epsilon == mixed.epsilon(delta=1e-6)
    poisson = losses.subsampled(losses.pure(epsilon=1), rate=0.1)
    with pytest.raises(ValueError, match="do not compose"):
        loss + poisson


def test_the_loss_is_made_of_exact_numbers_only() -> None:
    for people in (0, -3, 2.5, True):
        with pytest.raises(ValueError, match="people must be an int that is at least 1"):
            Shuffled(epsilon=Fraction(1), people=people)  # type: ignore[arg-type]  # refused
    with pytest.raises(ValueError, match="epsilon must be a positive Fraction"):
        ShuffledResponse(epsilon=Fraction(0), people=3)
    with pytest.raises(TypeError, match="people must be a positive whole number"):
        losses.shuffled(epsilon=1, people=1.5)  # type: ignore[arg-type]  # refused
    assert repr(losses.shuffled_response(epsilon=0.5, people=np.int64(7))) == (
        "Loss(ShuffledResponse(epsilon=0.5, people=7))"
    )


def test_the_two_kinds_are_different_losses() -> None:
    one, other = losses.shuffled(epsilon=1, people=9), losses.shuffled_response(epsilon=1, people=9)
    assert one != other
    assert (one + other).uses == len((one + other).parts) == 2
    assert isinstance(one, Loss)
