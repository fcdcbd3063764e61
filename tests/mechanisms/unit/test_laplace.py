# SPDX-License-Identifier: Apache-2.0
import math
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from sordino import Laplace
from tests.support.tape import Tape, replay

BYTES = np.random.default_rng(5).bytes(4000)


@pytest.mark.parametrize(
    ("eta", "half_width", "covered", "one_less"),
    [
        (1, 3, 0.973220390135, 0.92720547313),
        (0.1, 30, 0.952700212662, 0.947725650603),
    ],
)
def test_accuracy_by_hand(eta: float, half_width: int, covered: float, one_less: float) -> None:
    assert Laplace(sensitivity=1, epsilon=eta).accuracy(confidence=0.95) == half_width
    q = math.exp(-eta)
    assert 1 - 2 * q ** (half_width + 1) / (1 + q) == pytest.approx(covered, rel=1e-11, abs=0)
    assert 1 - 2 * q**half_width / (1 + q) == pytest.approx(one_less, rel=1e-11, abs=0)


def test_accuracy_of_many_coordinates_by_hand() -> None:
    m = Laplace(sensitivity=1.0, epsilon=1)
    alone, together = m.accuracy(confidence=0.95), m.accuracy(confidence=0.95, coordinates=10_000)
    assert alone == pytest.approx(2.995732273553991, rel=1e-6, abs=0)
    assert together == pytest.approx(12.18053818568197, rel=1e-6, abs=0)
    assert together < 12.20607264553017


@pytest.mark.parametrize("epsilon", [1e-9, 0.01, 0.7, 5, 1000])
@pytest.mark.parametrize("confidence", [1e-6, 0.5, 0.95, 1 - 1e-12])
@pytest.mark.parametrize("coordinates", [1, 7, 10**6])
def test_accuracy_covers_and_one_less_does_not(
    epsilon: float, confidence: float, coordinates: int
) -> None:
    half_width = Laplace(sensitivity=1, epsilon=epsilon).accuracy(
        confidence=confidence, coordinates=coordinates
    )
    with mpmath.workdps(60):
        q = mpmath.exp(-mpmath.mpf(str(epsilon)))
        wanted = mpmath.mpf(str(confidence))

        def covered(k: float) -> mpmath.mpf:
            return (1 - 2 * q ** (mpmath.mpf(k) + 1) / (1 + q)) ** coordinates

        assert covered(half_width) >= wanted
        assert half_width == 0 or covered(half_width - 1) < wanted


def test_integer_or_real_is_decided_by_the_type_of_the_sensitivity() -> None:
    for whole in (1, np.int64(1), np.uint8(1)):
        assert Laplace(sensitivity=whole, epsilon=1).whole
    for real in (1.0, np.float32(1), Fraction(1), Decimal(1)):
        assert not Laplace(sensitivity=real, epsilon=1).whole
    with replay(Tape(BYTES)):
        assert type(Laplace(sensitivity=1, epsilon=1).release(3)) is int
        assert type(Laplace(sensitivity=1.0, epsilon=1).release(3)) is float


def test_all_numbers_are_exact() -> None:
    m = Laplace(sensitivity=3, epsilon=0.1)
    exact = {m.sensitivity: 3, m.epsilon: Fraction(1, 10), m.scale: 30, m.grid: 1}
    assert all(number == value for number, value in exact.items())
    assert all(type(number) is Fraction for number in exact)
    assert (m.noise.eta, m.noise.shift) == (Fraction(1, 30), 3)
    real = Laplace(sensitivity=0.5, epsilon=0.3)
    assert real.noise.eta * real.noise.shift == Fraction(3, 10)
    assert real.noise.shift == math.floor(Fraction(1, 2) / real.grid) + 2**16
    assert 2**40 <= Fraction(5, 3) / real.grid < 2**41
    assert real.scale == real.grid / real.noise.eta


@pytest.mark.parametrize("epsilon", [0.3, 0.1, 1, 7.5])
@pytest.mark.parametrize("sensitivity", [1, 12, 0.5, 1e-12, 1e30])
def test_the_pure_loss_is_what_was_typed(sensitivity: float, epsilon: float) -> None:
    assert Laplace(sensitivity=sensitivity, epsilon=epsilon).loss.epsilon(delta=0) == epsilon


def test_the_noise_on_reals_is_hardly_wider() -> None:
    for epsilon in (0.001, 0.1, 1, 100):
        m = Laplace(sensitivity=0.5, epsilon=epsilon)
        nominal = Fraction(1, 2) / m.epsilon
        assert nominal < m.scale <= nominal * (1 + Fraction(1, 2**24) / m.epsilon)


def test_scalars_and_arrays_get_the_same_noise_from_the_same_bits() -> None:
    for m in (Laplace(sensitivity=1, epsilon=0.1), Laplace(sensitivity=1.0, epsilon=0.1)):
        with replay(Tape(BYTES)):
            scalar = m.release(5)
        with replay(Tape(BYTES)):
            assert m.release(np.array([5])).tolist() == [scalar]


def test_noise_is_drawn_for_each_coordinate() -> None:
    with replay(Tape(BYTES * 10)):
        released = Laplace(sensitivity=1, epsilon=0.001).release(np.zeros(1000, dtype=int))
    assert len(np.unique(released)) > 500


def test_a_mechanism_prints_as_it_was_typed() -> None:
    for text in (
        "Laplace(sensitivity=1, epsilon=0.1)",
        "Laplace(sensitivity=1.0, epsilon=3)",
        "Laplace(sensitivity=0.5, epsilon=1e-06)",
        "Laplace(sensitivity=Fraction(1, 3), epsilon=Fraction(1, 7))",
    ):
        made = eval(text, {"Laplace": Laplace, "Fraction": Fraction})  # noqa: S307 - ours
        assert repr(made) == text


def test_scales_that_are_not_drawn_are_refused_before_any_data_is_seen() -> None:
    drawn = "noise is drawn at scales from 2**-20 to 2**50"
    narrow = "the noise on real values must be at least 2**-920 wide"
    for sensitivity, epsilon, message in (
        (1, 2**21, f"too large for a sensitivity of 1, got 2097152; {drawn}"),
        (2**51, 1, f"too small for a sensitivity of 2251799813685248, got 1; {drawn}"),
        (1, 1e-100, f"too small for a sensitivity of 1, got 1e-100; {drawn}"),
        (1, Fraction(1, 2**51), f"too small for a sensitivity of 1, got 4.44e-16; {drawn}"),
        (1.0, 1e-12, f"too small for real values, got 1e-12; {drawn}"),
        (1e-150, 1e150, f"too large for a sensitivity of 1e-150, got 1e+150; {narrow}"),
    ):
        with pytest.raises(ValueError, match=r"^epsilon is too ") as caught:
            Laplace(sensitivity=sensitivity, epsilon=epsilon)
        assert str(caught.value) == f"epsilon is {message}"


@pytest.mark.parametrize("sensitivity", [1, 5, 1.0, 0.25])
@pytest.mark.parametrize("half_width", [0.5, 1, 25, 25.9, 10**6])
@pytest.mark.parametrize("coordinates", [1, 100])
def test_within_is_the_least_epsilon_that_is_accurate_enough(
    sensitivity: float, half_width: float, coordinates: int
) -> None:
    epsilon = Laplace.within(
        half_width, confidence=0.95, sensitivity=sensitivity, coordinates=coordinates
    )

    def width(epsilon: float) -> float:
        m = Laplace(sensitivity=sensitivity, epsilon=epsilon)
        return m.accuracy(confidence=0.95, coordinates=coordinates)

    assert width(epsilon) <= half_width < width(math.nextafter(epsilon, 0))


def test_within_by_hand() -> None:
    epsilon = Laplace.within(25, confidence=0.95, sensitivity=1)
    q = math.exp(-epsilon)
    assert 2 * q**26 / (1 + q) == pytest.approx(0.05, rel=1e-13, abs=0)


def test_a_half_width_that_no_epsilon_reaches_is_refused() -> None:
    with pytest.raises(ValueError, match="no epsilon is large enough"):
        Laplace.within(1e-9, confidence=Fraction(10**150 - 1, 10**150), sensitivity=1 << 60)


def test_a_mechanism_cannot_be_changed() -> None:
    m = Laplace(sensitivity=1, epsilon=1)
    with pytest.raises(AttributeError):
        m.epsilon = Fraction(2)  # type: ignore[misc]  # on purpose
    with pytest.raises((AttributeError, TypeError)):
        m.seed = 1  # type: ignore[attr-defined]  # on purpose
    with pytest.raises(TypeError):
        Laplace(1, 1)  # type: ignore[call-arg]  # on purpose


@pytest.mark.parametrize("length", [np.float16(0.7), np.float32(0.1), 0.1, 0.5654834946080882])
def test_a_real_sensitivity_covers_the_binary_number_that_was_passed(length: Any) -> None:
    """Data are handed over in binary, and may be a little more than the decimal they print as."""
    exact = Fraction(*(int(n) for n in length.as_integer_ratio()))
    m = Laplace(sensitivity=length, epsilon=1)
    assert m.sensitivity >= max(exact, Fraction(str(length)))
    assert pickle.loads(pickle.dumps(m)) == m  # noqa: S301  # made here
    assert eval(repr(m), {"Laplace": Laplace, "Fraction": Fraction}) == m  # noqa: S307  # as above
