# SPDX-License-Identifier: Apache-2.0
"""The table of calls: the path of each, who may make it, and what it takes.

The gateway makes its routes of this table, the keeper looks up in it who may do what, and the
OpenAPI document describes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from sordino.channel import messages
from sordino.channel.messages import Body, Role, Scope

Method = Literal["GET", "POST", "DELETE"]

LONGEST_BODY, LONGEST_CATALOG = 64 * 1024, 1024 * 1024  # bytes of a body, as it is sent

ALL: frozenset[Role] = frozenset(get_args(Role))
_ANALYSTS: frozenset[Role] = frozenset({"analyst", "owner"})
_READERS: frozenset[Role] = frozenset({"analyst", "approver", "owner", "auditor"})
_DECIDERS: frozenset[Role] = frozenset({"approver", "owner"})
_AUDITORS: frozenset[Role] = frozenset({"owner", "auditor"})
_OWNER: frozenset[Role] = frozenset({"owner"})
_OPERATORS: frozenset[Role] = frozenset({"owner", "operator"})


@dataclass(frozen=True, slots=True)
class Call:
    """One call. ``roles`` is None where nobody need be known; ``scope`` is what a token needs."""

    name: str
    method: Method
    path: str
    summary: str
    roles: frozenset[Role] | None
    scope: Scope | None = None
    body: type[Body] | None = None
    query: Mapping[str, str] = field(default_factory=dict)  # what each means
    statuses: tuple[int, ...] = (200,)
    longest: int = LONGEST_BODY  # bytes of its body

    @property
    def is_long(self) -> bool:
        """Tell whether its body may be longer than those of others, so that few come at once."""
        return self.longest > LONGEST_BODY


CALLS: tuple[Call, ...] = (
    Call("me", "GET", "/v1/me", "Who the token belongs to, and what it may do.", ALL),
    Call(
        "catalog",
        "GET",
        "/v1/catalog",
        "What can be asked: tables, columns, bounds, keys, limits.",
        _READERS,
        "price",
    ),
    Call(
        "prices",
        "POST",
        "/v1/prices",
        "What questions would cost and how far off the answers would be; free.",
        _READERS,
        "price",
        messages.Prices,
    ),
    Call(
        "ask",
        "POST",
        "/v1/answers",
        "Charge a question and answer it.",
        _ANALYSTS,
        "ask",
        messages.Purchase,
        statuses=(200, 202),
    ),
    Call(
        "answer",
        "GET",
        "/v1/answers/{answer}",
        "An answer that was given, by the place of its charge, such as people:12.",
        frozenset({"analyst", "owner", "auditor"}),
        query={"format": "json, csv, arrow, record, certificate or text"},
    ),
    Call(
        "rehearse",
        "POST",
        "/v1/rehearsals",
        "Answer a question on invented rows; free, and marked.",
        _READERS,
        "rehearse",
        messages.Purchase,
    ),
    Call(
        "budget",
        "GET",
        "/v1/budget",
        "What is left, for oneself; for the owner and auditors with `audit`, for everybody.",
        _READERS,
    ),
    Call(
        "history",
        "GET",
        "/v1/history",
        "What was asked: one's own, or, for the owner and auditors with `audit`, everything.",
        _READERS,
        query={
            "from": "the number of the first entry",
            "count": "how many, 1,000 at most",
            "people": "of which people",
        },
    ),
    Call(
        "ledger",
        "GET",
        "/v1/ledger",
        "All entries of the ledger, as lines of JSON.",
        _AUDITORS,
        "audit",
        query={
            "people": "of which people",
            "from": "the number of the first entry",
            "count": "how many, 10,000 at most",
        },
    ),
    Call(
        "heads",
        "GET",
        "/v1/ledger/heads",
        "The newest entry about each people: keep it, and the ledger can be held to it.",
        ALL,
    ),
    Call(
        "verify",
        "POST",
        "/v1/ledger/verify",
        "Compute every hash and every sum of the ledger anew.",
        _AUDITORS,
        "audit",
        query={"receipt": "hold the ledger to this receipt, too"},
    ),
    Call("unanswered", "GET", "/v1/unanswered", "Charges that have no answer.", _AUDITORS, "audit"),
    Call(
        "requests",
        "GET",
        "/v1/requests",
        "Requests: one's own, or, for those who decide or audit, all.",
        _READERS,
        query={
            "state": "only those in this state",
            "from": "the number of the first request",
            "count": "how many, 200 at most",
        },
    ),
    Call(
        "petition",
        "POST",
        "/v1/requests",
        "Ask that a dear question be approved.",
        _ANALYSTS,
        "ask",
        messages.Petition,
        statuses=(201,),
    ),
    Call(
        "request", "GET", "/v1/requests/{request}", "One request, with what was decided.", _READERS
    ),
    Call(
        "vote",
        "POST",
        "/v1/requests/{request}/votes",
        "Decide a request; never one's own.",
        _DECIDERS,
        "decide",
        messages.Vote,
    ),
    Call(
        "withdraw",
        "DELETE",
        "/v1/requests/{request}",
        "Take back a request of one's own.",
        _ANALYSTS,
        "ask",
    ),
    Call("people", "GET", "/v1/people", "Who may use the server.", _OWNER, "own"),
    Call(
        "person",
        "POST",
        "/v1/people",
        "Add somebody, or change their roles.",
        _OWNER,
        "own",
        messages.Person,
        statuses=(201,),
    ),
    Call(
        "dismiss",
        "DELETE",
        "/v1/people/{name}",
        "Let somebody use the server no more; their tokens end.",
        _OWNER,
        "own",
    ),
    Call(
        "password",
        "POST",
        "/v1/people/{name}/password",
        "Set a password: one's own, or, for the owner, anybody's.",
        ALL,
        None,
        messages.NewPassword,
        statuses=(204,),
    ),
    Call(
        "tokens",
        "GET",
        "/v1/tokens",
        "Tokens: one's own, or, for the owner, all; never the secret.",
        ALL,
    ),
    Call(
        "token",
        "POST",
        "/v1/tokens",
        "Make a token; its secret is shown once.",
        ALL,
        None,
        messages.NewToken,
        statuses=(201,),
    ),
    Call("revoke", "DELETE", "/v1/tokens/{token}", "End a token at once.", ALL, statuses=(204,)),
    Call(
        "login",
        "POST",
        "/v1/sessions",
        "A token of some hours, for a name and a password.",
        None,
        None,
        messages.Login,
        statuses=(201,),
    ),
    Call("logout", "DELETE", "/v1/sessions", "End the token that is used.", ALL, statuses=(204,)),
    Call(
        "check",
        "POST",
        "/v1/catalogs/check",
        "Check the text of a catalog, and say what would change.",
        _OWNER,
        "own",
        messages.Draft,
        longest=LONGEST_CATALOG,
    ),
    Call(
        "swap",
        "POST",
        "/v1/catalogs",
        "Serve another catalog from now on; changed limits go on record.",
        _OWNER,
        "own",
        messages.NewCatalog,
        statuses=(201,),
        longest=LONGEST_CATALOG,
    ),
    Call(
        "journal",
        "GET",
        "/v1/journal",
        "Who changed what on the server, in order, each step bound to the one before.",
        _AUDITORS,
        "audit",
        query={
            "from": "the number of the first step",
            "count": "how many, 1,000 at most",
            "last": "in place of both: how many of the newest steps, 1,000 at most",
        },
    ),
    Call(
        "health",
        "GET",
        "/v1/health",
        "How the keeper is: queue, overruns, generation, what is left on the disk.",
        _OPERATORS,
        "operate",
    ),
    Call("ready", "GET", "/readyz", "Whether questions can be answered.", None),
)

BY_NAME: Mapping[str, Call] = {call.name: call for call in CALLS}
