# SPDX-License-Identifier: Apache-2.0
"""Some hundred compositions beside other accountants: never below the truth, hardly above the best.

``python -m bench.compositions`` goes through all of them, which takes some minutes; ``run`` takes
every twentieth.
"""

from __future__ import annotations

import math
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any

from rich.console import Console
from rich.table import Table

from sordino.privacy import losses
from sordino.privacy.loss import Loss

MOST_EXCESS = 1e-4  # relatively above the best peer
MOST_RARE_EXCESS = 2e-2  # where a sample has each unit once in a million
LEAST = 1e-4  # epsilons below this are compared absolutely
MOST_SECONDS = 10.0
PEER_SECONDS = 20
FEW = 20
GRID = 1e-4

Peer = Callable[[], float]


@dataclass(frozen=True)
class Case:
    """A composition, a delta, and what the peer has to compute."""

    name: str
    loss: Loss
    delta: float
    peer: Peer | None


@dataclass(frozen=True)
class Outcome:
    """What came out of a case: both epsilons, the certain lower end, and both times."""

    case: Case
    epsilon: float
    lower: float
    seconds: float
    peer: float
    peer_seconds: float

    @property
    def excess(self) -> float:
        """How far above the peer we are, relatively; a peer below the truth is none."""
        if not math.isfinite(self.peer) or self.peer < self.lower * (1 - 1e-6):
            return 0.0
        return (self.epsilon - self.peer) / max(self.peer, LEAST)

    @property
    def good(self) -> bool:
        """Whether every law holds."""
        sound = self.lower <= self.epsilon
        most = MOST_RARE_EXCESS if "sampled 1e-06" in self.case.name else MOST_EXCESS
        return sound and self.excess <= most and self.seconds <= MOST_SECONDS


def _pld() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution


def _pure(epsilon: float) -> Any:
    from dp_accounting.pld import common

    parameters = common.DifferentialPrivacyParameters(epsilon)
    return _pld().from_privacy_parameters(parameters, value_discretization_interval=GRID)


def _composed(make: Callable[[], Any], times: int, delta: float) -> float:
    return float(make().self_compose(times).get_epsilon_for_delta(delta))


def cases() -> Iterator[Case]:
    """List all compositions."""
    yield from _gaussian()
    yield from _bounded()
    yield from _discrete()
    yield from _sampled()
    yield from _mixed()


def _case(name: str, one: Loss, times: int, delta: float, make: Callable[[], Any] | None) -> Case:
    peer = None if make is None else partial(_composed, make, times, delta)
    return Case(f"{times:,} {name}, delta {delta:g}", times * one, delta, peer)


def _gaussian() -> Iterator[Case]:
    for sigma in (0.3, 1, 5, 20, 100):
        one = losses.gaussian(sigma=sigma)
        for times in (1, 10, 1000, 10**6):
            for delta in (1e-2, 1e-6, 1e-10, 1e-15):
                whole = partial(
                    lambda s: _pld().from_gaussian_mechanism(s, value_discretization_interval=GRID),
                    sigma / math.sqrt(times),
                )
                name = f"{times:,} Gaussian, sigma {sigma:g}, delta {delta:g}"
                peer = partial(_composed, whole, 1, delta)
                yield Case(name, times * one, delta, peer if sigma**2 * 50 > times else None)


def _bounded() -> Iterator[Case]:
    for epsilon in (0.01, 0.1, 1):
        kinds: dict[str, tuple[Loss, Callable[[], Any]]] = {
            "pure": (losses.pure(epsilon=epsilon), partial(_pure, epsilon)),
            "Laplace": (
                losses.laplace(epsilon=epsilon),
                partial(
                    lambda scale: _pld().from_laplace_mechanism(
                        scale, value_discretization_interval=GRID
                    ),
                    1 / epsilon,
                ),
            ),
            "exponential": (losses.exponential(epsilon=epsilon), partial(_pure, epsilon)),
        }
        for kind, (one, make) in kinds.items():
            for times in (2, 5, 21, 100, 10_000):
                for delta in (1e-2, 1e-6, 1e-12):
                    yield _case(f"{kind}, epsilon {epsilon:g}", one, times, delta, make)


def _discrete() -> Iterator[Case]:
    grid = {"value_discretization_interval": GRID}
    kinds: list[tuple[str, Loss, Callable[[], Any]]] = []
    for epsilon, shift in ((0.1, 3), (1, 1), (0.5, 2)):
        laplace = partial(
            lambda e, s: _pld().from_discrete_laplace_mechanism(e / s, sensitivity=s, **grid),
            epsilon,
            shift,
        )
        loss = losses.discrete_laplace(epsilon=epsilon, sensitivity=shift)
        kinds += [(f"discrete Laplace, epsilon {epsilon:g} on {shift}", loss, laplace)]
    for sigma in (1, 5, 20):
        normal = partial(lambda s: _pld().from_discrete_gaussian_mechanism(s, **grid), sigma)
        loss = losses.discrete_gaussian(sigma=sigma)
        kinds += [(f"discrete Gaussian, sigma {sigma}", loss, normal)]
    for epsilon in (0.1, 1):
        response = partial(
            lambda e: _pld().from_randomized_response(4 / (3 + math.exp(e)), 4, **grid), epsilon
        )
        loss = losses.randomized_response(epsilon=epsilon, categories=4)
        kinds += [(f"response of 4, epsilon {epsilon:g}", loss, response)]
    for name, one, make in kinds:
        for times in (2, 30, 1000):
            for delta in (1e-2, 1e-6, 1e-12):
                yield _case(name, one, times, delta, make)


def _sampled() -> Iterator[Case]:
    for rate in (1e-6, 1e-4, 1e-2, 0.1):
        for sigma in (0.5, 1, 3):
            one = losses.subsampled(losses.gaussian(sigma=sigma), rate=rate)
            make = partial(
                lambda s, q: _pld().from_gaussian_mechanism(
                    s, sampling_prob=q, value_discretization_interval=GRID
                ),
                sigma,
                rate,
            )
            for times in (1, 100, 10_000, 10**6):
                for delta in (1e-5, 1e-7, 1e-10):
                    yield _case(f"sampled {rate:g}, sigma {sigma:g}", one, times, delta, make)


def _mixed() -> Iterator[Case]:
    grid = {"value_discretization_interval": GRID}
    for laplace, sigma, times in ((0.05, 20, 200), (0.5, 3, 5), (0.01, 100, 5000), (0.2, 10, 30)):
        loss = times * (losses.laplace(epsilon=laplace) + losses.gaussian(sigma=sigma))
        loss += losses.pure(epsilon=laplace)

        def make(laplace: float, sigma: float, times: int) -> Any:
            noise = _pld().from_laplace_mechanism(1 / laplace, **grid).self_compose(times)
            normal = _pld().from_gaussian_mechanism(sigma, **grid).self_compose(times)
            return noise.compose(normal).compose(_pure(laplace))

        for delta in (1e-2, 1e-5, 1e-9, 1e-13):
            peer = partial(
                lambda make, d: float(make().get_epsilon_for_delta(d)),
                partial(make, laplace, sigma, times),
                delta,
            )
            name = f"{times:,} each of Laplace {laplace:g} and Gaussian {sigma:g}, delta {delta:g}"
            yield Case(name, loss, delta, peer)


class _Late(Exception):
    """The peer took too long."""


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise _Late


def measure(case: Case) -> Outcome:
    """Compute a case by both."""
    start = time.perf_counter()
    epsilon = case.loss.epsilon(delta=case.delta)
    seconds = time.perf_counter() - start
    lower = case.loss.pld().epsilon(delta=case.delta).lower
    # The exponential mechanism is known by more than its profile.
    lower = min(lower, epsilon) if "exponential" in case.name else lower
    peer, peer_seconds = math.inf, math.inf
    if case.peer is not None:
        signal.signal(signal.SIGALRM, _stop)
        signal.alarm(PEER_SECONDS)
        start = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                peer = case.peer()
            peer_seconds = time.perf_counter() - start
        except (_Late, MemoryError, ValueError, OverflowError) as error:
            peer = math.inf if isinstance(error, _Late) else math.nan
        finally:
            signal.alarm(0)
    return Outcome(case, epsilon, lower, seconds, peer, peer_seconds)


def run(console: Console, *, every: int = FEW) -> int:
    """Print the cases that fall short and a summary; return how many do."""
    outcomes = [measure(case) for place, case in enumerate(cases()) if place % every == 0]
    table = Table(title=f"{len(outcomes)} compositions beside dp-accounting")
    for heading in ("composition", "certain", "sordino", "in", "dp-accounting", "in"):
        table.add_column(heading, justify="left" if heading == "composition" else "right")
    short = [outcome for outcome in outcomes if not outcome.good]
    slower = [o for o in outcomes if o.seconds > max(o.peer_seconds, 0.05)]
    for outcome in [*short, *(slower if every == 1 else [])]:
        table.add_row(
            outcome.case.name,
            f"{outcome.lower:.6g}",
            f"{outcome.epsilon:.6g}",
            f"{outcome.seconds:.2f} s",
            f"{outcome.peer:.6g}",
            f"{outcome.peer_seconds:.2f} s",
        )
    if table.rows:
        console.print(table)
    finite = [outcome for outcome in outcomes if math.isfinite(outcome.peer)]
    console.print(
        f"{len(outcomes)} compositions: at most {max(o.excess for o in outcomes):.1e} above "
        f"dp-accounting, at most {max(o.seconds for o in outcomes):.1f} s; "
        f"{len(finite)} have an answer of dp-accounting, {len(slower)} take longer than it "
        f"(and than 50 ms), {len(short)} fall short"
    )
    return len(short)


if __name__ == "__main__":
    raise SystemExit(run(Console(width=150), every=int(sys.argv[1]) if len(sys.argv) > 1 else 1))
