# SPDX-License-Identifier: Apache-2.0
"""Audits of other libraries run; what they show is printed (pytest -rP), and not asserted.

It says nothing about those libraries as a whole: a pair of inputs each, few runs, and the claims
of their own documentation.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sordino.auditing import Report, audit
from tests.auditing.audit.fixture import Seeded

Call = Callable[[Any], Any]
RUNS = 6_000


def shown(name: str, report: Report) -> None:
    print(  # noqa: T201  # shown by -rP
        f"{name} | claimed {report.epsilon:g}, {report.delta:g} | found {report.lower_bound:.3f} | "
        f"{report.runs:,} runs | {report.verdict} | {report.event[:100]}"
    )
    assert report.verdict in ("violation", "no violation found")
    assert 0 <= report.lower_bound < 20
    assert report.runs > 0


def diffprivlib_mechanism(kind: str, **arguments: Any) -> Call:
    library = importlib.import_module("diffprivlib.mechanisms")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: Call = getattr(library, kind)(**arguments).randomise
    return found


@pytest.mark.parametrize(
    ("kind", "arguments", "x", "y"),
    [
        ("Laplace", {"epsilon": 1, "sensitivity": 1}, 0.0, 1.0),
        ("Snapping", {"epsilon": 1, "sensitivity": 1, "lower": -9, "upper": 9}, 0.0, 1.0),
        ("Geometric", {"epsilon": 1, "sensitivity": 1}, 0, 1),
        ("GaussianAnalytic", {"epsilon": 1, "delta": 0.01, "sensitivity": 1}, 0.0, 1.0),
        ("Binary", {"epsilon": 1, "value0": "no", "value1": "yes"}, "no", "yes"),
    ],
)
def test_mechanisms_of_diffprivlib_can_be_audited(
    kind: str, arguments: dict[str, Any], x: Any, y: Any
) -> None:
    mechanism = diffprivlib_mechanism(kind, **arguments)
    report = audit(
        mechanism, x, y, epsilon=1, delta=arguments.get("delta", 0), runs=RUNS, confidence=0.999
    )
    shown(f"diffprivlib {kind}", report)


def test_the_exponential_mechanism_of_diffprivlib_can_be_audited() -> None:
    library = importlib.import_module("diffprivlib.mechanisms")

    def mechanism(scores: Any) -> Any:
        return library.Exponential(epsilon=1, sensitivity=1, utility=list(scores)).randomise()

    report = audit(mechanism, (3, 1, 1), (2, 2, 2), epsilon=1, runs=RUNS // 2)
    shown("diffprivlib Exponential", report)


def opendp_mechanism(kind: str) -> Call:
    prelude = importlib.import_module("opendp.prelude")
    prelude.enable_features("contrib")
    if kind == "response":
        found: Call = prelude.m.make_randomized_response_bool(prob=np.e / (1 + np.e))
        return found
    type_ = float if kind == "laplace of floats" else int
    space = (
        prelude.atom_domain(T=type_, nan=False) if type_ is float else prelude.atom_domain(T=type_),
        prelude.absolute_distance(T=type_),
    )
    made: Call = (
        prelude.m.make_gaussian(*space, scale=2.5244)
        if kind == "gaussian of integers"
        else prelude.m.make_laplace(*space, scale=1.0)
    )
    return made


@pytest.mark.parametrize(
    ("kind", "x", "y", "delta"),
    [
        ("laplace of integers", 0, 1, 0.0),
        ("laplace of floats", 0.0, 1.0, 0.0),
        ("gaussian of integers", 0, 1, 0.01),
        ("response", False, True, 0.0),
    ],
)
def test_measurements_of_opendp_can_be_audited(kind: str, x: Any, y: Any, delta: float) -> None:
    mechanism = opendp_mechanism(kind)
    report = audit(mechanism, x, y, epsilon=1, delta=delta, runs=RUNS, confidence=0.999)
    shown(f"opendp {kind}", report)


@pytest.mark.parametrize("kind", ["laplace", "normal"])
def test_noise_of_numpy_can_be_audited(kind: str) -> None:
    """Sigma 2.1 is a little more than epsilon 1 and delta 0.01 need."""

    def draw(generator: np.random.Generator, value: Any, runs: int) -> Any:
        noise = (
            generator.laplace(0, 1, runs) if kind == "laplace" else generator.normal(0, 2.1, runs)
        )
        return value + noise

    delta = 0.01 if kind == "normal" else 0.0
    report = audit(Seeded(draw, 1), 0.0, 1.0, epsilon=1, delta=delta, runs=20 * RUNS)
    shown(f"numpy {kind}", report)
