# SPDX-License-Identifier: Apache-2.0
"""Optimised local hashing: each person hashes the categories anew and reports a bucket."""

from __future__ import annotations

from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.local.domain import Codes
from sordino.local.protocol import Channel, Protocol
from sordino.local.randomizer import Counts
from sordino.local.response import Response
from sordino.numbers.rational import Integer, Number, positive_whole
from sordino.privacy import losses
from sordino.privacy.loss import Loss
from sordino.randomness.coins import below_many
from sordino.randomness.entropy import system

PRIME = (1 << 31) - 1
_REPORTS_AT_ONCE = 1 << 14  # Their numbers stay in the processor's cache.
_MAX_LISTED = 1 << 14
MAX_BUCKETS = 1 << 12  # Where more would be better, randomized response is better still.

Rows = npt.NDArray[np.uint32]


class Hashing(Protocol):
    """A random hash function, and the bucket of the true category by randomized response.

    The hash of category v is a v + b modulo a prime, cut into g buckets of nearly equal width; a
    and b are drawn by the person and are part of the report. Any two categories then fall into
    buckets that are independent, so the chance of a support is known exactly. g is the whole
    number for which the error is least, about e^epsilon + 1. Reports are short, and servers slow:
    each report is looked at once for every category.

    >>> protocol = Hashing(1000, epsilon=1)
    >>> protocol.buckets, protocol.report_bits, round(float(protocol.variance()), 4)
    (4, 64, 3.6917)
    """

    words = "optimised local hashing"

    def __init__(self, categories: object, *, epsilon: Number, prime: Integer = PRIME) -> None:
        super().__init__(categories, epsilon=epsilon)
        self.prime = positive_whole("prime", prime)
        if not max(len(self.domain), 3) <= self.prime <= PRIME or not _is_prime(self.prime):
            raise ValueError(
                f"prime must be a prime number, from the number of categories to {PRIME}"
            )
        near = min(int(self.odds) + 1, self.prime - 1, MAX_BUCKETS)
        sizes = {max(near, 2), max(near, 2) + 1}
        self.buckets = min(sizes, key=self._error)
        self.truth, self.other = self._chances(self.buckets)

    @property
    def report_bits(self) -> int:
        """Two numbers below the prime, and a bucket."""
        return 2 * (self.prime - 1).bit_length() + (self.buckets - 1).bit_length()

    @property
    def loss(self) -> Loss:
        """That of randomized response with as many categories as there are buckets."""
        return losses.randomized_response(epsilon=self.epsilon, categories=self.buckets)

    def draw(self, codes: Codes) -> npt.NDArray[Any]:
        """Return the two numbers of a hash function and a bucket for each code."""
        return self.draw_hashed(codes)

    def draw_hashed(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
        """Return a report for each number below the prime, whether it is a category or not."""
        out = np.empty((numbers.size, 3), dtype=np.uint32)
        bits = system()
        for column in (0, 1):
            out[:, column] = below_many(self.prime, numbers.size, bits)
        hashes = hashed(out[:, 0], out[:, 1], numbers.astype(np.uint64), self.prime)
        buckets = np.searchsorted(self._edges[1:], hashes, side="right")
        out[:, 2] = self._response.draw(buckets)
        return out

    def accepts(self, data: npt.NDArray[Any]) -> bool:
        """Tell whether all reports are hash functions with a bucket."""
        if data.ndim != 2 or data.shape[1] != 3 or data.dtype != np.uint32:
            return False
        largest = data.max(axis=0) if len(data) else np.zeros(3)
        return bool((largest < (self.prime, self.prime, self.buckets)).all())

    def tally(self, data: npt.NDArray[Any], counts: Counts) -> None:
        """Count, for each category, the reports in whose bucket it falls.

        The hash of the next category is that of the one before plus a, modulo the prime.
        """
        prime = np.uint32(self.prime)
        for start in range(0, len(data), _REPORTS_AT_ONCE):
            step, value, bucket = data[start : start + _REPORTS_AT_ONCE].T.copy()
            first, width = self._edges[bucket], self._widths[bucket]
            turned, inside = np.empty_like(value), np.empty(value.size, dtype=np.bool_)
            for category in range(counts.size):
                np.subtract(value, first, out=turned)  # what is below zero wraps round
                np.less(turned, width, out=inside)
                counts[category] += np.count_nonzero(inside)
                np.add(value, step, out=value)
                np.subtract(value, prime, out=turned)
                np.minimum(value, turned, out=value)

    def fits(self, counts: Counts, people: int) -> bool:  # noqa: ARG002 - any counts can be
        """Tell whether the reports of so many people can have these counts."""
        return True

    def channel(self) -> Channel:
        """Return, for every hash function and bucket, its chance given each category."""
        if self.prime**2 * self.buckets > _MAX_LISTED:
            raise ValueError(f"all reports can be listed if there are at most {_MAX_LISTED}")
        found: Channel = {}
        edges, response = self._edges.tolist(), self._response
        for a in range(self.prime):
            for b in range(self.prime):
                for y in range(self.buckets):
                    hashes = ((a * v + b) % self.prime for v in range(len(self.domain)))
                    fits = (edges[y] <= h < edges[y + 1] for h in hashes)
                    chances = (response.truth if fit else response.other for fit in fits)
                    found[a, b, y] = tuple(chance / self.prime**2 for chance in chances)
        return found

    def _details(self) -> list[Any]:
        return [*super()._details(), self.prime]

    @cached_property
    def _response(self) -> Response:
        return Response(self.buckets, epsilon=self.epsilon)

    @cached_property
    def _edges(self) -> Rows:
        """Where each bucket begins, and the prime."""
        return np.array(
            [_edge(y, self.buckets, self.prime) for y in range(self.buckets + 1)], dtype=np.uint32
        )

    @cached_property
    def _widths(self) -> Rows:
        return np.diff(self._edges)

    def _chances(self, buckets: int) -> tuple[Fraction, Fraction]:
        """Return the chances of a support; that of another category is the same for all."""
        whole = self.odds + buckets - 1
        own, other = self.odds / whole, 1 / whole
        edges = [_edge(y, buckets, self.prime) for y in range(buckets + 1)]
        squares = sum((b - a) ** 2 for a, b in pairwise(edges))
        return own, other + (own - other) * Fraction(squares, self.prime**2)

    def _error(self, buckets: int) -> Fraction:
        truth, other = self._chances(buckets)
        return other * (1 - other) / (truth - other) ** 2


def hashed(step: Rows, start: Rows, numbers: Any, prime: int) -> npt.NDArray[np.uint32]:
    """Return step * number + start modulo the prime, all below 2**31."""
    product = step.astype(np.uint64)
    product *= numbers
    product += start
    product %= np.uint64(prime)
    return product.astype(np.uint32)


@cache
def _is_prime(number: int) -> bool:
    return all(number % divisor for divisor in range(2, isqrt(number) + 1))


def _edge(bucket: int, buckets: int, prime: int) -> int:
    return bucket * prime // buckets
