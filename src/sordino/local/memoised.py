# SPDX-License-Identifier: Apache-2.0
"""Asking again: a report is drawn once for each value, kept on the device and sent again."""

from __future__ import annotations

import json
import threading
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from sordino.local.domain import Codes
from sordino.local.protocol import Protocol, Server
from sordino.local.randomizer import Reports, odds_of, read_epsilon, read_reports
from sordino.local.response import Response, respond
from sordino.numbers.rational import Integer, Number, is_integer, positive_whole, written
from sordino.privacy.loss import Loss

_MARK = "sordino memory 1"
_MOST_PEOPLE = 1 << 32
_BROKEN = (
    "these bytes are no whole memory of this protocol; without its memory a device draws anew, and "
    "its person loses anew"
)


class Memoised:
    """A question that is asked again and again, with reports that are drawn once and kept.

    The first time a value is true its report is drawn by ``protocol`` and kept; whenever it is true
    again, the same report is sent. So whoever's value never changes loses ``epsilon`` once,
    however many reports there are; where it takes m different values, m times.

    With ``epsilon_each``, for Response only, the kept report is randomized once more each time, so
    that one report alone loses no more than that, and reports are not all the same.

    What is not promised: that nobody sees *that* a value changes, when, and when it changes back. A
    kept report is sent as it is, so another one shows a change; with ``epsilon_each`` it is hidden
    in each report but not in many. A long report can be as rare as a name, by which a device is
    recognised. Answers to other questions that go along with this one add their own losses. A
    device that forgets draws anew, and its person loses anew. How long an encoding takes is not
    hidden, though reports are drawn, and thrown away, for values that have one already.

    Each round needs a server of its own: the same coins twice teach nothing new, and intervals for
    both rounds together would be too short.

    >>> question = Memoised(Response(["no", "yes"], epsilon=2), epsilon_each=1)
    >>> client = question.client()
    >>> client.loss(values=1).epsilon(delta=0), client.loss_each.epsilon(delta=0)
    (2.0, 1.0)

    Guarantee:
        Neighbours: any two histories of one person's value that are equal at the same times: where
            one has the same value twice so has the other.
        Loss: that of one report of ``protocol`` for each value the history takes.
        Numerics: every probability is a fraction, and drawn exactly.
        Proof: docs/proofs/heavy_hitters.md, theorems 3 and 4.
    """

    def __init__(self, protocol: Protocol, *, epsilon_each: Number | None = None) -> None:
        if not isinstance(protocol, Protocol):
            raise TypeError("protocol must be one for categories, such as Response")
        self.protocol = protocol
        self.sent: Protocol = protocol
        self.again: Fraction | None = None  # the odds of the second response
        if epsilon_each is not None:
            self.sent, self.again = _twice(protocol, read_epsilon(epsilon_each))

    def __repr__(self) -> str:
        each = "" if self.again is None else f", each {written(self.sent.epsilon)}"
        return f"<memoised {self.protocol.words}, epsilon {written(self.protocol.epsilon)}{each}>"

    def client(self, *, people: Integer = 1, memory: bytes | None = None) -> MemoisedClient:
        """Return what runs on a device, for one person or several, with what it remembers."""
        return MemoisedClient(self, positive_whole("people", people), memory)

    def server(self) -> Server:
        """Return what counts the reports of one round.

        A report has the law of a single one of the protocol, or with ``epsilon_each`` of a single
        randomized response with that epsilon, so its server is the same.
        """
        return self.sent.server()


class MemoisedClient:
    """What runs where the values are known, and remembers which report stands for which.

    Threads may share it. It cannot be copied or pickled: a copy is a second device, which draws
    reports of its own, and what both send adds up. So is a client in a process that was forked,
    and so is one that is given a memory which another goes on using.
    """

    def __init__(self, question: Memoised, people: int, memory: bytes | None) -> None:
        if people > _MOST_PEOPLE:
            raise ValueError("a client serves at most 2**32 people")
        self.question = question
        self.people = people
        self._lock = threading.Lock()
        nobody = np.empty(0, dtype=np.int64)
        # The keys, person times categories plus code, in order; and the report of each.
        self._kept: tuple[Codes, npt.NDArray[Any]] = (nobody, question.protocol.draw(nobody))
        if memory is not None:
            self._kept = self._remembered(memory)

    def __repr__(self) -> str:
        return f"<client of {self.question!r}>"  # how much it remembers is private

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            "a memoised client cannot be copied or pickled, as its copy would draw other reports; "
            "store to_bytes() and give it to one new client as memory"
        )

    @property
    def loss_each(self) -> Loss:
        """What one report alone can reveal."""
        return self.question.sent.loss

    def loss(self, *, values: Integer) -> Loss:
        """Return what all reports together can reveal of someone with so many different values."""
        protocol = self.question.protocol
        return protocol.loss * min(positive_whole("values", values), len(protocol.domain))

    def encode(self, values: object) -> Reports:
        """Return the report of each person's present value; new ones are drawn and kept.

        Store the memory before the reports are sent: one that is lost is drawn anew.
        """
        protocol = self.question.protocol
        codes, _ = protocol.domain.codes(values)
        if codes.size != self.people:
            raise ValueError(
                f"this client serves {self.people} people, and {codes.size} values were given; "
                "give one for each, in the same order every time"
            )
        codes = protocol.domain.check(codes.copy())
        keys = np.arange(self.people) * len(protocol.domain) + codes
        with self._lock:  # or two threads would draw two reports for one value
            kept = self._looked_up(keys, protocol.draw(codes))
        if self.question.again is not None:
            again = respond(kept.astype(np.int64), self.question.again, len(protocol.domain))
            kept = again.astype(kept.dtype)
        return Reports(self.question.sent.fingerprint, kept)

    def _looked_up(self, keys: Codes, drawn: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the kept report of each key; where there is none, keep the one that was drawn."""
        known, rows = self._kept
        fresh = np.append(known, -1)[np.searchsorted(known, keys)] != keys
        every = np.concatenate([known, keys[fresh]])
        order = np.argsort(every, kind="stable")
        known, rows = every[order], np.concatenate([rows, drawn[fresh]])[order]
        self._kept = (known, rows)
        found: npt.NDArray[Any] = rows[np.searchsorted(known, keys)]
        return found

    def to_bytes(self) -> bytes:
        """Return the memory, which is private: whoever reads it learns the values."""
        keys, rows = self._kept
        header = {"kind": _MARK, "people": self.people, "keys": keys.tolist()}
        kept = Reports(self.question.protocol.fingerprint, rows)
        return json.dumps(header, separators=(",", ":")).encode() + b"\n" + kept.to_bytes()

    def _remembered(self, memory: bytes) -> tuple[Codes, npt.NDArray[Any]]:
        """Read what ``to_bytes`` wrote."""
        protocol = self.question.protocol
        line, _, rest = bytes(memory).partition(b"\n")
        try:
            header = json.loads(line)
            if not isinstance(header, dict) or header.get("kind") != _MARK:
                raise ValueError
            keys, kept = header["keys"], read_reports(rest)
            if not isinstance(keys, list) or not all(is_integer(key) for key in keys):
                raise ValueError
            rows = kept.data
            if kept.protocol != protocol.fingerprint or len(keys) != len(rows):
                raise ValueError
            if keys != sorted(set(keys)) or not protocol.accepts(rows):
                raise ValueError
            if keys and not 0 <= keys[0] <= keys[-1] < self.people * len(protocol.domain):
                raise ValueError
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ValueError(_BROKEN) from None
        if header.get("people") != self.people:
            raise ValueError("this memory is that of a client for another number of people")
        return np.array(keys, dtype=np.int64), rows.copy()


def _twice(protocol: Protocol, epsilon: Fraction) -> tuple[Protocol, Fraction]:
    """Return the response that two make together, and the odds of the second one."""
    if not isinstance(protocol, Response):
        raise TypeError("epsilon_each is for Response only; for others leave it out")
    if epsilon >= protocol.epsilon:
        raise ValueError(
            f"epsilon_each must be below the epsilon of the kept report, which is "
            f"{written(protocol.epsilon)}, got {written(epsilon)}; or leave it out"
        )
    both = Response(protocol.domain.labels, epsilon=epsilon)
    return both, odds_between(protocol.odds, odds_of(epsilon), len(protocol.domain))


def odds_between(first: Fraction, both: Fraction, categories: int) -> Fraction:
    """Return the odds of a second randomized response that turn those of the first into ``both``.

    Two responses with odds r and s are one with odds (r s + k - 1) / (r + s + k - 2).

    >>> odds_between(Fraction(3), Fraction(2), 2)
    Fraction(5, 1)
    """
    return (both * (first + categories - 2) - (categories - 1)) / (first - both)
