# SPDX-License-Identifier: Apache-2.0
"""Heavy hitters: the frequent words among all that there could be, found letter by letter.

A server keeps reports and walks down the tree of prefixes. Five things can go wrong with what it
promises: a level has too few people, a rare prefix too many of them, a rare prefix or a frequent
one has bad luck with its coins, or an interval fails. Each gets a fifth of the chance that is left
to be wrong, and each bound falls as the number of people grows.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.local.domain import Numbers, Symbols, WordDomain
from sordino.local.estimate import Estimate, onto_simplex
from sordino.local.hashing import PRIME, Hashing, Rows, hashed
from sordino.local.protocol import MARGIN
from sordino.local.randomizer import (
    Encoder,
    Gathering,
    Randomizer,
    Reports,
    check_reports,
    joined,
    read_reports,
)
from sordino.numbers.confidence import mean_limits
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

MAX_CANDIDATES = 1 << 22


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
        self.domain = WordDomain(alphabet, length=length, prime=prime, otherwise=otherwise)
        self.hashing = Hashing(self.domain.base, epsilon=epsilon, prime=self.domain.prime)
        self.least = probability("least", least)
        self.kept = int(1 / self.least)
        self.step = positive_whole("step", step)
        longest = self.domain.length
        if self.step > longest:
            raise ValueError(f"step must be at most length, which is {longest}, got {self.step}")
        if self.candidates > MAX_CANDIDATES:
            raise ValueError(
                f"a server would look at {self.candidates:,} prefixes on a level, and at most "
                f"{MAX_CANDIDATES:,} are allowed; raise least, or take a smaller step or alphabet"
            )
        self.ends = tuple(min(e, longest) for e in range(self.step, longest + self.step, self.step))

    def __repr__(self) -> str:
        longest, letters = self.domain.length, len(self.domain.alphabet)
        return (
            f"<{self.words}: words of at most {longest} of {letters} letters, "
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


_CAUSES_OF_FAILURE = 5


@dataclass(frozen=True)
class Promises:
    """The bounds of a search, for the chances of a report and a confidence.

    ``truth`` and ``other`` are the chances that a report supports its own prefix and another one,
    ``least`` is the share below which nothing is to be found, and ``candidates`` is how many
    prefixes at most are looked at on one of the ``levels``.

    >>> promises = Promises(
    ...     truth=0.5,
    ...     other=0.12,
    ...     least=0.001,
    ...     levels=8,
    ...     candidates=27_000,
    ...     confidence=Fraction(95, 100),
    ... )
    >>> round(promises.threshold(1_000_000), 4), promises.threshold(10)
    (0.0271, inf)
    """

    truth: float
    other: float
    least: float
    levels: int
    candidates: int
    confidence: Fraction

    @property
    def each(self) -> float:
        """The chance that is given to each cause of failure."""
        return float((1 - self.confidence) / _CAUSES_OF_FAILURE)

    def threshold(self, people: int) -> float:
        """Return a share such that all words that so many of the people hold are found.

        It is infinite if there are too few people for any promise.
        """
        return self.reach(self.size(people))

    def size(self, people: int) -> float:
        """Return how many people there are at least on every level."""
        if self.levels == 1:
            return people
        share, nats = 1 / self.levels, math.log(self.levels / self.each) / people
        if -math.log1p(-share) < nats:
            return 0.0
        off = _least(lambda off: divergence(share - off, share) >= nats, 0.0, share)
        return people * (share - off)

    def crowd(self, size: float) -> float:
        """Return the share of a level that a prefix which is rare among all people stays below."""
        nats = math.log(self.levels / (self.each * self.least)) / size
        return max(_above(self.least, nats), self.least + 1 / size)

    def cut(self, size: float) -> float:
        """Return the share of a level whose support a prefix needs to be kept.

        It is infinite if none could be told from noise.
        """
        if size <= 0 or (crowd := self.crowd(size)) >= 1:
            return math.inf
        nats = math.log(self.levels * self.candidates / self.each) / size
        return _above(self._mean(crowd), nats)

    def reach(self, size: float) -> float:
        """Return a share such that all prefixes that so many of all people have are kept."""
        cut = self.cut(size)

        def is_kept(share: float) -> bool:
            mean = self._mean(share)
            nats = math.log(self.levels / (share * self.each)) / size
            return mean > cut and divergence(cut, mean) >= nats

        if not self.truth > cut or not is_kept(1.0):
            return math.inf
        return _least(is_kept, self.least, 1.0)

    def _mean(self, share: float) -> float:
        return self.other + share * (self.truth - self.other)


def divergence(x: float, mean: float) -> float:
    """Return the Kullback-Leibler divergence of a coin of chance x from one of chance mean.

    >>> divergence(0.5, 0.5), round(divergence(1.0, 0.5), 12) == round(math.log(2), 12)
    (0.0, True)
    """
    off = x - mean
    ones = x * math.log1p(off / mean) if x > 0 else 0.0
    zeros = (1 - x) * math.log1p(-off / (1 - mean)) if x < 1 else 0.0
    return max(ones + zeros, 0.0)


def _above(mean: float, nats: float) -> float:
    """Return the least number above the mean that diverges so far; infinity if there is none."""
    if -math.log(mean) < nats:
        return math.inf
    return _least(lambda x: divergence(x, mean) >= nats, mean, 1.0)


def _least(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return the least double at which something holds that holds at ``high`` and from then on."""
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


Prefix = tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Found(Estimate):
    """The words that were found, the most frequent first, with how frequent each is.

    With the confidence, all of this holds together: every word that at least the share
    ``threshold`` of the people hold is here (none is promised if it is infinite), no word is here
    that less than the share ``least`` hold, and every interval holds. ``crowded`` tells that more
    prefixes passed than honest reports allow but for bad luck: only the most frequent were kept.
    """

    threshold: float
    least: float
    crowded: bool

    def projected(self) -> Estimate:
        """Return the estimate with the nearest frequencies that add up to at most 1."""
        shares = np.maximum(self.frequencies, 0)
        shares = onto_simplex(self.frequencies) if shares.sum() > 1 else shares
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Found(**fields | {"frequencies": shares, "moved": True})

    def to_json(self) -> dict[str, Any]:
        """Return everything in plain numbers and texts."""
        threshold = None if math.isinf(self.threshold) else self.threshold
        promise = {"threshold": threshold, "least": self.least, "crowded": self.crowded}
        return super().to_json() | promise

    @property
    def words(self) -> str:
        """What was promised, in a line or two."""
        reach = f"every word of at least {100 * self.threshold:.2f} % is here"
        if math.isinf(self.threshold):
            reach = "there are too few people to be sure of any word"
        crowd = "; too many prefixes passed: are all clients honest?" if self.crowded else ""
        return f"{super().words}\n{reach}, and none below {100 * self.least:.4g} %{crowd}"


class WordServer(Gathering["HeavyHitters"]):
    """Reports, kept until the words are known, as what to count shows level by level.

    Its state is the reports in order of their numbers, so that servers can be merged in any order.
    A person takes 4 bytes for each number of a report: 16 for short words, 4 more for each block
    after the first.
    """

    def __init__(self, protocol: HeavyHitters) -> None:
        super().__init__(protocol)
        self._kept: list[Reports] = [protocol.client().encode([])]

    def add(self, reports: Reports) -> None:
        """Keep reports; none is kept if one of them is not of this protocol."""
        check_reports(self.protocol, reports)
        self._kept.append(Reports(reports.protocol, reports.data.copy()))
        self.people += len(reports)

    def merge(self, other: WordServer) -> None:
        """Add what another server of the same protocol has kept."""
        if not isinstance(other, WordServer):
            raise TypeError("only a server of words can be merged into a server of words")
        self._check_other(other)
        self.add(other.reports())

    def reports(self) -> Reports:
        """Return all reports that were added, as one."""
        self._kept = [joined(self._kept)]
        return self._kept[0]

    def to_bytes(self) -> bytes:
        """Return the reports as bytes, in order; equal reports give equal bytes."""
        data = self.reports().data
        return Reports(self.protocol.fingerprint, data[np.lexsort(data.T[::-1])]).to_bytes()

    def load(self, data: bytes) -> None:
        """Add what ``to_bytes`` of a server of the same protocol wrote."""
        self.add(read_reports(data))

    def estimate(self, *, confidence: Number = 0.95) -> Found:
        """Return the frequent words, with how frequent they are among the people.

        Guarantee:
            Neighbours: any two words of one person.
            Loss: none beyond that of the reports.
            Numerics: the bounds are computed in doubles; they hold for any fixed people and for
                people drawn at random.
            Proof: docs/proofs/heavy_hitters.md, theorem 2.
        """
        promises = self.protocol.promises(confidence)
        if self.people == 0:
            raise ValueError("no reports have been added yet; add some first")
        data = self.reports().data
        found: dict[Prefix, int] = {(): self.people}
        crowded, threshold = False, 0.0
        for level in range(self.protocol.levels):
            rows = data[data[:, 0] == level, 1:]
            size = len(rows)
            passed = self._passed(level, rows, list(found), promises.cut(size))
            crowded = crowded or len(passed) > self.protocol.kept
            best = sorted(passed.items(), key=lambda item: (-item[1], item[0]))
            found = dict(best[: self.protocol.kept])
            threshold = max(threshold, promises.reach(size))
        return self._estimated(found, size, promises, threshold, crowded)

    def _passed(
        self, level: int, rows: Rows, parents: list[Prefix], least: float
    ) -> dict[Prefix, int]:
        """Return the extensions of the parents that at least this share of reports support."""
        found: dict[Prefix, int] = {}
        if math.isinf(least):
            return found
        protocol = self.protocol
        domain, end = protocol.domain, protocol.ends[level]
        block, weight = domain.weight(end - 1)
        # The last symbol of a prefix adds itself times the step to the hash of what is before it:
        # so its symbols are to the stem what categories are to a hash function.
        data = np.empty((3, len(rows)), dtype=np.uint32)
        zero = np.zeros(len(rows), dtype=np.uint32)
        data[0] = hashed(rows[:, block], zero, np.uint64(weight), protocol.hashing.prime)
        data[2] = rows[:, -1]
        for stem in self._stems(parents, end - 1):
            data[1] = self._hash(rows, stem)
            counts = np.zeros(domain.base if _is_open(stem) else 1, dtype=np.int64)
            protocol.hashing.tally(data.T, counts)
            for symbol in np.flatnonzero(counts >= least * len(rows)).tolist():
                found[(*stem, symbol)] = int(counts[symbol])
        return found

    def _stems(self, parents: list[Prefix], length: int) -> Iterator[Prefix]:
        """Give the parents with all that can follow them, up to a length."""
        base = self.protocol.domain.base
        for parent in parents:
            more = length - len(parent)
            for letters in product(range(base if _is_open(parent) else 1), repeat=more):
                if 0 not in letters or not any(letters[letters.index(0) :]):
                    yield (*parent, *letters)

    def _hash(self, rows: Rows, prefix: Prefix) -> npt.NDArray[np.uint32]:
        """Return the hash of a prefix by the hash function of each report."""
        domain, prime = self.protocol.domain, self.protocol.hashing.prime
        numbers = domain.numbers(np.array([prefix], dtype=np.int64).reshape(1, -1))[0].tolist()
        found = rows[:, domain.blocks]
        for block, number in enumerate(numbers):
            if number:
                found = hashed(rows[:, block], found, np.uint64(number), prime)
        return found

    def _estimated(
        self,
        found: dict[Prefix, int],
        size: int,
        promises: Promises,
        threshold: float,
        crowded: bool,
    ) -> Found:
        hits = np.array(list(found.values()), dtype=np.int64)
        low, high = mean_limits(hits, max(size, 1), promises.each / self.protocol.kept)
        base, scale = promises.other, promises.truth - promises.other
        means = hits / max(size, 1)
        return Found(
            labels=tuple(self.protocol.domain.text(prefix) for prefix in found),
            people=self.people,
            confidence=float(promises.confidence),
            together=True,
            frequencies=(means - base) / scale,
            low=np.clip((low - base - MARGIN) / scale, promises.least, 1),
            high=np.clip((high - base + MARGIN) / scale, promises.least, 1),
            standard_errors=np.sqrt(means * (1 - means) / max(size, 1)) / scale,
            threshold=threshold,
            least=promises.least,
            crowded=crowded,
        )


def _is_open(prefix: Prefix) -> bool:
    """Tell whether letters can follow: a word that has ended goes on with end marks only."""
    return not prefix or prefix[-1] != 0
