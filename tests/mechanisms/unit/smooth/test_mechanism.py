# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

from sordino.mechanisms.smooth import CauchyNoise, LaplaceNoise, LomaxNoise, Smooth, StudentNoise
from sordino.mechanisms.smooth.noise import Noise, two_sided
from sordino.numbers.balls import ball, is_positive
from sordino.privacy.loss import Loss
from tests.support.seeded import SeededBits
from tests.support.tape import Words, replay

ALL: list[dict[str, Any]] = [
    {"noise": "cauchy"},
    {"noise": "lomax"},
    {"noise": "student"},
    {"noise": "laplace", "delta": 1e-6},
]
NAMES = [case["noise"] for case in ALL]
LAWS: list[tuple[Noise, Any]] = [
    (CauchyNoise(), stats.cauchy()),
    (LaplaceNoise(), stats.laplace()),
    *((StudentNoise(degrees=d), stats.t(d)) for d in (1, 2, 3, 4, 7, 30)),
]


@pytest.mark.parametrize(("noise", "known"), LAWS, ids=lambda law: repr(law)[:24])
def test_probabilities_agree_with_scipy(noise: Noise, known: Any) -> None:
    for z in (-40.0, -1.25, -1e-3, 0.0, 0.5, 3.0, 1e4):
        found = float(noise.cumulative(ball(Fraction(z))))
        assert found == pytest.approx(known.cdf(z), rel=1e-9, abs=1e-14)


def test_lomax_probabilities_by_hand() -> None:
    noise = LomaxNoise(shape=2)
    assert float(noise.cumulative(ball(1))) == 1 - 1 / 8
    assert float(noise.cumulative(ball(-3))) == 1 / 32
    assert float(noise.cumulative(ball(0))) == 0.5


def test_a_ball_on_both_sides_of_zero_keeps_both_probabilities() -> None:
    unsure = ball(Fraction(1, 3)) - ball(Fraction(1, 3))
    found = two_sided(unsure, (-abs(unsure)).exp() / 2)
    assert not is_positive(lambda: found - ball(Fraction(1, 2)))
    assert found.contains(ball(Fraction(1, 2)))


@pytest.mark.parametrize("case", ALL, ids=NAMES)
def test_the_loss_is_what_was_typed(case: dict[str, Any]) -> None:
    m = Smooth(epsilon=0.3, step=1, **case)
    assert isinstance(m.loss, Loss)
    if m.delta:
        assert m.loss.delta(epsilon=0.3) == 1e-6
    else:
        assert m.loss.epsilon(delta=0) == 0.3


def test_betas_come_from_public_rules() -> None:
    made = {case["noise"]: Smooth(epsilon=1, step=1, **case) for case in ALL}
    assert float(made["cauchy"].beta) == pytest.approx(0.7353256640555191, rel=1e-15, abs=0)
    assert made["lomax"].beta == Fraction(1, 4)
    assert made["lomax"].noise == LomaxNoise(shape=4)
    assert made["student"].beta == Fraction(1, 6)
    expected = math.log1p(1 / (2 * math.log(2e6)))
    assert float(made["laplace"].beta) == pytest.approx(expected, rel=1e-15, abs=0)
    assert Smooth(noise="cauchy", epsilon=0.1, step=1).beta == Fraction(1, 20)
    assert Smooth(noise="lomax", epsilon=1, beta=0.1, step=1).noise == LomaxNoise(shape=10)
    assert Smooth(noise=LomaxNoise(shape=0.5), epsilon=1, step=1).beta == Fraction(1, 2)


@pytest.mark.parametrize("case", ALL, ids=NAMES)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 1 - 1e-6])
def test_half_widths_cover_and_no_smaller_one_does(case: dict[str, Any], confidence: float) -> None:
    m = Smooth(epsilon=1, step=1, **case)
    width = Fraction(m.accuracy(confidence=confidence)) / m.scale_factor
    tail = (1 + Fraction(str(confidence))) / 2

    def covers(half_width: Fraction) -> bool:
        return is_positive(lambda: m.noise.cumulative(ball(half_width)) - ball(tail))

    assert covers(width)
    assert not covers(width * (1 - Fraction(1, 10**14)))


def test_half_widths_by_hand() -> None:
    cauchy, laplace = (Smooth(epsilon=1, step=1, **case) for case in (ALL[0], ALL[3]))
    expected = 0.9595173756674719 * math.tan(math.pi * 0.475)
    assert cauchy.accuracy(confidence=0.95) == pytest.approx(expected, rel=1e-12, abs=0)
    expected = float(laplace.scale_factor) * math.log(20)
    assert laplace.accuracy(confidence=0.95) == pytest.approx(expected, rel=1e-12, abs=0)
    lomax = Smooth(noise="lomax", epsilon=1, beta=0.1, step=1)
    assert lomax.accuracy(confidence=0.5) == pytest.approx(0.7617227106, rel=1e-9, abs=0)


@pytest.mark.parametrize("case", ALL, ids=NAMES)
def test_a_release_is_the_rounding_of_the_ideal_number(case: dict[str, Any]) -> None:
    m = Smooth(epsilon=1, step=0.01, **case)
    u = Fraction(3, 10)
    word = math.floor(u * 2**64)
    with replay(Words([word])):
        found = m.release(0.3, 2.5)
    with mpmath.workdps(40):
        scale = mpmath.mpf(m.scale_factor.numerator) / m.scale_factor.denominator * 2.5

        def short(z: mpmath.mpf) -> mpmath.mpf:
            place = Fraction(int(mpmath.floor(mpmath.ldexp(z, 90))), 2**90)
            return mpmath.mpf(m.noise.cumulative(ball(place)).mid().str(30, radius=False)) - u_float

        u_float = mpmath.mpf(word) / 2**64
        z = mpmath.findroot(short, (-0.7, -0.3), solver="anderson", tol=1e-12)
        ideal = mpmath.mpf(0.3) + scale * z
    assert abs(found - float(ideal)) <= 0.00501
    assert found == round(found * 100) / 100


def test_results_are_on_the_grid_and_within_the_bounds() -> None:
    m = Smooth(epsilon=0.1, step=0.25, bounds=(-1, 1.3))
    with replay(SeededBits(3)):
        found = [m.release(0, 1) for _ in range(60)]
    assert {-1.0, 1.3} < set(found)
    assert all(-1 <= x <= 1.3 and (x == 1.3 or 4 * x == int(4 * x)) for x in found)


def test_the_floor_keeps_noise_on_where_nothing_can_change() -> None:
    m = Smooth(epsilon=1, step=2**-10, floor=1)
    with replay(SeededBits(4)):
        assert len({m.release(5.0, 0.0) for _ in range(20)}) == 20
    with replay(SeededBits(4)):
        first = m.release(5.0, 0)
    with replay(SeededBits(4)):
        assert m.release(np.float32(5), Fraction(1, 3)) == first


def test_results_beyond_doubles_become_the_largest_one() -> None:
    m = Smooth(epsilon=1, step=1e150)
    with replay(Words([2**64 - 1] * 40 + [0] * 99)):
        assert m.release(0, 1e150) == np.finfo(float).max


def test_noise_of_each_kind_fits_its_quartiles() -> None:
    # Each of 4 counts of 300 draws is within 9 standard deviations but with probability < 1e-15.
    for case in ALL:
        m = Smooth(epsilon=1, step=2**-12, **case)
        quartile = m.accuracy(confidence=0.5)
        with replay(SeededBits(5)):
            drawn = np.array([m.release(0, 1) for _ in range(300)])
        counts = np.histogram(drawn, [-math.inf, -quartile, 0, quartile, math.inf])[0]
        assert (abs(counts - 75) < 9 * 7.5).all()


def test_textbook_constants_are_there_for_comparison() -> None:
    cauchy = Smooth(epsilon=1, step=1, calibration="nissim")
    assert (cauchy.beta, cauchy.scale_factor) == (Fraction(1, 6), Fraction(6))
    laplace = Smooth(noise="laplace", epsilon=7, delta=1e-6, step=1, calibration="nissim")
    assert laplace.scale_factor == Fraction(2, 7)
    assert (
        laplace.scale_factor > Smooth(noise="laplace", epsilon=7, delta=1e-6, step=1).scale_factor
    )
    assert "calibration='nissim'" in repr(laplace)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"noise": "laplace", "delta": 1e-6, "epsilon": 7.01}, "false for some delta"),
        ({"noise": "laplace", "epsilon": 0.1, "delta": 0.9}, "not proved"),
        ({"noise": "laplace", "delta": 1e-6, "beta": 0.04}, "ln"),
        ({"beta": 0.17}, "epsilon / 6"),
        ({"delta": 0.1}, "no delta"),
        ({"noise": "student"}, "no textbook constants for student"),
        ({"noise": "lomax"}, "no textbook constants for lomax"),
    ],
)
def test_textbook_constants_are_refused_where_they_are_false(
    change: dict[str, Any], match: str
) -> None:
    with pytest.raises(ValueError, match=match):
        Smooth(**{"epsilon": 1, "step": 1, "calibration": "nissim", **change})


@pytest.mark.parametrize(
    ("error", "change", "match"),
    [
        (ValueError, {"noise": "gauss"}, "noise must be one of 'cauchy'"),
        (ValueError, {"noise": None}, "noise must be one of"),
        (ValueError, {"epsilon": 0}, "epsilon"),
        (ValueError, {"epsilon": 1001}, "at most 1000"),
        (ValueError, {"beta": 1e-10}, "at least 1e-9"),
        (ValueError, {"epsilon": 1e-9}, "at least 1e-9"),
        (ValueError, {"step": 0}, "step"),
        (ValueError, {"floor": -1}, "floor"),
        (ValueError, {"delta": 1}, "delta"),
        (ValueError, {"delta": 1e-6}, "no delta"),
        (ValueError, {"noise": "laplace"}, "needs a delta"),
        (ValueError, {"noise": "lomax", "delta": 0.1}, "no delta"),
        (ValueError, {"noise": "student", "delta": 0.1}, "no delta"),
        (ValueError, {"calibration": "loose"}, "'exact' or 'nissim'"),
        (TypeError, {"bounds": 3}, "pair"),
    ],
)
def test_bad_parameters_are_refused(
    error: type[Exception], change: dict[str, Any], match: str
) -> None:
    with pytest.raises(error, match=match):
        Smooth(**{"epsilon": 1, "step": 1, **change})


def test_bad_shapes_and_degrees_are_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        LomaxNoise(shape=0)
    with pytest.raises(TypeError, match="degrees"):
        StudentNoise(degrees=1.5)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ValueError, match="at most 1000"):
        StudentNoise(degrees=1001)


@pytest.mark.parametrize("bad", [math.nan, math.inf, "1", None, True, [1]])
def test_bad_values_are_refused_without_an_echo(bad: object) -> None:
    m = Smooth(epsilon=1, step=1)
    with pytest.raises((TypeError, ValueError), match=r"released|release takes"):
        m.release(bad, 1)
    with pytest.raises((TypeError, ValueError), match=r"released|release takes"):
        m.release(1, bad)
    with pytest.raises(ValueError, match="not negative"):
        m.release(1, -1)


def test_extreme_parameters_work() -> None:
    for epsilon in (1e-6, 1000):
        for case in ALL:
            m = Smooth(epsilon=epsilon, step=1, **case)
            assert m.scale_factor > 0
    tiny = Smooth(noise="laplace", epsilon=1000, delta=1e-100, beta=1e-9, step=1)
    assert float(tiny.scale_factor) == pytest.approx(0.001, rel=1e-6, abs=0)
