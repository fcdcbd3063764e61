# SPDX-License-Identifier: Apache-2.0
"""Every parameter of every public call, against numbers that somebody might try."""

from collections.abc import Callable
from decimal import Decimal
from time import process_time
from typing import Any

import numpy as np
import pytest

from sordino import Gaussian, Laplace
from sordino.privacy import classic_sigma

LAPLACE = Laplace(sensitivity=1, epsilon=1)
GAUSSIAN = Gaussian(sensitivity=1, rho=1)

HOSTILE: dict[str, object] = {
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": -float("inf"),
    "-1": -1,
    "True": True,
    "numpy True": np.True_,
    "'1'": "1",
    "None": None,
    "complex": 1 + 0j,
    "array": np.array([0.5]),
    "0-d array": np.array(0.5),
    "list": [0.5],
    "tiny Decimal": Decimal("1e-1000000"),
    "huge Decimal": Decimal("1e1000000"),
    "NaN Decimal": Decimal("NaN"),
    "huge int": 10**4000,
    "numpy nan": np.float32("nan"),
    "duration": np.timedelta64(1, "D"),
}

GOOD: dict[Callable[..., object], dict[str, Any]] = {
    Laplace: {"sensitivity": 1, "epsilon": 1},
    Gaussian: {"sensitivity": 1, "epsilon": 1, "delta": 1e-6},
    LAPLACE.accuracy: {"confidence": 0.95, "coordinates": 3},
    GAUSSIAN.accuracy: {"confidence": 0.95, "coordinates": 3},
    LAPLACE.loss.epsilon: {"delta": 1e-6},
    GAUSSIAN.loss.epsilon: {"delta": 1e-6},
    LAPLACE.loss.delta: {"epsilon": 0.5},
    GAUSSIAN.loss.delta: {"epsilon": 0.5},
    Laplace.within: {"half_width": 5, "confidence": 0.95, "sensitivity": 1, "coordinates": 1},
    Gaussian.within: {"half_width": 5, "confidence": 0.95, "sensitivity": 1, "delta": 1e-6},
    classic_sigma: {"sensitivity": 1, "epsilon": 0.5, "delta": 1e-6},
}
MORE: dict[Callable[..., object], list[str]] = {Gaussian: ["rho", "sigma", "coordinates"]}
ZERO_IS_ALLOWED: set[Callable[..., object]] = {
    LAPLACE.loss.delta,
    GAUSSIAN.loss.delta,
    LAPLACE.loss.epsilon,
    GAUSSIAN.loss.epsilon,
}

LESS_IS_ALLOWED: set[Callable[..., object]] = {LAPLACE.loss.delta, GAUSSIAN.loss.delta}

CASES = [
    pytest.param(call, name, value, id=f"{call.__qualname__}-{name}-{label}")
    for call, arguments in GOOD.items()
    for name in [*arguments, *MORE.get(call, [])]
    for label, value in {**HOSTILE, "0": 0}.items()
    if not (label == "0" and call in ZERO_IS_ALLOWED)
    and not (label == "-1" and call in LESS_IS_ALLOWED)
    and not (label == "None" and call is Gaussian and name != "sensitivity")
]


@pytest.mark.parametrize(("call", "name", "value"), CASES)
def test_a_hostile_argument_is_refused_at_once_with_its_name(
    call: Callable[..., object], name: str, value: object
) -> None:
    arguments = {**GOOD[call], name: value}
    if name in {"rho", "sigma"}:
        arguments = {"sensitivity": 1, name: value}
    began = process_time()
    with pytest.raises((TypeError, ValueError), match=rf"^{name} must be ") as caught:
        call(**arguments)
    assert process_time() - began < 2  # so much that a busy machine passes
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("call", GOOD, ids=lambda call: call.__qualname__)
def test_the_same_call_without_a_hostile_argument_succeeds(call: Callable[..., object]) -> None:
    assert call(**GOOD[call]) is not None


def test_probabilities_of_one_and_more_are_refused() -> None:
    for one in (1, 1.0, 1.5):
        with pytest.raises(ValueError, match=r"^confidence must be a number between 0 and 1"):
            LAPLACE.accuracy(confidence=one)
        with pytest.raises(ValueError, match=r"^delta must be a number between 0 and 1"):
            Gaussian(sensitivity=1, epsilon=1, delta=one)
        with pytest.raises(ValueError, match=r"^delta must be a number of at least 0 and below 1"):
            GAUSSIAN.loss.epsilon(delta=one)


def test_a_confidence_in_percent_is_answered_with_how_to_write_it() -> None:
    for call in (LAPLACE.accuracy, GAUSSIAN.accuracy, Laplace.within, Gaussian.within):
        arguments = {**GOOD[call], "confidence": 95}
        with pytest.raises(ValueError, match=r"got 95; write 95 % as 0\.95$"):
            call(**arguments)
