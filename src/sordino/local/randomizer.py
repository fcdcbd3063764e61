# SPDX-License-Identifier: Apache-2.0
"""What every protocol has: an epsilon, a loss, clients that randomize, reports, and servers.

Counts of reports are whole numbers, so that servers can be merged in any order.
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from sordino.numbers.balls import exp_neg
from sordino.numbers.rational import Integer, Number, positive, positive_whole, written
from sordino.privacy import losses
from sordino.privacy.loss import Loss
from sordino.randomness.tables import BLOCK

Counts = npt.NDArray[np.int64]

SMALLEST, LARGEST = Fraction(1, 1 << 20), Fraction(40)
# The odds minus 1 have so many binary places: the loss that is given away is below 2**-62 of
# epsilon.
_ODDS_PLACES = 64
_MARK = "sordino reports 1"
_NUMBER = re.compile(r"[<|]u[1248]")
_LONGEST_HEADER = 1_000


def read_epsilon(value: object) -> Fraction:
    """Read the epsilon of a local protocol."""
    epsilon = positive("epsilon", value)
    if not SMALLEST <= epsilon <= LARGEST:
        raise ValueError(
            f"epsilon must lie between 2**-20 and {LARGEST} in the local model, got "
            f"{written(epsilon)}; beyond that answers are all noise, or all but true"
        )
    return epsilon


def odds_of(epsilon: Fraction, *, root: int = 1) -> Fraction:
    """Return a fraction that is at most e^(epsilon / root), and less by next to nothing.

    >>> (
    ...     float(odds_of(Fraction(1))),
    ...     odds_of(Fraction(1)) ** 2 <= odds_of(Fraction(2)) * (1 + 2**-60),
    ... )
    (2.718281828459045, True)
    """
    exponent = epsilon / root
    places = _ODDS_PLACES + max(0, int(1 / exponent).bit_length())
    precision = places + 4 * int(exponent) + 16
    _, above = exp_neg(exponent, precision)  # e^-x is at most above / 2**precision
    return Fraction((1 << (precision + places)) // above, 1 << places)


PEOPLE_AT_ONCE = 1 << 16


class Randomizer(ABC):
    """A way to answer so that nobody, not even who asks, learns what is true of a person.

    Guarantee:
        Neighbours: any two values of one person.
        Loss: every report is epsilon-private, whatever is done with it.
        Numerics: every probability is a fraction, and drawn exactly.
        Proof: docs/proofs/local.md, docs/proofs/local_numbers.md and docs/proofs/heavy_hitters.md.
    """

    def __init__(self, *, epsilon: Number) -> None:
        self.epsilon = read_epsilon(epsilon)
        self.odds = odds_of(self.epsilon)

    @property
    @abstractmethod
    def words(self) -> str:
        """The name of the protocol in words."""

    @property
    @abstractmethod
    def report_bits(self) -> int:
        """How many bits one report has."""

    @abstractmethod
    def accepts(self, data: npt.NDArray[Any]) -> bool:
        """Tell whether an array can be one of reports of this protocol."""

    @abstractmethod
    def _details(self) -> list[Any]:
        """Return what tells one protocol of this kind and epsilon from another."""

    @property
    def loss(self) -> Loss:
        """What one report can reveal."""
        return losses.pure(epsilon=self.epsilon)

    def shuffled(self, people: Integer) -> Loss:
        """Return what is revealed if a shuffler takes names and order away from all reports.

        Guarantee:
            Neighbours: one person's value replaced by another; how many people there are is public.
            Loss: as for losses.shuffled.
            Numerics: as for losses.shuffled.
            Proof: docs/proofs/shuffling.md, theorem 2.
        """
        return losses.shuffled(epsilon=self.epsilon, people=people)

    @cached_property
    def fingerprint(self) -> str:
        """A name that no protocol has of another kind, with another epsilon or question."""
        about = ["sordino local 1", type(self).__name__, str(self.epsilon), *self._details()]
        return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:32]


@dataclass(frozen=True, eq=False)
class Reports:
    """The randomized answers of some people to one question; the first axis goes by person.

    ``protocol`` is the fingerprint of the protocol that made them: another one cannot count them.
    """

    protocol: str
    data: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<{len(self)} reports, {self.data.nbytes} bytes, protocol {self.protocol[:8]}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reports):
            return NotImplemented
        return self.protocol == other.protocol and np.array_equal(self.data, other.data)

    __hash__ = None  # type: ignore[assignment]  # arrays have none either

    def to_bytes(self) -> bytes:
        """Return the reports as bytes: a line that says what they are, then the numbers."""
        data = np.ascontiguousarray(self.data)
        data = data.astype(data.dtype.newbyteorder("<"), copy=False)
        header = {
            "kind": _MARK,
            "protocol": self.protocol,
            "number": data.dtype.str,
            "shape": data.shape,
        }
        return json.dumps(header).encode() + b"\n" + data.tobytes()


def read_reports(data: bytes) -> Reports:
    """Read what ``to_bytes`` wrote."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError("reports are read from bytes")
    line, _, body = bytes(data).partition(b"\n")
    try:
        header = json.loads(line) if len(line) <= _LONGEST_HEADER else None
        if not isinstance(header, dict) or header.get("kind") != _MARK:
            raise ValueError
        shape, number, protocol = header["shape"], header["number"], header["protocol"]
        sizes = isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)
        if not sizes or not _NUMBER.fullmatch(number) or not isinstance(protocol, str):
            raise ValueError
        if prod(shape) * np.dtype(number).itemsize != len(body) or not 1 <= len(shape) <= 2:
            raise ValueError
        array = np.frombuffer(body, dtype=number).reshape(shape)
    except (ValueError, KeyError, TypeError, UnicodeDecodeError, RecursionError):
        raise ValueError("these bytes are no whole reports; have them sent again") from None
    return Reports(protocol, array)


def joined(many: Iterable[Reports]) -> Reports:
    """Return the reports of several clients as one."""
    parts = list(many)
    if not parts:
        raise ValueError("there are no reports to join")
    if len({part.protocol for part in parts}) > 1:
        raise ValueError("only reports of one protocol can be joined; keep others apart")
    return Reports(parts[0].protocol, np.concatenate([part.data for part in parts]))


class Encoder(ABC):
    """What runs where the truth is known, and lets only randomized reports out.

    Guarantee:
        Neighbours: any two values of one person.
        Loss: ``loss`` for each report; whoever reports twice loses twice, unless the reports are
            kept (see Memoised).
        Numerics: as for the protocol.
        Proof: that of the protocol.
    """

    protocol: Randomizer

    def __repr__(self) -> str:
        return f"<client of {self.protocol.words}, epsilon {written(self.protocol.epsilon)}>"

    @property
    def loss(self) -> Loss:
        """What one report can reveal."""
        return self.protocol.loss

    def encode(self, values: object) -> Reports:
        """Return a fresh report for a value, or for each value of a column."""
        return Reports(self.protocol.fingerprint, self._drawn(self._read(values)))

    def stream(self, values: object, *, at_once: Integer = PEOPLE_AT_ONCE) -> Iterator[Reports]:
        """Give the reports of a column piece by piece, so that they need little memory."""
        size = positive_whole("at_once", at_once)
        column = self._read(values)
        for start in range(0, len(column), size):
            yield Reports(self.protocol.fingerprint, self._drawn(column[start : start + size]))

    @abstractmethod
    def _read(self, values: object) -> npt.NDArray[Any]:
        """Return what stands for the values, one row for each person."""

    @abstractmethod
    def _drawn(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return one report for each row."""


SERVER_FORMAT = "sordino server 1"
MAX_REPORTS = 1 << 46  # Limits are certain up to so many.
_OTHER_PROTOCOL = (
    "these {what} were made by another protocol, with another epsilon, or with other categories or "
    "another range; add them to a server of their own protocol"
)
_BROKEN = "these bytes are no whole counts; have them sent again"


def check_reports(protocol: Randomizer, reports: object) -> Reports:
    """Return reports of a protocol; anything else is refused."""
    if not isinstance(reports, Reports) or type(reports.data) is not np.ndarray:
        raise TypeError("a server takes the reports that a client encoded")
    if reports.protocol != protocol.fingerprint:
        raise ValueError(_OTHER_PROTOCOL.format(what="reports"))
    if not protocol.accepts(reports.data):
        raise ValueError(
            "these reports are damaged: some could not have come from a client of this protocol"
        )
    return reports


class Counted(Randomizer):
    """A protocol whose server only counts; here reports are whole numbers, counted one by one."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many counts a server keeps: one for each number that may be reported."""

    def accepts(self, data: npt.NDArray[Any]) -> bool:
        """Tell whether all reports are numbers below that of the counts."""
        return is_below(data, self.cells)

    def tally(self, data: npt.NDArray[Any], counts: Counts) -> None:
        """Add reports to counts, in pieces that stay in the processor's cache."""
        for start in range(0, data.size, BLOCK):
            counts += np.bincount(data[start : start + BLOCK], minlength=counts.size)

    def fits(self, counts: Counts, people: int) -> bool:
        """Tell whether the reports of so many people can have these counts."""
        return bool(sum(counts.tolist()) == people)


def number_of(bound: int) -> np.dtype[Any]:
    """Return the narrowest unsigned type for numbers below a bound."""
    return np.min_scalar_type(bound - 1)


def is_below(data: npt.NDArray[Any], bound: int) -> bool:
    """Tell whether an array is a column of the numbers below a bound in their narrowest type."""
    kind = number_of(bound)
    fits = data.ndim == 1 and data.dtype.kind == "u" and data.dtype.itemsize == kind.itemsize
    if not fits or data.size == 0 or bound > np.iinfo(kind).max:
        return fits
    return int(data.max()) < bound


P = TypeVar("P", bound=Randomizer)
C = TypeVar("C", bound=Counted)


class Gathering(ABC, Generic[P]):
    """A server: reports of one protocol go in, in any order."""

    def __init__(self, protocol: P) -> None:
        self.protocol = protocol
        self.people = 0

    def __repr__(self) -> str:
        return f"<server of {self.protocol.words}: {self.people} reports>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Gathering) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]  # it changes

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Return what is kept as bytes; if it is equal, so are the bytes."""

    def _check_other(self, other: object) -> None:
        if other is self:
            raise ValueError("a server cannot be merged into itself: that would count all twice")


class Counting(Gathering[C]):
    """A server that counts: reports go in, whole numbers are kept."""

    def __init__(self, protocol: C) -> None:
        super().__init__(protocol)
        self.counts = np.zeros(protocol.cells, dtype=np.int64)

    def add(self, reports: Reports) -> None:
        """Count reports; none is counted if one of them is not of this protocol."""
        data = check_reports(self.protocol, reports).data
        fresh = np.zeros_like(self.counts)
        self.protocol.tally(data, fresh)
        self._take(fresh, len(data))

    def merge(self, other: Counting[C]) -> None:
        """Add what another server of the same protocol has counted."""
        if not isinstance(other, Counting):
            raise TypeError("only a server that counts can be merged into a server that counts")
        self._check_other(other)
        if other.protocol.fingerprint != self.protocol.fingerprint:
            raise ValueError(_OTHER_PROTOCOL.format(what="counts"))
        self._take(other.counts, other.people)

    def to_bytes(self) -> bytes:
        """Return the counts as bytes; equal counts give equal bytes."""
        state = {
            "kind": SERVER_FORMAT,
            "protocol": self.protocol.fingerprint,
            "people": self.people,
            "counts": self.counts.tolist(),
        }
        return json.dumps(state, separators=(",", ":")).encode()

    def load(self, data: bytes) -> None:
        """Add what ``to_bytes`` of a server of the same protocol wrote."""
        try:
            state = json.loads(data)
            if not isinstance(state, dict) or state.get("kind") != SERVER_FORMAT:
                raise ValueError
            people, counts = state["people"], state["counts"]
            if not isinstance(counts, list) or not all(type(n) is int for n in [people, *counts]):
                raise ValueError
            if not 0 <= people <= MAX_REPORTS or any(not 0 <= n <= people for n in counts):
                raise ValueError
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ValueError(_BROKEN) from None
        if state.get("protocol") != self.protocol.fingerprint:
            raise ValueError(_OTHER_PROTOCOL.format(what="counts"))
        loaded = np.array(counts, dtype=np.int64)
        if loaded.size != self.counts.size or not self.protocol.fits(loaded, people):
            raise ValueError(_BROKEN)
        self._take(loaded, people)

    def _take(self, counts: Counts, people: int) -> None:
        if self.people + people > MAX_REPORTS:
            raise ValueError("a server counts at most 2**46 reports; begin another one")
        self.counts += counts
        self.people += people
