# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction
from threading import Thread

import pytest
from flint import ctx

from sordino.exact.balls import SMALLEST, Ball, ball, ceiling, is_positive, pi, round_up


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
