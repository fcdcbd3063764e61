# SPDX-License-Identifier: Apache-2.0
"""What the contract suite knows of each local protocol: small examples, and all their reports."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.local import Hadamard, Hashing, Protocol, Response, Subset, Unary


def concrete(kind: type) -> set[type]:
    """Return the kinds below one that have no kinds below them."""
    kinds: list[type] = kind.__subclasses__()
    return {kind} if not kinds else {leaf for below in kinds for leaf in concrete(below)}


EXAMPLES: dict[type[Protocol], list[Protocol]] = {
    Response: [
        Response(["no", "yes"], epsilon=1),
        Response(4, epsilon=0.1),
        Response(7, epsilon=3),
        Response(3, epsilon=Fraction(1, 3)),
    ],
    Unary: [
        Unary(2, epsilon=1),
        Unary(5, epsilon=0.5),
        Unary(["a", "b", "c"], epsilon=2),
        Unary(4, epsilon=1, optimised=False),
        Unary(9, epsilon=3, optimised=False),
    ],
    Hadamard: [Hadamard(2, epsilon=1), Hadamard(6, epsilon=0.3), Hadamard(13, epsilon=2)],
    Subset: [
        Subset(2, epsilon=1),
        Subset(6, epsilon=0.5),
        Subset(9, epsilon=1),
        Subset(8, epsilon=3),
    ],
    Hashing: [
        Hashing(3, epsilon=1, prime=5),
        Hashing(4, epsilon=2, prime=7),
        Hashing(5, epsilon=0.2, prime=11),
    ],
}
EVERY = [protocol for examples in EXAMPLES.values() for protocol in examples]


def row_of(protocol: Protocol, report: Any) -> npt.NDArray[Any]:
    """Write one report of the channel as a client would send it."""
    if isinstance(protocol, Unary):
        return np.packbits(np.array([report], dtype=bool), axis=1)
    if isinstance(protocol, Subset):
        held = np.zeros((1, len(protocol.domain)), dtype=bool)
        held[0, list(report)] = True
        return np.packbits(held, axis=1)
    if isinstance(protocol, Hashing):
        return np.array([report], dtype=np.uint32)
    return np.array([report], dtype=np.min_scalar_type(protocol.cells - 1))


def report_of(protocol: Protocol, row: npt.NDArray[Any]) -> Any:
    """Read one report as the channel names it."""
    wide = len(protocol.domain)
    if isinstance(protocol, Unary):
        return tuple(np.unpackbits(row, count=wide).tolist())
    if isinstance(protocol, Subset):
        return tuple(np.flatnonzero(np.unpackbits(row, count=wide)).tolist())
    if isinstance(protocol, Hashing):
        return tuple(row.tolist())
    return int(row)


@cache
def support(protocol: Protocol, report: Any) -> tuple[int, ...]:
    """Return what a server counts for each category on seeing one report."""
    counts = np.zeros(protocol.cells, dtype=np.int64)
    row = row_of(protocol, report)
    assert protocol.accepts(row)
    protocol.tally(row, counts)
    return tuple(protocol.supports(counts, 1).tolist())


def laws(protocol: Protocol) -> Iterator[dict[Any, Fraction]]:
    """Return the law of a report given each category."""
    channel = protocol.channel()
    for category in range(len(protocol.domain)):
        yield {report: chances[category] for report, chances in channel.items()}
