# SPDX-License-Identifier: Apache-2.0
"""The keeper: takes a request, finds out who asks and whether they may, does it, and replies."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from math import ceil
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Final

import msgspec

from sordino.channel.calls import BY_NAME, Call
from sordino.channel.frames import Reply, Request
from sordino.channel.messages import Body, Prices
from sordino.errors import (
    BudgetError,
    CatalogError,
    LedgerError,
    QueryError,
    SealedError,
)
from sordino.keeper import asking, catalogs, people, reading, requests
from sordino.keeper.generations import Generation, Generations
from sordino.keeper.metrics import Metrics
from sordino.keeper.passwords import Guesses, Logins
from sordino.keeper.people import People
from sordino.keeper.problems import (
    BROKEN,
    SEALED,
    UNUSABLE,
    Refusal,
    WrongArgument,
    busy,
    forbidden,
    not_there,
    reply_of,
    unknown_token,
    wrong_body,
)
from sordino.keeper.rates import Company, Rates
from sordino.keeper.replies import as_json, nothing
from sordino.keeper.requests import Requests
from sordino.keeper.slots import Slots
from sordino.keeper.state import State, StateError
from sordino.keeper.tokens import Caller, Tokens
from sordino.keeper.turns import Place, Places, Turns
from sordino.keeper.visit import Desk, Handler, Visit
from sordino.ledger.entry import read_seen

_LOG = logging.getLogger("sordino.keeper")
# All are made before there are threads: two of them that make what belongs to one type at the same
# moment, as ``msgspec.json.decode`` does when it meets a type first, end the process.
_DECODERS: Final[Mapping[type[Body], msgspec.json.Decoder[Body]]] = {
    call.body: msgspec.json.Decoder(call.body, strict=True)
    for call in BY_NAME.values()
    if call.body is not None
}
_LONGEST_KEY = 200
_AT_ONCE = 2 * (os.cpu_count() or 1)  # questions that are computed; each uses several threads
_LONGEST_WAIT = 600.0  # seconds for one of these places, where there is no deadline
# Of one person, a quarter of the connections there are, so that nobody keeps others out.
_UNDER_WAY = 64  # requests
_FREE_AT_ONCE = 4  # of them, those that are computed and cost nothing
# Whoever has taken a token floods the server with it, and its person can end it all the same: these
# are not among those that are under way, and are counted by themselves.
_ENDS = frozenset({"revoke", "logout"})
# Lists are among them: each may be some ten megabytes long, and more while it is made.
_FREE = frozenset({"prices", "rehearse", "requests", "history", "ledger", "journal", "tokens"})
_LEAST_FREE = 50 * 1024 * 1024  # bytes on the disk, below which it is said that none are left


def ready(visit: Visit) -> Reply:
    """Tell whether questions can be answered."""
    visit.generation.session.ledger.heads()
    return as_json({"ready": True})


def health(visit: Visit) -> Reply:
    """Say how the keeper is."""
    return as_json(visit.keeper.health(visit.generation))


_DESK: Desk = {"ready": ready, "health": health}
_HANDLERS: Final[Mapping[str, Handler]] = {
    **reading.DESK,
    **asking.DESK,
    **people.DESK,
    **requests.DESK,
    **catalogs.DESK,
    **_DESK,
}


class Keeper:
    """One keeper: the generation that is served, its own state, and what is counted.

    ``reply`` never raises, and may be called by many threads at once.
    """

    def __init__(
        self,
        generation: Generation,
        state: State,
        key: bytes,
        *,
        clock: Callable[[], float] = monotonic,
        rest: Callable[[float], None] = sleep,
    ) -> None:
        serving = generation.catalog.serving
        self.generations = Generations(generation)
        self.state = state
        self.folder = state.path.parent
        self.key = key
        self.tokens = Tokens(state)
        self.people = People(state)
        self.guesses = Guesses(clock)
        self.logins = Logins()
        self.rates = Rates(serving.rate, clock)
        self._under_way, self._free = Company(_UNDER_WAY), Company(_FREE_AT_ONCE)
        self.slots = Slots(serving.slot, serving.deadline, clock=clock, rest=rest)
        self.requests = Requests(state)
        self.metrics = Metrics()
        self.turns = Turns()
        self.swapping = Lock()
        self._places = Places(_AT_ONCE)
        self.clock = clock
        self._began = clock()

    def reply(self, request: Request) -> Reply:
        """Return the reply to a request, whatever it is."""
        reply = self._any_reply(request, self.clock())
        self.metrics.count(request.call if request.call in BY_NAME else "unknown", reply.status)
        return reply

    def _any_reply(self, request: Request, arrived: float) -> Reply:
        try:
            return self._reply(request, arrived)
        except (Refusal, WrongArgument, QueryError, BudgetError) as error:
            return reply_of(error)
        except SealedError:
            return SEALED
        except (LedgerError, CatalogError, StateError) as error:
            self.tell("a request met a ledger or a catalog that cannot be used", error)
            return UNUSABLE
        except Exception as error:
            self.tell("a request could not be done", error)
            return BROKEN

    def _reply(self, request: Request, arrived: float) -> Reply:
        call = BY_NAME.get(request.call)
        if call is None:
            raise not_there()
        caller = self._caller(request, call)
        if caller is None:
            return self._done(request, call, None, arrived)
        if request.knocks:
            self._check_rate(caller.who)
            return nothing()
        if call.name in _ENDS:
            self._check_rate(f"{caller.who}\n{call.name}")
            return self._done(request, call, caller, arrived)
        self._check_rate(caller.who)
        with self._under_way.one_more(caller.who) as joins:
            if not joins:
                raise _too_many("too many of your requests are under way; wait for one of them", 1)
            return self._done(request, call, caller, arrived)

    def _done(self, request: Request, call: Call, caller: Caller | None, arrived: float) -> Reply:
        """Do what a request asks for, by somebody who may make the call."""
        body = _decoded(request, call)
        if caller is not None and isinstance(body, Prices):
            self.rates.add(caller.who, len(body.questions) - 1)
        handler = _HANDLERS.get(call.name)
        if handler is None:
            raise not_there()
        is_free = call.name in _FREE
        with (
            self._free.next_one(caller.who) if caller is not None and is_free else nullcontext(),
            self.generations.using() as generation,
        ):
            if caller is not None and request.seen is not None:
                _hold_to(generation, request.seen)
            visit = Visit(self, request, call, caller, body, arrived, generation)
            try:
                return handler(visit)
            except (LedgerError, CatalogError) as error:
                if call.name == "swap" or not self._is_changing(generation):
                    raise
                self.tell("a request met a catalog that is being changed", error)
                raise Refusal(
                    "busy",
                    503,
                    "the catalog is being changed; ask again in a moment",
                    headers={"Retry-After": "1"},
                ) from None

    def _is_changing(self, generation: Generation) -> bool:
        """Tell whether the ledger may know other limits already than a generation."""
        return self.swapping.locked() or generation is not self.generations.now

    def _caller(self, request: Request, call: Call) -> Caller | None:
        """Return who asks, if they may make this call; nobody may who is not known to."""
        if call.roles is None:
            return None
        caller = self.tokens.caller(request.credential)
        if caller is None:
            raise unknown_token()
        if not caller.roles & call.roles:
            raise forbidden()
        if call.scope is not None and call.scope not in caller.token.scopes:
            raise forbidden()
        return caller

    def _check_rate(self, who: str) -> None:
        wait = self.rates.wait(who)
        if wait:
            raise _too_many("too many requests; wait before the next one", ceil(wait))

    def serve(self, generation: Generation) -> None:
        """Serve another generation from now on."""
        serving = generation.catalog.serving
        self.slots.set(serving.slot, serving.deadline)
        self.rates.rate = serving.rate
        self.generations.swap(generation)

    @contextmanager
    def room(self, who: str, seconds: float | None) -> Iterator[Place]:
        """Be one of the few questions that are computed at once, as a context.

        Who would wait for longer than the answer may take is told so, before anything is charged.
        """
        place = self._places.take(who, _LONGEST_WAIT if seconds is None else seconds)
        if place is None:
            raise busy()
        try:
            yield place
        finally:
            place.leave()

    def numbers(self) -> str:
        """Return what is counted, for the owner's own socket."""
        told = self.health(self.generations.now)
        return self.metrics.text(
            {name: float(value) for name, value in told.items() if isinstance(value, int | float)}
        )

    def health(self, generation: Generation) -> dict[str, object]:
        """Return how the keeper is; nothing of it depends on the data."""
        free = shutil.disk_usage(self.state.path.parent).free
        return {
            "generation": generation.name,
            "up_seconds": int(self.clock() - self._began),
            "delivered": self.slots.delivered,
            "overruns": self.slots.overruns,
            "disk_free_bytes": free,
            "disk_is_short": free < _LEAST_FREE,
            "journal_steps": self.state.check_journal(),
        }

    def tell(self, what: str, error: BaseException) -> None:
        """Write to the log what failed and of which kind it was, and no word of what it says."""
        places = []
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            places.append(f"{Path(code.co_filename).name}:{trace.tb_lineno} {code.co_name}")
            trace = trace.tb_next
        _LOG.error("%s: %s at %s", what, type(error).__name__, " < ".join(reversed(places[-5:])))

    def close(self) -> None:
        """Let go of the session and the state."""
        self.generations.now.session.close()
        self.state.close()


def _too_many(message: str, seconds: int) -> Refusal:
    return Refusal("too_fast", 429, message, headers={"Retry-After": str(seconds)})


def _decoded(request: Request, call: Call) -> Body | None:
    """Return the body, read strictly by the type that the call takes."""
    if request.key is not None and not (
        0 < len(request.key) <= _LONGEST_KEY and request.key.isascii() and request.key.isprintable()
    ):
        raise wrong_body(f"an Idempotency-Key has 1 to {_LONGEST_KEY} printable ASCII characters")
    if call.body is None:
        if request.body:
            raise wrong_body("this call takes no body")
        return None
    if len(request.body) > call.longest:
        raise Refusal("body_too_large", 413, f"a body has at most {call.longest} bytes here")
    try:
        return _DECODERS[call.body].decode(request.body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, OverflowError) as error:
        raise wrong_body(f"this is not the body that the call takes: {error}") from None


def _hold_to(generation: Generation, seen: str) -> None:
    try:
        receipt = read_seen(seen)
    except ValueError as error:
        raise Refusal("query", 400, str(error)) from None
    generation.session.ledger.hold_to(receipt)
