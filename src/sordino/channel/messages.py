# SPDX-License-Identifier: Apache-2.0
"""The bodies of calls: read strictly, and described in the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Role = Literal["analyst", "approver", "owner", "auditor", "operator"]
Scope = Literal["price", "ask", "rehearse", "audit", "decide", "own", "operate"]
Decision = Literal["approve", "deny", "return"]

# A number may be written as a JSON number or, to keep every digit, as text: 0.1 or "0.1".
Number = (
    Annotated[int, Meta(gt=0)] | Annotated[float, Meta(gt=0)] | Annotated[str, Meta(max_length=400)]
)
Sql = Annotated[str, Meta(min_length=1, max_length=20_000, description="a question in SQL")]
Name = Annotated[str, Meta(min_length=1, max_length=100)]
Text = Annotated[str, Meta(max_length=2_000)]
Reason = Annotated[str, Meta(min_length=1, max_length=2_000)]
Toml = Annotated[str, Meta(max_length=1_000_000, description="the text of a catalog")]
Password = Annotated[str, Meta(min_length=12, max_length=1_000)]


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What every body is: entries that are known, and no others."""


class Question(Body, frozen=True):
    """A question and its terms, which are those of ``Session.ask``; one of the prices is stated."""

    sql: Sql
    epsilon: Number | None = None
    rho: Number | None = None
    within: Number | dict[str, Number] | None = None
    confidence: Number | None = None
    delta: Number | None = None
    rows: Annotated[int, Meta(gt=0)] | None = None
    groups: Annotated[int, Meta(gt=0)] | None = None
    rows_per_group: Annotated[int, Meta(gt=0)] | None = None
    expected_rows: Number | None = None
    diagnostics: bool = False
    nonnegative: bool = False
    integer: bool = True
    consistent: bool = False
    fresh: bool = False


class Prices(Body, frozen=True):
    """One question, or several, of which the prices are wanted."""

    questions: Annotated[list[Question], Meta(min_length=1, max_length=50)]


class Purchase(Body, frozen=True):
    """What is to be answered: a quote, or a question without one."""

    quote: Annotated[str, Meta(max_length=60_000)] | None = None
    question: Question | None = None


class Login(Body, frozen=True):
    """A name and a password, for a token of some hours."""

    name: Name
    password: Annotated[str, Meta(max_length=1_000)]


class Vote(Body, frozen=True):
    """What one approver decides about a request."""

    decision: Decision
    comment: Text = ""


class Petition(Body, frozen=True):
    """A request for a question that costs more than may be asked without approval."""

    question: Question
    comment: Text = ""


class Person(Body, frozen=True):
    """Somebody who may use the server."""

    name: Name
    roles: Annotated[list[Role], Meta(min_length=1, max_length=5)]
    password: Password | None = None


class NewPassword(Body, frozen=True):
    """Another password; whoever sets their own states the old one."""

    password: Password
    old: Annotated[str, Meta(max_length=1_000)] | None = None


class NewToken(Body, frozen=True):
    """A token: for whom, for what, how long, and how much may be spent with it."""

    name: Name | None = None  # whose it is; whoever makes it, if nobody is named
    note: Annotated[str, Meta(max_length=200)] = ""
    days: Annotated[int, Meta(ge=1, le=90)] = 30
    scopes: list[Scope] | None = None
    cap: Number | None = None  # in the currency of the budget
    tables: Annotated[list[Name], Meta(max_length=1_000)] | None = None
    fresh: bool = False  # may it pay for the same question twice?


class NewCatalog(Body, frozen=True):
    """Another catalog to be served from now on; without a text, the file as it is now."""

    why: Reason
    text: Toml | None = None


class Draft(Body, frozen=True):
    """The text of a catalog that is to be checked."""

    text: Toml
