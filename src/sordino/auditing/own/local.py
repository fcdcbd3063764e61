# SPDX-License-Identifier: Apache-2.0
"""The local protocols under audit: every pair of values of one person, by the channel and in runs.

A channel is written down from the parameters of a protocol and shares no code with its draws.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sordino.auditing.own.mechanisms import Case, Law, Pair
from sordino.local import Hadamard, Hashing, OneBit, Piecewise, Protocol, Response, Subset, Unary
from sordino.local.numbers import NumberProtocol

_FEW_BYTES = 8


def local_cases() -> Iterator[Case]:
    """Yield every local protocol, with two values of a person and its claim."""
    for protocol in (
        Response(2, epsilon=1),
        Response(5, epsilon=1),
        Unary(3, epsilon=1),
        Unary(3, epsilon=1, optimised=False),
        Hadamard(3, epsilon=1),
        Subset(4, epsilon=0.5),
        Hashing(3, epsilon=1, prime=5),
    ):
        values = range(len(protocol.domain))
        yield _case(protocol, _reported(protocol), (values[0], values[-1]), len(values))
    for numbers in (OneBit(0, 4, epsilon=1, steps=4), Piecewise(0, 4, epsilon=1, steps=4)):
        yield _case(numbers, _told(numbers), (0, 4), numbers.scale.steps + 1)


def _case(
    protocol: Protocol | NumberProtocol, call: Callable[..., Any], pair: Pair, values: int
) -> Case:
    name = type(protocol).__name__
    if isinstance(protocol, Unary):
        name += ", optimised" if protocol.optimised else ", symmetric"
    of = f"{values} categories" if isinstance(protocol, Protocol) else "numbers"
    return Case(
        f"{name}, {of}",
        type(protocol),
        call,
        *pair,
        protocol.loss.epsilon(delta=0),
        law=_law(protocol),
        pairs=tuple(itertools.permutations(range(values), 2)),
        described=repr(protocol),
    )


def _law(protocol: Protocol | NumberProtocol) -> Law:
    channel = protocol.channel()
    return lambda value: {report: chances[value] for report, chances in channel.items()}


class _Reports:
    """Many reports of one value in one call, each as a number."""

    batch = True

    def __init__(self, encode: Callable[[Any], Any]) -> None:
        self._encode = encode

    def __call__(self, value: Any, runs: int) -> Any:
        return _numbered(self._encode(np.full(runs, value)))


def _reported(protocol: Protocol) -> _Reports:
    return _Reports(lambda values: protocol.draw(values.astype(np.int64)))


def _told(protocol: NumberProtocol) -> _Reports:
    return _Reports(lambda values: protocol.client().encode(values).data)


def _numbered(data: Any) -> Any:
    """Return one whole number for each report: its own, or its columns as digits."""
    columns = data.reshape(len(data), -1).astype(np.int64)
    found = np.zeros(len(data), dtype=np.int64)
    for column in columns.T:
        found = found << _FEW_BYTES | column
    return found
