# SPDX-License-Identifier: Apache-2.0
"""Every formula, against all data sets of small universes, under both relations."""

import itertools
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from sordino import sensitivity
from sordino.sensitivity import Neighbours, check
from tests.sensitivity.unit.queries import mean, norms, order_statistic, same, variance

BOTH = list(Neighbours)
BOUNDS = [(0, 4), (-2, 3), (-3, -1), (2, 5), (-2, 2), (3, 3)]
SHARES = [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(2, 3), Fraction(1)]


def whole_range(bounds: tuple[int, int]) -> range:
    return range(bounds[0], bounds[1] + 1)


@pytest.mark.parametrize("neighbours", BOTH)
def test_counts(neighbours: Neighbours) -> None:
    found = check(lambda data: data.count("yes"), ["yes", "no"], 6, neighbours)
    assert same(found, sensitivity.count(neighbours=neighbours))
    found = check(len, ["a", "b", "c"], 5, neighbours)
    assert same(found, sensitivity.rows(neighbours=neighbours))


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("bounds", BOUNDS)
def test_sums(bounds: tuple[int, int], neighbours: Neighbours) -> None:
    found = check(sum, whole_range(bounds), 4, neighbours)
    assert same(found, sensitivity.sum(bounds=bounds, neighbours=neighbours))


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_means_and_variances_of_a_public_size(bounds: tuple[int, int], size: int) -> None:
    def found(f: object) -> sensitivity.Report:
        return check(f, whole_range(bounds), size, "replace_one", least=size)  # type: ignore[arg-type]

    claim = sensitivity.mean(bounds=bounds, size=size, neighbours="replace_one")
    assert same(found(mean), claim)
    for divisor in ("n", "n-1")[: 1 + (size > 1)]:
        claim = sensitivity.variance(
            bounds=bounds,
            size=size,
            neighbours="replace_one",
            divisor=divisor,  # type: ignore[arg-type]
        )
        assert same(found(lambda data, d=divisor: variance(data, d)), claim)


def test_over_all_sizes_the_mean_moves_by_half_the_range() -> None:
    found = check(mean, range(7), 5, "add_remove", least=1)
    assert found.l1 == 3
    assert check(lambda d: variance(d, "n"), range(7), 5, "add_remove", least=1).l1 == 9


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_between_two_sizes_the_mean_moves_by_the_range_over_the_larger_one(size: int) -> None:
    found = check(mean, range(7), size, "add_remove", least=size - 1)
    assert found.l1 == Fraction(6, size)
    moved = check(lambda d: variance(d, "n"), range(7), size, "add_remove", least=size - 1)
    assert moved.l1 == Fraction((size - 1) * 36, size**2)


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("cells", [1, 2, 4])
def test_histograms(cells: int, neighbours: Neighbours) -> None:
    # The last kind of record is in no cell.
    found = check(
        lambda data: [data.count(cell) for cell in range(cells)], range(cells + 1), 4, neighbours
    )
    assert same(found, sensitivity.histogram(neighbours=neighbours, cells=cells))
    if cells > 1:
        assert same(found, sensitivity.histogram(neighbours=neighbours))


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize(("most", "cells"), [(1, 1), (1, 3), (2, 3), (2, 4), (3, 4), (2, 5)])
def test_choices(most: int, cells: int, neighbours: Neighbours) -> None:
    sets = [chosen for n in range(most + 1) for chosen in itertools.combinations(range(cells), n)]
    found = check(
        lambda data: [sum(cell in chosen for chosen in data) for cell in range(cells)],
        sets,
        2,
        neighbours,
    )
    assert same(found, sensitivity.choices(most=most, cells=cells, neighbours=neighbours))
    if cells >= 2 * most:
        assert same(found, sensitivity.choices(most=most, neighbours=neighbours))


def test_any_subset_of_all_items_moves_as_far_under_both_relations() -> None:
    for neighbours in BOTH:
        found = sensitivity.choices(most=5, cells=5, neighbours=neighbours)
        assert norms(found) == [5, 5, 1]


@pytest.mark.parametrize("share", SHARES, ids=str)
@pytest.mark.parametrize("bounds", [(0, 4), (-2, 3), (3, 3)])
def test_quantiles_move_over_the_whole_range(bounds: tuple[int, int], share: Fraction) -> None:
    low, high = bounds
    values = whole_range(bounds)
    claim = sensitivity.quantile(at=share, bounds=bounds, neighbours="add_remove")
    for empty in values:  # whatever the answer to no data is, within the bounds
        f = partial(order_statistic, share=share, empty=empty)
        assert same(check(f, values, 5, "add_remove"), claim)
    for size in (1, 2, 5):
        claim = sensitivity.quantile(at=share, bounds=bounds, neighbours="replace_one", size=size)
        found = check(lambda d: order_statistic(d, share), values, size, "replace_one", least=size)
        assert same(found, claim)
        assert found.l1 == high - low


@pytest.mark.parametrize("neighbours", BOTH)
def test_the_maximum_and_the_minimum_move_over_the_whole_range(neighbours: Neighbours) -> None:
    for f, claim in ((max, sensitivity.maximum), (min, sensitivity.minimum)):
        found = check(f, range(-2, 4), 4, neighbours, least=1)
        assert same(found, claim(bounds=(-2, 3), neighbours=neighbours))


def test_the_mean_of_two_middle_values_moves_no_further() -> None:
    def median(data: tuple[int, ...]) -> Fraction:
        return mean([order_statistic(data, Fraction(1, 2)), sorted(data)[len(data) // 2]])

    for neighbours in BOTH:
        claim = sensitivity.quantile(at=0.5, bounds=(0, 4), neighbours=neighbours)
        assert check(median, range(5), 5, neighbours, least=1, claimed=claim).holds


MATRICES = np.random.default_rng(7).integers(-3, 4, size=(20, 3, 4)).tolist()


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("number", range(len(MATRICES)))
def test_linear_queries_over_a_histogram(number: int, neighbours: Neighbours) -> None:
    matrix = [[Fraction(x, 2) for x in row] for row in MATRICES[number]]

    def answer(data: tuple[int, ...]) -> list[Fraction]:
        return [sum((row[kind] for kind in data), Fraction(0)) for row in matrix]

    found = check(answer, range(4), 3, neighbours)
    assert same(found, sensitivity.linear(matrix, neighbours=neighbours))


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("number", range(len(MATRICES)))
def test_linear_queries_over_bounded_records(number: int, neighbours: Neighbours) -> None:
    matrix = [row[:3] for row in MATRICES[number]]
    bounds = [(0, 2), (-1, 1), (-2, -1)]
    records = list(itertools.product(*(whole_range(pair) for pair in bounds)))

    def answer(data: tuple[tuple[int, ...], ...]) -> list[int]:
        return [sum(a * x for r in data for a, x in zip(row, r, strict=True)) for row in matrix]

    found = check(answer, records, 1 + (neighbours == "add_remove"), neighbours)
    assert same(found, sensitivity.linear(matrix, bounds=bounds, neighbours=neighbours))


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("number", range(len(MATRICES)))
def test_floats_in_a_matrix_cover_both_what_they_print_as_and_what_they_are(
    number: int, neighbours: Neighbours
) -> None:
    matrix = [[x / 10 for x in row] for row in MATRICES[number]]
    readings = [
        [[Fraction(repr(x)) for x in row] for row in matrix],
        [[Fraction(x) for x in row] for row in matrix],
    ]
    options: list[dict[str, Any]] = [{}, {"bounds": [(0, 2), (-1, 1), (-2, -1), (0, 1)]}]
    for option in options:
        found = sensitivity.linear(matrix, neighbours=neighbours, **option)
        each = [norms(sensitivity.linear(m, neighbours=neighbours, **option)) for m in readings]
        assert norms(found) == list(map(max, *each))
        attained = [(w.l1, w.l2_squared, w.linf) for w in found.witnesses]
        assert norms(found) == list(map(max, zip(*attained, strict=True)))


def test_one_tenth_in_a_matrix_is_at_least_the_double() -> None:
    for value in (0.1, 0.3, np.float32(0.1), -0.1):
        found = sensitivity.linear([[value]], neighbours="add_remove").l1
        above, below = value.as_integer_ratio()
        assert found == max(abs(Fraction(above, below)), abs(Fraction(str(value))))


def test_the_identity_is_a_histogram_and_a_row_of_ones_is_a_row_count() -> None:
    eye = np.eye(5, dtype=int)
    for neighbours in BOTH:
        one, two = (
            sensitivity.linear(eye.tolist(), neighbours=neighbours),
            sensitivity.histogram(neighbours=neighbours, cells=5),
        )
        assert norms(one) == [two.l1, two.l2_squared, two.linf]
        assert sensitivity.linear([[1] * 4], neighbours=neighbours).l1 == (
            sensitivity.rows(neighbours=neighbours).l1
        )


@pytest.mark.parametrize("neighbours", BOTH)
def test_large_entries_and_long_fractions_are_as_exact_as_small_ones(
    neighbours: Neighbours,
) -> None:
    matrix = MATRICES[0]
    small = sensitivity.linear(matrix, neighbours=neighbours)
    for factor in (10**30, Fraction(1, 3**40)):
        big = sensitivity.linear(
            [[x * factor for x in row] for row in matrix], neighbours=neighbours
        )
        assert big.l1 == small.l1 * factor
        assert big.l2_squared == small.l2_squared * factor**2


def test_a_prefix_sum_query_of_a_thousand_cells_takes_no_time() -> None:
    matrix = np.tril(np.ones((100, 1000), dtype=int))
    found = sensitivity.linear(matrix.tolist(), neighbours="replace_one")
    assert norms(found) == [100, 100, 1]
