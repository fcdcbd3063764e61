# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction
from threading import Thread

import pytest
from flint import ctx

from sordino.numbers.balls import SMALLEST, Ball, ball, ceiling, enclose, is_positive, pi, round_up


def test_cancellation_is_answered_with_more_bits() -> None:
    tiny = Fraction(1, 10**50)
    assert round_up(lambda: ball(tiny).exp() - 1) == math.nextafter(1e-50, 1)
    assert round_up(lambda: ball(10**6).exp() * (-ball(10**6)).exp()) == math.nextafter(1, 2)


def test_a_value_below_all_doubles_becomes_the_least_of_them() -> None:
    assert round_up(lambda: 1 * (-ball(10**40)).exp()) == SMALLEST
    assert round_up(lambda: -((-ball(10**40)).exp())) == 0.0
    assert round_up(lambda: ball(0)) == 0.0
    assert round_up(lambda: ball(10**5).exp()) == math.inf


def test_an_error_that_bits_do_not_reduce_is_added_at_once() -> None:
    seen = []

    def vague() -> Ball:
        seen.append(ctx.prec)
        return pi().union(pi() + ball(Fraction(1, 10**6)))

    assert round_up(vague) == pytest.approx(math.pi + 1e-6, rel=1e-15, abs=0)
    assert round_up(vague) >= math.pi + 1e-6
    assert len(seen) <= 6


def test_integers_are_rounded_up() -> None:
    assert ceiling(pi) == 4
    assert ceiling(lambda: -pi()) == -3
    assert ceiling(lambda: ball(7)) == 7
    assert ceiling(lambda: ball(10**30) + ball(Fraction(1, 10**30))) == 10**30 + 1


def test_a_sign_that_cannot_be_decided_counts_as_not_positive() -> None:
    assert is_positive(lambda: ball(Fraction(1, 10**300)).exp() - 1)
    assert not is_positive(lambda: 1 - ball(Fraction(1, 10**300)).exp())
    assert not is_positive(lambda: pi() - pi())


def test_a_formula_without_a_value_is_an_error() -> None:
    with pytest.raises(ArithmeticError, match="no finite value"):
        round_up(lambda: 1 / ball(0))


def test_the_precision_of_others_is_left_alone_even_by_threads() -> None:
    before, results = ctx.prec, []
    threads = [
        Thread(target=lambda: results.append(round_up(lambda: ball(Fraction(1, 10**90)).expm1())))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(results) == {math.nextafter(1e-90, 1)}
    assert ctx.prec == before


@pytest.mark.parametrize("width", [1, 16, 64, 640])
def test_a_probability_is_enclosed_between_close_integers(width: int) -> None:
    for x in (Fraction(1, 3), Fraction(5), Fraction(1, 10**30), Fraction(10**6)):
        low, high = enclose(lambda x=x: (-ball(x)).exp(), width)  # type: ignore[misc]
        assert 0 <= low <= high <= min(low + 4, 1 << width)
        with ctx.workprec(width + 300):
            true = (-ball(x)).exp() * (1 << width)
            assert low < true < high


def test_enclosures_of_rational_probabilities_contain_them_and_stay_within_zero_and_one() -> None:
    for numerator in range(9):
        low, high = enclose(lambda n=numerator: ball(Fraction(n, 8)), 64)  # type: ignore[misc]
        assert low <= numerator << 61 <= high
        assert 0 <= low <= high <= min(low + 4, 1 << 64)


def test_enclosing_survives_cancellation_and_balls_that_reach_beyond_zero_and_one() -> None:
    near_one = Fraction(1, 10**40)
    assert enclose(lambda: 1 - (ball(near_one).exp() - 1), 64) == (2**64 - 1, 2**64)
    assert enclose(lambda: ball(near_one).exp() - 1, 64) == (0, 1)
    low, high = enclose(lambda: pi() * 10**1000 - (pi() * 10**1000 - ball(Fraction(1, 2))), 64)
    assert low <= 2**63 <= high <= low + 4


def test_a_formula_that_never_settles_is_enclosed_by_zero_and_one() -> None:
    assert enclose(lambda: 1 / ball(0), 16) == (0, 1 << 16)


def test_a_probability_above_one_cannot_be_enclosed() -> None:
    for excess in (Fraction(1, 10**9), Fraction(1), Fraction(10**400)):
        with pytest.raises(ArithmeticError, match="above 1"):
            enclose(lambda x=excess: 1 + ball(x), 64)  # type: ignore[misc]
