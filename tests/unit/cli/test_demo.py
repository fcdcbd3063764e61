# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import sordino as so
from sordino.cli.demo import Answer, Cost, answers, total_cost
from sordino.cli.demo_data import WARDS, people

PEOPLE = people()
ANSWERS = answers(PEOPLE)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.short)
def test_the_code_shown_makes_the_mechanisms_used(answer: Answer) -> None:
    made: list[object] = []

    def remember(kind: Callable[..., object], **parameters: object) -> object:
        made.append(kind(**parameters))
        return made[-1]

    recorder = SimpleNamespace(
        Laplace=partial(remember, so.Laplace),
        Gaussian=partial(remember, so.Gaussian),
        PermuteAndFlip=partial(remember, so.PermuteAndFlip),
    )
    exec(answer.code, {"so": recorder, "np": np, "people": PEOPLE, "WARDS": WARDS})  # noqa: S102
    assert made == list(answer.mechanisms)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.short)
def test_the_private_value_lies_inside_its_error_bar(answer: Answer) -> None:
    for interval in answer.intervals:
        assert interval.low <= interval.noisy <= interval.high


def test_counts_are_released_as_integers() -> None:
    flu, wards, _, elders, _ = ANSWERS
    for interval in (*flu.intervals, *wards.intervals, *elders.intervals):
        assert type(interval.noisy) is int


def test_the_exact_average_counts_long_stays_up_to_thirty_days_as_the_question_says() -> None:
    (mean,) = ANSWERS[2].intervals
    assert "counting at most 30 days each" in ANSWERS[2].question
    assert mean.exact == sum(min(person.days, 30) for person in PEOPLE) / len(PEOPLE)


def test_the_ward_chosen_is_one_of_the_list_with_a_gap_known_beforehand() -> None:
    choice = ANSWERS[-1].choice
    assert choice is not None
    assert choice.name in WARDS
    assert choice.exact == "Medicine"
    assert choice.gap == pytest.approx(73, abs=1)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.short)
def test_the_code_fits_a_narrow_page(answer: Answer) -> None:
    assert max(map(len, answer.code.splitlines())) <= 56


def test_costs_add_up_column_by_column() -> None:
    one, other = Cost(0.25, 0.0, 0.5), Cost(0.5, 0.125, 1.0)
    assert total_cost([one, other]) == Cost(0.75, 0.125, 1.5)


def test_the_demonstration_costs_one_epsilon() -> None:
    total = total_cost([answer.cost for answer in ANSWERS])
    assert total.epsilon == pytest.approx(1, abs=0.005)
    assert total.delta == 1e-6
