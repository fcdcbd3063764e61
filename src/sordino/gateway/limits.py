# SPDX-License-Identifier: Apache-2.0
"""What one client may take of the gateway: bytes, seconds and connections.

uvicorn bounds the headers alone: it waits without end for the first byte, for the end of headers
and for a client that reads nothing, and it says no in words of its own. The protocol here puts a
time to each of them, lets the connection go that was idle longest when there are too many, and says
no with the same documents as everything else.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import Any

import h11
from starlette.requests import ClientDisconnect, Request
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from sordino.channel.calls import LONGEST_BODY, LONGEST_CATALOG
from sordino.gateway.access import AccessLog, Numbers, Served
from sordino.gateway.headers import SAFE
from sordino.gateway.problems import (
    BAD_FORM,
    BUSY,
    LONG_HEADER,
    TOO_LARGE,
    TOO_SLOW,
    Problem,
    Refused,
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes, seconds and connections; those of a worker of its own are its own."""

    body: int = LONGEST_BODY
    catalog: int = LONGEST_CATALOG  # a body with one
    catalogs_at_once: int = 2
    catalog_waits: float = 10.0  # seconds for one that comes while there are so many
    thrown_away: int = 16 * 1024 * 1024  # of a body that is too large, so that its client hears why
    header: int = 16 * 1024
    headers_in: float = 10.0  # seconds until all headers are there
    body_in: float = 10.0  # seconds until the whole body is there
    idle: int = 20  # seconds between two requests
    answer_out: float = 30.0  # seconds in which a client reads nothing of what it asked for
    connections: int = 1_000


def is_long(scope: Scope, limits: Limits) -> bool:
    """Tell whether a request has too many bytes before its body.

    h11 counts those of headers that come in pieces; these came at once.
    """
    size = len(scope["raw_path"]) + len(scope["query_string"])
    return size + sum(len(name) + len(text) for name, text in scope["headers"]) > limits.header


async def read_body(request: Request, limits: Limits, longest: int) -> bytes:
    """Return the body of a request; raises Refused for one too large, or too slow."""
    body = bytearray()
    thrown_away = 0
    try:
        async with asyncio.timeout(limits.body_in):
            async for piece in request.stream():
                if len(body) + len(piece) > longest or thrown_away:
                    thrown_away += len(piece)
                    if thrown_away > limits.thrown_away:
                        break
                else:
                    body += piece
    except TimeoutError:
        raise Refused(TOO_SLOW) from None
    except ClientDisconnect:
        raise Refused(TOO_SLOW) from None  # nobody hears it, and the request goes no further
    if thrown_away:
        raise Refused(TOO_LARGE)
    return bytes(body)


async def throw_away(request: Request, limits: Limits) -> None:
    """Take a body that nobody wants, so that its client hears why; nothing of it is held."""
    with contextlib.suppress(Refused):
        await read_body(request, limits, 0)


class BoundedProtocol(H11Protocol):
    """A connection with a time for everything; ``bounded`` makes the class that is used."""

    limits: Limits
    log: AccessLog
    numbers: Numbers

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._headers_due: asyncio.TimerHandle | None = None
        self._reading_due: asyncio.TimerHandle | None = None
        self.idle_since = time.monotonic()

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, and let another connection go if there are too many."""
        super().connection_made(transport)
        self._await_headers()
        if len(self.connections) > self.limits.connections:
            idle = [one for one in self._siblings() if one.is_idle and one is not self]
            if idle:
                min(idle, key=lambda one: one.idle_since).transport.abort()
            else:
                self._refuse(BUSY)

    def connection_lost(self, exc: Exception | None) -> None:
        """End all times."""
        self._no_longer_await_headers()
        self._set_reading_due(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; those of headers have to end in time."""
        if self.is_idle and self._headers_due is None:
            self._await_headers()
        super().data_received(data)
        if not self.is_idle:
            self._no_longer_await_headers()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Answer a client that sends no more but still listens; TLS does not know of such."""
        if self.is_idle or self.cycle.more_body or self.scheme == "https":
            return False
        self.cycle.keep_alive = False
        return True

    def on_response_complete(self) -> None:
        """Be idle from now on."""
        self.idle_since = time.monotonic()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Give a client that reads nothing some time, and hang up then."""
        super().pause_writing()
        due = self.loop.call_later(self.limits.answer_out, self.transport.abort)
        self._set_reading_due(due)

    def resume_writing(self) -> None:
        """Go on, since the client reads."""
        self._set_reading_due(None)
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, also one whose client never read its last answer."""
        super().timeout_keep_alive_handler()
        self.loop.call_later(self.limits.answer_out, self.transport.abort)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's words are not said
        """Say that this is no HTTP, in our words."""
        self._refuse(LONG_HEADER if self._is_too_long() else BAD_FORM)

    def _siblings(self) -> list[BoundedProtocol]:
        return [one for one in self.connections if isinstance(one, BoundedProtocol)]

    def _is_too_long(self) -> bool:
        held, _ = self.conn.trailing_data
        return len(held) > self.limits.header

    def _await_headers(self) -> None:
        self._no_longer_await_headers()
        self._headers_due = self.loop.call_later(self.limits.headers_in, self._headers_late)

    def _headers_late(self) -> None:
        begun, _ = self.conn.trailing_data
        if begun:
            self._refuse(TOO_SLOW)
        else:
            self.transport.close()  # nothing was asked, and there is nobody to tell

    def _no_longer_await_headers(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None

    def _set_reading_due(self, due: asyncio.TimerHandle | None) -> None:
        if self._reading_due is not None:
            self._reading_due.cancel()
        self._reading_due = due

    def _refuse(self, problem: Problem) -> None:
        """Say no and hang up; in the middle of an answer, only hang up."""
        if self.transport.is_closing():
            return
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()
            return
        number = self.numbers.next()
        reply = problem.reply
        headers = {
            **SAFE,
            **reply.headers,
            "Content-Type": reply.media,
            "Content-Length": str(len(reply.body)),
            "Connection": "close",
            "Sordino-Request": number,
        }
        lines = [
            f"HTTP/1.1 {reply.status} ",
            *(f"{name}: {text}" for name, text in headers.items()),
        ]
        self.transport.write("\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + reply.body)
        self.transport.close()
        self.loop.call_later(self.limits.answer_out, self.transport.abort)
        self.log.write(Served(number, "", "", reply.status, len(reply.body), 0.0))


def bounded(limits: Limits, log: AccessLog, numbers: Numbers) -> type[BoundedProtocol]:
    """Return the class of connections with these limits."""
    return type("Bounded", (BoundedProtocol,), {"limits": limits, "log": log, "numbers": numbers})
