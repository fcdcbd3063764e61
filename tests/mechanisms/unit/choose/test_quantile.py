# SPDX-License-Identifier: Apache-2.0
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino.mechanisms.choose.interval import Interval
from sordino.mechanisms.choose.quantiles.quantiles import Quantiles, median, quantiles
from sordino.mechanisms.choose.quantiles.ranks import Shells, Slab, joint_spread, read_records
from sordino.privacy import losses
from tests.mechanisms.unit.choose.rank_laws import (
    RELATIONS,
    Data,
    data_sets,
    exponents_of,
    pairs,
    records_of,
)
from tests.support.seeded import SeededBits
from tests.support.tape import Tape, replay

SOME = [Fraction(0), Fraction(1, 5), Fraction(1, 3), Fraction(1, 2), Fraction(3, 4), Fraction(1)]
DECILES = [k / 10 for k in range(1, 10)]


def slab_of(data: Data, q: Fraction, interval: Interval | None = None) -> Slab:
    grid = interval or Interval(0, len(data) - 1)
    run = 0, grid.size
    return Slab.between(records_of(data, grid), grid, run, q, fine=1, tie=True)


def score(data: Data, q: Fraction, point: int) -> Fraction:
    """How deep a point holds the wanted rank, or with a minus sign how far it is from it."""
    wanted = q * sum(data)
    return min(sum(data[: point + 1]) - wanted, wanted - sum(data[:point]))


def behind(data: Data, q: Fraction, point: int) -> Fraction:
    """How much better the best point is."""
    return max(score(data, q, p) for p in range(len(data))) - score(data, q, point)


@pytest.mark.parametrize("q", SOME, ids=str)
def test_every_point_is_drawn_with_the_exponent_of_its_rank(q: Fraction) -> None:
    for rate in (Fraction(1, 7), Fraction(3)):
        for data in data_sets(4, 4):
            found = exponents_of(Shells(slab_of(data, q), rate, deep=True))
            assert found == {p: (rate * behind(data, q, p), 1) for p in range(4)}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("q", SOME, ids=str)
def test_the_range_of_losses_is_the_price_and_no_less(q: Fraction, relation: Any) -> None:
    mechanism = Quantiles(
        [q], range=(0, 3), epsilon=1, neighbours=relation, mechanism="exponential"
    )
    rate = 1 / joint_spread([q], relation)
    worst = Fraction(0)
    for one, two in pairs(4, 5, relation):
        moves = [rate * (score(two, q, p) - score(one, q, p)) for p in range(4)]
        worst = max(worst, max(moves) - min(moves))
    assert worst == 1  # so any larger rate, as from a smaller sensitivity, would be too much
    assert mechanism.loss == losses.exponential(epsilon=1).under(relation)
    flipped = Quantiles([q], range=(0, 3), epsilon=1, neighbours=relation)
    assert flipped.mechanism == "permute_and_flip"
    assert flipped.loss == losses.pure(epsilon=1).under(relation)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_law_of_a_release_is_that_of_the_ranks(relation: Any) -> None:
    mechanism = Quantiles(
        [0.3], range=(0, 4), epsilon=2, neighbours=relation, mechanism="exponential"
    )
    data = (2, 0, 3, 0, 1)
    values = [0, 0, 2, 2, 2, 4]
    rate = 2 / joint_spread([Fraction(3, 10)], relation)
    weights = np.exp([-float(rate * behind(data, Fraction(3, 10), p)) for p in range(5)])
    law = mechanism.probabilities(values)
    assert [(a, b) for a, b, _ in law] == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]
    np.testing.assert_allclose([p for _, _, p in law], weights / weights.sum(), rtol=1e-13)
    with replay(SeededBits(11)):
        drawn = [mechanism.release(values)[0] for _ in range(1500)]
    expected = 1500 * weights / weights.sum()
    seen = np.bincount(drawn, minlength=5)
    assert ((seen - expected) ** 2 / expected).sum() < 37  # 4 degrees of freedom, alpha 2e-7


@pytest.mark.parametrize(
    ("relation", "anchors"),
    [
        ("replace_one", [0.02900611, 0.04782299, 0.07884678, 0.12999636, 0.21432776]),
        ("add_remove", [0.00582812, 0.01584246, 0.04306427, 0.11706083, 0.31820432]),
    ],
)
def test_the_median_of_one_to_nine_has_the_known_law(relation: Any, anchors: list[float]) -> None:
    mechanism = Quantiles([0.5], range=(0.0, 10.0), epsilon=1, neighbours=relation)
    law = mechanism.probabilities(range(1, 10))
    between = [p for a, b, p in law if a != b]
    np.testing.assert_allclose(between, anchors + anchors[::-1], atol=5e-9)
    assert sum(p for a, b, p in law if a == b) < 1e-10  # nine points of 2**40


def test_a_base_is_a_prior_for_the_points() -> None:
    grid = Interval(0, 3, base=[(0, 5), (3, 1)])
    assert exponents_of(Shells(slab_of((0, 0, 1, 0), Fraction(1), grid), Fraction(1, 2))) == {
        0: (Fraction(1, 2), 5),
        1: (Fraction(1, 2), 1),
        2: (Fraction(0), 1),
        3: (Fraction(0), 1),
    }
    mechanism = Quantiles([1], range=grid, epsilon=0.5, neighbours="add_remove")
    weights = np.array([6 * math.exp(-0.5), 2])  # rate 1/2: all scores move the same way
    law = mechanism.probabilities([2, 2, 2][:1])
    np.testing.assert_allclose(law[0][2], weights[0] / weights.sum())


def test_far_levels_hold_what_is_left_and_are_corrected() -> None:
    data = (0, 300, 0, 0, 300)
    shells = Shells(slab_of(data, Fraction(0)), Fraction(20))
    found = exponents_of(shells)
    assert found == {p: (20 * behind(data, Fraction(0), p), 1) for p in range(5)}
    assert len(shells.counts) < 4 * 20 * 600  # the last one holds all that is far behind


@pytest.mark.parametrize("method", ["joint", "recursive"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_value_that_holds_most_of_the_data_is_found(method: Any, relation: Any) -> None:
    values = np.concatenate([np.full(900, 40_000.0), np.linspace(0, 500_000, 100)])
    with replay(SeededBits(3)):
        for bounds in ((0, 500_000), (0.0, 500_000.0)):
            found = quantiles(
                values,
                [0.2, 0.4, 0.6, 0.8],
                range=bounds,
                epsilon=4,
                neighbours=relation,
                method=method,
            )
            assert found == [40_000] * 4
            assert median(values, range=bounds, epsilon=1, neighbours=relation) == 40_000


@pytest.mark.parametrize("method", ["joint", "recursive"])
@pytest.mark.parametrize("bounds", [(0, 9), (0.0, 9.0), (5, 5), (5.0, 5.0)])
@pytest.mark.parametrize("values", [[], [3.2], [1, 1, 1, 8], list(range(200))], ids=len)
def test_a_larger_quantile_never_gets_a_smaller_point(
    method: Any, bounds: Any, values: Any
) -> None:
    wanted = [0.9, 0, 0.5, 1, 0.5, 0.1]
    with replay(SeededBits(8)):
        for _ in range(5):
            found = quantiles(
                values, wanted, range=bounds, epsilon=0.5, neighbours="add_remove", method=method
            )
            assert len(found) == len(wanted)
            ordered = [point for _, point in sorted(zip(wanted, found, strict=True))]
            assert ordered == sorted(found)
            assert found[2] == found[4]
            assert all(bounds[0] <= point <= bounds[1] for point in found)
            assert {type(point) for point in found} == {type(bounds[0])}


@pytest.mark.parametrize("method", ["single", "joint", "recursive"])
@pytest.mark.parametrize("bounds", [(0, 50), (0.0, 50.0), (0, 50, 5)])
def test_counts_of_buckets_give_what_the_records_give(method: Any, bounds: Any) -> None:
    wanted = [0.5] if method == "single" else [0.25, 0.5, 0.6]
    mechanism = Quantiles(
        wanted,
        range=bounds[:2],
        step=bounds[2] if len(bounds) > 2 else None,
        epsilon=1,
        neighbours="add_remove",
        method=method,
    )
    buckets, counts = [7, 3, 40, 12, 7], [4, 9, 2, 0, 30]
    values = np.repeat(buckets, counts)
    data = np.random.default_rng(6).bytes(200_000)
    for given in (counts, np.array(counts, dtype=np.uint8), tuple(counts)):
        with replay(Tape(data)) as first:
            expanded = [mechanism.release(values) for _ in range(20)]
        with replay(Tape(data)) as second:
            counted = [mechanism.release(buckets, given) for _ in range(20)]
        assert counted == expanded
        assert first.position == second.position  # type: ignore[attr-defined]  # both are tapes


def test_records_are_counted_at_each_point() -> None:
    grid = Interval(0, 9)
    for given in ([5, 5, -3, 12, 5], np.array([5.2, 4.9, -1, 9, 5])):
        records = read_records(grid, given)
        assert records.points.tolist() == [0, 5, 9]
        assert records.upto.tolist() == [1, 4, 5]
    assert read_records(grid, []).total == 0
    assert read_records(grid, [3, 4], [0, 0]).points.size == 0


@pytest.mark.parametrize("relation", RELATIONS)
def test_accuracy_holds_for_all_records_on_one_point_and_is_no_more_than_twice_that(
    relation: Any,
) -> None:
    """Then the others are behind by n q, and by the depth as well, which the bound leaves out."""
    mechanism = Quantiles(
        [0.5], range=(0, 99), epsilon=1, neighbours=relation, mechanism="exponential"
    )
    bound = mechanism.accuracy(confidence=0.95)
    enough = next(n for n in range(2, 200, 2) if mechanism.probabilities([0], [n])[0][2] >= 0.95)
    assert enough / 2 <= bound <= enough + 2
    assert mechanism.accuracy(confidence=0.95, records=3) == 3


@pytest.mark.parametrize("method", ["single", "joint", "recursive"])
def test_accuracy_covers_what_is_released(method: Any) -> None:
    wanted = [0.5] if method == "single" else [0.25, 0.5, 0.75]
    rng = np.random.default_rng(12)
    values = np.sort(rng.integers(0, 1000, 500))
    mechanism = Quantiles(
        wanted, range=(0, 1000), epsilon=1, neighbours="add_remove", method=method
    )
    bound = mechanism.accuracy(confidence=0.9, records=500)
    worst = []
    with replay(SeededBits(4)):
        for _ in range(100):
            found = mechanism.release(values)
            ends = [np.searchsorted(values, found, side=side) for side in ("left", "right")]
            target = 500 * np.array(wanted)
            worst.append(np.maximum(ends[0] - target, target - ends[1]).max())
    assert np.mean(np.array(worst) <= bound) >= 0.9
    levels = [mechanism.accuracy(confidence=c) for c in (0.1, 0.5, 0.9, 0.999)]
    assert levels == sorted(levels)


def test_accuracy_of_a_range_of_one_point_is_zero() -> None:
    mechanism = Quantiles([0.5], range=(3, 3), epsilon=1, neighbours="add_remove")
    assert mechanism.accuracy(confidence=0.99) == 0
    assert mechanism.release([1, 2, 3]) == [3]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("many", [2, 3, 4, 9])
def test_the_method_chosen_is_the_closer_one_or_nearly(relation: Any, many: int) -> None:
    """Mean rank errors on lognormal incomes: what the choice by a formula rests on."""
    incomes = np.sort(np.random.default_rng(1).lognormal(10.5, 0.8, 5000))
    wanted = np.arange(1, many + 1) / (many + 1)
    ranks = 5000 * wanted
    errors = {}
    for method in ("joint", "recursive"):
        if method == "joint" and relation == "add_remove" and many > 5:
            continue  # refused
        mechanism = Quantiles(
            wanted, range=(0.0, 500_000.0), epsilon=1, neighbours=relation, method=method
        )
        with replay(SeededBits(9)):
            found = [mechanism.release(incomes) for _ in range(20)]
        errors[method] = np.abs(np.searchsorted(incomes, found) - ranks).mean()
    chosen = Quantiles(wanted, range=(0.0, 500_000.0), epsilon=1, neighbours=relation).method
    assert errors[chosen] <= 1.3 * min(errors.values())


def test_with_delta_levels_cost_more_and_the_loss_still_fits() -> None:
    wanted = [k / 100 for k in range(1, 100)]
    settings: dict[str, Any] = {"range": (0, 10), "epsilon": 8, "neighbours": "add_remove"}
    pure = Quantiles(wanted, method="recursive", **settings)
    loose = Quantiles(wanted, method="recursive", delta=1e-3, **settings)
    assert pure.loss == 7 * losses.exponential(epsilon=Fraction(8, 7)).under("add_remove")
    assert loose.loss.pure is not None
    assert loose.loss.pure > 8 * Fraction(11, 10)
    assert loose.loss.delta(epsilon=8) <= 1e-3
    assert loose.accuracy(confidence=0.9) < pure.accuracy(confidence=0.9)
    one = Quantiles([0.5], delta=1e-3, **settings)
    assert one.loss.pure is not None
    assert one.loss.pure > 8
    assert one.loss.delta(epsilon=8) <= 1e-3


def test_the_same_quantiles_are_written_in_several_ways() -> None:
    settings: dict[str, Any] = {"range": (0, 10), "epsilon": 1, "neighbours": "add_remove"}
    median = Quantiles([0.5], **settings)
    assert Quantiles([0.5], method="joint", **settings) == median
    assert Quantiles([Decimal("0.5")], **settings) == median


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"quantiles": []}, ValueError, "at least one"),
        ({"quantiles": 0.5}, TypeError, "list of numbers from 0 to 1"),
        ({"quantiles": "0.5"}, TypeError, "list of numbers from 0 to 1"),
        ({"quantiles": [0.5, 50, 95]}, ValueError, "from 0 to 1, got 50; write 50 % as 0.5$"),
        ({"quantiles": [100]}, ValueError, "from 0 to 1, got 100; write 100 % as 1$"),
        ({"quantiles": [250]}, ValueError, "a quantile must be a number from 0 to 1, got 250$"),
        ({"quantiles": [-0.1]}, ValueError, "a quantile must be a number from 0 to 1, got -0.1$"),
        ({"quantiles": [math.nan]}, ValueError, "a quantile must be a number from 0 to 1, got nan"),
        ({"quantiles": ["0.5"]}, TypeError, "a quantile must be a number from 0 to 1, got a value"),
        ({"epsilon": 0}, ValueError, "epsilon must be a positive number"),
        ({"delta": 1}, ValueError, "delta"),
        ({"neighbours": "both"}, ValueError, "neighbours must be 'add_remove' or 'replace_one'"),
        ({"method": "best"}, ValueError, "method must be 'single' or 'joint' or 'recursive'"),
        ({"method": "single"}, ValueError, "finds one quantile"),
        ({"range": (0, math.inf)}, ValueError, "high must be finite"),
        ({"range": 5}, TypeError, "range must be a pair"),
        ({"range": ("a", "b")}, TypeError, "low must be a finite number"),
        ({"range": (10, 0)}, ValueError, "low at most high, got \\(10, 0\\)"),
        ({"step": 11}, ValueError, "step must be at most high - low, which is 10, got 11"),
    ],
)
def test_bad_parameters_are_refused(change: Any, error: type[Exception], message: str) -> None:
    settings = {
        "quantiles": [0.25, 0.5],
        "range": (0, 10),
        "epsilon": 1,
        "neighbours": "add_remove",
    }
    with pytest.raises(error, match=message):
        Quantiles(**(settings | change))


@pytest.mark.parametrize(
    ("values", "counts", "error", "message"),
    [
        ([1.0, math.nan], None, ValueError, "not a number"),
        ([1, 2], [1], ValueError, "one for each value"),
        ([1, 2], [1, -1], ValueError, "not negative"),
        ([1, 2], [1, 0.5], TypeError, "whole numbers"),
        ([1, 2], np.array([1.0, 2.0]), TypeError, "whole numbers"),
        ([1, 2], [True, False], TypeError, "whole numbers"),
        ([1, 2], [1, 2**40], ValueError, "at most 2\\*\\*39"),
        ([1, 2], [2**39, 1], ValueError, "more than 2\\*\\*39 records"),
        (7, None, TypeError, "a list or a column"),
        (["1"], None, TypeError, "^values must be numbers, not str$"),
    ],
)
def test_bad_data_are_refused(
    values: Any, counts: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        median(values, range=(0, 9), epsilon=1, neighbours="add_remove", counts=counts)


def test_whole_bounds_round_the_values_and_a_step_keeps_their_decimals() -> None:
    settings: dict[str, Any] = {"epsilon": 1, "neighbours": "add_remove"}
    degrees = [36.6] * 1000
    assert median(degrees, range=(30, 45), **settings) == 37
    assert median(degrees, range=(30, 45), step=0.1, **settings) == 36.6
    assert median(degrees, range=(30.0, 45.0), **settings) == 36.599999999998545
    assert quantiles(degrees, [0.5], range=(30, 45), step=0.1, **settings) == [36.6]
    for thing in (median, quantiles, Quantiles):
        assert "round the values" in (thing.__doc__ or "")
        assert "step" in (thing.__doc__ or "")


def test_the_law_of_several_quantiles_is_not_written_down() -> None:
    mechanism = Quantiles([0.1, 0.2], range=(0, 9), epsilon=1, neighbours="add_remove")
    with pytest.raises(ValueError, match="single quantile only"):
        mechanism.probabilities([1])


def test_a_million_records_are_as_good_as_a_thousand() -> None:
    values = np.random.default_rng(2).lognormal(10.5, 0.8, 10**6)
    ordered = np.sort(values)
    found = quantiles(values, DECILES, range=(0.0, 500_000.0), epsilon=1, neighbours="add_remove")
    off = np.searchsorted(ordered, found) - 10**6 * np.array(DECILES)
    mechanism = Quantiles(DECILES, range=(0.0, 500_000.0), epsilon=1, neighbours="add_remove")
    assert np.abs(off).max() <= mechanism.accuracy(confidence=1 - 1e-9, records=10**6)
