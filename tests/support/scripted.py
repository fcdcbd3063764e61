# SPDX-License-Identifier: Apache-2.0
"""A server that replies as it is told, or hangs up, so that clients can be seen in trouble."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import sleep
from typing import Any

from tests.support.stopping import Stopping

PROBLEM = "application/problem+json"


@dataclass
class Sent:
    """A request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Scripted:
    """One reply: a status, headers, a body; ``hang_up`` closes the connection in its place."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    hang_up: bool = False
    seconds: float = 0.0  # until it replies


def problem(status: int, code: str, detail: str = "no", **told: Any) -> Scripted:
    """A refusal as our servers write it."""
    headers = {"Content-Type": PROBLEM, **told.pop("headers", {})}
    kind = told.pop("kind", code.replace("_", "-"))
    document = {"type": f"urn:sordino:{kind}", "status": status, "code": code, "detail": detail}
    return Scripted(status, json.dumps({**document, **told}).encode(), headers)


def said(data: object, **headers: str) -> Scripted:
    """A reply in JSON."""
    return Scripted(200, json.dumps(data).encode(), {"Content-Type": "application/json", **headers})


class ScriptedServer(Stopping):
    """Replies with one script after the other; the last one stays."""

    def __init__(self) -> None:
        self.script: list[Scripted] = [Scripted()]
        self.requests: list[Sent] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def wrap(self, wrapped: Callable[[socket.socket], Any]) -> None:
        """Listen in another way from now on, such as with TLS."""
        self._server.socket = wrapped(self._server.socket)

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _next(self) -> Scripted:
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65_537)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): text for name, text in self.headers.items()}
                outer.requests.append(Sent(self.command, self.path, headers, body))
                script = outer._next()
                sleep(script.seconds)
                if script.hang_up:
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                self.send_response(script.status)
                for name, text in script.headers.items():
                    self.send_header(name, text)
                self.send_header("Content-Length", str(len(script.body)))
                self.end_headers()
                with suppress(BrokenPipeError, ConnectionResetError):  # who asked may be gone
                    self.wfile.write(script.body)

            def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - its name
                """Say nothing."""

        return Handler
