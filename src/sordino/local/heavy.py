# SPDX-License-Identifier: Apache-2.0
"""Heavy hitters: the frequent words among all that there could be, found letter by letter."""

from __future__ import annotations

import math
import string
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.local.hashing import PRIME, Hashing, hashed
from sordino.local.prefixes import Promises, WordServer
from sordino.local.randomizer import Encoder, Randomizer
from sordino.local.words import Numbers, Symbols, Words
from sordino.numbers.rational import (
    Integer,
    Number,
    confidence_level,
    positive_whole,
    probability,
    written,
)
from sordino.privacy.loss import Loss
from sordino.randomness.coins import below_many
from sordino.randomness.entropy import system

_MOST_CANDIDATES = 1 << 22

Rows = npt.NDArray[np.uint32]


class HeavyHitters(Randomizer):
    """A search for the words that many people hold, among all words of an alphabet.

    Each person is put on a level at random and reports the beginning of the word, as long as the
    level says, by a hash function drawn anew and randomized response on its bucket. The server
    finds frequent beginnings level by level: those that are kept are extended by ``step`` symbols.

    ``threshold`` says, before anything is collected, which words are found for sure. No word that
    less than the share ``least`` of the people hold is reported, and at most 1 / least beginnings
    are kept on a level, so this also bounds the work of a server. A larger ``step`` makes fewer
    levels with more people each: the threshold falls, and the work grows with the alphabet to the
    power of ``step``.

    Whoever sends nothing because a word does not fit reveals that. ``otherwise`` names a word,
    such as the empty one, that is reported in place of all that do not fit, be they texts or not.
    How long an encoding takes may tell something of the word; send reports at fixed times.

    >>> protocol = HeavyHitters(epsilon=2, length=8)
    >>> round(protocol.threshold(1_000_000), 4), protocol.report_bits
    (0.027, 99)

    Guarantee:
        Neighbours: any two words of one person.
        Loss: every report is epsilon-private, whatever is done with it.
        Numerics: every probability is a fraction, and drawn exactly.
        Proof: docs/proofs/heavy_hitters.md, theorem 1.
    """

    words = "heavy hitters"

    def __init__(
        self,
        *,
        epsilon: Number,
        length: Integer,
        alphabet: str = string.ascii_lowercase,
        least: Number = Fraction(1, 1000),
        step: Integer = 1,
        otherwise: str | None = None,
        prime: Integer = PRIME,
    ) -> None:
        super().__init__(epsilon=epsilon)
        self.domain = Words(alphabet, length=length, prime=prime, otherwise=otherwise)
        self.hashing = Hashing(self.domain.base, epsilon=epsilon, prime=self.domain.prime)
        self.least = probability("least", least)
        self.kept = int(1 / self.least)
        self.step = positive_whole("step", step)
        longest = self.domain.length
        if self.step > longest:
            raise ValueError(f"step must be at most length, which is {longest}, got {self.step}")
        if self.candidates > _MOST_CANDIDATES:
            raise ValueError(
                f"a server would look at {self.candidates:,} prefixes on a level, and at most "
                f"{_MOST_CANDIDATES:,} are allowed; raise least, or take a smaller step or alphabet"
            )
        self.ends = tuple(min(e, longest) for e in range(self.step, longest + self.step, self.step))

    def __repr__(self) -> str:
        many, letters = self.domain.length, len(self.domain.alphabet)
        return (
            f"<{self.words}: words of at most {many} of {letters} letters, "
            f"epsilon {written(self.epsilon)}>"
        )

    @property
    def loss(self) -> Loss:
        """What one report can reveal."""
        return self.hashing.loss

    @property
    def levels(self) -> int:
        """How many levels there are."""
        return len(self.ends)

    @property
    def candidates(self) -> int:
        """How many prefixes a server looks at on one level at most."""
        return self.kept * int(self.domain.base**self.step)

    @property
    def report_bits(self) -> int:
        """A level, a number for each block and one more, all below the prime, and a bucket."""
        numbers = (self.domain.blocks + 1) * (self.hashing.prime - 1).bit_length()
        return (self.levels - 1).bit_length() + numbers + (self.hashing.buckets - 1).bit_length()

    def _details(self) -> list[Any]:
        """Return what clients need; what only the server needs, such as ``least``, is left out."""
        domain = self.domain
        return [domain.alphabet, domain.length, self.step, self.hashing.prime]

    def client(self) -> WordClient:
        """Return what runs on the device of a person."""
        return WordClient(self)

    def server(self) -> WordServer:
        """Return what finds the words."""
        return WordServer(self)

    def promises(self, confidence: Number = 0.95) -> Promises:
        """Return the bounds that a search with this confidence keeps to."""
        return Promises(
            truth=float(self.hashing.truth),
            other=float(self.hashing.other),
            least=float(self.least),
            levels=self.levels,
            candidates=self.candidates,
            confidence=confidence_level(confidence),
        )

    def threshold(self, people: Integer, confidence: Number = 0.95) -> float:
        """Return a share: every word that at least so many of the people hold will be found.

        This, that no word is reported which less than the share ``least`` hold, and all intervals
        of the estimate hold together with the confidence, whoever the people are.
        """
        many = positive_whole("people", people)
        share = self.promises(confidence).threshold(many)
        if math.isinf(share):
            raise ValueError(
                f"with {many} people no word is sure to be found; ask more people, or take a "
                "larger epsilon or step, or shorter words"
            )
        return share

    def draw(self, symbols: Symbols) -> Rows:
        """Return one report for each row of symbols: level, hash function, bucket."""
        bits, many, blocks = system(), len(symbols), self.domain.blocks
        levels = below_many(self.levels, many, bits)
        numbers = self.prefixes(symbols, levels)
        others = np.empty((many, blocks - 1), dtype=np.uint32)
        for column in others.T:
            column[:] = below_many(self.hashing.prime, many, bits)
        return self.arranged(levels, numbers, others, self.hashing.draw_hashed(numbers[:, 0]))

    def prefixes(self, symbols: Symbols, levels: Numbers) -> Numbers:
        """Return the numbers of the beginnings that are reported on these levels."""
        ends = np.array(self.ends)[levels]
        return self.domain.numbers(
            np.where(np.arange(symbols.shape[1]) < ends[:, None], symbols, 0)
        )

    def arranged(self, levels: Numbers, numbers: Numbers, others: Rows, drawn: Rows) -> Rows:
        """Return reports made of what was drawn.

        ``drawn`` hashes the first block alone. The hash function that is reported begins lower by
        what the other blocks add, so that on all blocks together it gives the same bucket.
        """
        prime = self.hashing.prime
        start = drawn[:, 1]
        for block, column in enumerate(others.T, start=1):
            start = hashed(column, start, (-numbers[:, block] % prime).astype(np.uint64), prime)
        columns = (levels, drawn[:, 0], *others.T, start, drawn[:, 2])
        return np.stack(columns, axis=1, dtype=np.uint32, casting="unsafe")

    def accepts(self, data: npt.NDArray[Any]) -> bool:
        """Tell whether an array can be one of reports of this protocol."""
        numbers = self.domain.blocks + 1
        bounds = (self.levels, *[self.hashing.prime] * numbers, self.hashing.buckets)
        if data.ndim != 2 or data.shape[1] != len(bounds) or data.dtype != np.uint32:
            return False
        return len(data) == 0 or bool((data.max(axis=0) < bounds).all())


class WordClient(Encoder):
    """What runs where the word is known, and lets only randomized reports out.

    >>> client = HeavyHitters(epsilon=1, length=5).client()
    >>> len(client.encode("hello")), len(client.encode(["hi", "all"]))
    (1, 2)
    """

    def __init__(self, protocol: HeavyHitters) -> None:
        self.protocol: HeavyHitters = protocol

    def _read(self, values: object) -> Symbols:
        return self.protocol.domain.symbols(values)

    def _drawn(self, column: Symbols) -> Rows:
        return self.protocol.draw(column)
