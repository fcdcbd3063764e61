# SPDX-License-Identifier: Apache-2.0
import datetime
import math
import pickle
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino.mechanisms.choose.continuous import Pieces, choose_in, cut_places
from sordino.mechanisms.choose.interval import Interval, as_interval
from sordino.mechanisms.choose.scores import read_scores
from tests.mechanisms.unit.choose.rank_laws import exponents_of
from tests.support.seeded import SeededBits
from tests.support.tape import replay


def points(interval: Interval) -> list[int | float]:
    return [interval.point(k) for k in range(interval.size)]


def test_integer_bounds_make_whole_numbers_and_a_step_spaces_them() -> None:
    assert points(Interval(-2, 2)) == [-2, -1, 0, 1, 2]
    assert points(Interval(1, 10, step=4)) == [1, 5, 9]
    assert all(type(x) is int for x in points(Interval(1, 10, step=4)))
    assert points(Interval(7, 7)) == [7]


def test_any_other_bound_makes_floats_of_a_power_of_two_that_stay_inside() -> None:
    for low, high in ((0.1, 0.9), (0.0, 1.0), (-3.7, 1e6), (1e9, 1e9 + 1), (0, 0.3)):
        interval = Interval(low, high)
        step = interval.step
        assert 1 in (step.numerator, step.denominator)
        assert (step.numerator * step.denominator).bit_count() == 1
        assert interval.low <= interval.origin
        last = interval.origin + (interval.size - 1) * step
        assert last <= interval.high < last + step
        assert interval.origin - step < interval.low
        assert Fraction(interval.point(1)) == interval.origin + step
        assert Fraction(interval.point(interval.size - 1)) == last
        assert 2**20 <= interval.size <= 2**41 + 1


def test_a_stated_step_starts_at_the_low_bound() -> None:
    assert points(Interval(0.1, 0.45, step=0.1)) == [0.1, 0.2, 0.3, 0.4]
    assert points(Interval(0, 1, step=Fraction(1, 3))) == [0.0, 1 / 3, 2 / 3, 1.0]
    assert points(Interval(2.5, 2.5)) == [2.5]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0, math.inf), ValueError, "high must be finite: .* give public bounds"),
        ((-math.inf, 0.0), ValueError, "low must be finite"),
        ((np.float64("-inf"), 0.0), ValueError, "low must be finite"),
        ((Decimal("-Infinity"), 0.0), ValueError, "low must be finite"),
        ((math.nan, 0.0), ValueError, "low must be a finite number"),
        ((1, 0), ValueError, "low must be at most high, got 1 and 0"),
        (("0", 1), TypeError, "low must be a finite number, got a value of type str$"),
        ((None, 1), TypeError, "low must be a finite number, got a value of type NoneType$"),
        ((0, True), TypeError, "high must be a finite number, got a value of type bool$"),
        (
            (0, datetime.date(2020, 1, 1)),
            TypeError,
            "high must be a finite number.*type date; turn",
        ),
        ((0, 2**70), ValueError, "between -2\\*\\*61 and 2\\*\\*61"),
    ],
)
def test_bounds_that_make_no_interval_are_refused(
    arguments: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Interval(*arguments)


@pytest.mark.parametrize("step", [0, -1, math.nan, 1e-20])
def test_a_bad_step_is_refused(step: float) -> None:
    with pytest.raises(ValueError, match="step"):
        Interval(1.0, 2.0, step=step)


def test_a_step_that_leaves_the_range_at_once_is_refused() -> None:
    for low, high, step in ((0, 5, 10), (0.0, 5.0, 10), (0, 1, 1.5)):
        with pytest.raises(ValueError, match=f"step must be at most high - low, which is {high:g}"):
            Interval(low, high, step=step)
    assert points(Interval(0, 5, step=5)) == [0, 5]
    assert points(Interval(5, 5, step=10)) == [5]  # one point, as the bounds say


def test_numpy_bounds_are_read_as_they_print_and_dates_are_not_read_at_all() -> None:
    assert Interval(np.float32(0.1), np.int64(1)) == Interval(0.1, 1)
    assert Interval(np.int8(-3), np.uint64(4)) == Interval(-3, 4)
    for low in (np.datetime64("2020-01-01", "ns"), np.timedelta64(5, "ns")):  # integers to numpy
        with pytest.raises(TypeError, match=r"low must be a finite number, .*turn dates into"):
            Interval(low, 10)  # type: ignore[arg-type]


def test_bounds_without_a_double_between_them_are_refused() -> None:
    with pytest.raises(ValueError, match="no double lies between low and high"):
        Interval(Fraction(2**60 + 1, 3 * 2**60), Fraction(2**60 + 2, 3 * 2**60))


@pytest.mark.parametrize(
    ("base", "error", "message"),
    [
        ([], ValueError, "must increase"),
        ([(5, 1), (5, 1), (9, 1)], ValueError, "must increase"),
        ([(5, 1)], ValueError, "must reach the high bound"),
        ([(9, 0)], ValueError, "a weight in base must be a positive number"),
        ([("9", 1)], TypeError, "an end in base must be a finite number"),
        ([5, 9], TypeError, "pairs"),
        (3, TypeError, "pairs"),
    ],
)
def test_a_bad_base_is_refused(base: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Interval(0, 9, base=base)


def test_weights_and_places_are_inverse_to_each_other() -> None:
    interval = Interval(1, 8, base=[(2, 1), (4, 0.5), (8, 0.25)])  # each doubling weighs the same
    assert [interval.mass(k) for k in range(9)] == [0, 4, 8, 10, 12, 13, 14, 15, 16]
    assert interval.total == 16
    assert interval.least == 1
    located = Counter(interval.locate(mass) for mass in range(16))
    assert located == {0: 4, 1: 4, 2: 2, 3: 2, 4: 1, 5: 1, 6: 1, 7: 1}
    assert not interval.uniform
    assert Interval(1, 8, base=[(10, 7)]).uniform


def test_values_go_to_the_nearest_point_and_to_the_ends_from_outside() -> None:
    whole = Interval(0, 10)
    assert whole.nearest([-5, 0, 3, 99, 2.4, 2.6, Fraction(13, 2), Decimal("7.9")]).tolist() == [
        0, 0, 3, 10, 2, 3, 6, 8,
    ]  # fmt: skip
    assert whole.nearest(np.array([-1, 12], dtype=np.int8)).tolist() == [0, 10]
    assert whole.nearest(np.array([3, 2**64 - 1], dtype=np.uint64)).tolist() == [3, 10]
    assert whole.nearest([10**400, -(10**400)]).tolist() == [10, 0]
    assert Interval(1, 10, step=4).nearest([0, 2, 4, 6, 8, 100]).tolist() == [0, 0, 1, 1, 2, 2]
    real = Interval(0.0, 1.0)
    top = real.size - 1
    assert real.nearest([0.0, 0.5, 1.0, 7, -math.inf, math.inf]).tolist() == [
        0, top // 2, top, top, 0, top,
    ]  # fmt: skip
    assert Interval(0, 1, step=0.1).nearest([0.1, 0.2, 0.3, 0.7, 0.9999]).tolist() == [
        1, 2, 3, 7, 10,
    ]  # fmt: skip


def test_a_value_has_one_place_whatever_its_type_and_company() -> None:
    values = [-7, 0, 3, 2**53 + 1, 2**60 + 3]
    for interval in (
        Interval(0, 10),
        Interval(0, 2**61),
        Interval(0.0, 3e18),
        Interval(0, 9, step=3),
    ):
        alone = [int(interval.nearest([value])[0]) for value in values]
        assert interval.nearest(np.array(values)).tolist() == alone
        assert interval.nearest([*values, 0.5]).tolist()[:-1] == alone
        assert interval.nearest([*values, Fraction(1, 3)]).tolist()[:-1] == alone


@pytest.mark.parametrize("interval", [Interval(0, 10), Interval(0.0, 1.0)])
def test_what_is_no_column_of_numbers_is_refused_without_a_word_of_its_contents(
    interval: Interval,
) -> None:
    for values in ([1.0, math.nan], np.array([0.0, math.nan]), [Decimal("NaN")], [1, None]):
        with pytest.raises(ValueError, match=r"not a number|missing"):
            interval.nearest(values)
    for wrong in (3, "12", [[1, 2], [3, 4]], {1: 2}, [True]):
        with pytest.raises(TypeError) as raised:
            interval.nearest(wrong)
        assert "1" not in str(raised.value).replace("0 and 1", "")
    with pytest.raises(ValueError, match=r"^values must be .*, got an array of 2 dimensions$"):
        interval.nearest(np.zeros((2, 2)))


def test_intervals_are_values() -> None:
    every = [
        Interval(0, 10),
        Interval(0.0, 10.0),
        Interval(0, 10, step=2),
        Interval(0, 10, step=0.5),
        Interval(0.1, 0.9),
        Interval(0, 10, base=[(5, 1), (10, 0.5)]),
    ]
    for interval in every:
        assert sum(other == interval for other in every) == 1
        again = pickle.loads(pickle.dumps(interval))  # noqa: S301 - ours
        assert again == interval
        assert again.size == interval.size
        assert hash(again) == hash(interval)
        assert eval(repr(interval)) == interval  # noqa: S307 - ours
    assert as_interval((0, 10)) == Interval(0, 10)
    assert as_interval((0, 1), step=0.5) == Interval(0, 1, step=0.5)
    assert as_interval(Interval(3, 4)) == Interval(3, 4)
    with pytest.raises(ValueError, match="step of its own"):
        as_interval(Interval(3, 4), step=1)
    with pytest.raises(TypeError, match="range must be a pair"):
        as_interval(5)
    swapped = r"^range must be \(low, high\) with low at most high, got \(500000, 0\)$"
    with pytest.raises(ValueError, match=swapped):
        as_interval((500_000, 0))


def weights_of_points(interval: Interval, cuts: list[int], scores: object) -> dict[int, Any]:
    pieces = Pieces(interval, [0, *cuts, interval.size], read_scores(scores), Fraction(1, 2))
    return exponents_of(pieces)


def test_each_point_of_a_piece_has_the_exponent_of_its_score() -> None:
    found = weights_of_points(Interval(0, 9), [3, 3, 5], [1, 100, 4, 2])
    # The piece without points has the best score, and no weight.
    assert found == {
        k: (Fraction(1, 2) * (100 - (1 if k < 3 else 4 if k < 5 else 2)), 1) for k in range(10)
    }
    exact = weights_of_points(Interval(0, 9), [4], [Fraction(1, 3), Fraction(1, 2)])
    assert exact == {k: (Fraction(1, 12) if k < 4 else Fraction(0), 1) for k in range(10)}
    floats = weights_of_points(Interval(0, 9), [4], [0.1, 0.0])
    assert floats == {k: (Fraction(0.1) / 2 if k >= 4 else Fraction(0), 1) for k in range(10)}


def test_a_base_multiplies_the_weights_of_points() -> None:
    found = weights_of_points(Interval(0, 3, base=[(1, 3), (3, 1)]), [1], [0, 0])
    assert found == {0: (0, 3), 1: (0, 3), 2: (0, 1), 3: (0, 1)}


def test_a_break_belongs_to_one_side_as_stated() -> None:
    grid = Interval(0, 1, step=0.1)
    sure: dict[str, Any] = {"sensitivity": 1, "epsilon": 4000}
    assert choose_in(grid, [0.3, 0.35], [0, 1, 0], **sure) == 0.3
    assert choose_in(grid, [0.2, 0.3], [0, 1, 0], **sure) == 0.2
    assert choose_in(grid, [0.2, 0.3], [0, 1, 0], closed="right", **sure) == 0.3
    assert choose_in(grid, [], [0], **sure) in points(grid)
    assert choose_in(grid, [-5, 9], [7, 0, 7], **sure) in points(grid)


@pytest.mark.parametrize(
    "interval", [Interval(0, 1, step=0.1), Interval(-3, 4), Interval(0.1, 0.2)]
)
def test_the_first_point_from_a_value_on_is_found_among_the_numbers_that_come_out(
    interval: Interval,
) -> None:
    for place in (0, 1, 2, 3, 6, interval.size - 1):
        point = interval.point(place)
        below, above = math.nextafter(point, -math.inf), math.nextafter(point, math.inf)
        assert interval.first_from(Fraction(point)) == place
        assert interval.first_from(Fraction(point), after=True) == place + 1
        assert interval.first_from(Fraction(below)) == place
        assert interval.first_from(Fraction(above)) == place + 1
    assert interval.first_from(Fraction(-100)) == 0
    assert interval.first_from(Fraction(100)) == interval.size


@pytest.mark.parametrize(
    "interval",
    [Interval(0, 9), Interval(0.1, 0.9), Interval(-1e9, 3.0), Interval(2**60, 2**61)],
    ids=repr,
)
@pytest.mark.parametrize("after", [False, True])
def test_arrays_of_breaks_are_placed_as_one_by_one(interval: Interval, after: bool) -> None:
    rng = np.random.default_rng(7)
    low, high = float(interval.low), float(interval.high)
    near = [interval.point(int(k)) for k in rng.integers(0, interval.size, 200)]
    breaks = np.concatenate([near, rng.uniform(low - 1, high + 1, 200), [-1e300, 1e300, 5e-324]])
    breaks = np.sort(np.concatenate([breaks, np.nextafter(breaks, 0), np.nextafter(breaks, 1e308)]))
    expected = [interval.first_from(Fraction(x), after=after) for x in breaks.tolist()]
    assert cut_places(interval, breaks, after=after) == expected
    assert cut_places(interval, breaks.tolist(), after=after) == expected


def test_points_are_drawn_by_their_law() -> None:
    interval, law = Interval(0, 5), np.exp([0, 0, -1, -1, -1, 0])
    with replay(SeededBits(5)):
        drawn = [
            choose_in(interval, [2, 5], [3, 1, 3], sensitivity=1, epsilon=1) for _ in range(4000)
        ]
    seen = np.bincount(drawn, minlength=6)
    expected = 4000 * law / law.sum()
    assert ((seen - expected) ** 2 / expected).sum() < 40  # 5 degrees of freedom, alpha 2e-7


def test_threshold_scores_of_bids_are_private_at_the_price_stated() -> None:
    """The revenue of one item: any bid at or above the price buys it."""
    grid = Interval(1, 5)

    def exponents(bids: tuple[int, ...]) -> dict[int, Fraction]:
        cuts = sorted({min(b, 5) for b in bids})
        scores = [sum(b >= p for b in bids) for p in [*cuts, 6]]
        places = [grid.first_from(Fraction(c), after=True) for c in cuts]
        pieces = Pieces(grid, [0, *places, grid.size], read_scores(scores), Fraction(1))
        return {k: x for k, (x, _) in exponents_of(pieces).items()}

    worst = Fraction(0)
    for first in range(1, 7):
        for second in range(1, 7):
            before, after = exponents((first, 3)), exponents((second, 3))
            moves = [after[k] - before[k] for k in range(5)]
            worst = max(worst, max(moves) - min(moves))
    assert worst == 1  # monotone: rate 1 costs epsilon 1, not 2


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (((0, 9), [3], [0, 1]), TypeError, "interval must be an Interval"),
        ((Interval(0, 9), [3], [0]), ValueError, "one entry more than breaks"),
        ((Interval(0, 9), [4, 3], [0, 1, 2]), ValueError, "do not decrease"),
        ((Interval(0, 9), [math.nan], [0, 1]), ValueError, "finite numbers"),
        ((Interval(0, 9), np.array([math.nan]), [0, 1]), ValueError, "finite numbers"),
        ((Interval(0, 9), np.array([4.0, 3.0]), [0, 1, 2]), ValueError, "do not decrease"),
        ((Interval(0, 9), ["3"], [0, 1]), TypeError, "finite numbers"),
        ((Interval(0, 9), [3], [0, math.nan]), ValueError, "scores must be finite"),
    ],
)
def test_pieces_that_do_not_fit_are_refused(
    arguments: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        choose_in(*arguments, sensitivity=1, epsilon=1)


def test_a_side_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="closed must be"):
        choose_in(Interval(0, 1), [], [0], sensitivity=1, epsilon=1, closed="both")  # type: ignore[arg-type]
