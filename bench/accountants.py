# SPDX-License-Identifier: Apache-2.0
"""One mechanism in the words of four accountants, and compositions computed by the other three.

An accountant whose answer depends on a precision gives a list of answers, from the coarsest to the
finest; how far down that list it is worth going is for the caller to say.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

from sordino.privacy import losses
from sordino.privacy.loss import Loss

INTERVALS = (1e-2, 1e-3, 1e-4, 1e-5)  # of dp-accounting's grid
EPSILON_ERRORS = (1e-1, 1e-2, 1e-3, 1e-4)  # of prv-accountant
DELTA_ERROR = 1e-3  # of delta, as its authors recommend

Answer = Callable[[], float]


@dataclass(frozen=True)
class Mechanism:
    """A mechanism: its loss, and what builds it in other accountants, where they know it.

    ``dp_accounting`` takes the grid's interval and how often the mechanism is used.
    """

    family: str
    strength: float  # more of it is a larger loss
    setting: str  # all parameters, in words
    loss: Loss
    dp_accounting: Callable[[float, int], Any]
    autodp: Callable[[], Any] | None = None
    prv_accountant: Callable[[], Any] | None = None
    kind: str = ""  # the parameters that are no matter of strength

    @property
    def name(self) -> str:
        return f"{self.family}, {self.setting}"


Parts = Sequence[tuple[Mechanism, int]]


def installed() -> list[str]:
    """Name the other accountants there are."""
    return [name for name in ANSWERS if find_spec(name) is not None]


def gaussian(sigma: float) -> Mechanism:
    return Mechanism(
        "Gaussian",
        1 / sigma,
        f"sigma {sigma:g}",
        losses.gaussian(sigma=sigma),
        lambda interval, times: _pld().from_gaussian_mechanism(
            sigma / math.sqrt(times), value_discretization_interval=interval
        ),
        lambda: _zoo().ExactGaussianMechanism(sigma=sigma),
        lambda: _prv().GaussianMechanism(noise_multiplier=sigma),
    )


def _pure(family: str, epsilon: float, loss: Loss, autodp: str) -> Mechanism:
    """Return a mechanism of which two accountants know no more than that it is pure."""
    return Mechanism(
        family,
        epsilon,
        f"epsilon {epsilon:g}",
        loss,
        partial(_composed_pure, epsilon),
        lambda: getattr(_zoo(), autodp)(eps=epsilon),
        lambda: _prv().PureDPMechanism(epsilon),
    )


def pure(epsilon: float) -> Mechanism:
    return _pure("pure", epsilon, losses.pure(epsilon=epsilon), "PureDP_Mechanism")


def exponential(epsilon: float) -> Mechanism:
    loss = losses.exponential(epsilon=epsilon)
    return _pure("exponential", epsilon, loss, "ExponentialMechanism")


def laplace(epsilon: float) -> Mechanism:
    known = _repeated("from_laplace_mechanism", 1 / epsilon)
    autodp, prv_accountant = (
        lambda: _zoo().LaplaceMechanism(b=1 / epsilon),
        lambda: _prv().LaplaceMechanism(epsilon),
    )
    loss, setting = losses.laplace(epsilon=epsilon), f"epsilon {epsilon:g}"
    return Mechanism("Laplace", epsilon, setting, loss, known, autodp, prv_accountant)


def discrete_laplace(epsilon: float, shift: int) -> Mechanism:
    return Mechanism(
        "discrete Laplace",
        epsilon,
        f"epsilon {epsilon:g} on {shift}",
        losses.discrete_laplace(epsilon=epsilon, sensitivity=shift),
        _repeated("from_discrete_laplace_mechanism", epsilon / shift, sensitivity=shift),
        kind=f"on {shift}",
    )


def discrete_gaussian(sigma: float) -> Mechanism:
    return Mechanism(
        "discrete Gaussian",
        1 / sigma,
        f"sigma {sigma:g}",
        losses.discrete_gaussian(sigma=sigma),
        _repeated("from_discrete_gaussian_mechanism", sigma),
        lambda: _zoo().DiscreteGaussianMechanism(sigma=sigma),
    )


def response(epsilon: float, categories: int) -> Mechanism:
    noise = categories / (categories - 1 + math.exp(epsilon))
    return Mechanism(
        "response",
        epsilon,
        f"{categories} categories, epsilon {epsilon:g}",
        losses.randomized_response(epsilon=epsilon, categories=categories),
        _repeated("from_randomized_response", noise, categories),
        kind=f"{categories} categories",
    )


def sampled_gaussian(rate: float, sigma: float) -> Mechanism:
    def amplified() -> Any:
        from autodp import transformer_zoo

        amplify = transformer_zoo.AmplificationBySampling(PoissonSampling=True)
        return amplify(_zoo().GaussianMechanism(sigma=sigma), rate, improved_bound_flag=True)

    return Mechanism(
        "sampled Gaussian",
        1 / sigma,
        f"rate {rate:g}, sigma {sigma:g}",
        losses.subsampled(losses.gaussian(sigma=sigma), rate=rate),
        _repeated("from_gaussian_mechanism", sigma, sampling_prob=rate),
        amplified,
        lambda: _prv().PoissonSubsampledGaussianMechanism(
            sampling_probability=rate, noise_multiplier=sigma
        ),
        kind=f"rate {rate:g}",
    )


def by_dp_accounting(parts: Parts, delta: float) -> list[Answer]:
    def answer(interval: float) -> float:
        whole = None
        for mechanism, times in parts:
            part = mechanism.dp_accounting(interval, times)
            whole = part if whole is None else whole.compose(part)
        assert whole is not None
        return float(whole.get_epsilon_for_delta(delta))

    return [partial(answer, interval) for interval in INTERVALS]


def by_autodp(parts: Parts, delta: float) -> list[Answer]:
    """By the closed form of Gaussian noise, else by Rényi divergences.

    Its Fourier accountant is left out: with current versions of NumPy and SciPy its search ends
    below zero.
    """
    makes = [mechanism.autodp for mechanism, _ in parts]

    def answer() -> float:
        from autodp import transformer_zoo

        normal = all(mechanism.family == "Gaussian" for mechanism, _ in parts)
        compose = transformer_zoo.ComposeGaussian() if normal else transformer_zoo.Composition()
        whole = compose([make() for make in makes if make], [times for _, times in parts])
        return float(whole.get_approxDP(delta))

    return [answer] if all(makes) else []


def by_prv_accountant(parts: Parts, delta: float) -> list[Answer]:
    """By the upper one of its two bounds."""
    makes = [mechanism.prv_accountant for mechanism, _ in parts]
    times = [n for _, n in parts]

    def answer(error: float) -> float:
        accountant = _prv().PRVAccountant(
            prvs=[make() for make in makes if make],
            max_self_compositions=times,
            eps_error=error,
            delta_error=DELTA_ERROR * delta,
        )
        return float(accountant.compute_epsilon(delta, times)[2])

    return [partial(answer, error) for error in EPSILON_ERRORS] if all(makes) else []


ANSWERS: dict[str, Callable[[Parts, float], list[Answer]]] = {
    "dp_accounting": by_dp_accounting,
    "autodp": by_autodp,
    "prv_accountant": by_prv_accountant,
}


def _pld() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution


def _zoo() -> Any:
    from autodp import mechanism_zoo

    return mechanism_zoo


def _prv() -> Any:
    import prv_accountant

    return prv_accountant


def _repeated(make: str, *arguments: float, **options: float) -> Callable[[float, int], Any]:
    def build(interval: float, times: int) -> Any:
        one = getattr(_pld(), make)(*arguments, value_discretization_interval=interval, **options)
        return one.self_compose(times) if times > 1 else one

    return build


def _composed_pure(epsilon: float, interval: float, times: int) -> Any:
    from dp_accounting.pld import common

    one = _pld().from_privacy_parameters(
        common.DifferentialPrivacyParameters(epsilon), value_discretization_interval=interval
    )
    return one.self_compose(times) if times > 1 else one
