# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino.mechanisms import smooth
from sordino.sensitivity import smooth as bounds_of
from tests.support.seeded import SeededBits
from tests.support.tape import replay

DATA = [3.0, 9.0, 1.0, 4.5, 8.0, 2.25]
STEP = 2.0**-27  # 2**-30 of the power of two below 10


def released(name: str, seed: int, **options: Any) -> float:
    given = {"bounds": (0, 10), "epsilon": 1, **options}
    with replay(SeededBits(seed)):
        found: float = getattr(smooth, name)(DATA, **given)
    return found


@pytest.mark.parametrize(
    ("name", "options", "value"),
    [
        ("median", {}, Fraction(3)),
        ("quantile", {"rank": 5}, Fraction(8)),
        ("maximum", {}, Fraction(9)),
        ("trimmed_mean", {"trim": 1}, Fraction(71, 16)),
    ],
)
@pytest.mark.parametrize("noise", ["cauchy", "lomax", "student", "laplace"])
def test_a_statistic_is_its_value_its_bound_and_the_mechanism(
    name: str, options: dict[str, Any], value: Fraction, noise: str
) -> None:
    kind: dict[str, Any] = {"noise": noise, "delta": 1e-6 if noise == "laplace" else 0}
    m = smooth.Smooth(epsilon=1, step=STEP, bounds=(0, 10), **kind)
    bound = getattr(bounds_of, name)(DATA, bounds=(0, 10), beta=m.beta, floor=STEP, **options)
    for seed in (1, 2):
        with replay(SeededBits(seed)):
            by_hand = m.release(value, bound)
        assert released(name, seed, **options, **kind) == by_hand


def test_results_may_leave_the_bounds_if_they_are_not_clamped() -> None:
    loose = [released("median", seed, clamp=False, epsilon=0.1) for seed in range(20)]
    kept = [released("median", seed, epsilon=0.1) for seed in range(20)]
    assert not all(0 <= x <= 10 for x in loose)
    assert kept == [min(max(x, 0.0), 10.0) for x in loose]


def test_a_tight_cloud_of_data_needs_little_noise() -> None:
    data = np.linspace(49.9, 50.1, 10_001)
    with replay(SeededBits(8)):
        found = [smooth.median(data, bounds=(0, 100), epsilon=1) for _ in range(20)]
    assert np.median(np.abs(np.array(found) - 50)) < 1e-3


def test_a_custom_statistic_with_the_function_of_the_median_is_the_median() -> None:
    m = smooth.Smooth(epsilon=1, step=STEP, bounds=(0, 10))

    def local(k: int) -> float:
        padded = [0.0] * 20 + sorted(DATA) + [10.0] * 20
        return max(padded[22 + t] - padded[22 + t - k - 1] for t in range(k + 2))

    with replay(SeededBits(6)):
        own = smooth.custom(3, local, global_bound=10, records=6, bounds=(0, 10), epsilon=1)
    found = bounds_of.from_local(local, beta=m.beta, global_bound=10, floor=STEP)
    assert found == pytest.approx(bounds_of.median(DATA, bounds=(0, 10), beta=m.beta, floor=STEP),
                                  rel=1e-12, abs=0)  # fmt: skip
    assert own == pytest.approx(released("median", 6), rel=0, abs=2 * STEP)


def test_a_step_and_a_floor_may_be_chosen() -> None:
    found = {released("median", seed, step=0.5, floor=2) for seed in range(20)}
    assert all(2 * x == int(2 * x) for x in found)
    assert len(found) > 3


def test_bad_input_is_refused() -> None:
    bad: list[tuple[str, dict[str, Any]]] = [
        ("median", {"bounds": (3, 3)}),
        ("median", {"bounds": (4, 3)}),
        ("quantile", {"rank": 7}),
        ("quantile", {"rank": 0}),
        ("trimmed_mean", {"trim": 3}),
        ("maximum", {"noise": "laplace"}),
        ("maximum", {"step": 0}),
    ]
    for name, options in bad:
        with pytest.raises(ValueError, match=r".+"):
            released(name, 0, **options)
    with pytest.raises(ValueError, match="global_bound"):
        smooth.custom(1, lambda _: 1, global_bound=0, epsilon=1)


def test_local_sensitivity_in_place_of_a_smooth_bound_gives_the_data_away() -> None:
    """Noise of the width of the local sensitivity is none for one of two neighbours."""
    top, seeds = 1000, range(10)

    def by_local(data: list[int], seed: int) -> float:
        x = sorted(data)
        local = max(x[3] - x[2], x[4] - x[3])
        if local == 0:
            return x[3]
        m = smooth.Smooth(epsilon=1, step=2**-20)
        with replay(SeededBits(seed)):
            return m.release(x[3], local)

    one, other = [0] * 5 + [top] * 2, [0] * 4 + [top] * 3
    assert {by_local(one, seed) for seed in seeds} == {0}
    assert 0 not in {by_local(other, seed) for seed in seeds}
    beta = smooth.Smooth(epsilon=1, step=1).beta
    wide = [bounds_of.median(data, bounds=(0, top), beta=beta) for data in (one, other)]
    assert 1 <= wide[1] / wide[0] <= np.exp(float(beta))
