# SPDX-License-Identifier: Apache-2.0
"""What programs get: JSON of explanations, answers, budgets, history, verification and errors.

The command line prints these shapes, and whatever serves questions otherwise hands them out too.
docs/service.md lists their entries. Every number of a price comes as words, such as "epsilon 0.5",
and in whole nano-units.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sordino.answer import Answer, Column
from sordino.answer.answer import REHEARSAL, columns_to_json, from_bytes, is_readable
from sordino.catalog.model import EVERYBODY, Catalog
from sordino.errors import BudgetError, QueryError, SordinoError, error_json
from sordino.ledger.entry import Entry
from sordino.ledger.history import Standing, Sum
from sordino.ledger.ledger import Ledger, check_name
from sordino.ledger.left import Left, more_like
from sordino.ledger.verify import Verified
from sordino.plan.ask import Options
from sordino.plan.explain import Explanation
from sordino.plan.plan import Plan
from sordino.plan.told import COLUMNS, RELEASES
from sordino.plan.words import Heading
from sordino.session.session import OWNER, asked_of

DIGITS_OF_PLAN = 8

Json = dict[str, Any]


def explanation_to_json(
    explanation: Explanation, *, left: str, warnings: Sequence[str] = ()
) -> Json:
    """Return what an answer would cost; ``warnings`` are told besides those of the plan."""
    return {
        "price": str(explanation.price),
        "facts": dict(explanation.facts),
        "columns": [dict(zip(COLUMNS, row, strict=True)) for row in explanation.widths()],
        "columns_of_answer": headings_to_json(explanation.plan.columns),
        "releases": [dict(zip(RELEASES, row, strict=True)) for row in explanation.rows()],
        "warnings": [*explanation.warnings, *warnings],
        "left": left,
        "plan": number_of(explanation.plan),
    }


def answer_to_json(answer: Answer, left: Left) -> Json:
    """Return an answer: its rows by title, the price, what is left, the receipt.

    A rehearsal has an entry before all others that says so, and no receipt.
    """
    charge = answer.charge
    rehearsal = {"rehearsal": REHEARSAL} if answer.rehearsed else {}
    columns = [
        (column.title, _cells(column, encoded["values"]))
        for column, encoded in zip(answer.columns, columns_to_json(answer.columns), strict=True)
    ]
    return {
        **rehearsal,
        "columns": headings_to_json(answer.columns),
        "rows": [{title: cells[row] for title, cells in columns} for row in range(len(answer))],
        "confidence": float(answer.confidence),
        "notes": list(answer.notes),
        "again": answer.again,
        "people": charge.people,
        "who": charge.who,
        "price": str(charge.price),
        "price_nanos": charge.price.nanos,
        "delta": float(charge.slack),
        "left": str(left.left),
        "left_nanos": left.left.nanos,
        "delta_left": float(left.delta),
        "more_like_this": more_like(charge.price, charge.slack, left.left, left.delta),
        "receipt": None if answer.rehearsed else answer.receipt,
    }


def headings_to_json(columns: Iterable[Heading | Column]) -> list[Json]:
    """Return what stands above the columns of an answer, whether it is there yet or not."""
    return [
        {"title": column.title, "type": column.type.value, "kind": column.kind}
        for column in columns
    ]


def _cells(column: Column, values: list[Any]) -> list[Any]:
    """Return the values of a column; those with error bars as objects."""
    if column.low is None or column.high is None:
        return values
    ends = zip(values, column.half_widths, column.low, column.high, strict=True)
    return [
        {"value": value, "half_width": half_width, "low": low, "high": high}
        for value, half_width, low, high in ends
    ]


def budget_to_json(standings: Iterable[Standing], who: str, *, warning: str = "") -> Json:
    """Return what is left, by id space; ``warning`` says why no question would be answered."""
    people = [_standing_to_json(standing, who) for standing in standings]
    return {"who": who, "people": people, "warning": warning}


def _standing_to_json(standing: Standing, who: str) -> Json:
    own = standing.part(who)
    return {
        "people": standing.people,
        "currency": str(standing.cap.price.currency),
        "cap": _sum(standing.cap),
        "spent": _sum(standing.spent),
        "left": _sum(standing.left),
        "left_for_who": None if own is None else _sum(own.left),
        "held": _sum(standing.held),
        "question_nanos": None if standing.question is None else standing.question.nanos,
        "others": None if standing.others is None else _sum(standing.others),
        "analysts": [
            {
                "who": part.who,
                "spent": _sum(part.spent),
                "left": _sum(part.left),
                "most": None if part.most is None else _sum(part.most),
                "kept": _sum(part.kept),
            }
            for part in standing.parts
        ],
    }


def _sum(amount: Sum) -> Json:
    return {"price": str(amount.price), "nanos": amount.price.nanos, "delta": float(amount.delta)}


def history_to_json(ledger: Ledger, entries: Sequence[Entry]) -> list[Json]:
    """Return entries of a ledger, each charge and answer with its question where that is known."""
    questions = questions_of(ledger, entries)
    return [
        {**entry._asdict(), "question": questions.get(place_of_charge(entry))} for entry in entries
    ]


def questions_of(ledger: Ledger, entries: Iterable[Entry]) -> dict[tuple[str, int], str]:
    """Return the questions of charges, by id space and number; they stand in stored answers."""
    questions = {}
    for entry in entries:
        if entry.kind == "answer":
            with ledger.store.read() as pages:
                body = pages.body(entry)
            if isinstance(body, bytes) and is_readable(body):
                questions[place_of_charge(entry)] = str(from_bytes(body).facts["question"])
    return questions


def place_of_charge(entry: Entry) -> tuple[str, int]:
    """Return the id space and the number of the charge that an entry is or speaks of."""
    return entry.people, entry.charge if entry.kind == "answer" else entry.number


def verified_to_json(verified: Verified) -> Json:
    """Return what was found in order about an id space of a ledger."""
    return {
        "people": verified.people,
        "entries": verified.entries,
        "charges": verified.charges,
        "answers": verified.answers,
        "spent": str(verified.spent),
        "spent_nanos": verified.spent.nanos,
        "cap": str(verified.cap),
        "cap_nanos": verified.cap.nanos,
        "delta": float(verified.slack),
        "head": str(verified.head),
    }


def error_to_json(error: Exception) -> dict[str, object]:
    """Return an error; one of Python's own is about an argument."""
    match error:
        case QueryError():
            return error.as_json()
        case BudgetError():
            return error_json(error.code, error.message, hint=error.hint)
        case SordinoError():
            return error_json(error.code, str(error))
        case _:
            return error_json("argument", str(error))


def number_of(plan: Plan, options: Options | None = None) -> str:
    """Return the number by which the history of a ledger names a plan."""
    return asked_of(plan, options or Options())[:DIGITS_OF_PLAN]


def check_who(who: str) -> str:
    """Return the name of one analyst; raises ValueError for what stands for all others."""
    if who == EVERYBODY:
        raise ValueError(f"{EVERYBODY!r} stands for all analysts without a share; name one of them")
    return check_name(who)


def note_on_stranger(catalog: Catalog, who: str) -> str:
    """Say that analysts are declared and this one is not, as after a slip; otherwise nothing."""
    if is_declared(catalog, who):
        return ""
    named = sorted(analyst.name for analyst in catalog.analysts if analyst.name != EVERYBODY)
    others = f"only {', '.join(named)}" if named else "nobody by name"
    rest = "the limits of all others hold" if takes_all(catalog) else f"{who!r} may not ask"
    return f"the catalog does not name {who!r}, {others}; {rest}"


def is_declared(catalog: Catalog, who: str) -> bool:
    """Tell whether nobody is declared, or this analyst is, or is the owner among all others."""
    named = any(analyst.name == who for analyst in catalog.analysts if analyst.name != EVERYBODY)
    return not catalog.analysts or named or (who == OWNER and takes_all(catalog))


def takes_all(catalog: Catalog) -> bool:
    """Tell whether analysts that are not named may ask, too."""
    return any(analyst.name == EVERYBODY for analyst in catalog.analysts)
