# SPDX-License-Identifier: Apache-2.0
"""Every mechanism is a value: its parameters are all that it is, and it prints as it was made."""

import copy
import dataclasses
import pickle
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import pytest

import sordino
from sordino.mechanisms import ADDING, CHOOSING, RELEASING, smooth
from tests.mechanisms.contract import cases, choices
from tests.release.contract import releases

NAMES = {
    **{name: getattr(sordino, name) for name in sordino.__all__},
    **vars(smooth),
    "Fraction": Fraction,
}
# Beside the examples of the other laws. These are spelled as they are printed,
SPELLED = [
    "AboveThreshold(threshold=-3, sensitivity=2, epsilon=0.1, positives=4, monotone=True)",
    "AboveThreshold(threshold=0.5, sensitivity=1.0, epsilon=3, split=0.25)",
    "AboveThreshold(threshold=100, epsilon=1)",
    "Constant(0)",
    "Constant(1)",
    "Exponential(sensitivity=0.1, epsilon=0.3)",
    "Exponential(sensitivity=3, epsilon=Fraction(1, 3), monotone=True)",
    "Gaussian(sensitivity=1, rho=1)",
    "Gaussian(sensitivity=1.0, rho=1)",
    "JointTopK(k=2, epsilon=0.1, neighbours='replace_one', votes='many')",
    "JointTopK(k=2, epsilon=0.1, neighbours='replace_one', votes='many', sensitivity=0.5)",
    "KeySelection(epsilon=0.1, delta=1e-09, groups=3, neighbours='add_remove')",
    "KeySelection(epsilon=0.1, delta=1e-09, groups=3, neighbours='replace_one')",
    "KeySelection(epsilon=0.1, delta=1e-09, groups=3, method='gaussian', neighbours='replace_one')",
    "KeySelection(epsilon=0.1, delta=1e-09, groups=3, method='laplace', neighbours='replace_one')",
    "Laplace(sensitivity=1, epsilon=1)",
    "Laplace(sensitivity=1.0, epsilon=1)",
    "NoisyMax(sensitivity=0.1, epsilon=0.3, noise='laplace')",
    "NoisyMax(sensitivity=2, epsilon=2, spread=3, noise='laplace')",
    "NoisyMax(sensitivity=3, epsilon=Fraction(1, 3), monotone=True, noise='gumbel')",
    "PermuteAndFlip(sensitivity=0.1, epsilon=0.3)",
    "PermuteAndFlip(sensitivity=3, epsilon=Fraction(1, 3), monotone=True)",
    "PrivateBounds(epsilon=0.1, neighbours='add_remove')",
    "PrivateBounds(epsilon=1, neighbours='replace_one', side='lower', powers=(0, 9), rows=3, "
    "confidence=0.9)",
    "ProposeTestRelease(bound=0.5, epsilon=1, delta=0.01)",
    "ProposeTestRelease(bound=2, epsilon=0.7, delta=1e-06, share=0.25)",
    "Quantiles([0.5], range=(0, 10), epsilon=1, neighbours='add_remove')",
    "Quantiles([0.5], range=(0, 10), epsilon=1, neighbours='replace_one')",
    "Quantiles([0.5], range=(0, 10), epsilon=0.1, neighbours='add_remove')",
    "Quantiles([0.5], range=(0.0, 10.0), epsilon=1, neighbours='add_remove')",
    "TopK(k=3, sensitivity=1, epsilon=0.1)",
    "TopK(k=3, sensitivity=1, epsilon=0.1, monotone=True)",
    "TopK(k=3, sensitivity=2, epsilon=0.1, spread=3, delta=1e-06)",
    "TopK(k=4, sensitivity=1, epsilon=0.1)",
]
# and these are printed with what was filled in or rounded.
FILLED_IN = [
    "Exponential(sensitivity=Fraction(2, 3), epsilon=2, spread=1)",
    "Generalised(sensitivities=(0.1, 2.5), epsilon=Fraction(1, 3), mechanism='exponential')",
    "Generalised(sensitivities=[1, 2], epsilon=1)",
    "Generalised(sensitivities=[Fraction(1, 3)], epsilon=0.1, confidence=0.5)",
    "NoisyMax(sensitivity=Fraction(2, 3), epsilon=2, spread=1)",
    "PermuteAndFlip(sensitivity=Fraction(2, 3), epsilon=2, spread=1)",
    "Quantiles([0.25, 0.5], range=(0, 10), epsilon=1, neighbours='add_remove')",
    "Quantiles([0.5, 0.25], range=(0, 10), epsilon=1, neighbours='add_remove')",
    "Quantiles([0.25, 0.5], range=(0, 10), epsilon=1, neighbours='add_remove', method='recursive')",
    "Quantiles([0.5], range=(0, 10), epsilon=1, neighbours='add_remove', delta=1e-6)",
    "Quantiles([0.5], range=(0, 10), epsilon=1, neighbours='add_remove', step=2)",
    "Quantiles([Fraction(1, 3)], range=Interval(0, 9, base=[(9, 1)]), epsilon=1, "
    "neighbours='add_remove')",
    *(
        f"Smooth(noise={noise}, epsilon=1, step={step}, bounds=(0, 10))"
        for noise in ("'cauchy'", "'lomax'", "'power'", "'student'", "'laplace', delta=1e-6")
        for step in (0.25, 0.5)
    ),
]
ENROLLED = [
    *cases.EVERY,
    *(choice.mechanism for choice in choices.EVERY),
    *(release.mechanism for release in releases.EVERY),
]


every = pytest.mark.parametrize("one", [*ENROLLED, *SPELLED, *FILLED_IN], ids=str)


def written(text: str) -> Any:
    return eval(text, NAMES)  # noqa: S307 - the texts are ours


@cache
def made(one: Any) -> Any:
    """Return a mechanism, which is made from its text when it is first wanted."""
    return written(one) if isinstance(one, str) else one


def traits(mechanism: Any) -> dict[str, Any]:
    """Everything that can be read of a mechanism and is not a method."""
    public = [name for name in dir(type(mechanism)) if not name.startswith("_")]
    read = {name: getattr(mechanism, name) for name in public}
    return {name: value for name, value in read.items() if not callable(value)}


def test_every_mechanism_is_enrolled() -> None:
    assert {type(mechanism) for mechanism in ENROLLED} == {*ADDING, *CHOOSING, *RELEASING}


@every
def test_equal_parameters_make_equal_mechanisms(one: Any) -> None:
    mechanism = made(one)
    copies = [
        copy.copy(mechanism),
        copy.deepcopy(mechanism),
        pickle.loads(pickle.dumps(mechanism)),  # noqa: S301 - ours
    ]
    if not isinstance(mechanism, sordino.BestOf):  # whose loss is shown, and not as it was made
        copies.append(written(repr(mechanism)))
    for same in copies:
        assert same == mechanism
        assert hash(same) == hash(mechanism)
        assert repr(same) == repr(mechanism)
        assert traits(same) == traits(mechanism)


def test_other_parameters_make_other_mechanisms() -> None:
    mechanisms = [made(one) for one in (*ENROLLED, *SPELLED, *FILLED_IN)]
    assert all(one != other for one, other in combinations(mechanisms, 2))


@every
def test_a_mechanism_cannot_be_changed(one: Any) -> None:
    mechanism = made(one)
    held = {field.name for field in dataclasses.fields(mechanism)}
    for name, value in traits(mechanism).items():
        # Python itself stumbles over names that are not fields of a frozen class with slots.
        with pytest.raises(AttributeError if name in held else (AttributeError, TypeError)):
            setattr(mechanism, name, value)


def test_a_mechanism_prints_as_it_was_made() -> None:
    for text in SPELLED:
        assert repr(made(text)) == text


@pytest.mark.parametrize("mechanism", cases.EVERY, ids=repr)
def test_a_mechanism_that_has_drawn_is_still_the_same(mechanism: Any) -> None:
    mechanism.release(0)
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism  # noqa: S301 - ours
