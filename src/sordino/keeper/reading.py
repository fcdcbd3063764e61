# SPDX-License-Identifier: Apache-2.0
"""Calls that read: the catalog, budgets, the history, the ledger."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import Any

from sordino.catalog.model import Catalog, Column, Table
from sordino.channel.frames import Reply
from sordino.errors import LedgerError
from sordino.keeper.problems import Refusal
from sordino.keeper.replies import as_json
from sordino.keeper.visit import Desk, Visit
from sordino.ledger.entry import Entry, read_seen
from sordino.ledger.history import Standing, currencies, standing
from sordino.ledger.verify import verify
from sordino.query.types import Value
from sordino.session import service

_MOST_OF_HISTORY, _MOST_OF_LEDGER = 1_000, 10_000
_LINES = "application/jsonl"


def me(visit: Visit) -> Reply:
    """Say who the token belongs to, and what it may do."""
    token = visit.by.token
    return as_json(
        {
            "name": visit.by.who,
            "roles": sorted(visit.by.roles),
            "scopes": sorted(token.scopes),
            "token": token.number,
            "expires": token.expires,
            "cap_nanos": token.cap,
            "spent_nanos": token.spent,
            "tables": token.tables,
            "fresh": token.fresh,
            "generation": visit.generation.name,
        }
    )


def catalog(visit: Visit) -> Reply:
    """Say what can be asked; its tag is the generation."""
    tables = visit.by.token.tables
    tag = f'"{visit.generation.name}"'
    headers = {"ETag": tag}
    if visit.request.tag is not None and _is_among(tag, visit.request.tag):
        return Reply(304, "application/json", b"", headers)
    declared = visible(visit.generation.catalog, tables)
    return as_json(catalog_to_json(declared, visit.generation.name), headers=headers)


def _is_among(tag: str, stated: str) -> bool:
    """Tell whether If-None-Match has a tag, which a proxy may have called weak.

    >>> [_is_among('"ab"', text) for text in ('"x","ab"', 'W/"ab"', "*", '"x"', "ab", "")]
    [True, True, True, False, False, False]
    """
    listed = {one.strip().removeprefix("W/") for one in stated.split(",")}
    return tag in listed or stated.strip() == "*"


def visible(catalog: Catalog, names: Iterable[str] | None) -> Catalog:
    """Return a catalog with public tables and those that are named, and the tables above them."""
    if names is None:
        return catalog
    wanted = {name.casefold() for name in names}
    kept = {table.name.casefold() for table in catalog.tables if table.public}
    above = [table for table in catalog.tables if table.name.casefold() in wanted]
    while above:
        table = above.pop()
        kept.add(table.name.casefold())
        parent = None if table.parent is None else catalog.table(table.parent.parent)
        if parent is not None:
            above.append(parent)
    tables = tuple(table for table in catalog.tables if table.name.casefold() in kept)
    people = {table.people for table in tables if not table.public}
    purses = tuple((name, purse) for name, purse in catalog.purses if name in people)
    return replace(catalog, tables=tables, purses=purses)


def may_know(catalog: Catalog, names: Iterable[str] | None, asked: Iterable[str]) -> bool:
    """Tell whether a token for some tables may ask, and know, what is asked about others.

    Those above its own are declared in what it sees, and what is asked about them is none of its.
    """
    if names is None:
        return True
    own = {name.casefold() for name in names}
    tables = [(name, catalog.table(name)) for name in asked]
    return all(
        table is not None and (table.public or name.casefold() in own) for name, table in tables
    )


def catalog_to_json(catalog: Catalog, generation: str) -> dict[str, Any]:
    """Return all that is declared and public; never where a file lies."""
    return {
        "generation": generation,
        "tables": [_table(table) for table in catalog.tables],
        "budgets": [
            {
                "people": people,
                "currency": str(purse.budget.currency),
                "cap": str(purse.budget.cap),
                "cap_nanos": purse.budget.cap.nanos,
                "delta": float(purse.slack),
                "question": None if purse.question is None else float(purse.question),
            }
            for people, purse in catalog.purses
        ],
        "server": _serving(catalog),
    }


def _serving(catalog: Catalog) -> dict[str, Any]:
    serving = catalog.serving
    return {
        "slot": None if serving.slot is None else float(serving.slot),
        "deadline": serving.deadline,
        "resume": serving.resume,
        "approve_above": None if serving.approve_above is None else str(serving.approve_above),
        "approvers": serving.approvers,
        "rate": serving.rate,
    }


def _table(table: Table) -> dict[str, Any]:
    parent = table.parent
    return {
        "name": table.name,
        "public": table.public,
        "unit": table.unit,
        "people": None if table.public else table.people,
        "parent": None if parent is None else f"{parent.parent}.{parent.parent_column}",
        "via": None if parent is None else parent.column,
        "limits": {
            "rows": table.limits.rows,
            "groups": table.limits.groups,
            "rows_per_group": table.limits.rows_per_group,
        },
        "columns": [_column(column) for column in table.columns],
    }


def _column(column: Column) -> dict[str, Any]:
    bounds, source = column.bounds, column.keys_from
    return {
        "name": column.name,
        "type": column.type.value,
        "bounds": None if bounds is None else [float(bounds.low), float(bounds.high)],
        "keys": None if column.keys is None else [_value(value) for value in column.keys],
        "keys_from": None if source is None else f"{source[0]}.{source[1]}",
        "other": _value(column.other),
    }


def _value(value: Value) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def budget(visit: Visit) -> Reply:
    """Say what is left: for oneself, and, for the owner and auditors with ``audit``, for all."""
    who = visit.by.who
    stands = standing(visit.generation.session.ledger, who=who)
    told = service.budget_to_json(stands, who)
    if not visit.may_audit:
        told["people"] = [
            _own(part, stand, who, show_all=visit.generation.catalog.serving.show_all)
            for part, stand in zip(told["people"], stands, strict=True)
        ]
    return as_json(told)


def _own(part: dict[str, Any], stand: Standing, who: str, *, show_all: bool) -> dict[str, Any]:
    """Return how an id space stands without what others have spent, unless that is for all."""
    kept = {**part, "analysts": [one for one in part["analysts"] if one["who"] == who]}
    kept["others"] = None
    if not show_all:
        own = stand.part(who)
        kept["spent"] = part["analysts"] and next(
            (one["spent"] for one in part["analysts"] if one["who"] == who), None
        )
        kept["left"] = kept["left_for_who"] if own is not None else None
        kept["held"] = None
    return kept


def history(visit: Visit) -> Reply:
    """Say what was asked: by oneself, or, for the owner and auditors with ``audit``, by all."""
    ledger = visit.generation.session.ledger
    who = None if visit.may_audit else visit.by.who
    found = _entries(visit, _MOST_OF_HISTORY, who)
    told = service.history_to_json(ledger, found)
    if visit.by.token.tables is not None:  # questions name tables that it may not know of
        told = [{**entry, "question": None} for entry in told]
    if who is not None:
        told = [_without_sums(entry) for entry in told]
    return as_json({"entries": told})


_OF_ALL = (
    "cap",
    "cap_slack",
    "most",
    "others",
    "others_slack",
    "spent",
    "spent_slack",
    "held",
    "held_slack",
)


def _without_sums(entry: dict[str, Any]) -> dict[str, Any]:
    """Leave out what an entry says about all analysts together."""
    return {name: value for name, value in entry.items() if name not in _OF_ALL}


def _entries(visit: Visit, most: int, who: str | None) -> list[Entry]:
    """Return entries of the ledger from a number on, of one id space or of all."""
    ledger = visit.generation.session.ledger
    first, count = visit.number("from", 1, 10**18), visit.number("count", most, most)
    spaces = list(currencies(ledger))
    wanted = visit.request.query.get("people")
    if wanted is not None:
        spaces = [space for space in spaces if space == wanted]
    found: list[Entry] = []
    for space in spaces:
        number = first
        while len(found) < count:
            with ledger.store.read() as pages:
                part = list(islice(pages.entries(space, number), most))
            found += [entry for entry in part if who in (None, entry.who)]
            if len(part) < most:
                break
            number += len(part)
    return found[:count]


def entries(visit: Visit) -> Reply:
    """Return the entries of the ledger, a line of JSON each."""
    lines = (json.dumps(entry._asdict()) + "\n" for entry in _entries(visit, _MOST_OF_LEDGER, None))
    return Reply(200, _LINES, "".join(lines).encode())


def heads(visit: Visit) -> Reply:
    """Return the newest entry about each people, for whoever wants to hold the ledger to it."""
    return as_json({"heads": [str(seen) for seen in visit.generation.session.ledger.heads()]})


def verified(visit: Visit) -> Reply:
    """Compute the ledger anew, and hold it to a receipt if there is one."""
    ledger = visit.generation.session.ledger
    text = visit.request.query.get("receipt")
    if text is not None:
        try:
            seen = read_seen(text)
        except ValueError as error:
            raise Refusal("query", 400, str(error)) from None
    try:
        if text is not None:
            ledger.hold_to(seen)
        found = [service.verified_to_json(one) for one in verify(ledger)]
    except LedgerError as error:  # whoever may call this may read it
        return as_json({"in_order": False, "message": str(error), "people": []})
    return as_json({"in_order": True, "message": "", "people": found})


def unanswered(visit: Visit) -> Reply:
    """Return the charges that have no answer."""
    waiting = visit.generation.session.ledger.unanswered()
    return as_json({"charges": [entry._asdict() for entry in waiting]})


DESK: Desk = {
    "me": me,
    "catalog": catalog,
    "budget": budget,
    "history": history,
    "ledger": entries,
    "heads": heads,
    "verify": verified,
    "unanswered": unanswered,
}
