# SPDX-License-Identifier: Apache-2.0
"""What a choice is told about its scores."""

import copy
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino.mechanisms.choose.scores import read_flag
from sordino.mechanisms.choose.terms import Terms

SPELLED: list[dict[str, Any]] = [
    {"sensitivity": 1, "epsilon": 1},
    {"sensitivity": 1, "epsilon": 0.1, "monotone": True},
    {"sensitivity": 2, "epsilon": Fraction(1, 3), "spread": 3},
    {"sensitivity": 0.1, "epsilon": 0.5},
    {"sensitivity": 1.0, "epsilon": Decimal("0.5"), "spread": 1.5},
    {"sensitivity": Fraction(1, 3), "epsilon": 2, "monotone": True},
    {"sensitivity": np.int64(4), "epsilon": np.float64(0.25), "spread": np.int32(4)},
    {"sensitivity": 1, "epsilon": 1, "spread": 2.0},
]


def test_the_rate_is_epsilon_over_the_spread() -> None:
    assert Terms(sensitivity=3, epsilon=0.5).rate == Fraction(1, 12)
    assert Terms(sensitivity=3, epsilon=0.5, monotone=True).rate == Fraction(1, 6)
    assert Terms(sensitivity=3, epsilon=0.5, spread=4).rate == Fraction(1, 8)


def test_a_spread_says_what_monotone_says() -> None:
    assert Terms(sensitivity=2, epsilon=1, spread=2) == Terms(
        sensitivity=2, epsilon=1, monotone=True
    )
    assert Terms(sensitivity=2, epsilon=1, spread=4) == Terms(sensitivity=2, epsilon=1)
    assert not Terms(sensitivity=2, epsilon=1, spread=3).monotone


def test_a_float_sensitivity_covers_the_double_it_is() -> None:
    assert Terms(sensitivity=0.1, epsilon=1).sensitivity == Fraction(0.1) > Fraction(1, 10)
    assert Terms(sensitivity=0.3, epsilon=1).sensitivity == Fraction(3, 10) > Fraction(0.3)
    assert Terms(sensitivity=1, epsilon=0.1).epsilon == Fraction(1, 10)


def test_only_integers_promise_whole_scores() -> None:
    assert Terms(sensitivity=1, epsilon=1).whole
    assert Terms(sensitivity=2, epsilon=1, spread=3).whole
    assert not Terms(sensitivity=1.0, epsilon=1).whole
    assert not Terms(sensitivity=2, epsilon=1, spread=3.0).whole
    assert Terms(sensitivity=1, epsilon=1) != Terms(sensitivity=1.0, epsilon=1)


@pytest.mark.parametrize("spelled", SPELLED, ids=str)
def test_what_is_written_reads_back(spelled: dict[str, Any]) -> None:
    terms = Terms(**spelled)
    names = {"Terms": Terms, "Fraction": Fraction}
    assert eval(repr(terms), names) == terms  # noqa: S307 - the text is ours
    assert pickle.loads(pickle.dumps(terms)) == copy.deepcopy(terms) == terms  # noqa: S301
    assert len({terms, Terms(**spelled)}) == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sensitivity": 0}, "sensitivity must be a positive number, got 0"),
        ({"sensitivity": -1}, "sensitivity must be a positive number, got -1"),
        ({"sensitivity": float("nan")}, "sensitivity must be a positive number, got nan"),
        ({"sensitivity": float("inf")}, "sensitivity must be a positive number, got inf"),
        ({"epsilon": 0}, "epsilon must be a positive number, got 0"),
        ({"epsilon": float("nan")}, "epsilon must be a positive number, got nan"),
        ({"epsilon": -0.1}, "epsilon must be a positive number, got -0.1"),
        ({"spread": 0}, "spread must be a positive number, got 0"),
        ({"spread": 3}, "spread must be at most twice the sensitivity, which is 2, got 3"),
        ({"spread": 1, "monotone": True}, "state either monotone=True or a spread, not both"),
        ({"epsilon": 1e-90}, "epsilon is too small for a sensitivity of 1, got 1e-90"),
        ({"epsilon": 1e90}, "epsilon is too large for a sensitivity of 1, got 1e[+]90|1000"),
    ],
    ids=str,
)
def test_terms_that_make_no_sense_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        Terms(**{"sensitivity": 1, "epsilon": 1} | wrong)


@pytest.mark.parametrize("name", ["sensitivity", "epsilon", "spread"])
@pytest.mark.parametrize("value", [True, "1", [1], 1j], ids=str)
def test_only_numbers_are_read_as_numbers(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"^{name} must be a positive number, got "):
        Terms(**{"sensitivity": 1, "epsilon": 1} | {name: value})


def test_a_flag_is_true_or_false() -> None:
    assert read_flag("monotone", True) is True
    for value in (1, 0, "yes", None, np.True_):
        with pytest.raises(TypeError, match=r"^monotone must be True or False, got a value of "):
            Terms(sensitivity=1, epsilon=1, monotone=value)  # type: ignore[arg-type]  # refused
