# SPDX-License-Identifier: Apache-2.0
"""Bounds found among the powers of two are private, and few values lie beyond them."""

import itertools
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from sordino.mechanisms.bounds import PrivateBounds, _cells_of, _edge, private_bounds
from tests.support.seeded import SeededBits
from tests.support.tape import replay

POWERS = (0, 2)  # cells: up to -2, -2 to -1, around 0, 1 to 2, from 2 on
VALUES = (-3.0, -1.0, 0.5, 1.0, 100.0)


def cell_counts(data: tuple[float, ...]) -> Any:
    return np.bincount(_cells_of(np.array(data, dtype=float), POWERS), minlength=5)


def law(m: PrivateBounds, counts: Any) -> list[Any]:
    off = m.ranks_off(counts).tolist()
    rate = mpmath.mpf(m.rate.numerator) / m.rate.denominator
    weights = [mpmath.exp(-rate * x) for x in off]
    return [w / mpmath.fsum(weights) for w in weights]


def largest_loss(m: PrivateBounds, pairs: list[tuple[Any, Any]]) -> Any:
    """The same counts come about in many ways, and have one law."""
    counted = {data: cell_counts(data) for data in itertools.chain(*pairs)}
    laws = {tuple(n[::side]): law(m, n[::side]) for n in counted.values() for side in (1, -1)}
    moves = {
        (tuple(counted[one][::side]), tuple(counted[other][::side]))
        for one, other in pairs
        for side in (1, -1)
    }
    return max(
        abs(mpmath.log(a / b))
        for one, other in moves
        for a, b in zip(laws[one], laws[other], strict=True)
    )


def pairs(relation: str, rows: int) -> list[tuple[Any, Any]]:
    if relation == "add_remove":
        return [
            (data, data + more)
            for size in range(4)
            for data in itertools.combinations_with_replacement(VALUES, size)
            for more in itertools.combinations_with_replacement(VALUES, rows)
        ]
    return [
        (data + (a,) * rows, data + (b,) * rows)
        for data in itertools.combinations_with_replacement(VALUES, 3)
        for a, b in itertools.permutations(VALUES, 2)
    ]


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("rows", [1, 2])
def test_each_end_costs_half_of_epsilon_on_every_small_data_set(relation: str, rows: int) -> None:
    m = PrivateBounds(epsilon=2, neighbours=relation, powers=POWERS, rows=rows)
    found = []
    for target in range(6):
        object.__setattr__(m, "target", target)
        found.append(largest_loss(m, pairs(relation, rows)))
    assert max(found) <= 1
    assert max(found) > 0.6
    wrong = PrivateBounds(epsilon=4, neighbours=relation, powers=POWERS, rows=rows)
    object.__setattr__(wrong, "target", 2)
    assert largest_loss(wrong, pairs(relation, rows)) > 1


def test_the_loss_is_pure_and_composes_as_bounded_range() -> None:
    both = PrivateBounds(epsilon=1, neighbours="add_remove")
    one = PrivateBounds(epsilon=1, neighbours="add_remove", side="upper")
    assert both.loss.epsilon(delta=0) == one.loss.epsilon(delta=0) == 1
    assert (both.loss.uses, one.loss.uses) == (2, 1)
    assert both.loss.rho < 0.1


@pytest.mark.parametrize(
    ("value", "cell"),
    [(-np.inf, 0), (-2.5, 0), (-2.0, 0), (-1.9, 1), (-1.0, 1), (-0.99, 2), (-0.0, 2), (5e-324, 2),
     (0.99, 2), (1.0, 3), (1.99, 3), (2.0, 4), (1e308, 4), (np.inf, 4)],
)  # fmt: skip
def test_every_value_has_its_cell(value: float, cell: int) -> None:
    assert _cells_of([value], POWERS).tolist() == [cell]
    low, high = -_edge(4 - cell, POWERS), _edge(cell, POWERS)
    assert low <= Fraction(min(max(value, -4.0), 4.0)) <= high


def test_cells_of_integers_and_of_nothing() -> None:
    assert _cells_of(np.array([-(2**63), 0, 2**63 - 1]), (0, 62)).tolist() == [0, 62, 124]
    assert _cells_of([], POWERS).tolist() == []
    assert _cells_of([np.nan, 1.0], POWERS).tolist() == [3]


def test_a_value_has_one_cell_whatever_stands_beside_it_and_whatever_type_it_has() -> None:
    powers = (-2, 66)
    sizes = [0, 1, 2**53 + 1, 2**54 - 1, 2**60 - 1, 2**62, 2**63 - 1]
    values = sizes + [-x for x in sizes] + [-(2**63)]
    typed = _cells_of(np.array(values), powers).tolist()
    assert typed == _cells_of(values, powers).tolist()
    beside = [0.5, None, 2**64, Fraction(1, 3), 10**400, Decimal("-1e999999999"), np.nan, True]
    mixed = _cells_of(values + beside, powers).tolist()
    assert mixed[: len(values)] == typed
    middle, last = 68, 136
    assert mixed[len(values) :] == [middle + 2, last - 1, middle + 1, last, 0, middle + 3]
    for value, cell in zip(values, typed, strict=True):  # exactly, also next to a power of two
        low, high = -_edge(last - cell, powers), _edge(cell, powers)
        assert low <= value <= high
        assert abs(value) < high or value <= 0
    assert _cells_of(np.array([2**64 - 1], dtype=np.uint64), powers).tolist() == [last - 2]
    assert _cells_of(np.array([-128, 127], dtype=np.int8), POWERS).tolist() == [0, 4]


@pytest.mark.parametrize("values", [[], [5], [5, 6.5], [None, 2**70], np.array([1], dtype="u1")])
def test_public_arguments_decide_whether_bounds_are_integers(values: Any) -> None:
    def kinds(**known: Any) -> set[type]:
        return {
            type(x) for x in private_bounds(values, epsilon=1, neighbours="add_remove", **known)
        }

    with replay(SeededBits(8)):
        assert kinds() == {float}
        assert kinds(powers=(0, 62)) == {int}
        assert kinds(lower=0) == kinds(upper=9) == {int}
        assert kinds(lower=0.0) == {float}


def test_the_promised_number_of_values_lies_beyond_and_no_end_is_far_out() -> None:
    values = np.random.default_rng(2).lognormal(4, 2, 4000)
    values[:40] *= -1
    m = PrivateBounds(epsilon=1, neighbours="add_remove")
    wrong = 0
    with replay(SeededBits(7)):
        for _ in range(300):
            low, high = m.release(values)
            fits = (values > high).sum() <= m.beyond() and (values < low).sum() <= m.beyond()
            close = values.max() >= high / 2 and values.min() <= low / 2
            wrong += not (fits and close)
    assert wrong <= 2  # fifteen would be allowed; the bound is far from tight
    assert m.beyond(confidence=0.999) > m.beyond() > m.target


def test_the_target_follows_from_the_confidence() -> None:
    m = PrivateBounds(epsilon=1, neighbours="replace_one", confidence=0.9)
    missed = 2 * (m.cells - 1) * mpmath.exp(-m.target * float(m.rate))
    assert missed <= 0.1 < missed * mpmath.exp(float(m.rate))


def test_all_values_in_one_cell_are_enclosed_by_it() -> None:
    with replay(SeededBits(3)):
        fives = np.full(10_000, 5)
        assert private_bounds(fives, epsilon=1, neighbours="add_remove", powers=(0, 62)) == (4, 8)
        assert private_bounds(np.full(10_000, -0.3), epsilon=1, neighbours="add_remove") == (
            -0.5, -0.25)  # fmt: skip
        assert private_bounds(np.zeros(10_000), epsilon=1, neighbours="replace_one") == (
            -(2.0**-20), 2.0**-20)  # fmt: skip


def test_a_known_end_is_handed_back() -> None:
    ages = np.arange(10_000) % 90
    with replay(SeededBits(4)):
        low, high = private_bounds(ages, epsilon=1, neighbours="add_remove", lower=0)
        assert (low, high) == (0, 128)
        low, high = private_bounds(ages, epsilon=1, neighbours="add_remove", upper=120)
        assert high == 120
        assert low <= 1
        assert private_bounds(ages, epsilon=1, neighbours="add_remove", lower=500) == (500, 500)
    with pytest.raises(TypeError, match="nothing to look for"):
        private_bounds(ages, epsilon=1, neighbours="add_remove", lower=0, upper=1)


def test_ends_that_cross_are_put_in_order() -> None:
    m = PrivateBounds(epsilon=0.01, neighbours="add_remove", powers=POWERS)
    with replay(SeededBits(9)):
        found = {m.release([]) for _ in range(200)}
    assert all(low < high for low, high in found)
    assert len(found) > 5


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"epsilon": 0}, ValueError, "epsilon must be a positive number"),
        ({"side": "left"}, ValueError, "side must be 'both', 'lower' or 'upper'"),
        ({"powers": (3, 3)}, ValueError, "increasing"),
        ({"powers": (0.5, 3)}, TypeError, "pair"),
        ({"powers": 3}, TypeError, "pair"),
        ({"rows": 0}, ValueError, "rows must be a positive whole number"),
        ({"confidence": 95}, ValueError, "write 95 % as 0.95"),
        ({"neighbours": "none"}, ValueError, "neighbours must be"),
    ],
)
def test_parameters_out_of_range_are_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        PrivateBounds(**{"epsilon": 1, "neighbours": "add_remove", **arguments})


@pytest.mark.parametrize(
    ("values", "error"),
    [
        (["a"], TypeError),
        ([[1.0]], TypeError),
        (np.ones((1, 1)), ValueError),
        ([1, "1"], TypeError),
        (np.array([1j]), TypeError),
        (np.ma.array([1]), TypeError),
    ],
)
def test_other_values_are_refused(values: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="values must"):
        private_bounds(values, epsilon=1, neighbours="add_remove")
