# SPDX-License-Identifier: Apache-2.0
"""The corrected statements and examples about sensitivities in docs/errata.md, by their ids."""

import inspect
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sordino as so
from sordino import losses
from sordino.mechanisms.smooth import CauchyNoise, LaplaceNoise, Smooth
from sordino.sensitivity import check, local, smooth
from tests.mechanisms.unit.smooth.laws import law
from tests.sensitivity.unit.brute import Data, Universe, check_smallest, distance
from tests.sensitivity.unit.queries import norms, order_statistic
from tests.support.tape import Words, replay

s = so.sensitivity
QUERIES = [s.count, s.rows, s.sum, s.mean, s.variance, s.histogram, s.choices, s.maximum,
           s.minimum, s.quantile, s.linear, s.check, s.local]  # fmt: skip
SALARIES = (10_000, 100_000)
ONE_TO_NINE = {0.1: 4.065696597405991, 0.25: 1.8894662109640588, 0.5: 1.2130613194252668, 1: 1.0}


def median(data: Sequence[int]) -> int:
    return sorted(data)[(len(data) - 1) // 2]


def spread(data: Sequence[int]) -> int:
    return max(data) - min(data)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: str(query.__name__))
def test_en1_every_sensitivity_asks_for_its_relation(query: Callable[..., Any]) -> None:
    """E-N1."""
    assert inspect.signature(query).parameters["neighbours"].default is inspect.Parameter.empty


def test_en2_and_x13_total_salary() -> None:
    """E-N2, X13: 90000 if one salary replaces another, 100000 if one comes or goes."""
    replaced = s.sum(bounds=SALARIES, neighbours="replace_one")
    assert replaced.l1 == 90_000
    assert s.sum(bounds=SALARIES, neighbours="add_remove").l1 == 100_000
    # The number of one relation does not hold for the other one.
    found = check(sum, SALARIES, 3, "add_remove", claimed=replaced.l1)
    assert found.holds is False
    assert found.witness is not None
    assert found.witness.data() == ([], [100_000])


def test_en3_and_x14_histograms() -> None:
    """E-N3, X14: 2 and sqrt 2 if a unit is replaced, 1 and 1 if it comes or goes."""
    replaced, added = (s.histogram(neighbours=n) for n in ("replace_one", "add_remove"))
    assert norms(replaced) == [2, 2, 1]
    assert norms(added) == [1, 1, 1]
    assert replaced.l2 == math.sqrt(2)

    def cells(data: tuple[int, ...]) -> list[int]:
        return [data.count(cell) for cell in range(3)]

    assert check(cells, range(3), 4, "replace_one", claimed=replaced).holds is True
    assert check(cells, range(3), 4, "replace_one", claimed=added.l1).holds is False


def test_en4_counts_move_by_one_and_the_number_of_rows_may_be_public() -> None:
    """E-N4."""
    assert [s.count(neighbours=n).l1 for n in s.Neighbours] == [1, 1]
    assert [s.rows(neighbours=n).l1 for n in s.Neighbours] == [1, 0]


def test_en5_outputs_are_compared_in_sets_and_not_one_by_one() -> None:
    """E-N5: no single output is more than 1/40 likelier, and half of the time all is told."""
    many = 20
    own, nothing = [Fraction(1, 2 * many)] * many, [Fraction(0)] * many
    one, other = [Fraction(1, 2), *own, *nothing], [Fraction(1, 2), *nothing, *own]
    assert max(p - q for p, q in zip(one, other, strict=True)) == Fraction(1, 40)
    assert losses.pmfs(one, other).delta(epsilon=0) == 0.5


def test_en5_a_smooth_bound_looks_at_all_data_sets_and_not_at_neighbours_only() -> None:
    """E-N5: a maximum over neighbours is smaller, and is no smooth bound."""
    universe, beta = Universe(5, 4), 0.3
    moves = universe.local(median)
    near = {
        data: max(
            moves[other] * math.exp(-beta * distance(data, other))
            for other in [data, *universe.neighbours(data)]
        )
        for data in universe.data
    }
    assert universe.roughness(near) == math.inf
    true = universe.smooth(median, beta)
    assert universe.roughness(true) <= beta + 1e-12
    assert any(near[data] < true[data] / 2 for data in universe.data)


def test_es1_and_x17_the_printed_condition_allows_a_breach() -> None:
    """E-S1, X17: LS <= S <= e^beta LS of the same data is met by S = LS, which gives data away."""
    beta, top = 0.5, 3
    one, other = (0,) * 5 + (top,) * 2, (0,) * 4 + (top,) * 3
    universe = Universe(7, top)
    moves = universe.local(median)
    assert (median(one), median(other), moves[one], moves[other]) == (0, 0, 0, top)
    assert other in set(universe.neighbours(one))
    assert all(moves[d] <= moves[d] <= math.exp(beta) * moves[d] for d in universe.data)
    assert universe.roughness(moves) == math.inf
    # No true smooth bound meets the printed condition: it is positive where LS is 0.
    found = smooth.median(one, bounds=(0, top), beta=beta)
    assert found == pytest.approx(top * math.exp(-beta), rel=1e-9, abs=0)
    assert found > math.exp(beta) * moves[one]
    # Nor is "at most the global sensitivity" part of it: twice the bound is as smooth.
    twice = {d: 2 * x for d, x in universe.smooth(median, beta).items()}
    assert max(twice.values()) == 2 * top
    assert universe.roughness(twice) <= beta + 1e-12


@pytest.mark.parametrize("top", [10, 10**3, 10**6])
def test_x17_noise_as_wide_as_the_local_sensitivity_gives_the_data_away(top: int) -> None:
    """X17: the loss has no bound; with smooth bounds the same mechanism keeps to epsilon."""
    m = Smooth(epsilon=1, step=1, floor=Fraction(1, 10**6), bounds=(-50, 50))
    one, other = (0,) * 5 + (top,) * 2, (0,) * 4 + (top,) * 3

    def loss(bounds: Sequence[float]) -> float:
        p, q = (law(m, 0, bound) for bound in bounds)
        return max(abs(math.log(p[y] / q[y])) for y in p)

    ends = (0, top)
    moves = [float(local(median, data, ends, "replace_one").l1) for data in (one, other)]
    assert moves == [0, top]
    assert loss(moves) > math.log(top)
    safe = [smooth.median(d, bounds=ends, beta=m.beta, floor=m.floor) for d in (one, other)]
    assert loss(safe) <= 1
    with replay(Words([2**62])):  # a quarter of the way through the law
        assert m.release(0, moves[0]) == 0
    with replay(Words([2**62])):
        assert m.release(0, moves[1]) == max(-50, round(-top * float(m.scale_factor)))


def printed(data: Data, rank: int, top: int, k: int, slide: str) -> int:
    """A(k) by the right formula, or by one of the two slides, which differ in how far t runs."""
    padded = [*[0] * 20, *data, *[top] * 20]

    def x(i: int) -> int:
        return padded[i + 19]

    if slide == "right":
        return max(x(rank + t) - x(rank + t - k - 1) for t in range(k + 2))
    return max(
        max(x(rank + t) - x(rank + t - k - 1), x(rank + t + 1) - x(rank + t))
        for t in range(k + (2 if slide == "A" else 1))
    )


@pytest.mark.parametrize(
    ("slide", "low", "high"), [("right", 0, 0), ("A", 0, 41), ("B", 30, 0)], ids=["right", "A", "B"]
)
def test_es2_the_printed_median_formulas_fail_the_test_that_the_right_one_passes(
    slide: str, low: int, high: int
) -> None:
    """E-S2: of 126 data sets B is too small for 30, A too large for 41, and neither is smooth."""
    universe, rank, top, beta = Universe(5, 4), 3, 4, 0.3
    moves = universe.local(median)
    within = {
        data: [max(moves[d] for d in universe.data if distance(data, d) <= k) for k in range(6)]
        for data in universe.data
    }
    claims = {d: [printed(d, rank, top, k, slide) for k in range(6)] for d in universe.data}
    pairs = [list(zip(claims[d], within[d], strict=True)) for d in universe.data]
    assert len(pairs) == 126
    assert sum(any(claim < true for claim, true in pair) for pair in pairs) == low
    assert sum(any(claim > true for claim, true in pair) for pair in pairs) == high
    found = {
        d: smooth.from_local(claims[d].__getitem__, beta=beta, global_bound=top, records=5,
                             floor=1e-9)
        for d in universe.data
    }  # fmt: skip
    if slide == "right":
        check_smallest(universe, median, beta, found)
    else:
        assert universe.roughness(found) == pytest.approx(2 * beta, rel=1e-9, abs=0)
        with pytest.raises(AssertionError):
            check_smallest(universe, median, beta, found)


def test_es2_three_records_for_which_a_printed_formula_is_too_small() -> None:
    """E-S2: (0, 0, 1) in [0, 6] is one change from a data set whose median one more moves by 6."""
    data, top = (0, 0, 1), 6
    universe = Universe(3, top)
    moves = universe.local(median)
    assert max(moves[d] for d in [data, *universe.neighbours(data)]) == 6
    assert [printed(data, 2, top, 1, slide) for slide in ("right", "A", "B")] == [6, 6, 5]


def test_es3_the_constants_for_the_pure_case_hold_and_waste_budget() -> None:
    """E-S3: of epsilon 1 they spend 0.226, 0.364, 0.458, 0.576 for gamma 2, 3, 4, 6."""
    z = np.concatenate([np.linspace(-60, 60, 40_001), np.logspace(1.7, 8, 500)])
    for gamma, spent in ((2, 0.226), (3, 0.364), (4, 0.458), (6, 0.576)):
        beta, c = 1 / (2 * (gamma + 1)), 2 * (gamma + 1)

        def logs(x: Any, gamma: int = gamma) -> Any:
            return -np.log1p(np.abs(x) ** gamma)

        found = max(
            np.abs(logs(z) + t - logs((z - min(1, math.exp(t)) / c) * math.exp(-t))).max()
            for t in np.linspace(-beta, beta, 9).tolist()
        )
        assert found == pytest.approx(spent, abs=6e-4)
    wasteful = Smooth(epsilon=1, step=1, calibration="nissim")
    assert (wasteful.beta, wasteful.scale_factor) == (Fraction(1, 6), Fraction(6))
    exact = Smooth(noise=CauchyNoise(), epsilon=1, step=1)
    assert exact.scale_factor == pytest.approx(0.9595173756674719, rel=1e-15, abs=0)
    assert exact.beta > 4 * wasteful.beta


@pytest.mark.parametrize(
    ("delta", "crossing"),
    [("1e-10", 14.962), ("1e-6", 13.663), ("1e-3", 12.148), ("0.1", 10.244), ("0.3", 8.806)],
)
def test_es4_the_constants_for_laplace_noise_hold_up_to_an_epsilon(
    delta: str, crossing: float
) -> None:
    """E-S4: from there on the least factor that will do is above the printed one."""
    for epsilon, holds in (
        (1, True),
        (7, True),
        (crossing - 0.001, True),
        (crossing + 0.001, False),
    ):
        price = Fraction(str(epsilon))
        beta = Fraction(str(epsilon / (2 * math.log(2 / float(delta)))))
        least = LaplaceNoise().factor(epsilon=price, delta=Fraction(delta), beta=beta)
        assert (least <= 2 / price) is holds
        given: dict[str, Any] = {"noise": "laplace", "epsilon": price, "delta": Fraction(delta)}
        if epsilon <= 7:
            assert Smooth(**given, step=1, calibration="nissim").scale_factor == 2 / price
        else:
            with pytest.raises(ValueError, match="false for some delta when epsilon is above 7"):
                Smooth(**given, step=1, calibration="nissim")
        assert Smooth(**given, step=1).scale_factor <= 2 / price


def test_es5_and_x16_the_local_sensitivity_of_a_range_of_salaries() -> None:
    """E-S5, X16: 40000, 35000 (for 15000, where 150000 is printed) and 50000; globally 90000."""

    def moves(*data: int) -> Fraction:
        return local(spread, data, {*SALARIES, *data} - {150_000}, "replace_one").l1

    assert moves(50_000, 50_000, 20_000, 10_000, 60_000) == 40_000
    assert moves(80_000, 50_000, 70_000, 15_000, 60_000) == 35_000
    assert moves(80_000, 50_000, 70_000, 150_000, 60_000) == 70_000
    assert moves(80_000, 60_000, 75_000, 100_000, 60_000) == 50_000
    assert check(spread, (10_000, 50_000, 100_000), 5, "replace_one", least=5).l1 == 90_000


def test_es6_the_local_sensitivity_of_a_median_holds_with_its_conditions() -> None:
    """E-S6: right if a record is replaced, for an odd number of at least 3; else it is not."""
    for size in (3, 5):
        half = size // 2
        for data, moves in Universe(size, 4).local(median).items():
            x, before, after = data[half], data[half - 1], data[half + 1]
            assert moves == max(x - before, after - x)
    alone = Universe(1, 4).local(median)
    assert alone == {(x,): max(x - 0, 4 - x) for x in range(5)}  # the bounds are the neighbours
    assert local(median, (3, 3, 4), range(5), "replace_one").l1 == 1
    assert local(median, (3, 3, 4), range(5), "add_remove").l1 == 0


def test_es7_a_mechanism_has_beta_and_a_factor() -> None:
    """E-S7: noise of width S/alpha has the factor 1/alpha; only beta is a rate of change."""
    assert "alpha" not in inspect.signature(Smooth).parameters
    m = Smooth(epsilon=1, step=1, calibration="nissim")
    alpha = m.epsilon / 6
    assert m.scale_factor == 1 / alpha
    assert (
        Smooth(epsilon=1, beta=0.1, step=1).scale_factor == Smooth(epsilon=1, step=1).scale_factor
    )


def test_x12_a_data_set_as_a_histogram() -> None:
    """X12: {1, 3, 5, 5} is (1, 0, 1, 0, 2), of size 4, and one record less is at distance 1."""

    def cells(data: Sequence[int]) -> list[int]:
        return [list(data).count(x) for x in range(1, 6)]

    data = (1, 3, 5, 5)
    assert cells(data) == [1, 0, 1, 0, 2]
    assert sum(cells(data)) == 4
    assert local(cells, data, range(1, 6), "add_remove").l1 == 1
    assert local(cells, data, range(1, 6), "replace_one").l1 == 2


@pytest.mark.parametrize("n", [1, 5, 100])
def test_x15_the_median_moves_over_the_whole_range(n: int) -> None:
    """X15: from 0 for (0, 0, 0, n, n) to n for (0, 0, n, n, n)."""
    found = s.quantile(at=0.5, bounds=(0, n), neighbours="replace_one", size=5)
    assert found.l1 == n
    assert found.witness is not None
    one, other = (sorted(int(str(x)) for x in data) for data in found.witness.data())
    assert (one, other) == ([0, 0, 0, n, n], [0, 0, n, n, n])
    assert [order_statistic(data, Fraction(1, 2)) for data in (one, other)] == [0, n]
    assert smooth.median(one, bounds=(0, n), beta=5) == pytest.approx(n, rel=1e-10, abs=0)
    assert s.maximum(bounds=(0, n), neighbours="replace_one", size=5).l1 == n


@pytest.mark.parametrize("beta", ONE_TO_NINE)
def test_x18_the_median_of_one_to_nine(beta: float) -> None:
    """X18: A(k) = k + 1 up to 10, by all three formulas, and the smooth bounds from it."""
    values, bounds = tuple(range(1, 10)), (0, 10)
    for slide in ("right", "A", "B"):
        assert [printed(values, 5, 10, k, slide) for k in range(10)] == list(range(1, 11))
    found = smooth.median(values, bounds=bounds, beta=beta)
    assert found == pytest.approx(ONE_TO_NINE[beta], rel=2e-10, abs=0)
    assert found > ONE_TO_NINE[beta]
    by_hand = smooth.from_local(lambda k: k + 1, beta=beta, global_bound=10)
    assert by_hand == pytest.approx(found, rel=1e-12, abs=0)
