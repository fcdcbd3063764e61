# SPDX-License-Identifier: Apache-2.0
"""Calls that ask: prices, answers, and answers that were given before."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from sordino.answer import Answer
from sordino.answer.answer import from_bytes, is_readable, to_bytes
from sordino.answer.frames import safe_cell
from sordino.channel import messages
from sordino.channel.frames import Reply
from sordino.errors import (
    BudgetError,
    CatalogError,
    LedgerError,
    QueryError,
    SealedError,
    SordinoError,
)
from sordino.keeper import quotes
from sordino.keeper.problems import (
    Refusal,
    WrongArgument,
    arguments,
    busy,
    document,
    forbidden,
    not_there,
    wrong_body,
)
from sordino.keeper.quotes import Quote
from sordino.keeper.reading import may_know, visible
from sordino.keeper.replies import as_json
from sordino.keeper.requests import check_room, is_dear
from sordino.keeper.requests import to_json as request_to_json
from sordino.keeper.slots import Departure
from sordino.keeper.state import Row, State, StateError
from sordino.keeper.visit import Desk, Visit
from sordino.ledger.entry import Entry
from sordino.ledger.rules import slack_up
from sordino.numbers.rational import decimal_of
from sordino.plan.ask import Ask, read_ask
from sordino.plan.plan import Plan
from sordino.plan.words import headings
from sordino.privacy.currency import Price
from sordino.query.tree import tables_in
from sordino.session import Session, service
from sordino.session.session import Unpaid, asked_of
from sordino.sql.parse import parse

if TYPE_CHECKING:
    from sordino.keeper.keeper import Keeper

RECORD = "application/vnd.sordino.answer"
_FORMS = ("json", "csv", "arrow", "record", "certificate", "text")
_PLACE = re.compile(r"(.+):([1-9][0-9]{0,17})")
_TERMS = tuple(name for name in messages.Question.__struct_fields__ if name != "sql")


@dataclass(frozen=True, slots=True)
class Priced:
    """A question with its plan: all that is known of it before it is charged."""

    question: messages.Question
    ask: Ask
    plan: Plan
    asked: str  # the digest of plan and options
    price: int  # in nano-units
    delta: int  # in parts of 10**18


def read_question(question: messages.Question) -> Ask:
    """Read a question and its terms; numbers that came as text are read digit by digit."""
    terms = {name: getattr(question, name) for name in _TERMS}
    if terms["confidence"] is None:
        del terms["confidence"]
    for name, value in list(terms.items()):
        if isinstance(value, str) and name != "within":
            terms[name] = decimal_of(name, value)
    terms["within"] = _within(terms["within"])
    return read_ask(question.sql, **terms)


def _within(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _within(width) for name, width in value.items()}
    if isinstance(value, str) and not value.endswith("%"):
        return decimal_of("within", value)
    return value


def price(visit: Visit, question: messages.Question) -> Priced:
    """Return a question with its plan; what it may not ask about is unknown to it."""
    tables = visit.by.token.tables
    with arguments():
        ask = read_question(question)
        if tables is not None:
            _check_visible(visit, ask, tables)
        plan = visit.session.plan_ask(ask)
    purse = visit.generation.catalog.purse(plan.people)
    cost = purse.budget.price(plan.loss)
    return Priced(
        question,
        ask,
        plan,
        asked_of(plan, ask.options),
        int(cost.nanos),
        slack_up(plan.slack) + int(cost.attos),
    )


def _check_visible(visit: Visit, ask: Ask, tables: tuple[str, ...]) -> None:
    """Refuse what asks about other tables, in the words in which there are none of these names."""
    seen = visible(visit.generation.catalog, tables)
    query = parse(ask.sql, seen, public=visit.generation.session.public)
    if not may_know(seen, tables, tables_in(query.rows)):
        raise forbidden()


def prices(visit: Visit) -> Reply:
    """Return what questions would cost, each with a quote; or, in its place, its problem."""
    listed = [_priced(visit, question) for question in visit.read(messages.Prices).questions]
    return as_json({"prices": listed})


def _priced(visit: Visit, question: messages.Question) -> dict[str, Any]:
    try:
        priced = price(visit, question)
        told = explained(visit, priced)
    except (QueryError, BudgetError, Refusal, WrongArgument) as error:
        return {"problem": document(error)}
    left = visit.session.budget.of(priced.plan.people)
    of_token = visit.keeper.tokens.left(visit.by.token)
    return {
        **told,
        "left": str(left.left),
        "left_of_token": None if of_token is None else _amount(visit, priced, of_token),
        "fits_token": of_token is None or priced.price <= of_token,
        "needs_approval": is_dear(visit, priced),
        "quote": _quote(visit, priced),
    }


def explained(visit: Visit, priced: Priced) -> dict[str, Any]:
    """Return what an answer would cost and how far off it would be, and what columns it has."""
    with arguments():
        explanation = visit.session.explain_ask(priced.ask)
    plan = priced.plan
    told = service.explanation_to_json(explanation, left="")
    return {
        **told,
        "columns_of_answer": service.headings_to_json(headings(plan, priced.ask.options)),
        "people": plan.people,
        "price_nanos": priced.price,
        "delta": float(plan.slack),
        "fingerprint": plan.fingerprint,
    }


def _quote(visit: Visit, priced: Priced) -> str:
    quote = Quote(
        question=msgspec.to_builtins(priced.question),
        asked=priced.asked,
        price=priced.price,
        delta=priced.delta,
        generation=visit.generation.name,
        who=visit.by.who,
        expires=visit.keeper.state.now() + quotes.SECONDS,
    )
    return quotes.write(quote, visit.keeper.key)


def ask(visit: Visit) -> Reply:
    """Charge a question and answer it, or return the answer that was given to it before.

    What was on record when the request came leaves at once, and so does a refusal. All else is
    recorded and leaves when its slot is over: before that nothing tells that it is ready, neither
    the ledger nor the turn that others wait for. Its key is looked up before its quote is read: a
    repetition of what was charged is answered, also where the quote is good no more.
    """
    _check_form(visit)
    departure = Departure(visit.keeper.slots, visit.arrived)
    key = None if visit.request.key is None else _digest(visit.request.key.encode())
    earlier = None if key is None else _settled(visit, key)
    if earlier is not None:
        given = _given(visit, earlier)
        if given is not None:
            return _shown(visit, given)
    priced = None if earlier is None else _charged(visit, earlier)
    if priced is None:
        priced = _bought(visit, visit.read(messages.Purchase))
    _check_fresh(visit, priced)
    stored = _stored(visit, priced, key)
    if stored is not None:
        return _shown(visit, stored)
    try:
        with _turns(visit, priced, key):
            answer = _stored(visit, priced, key) or _fresh(visit, priced, key, departure)
    except _Waits as error:
        return as_json(
            {"request": error.request},
            202,
            {"Location": f"/v1/requests/{error.request['number']}"},
        )
    try:
        return _shown(visit, answer)
    except SordinoError:
        raise
    except Exception as error:  # its charge stays, which is what is told then
        visit.keeper.tell("an answer that was charged could not be shown", error)
        raise SealedError from None


def _fresh(visit: Visit, priced: Priced, key: str | None, departure: Departure) -> Answer:
    """Return an answer that was not on record when its slot is over, and raise likewise."""
    try:
        answer = _answered(visit, priced, key, departure)
    except (_Waits, BudgetError, QueryError, Refusal):
        departure.wait_if_bound()
        raise
    except BaseException:
        departure.wait()
        raise
    departure.wait()
    return answer


class _Waits(Exception):
    """A question waits for approval; nothing was charged."""

    def __init__(self, request: dict[str, Any]) -> None:
        super().__init__()
        self.request = request


def _stored(visit: Visit, priced: Priced, key: str | None) -> Answer | None:
    """Return the answer on record: to the request with the same key, or to the same question."""
    if key is not None:
        earlier = _earlier(visit, key)
        given = None if earlier is None else _given(visit, earlier)
        if given is not None:
            return given
    if priced.ask.fresh:
        return None
    return visit.session.stored(priced.plan, priced.ask.options)


@contextmanager
def _turns(visit: Visit, priced: Priced, key: str | None) -> Iterator[None]:
    """Go alone: of requests with one key, and of equal questions that need no fresh noise."""
    turns, who = visit.keeper.turns, visit.by.who
    with ExitStack() as held:
        if key is not None:
            held.enter_context(turns.of((who, "key", key)))
        if not priced.ask.fresh:
            held.enter_context(turns.of((who, "question", priced.asked)))
        yield


def _bought(visit: Visit, purchase: messages.Purchase) -> Priced:
    """Return what is to be answered: what a quote says, or a question without one."""
    if (purchase.quote is None) == (purchase.question is None):
        raise wrong_body("state a quote or a question, and not both")
    if purchase.question is not None:
        return price(visit, purchase.question)
    quote = quotes.read(
        purchase.quote or "", visit.keeper.key, who=visit.by.who, now=visit.keeper.state.now()
    )
    changed = Refusal(
        "generation_changed",
        412,
        "the catalog has changed since this quote; nothing was charged",
        hint="ask for the price again",
    )
    if quote.generation != visit.generation.name:
        raise changed
    priced = price(visit, msgspec.convert(quote.question, messages.Question))
    if (priced.asked, priced.price, priced.delta) != (quote.asked, quote.price, quote.delta):
        raise changed
    return priced


def _check_fresh(visit: Visit, priced: Priced) -> None:
    if not priced.ask.fresh:
        return
    if not visit.by.token.fresh:
        raise forbidden()
    if visit.request.key is None:
        raise Refusal(
            "key_missing",
            428,
            "to pay for fresh noise, send an Idempotency-Key, so that a repetition costs nothing",
        )


def _earlier(visit: Visit, key: str) -> Row | None:
    """Return what is known of an earlier request with the same key, if it was the same request."""
    row = visit.keeper.state.row(
        "SELECT * FROM questions WHERE who = ? AND key = ?", visit.by.who, key
    )
    if row is not None and _is_forgotten(visit.session, row):
        return None  # and it stays until its key is used anew, for others may look at it just now
    if row is not None and row["body"] != _digest(visit.request.body):
        raise Refusal(
            "key_reused",
            422,
            "this Idempotency-Key was used with another body",
            hint="use a new key for each question",
        )
    return row


def _is_forgotten(session: Session, question: Row) -> bool:
    """Tell whether the ledger knows nothing of a question, as after an older copy was put back.

    Then the number of its charge is that of another one by now, or will be.
    """
    people, ledger = question["people"], session.ledger
    with ledger.store.read() as pages:
        last = ledger.chain.last(pages, people) if people in pages.spaces() else None
        number = 0 if last is None else last.number
        if question["state"] != "answered":
            return bool(question["before"] > number)
        charge = pages.entry(people, question["charge"]) if number else None
    if charge is None or charge.kind != "charge" or charge.who != question["who"]:
        return True
    is_anothers = charge.why.startswith("key ") and charge.why != f"key {question['key']}"
    return charge.plan != question["asked"] or (is_anothers and charge.number > question["before"])


def _settled(visit: Visit, key: str) -> Row | None:
    """Return an earlier request with the same key, if there is one, when it is not under way."""
    earlier = _earlier(visit, key)
    if earlier is None or earlier["state"] == "answered":
        return earlier
    with visit.keeper.turns.of((visit.by.who, "key", key)):
        return _earlier(visit, key)


def _given(visit: Visit, earlier: Row) -> Answer | None:
    """Return the answer to an earlier request, if one is on record."""
    number = earlier["charge"]
    if earlier["state"] != "answered":
        charge, ledger = _charge_of(visit.session, earlier), visit.session.ledger
        body = None if charge is None else ledger.recorded(ledger.receipt_for(charge))
        if charge is None or body is None or not is_readable(body):
            return None
        number = charge.number
    return replace(_recorded(visit, earlier["people"], number), again=True)


def _charged(visit: Visit, earlier: Row) -> Priced | None:
    """Return what an earlier request was charged for; None if it was not."""
    if _charge_of(visit.session, earlier) is None:
        return None
    question = msgspec.json.decode(earlier["ask"], type=messages.Question, strict=True)
    try:
        return price(visit, question)
    except (QueryError, BudgetError, CatalogError, WrongArgument) as error:
        # The catalog has changed, and these errors would say that nothing was charged.
        visit.keeper.tell("a charged question can be asked no more", error)
        raise SealedError from None


def _answered(visit: Visit, priced: Priced, key: str | None, departure: Departure) -> Answer:
    """Charge what is not paid for yet, compute and record.

    What was paid for may have to be paid for again, if the rows are written at this moment: then
    everything is looked at anew, so that nothing is charged without cap and approval.
    """
    while True:
        with suppress(Unpaid):
            return _carried_out(visit, priced, key, departure)


def _carried_out(visit: Visit, priced: Priced, key: str | None, departure: Departure) -> Answer:
    """Charge and answer, or answer what was paid for; Unpaid if it is so no more.

    Budget of the token and approval are used up before the charge, and given back if there was
    none: a crash in between takes them, and never grants anything. They are given back when the
    refusal leaves, for a token is told what was spent with it, and a person which requests wait.
    """
    session, keeper = visit.session, visit.keeper
    earlier = None if key is None else _earlier(visit, key)
    charge = None if earlier is None else _charge_of(session, earlier)
    is_paid = charge is not None or (
        not priced.ask.fresh and session.is_paid(priced.plan, priced.ask.options)
    )
    with ExitStack() as given_back:
        approval = None if is_paid else _reserve(visit, priced, given_back)
        question = _begun(visit, priced, key) if earlier is None or charge is None else earlier
        try:
            answer = _computed(visit, priced, key, departure, charge=charge, only_paid=is_paid)
        except Unpaid:
            _forget(keeper.state, question, charge)
            raise
        except (BudgetError, QueryError, CatalogError, Refusal):
            departure.wait_if_bound()
            _forget(keeper.state, question, charge)
            raise  # before the charge, so that all is given back
        except Exception as error:
            if not is_paid and not _was_charged(visit, question, given_back):
                departure.wait_if_bound()
                _forget(keeper.state, question, charge)
                raise
            given_back.pop_all()
            if isinstance(error, SealedError | LedgerError):
                raise
            keeper.tell("a question failed after its charge", error)
            raise SealedError from None
        except BaseException:  # what ends the process: there may be a charge
            given_back.pop_all()
            raise
        if not is_paid and _is_limited(visit, approval):
            own = _charge_read(visit, question, given_back)
            if own is None or own.number != answer.charge.number:
                approval = None  # somebody else has paid for it meanwhile
            else:
                given_back.pop_all()
        _finish(visit, question, answer, approval)
        return answer


def _computed(
    visit: Visit,
    priced: Priced,
    key: str | None,
    departure: Departure,
    *,
    charge: Entry | None,
    only_paid: bool,
) -> Answer:
    """Have a place and an answer there, to a charge that was made or with one that is."""
    session, options = visit.session, priced.ask.options
    with visit.keeper.room(visit.by.who, departure.seconds_left()) as place:
        departure.is_bound = True
        deadline = departure.seconds_left()  # less what the place was waited for
        if deadline == 0:
            raise busy()
        hold = place.until(departure.wait)
        if charge is not None:
            return session.resume(charge, priced.plan, options, deadline=deadline, hold=hold)
        return session.answer(
            priced.plan,
            options,
            fresh=priced.ask.fresh,
            deadline=deadline,
            why="" if key is None else f"key {key}",
            hold=hold,
            only_paid=only_paid,
        )


def _reserve(visit: Visit, priced: Priced, given_back: ExitStack) -> int | None:
    """Use up what a charge needs of cap and approval; return the number of the approval, if any.

    What the budget has no room for is refused here, at once: later, files may have been read.
    """
    keeper = visit.keeper
    if not keeper.tokens.reserve(visit.by.token, priced.price):
        raise _spent(visit, priced)
    given_back.callback(keeper.tokens.release, visit.by.token, priced.price)
    dear = is_dear(visit, priced)
    if dear:
        check_room(visit, priced)
        if keeper.requests.approved(visit, priced) is None:
            raise _waiting(visit, priced)
    visit.session.check_fits(priced.plan, priced.ask.options)
    if not dear:
        return None
    approval = keeper.requests.use(visit, priced)
    if approval is None:
        raise _waiting(visit, priced)
    given_back.callback(keeper.requests.give_back, approval, visit.by.who)
    return approval


def _waiting(visit: Visit, priced: Priced) -> _Waits:
    row = visit.keeper.requests.send(visit, priced, explained(visit, priced))
    return _Waits(request_to_json(visit, row))


def _is_limited(visit: Visit, approval: int | None) -> bool:
    return approval is not None or visit.by.token.cap is not None


def _was_charged(visit: Visit, question: Row, given_back: ExitStack) -> bool:
    return _charge_read(visit, question, given_back) is not None


def _charge_read(visit: Visit, question: Row, given_back: ExitStack) -> Entry | None:
    """Return the charge for a question; if the ledger cannot be read, nothing is given back."""
    try:
        return _charge_of(visit.session, question)
    except BaseException:
        given_back.pop_all()
        raise


def _spent(visit: Visit, priced: Priced) -> Refusal:
    """Say that a price does not fit into the cap of a token, and what does."""
    left = _amount(visit, priced, visit.keeper.tokens.left(visit.by.token) or 0)
    return Refusal(
        "token_spent",
        409,
        f"this costs {_amount(visit, priced, priced.price)}, and with this token {left} may "
        "still be spent",
        hint="ask for less, or ask the owner of the data for a token with a larger cap",
    )


def _amount(visit: Visit, priced: Priced, nanos: int) -> str:
    currency = visit.generation.catalog.purse(priced.plan.people).budget.currency
    return str(Price(currency, nanos))


def _finish(visit: Visit, question: Row, answer: Answer, approval: int | None) -> None:
    """Write down what has become of a question; its answer is on record, also without this."""
    number = answer.charge.number
    try:
        with visit.session.ledger.store.read() as pages:
            charge = pages.entry(question["people"], number)
        visit.keeper.state.change(
            "UPDATE questions SET state = 'answered', charge = ?, asked = ? WHERE number = ?",
            number,
            question["asked"] if charge is None else charge.plan,  # version 1 has other words
            question["number"],
        )
        if approval is not None:
            visit.keeper.requests.answered(approval, number)
    except (StateError, LedgerError, sqlite3.Error) as error:
        visit.keeper.tell("a question was answered, and that could not be written down", error)


def _forget(state: State, question: Row, charge: Entry | None) -> None:
    """Forget a question that was refused; never one whose key has been charged before."""
    if charge is None:
        state.change("DELETE FROM questions WHERE number = ?", question["number"])


def _begun(visit: Visit, priced: Priced, key: str | None) -> Row:
    """Write down what is about to be charged, so that it can be answered after a crash.

    What stood under its key had no charge, and may have said what another catalog made of it.
    """
    people, state = priced.plan.people, visit.keeper.state
    heads = {seen.people: seen.number for seen in visit.generation.session.ledger.heads()}
    with state.writing():
        state.change("DELETE FROM questions WHERE who = ? AND key = ?", visit.by.who, key)
        number = state.add(
            "INSERT INTO questions (who, key, body, ask, asked, people, before, state, at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, 'begun', ?)",
            visit.by.who,
            key,
            _digest(visit.request.body),
            msgspec.json.encode(priced.question).decode(),
            priced.asked,
            people,
            heads.get(people, 0),
            state.now(),
        )
    row = state.row("SELECT * FROM questions WHERE number = ?", number)
    if row is None:
        raise LookupError(number)
    return row


def _charge_of(session: Session, question: Row) -> Entry | None:
    """Return the charge that was made for a question since it was begun, or None if none was.

    With a key that is in the entry; without one, equal questions of one person take turns.
    """
    key, first = question["key"], question["before"] + 1
    why = "" if key is None else f"key {key}"
    with session.ledger.store.read() as pages:
        for entry in pages.entries(question["people"], first):
            if entry.kind != "charge" or (entry.who, entry.why) != (question["who"], why):
                continue
            if key is not None or entry.plan == question["asked"]:
                return entry
    return None


def rehearse(visit: Visit) -> Reply:
    """Answer a question on invented rows; nothing is charged, and nothing private is read."""
    priced = _bought(visit, visit.read(messages.Purchase))
    return _shown(visit, visit.session.rehearse_ask(priced.ask))


def resume(keeper: Keeper) -> None:
    """Answer what was charged and has no answer, each once, as the analyst who has asked it."""
    with keeper.generations.using() as generation:
        for charge in generation.session.ledger.unanswered():
            question = _question_of(keeper, charge)
            if question is None or question["attempts"]:
                continue
            keeper.state.change(
                "UPDATE questions SET attempts = attempts + 1 WHERE number = ?", question["number"]
            )
            place = f"{charge.people}:{charge.number}"
            keeper.state.note("keeper", "resume", place)
            try:
                ask = read_question(
                    msgspec.json.decode(question["ask"], type=messages.Question, strict=True)
                )
                session = generation.session.of(charge.who)
                plan = session.plan_ask(ask)
                departure = Departure(keeper.slots, keeper.clock())
                session.resume(
                    charge,
                    plan,
                    ask.options,
                    deadline=departure.seconds_left(),
                    hold=departure.wait,
                )
            except Exception as error:
                keeper.tell(f"charge {place} could not be answered", error)
                continue
            keeper.state.change(
                "UPDATE questions SET state = 'answered', charge = ? WHERE number = ?",
                charge.number,
                question["number"],
            )


def _question_of(keeper: Keeper, charge: Entry) -> Row | None:
    """Return the question that a charge was made for: by its key, or else the newest before it."""
    key = charge.why.removeprefix("key ") if charge.why.startswith("key ") else None
    return keeper.state.row(
        "SELECT * FROM questions WHERE who = ? AND people = ? AND asked = ? AND before < ? "
        "AND state = 'begun' AND key IS ? ORDER BY number DESC LIMIT 1",
        charge.who,
        charge.people,
        charge.plan,
        charge.number,
        key,
    )


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def answer(visit: Visit) -> Reply:
    """Return an answer that was given, by the place of its charge."""
    place = _PLACE.fullmatch(visit.request.path.get("answer", ""))
    if place is None:
        raise not_there()
    return _shown(visit, _recorded(visit, place[1], int(place[2])))


def _recorded(visit: Visit, people: str, number: int) -> Answer:
    """Return an answer on record; one of somebody else for the owner and auditors who may audit."""
    ledger = visit.generation.session.ledger
    with ledger.store.read() as pages:
        charge = pages.entry(people, number) if people in pages.spaces() else None
    if charge is None or charge.kind != "charge":
        raise not_there()
    is_own = charge.who == visit.by.who and visit.has_role("analyst", "owner")
    is_certificate = visit.request.query.get("format") == "certificate"
    if not (is_own or (visit.may_audit and (is_certificate or visit.has_role("owner")))):
        raise not_there()
    body = ledger.recorded(ledger.receipt_for(charge))
    if body is None or not is_readable(body):
        raise not_there()
    answer = from_bytes(body)
    if not may_know(visit.generation.catalog, visit.by.token.tables, answer.facts["tables"]):
        raise not_there()
    return answer


def _shown(visit: Visit, answer: Answer) -> Reply:
    """Return an answer in the form that is wanted."""
    match visit.request.query.get("format", "json"):
        case "json":
            left = visit.generation.session.of(answer.charge.who).budget.of(answer.charge.people)
            return as_json(
                {
                    **service.answer_to_json(answer, left),
                    "place": f"{answer.charge.people}:{answer.charge.number}",
                }
            )
        case "record":
            headers = {"Sordino-Again": "1"} if answer.again else {}
            return Reply(200, RECORD, to_bytes(answer), headers)
        case "csv":
            return Reply(200, "text/csv; charset=utf-8", _csv(answer).encode())
        case "arrow":
            return Reply(200, "application/vnd.apache.arrow.stream", _arrow(answer))
        case "certificate":
            text = f"{answer.certificate()}\n\n{visit.keeper.slots.in_words()}\n"
            return Reply(200, "text/plain; charset=utf-8", text.encode())
        case "text":
            return Reply(200, "text/plain; charset=utf-8", str(answer).encode())
        case _:
            raise _no_form()


def _check_form(visit: Visit) -> None:
    if visit.request.query.get("format", "json") not in _FORMS:
        raise _no_form()


def _no_form() -> Refusal:
    return Refusal("query", 400, f"format must be {', '.join(_FORMS[:-1])} or {_FORMS[-1]}")


def _csv(answer: Answer) -> str:
    table, file = answer.to_arrow(), io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(safe_cell, table.column_names))
    columns = ([safe_cell(cell) for cell in column.to_pylist()] for column in table.columns)
    writer.writerows(zip(*columns, strict=True))
    return file.getvalue()


def _arrow(answer: Answer) -> bytes:
    import pyarrow as pa  # loaded only where somebody wants Arrow

    table, out = answer.to_arrow(), pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return bytes(out.getvalue())


DESK: Desk = {"prices": prices, "ask": ask, "answer": answer, "rehearse": rehearse}
