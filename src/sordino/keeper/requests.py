# SPDX-License-Identifier: Apache-2.0
"""Requests: a dear question is decided by others, on question, price and expected error alone.

It is decided before the run, and nobody decides their own. Where two must approve, neither sees
what the other one has decided before both have. Every step is one of the journal.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from sordino.channel import messages
from sordino.channel.frames import Reply
from sordino.channel.messages import Decision
from sordino.errors import BudgetExceeded
from sordino.keeper.problems import Refusal, forbidden, not_there, too_many
from sordino.keeper.reading import may_know
from sordino.keeper.replies import as_json
from sordino.keeper.state import Row, State
from sordino.keeper.visit import Desk, Visit
from sordino.privacy.currency import Price
from sordino.query.tree import tables_in

if TYPE_CHECKING:
    from sordino.keeper.asking import Priced

SECONDS = 14 * 24 * 3600
_DAY = 24 * 3600
_MOST_A_DAY = 200  # of one person, so that nobody fills the disk, or the list of who decides
_OPEN = "('sent', 'voted')"
_LIVING = "('sent', 'voted', 'approved')"
_STATES = (
    *("sent", "voted", "approved", "denied", "returned", "withdrawn", "expired", "answered"),
)
_NANO = 10**9
_MOST = 200  # requests in one reply; each has its question and what was explained of it
_TABLES = "tables"  # the entry of what is kept of an explanation that has the tables of a question


def is_dear(visit: Visit, priced: Priced) -> bool:
    """Tell whether a question costs more than may be asked without approval."""
    most = visit.generation.catalog.serving.approve_above
    return most is not None and priced.price > most * _NANO


def check_room(visit: Visit, priced: Priced) -> None:
    """Refuse a price that no budget has room for: whoever approves it could change nothing."""
    people = priced.plan.people
    budget = visit.generation.catalog.purse(people).budget
    if priced.price > budget.cap.nanos:
        left = next(one.left for one in visit.session.budget if one.people == people)
        hint = budget.currency.what_fits(left.nanos)
        raise BudgetExceeded(str(Price(budget.currency, priced.price)), str(left), hint)


class Requests:
    """The requests that there are."""

    def __init__(self, state: State) -> None:
        self._state = state

    def send(
        self, visit: Visit, priced: Priced, explanation: dict[str, Any], comment: str = ""
    ) -> Row:
        """Return the request for a question that waits already, or a new one."""
        with self._state.writing():
            self._expire()
            row = self._state.row(
                f"SELECT * FROM requests WHERE who = ? AND asked = ? AND state IN {_OPEN} "  # noqa: S608 - a constant
                "AND price >= ? AND delta >= ?",
                visit.by.who,
                priced.asked,
                priced.price,
                priced.delta,
            )
            if row is not None:
                return self._commented(row, comment)
            self._check_many(visit.by.who)
            number = self._state.add(
                "INSERT INTO requests (who, ask, asked, people, price, delta, explanation, "
                "comment, generation, approvers, state, at, expires) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'sent', ?, ?)",
                visit.by.who,
                msgspec.json.encode(priced.question).decode(),
                priced.asked,
                priced.plan.people,
                priced.price,
                priced.delta,
                json.dumps({**explanation, _TABLES: sorted(tables_in(priced.plan.query.rows))}),
                comment,
                visit.generation.name,
                visit.generation.catalog.serving.approvers,
                self._state.now(),
                self._state.now() + SECONDS,
            )
            self._state.note(visit.by.who, "request sent", str(number))
            return self.get(number)

    def _commented(self, row: Row, comment: str) -> Row:
        """Return a request with a comment that came later; there is none where it was just asked.

        What somebody has voted on stays as it was.
        """
        if not comment or row["comment"] or row["state"] != "sent":
            return row
        number = row["number"]
        self._state.change("UPDATE requests SET comment = ? WHERE number = ?", comment, number)
        self._state.note(row["who"], "request commented", str(number))
        return self.get(number)

    def _check_many(self, who: str) -> None:
        """Refuse one more request of a person who has sent many within a day."""
        now = self._state.now()
        last = self._state.row(
            "SELECT at FROM requests WHERE who = ? AND at > ? ORDER BY at DESC LIMIT 1 OFFSET ?",
            who,
            now - _DAY,
            _MOST_A_DAY - 1,
        )
        if last is not None:
            raise too_many(
                f"you have sent {_MOST_A_DAY} requests within a day, and may send no more",
                last["at"] + _DAY - now,
            )

    def get(self, number: int) -> Row:
        """Return a request, as it is now."""
        with self._state.writing():
            self._expire()
            row = self._state.row("SELECT * FROM requests WHERE number = ?", number)
        if row is None:
            raise not_there()
        return row

    def all(self, who: str | None, state: str | None, first: int, count: int) -> list[Row]:
        """Return so many requests, of one person and in one state where these are stated."""
        with self._state.writing():
            self._expire()
            return self._state.rows(
                "SELECT * FROM requests WHERE (?1 IS NULL OR who = ?1) "
                "AND (?2 IS NULL OR state = ?2) AND number >= ?3 ORDER BY number LIMIT ?4",
                who,
                state,
                first,
                count,
            )

    def votes(self, number: int) -> list[Row]:
        """Return the votes on a request, in their order."""
        return self._state.rows("SELECT * FROM votes WHERE request = ? ORDER BY at, who", number)

    def vote(self, number: int, who: str, decision: Decision, comment: str) -> Row:
        """Count a vote; the last that is needed decides."""
        with self._state.writing():
            row = self.get(number)
            if row["who"] == who:
                raise forbidden()
            if row["state"] not in ("sent", "voted"):
                raise Refusal("decided", 409, f"this request is {row['state']}, and is decided")
            if any(vote["who"] == who for vote in self.votes(number)):
                raise Refusal("decided", 409, "you have voted on this request")
            self._state.add(
                "INSERT INTO votes VALUES (?, ?, ?, ?, ?)",
                number,
                who,
                decision,
                comment,
                self._state.now(),
            )
            votes = self.votes(number)
            state = "voted" if len(votes) < row["approvers"] else _outcome(votes)
            self._set(number, state)
            self._state.note(who, f"request {state}", str(number))
            return self.get(number)

    def withdraw(self, number: int, who: str) -> Row:
        """Take back a request that was not used."""
        with self._state.writing():
            row = self.get(number)
            if row["who"] != who:
                raise not_there()
            if row["state"] not in ("sent", "voted", "approved"):
                raise Refusal("decided", 409, f"this request is {row['state']}, and is decided")
            self._set(number, "withdrawn")
            self._state.note(who, "request withdrawn", str(number))
            return self.get(number)

    def approved(self, visit: Visit, priced: Priced) -> int | None:
        """Return the number of the request by which a question is approved; None if there is none.

        It is good for the same plan at no higher price, whatever else of the catalog has changed.
        """
        with self._state.writing():
            self._expire()
            row = self._state.row(
                "SELECT number FROM requests WHERE who = ? AND asked = ? AND state = 'approved' "
                "AND price >= ? AND delta >= ? ORDER BY number LIMIT 1",
                visit.by.who,
                priced.asked,
                priced.price,
                priced.delta,
            )
            return None if row is None else int(row["number"])

    def use(self, visit: Visit, priced: Priced) -> int | None:
        """Use up the approval of a question, before it is charged; None if there is none."""
        with self._state.writing():
            number = self.approved(visit, priced)
            if number is not None:
                self._set(number, "answered")
                self._state.note(visit.by.who, "request used", str(number))
            return number

    def give_back(self, number: int, who: str) -> None:
        """Let an approval be used again, because nothing was charged."""
        with self._state.writing():
            self._set(number, "approved")
            self._state.note(who, "request approved again", str(number))

    def answered(self, number: int, charge: int) -> None:
        """Write down which charge has used up an approval."""
        self._state.change("UPDATE requests SET charge = ? WHERE number = ?", charge, number)

    def _set(self, number: int, state: str) -> None:
        self._state.change("UPDATE requests SET state = ? WHERE number = ?", state, number)

    def _expire(self) -> None:
        for row in self._state.rows(
            f"SELECT number FROM requests WHERE state IN {_LIVING} AND expires <= ?",  # noqa: S608 - a constant
            self._state.now(),
        ):
            self._set(row["number"], "expired")
            self._state.note("keeper", "request expired", str(row["number"]))


def _outcome(votes: list[Row]) -> str:
    decisions = {vote["decision"] for vote in votes}
    if "deny" in decisions:
        return "denied"
    return "returned" if "return" in decisions else "approved"


def petition(visit: Visit) -> Reply:
    """Ask that a dear question be approved."""
    from sordino.keeper.asking import explained, price  # which itself makes requests

    body = visit.read(messages.Petition)
    priced = price(visit, body.question)
    check_room(visit, priced)
    if not is_dear(visit, priced):
        raise Refusal("not_dear", 409, "this question needs no approval; ask it")
    row = visit.keeper.requests.send(visit, priced, explained(visit, priced), body.comment)
    return _shown(visit, row, 201, {"Location": f"/v1/requests/{row['number']}"})


def requests(visit: Visit) -> Reply:
    """Return requests: one's own, or, for those who decide and those who audit, all."""
    state = visit.request.query.get("state")
    if state is not None and state not in _STATES:
        raise Refusal("query", 400, f"state must be one of {', '.join(_STATES)}")
    first, count = visit.number("from", 1, 10**18), visit.number("count", _MOST, _MOST)
    who = None if _sees_all(visit) else visit.by.who
    rows: list[Row] = []
    while len(rows) < count:
        page = visit.keeper.requests.all(who, state, first, count)
        rows += [row for row in page if _may_see(visit, row)]
        if len(page) < count:
            break
        first = page[-1]["number"] + 1
    return as_json({"requests": [to_json(visit, row) for row in rows[:count]]})


def request(visit: Visit) -> Reply:
    """Return one request, with what was decided."""
    return _shown(visit, visit.keeper.requests.get(_seen(visit)))


def vote(visit: Visit) -> Reply:
    """Decide a request; never one's own."""
    body = visit.read(messages.Vote)
    row = visit.keeper.requests.vote(_seen(visit), visit.by.who, body.decision, body.comment)
    return _shown(visit, row)


def withdraw(visit: Visit) -> Reply:
    """Take back a request of one's own."""
    return _shown(visit, visit.keeper.requests.withdraw(_seen(visit), visit.by.who))


def _sees_all(visit: Visit) -> bool:
    return visit.may_decide or visit.may_audit


def _may_see(visit: Visit, row: Row) -> bool:
    """Tell whether a token knows of all tables that a request asks about.

    Of those that were sent before this was written down, it is not known.
    """
    names, asked = visit.by.token.tables, json.loads(row["explanation"]).get(_TABLES)
    if asked is None:
        return names is None
    return may_know(visit.generation.catalog, names, asked)


def _seen(visit: Visit) -> int:
    """Return the number of the request that is meant, where the token may know of it."""
    row = visit.keeper.requests.get(_number(visit))
    is_ones = row["who"] == visit.by.who or _sees_all(visit)
    if not (is_ones and _may_see(visit, row)):
        raise not_there()
    return int(row["number"])


def _number(visit: Visit) -> int:
    text = visit.request.path.get("request", "")
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise not_there()
    return int(text)


def _shown(
    visit: Visit, row: Row, status: int = 200, headers: dict[str, str] | None = None
) -> Reply:
    return as_json(to_json(visit, row), status, headers)


def to_json(visit: Visit, row: Row) -> dict[str, Any]:
    """Return a request; before it is decided, everybody sees their own vote alone."""
    votes = visit.keeper.requests.votes(row["number"])
    explanation = json.loads(row["explanation"])
    explanation.pop(_TABLES, None)
    if row["state"] in ("sent", "voted", "withdrawn", "expired"):
        votes = [vote for vote in votes if vote["who"] == visit.by.who]
    return {
        "number": row["number"],
        "who": row["who"],
        "question": json.loads(row["ask"]),
        "people": row["people"],
        "price_nanos": row["price"],
        "delta_attos": row["delta"],
        "explanation": explanation,
        "comment": row["comment"],
        "generation": row["generation"],
        "approvers": row["approvers"],
        "state": row["state"],
        "made": row["at"],
        "expires": row["expires"],
        "charge": None if row["charge"] is None else f"{row['people']}:{row['charge']}",
        "votes": [
            {name: vote[name] for name in ("who", "decision", "comment", "at")} for vote in votes
        ],
    }


DESK: Desk = {
    "petition": petition,
    "requests": requests,
    "request": request,
    "vote": vote,
    "withdraw": withdraw,
}
