# SPDX-License-Identifier: Apache-2.0
"""A campaign of catalogs that are swapped while questions are asked.

Two catalogs take turns. They differ in the rows that they lead to and in how many rows of one
person count, so that an answer tells by its own record under which of them it was given, and by its
value whether that is true. The engine is a real one.
"""

from __future__ import annotations

import json
import select
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import msgspec

from sordino.answer.answer import from_bytes
from sordino.channel.frames import Reply, Request, pack
from sordino.ledger.entry import Entry
from sordino.ledger.opening import open_ledger
from sordino.ledger.verify import verify
from tests.keeper.attack.program import carry_out
from tests.keeper.attack.records import PEOPLE
from tests.keeper.attack.sites import Forked, Pass, Site
from tests.keeper.attack.wires import Wire, asking

_WIRES = 8
_PAUSE = 0.05  # seconds from one swap to the next
_ROWS = {1: 40, 2: 4_000}  # of the catalog in which so many rows of one person count
_FAR = 500  # no noise comes so far
_TEXT = """\
[budget]
epsilon = 1000000

[server]
slot = "off"
rate = 10000

[tables.data]
csv = "{file}"
unit = "person"
limits = {{ rows = {rows} }}

[tables.data.columns]
person = "integer"
ward = {{ type = "text", keys = ["north", "south"] }}
"""
_QUESTION: dict[str, object] = {"sql": "SELECT COUNT(*) FROM data", "epsilon": "1", "fresh": True}


def _text(rows: int) -> str:
    return _TEXT.format(file=f"rows{rows}.csv", rows=rows)


@dataclass
class Asking:
    """One connection, which asks one question after the other: with a quote every third time."""

    wire: Wire
    by: Pass
    number: int
    quoted: bool = False

    def send(self, count: int) -> None:
        """Ask for a price, or for an answer."""
        key = f"{self.number}-{count}"
        self.quoted = count % 3 == 2
        if self.quoted:
            body = msgspec.json.encode({"questions": [_QUESTION]})
            request = Request("prices", "1", self.by.secret, body=body)
        else:
            request = asking(self.by.secret, _QUESTION, key)
        self.wire.connection.sendall(pack(request))

    def buy(self, reply: Reply) -> None:
        """Ask for what was priced."""
        body = msgspec.json.encode({"quote": json.loads(reply.body)["prices"][0]["quote"]})
        query, key = {"format": "record"}, f"{self.number}-quote-{time.monotonic_ns()}"
        request = Request("ask", "1", self.by.secret, query=query, body=body, key=key)
        self.quoted = False
        self.wire.connection.sendall(pack(request))


class Swaps:
    """The owner, who swaps the catalog again and again."""

    def __init__(self, site: Site, by: Pass) -> None:
        self.wire, self.by = Wire(site.socket), by
        self.count, self.due, self.waits = 0, 0.0, False

    def look(self) -> None:
        """Begin another swap when the pause is over."""
        if self.waits or time.monotonic() < self.due:
            return
        body = msgspec.json.encode({"why": "another turn", "text": _text(1 + (self.count + 1) % 2)})
        self.wire.connection.sendall(pack(Request("swap", "1", self.by.secret, body=body)))
        self.waits = True

    def end(self) -> None:
        """Read that a swap was made."""
        reply = self.wire.hear()
        assert reply.status == 201, reply
        self.count, self.due, self.waits = self.count + 1, time.monotonic() + _PAUSE, False


def run(folder: Path, questions: int) -> dict[str, object]:
    """Ask so many questions while catalogs are swapped, and look at every answer."""
    site = Site(folder / "site", catalog_text=_text(1).replace("{", "{{").replace("}", "}}"))
    for rows, many in _ROWS.items():
        lines = (f"{n},{'north' if n % 2 else 'south'}\n" for n in range(many))
        (site.folder / f"rows{rows}.csv").write_text("person,ward\n" + "".join(lines))
    (ann,), (olga,) = site.admit("ann", ["analyst"], [None]), site.admit("olga", ["owner"], [None])
    keeper = Forked(site.serve_keeper)
    keeper.start()
    keeper.wait_ready()
    answers, statuses = _asked(site, ann, Swaps(site, olga), questions)
    keeper.end()
    book = open_ledger(site.catalog, site.catalog.book)
    verify(book)
    with book.store.read() as pages:
        entries = list(pages.entries(PEOPLE))
    book.close()
    return {**_judged(answers, entries), "statuses": statuses}


def _asked(site: Site, by: Pass, swaps: Swaps, questions: int) -> tuple[list[bytes], Counter[str]]:
    answers: list[bytes] = []
    statuses: Counter[str] = Counter()
    asking_ = {}
    for number in range(_WIRES):
        one = Asking(Wire(site.socket), by, number)
        asking_[one.wire.connection] = one
    count = 0
    for one in asking_.values():
        one.send(count := count + 1)
    while asking_:
        swaps.look()
        ready, _, _ = select.select([*asking_, swaps.wire.connection], [], [], _PAUSE)
        for connection in ready:
            if connection is swaps.wire.connection:
                swaps.end()
                continue
            one = asking_[connection]
            reply = one.wire.hear()
            statuses[f"{'price' if one.quoted else 'answer'} {reply.status}"] += 1
            if one.quoted:
                assert reply.status == 200, reply
                one.buy(reply)
                continue
            assert reply.status in (200, 412), reply
            if reply.status == 200:
                answers.append(reply.body)
            if count < questions:
                one.send(count := count + 1)
            else:
                del asking_[connection]
    statuses["swaps"] = swaps.count
    return answers, statuses


def _judged(answers: list[bytes], entries: list[Entry]) -> dict[str, object]:
    """Hold every answer to the catalog that its own record names."""
    charges = {entry.number: entry for entry in entries if entry.kind == "charge"}
    kept = Counter(entry.charge for entry in entries if entry.kind == "answer")
    named: dict[int, set[tuple[str, str]]] = defaultdict(set)
    given: Counter[int] = Counter()
    for body in answers:
        answer = from_bytes(body)
        rows = answer.facts["limits"]["rows"] or 1
        charge = charges[answer.charge.number]
        assert kept[charge.number] == 1, f"{kept[charge.number]} answers to {charge}"
        named[rows].add((charge.plan, charge.data))
        (value,) = answer.to_arrow().column(0).to_pylist()
        assert abs(value - _ROWS[rows]) < _FAR, f"{value} under the catalog with {rows} rows"
        given[rows] += 1
    assert len(set(answers)) == len(answers), "an answer was given twice"
    for rows, identities in named.items():
        assert len(identities) == 1, f"several plans or versions of rows with {rows}: {identities}"
    assert len({next(iter(one)) for one in named.values()}) == len(named), "one plan for both"
    assert set(charges) == set(kept), "a charge has no answer"
    return {"answers": len(answers), "of each": given}


if __name__ == "__main__":
    carry_out(run, json.loads(sys.argv[1]))
