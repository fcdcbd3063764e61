# SPDX-License-Identifier: Apache-2.0
"""The application: routes made of the table of calls, and one handler for all of them.

It checks the form of a request, hands it to the keeper as it came, and hands the reply on. Who asks
and what they may do is none of its business: the credential goes along, and the keeper judges it.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, nullcontext
from http import HTTPStatus
from typing import Final

from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sordino.channel import frames
from sordino.channel.calls import CALLS, Call
from sordino.channel.frames import Reply
from sordino.gateway import problems
from sordino.gateway.access import AccessLog, Numbers, Served
from sordino.gateway.forwarded import Proxies
from sordino.gateway.headers import SAFE, Names
from sordino.gateway.limits import Limits, is_long, read_body, throw_away
from sordino.gateway.link import KeeperBusy, KeeperGone, Link
from sordino.gateway.openapi import document
from sordino.gateway.problems import Problem, Refused

Handler = Callable[[Request], Awaitable[Response]]

FORMS: Final = {  # media types that Accept may name, and the form of an answer that each asks for
    "application/vnd.sordino.answer": "record",
    "text/csv": "csv",
    "application/vnd.apache.arrow.stream": "arrow",
    "text/plain": "text",
}
_FORMED = frozenset({"ask", "answer", "rehearse"})  # calls whose reply is an answer
_JSON = "application/json"
_WITHOUT_BODY = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
_VISIBLE = re.compile(r"[\x21-\x7e]+(?: [\x21-\x7e]+)*")
_LONGEST = {
    "authorization": 300,
    "content-type": 200,
    "idempotency-key": 200,
    "sordino-seen": 4_000,
    "if-none-match": 200,
}
_ROUTE, _NUMBER = "sordino.route", "sordino.number"  # their places in a scope


class Gateway:
    """The application that uvicorn serves."""

    def __init__(
        self,
        link: Link,
        *,
        names: Names,
        log: AccessLog,
        numbers: Numbers,
        proxies: Proxies,
        limits: Limits,
    ) -> None:
        self._link, self._names, self._log, self._numbers = link, names, log, numbers
        self._proxies, self._limits = proxies, limits
        self._catalogs = asyncio.Semaphore(limits.catalogs_at_once)
        self._inner = self._application()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, with the headers of all answers and a line in the access log."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        number = scope[_NUMBER] = self._numbers.next()
        begun = time.monotonic()
        status, size = 0, 0

        async def with_headers(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update({**SAFE, "Sordino-Request": number})
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
            await send(message)

        inner: ASGIApp = self._inner
        if _size(scope["headers"]) > self._limits.header:  # those that came in one piece
            inner = response_of(problems.LONG_HEADER.reply)
        elif not self._names.has(_host(Headers(scope=scope))):
            inner = response_of(problems.WRONG_HOST.reply)
        elif is_long(scope, self._limits):
            inner = response_of(problems.LONG_HEADER.reply)
        try:
            await inner(scope, receive, with_headers)
        finally:
            took = time.monotonic() - begun
            route = scope.get(_ROUTE, "")
            self._log.write(Served(number, scope["method"], route, status, size, took))

    def close(self) -> None:
        """Close the connections to the keeper."""
        self._link.close()

    def _application(self) -> Starlette:
        described = document()
        fixed = {
            "/healthz": Reply(200, _JSON, b'{"status":"ok"}'),
            "/openapi.json": Reply(200, _JSON, described),
        }
        routes = [Route(path, _fixed(path, reply)) for path, reply in fixed.items()]
        routes += [
            Route(path, self._handler(path, calls), methods=list(calls))
            for path, calls in by_path(CALLS).items()
        ]
        application = Starlette(
            routes=routes,
            exception_handlers={
                Refused: _refused,
                HTTPException: _no_route,
                Exception: _fault,
            },
        )
        application.router.redirect_slashes = False
        return application

    def _handler(self, path: str, calls: Mapping[str, Call]) -> Handler:
        async def handle(request: Request) -> Response:
            request.scope[_ROUTE] = path
            method = "GET" if request.method == "HEAD" else request.method
            call = calls[method]
            frame = self._frame(call, request)
            _check_media(call, request.headers)
            if call.is_long:
                said = await self._said(replace(frame, knocks=True))
                if said.status != HTTPStatus.NO_CONTENT:
                    await throw_away(request, self._limits)
                    return response_of(said)
            async with self._turn() if call.is_long else nullcontext():
                body = await self._body(call, request)
                return response_of(await self._said(replace(frame, body=body)))

        return handle

    async def _said(self, frame: frames.Request) -> Reply:
        """Return what the keeper says; raises Refused where it says nothing."""
        try:
            return await self._link.call(frame)
        except KeeperGone:
            raise Refused(problems.NO_KEEPER) from None
        except KeeperBusy:
            raise Refused(problems.BUSY) from None

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Be one of the few requests with a long body, so that few bytes are held for them."""
        try:
            async with asyncio.timeout(self._limits.catalog_waits):
                await self._catalogs.acquire()
        except TimeoutError:
            raise Refused(problems.BUSY) from None
        try:
            yield
        finally:
            self._catalogs.release()

    def _frame(self, call: Call, request: Request) -> frames.Request:
        """Return a request as the keeper takes it, without its body; Refused for a wrong form."""
        headers = request.headers
        _check_headers(headers)
        query = _query(call, request)
        if call.name in _FORMED and "format" not in query:
            query |= _form(headers.get("accept", ""))
        peer = "" if request.client is None else request.client.host
        return frames.Request(
            call=call.name,
            number=request.scope[_NUMBER],
            credential=_credential(headers.get("authorization", "")),
            path=dict(request.path_params),
            query=query,
            key=headers.get("idempotency-key"),
            seen=headers.get("sordino-seen"),
            tag=headers.get("if-none-match"),
            address=self._proxies.client_of(peer, headers.getlist("x-forwarded-for")),
        )

    async def _body(self, call: Call, request: Request) -> bytes:
        limits = self._limits
        body = await read_body(request, limits, limits.catalog if call.is_long else limits.body)
        if body and call.body is None:
            raise Refused(problems.NO_BODY_TAKEN)
        return body


def _check_media(call: Call, headers: Headers) -> None:
    """Refuse a body of another kind, or one with two ends, of which a proxy may see one."""
    if call.body is not None:
        media = headers.get("content-type", "").partition(";")[0].strip().lower()
        if media != _JSON or "content-encoding" in headers:
            raise Refused(problems.NOT_JSON)
    if "content-length" in headers and "transfer-encoding" in headers:
        raise Refused(problems.BAD_FORM)


def by_path(calls: Iterable[Call]) -> dict[str, dict[str, Call]]:
    """Return calls by their path, and by their method below it."""
    paths: dict[str, dict[str, Call]] = {}
    for call in calls:
        paths.setdefault(call.path, {})[call.method] = call
    return paths


def response_of(reply: Reply) -> Response:
    """Return a reply as HTTP."""
    media = None if reply.status in _WITHOUT_BODY else reply.media
    return Response(reply.body, reply.status, reply.headers, media)


def _fixed(path: str, reply: Reply) -> Handler:
    async def handle(request: Request) -> Response:
        request.scope[_ROUTE] = path
        return response_of(reply)

    return handle


def _size(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """Return how many bytes headers have, with what separates them."""
    return sum(len(name) + len(value) + len(b": \r\n") for name, value in headers)


def _host(headers: Headers) -> str:
    hosts = headers.getlist("host")
    return hosts[0] if len(hosts) == 1 else ""


def _check_headers(headers: Headers) -> None:
    for name, longest in _LONGEST.items():
        texts = headers.getlist(name)
        if len(texts) > 1 or any(
            len(text) > longest or not _VISIBLE.fullmatch(text) for text in texts
        ):
            raise Refused(problems.BAD_HEADER)


def _credential(authorization: str) -> str | None:
    """Return the token of a Bearer header; another scheme is as good as none."""
    scheme, _, token = authorization.partition(" ")
    return token if scheme.lower() == "bearer" and token else None


def _query(call: Call, request: Request) -> dict[str, str]:
    items = request.query_params.multi_items()
    query = dict(items)
    if len(query) != len(items) or not query.keys() <= call.query.keys():
        raise Refused(problems.BAD_QUERY)
    return query


def _form(accept: str) -> dict[str, str]:
    """Return the form of an answer that Accept names first among those there are, if any."""
    for part in accept.split(","):
        media = part.partition(";")[0].strip().lower()
        if media in FORMS:
            return {"format": FORMS[media]}
        if media == _JSON:
            break
    return {}


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)  # noqa: S101 - what this handler is for
    response = response_of(error.problem.reply)
    response.headers.update(error.headers)
    return response


async def _no_route(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - what this handler is for
    problem: Problem = problems.NO_METHOD if error.status_code == 405 else problems.NO_PATH
    response = response_of(problem.reply)
    response.headers.update(error.headers or {})
    return response


async def _fault(_: Request, error: Exception) -> Response:  # noqa: ARG001 - uvicorn logs it
    return response_of(problems.FAULT.reply)
