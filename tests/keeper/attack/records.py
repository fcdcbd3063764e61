# SPDX-License-Identifier: Apache-2.0
"""What must hold of a ledger after kills, worked out from its entries and from what clients hold.

The ledger's own sums are compared with those that are made here, and are not believed.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from sordino.ledger.entry import Entry
from sordino.ledger.ledger import Ledger
from sordino.ledger.opening import open_ledger
from sordino.ledger.verify import verify
from tests.keeper.attack.load import Heard, Job
from tests.keeper.attack.sites import Pass, Site

PEOPLE = "people"


@dataclass(frozen=True)
class Handed:
    """An answer that a client holds: its digest, and the job that it was the answer to."""

    job: Job
    digest: str


@dataclass
class Records:
    """What is known of one site: its entries so far, and what was handed out."""

    site: Site
    seen: Counter[str] = field(default_factory=Counter)
    head: Entry | None = None
    charges: dict[int, Entry] = field(default_factory=dict)
    answers: dict[int, Entry] = field(default_factory=dict)  # by the number of the charge
    paid: dict[tuple[str, str], int] = field(default_factory=dict)  # charges by analyst and key
    spenders: dict[tuple[str, str], Pass] = field(default_factory=dict)
    _by_digest: dict[str, Entry] = field(default_factory=dict)
    _by_key: dict[tuple[str, str], str] = field(default_factory=dict)
    _plans: dict[bytes, str] = field(default_factory=dict)  # of each question that was answered
    _unchecked: list[Handed] = field(default_factory=list)

    def sends(self, job: Job) -> None:
        """Note which token pays, if a job with a key is charged."""
        if job.key is not None:
            self.spenders[job.by.who, _why(job.key)] = job.by

    def hears(self, heard: Heard) -> None:
        """Note an answer that was handed out.

        A key has one answer for ever where noise is to be fresh; else a key that has paid for
        nothing is answered by the newest answer to its question.
        """
        job, digest = heard.job, hashlib.sha256(heard.body).hexdigest()
        self.seen["handed out"] += 1
        self.seen["handed out after a repetition"] += job.sent > 1
        if job.fresh and job.key is not None:
            first = self._by_key.setdefault((job.by.who, job.key), digest)
            assert digest == first, f"two answers for the key {job.key}"
        self._unchecked.append(Handed(job, digest))

    def check(self, *, whole: bool = False) -> None:
        """Hold the ledger to everything; ``whole`` computes all of its hashes, too."""
        if not self.site.catalog.book or not self.site.catalog.book.place.exists():  # type: ignore[union-attr]
            assert not self._unchecked, "answers were handed out, and there is no ledger"
            assert self.head is None, "there was a ledger"
            self.seen["no ledger yet"] += 1
            return
        book = open_ledger(self.site.catalog, self.site.catalog.book)
        try:
            if whole:
                verify(book)
                self.seen["verified"] += 1
            self._grow(book)
        finally:
            book.close()
        self._check_sums()
        for handed in self._unchecked:
            self._check_handed(handed)
        self._unchecked.clear()

    @property
    def unanswered(self) -> list[int]:
        """Return the numbers of charges without an answer."""
        return sorted(self.charges.keys() - self.answers.keys())

    def _grow(self, book: Ledger) -> None:
        """Add the new entries; none of the old ones may be missing or changed."""
        with book.store.read() as pages:
            if self.head is None:
                fresh = list(pages.entries(PEOPLE)) if PEOPLE in pages.spaces() else []
            else:
                fresh = list(pages.entries(PEOPLE, self.head.number))
                assert fresh[:1] == [self.head], f"the chain has shrunk: {self.head} is missing"
                del fresh[0]
        for entry in fresh:
            self.head = entry
            if entry.kind == "charge":
                self._add_charge(entry)
            elif entry.kind == "answer":
                assert entry.charge not in self.answers, f"a second answer: {entry}"
                assert entry.charge in self.charges, f"an answer that nobody paid for: {entry}"
                assert entry.body not in self._by_digest, f"one answer for two charges: {entry}"
                self.answers[entry.charge] = self._by_digest[entry.body] = entry
        self.seen["charges"] = len(self.charges)

    def _add_charge(self, entry: Entry) -> None:
        self.charges[entry.number] = entry
        if entry.why:
            paid = entry.who, entry.why
            assert paid not in self.paid, f"a key was charged twice: {entry}"
            assert paid in self.spenders, f"a key that nobody has sent: {entry}"
            self.paid[paid] = entry.number

    def _check_sums(self) -> None:
        """Neither the budget nor any token has spent more than it may."""
        spent = sum(charge.price for charge in self.charges.values())
        if self.head is not None:
            assert spent <= self.head.cap, "more was spent than there is"
            assert spent == self.head.spent, "what was spent is not the sum of the charges"
        for by, nanos in self.spent_by_token().items():
            assert by.cap is None or nanos <= by.cap, f"a token of {by.who} has spent {nanos}"

    def spent_by_token(self) -> dict[Pass, int]:
        """Return what each token has been charged for, as far as keys tell."""
        sums: dict[Pass, int] = defaultdict(int)
        for paid, number in self.paid.items():
            sums[self.spenders[paid]] += self.charges[number].price
        return sums

    def _check_handed(self, handed: Handed) -> None:
        """What a client holds is on record, and paid for by the client's own charge."""
        job, answer = handed.job, self._by_digest.get(handed.digest)
        assert answer is not None, f"an answer was seen that is not on record: {job}"
        charge = self.charges[answer.charge]
        assert charge.who == job.by.who, f"an answer of {charge.who} was handed to {job.by.who}"
        question = job.body.replace(b'"fresh":true', b'"fresh":false')
        assert self._plans.setdefault(question, charge.plan) == charge.plan, "another question's"
        if job.fresh and job.key is not None:
            assert charge.why == _why(job.key), f"{job.key} was answered by {charge.why}"


def _why(key: str) -> str:
    return f"key {hashlib.sha256(key.encode()).hexdigest()}"
