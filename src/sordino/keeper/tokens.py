# SPDX-License-Identifier: Apache-2.0
"""Tokens: what they look like, what each allows, and how much was spent with it.

A token is ``sd_``, 43 characters of base64url that stand for 32 random bytes, and 6 that check the
others, so that a slip of the pen is no question to the database. Kept is its SHA-256 alone: of 256
random bits nothing can be guessed, and so no slow hash is needed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from sordino.channel.calls import CALLS
from sordino.channel.messages import Role, Scope
from sordino.keeper.state import Row, State

_FORM = re.compile(r"sd_([A-Za-z0-9_-]{43})([A-Za-z0-9_-]{6})")
_BYTES = 32
_MINUTE = 60
LOGIN = "login"  # the note of a token that a password has given


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is kept; ``cap`` and ``spent`` are in nano-units of the budget's currency."""

    number: str
    who: str
    scopes: frozenset[Scope]
    made: int
    expires: int
    cap: int | None
    spent: int
    tables: tuple[str, ...] | None
    fresh: bool
    note: str
    used: int | None
    revoked: int | None

    @property
    def is_limited(self) -> bool:
        """Tell whether it allows less than its person may do."""
        return self.cap is not None or self.tables is not None or not self.fresh


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who is known by a token."""

    who: str
    roles: frozenset[Role]
    token: Token


def new_secret() -> str:
    """Return a new token.

    >>> len(new_secret()), is_token(new_secret())
    (52, True)
    """
    text = base64.urlsafe_b64encode(secrets.token_bytes(_BYTES)).rstrip(b"=").decode()
    return f"sd_{text}{_check(text)}"


def _check(text: str) -> str:
    digest = zlib.crc32(text.encode()).to_bytes(4, "big")
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def is_token(text: str) -> bool:
    """Tell whether a text has the form of a token."""
    found = _FORM.fullmatch(text)
    return found is not None and _check(found[1]) == found[2]


def hash_of(secret: str) -> str:
    """Return what is kept of a token."""
    return hashlib.sha256(secret.encode()).hexdigest()


def scopes_of(roles: Iterable[Role]) -> frozenset[Scope]:
    """Return all that tokens of somebody with these roles may be made for.

    >>> sorted(scopes_of(["approver"]))
    ['decide', 'price', 'rehearse']
    """
    held = frozenset(roles)
    return frozenset(
        call.scope for call in CALLS if call.scope and call.roles and call.roles & held
    )


class Tokens:
    """The tokens that there are."""

    def __init__(self, state: State) -> None:
        self._state = state

    def make(
        self,
        who: str,
        scopes: Iterable[Scope],
        *,
        seconds: int,
        cap: int | None = None,
        tables: Iterable[str] | None = None,
        fresh: bool = False,
        note: str = "",
        made_with: Token | None = None,
    ) -> tuple[str, Token]:
        """Make a token; its secret is returned and not kept.

        One that was made with another one ends with it: when it expires, or is revoked, also
        where that is while this one is made.
        """
        secret, now = new_secret(), self._state.now()
        expires = now + seconds
        if made_with is not None:
            expires = min(expires, made_with.expires)
        number = secrets.token_hex(8)
        listed = None if tables is None else json.dumps(sorted(set(tables)))
        self._state.add(
            "INSERT INTO tokens (id, secret, who, scopes, made, expires, cap, tables, fresh, note, "
            "made_with, revoked) VALUES "
            "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?11, (SELECT revoked FROM tokens WHERE id = ?11))",
            number,
            hash_of(secret),
            who,
            " ".join(sorted(set(scopes))),
            now,
            expires,
            cap,
            listed,
            int(fresh),
            note,
            None if made_with is None else made_with.number,
        )
        made = self.get(number)
        if made is None:
            raise LookupError(number)
        return secret, made

    def caller(self, secret: str | None) -> Caller | None:
        """Return whom a token belongs to, or None if it is not good now."""
        if secret is None or not is_token(secret):
            return None
        row = self._state.row(
            "SELECT tokens.*, people.roles FROM tokens JOIN people ON people.name = tokens.who "
            "WHERE secret = ? AND revoked IS NULL AND ended IS NULL AND expires > ?",
            hash_of(secret),
            self._state.now(),
        )
        if row is None:
            return None
        token = _token(row)
        minute = self._state.now() // _MINUTE * _MINUTE
        if token.used != minute:
            self._state.change("UPDATE tokens SET used = ? WHERE id = ?", minute, token.number)
        return Caller(token.who, frozenset(row["roles"].split()), token)

    def get(self, number: str) -> Token | None:
        """Return a token by its number, which is no secret."""
        row = self._state.row("SELECT * FROM tokens WHERE id = ?", number)
        return None if row is None else _token(row)

    def all(self, who: str | None = None) -> list[Token]:
        """Return all tokens, or those of one person, the newest last."""
        rows = self._state.rows(
            "SELECT * FROM tokens WHERE ?1 IS NULL OR who = ?1 ORDER BY made, id", who
        )
        return [_token(row) for row in rows]

    def made(self, who: str, since: int, *, by_login: bool) -> int:
        """Return how many tokens somebody has made since a time: by logging in, or with another."""
        sql = "SELECT count(*) AS many FROM tokens WHERE who = ? AND made > ? AND "
        sql += "(made_with IS NULL AND note = ?)" if by_login else "made_with IS NOT NULL"
        row = self._state.row(sql, who, since, *([LOGIN] if by_login else []))
        return 0 if row is None else int(row["many"])

    def revoke(self, number: str) -> int:
        """End a token and all that were made with it, or with those; no later request is known.

        Returns how many have ended.
        """
        return self._state.change(
            "UPDATE tokens SET revoked = ?1 WHERE revoked IS NULL AND id IN ("
            "WITH RECURSIVE ended(id) AS (SELECT ?2 UNION "
            "SELECT tokens.id FROM tokens JOIN ended ON tokens.made_with = ended.id) "
            "SELECT id FROM ended)",
            self._state.now(),
            number,
        )

    def reserve(self, token: Token, nanos: int) -> bool:
        """Count a price before it is charged; tell whether it fits into the cap of the token.

        A crash between the two makes the cap stricter, and never wider.
        """
        if token.cap is None:
            return True
        if nanos > token.cap:  # it may be larger than any number that the file can hold
            return False
        return bool(
            self._state.change(
                "UPDATE tokens SET spent = spent + ?1 WHERE id = ?2 AND spent + ?1 <= cap",
                nanos,
                token.number,
            )
        )

    def left(self, token: Token) -> int | None:
        """Return how much may be spent with a token now; None where it has no cap."""
        row = self._state.row("SELECT cap - spent AS nanos FROM tokens WHERE id = ?", token.number)
        return None if row is None or row["nanos"] is None else int(row["nanos"])

    def release(self, token: Token, nanos: int) -> None:
        """Take back what was counted for a charge that was not made."""
        if token.cap is not None:
            self._state.change(
                "UPDATE tokens SET spent = spent - ? WHERE id = ?", nanos, token.number
            )


def _token(row: Row) -> Token:
    return Token(
        number=row["id"],
        who=row["who"],
        scopes=frozenset(row["scopes"].split()),
        made=row["made"],
        expires=row["expires"],
        cap=row["cap"],
        spent=row["spent"],
        tables=None if row["tables"] is None else tuple(json.loads(row["tables"])),
        fresh=bool(row["fresh"]),
        note=row["note"],
        used=row["used"],
        revoked=row["revoked"],
    )
