# SPDX-License-Identifier: Apache-2.0
"""Frames of whoever sits in the gateway's place: true ones, and what can be made of them."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import Any, Final

import msgspec

from sordino.channel.calls import BY_NAME, CALLS
from sordino.channel.frames import HEADER, LARGEST_REQUEST, pack
from tests.keeper.attack.sites import Pass
from tests.keeper.attack.wires import asking

Fields = dict[str, Any]

_WORDS: Final = (
    *("", "data", "people", "people:1", "people:2", "people:9999999", "1", "0", "-1", "٣", "1e9"),
    *("NaN", "Infinity", "null", "owner", "ann", "olga", "SELECT", "'", '"', "\x00", "../../x"),
    *("json", "csv", "arrow", "record", "certificate", "text", "x" * 300, "9" * 400, "0.1"),
)
_SQL: Final = (
    "SELECT COUNT(*) FROM data",
    "SELECT SUM(amount) FROM data",
    "SELECT ward, SUM(amount) FROM data GROUP BY ward",
    "SELECT MAX(amount) FROM data",
    "SELECT amount FROM data",
    "SELECT * FROM data",
    "SELECT SUM(amount) FROM data WHERE person = 3",
    "SELECT name, COUNT(*) FROM data GROUP BY name",
    "SELECT AVG(amount) FROM data WHERE amount > 0",
    "SELECT COUNT(*) FROM data; SELECT 1",
    "SELECT * FROM read_csv('data.csv')",
    "SELECT COUNT(*) FROM duckdb_settings()",
)
_ENDS: Final = ("logout", "dismiss", "revoke")
_NUMBERS: Final = (0, -1, 1, 2**31, 2**63, 1e308, -0.0, 0.1, 10**9, 10**15, "0.001", "1e-9", True)


class Forge:
    """Makes frames out of true ones, with all credentials that were seen."""

    def __init__(self, passes: list[Pass], dice: random.Random) -> None:
        self.passes = passes
        self.dice = dice
        self.quotes: list[str] = ["x.y"]
        self.places: list[str] = ["people:2", "people:3"]

    def frame(self) -> bytes:
        """Return the bytes of one frame, most of them of the right form."""
        if self.dice.random() < 0.35:
            return self.purchase()
        fields = self.true()
        for _ in range(self.dice.choice((0, 0, 1, 1, 2, 4))):
            self.dice.choice(self._changes())(fields)
        body = msgspec.msgpack.encode(fields)
        chance = self.dice.random()
        if chance < 0.05:
            body = self._damaged(body)
        elif chance < 0.07:
            return HEADER.pack(self.dice.choice((0, LARGEST_REQUEST + 1, 2**32 - 1))) + body
        elif chance < 0.08:
            return self.dice.randbytes(self.dice.randrange(1, 300))
        return HEADER.pack(len(body)) + body

    def purchase(self) -> bytes:
        """Return a frame that spends, if anything is left."""
        by = self.dice.choice([one for one in self.passes if one.who == "ann"])
        question = {**self._question(), "sql": self.dice.choice(_SQL[:4]), "fresh": True}
        key = f"key-{self.dice.randrange(400)}"
        return pack(asking(by.secret, question, key))

    def true(self) -> Fields:
        """Return the fields of a request as a gateway could send it."""
        dice = self.dice
        call = BY_NAME[self._lasting(dice.choice(CALLS).name)]
        by = dice.choice(self.passes)
        path = {
            name: dice.choice(self.places if name == "answer" else _WORDS)
            for name in ("answer", "request", "name", "token")
            if "{" + name + "}" in call.path
        }
        query = {name: dice.choice(_WORDS) for name in call.query if dice.random() < 0.5}
        if call.name in ("ask", "answer", "rehearse"):
            query = {"format": dice.choice(("json", "csv", "arrow", "record", "text"))}
        return {
            "call": call.name,
            "number": "1",
            "credential": by.secret,
            "path": path,
            "query": query,
            "body": b"" if call.body is None else msgspec.json.encode(self._body(call.name)),
            "key": f"key-{dice.randrange(200)}" if dice.random() < 0.7 else None,
        }

    def _lasting(self, name: str) -> str:
        """Return a call which seldom ends a credential, or none would be good for long."""
        return "ask" if name in _ENDS and self.dice.random() < 0.98 else name

    def _question(self) -> Fields:
        dice = self.dice
        question: Fields = {"sql": dice.choice(_SQL)}
        question["epsilon"] = dice.choice(("0.001", "0.002", 0.001, "1e-6", 0.5))
        for name in ("diagnostics", "nonnegative", "integer", "consistent", "fresh"):
            if dice.random() < 0.2:
                question[name] = dice.random() < 0.5
        for name in ("rows", "groups", "rows_per_group", "confidence", "delta", "within", "rho"):
            if dice.random() < 0.05:
                question[name] = dice.choice(_NUMBERS)
        return question

    def _body(self, call: str) -> Fields:
        dice = self.dice
        question, word = self._question(), dice.choice(_WORDS)
        if call == "prices":
            return {"questions": [self._question() for _ in range(dice.randrange(1, 4))]}
        if call in ("ask", "rehearse") and dice.random() < 0.3:
            return {"quote": dice.choice(self.quotes)}
        bodies: dict[str, Fields] = {
            "ask": {"question": question},
            "rehearse": {"question": question},
            "petition": {"question": question, "comment": word},
            "vote": {"decision": dice.choice(("approve", "deny", "return"))},
            "person": {"name": dice.choice(("mallory", "ann", "")), "roles": ["analyst"]},
            "token": {"scopes": ["ask", "price"], "cap": dice.choice(_NUMBERS), "fresh": True},
            "login": {"name": dice.choice(("ann", "olga")), "password": "not the password"},
            "password": {"password": "a password of some length", "old": "x"},
            "swap": {"why": "a forged reason"},
        }
        return bodies.get(call, {"text": word})

    def _changes(self) -> tuple[Callable[[Fields], None], ...]:
        return (
            self._other_call,
            self._other_credential,
            self._other_body,
            self._other_entry,
            self._other_text,
            self._nested,
        )

    def _other_call(self, fields: Fields) -> None:
        names = [*(call.name for call in CALLS), "", "reply", "__init__"]
        fields["call"] = self._lasting(self.dice.choice(names))

    def _other_credential(self, fields: Fields) -> None:
        secret = self.dice.choice(self.passes).secret
        place = self.dice.randrange(len(secret))
        changed = secret[:place] + self.dice.choice("aZ-_.") + secret[place + 1 :]
        fields["credential"] = self.dice.choice((None, "", changed, "Bearer " + secret))

    def _other_body(self, fields: Fields) -> None:
        fields["body"] = self._damaged(fields["body"]) if fields["body"] else b"{}"

    def _other_entry(self, fields: Fields) -> None:
        name = self.dice.choice(("path", "query", "key", "seen", "tag", "address", "who", "number"))
        fields[name] = self.dice.choice(
            ({"answer": "people:2"}, {"format": "record"}, {}, *_WORDS, *_NUMBERS, None, b"\xff")
        )

    def _other_text(self, fields: Fields) -> None:
        body = fields["body"]
        if isinstance(body, bytes):
            old, new = self.dice.choice(_WORDS).encode(), self.dice.choice(_WORDS).encode()
            fields["body"] = body.replace(old or b'"', new, 1)

    def _nested(self, fields: Fields) -> None:
        fields["body"] = b"[" * self.dice.choice((10, 1_000, 60_000))

    def _damaged(self, body: bytes) -> bytes:
        changed = bytearray(body)
        for _ in range(self.dice.randrange(1, 4)):
            place = self.dice.randrange(len(changed))
            match self.dice.randrange(3):
                case 0:
                    changed[place] ^= 1 << self.dice.randrange(8)
                case 1:
                    del changed[place:]
                    changed += b"\x00"
                case _:
                    changed[place:place] = struct.pack(">I", self.dice.getrandbits(32))
        return bytes(changed)
