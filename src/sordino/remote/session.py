# SPDX-License-Identifier: Apache-2.0
"""A session on a server: the methods of a session, each a request or two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Unpack
from urllib.parse import quote as quoted

from sordino.answer.answer import Answer, from_bytes, is_readable
from sordino.errors import ApprovalNeeded
from sordino.ledger.left import Budgets
from sordino.plan.ask import Ask, Respondent, Terms, read_ask
from sordino.remote.heads import Heads
from sordino.remote.problems import error_of
from sordino.remote.questions import question_of
from sordino.remote.told import (
    RemoteExplanation,
    RemoteTable,
    budgets_of,
    explanation_of,
    suspicious,
    tables_of,
)
from sordino.remote.wire import Reply, Wire, not_ours

RECORD, _JSON = "application/vnd.sordino.answer", "application/json"
_AGAIN = "sordino-again"
_REQUESTS = "/v1/requests/"
_PAGE = 1_000  # entries of a history that come at once
_PAGE_OF_REQUESTS = 200


class RemoteSession(Respondent[RemoteExplanation]):
    """Asks a server questions, each charged there before the data is looked at.

    ``ask``, ``explain``, ``rehearse`` and ``budget`` are those of ``Session``, and raise the same
    exceptions; answers are the same, too. Whoever asks is known by the token. A session may be
    shared by threads.

    Answers leave the server at the end of a slot, whose length its owner has declared: so they take
    that long at least. A question with ``fresh`` needs a token that is made for it. If the
    connection is lost, ask the same again: what was charged is answered without paying again. A
    question that somebody has to approve first raises ApprovalNeeded.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: all answers together keep to the budget of the server's catalog; a question that is
            sent again after a lost connection is not paid for twice.
        Numerics: those of the server; answers come as the ledger keeps them.
        Proof: docs/proofs/queries.md, theorem 6.
    """

    def __init__(self, wire: Wire, heads: Heads | None = None) -> None:
        self._wire = wire
        self._heads = heads
        self._me: Mapping[str, Any] | None = None

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._wire.url

    @property
    def who(self) -> str:
        """Whose token this is, and whose share is charged."""
        return _text(self.me, "name")

    @property
    def me(self) -> Mapping[str, Any]:
        """Who the token belongs to, and what it may do; as it was when it was first asked."""
        if self._me is None:
            self._me = _mapping(self._wire.get("/v1/me"))
        return self._me

    def answer_ask(self, ask: Ask) -> Answer:
        """Answer what was asked; see ``ask``."""
        return self._bought({"question": question_of(ask)}, ask.sql)

    def buy(self, explanation: RemoteExplanation) -> Answer:
        """Answer a question at the price that was explained, and at no other.

        A price holds for a quarter of an hour, and until the owner changes the catalog.
        """
        if explanation.quote is None:
            raise ValueError("this price is not for sale; ask the question")
        return self._bought({"quote": explanation.quote}, explanation.sql)

    def explain_ask(self, ask: Ask) -> RemoteExplanation:
        """Say what the answer to an ask would cost; see ``explain``."""
        (told,) = self._prices([ask])
        return _explained(told, ask)

    def _prices(self, asks: Iterable[Ask]) -> list[Any]:
        questions = [question_of(ask) for ask in asks]
        reply = self._wire.post("/v1/prices", {"questions": questions})
        return _listed(reply, "prices", len(questions))

    def rehearse(self, sql: str, **terms: Unpack[Terms]) -> Answer:
        """Answer a question on invented rows; see ``Session.rehearse``."""
        return self.rehearse_ask(read_ask(sql, **terms))

    def rehearse_ask(self, ask: Ask) -> Answer:
        """Answer what was asked on invented rows; see ``rehearse``."""
        body = {"question": question_of(ask)}
        return _answer_of(self._wire.post("/v1/rehearsals", body, accept=RECORD, sql=ask.sql))

    def _bought(self, body: Mapping[str, Any], sql: str) -> Answer:
        reply = self._wire.buy("/v1/answers", body, accept=RECORD, sql=sql)
        if reply.status == 202:
            raise ApprovalNeeded(reply.headers.get("location", "").removeprefix(_REQUESTS))
        answer = _answer_of(reply)
        if self._heads is not None and not answer.rehearsed:
            self._heads.remember(answer.charge.seen)
        return answer

    @property
    def budget(self) -> Budgets:
        """What may still be spent, for each id space: by whoever the token belongs to, and in all.

        Where the owner shows analysts only what is theirs, that is what stands for all.
        """
        return budgets_of(self._wire.get("/v1/budget").json())

    @property
    def standing(self) -> Mapping[str, Any]:
        """What was spent and what is left, as JSON, as far as the token may see it."""
        return _mapping(self._wire.get("/v1/budget"))

    def history(self, *, last: int = 20, people: str | None = None) -> list[dict[str, Any]]:
        """Return the newest entries of the ledger that may be seen, of each id space, as JSON."""
        spaces = [people] if people is not None else self._spaces()
        return [entry for space in spaces for entry in self._entries(space)[-last:]]

    def _spaces(self) -> list[str]:
        budgets = _mapping(self._wire.get("/v1/catalog")).get("budgets")
        return [_text(one, "people") for one in budgets or []]

    def _entries(self, people: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while True:
            first = 1 + max((int(entry["number"]) for entry in found), default=0)
            query: dict[str, str | int] = {"from": first, "count": _PAGE, "people": people}
            reply = self._wire.get("/v1/history", **query)
            page = _listed(reply, "entries")
            found += page
            if len(page) < _PAGE:
                return found

    @property
    def tables(self) -> tuple[RemoteTable, ...]:
        """What can be asked about: tables and columns with all that is declared of them."""
        return tables_of(self._wire.get("/v1/catalog").json())

    def certificate(self, answer: Answer) -> str:
        """Return the page in plain language about an answer that was given here."""
        place = f"{answer.charge.people}:{answer.charge.number}"
        path = f"/v1/answers/{quoted(place, safe='')}"
        return self._wire.get(path, format="certificate").body.decode("utf-8")

    def given(self, place: str) -> Answer:
        """Return an answer that was given before, by the place of its charge, as ``people:12``."""
        path = f"/v1/answers/{quoted(place, safe='')}"
        return replace(_answer_of(self._wire.get(path, format="record")), again=True)

    def petition(self, sql: str, *, comment: str = "", **terms: Unpack[Terms]) -> dict[str, Any]:
        """Ask that a dear question be approved, and return the request that was made."""
        body = {"question": question_of(read_ask(sql, **terms)), "comment": comment}
        return dict(_mapping(self._wire.buy("/v1/requests", body, accept=_JSON, sql=sql)))

    def requests(self, *, state: str | None = None) -> list[dict[str, Any]]:
        """Return the requests that may be seen, as JSON; with a state only those in it."""
        found: list[dict[str, Any]] = []
        while True:
            first = 1 + max((int(one["number"]) for one in found), default=0)
            query: dict[str, str | int | None] = {"state": state, "from": first}
            query["count"] = _PAGE_OF_REQUESTS
            page = _listed(self._wire.get("/v1/requests", **query), "requests")
            found += page
            if len(page) < _PAGE_OF_REQUESTS:
                return found

    def request(self, number: str) -> dict[str, Any]:
        """Return one request, with what was decided."""
        return dict(_mapping(self._wire.get(_REQUESTS + quoted(str(number), safe=""))))

    def withdraw(self, number: str) -> None:
        """Take back a request of one's own."""
        self._wire.delete(_REQUESTS + quoted(str(number), safe=""))

    def logout(self) -> None:
        """End the token, for every session that has it."""
        self._wire.delete("/v1/sessions")

    def close(self) -> None:
        """Close the connections; the token stays good."""
        self._wire.close()

    def __repr__(self) -> str:
        return f"<RemoteSession at {self.url}>"


def _answer_of(reply: Reply) -> Answer:
    """Read an answer from the bytes that the ledger keeps."""
    if not reply.headers.get("content-type", "").startswith(RECORD) or not is_readable(reply.body):
        raise not_ours()
    answer = _read(reply.body)
    return replace(answer, again=True) if reply.headers.get(_AGAIN) else answer


_read = suspicious(from_bytes)


def _explained(told: Any, ask: Ask) -> RemoteExplanation:
    if isinstance(told, dict) and isinstance(told.get("problem"), dict):
        status = told["problem"].get("status")
        raise error_of(told["problem"], status if isinstance(status, int) else 422, sql=ask.sql)
    return explanation_of(told, ask.sql)


def _mapping(reply: Reply) -> Mapping[str, Any]:
    found = reply.json()
    if not isinstance(found, dict):
        raise not_ours()
    return found


def _listed(reply: Reply, name: str, many: int | None = None) -> list[Any]:
    found = _mapping(reply).get(name)
    if not isinstance(found, list) or (many is not None and len(found) != many):
        raise not_ours()
    return found


def _text(told: Any, name: str) -> str:
    text = told.get(name) if isinstance(told, dict) else None
    if not isinstance(text, str):
        raise not_ours()
    return text
