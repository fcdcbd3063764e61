# SPDX-License-Identifier: Apache-2.0
"""What must hold of a ledger after workers were killed, whatever they were doing.

It is worked out from the entries and from what was seen of answers, without the ledger's own sums.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass

from sordino.ledger.entry import Entry
from sordino.ledger.ledger import Ledger
from sordino.ledger.stores.protocol import Pages
from tests.ledger.workers import Frame
from tests.support.faults import Point

PEOPLE = "people"
_BURNT = {  # the points at which a charge has been made, and its answer not yet kept
    Point.CHARGED,
    Point.IN_ENGINE,
    Point.COMPUTED,
    Point.NOISY,
    Point.ANSWER_WRITTEN,
}


@dataclass(frozen=True)
class Death:
    """How a worker ended: at which point, None for a random moment; and what was seen of it."""

    who: str
    point: Point | None
    killed: bool
    frames: list[Frame]


class History:
    """What is known of one ledger from the rounds before.

    Workers who ask for new noise alone (``fresh``) never take up a charge that was left.
    """

    def __init__(self, names: list[str], *, fresh: bool = False) -> None:
        self.names = names
        self.fresh = fresh
        self.head: Entry | None = None
        self.charges: dict[int, Entry] = {}
        self.answers: dict[int, Entry] = {}  # by the number of the charge

    def check(self, book: Ledger, deaths: list[Death]) -> Counter[str]:
        """Hold a ledger to all invariants after a round of deaths, and count what was seen."""
        seen: Counter[str] = Counter()
        with book.store.read() as pages:
            fresh = self._grown(pages)
            self._add(fresh)
            self._check_sums()
            for death in deaths:
                for frame in death.frames:
                    self._check_seen(pages, death, frame)
                    seen["whole answers" if frame.whole else "parts of answers"] += 1
                seen["burnt charges"] += self._check_burnt(fresh, death)
        seen["charges"] += sum(entry.kind == "charge" for entry in fresh)
        seen["refused"] += sum(not death.killed for death in deaths)
        return seen

    def _grown(self, pages: Pages) -> list[Entry]:
        """Return the new entries; none of the old ones may be missing or changed."""
        if self.head is None:
            return list(pages.entries(PEOPLE))
        found = list(pages.entries(PEOPLE, self.head.number))
        assert found[:1] == [self.head], f"the chain has shrunk: {self.head} is missing"
        return found[1:]

    def _add(self, fresh: list[Entry]) -> None:
        for entry in fresh:
            if entry.kind == "charge":
                self.charges[entry.number] = entry
            elif entry.kind == "answer":
                assert entry.charge not in self.answers, f"a second answer: {entry}"
                assert entry.charge in self.charges, f"an answer that nobody paid for: {entry}"
                self.answers[entry.charge] = entry
            self.head = entry

    def _check_sums(self) -> None:
        """Nobody has spent more than they may."""
        if self.head is None:
            return
        spent = sum(charge.price for charge in self.charges.values())
        assert spent <= self.head.cap, "more was spent than there is"
        assert spent == self.head.spent, "what was spent is not the sum of the charges"
        for name in self.names:
            own = [charge for charge in self.charges.values() if charge.who == name]
            if own:
                assert own[-1].share is not None
                assert sum(charge.price for charge in own) <= own[-1].share

    def _check_seen(self, pages: Pages, death: Death, frame: Frame) -> None:
        """Every byte that was seen is that of an answer on record, and paid for."""
        charge, answer = self.charges.get(frame.charge), self.answers.get(frame.charge)
        assert charge is not None, f"an answer without a charge was seen: {frame}"
        assert answer is not None, f"an answer was seen before it was kept: {frame}"
        assert charge.who == death.who
        body = pages.body(answer) or b""
        assert hashlib.sha256(body).hexdigest() == answer.body
        assert body == frame.body if frame.whole else body.startswith(frame.body)

    def _check_burnt(self, fresh: list[Entry], death: Death) -> int:
        """Return how many charges a worker has left without an answer: one at most.

        None of them is new if it took up one that was left before.
        """
        mine = [entry for entry in fresh if entry.kind == "charge" and entry.who == death.who]
        burnt = sum(charge.number not in self.answers for charge in mine)
        if death.point is None and death.killed:
            assert burnt <= 1, f"{burnt} charges without an answer"
        else:
            expected = int(death.killed and death.point in _BURNT)
            older = [c for c in self.charges.values() if c.who == death.who and c not in mine]
            left = any(charge.number not in self.answers for charge in older)
            may = left and not self.fresh and death.point is not Point.CHARGED
            taken_up = burnt == 0 and may
            assert burnt == expected or taken_up, f"{burnt} without an answer at {death.point}"
        half = bool(death.frames) and not death.frames[-1].whole
        assert death.point is None or half == (death.point is Point.HALF_SENT and death.killed)
        return burnt
