# SPDX-License-Identifier: Apache-2.0
"""Keys are kept as often as (epsilon, delta) allows, and never more often."""

import itertools
import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Any, Literal

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

from sordino.mechanisms.keys.optimal import OptimalLaw, Threshold
from sordino.mechanisms.keys.selection import KeySelection, Selected, select_keys, share_of
from sordino.numbers.balls import enclose
from tests.support.seeded import SeededBits
from tests.support.tape import Words, replay

METHODS: list[Literal["optimal", "laplace", "gaussian"]] = ["optimal", "laplace", "gaussian"]
CASES = [
    (Fraction(1), Fraction(1, 10**5)),
    (Fraction(1, 10), Fraction(1, 10**9)),
    (Fraction(3), Fraction(1, 4)),
    (Fraction(1, 2), Fraction(9, 10)),
    (Fraction(40), Fraction(1, 10**12)),
]


def real(x: Fraction) -> Any:
    return mpmath.mpf(x.numerator) / x.denominator


def recursion(epsilon: Fraction, delta: Fraction, last: int) -> list[Any]:
    found = [mpmath.mpf(0)]
    grow, extra = mpmath.exp(real(epsilon)), real(delta)
    for _ in range(last):
        p = found[-1]
        found.append(min(grow * p + extra, 1 - (1 - p - extra) / grow, mpmath.mpf(1)))
    return found


def exactly(law: OptimalLaw, n: int) -> Any:
    low, high = enclose(lambda: law.ball(n), 200)
    return mpmath.mpf(low + high) / 2**201


@pytest.mark.parametrize(("n", "expected"), [
    (2, 3.718281828459045e-5), (5, 8.57910248837216e-4), (10, 0.128183080505246),
    (12, 0.7603109969226271), (13, 0.9118270222873677), (15, 0.9880721172346894),
    (20, 0.9999254111119027), (23, 1.0),
])  # fmt: skip
def test_known_values_of_the_optimal_law(n: int, expected: float) -> None:
    keys = KeySelection(epsilon=1, delta=1e-5, neighbours="add_remove")
    assert keys.probability(n) == pytest.approx(expected, rel=1e-14)
    law = OptimalLaw(Fraction(1), Fraction(1, 10**5))
    assert (law.turn, law.last) == (11, 22)


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_the_closed_form_is_the_recursion(epsilon: Fraction, delta: Fraction) -> None:
    law = OptimalLaw(epsilon, delta)
    with mpmath.workdps(80):
        expected = recursion(epsilon, delta, law.last + 2)
        for n, p in enumerate(expected):
            assert abs(exactly(law, n) - p) < mpmath.mpf(10) ** -50
        assert expected[law.last] < 1
        assert expected[law.last + 1] == 1


def worst(p: list[Any], q: list[Any], epsilon: Fraction) -> Any:
    grow = mpmath.exp(real(epsilon))
    return max(
        sum(max(a - grow * b, mpmath.mpf(0)) for a, b in zip(x, y, strict=True))
        for x, y in ((p, q), (q, p))
    )


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_the_optimal_law_is_private_and_any_more_is_not(epsilon: Fraction, delta: Fraction) -> None:
    law = OptimalLaw(epsilon, delta)
    with mpmath.workdps(80):
        tiny = mpmath.mpf(10) ** -45
        pi = [exactly(law, n) for n in range(law.last + 3)]
        for a, b in itertools.pairwise(pi):
            assert worst([a, 1 - a], [b, 1 - b], epsilon) <= real(delta) + tiny
        for n in range(1, law.last + 1):  # a little more anywhere is too much
            more = min(pi[n] * (1 + mpmath.mpf(10) ** -6), (1 + pi[n]) / 2)
            below = pi[n - 1]
            assert worst([below, 1 - below], [more, 1 - more], epsilon) > real(delta)


def product(laws: list[list[Any]]) -> list[Any]:
    return [mpmath.fprod(outcome) for outcome in itertools.product(*laws)]


@pytest.mark.parametrize("moves", [2, 3])
def test_a_unit_with_several_keys_is_hidden_among_all_counts(moves: int) -> None:
    epsilon, delta = Fraction(2), Fraction(1, 10)
    share = share_of(delta, moves)
    assert (1 - share) ** moves >= 1 - delta
    assert (1 - share - share / 2**60) ** moves < 1 - delta
    law = OptimalLaw(epsilon / moves, share)

    def found(law: OptimalLaw) -> Any:
        pi = [exactly(law, n) for n in range(law.last + 2)]
        return max(
            worst(
                product([[pi[n], 1 - pi[n]] for n in counts]),
                product([[pi[n + 1], 1 - pi[n + 1]] for n in counts]),
                epsilon,
            )
            for counts in itertools.combinations_with_replacement(range(law.last + 1), moves)
        )

    with mpmath.workdps(60):
        assert found(law) <= real(delta)
        assert found(OptimalLaw(epsilon / moves, delta)) > real(delta)
        assert found(OptimalLaw(epsilon, share)) > real(delta)


def laplace_tail(scale: Any, start: int) -> Any:
    q = mpmath.exp(-1 / scale)
    return q**start / (1 + q) if start > 0 else 1 - q ** (1 - start) / (1 + q)


def gaussian_tail(variance: Any, start: int) -> Any:
    def weight(x: int) -> Any:
        return mpmath.exp(-mpmath.mpf(x * x) / (2 * variance))

    reach = int(60 * mpmath.sqrt(variance)) + 60
    whole = mpmath.fsum(weight(x) for x in range(-reach, reach + 1))
    return mpmath.fsum(weight(x) for x in range(start, reach + 1)) / whole


def noise_delta(keys: KeySelection, moved: int) -> Any:
    """The delta of the noise on so many counts that one unit moves."""
    if keys.noise is None or not moved:
        return mpmath.mpf(0)
    noise = replace(keys.noise, squared_sensitivity=moved, coordinates=moved)
    return mpmath.mpf(repr(noise.delta(epsilon=keys.epsilon)))


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("epsilon", ["0.3", "1", "8"])
@pytest.mark.parametrize("method", ["laplace", "gaussian"])
def test_thresholds_are_the_least_that_hide_keys_of_one_unit(
    method: Any, epsilon: str, groups: int, relation: str
) -> None:
    delta = Fraction(1, 10**4)
    keys = KeySelection(
        epsilon=Fraction(epsilon), delta=delta, groups=groups, method=method, neighbours=relation
    )
    assert keys.moves == groups * (1 if relation == "add_remove" else 2)
    with mpmath.workdps(40):
        tail: Callable[[int], Any]
        if method == "laplace":
            scale = keys.moves / real(Fraction(epsilon))

            def tail(start: int) -> Any:
                return laplace_tail(scale, start)
        else:
            assert keys.noise is not None
            variance = real(keys.noise.variance)

            def tail(start: int) -> Any:
                return gaussian_tail(variance, start)

        def spent(threshold: int) -> Any:
            """By the number of keys that only one unit has, as in theorem 7."""
            silent = 1 - tail(threshold - 1)
            return max(
                1 - silent**own * (1 - noise_delta(keys, keys.moves - own))
                for own in range(groups + 1)
            )

        assert keys.threshold is not None
        assert spent(keys.threshold) <= real(delta)
        assert keys.threshold == 1 or spent(keys.threshold - 1) > real(delta)
        for n in (1, 2, keys.threshold, keys.threshold + 9):
            assert keys.probability(n) == pytest.approx(float(tail(keys.threshold - n)), rel=1e-12)


def test_the_laplace_threshold_of_a_textbook() -> None:
    """On the real line the threshold would be 11.8: on integers 13 is the least that will do."""
    keys = KeySelection(epsilon=1, delta=1e-5, method="laplace", neighbours="add_remove")
    assert keys.threshold == 13
    assert float(laplace_tail(mpmath.mpf(1), 11)) > 1e-5 > float(laplace_tail(mpmath.mpf(1), 12))


def outcomes(n: int, threshold: int, pmf: Callable[[int], Any], top: int) -> list[Any]:
    """The law of (kept, noisy count): all counts from the threshold on, then nothing."""
    if n == 0:
        return [mpmath.mpf(0)] * (top - threshold + 1) + [mpmath.mpf(1)]
    kept = [pmf(y - n) for y in range(threshold, top + 1)]
    return [*kept, 1 - mpmath.fsum(kept)]


@pytest.mark.parametrize("method", ["laplace", "gaussian"])
def test_key_and_count_together_are_private_with_one_draw(method: Any) -> None:
    epsilon, delta = Fraction(1), Fraction(1, 100)
    keys = KeySelection(epsilon=epsilon, delta=delta, method=method, neighbours="add_remove")
    with mpmath.workdps(40):
        if method == "laplace":
            q = mpmath.exp(-1)

            def pmf(x: int) -> Any:
                return (1 - q) / (1 + q) * q ** abs(x)
        else:
            variance = real(keys._rule.noise.variance)  # type: ignore[union-attr]
            whole = mpmath.fsum(
                mpmath.exp(-mpmath.mpf(x * x) / (2 * variance)) for x in range(-200, 201)
            )

            def pmf(x: int) -> Any:
                return mpmath.exp(-mpmath.mpf(x * x) / (2 * variance)) / whole

        def loss(threshold: int) -> Any:
            laws = [outcomes(n, threshold, pmf, 160) for n in range(25)]
            return max(worst(a, b, epsilon) for a, b in itertools.pairwise(laws))

        assert keys.threshold is not None
        tiny = mpmath.mpf(10) ** -30
        assert loss(keys.threshold) <= real(delta) + tiny
        assert loss(keys.threshold - 2) > real(delta)


def key_laws(keys: KeySelection, top: int, *, beyond: int) -> list[npt.NDArray[np.float64]]:
    """For each count up to ``top`` the law of what is told: nothing, or a noisy count."""
    assert isinstance(keys._rule, Threshold)
    assert keys.threshold is not None
    noise, last = keys._rule.noise, top + beyond
    found = [np.array([1.0] + [0.0] * (last - keys.threshold + 1))]
    for n in range(1, top + 1):
        tails = [float(noise.tail(y - n)) for y in range(keys.threshold, last + 1)]
        found.append(np.array([1 - tails[0], *(-np.diff([*tails, 0.0]))]))
    return found


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize(("groups", "epsilon", "delta"), [
    (1, 1, 0.01), (1, 0.2, 0.2), (1, 4, 1e-4), (2, 4, 0.02), (2, 8, 1e-3),
])  # fmt: skip
@pytest.mark.parametrize("method", ["laplace", "gaussian"])
def test_noisy_thresholds_spend_all_of_delta_and_no_more(
    method: Any, groups: int, epsilon: float, delta: float, relation: str
) -> None:
    """By enumeration: every key of the unit is its own, or one of many units, or in between."""
    keys = KeySelection(
        epsilon=epsilon, delta=delta, groups=groups, method=method, neighbours=relation
    )
    assert keys.threshold is not None
    many = keys.threshold + (12 if keys.moves <= 2 else 4)
    laws = key_laws(keys, many + 1, beyond=25 if keys.moves <= 2 else 8)
    counts = (0, 1, keys.threshold, many) if keys.moves <= 2 else (0, many)

    def joint(numbers: tuple[int, ...]) -> npt.NDArray[np.float64]:
        return reduce(np.multiply.outer, (laws[n] for n in numbers))

    entered = groups if relation == "replace_one" else 0
    spent = 0.0
    for left, right in itertools.product(
        itertools.combinations_with_replacement(counts, groups),
        itertools.combinations_with_replacement(counts, entered),
    ):
        here = joint((*(n + 1 for n in left), *right))
        there = joint((*left, *(n + 1 for n in right)))
        for p, q in ((here, there), (there, here)):
            spent = max(spent, float(np.maximum(p - math.exp(epsilon) * q, 0).sum()))
    assert spent <= delta * (1 + 1e-7)
    if method == "gaussian" and keys.moves <= 2:
        assert spent >= delta * (1 - 1e-3)  # counts far out are left out


def test_the_parts_counted_apart_are_a_larger_loss_once_and_a_smaller_one_often() -> None:
    keys = KeySelection(
        epsilon=0.5, delta=1e-6, groups=4, method="gaussian", neighbours="add_remove"
    )
    assert keys.composed.neighbours == keys.loss.neighbours == "add_remove"
    assert 1e-6 < keys.composed.delta(epsilon=0.5) <= 2e-6
    assert (50 * keys.composed).epsilon(delta=1e-4) < (50 * keys.loss).epsilon(delta=1e-4)
    for method in ("optimal", "laplace"):
        plain = KeySelection(epsilon=0.5, delta=1e-6, method=method, neighbours="replace_one")
        assert plain.composed == plain.loss
        assert plain.noise is None


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("groups", [1, 5])
def test_the_loss_is_what_was_asked_for(method: Any, groups: int) -> None:
    keys = KeySelection(
        epsilon=0.5, delta=1e-6, groups=groups, method=method, neighbours="add_remove"
    )
    assert keys.loss.delta(epsilon=0.5) <= 1e-6
    assert keys.loss.epsilon(delta=1e-6) <= 0.5
    assert keys.loss.epsilon(delta=1e-7) > 0.5


@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.01, 0.5, 0.9])
@pytest.mark.parametrize("epsilon", [1e-12, 1e-6, 0.01, 1, 3, 20])
def test_the_stated_loss_never_exceeds_what_was_asked_for(epsilon: float, delta: float) -> None:
    for method in METHODS:
        for groups in (1, 4):
            keys = KeySelection(
                epsilon=epsilon, delta=delta, groups=groups, method=method, neighbours="add_remove"
            )
            assert keys.loss.epsilon(delta=delta) <= epsilon
            assert keys.loss.delta(epsilon=epsilon) <= delta


@pytest.mark.parametrize("method", METHODS)
def test_count_for_is_the_least_count(method: Any) -> None:
    keys = KeySelection(epsilon=1, delta=1e-5, groups=2, method=method, neighbours="replace_one")
    for share in (1e-9, 0.5, 0.99, 0.999999):
        n = keys.count_for(share)
        assert keys.probability(n) >= share
        assert n == 1 or keys.probability(n - 1) < share


def test_a_key_that_nobody_has_is_never_looked_at() -> None:
    for method in METHODS:
        keys = KeySelection(epsilon=1, delta=0.9, method=method, neighbours="add_remove")
        keys.release([5])  # the sampler is made
        with replay(Words([])):
            found = keys.release(np.zeros(3, dtype=np.int64))
        kept = found.kept if isinstance(found, Selected) else found
        assert kept.tolist() == [False] * 3
        assert keys.probability(0) == 0


def test_a_draw_that_doubles_cannot_decide_is_decided_exactly() -> None:
    law = OptimalLaw(Fraction(1), Fraction(1, 10**5))
    keys = KeySelection(epsilon=1, delta=1e-5, neighbours="add_remove")
    for n in (1, 2, 11, 12, 22):
        low, _ = enclose(lambda n=n: law.ball(n), 128)  # type: ignore[misc]  # at once
        prefix, rest = low >> 64, low & (2**64 - 1)
        for word, more, kept in (
            (prefix - 1, [], True),
            (prefix + 1, [], False),
            (prefix, [rest - 5], True),
            (prefix, [rest + 5], False),
        ):
            with replay(Words([word, *more])) as tape:
                assert keys.release([n]).tolist() == [kept]
            assert tape.used == 1 + len(more)  # type: ignore[attr-defined]


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 500)])
def test_doubles_are_close_enough_to_filter(epsilon: Fraction) -> None:
    law = OptimalLaw(epsilon, Fraction(1, 10**8))
    counts = np.unique(np.linspace(1, law.last, 200).astype(np.int64))
    with mpmath.workdps(40):
        for n, near in zip(counts.tolist(), law._doubles(counts).tolist(), strict=True):
            assert abs(exactly(law, n) - near) < 2.0**-41


@pytest.mark.parametrize("method", METHODS)
def test_frequencies_fit_the_probabilities(method: Any) -> None:
    keys = KeySelection(epsilon=1, delta=0.01, method=method, neighbours="add_remove")
    size = 40_000
    with replay(SeededBits(11)):
        for n in (1, 3, 5, 8):
            found = keys.release(np.full(size, n))
            kept = found.kept if isinstance(found, Selected) else found
            p = keys.probability(n)
            assert abs(kept.sum() - size * p) <= 6 * np.sqrt(size * p * (1 - p)) + 1
            if isinstance(found, Selected):
                assert keys.threshold is not None
                assert (found.counts[kept] >= keys.threshold).all()
                assert (found.counts[~kept] == 0).all()


def test_kept_keys_come_in_their_own_order() -> None:
    keys = ["pear", "apple", "fig"]
    arguments: dict[str, Any] = {"epsilon": 1, "delta": 1e-9, "neighbours": "add_remove"}
    assert select_keys(keys, [500, 700, 1], **arguments) == ["apple", "pear"]
    kept, counts = select_keys(keys, [500, 700, 1], method="laplace", **arguments)
    assert kept == ["apple", "pear"]
    assert abs(counts - [700, 500]).max() < 40
    with pytest.raises(ValueError, match="one length"):
        select_keys(["a"], [1, 2], **arguments)


@pytest.mark.parametrize("method", METHODS)
def test_a_selection_that_has_travelled_still_selects(method: Any) -> None:
    keys = KeySelection(epsilon=0.1, delta=1e-9, groups=3, method=method, neighbours="replace_one")
    again = pickle.loads(pickle.dumps(keys))  # noqa: S301 - our own
    assert again.release([10**19 if method == "optimal" else 5]) is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 0}, "epsilon must be a positive number"),
        ({"delta": 0}, "delta must be a number between 0 and 1"),
        ({"groups": 0}, "groups must be a positive whole number"),
        ({"method": "best"}, "method must be 'optimal', 'laplace' or 'gaussian'"),
        ({"neighbours": "both"}, "neighbours must be"),
        ({"method": "laplace", "epsilon": 2**60}, "epsilon is too large"),
        ({"method": "laplace", "epsilon": Fraction(1, 2**60)}, "epsilon is too small"),
    ],
)
def test_parameters_out_of_range_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KeySelection(**{"epsilon": 1, "delta": 1e-6, "neighbours": "add_remove", **arguments})


@pytest.mark.parametrize("counts", [[1.5], [[1]], ["a"], [True], np.ma.array([1])])
def test_other_counts_are_refused(counts: Any) -> None:
    keys = KeySelection(epsilon=1, delta=1e-6, neighbours="add_remove")
    with pytest.raises(TypeError, match="one column of whole numbers"):
        keys.release(counts)
    with pytest.raises(ValueError, match="not negative"):
        keys.release([-1])
    with pytest.raises(ValueError, match="one column of whole numbers"):
        keys.release([None])
    assert keys.release([]).tolist() == []
