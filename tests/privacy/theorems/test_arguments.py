# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments are refused with one sentence that says what to give instead."""

import inspect
import math
from collections.abc import Callable
from fractions import Fraction
from types import FunctionType
from typing import Any

import pytest

from sordino import theorems
from sordino.privacy.theorems.arguments import read_delta, rounded

STEPS: dict[str, Any] = {"epsilon": 0.1, "times": 10, "at_delta": 1e-6}
PUBLIC = [getattr(theorems, name) for name in theorems.__all__]
FUNCTIONS = [thing for thing in PUBLIC if isinstance(thing, FunctionType)]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_every_argument_is_named(function: Callable[..., object]) -> None:
    kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_every_theorem_states_its_guarantee(function: Callable[..., object]) -> None:
    no_theorem = function is theorems.expected_runs  # a mean, of public numbers
    assert no_theorem or "Guarantee:" in (function.__doc__ or "")


@pytest.mark.parametrize("times", [0, -1])
def test_a_number_of_steps_is_positive(times: int) -> None:
    with pytest.raises(ValueError, match=f"^times must be a positive whole number, got {times}$"):
        theorems.optimal(**(STEPS | {"times": times}))
    with pytest.raises(ValueError, match=r"^times must be a positive whole number"):
        theorems.advanced(epsilon=0.1, times=times, slack=1e-6)


def test_a_number_of_steps_is_whole_and_not_astronomic() -> None:
    with pytest.raises(TypeError, match=r"^times must be a positive whole number, got 2\.0$"):
        theorems.optimal(**(STEPS | {"times": 2.0}))
    with pytest.raises(ValueError, match=r"^times must be at most 10\*\*9, got 1000000001$"):
        theorems.optimal(**(STEPS | {"times": 10**9 + 1}))


@pytest.mark.parametrize("delta", [-1e-9, 1, 1.5, math.nan, math.inf])
def test_a_delta_is_at_least_zero_and_less_than_one(delta: float) -> None:
    calls: list[Callable[[], object]] = [
        lambda: theorems.optimal(**(STEPS | {"delta": delta})),
        lambda: theorems.basic(losses=[(1, delta)]),
        lambda: theorems.group(epsilon=1, delta=delta, size=2),
        lambda: theorems.postprocessing(epsilon=1, delta=delta),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"^delta.* must be a number .* 0 .* 1, got"):
            call()


@pytest.mark.parametrize("epsilon", [-0.1, math.nan, math.inf])
def test_an_epsilon_is_a_number_that_is_not_negative(epsilon: float) -> None:
    calls: list[Callable[[], object]] = [
        lambda: theorems.optimal(**(STEPS | {"epsilon": epsilon})),
        lambda: theorems.advanced(epsilon=epsilon, times=2, slack=0.1),
        lambda: theorems.pure_to_rho(epsilon=epsilon),
        lambda: theorems.basic(losses=[(epsilon, 0)]),
        lambda: theorems.parallel(parts=[epsilon], neighbours="add_remove"),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"must be a number that is not negative, got"):
            call()


def test_a_slack_must_be_positive() -> None:
    with pytest.raises(ValueError, match=r"^slack must be a number between 0 and 1, both excluded"):
        theorems.advanced(epsilon=0.1, times=2, slack=0)


def test_empty_lists_are_refused() -> None:
    sentence = "must hold at least one entry, got an empty list$"
    with pytest.raises(ValueError, match=f"^losses {sentence}"):
        theorems.basic(losses=[])
    with pytest.raises(ValueError, match=f"^losses {sentence}"):
        theorems.optimal_heterogeneous(losses=[], at_epsilon=1)
    with pytest.raises(ValueError, match=f"^parts {sentence}"):
        theorems.parallel(parts=[], neighbours="add_remove")


def test_a_list_of_losses_holds_pairs() -> None:
    wrong: Any = [(1, 0), 0.5]
    with pytest.raises(TypeError, match=r"^losses\[1\] must be a pair \(epsilon, delta\)"):
        theorems.basic(losses=wrong)
    wrong = 0.5
    with pytest.raises(TypeError, match=r"^losses must be a list of pairs"):
        theorems.basic(losses=wrong)


def test_a_wrong_loss_is_named_by_its_place() -> None:
    with pytest.raises(
        ValueError, match=r"^delta of losses\[1\] must be a number .* 0 .* 1, got 2$"
    ):
        theorems.basic(losses=[(1, 0), (1, 2)])


@pytest.mark.parametrize("asked", [{}, {"at_epsilon": 1, "at_delta": 1e-6}])
def test_exactly_one_thing_is_asked_for(asked: dict[str, Any]) -> None:
    sentence = "^give exactly one of at_epsilon and at_delta$"
    with pytest.raises(ValueError, match=sentence):
        theorems.optimal(epsilon=1, times=1, **asked)
    with pytest.raises(ValueError, match=sentence):
        theorems.optimal_heterogeneous(losses=[(1, 0)], **asked)
    with pytest.raises(ValueError, match=sentence):
        theorems.bounded_range(epsilon=1, adaptive=True, **asked)


def test_a_word_that_is_no_choice_is_refused_with_the_choices() -> None:
    word: Any = "swap"
    with pytest.raises(ValueError, match=r"neighbours must be 'add_remove' or 'replace_one', got"):
        theorems.parallel(parts=[1], neighbours=word)
    with pytest.raises(ValueError, match=r"drift must be 'printed' or 'tight', got 'swap'"):
        theorems.advanced(epsilon=1, times=1, slack=0.5, drift=word)
    word = 3
    with pytest.raises(ValueError, match="form must be 'tight' or 'printed', got a value of type"):
        theorems.group(epsilon=1, size=1, form=word)


def test_the_least_deltas_are_read_as_they_print() -> None:
    assert read_delta("delta", 1e-300) == Fraction(1, 10**300)
    assert read_delta("delta", 5e-324) == Fraction("5e-324")
    assert read_delta("delta", Fraction(1, 10**300)) == Fraction(1, 10**300)


def test_zero_is_printed_without_a_sign() -> None:
    assert math.copysign(1, rounded(Fraction(0))) == 1
