# SPDX-License-Identifier: Apache-2.0
"""Neighbour relations as values, and what a promise about one says about the other."""

import math
import pickle
from collections.abc import Callable
from fractions import Fraction

import pytest

from sordino import Laplace, Loss, losses
from sordino.sensitivity import Neighbours, Units, convert, read_neighbours
from sordino.sensitivity import count as counted
from sordino.sensitivity import sum as summed


def test_members_equal_their_names() -> None:
    assert Neighbours.add_remove == "add_remove"
    assert f"{Neighbours.replace_one}" == "replace_one"
    for member in Neighbours:
        assert read_neighbours(member) is read_neighbours(str(member)) is member
        assert pickle.loads(pickle.dumps(member)) is member  # noqa: S301 - our own bytes


@pytest.mark.parametrize("value", ["add", "", "ADD_REMOVE", "replace-one"])
def test_other_names_are_refused(value: str) -> None:
    with pytest.raises(ValueError, match="must be 'add_remove' or 'replace_one', got"):
        read_neighbours(value)


@pytest.mark.parametrize("value", [None, 1, True, ["add_remove"]])
def test_what_is_no_name_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="must be 'add_remove' or 'replace_one'"):
        read_neighbours(value)


def test_units_are_no_relation_between_records() -> None:
    with pytest.raises(TypeError, match="single records"):
        read_neighbours(Units(neighbours="add_remove", groups=1))


@pytest.mark.parametrize(
    "units",
    [
        Units(neighbours="add_remove", groups=3),
        Units(neighbours="replace_one", groups=3, rows=2),
        Units(neighbours="add_remove", groups=1, amount=2),
        Units(neighbours="add_remove", groups=1, amount=2.0),
        Units(neighbours="add_remove", groups=1, rows=5, amount=0.1),
        Units(neighbours="add_remove", groups=1, amount=Fraction(1, 3)),
    ],
    ids=repr,
)
def test_units_are_values(units: Units) -> None:
    assert eval(repr(units)) == units  # noqa: S307 - our own text
    assert pickle.loads(pickle.dumps(units)) == units  # noqa: S301 - our own bytes
    assert hash(eval(repr(units))) == hash(units)  # noqa: S307 - our own text


def test_an_amount_is_whole_only_if_it_was_given_as_an_integer() -> None:
    assert Units(neighbours="add_remove", groups=1, amount=2).whole
    assert not Units(neighbours="add_remove", groups=1, amount=2.0).whole
    # The double 0.1 is a little more than one tenth, and amounts of it must be covered.
    assert Units(neighbours="add_remove", groups=1, amount=0.1).amount == Fraction(0.1)


BAD_UNITS: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: Units(neighbours="add_remove", groups=0), ValueError, "groups must be a positive"),
    (lambda: Units(neighbours="add_remove", groups=1.0), TypeError, "groups"),  # type: ignore[arg-type]
    (lambda: Units(neighbours="add_remove", groups=1, rows=-1), ValueError, "rows"),
    (lambda: Units(neighbours="add_remove", groups=1, rows=True), TypeError, "rows"),
    (lambda: Units(neighbours="add_remove", groups=1, amount=0), ValueError, "amount"),
    (lambda: Units(neighbours="add_remove", groups=1, amount=math.nan), ValueError, "amount"),
    (lambda: Units(neighbours="both", groups=1), ValueError, "neighbours"),
]


@pytest.mark.parametrize("case", range(len(BAD_UNITS)))
def test_bad_units_are_refused_by_the_name_of_the_argument(case: int) -> None:
    make, error, match = BAD_UNITS[case]
    with pytest.raises(error, match=match):
        make()


def to_replace(loss: Loss) -> Loss:
    return convert(loss, given="add_remove", wanted="replace_one")


def test_replacing_is_two_steps_of_adding_and_removing() -> None:
    assert to_replace(losses.pure(epsilon=0.5)) == losses.pure(epsilon=1)
    assert to_replace(losses.concentrated(rho=0.1)) == losses.concentrated(rho=0.4)
    found = to_replace(losses.approximate(epsilon=0.5, delta=1e-6))
    assert found.delta(epsilon=1) == pytest.approx((1 + math.exp(0.5)) * 1e-6, rel=1e-12, abs=0)


def test_a_whole_composition_converts_use_by_use() -> None:
    loss = 3 * losses.pure(epsilon=0.5) + losses.concentrated(rho=0.1)
    assert to_replace(loss) == 3 * losses.pure(epsilon=1) + losses.concentrated(rho=0.4)


def test_the_conversion_is_attained_by_noise_on_a_sum_of_two_signs() -> None:
    one = Laplace(sensitivity=summed(bounds=(-1, 1), neighbours="add_remove").l1, epsilon=1)
    two = summed(bounds=(-1, 1), neighbours="replace_one").l1
    assert to_replace(one.loss).pure == 2 == two / one.sensitivity


def test_for_a_count_the_conversion_costs_more_than_its_own_sensitivity() -> None:
    noise = Laplace(sensitivity=1, epsilon=1)
    assert counted(neighbours="replace_one").l1 == 1
    assert noise.loss.pure == 1
    assert to_replace(noise.loss).pure == 2


def test_there_is_no_way_back() -> None:
    with pytest.raises(ValueError, match="says nothing about adding or removing one"):
        convert(losses.pure(epsilon=1), given="replace_one", wanted="add_remove")


@pytest.mark.parametrize("relation", list(Neighbours))
def test_nothing_changes_between_equal_relations(relation: Neighbours) -> None:
    loss = losses.pure(epsilon=1)
    assert convert(loss, given=relation, wanted=str(relation)) is loss


def test_a_loss_that_names_its_relation_is_taken_at_its_word() -> None:
    sampled = losses.subsampled(losses.pure(epsilon=1), rate=0.1, sampling="fixed_size")
    with pytest.raises(ValueError, match="holds for replace_one, not for add_remove"):
        to_replace(sampled)


def test_only_losses_convert() -> None:
    with pytest.raises(TypeError, match="convert takes a loss"):
        to_replace(1)  # type: ignore[arg-type]
