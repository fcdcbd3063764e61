# SPDX-License-Identifier: Apache-2.0
"""A campaign of whoever has taken the gateway over: any frames, with all credentials it has seen.

Numbers and texts are planted in the rows that cannot come about by noise, so that a value which is
exact, or of one row, would be recognized in any byte that the keeper says, in whichever form.
"""

from __future__ import annotations

import json
import random
import socket
import struct
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from itertools import count
from pathlib import Path

import msgspec
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sordino.channel.frames import HEADER, BrokenFrame, Reply, Request, pack
from sordino.ledger.opening import open_ledger
from sordino.ledger.verify import verify
from tests.keeper.attack.frames import Forge
from tests.keeper.attack.program import carry_out
from tests.keeper.attack.records import PEOPLE
from tests.keeper.attack.sites import Forked, Pass, Site
from tests.keeper.attack.wires import Wire

_CAP, _NANOS, _TOKEN_CAP = "0.1", 100_000_000, 10_000_000
_THREADS, _HELD, _IDLE = 6, 150, 1_000
_AMOUNTS = [7_318_264_509 + 104_729_331 * n for n in range(12)]  # no two sums of them are alike
_SPENT = (b'"budget_exceeded"', b'"token_spent"')
_NAME = "Zephyrine-Quillfeather"
_TABLE = """
[tables.data.columns]
person = "integer"
name = "text"
ward = {{ type = "text", keys = ["north", "south"] }}
amount = {{ type = "integer", bounds = [0, 100000000000] }}
"""


def planted() -> tuple[str, list[bytes]]:
    """Return the rows as CSV, and all byte strings that nobody may ever see."""
    rows = [
        (n, f"{_NAME}-{n}", "north" if n % 2 else "south", amount)
        for n, amount in enumerate(_AMOUNTS)
    ]
    csv = "person,name,ward,amount\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    sums = {sum(_AMOUNTS), sum(_AMOUNTS[::2]), sum(_AMOUNTS[1::2]), *_AMOUNTS}
    sums |= {one << 16 for one in sums}  # as exact integers are scaled
    forms: list[bytes] = [_NAME.encode()]
    for number in sums:
        forms += [str(number).encode(), f"{number:,}".encode(), f"{number:x}".encode()]
        forms += [struct.pack(order + kind, number) for order in "<>" for kind in ("q", "d")]
    return csv, forms


class Takeover:
    """The attack, from several connections at once, for so long."""

    def __init__(self, site: Site, passes: list[Pass], seconds: float, seed: int) -> None:
        self.site, self.passes, self.seconds, self.seed = site, passes, seconds, seed
        self.end = time.monotonic() + seconds
        self.forms = planted()[1]
        self.seen: Counter[str] = Counter()
        self.failures: list[str] = []
        self._turn = threading.Lock()

    def run(self) -> None:
        """Attack, and raise what has gone wrong."""
        parts = [*(lambda n=n: self.forge(n) for n in range(_THREADS)), self.guess, self.dawdle]
        threads = [threading.Thread(target=self._run, args=(part,)) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not self.failures, self.failures[:3]

    def _run(self, part: object) -> None:
        try:
            part()  # type: ignore[operator]
        except BaseException as error:
            with self._turn:
                self.failures.append(f"{type(error).__name__}: {error}")
            raise

    def goes_on(self) -> bool:
        """Tell whether there is time left; on a slow machine it lasts until a cap was met."""
        return time.monotonic() < self.end or not self.seen["refused for a cap"]

    def look(self, reply: Reply) -> None:
        """Look for what must not be seen, in all that was said."""
        said = b"\n".join(
            [reply.body, reply.media.encode(), json.dumps(reply.headers).encode()]
        )  # fmt: skip
        for form in self.forms:
            assert form not in said, f"an exact value was seen: {form!r} in {said!r}"
        with self._turn:
            self.seen[f"status {reply.status}"] += 1
            self.seen["refused for a cap"] += any(word in reply.body for word in _SPENT)

    def forge(self, number: int) -> None:
        """Send forged frames, and connect again whenever one was broken."""
        forge = Forge(self.passes, random.Random(self.seed + number))  # noqa: S311 - no secret
        while self.goes_on():
            with suppress(ConnectionError, BrokenFrame), self._wire() as wire:
                while self.goes_on():
                    wire.connection.sendall(forge.frame())
                    reply = wire.hear()
                    self.look(reply)
                    self._learn(forge, reply)
            self.seen["connections"] += 1

    def _wire(self) -> Wire:
        return Wire(self.site.socket)

    def _learn(self, forge: Forge, reply: Reply) -> None:
        """Keep quotes, places and tokens that were told, to use them again."""
        if reply.status in (200, 201) and reply.media == "application/json":
            told = json.loads(reply.body)
            for price in told.get("prices", []):
                if "quote" in price and len(forge.quotes) < 50:
                    forge.quotes.append(price["quote"])
            if "secret" in told and len(forge.passes) < 50:
                forge.passes.append(Pass(told["who"], told["secret"], told["cap_nanos"]))
            if "place" in told and len(forge.places) < 50:
                forge.places.append(told["place"])

    def guess(self) -> None:
        """Send what hypothesis makes up: any bytes, and any messages."""
        made = st.recursive(
            st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats()
            | st.text(max_size=30) | st.binary(max_size=60),
            lambda inner: st.lists(inner, max_size=5)
            | st.dictionaries(st.text(max_size=12), inner, max_size=5),
            max_leaves=12,
        )  # fmt: skip
        texts = st.dictionaries(st.text(max_size=9), st.text(max_size=20), max_size=3)
        requests = st.builds(
            Request,
            call=st.sampled_from(("ask", "answer", "prices", "budget", "history", "ledger", "me")),
            number=st.text(max_size=5),
            credential=st.sampled_from([one.secret for one in self.passes]) | st.text(max_size=60),
            path=texts,
            query=texts,
            body=st.binary(max_size=300),
            key=st.none() | st.text(max_size=30),
            seen=st.none() | st.text(max_size=30),
            tag=st.none() | st.text(max_size=30),
            address=st.text(max_size=20),
        )
        frame = requests.map(pack) | made.map(msgspec.msgpack.encode).map(
            lambda body: HEADER.pack(len(body)) + body
        )

        @settings(
            max_examples=150,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(frame | st.binary(min_size=5, max_size=200))
        def send(frame: bytes) -> None:
            self.seen["made up"] += 1
            with suppress(ConnectionError, BrokenFrame), self._wire() as wire:
                wire.connection.sendall(frame)
                wire.connection.shutdown(socket.SHUT_WR)  # or it would wait for what was announced
                self.look(wire.hear())
                self.seen["made up, and replied to"] += 1

        while time.monotonic() < self.end:
            send()

    def dawdle(self) -> None:
        """Hold many connections open, with halves of frames, and frames that are slow."""
        held: list[socket.socket] = []
        frame = pack(Request("me", "1", self.passes[0].secret))
        try:
            for number in count():
                if time.monotonic() >= self.end:
                    break
                with suppress(OSError):
                    one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                    held.append(one)
                    one.connect(str(self.site.socket))
                    one.sendall(frame[: number % len(frame)])
                self.seen["held"] += 1
                if len(held) >= _HELD:
                    time.sleep(0.1)
                    for other in held:
                        with suppress(OSError):
                            other.sendall(b"\x00")  # one byte more of a frame that is slow
                    for other in held[: _HELD // 2]:
                        other.close()
                    del held[: _HELD // 2]
        finally:
            for one in held:
                one.close()


def _idle(site: Site, by: Pass) -> int:
    """Open a thousand connections that say nothing; others are served meanwhile and later."""
    with Wire(site.socket) as early:
        idle = []
        for _ in range(_IDLE):
            one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            one.connect(str(site.socket))
            idle.append(one)
        assert early.ask(Request("me", "1", by.secret)).status == 200
        for one in idle:
            one.close()
    _check_alive(site, by)
    return len(idle)


def _check_alive(site: Site, by: Pass) -> None:
    """The keeper takes new connections, perhaps a moment after it was flooded."""
    end = time.monotonic() + 30
    while True:
        with suppress(ConnectionError), Wire(site.socket) as wire:
            assert wire.ask(Request("ready", "1")).status == 200
            assert wire.ask(Request("me", "1", by.secret)).status == 200
            return
        assert time.monotonic() < end, "the keeper takes no connections any more"
        time.sleep(0.05)


def attack(folder: Path, seconds: float, seed: int) -> dict[str, object]:
    """Attack a keeper with a real engine, and look at it and its ledger afterwards."""
    csv, forms = planted()
    text = Site.catalog_text.partition("\n[tables.data.columns]")[0] + _TABLE
    site = Site(folder / "site", cap=_CAP, catalog_text=text, csv=csv)
    passes = site.admit("ann", ["analyst"], [None, *[_TOKEN_CAP] * 5])
    for who, role in (("paul", "approver"), ("alma", "auditor"), ("otto", "operator")):
        passes += site.admit(who, [role], [None])  # type: ignore[list-item]
    passes += site.admit("olga", ["owner"], [None, None, None])
    (watching,) = site.admit("wanda", ["operator"], [None])  # whose token no gateway has seen
    keeper = Forked(site.serve_keeper)
    keeper.start()
    keeper.wait_ready()
    capped = {one.secret: one.cap for one in passes if one.cap is not None}
    takeover = Takeover(site, list(passes), seconds, seed)
    takeover.run()
    idle = _idle(site, watching)
    threads = len(list(Path(f"/proc/{keeper.child}/task").iterdir()))
    keeper.end()
    state = site.opened_state()
    spent = state.rows("SELECT cap, spent FROM tokens WHERE cap IS NOT NULL")
    state.check_journal()
    state.close()
    assert len(spent) >= len(capped)
    assert all(row["spent"] <= row["cap"] for row in spent)
    book = open_ledger(site.catalog, site.catalog.book)
    verify(book)
    with book.store.read() as pages:
        charges = [entry for entry in pages.entries(PEOPLE) if entry.kind == "charge"]
        caps = {entry.cap for entry in pages.entries(PEOPLE)}
    book.close()
    assert caps == {_NANOS}, caps
    assert sum(charge.price for charge in charges) <= _NANOS
    assert charges, "nothing was ever answered, so that nothing was tried"
    log = site.log.read_bytes()
    assert not [form for form in forms if form in log], "the log has an exact value"
    assert b"could not be done" not in log, log
    figures = {**takeover.seen, "charges": len(charges), "idle": idle, "threads left": threads}
    return {**figures, "keeper, s": keeper.seconds, "log lines": len(log.splitlines())}


if __name__ == "__main__":
    carry_out(attack, json.loads(sys.argv[1]))
