# SPDX-License-Identifier: Apache-2.0
"""What the same noise costs in other libraries, where they are installed (extra ``bench``)."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from bench.timing import best_of

PEER_VALUES = 5_000


def opendp(scale: float, gaussian: bool) -> Callable[[], object]:
    import opendp.prelude as dp  # an optional peer

    dp.enable_features("contrib")
    space = (
        dp.vector_domain(dp.atom_domain(T=int)),
        (dp.l2_distance(T=float) if gaussian else dp.l1_distance(T=int)),
    )
    make = dp.m.make_gaussian if gaussian else dp.m.make_laplace
    mechanism = make(*space, scale=scale)
    zeros = [0] * PEER_VALUES
    return lambda: mechanism(zeros)


def diffprivlib(scale: float, gaussian: bool) -> Callable[[], object]:
    from diffprivlib.mechanisms import GaussianDiscrete, Geometric  # an optional peer

    if gaussian:
        mechanism = GaussianDiscrete(epsilon=1.0, delta=1e-6)
        mechanism._scale = scale
    else:
        mechanism = Geometric(epsilon=1 / scale)
    randomise = mechanism.randomise
    return lambda: [randomise(0) for _ in range(PEER_VALUES)]


PEERS = {"opendp": opendp, "diffprivlib": diffprivlib}


def installed() -> list[str]:
    return [name for name in PEERS if find_spec(name) is not None]


def nanoseconds(name: str, scale: float, gaussian: bool) -> str:
    """Return the time per value of one peer, or a dash where one value takes it seconds."""
    if name == "diffprivlib" and gaussian and scale > 100:
        return "-"
    return f"{best_of(2, PEERS[name](scale, gaussian))[0] / PEER_VALUES * 1e9:,.0f}"
