# SPDX-License-Identifier: Apache-2.0
"""Calls about people, their passwords and their tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import ceil
from typing import Any

from sordino.catalog.model import Catalog
from sordino.channel import messages
from sordino.channel.frames import Reply
from sordino.channel.messages import Role
from sordino.keeper.passwords import hash_password, is_password
from sordino.keeper.problems import Refusal, arguments, forbidden, not_there, too_many, wrong_body
from sordino.keeper.replies import as_json, nothing
from sordino.keeper.state import Row, State
from sordino.keeper.tokens import LOGIN, Caller, Token, scopes_of
from sordino.keeper.visit import Desk, Visit
from sordino.ledger.ledger import check_name
from sordino.numbers.rational import Number, decimal_of, positive
from sordino.session.service import check_who

DAY = 24 * 3600
SECONDS_OF_LOGIN = 12 * 3600
_TOKENS_A_DAY, _LOGINS_A_DAY, _PASSWORDS_A_DAY = 200, 1_000, 100  # of one person
_NANO = 10**9
_LARGEST_CAP = 2**63 - 1  # nano-units; what the file can hold


class People:
    """Who may use the server."""

    def __init__(self, state: State) -> None:
        self._state = state

    def put(
        self, name: str, roles: Iterable[Role], *, by: str, password: str | None = None
    ) -> None:
        """Add somebody, or change their roles; who was dismissed may come back so.

        Refusal where the last owner would be one no more.
        """
        with arguments():
            check_who(check_name(name))
        listed = " ".join(sorted(set(roles)))
        kept = None if password is None else hash_password(password)
        with self._state.writing(), self._keeping_an_owner():
            self._state.change(
                "INSERT INTO people (name, roles, password, made) VALUES (?1, ?2, ?3, ?4) "
                "ON CONFLICT (name) DO UPDATE SET roles = ?2, ended = NULL, "
                "password = coalesce(?3, password)",
                name,
                listed,
                kept,
                self._state.now(),
            )
            self._state.note(by, "person", f"{name}: {listed}")

    def get(self, name: str) -> Row | None:
        """Return somebody who may use the server now."""
        return self._state.row("SELECT * FROM people WHERE name = ? AND ended IS NULL", name)

    def all(self) -> list[Row]:
        """Return all who ever might use the server."""
        return self._state.rows("SELECT * FROM people ORDER BY name")

    def end(self, name: str, *, by: str) -> None:
        """Let somebody use the server no more, and end their tokens.

        Refusal where that is the last owner.
        """
        with self._state.writing(), self._keeping_an_owner():
            now = self._state.now()
            self._state.change(
                "UPDATE people SET ended = ?, password = NULL WHERE name = ?", now, name
            )
            self._state.change(
                "UPDATE tokens SET revoked = ? WHERE who = ? AND revoked IS NULL", now, name
            )
            self._state.note(by, "dismiss", name)

    @contextmanager
    def _keeping_an_owner(self) -> Iterator[None]:
        """Let a transaction under way leave an owner, where there was one; else it is undone.

        Outside of it two owners could end each other: each would still see the other.
        """
        had_one = self._has_owner()
        yield
        if had_one and not self._has_owner():
            raise Refusal(
                "last_owner", 409, "there would be no owner left; make somebody else one first"
            )

    def _has_owner(self) -> bool:
        return any(
            "owner" in row["roles"].split()
            for row in self._state.rows("SELECT roles FROM people WHERE ended IS NULL")
        )

    def set_password(self, name: str, password: str, *, by: str) -> None:
        """Set a password."""
        kept = hash_password(password)
        with self._state.writing():
            self._state.change("UPDATE people SET password = ? WHERE name = ?", kept, name)
            self._state.note(by, "password", name)


def people(visit: Visit) -> Reply:
    """Return who may use the server."""
    return as_json({"people": [_person(row) for row in visit.keeper.people.all()]})


def _person(row: Row) -> dict[str, Any]:
    return {
        "name": row["name"],
        "roles": row["roles"].split(),
        "has_password": row["password"] is not None,
        "made": row["made"],
        "ended": row["ended"],
    }


def person(visit: Visit) -> Reply:
    """Add somebody, or change their roles."""
    body = visit.read(messages.Person)
    visit.keeper.people.put(body.name, body.roles, by=visit.by.who, password=body.password)
    row = visit.keeper.people.get(body.name)
    return as_json(None if row is None else _person(row), 201)


def dismiss(visit: Visit) -> Reply:
    """Let somebody use the server no more."""
    name = visit.request.path.get("name", "")
    if visit.keeper.people.get(name) is None:
        raise _nobody(name)
    visit.keeper.people.end(name, by=visit.by.who)
    return as_json({"name": name})


def _nobody(name: str) -> Refusal:
    """Say to an owner, who may see who there is, that there is nobody of a name."""
    return Refusal("not_there", 404, f"there is nobody called {name!r} here")


def password(visit: Visit) -> Reply:
    """Set a password: one's own, or, for the owner, anybody's."""
    body, name = visit.read(messages.NewPassword), visit.request.path.get("name", "")
    row = visit.keeper.people.get(name)
    if name == visit.by.who and row is not None:
        if not _is_whole(visit.by):
            raise forbidden()
        kept = row["password"]
        if kept is not None:
            _guess(visit, name)
            if not is_password(kept, body.old or ""):
                raise Refusal("login_refused", 403, "the old password is another one")
            visit.keeper.guesses.was_right(name, visit.request.address)
        if not _is_owner(visit.by):
            _check_changes(visit, name)
    elif not _is_owner(visit.by) or row is None:
        raise not_there()
    visit.keeper.people.set_password(name, body.password, by=visit.by.who)
    return nothing()


def _check_changes(visit: Visit, who: str) -> None:
    """Refuse one more password to somebody who has set many within a day: each is on record."""
    now = visit.keeper.state.now()
    first = visit.keeper.state.row(
        "SELECT at FROM journal WHERE by = ? AND what = 'password' AND at > ? "
        "ORDER BY number DESC LIMIT 1 OFFSET ?",
        who,
        now - DAY,
        _PASSWORDS_A_DAY - 1,
    )
    if first is not None:
        raise too_many(
            f"you have set {_PASSWORDS_A_DAY} passwords within a day, and may set no more",
            first["at"] + DAY - now,
        )


def _is_owner(caller: Caller) -> bool:
    return "owner" in caller.roles and "own" in caller.token.scopes


def _is_whole(caller: Caller) -> bool:
    """Tell whether a token allows all that its person may do."""
    return not caller.token.is_limited and scopes_of(caller.roles) <= caller.token.scopes


def tokens(visit: Visit) -> Reply:
    """Return tokens: one's own, or, for the owner, all.

    One for some tables is told of itself alone, for others may name tables that it does not know.
    """
    own, is_owner = visit.by.token, _is_owner(visit.by)
    listed = visit.keeper.tokens.all(None if is_owner else visit.by.who)
    if own.tables is not None and not is_owner:
        listed = [one for one in listed if one.number == own.number]
    return as_json({"tokens": [token_to_json(one) for one in listed]})


def token_to_json(token: Token) -> dict[str, Any]:
    """Return what is told of a token; never its secret."""
    return {
        "id": token.number,
        "who": token.who,
        "scopes": sorted(token.scopes),
        "made": token.made,
        "expires": token.expires,
        "cap_nanos": token.cap,
        "spent_nanos": token.spent,
        "tables": token.tables,
        "fresh": token.fresh,
        "note": token.note,
        "used": token.used,
        "revoked": token.revoked,
    }


def token(visit: Visit) -> Reply:
    """Make a token; its secret is shown here and never again."""
    body, caller = visit.read(messages.NewToken), visit.by
    who = body.name or caller.who
    row = visit.keeper.people.get(who)
    if not _is_owner(caller) and (who != caller.who or not _may_make(caller, body)):
        raise forbidden()
    if row is None:
        raise _nobody(who)
    most = scopes_of(row["roles"].split())
    if not _is_owner(caller):
        most &= caller.token.scopes
    scopes = most if body.scopes is None else frozenset(body.scopes)
    if not scopes <= most:
        raise forbidden()
    _check_tables(visit.generation.catalog, body.tables)
    if not _is_owner(caller):
        _check_many(visit, who, by_login=False)
    secret, made = visit.keeper.tokens.make(
        who,
        scopes,
        seconds=body.days * DAY,
        made_with=None if _is_owner(caller) else caller.token,
        cap=None if body.cap is None else cap_of(visit.generation.catalog, body.cap),
        tables=body.tables,
        fresh=body.fresh,
        note=body.note,
    )
    visit.keeper.state.note(caller.who, "token", f"{made.number} for {who}")
    return as_json({**token_to_json(made), "secret": secret}, 201)


def _check_many(visit: Visit, who: str, *, by_login: bool) -> None:
    """Refuse one more token to somebody who has made many within a day, and could fill the disk."""
    most = _LOGINS_A_DAY if by_login else _TOKENS_A_DAY
    since = visit.keeper.state.now() - DAY
    if visit.keeper.tokens.made(who, since, by_login=by_login) >= most:
        raise too_many(f"you have made {most:,} tokens within a day; use one of them", 3600)


def _may_make(caller: Caller, body: messages.NewToken) -> bool:
    """Tell whether a token may make another one, which must not allow more than it does."""
    own = caller.token
    return own.cap is None and own.tables is None and (own.fresh or not body.fresh)


def _check_tables(catalog: Catalog, names: Iterable[str] | None) -> None:
    for name in names or ():
        if catalog.table(name) is None:
            raise wrong_body(f"there is no table {name!r}")


def cap_of(catalog: Catalog, cap: Number | str) -> int:
    """Return the cap of a token in nano-units, rounded down."""
    kinds = {purse.budget.currency for _, purse in catalog.purses}
    if len(kinds) > 1:
        raise wrong_body(
            "the budgets count in several currencies, so that a cap would mean nothing"
        )
    with arguments():
        stated = decimal_of("cap", cap) if isinstance(cap, str) else cap
        nanos = int(positive("cap", stated) * _NANO)
    if nanos > _LARGEST_CAP:
        raise wrong_body("a cap so large is none; make the token without one")
    return nanos


def revoke(visit: Visit) -> Reply:
    """End a token and what it has made: one's own, or, for the owner, anybody's."""
    held = visit.keeper.tokens.get(visit.request.path.get("token", ""))
    if held is None or (held.who != visit.by.who and not _is_owner(visit.by)):
        raise not_there()
    if visit.keeper.tokens.revoke(held.number):
        visit.keeper.state.note(visit.by.who, "revoke", f"{held.number} of {held.who}")
    return nothing()


def login(visit: Visit) -> Reply:
    """Return a token of some hours for a name and a password."""
    with visit.keeper.logins.one_more() as joins:
        if not joins:
            raise Refusal(
                "busy",
                503,
                "too many passwords are being looked at; try again in a moment",
                headers={"Retry-After": "1"},
            )
        return _logged_in(visit, visit.read(messages.Login))


def _logged_in(visit: Visit, body: messages.Login) -> Reply:
    _guess(visit, body.name)
    row = visit.keeper.people.get(body.name)
    if not is_password(None if row is None else row["password"], body.password) or row is None:
        raise Refusal("login_refused", 401, "this name and this password do not belong together")
    visit.keeper.guesses.was_right(body.name, visit.request.address)
    _check_many(visit, row["name"], by_login=True)
    secret, made = visit.keeper.tokens.make(
        row["name"],
        scopes_of(row["roles"].split()),
        seconds=SECONDS_OF_LOGIN,
        fresh=True,
        note=LOGIN,
    )
    return as_json({**token_to_json(made), "secret": secret}, 201)


def _guess(visit: Visit, name: str) -> None:
    """Refuse another guess at a password after too many wrong ones."""
    wait = visit.keeper.guesses.wait(name, visit.request.address)
    if wait:
        raise Refusal(
            "too_fast",
            429,
            "too many wrong passwords; wait before the next one",
            headers={"Retry-After": str(ceil(wait))},
        )


def logout(visit: Visit) -> Reply:
    """End the token that is used."""
    visit.keeper.tokens.revoke(visit.by.token.number)
    return nothing()


DESK: Desk = {
    "people": people,
    "person": person,
    "dismiss": dismiss,
    "password": password,
    "tokens": tokens,
    "token": token,
    "revoke": revoke,
    "login": login,
    "logout": logout,
}
