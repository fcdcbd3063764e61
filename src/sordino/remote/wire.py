# SPDX-License-Identifier: Apache-2.0
"""One server over HTTP: what is sent, what is sent again, and what went wrong in words.

The token is in one header and nowhere else: in no address, no log, no error and no repr. A request
is sent again only where that cannot pay twice: it reads, or it has a key by which the server knows
it again.
"""

from __future__ import annotations

import ipaddress
import json
import os
import secrets
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sordino import __version__
from sordino.errors import LedgerError, NotConnected, SealedError, ServerError
from sordino.remote.heads import Heads
from sordino.remote.problems import error_of

if TYPE_CHECKING:
    import httpx

CONNECTING, READING = 10.0, 30.0  # seconds
WAITING = 600.0  # seconds that an answer may take
PATIENCE = 120.0  # seconds that are waited in all, for a server that is busy or away
_PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0)  # seconds before a request is sent again
_LONGEST_PAUSE = 60.0
_AGAIN = frozenset({429, 502, 503, 504})
_BUSY = frozenset({"too_fast", "keeper_unavailable", "busy"})
_PROBLEM = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server replied."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body as JSON; raises ServerError where it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise not_ours() from None


def not_ours() -> ServerError:
    """Say that what came is not what a server of ours says."""
    return ServerError(
        "not_ours",
        "the reply is none of a sordino server",
        hint="is there a proxy in between, or another server at this address?",
    )


class Wire:
    """Requests to one server as one person; threads may share it."""

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        ca: str | None = None,
        heads: Heads | None = None,
        waiting: float = WAITING,
        patience: float = PATIENCE,
        rest: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = checked_url(url)
        self._token = None if token is None else checked_token(token)
        self._ca = ca
        self._context = _context(ca)
        self._heads = heads
        self._waiting, self._patience, self._rest = waiting, patience, rest
        self._keys: dict[str, str] = {}  # of questions whose outcome is not known
        self._turn = Lock()
        self._closed = False
        self._client, self._process = self._opened(), os.getpid()

    def __repr__(self) -> str:
        return f"<wire to {self.url}>"

    def __reduce__(self) -> Any:
        raise TypeError("a connection has a token, and is not written down; connect again")

    def get(self, path: str, **query: str | int | None) -> Reply:
        """Read something."""
        stated = {name: str(value) for name, value in query.items() if value is not None}
        return self._sent("GET", path, query=stated)

    def post(
        self, path: str, body: Mapping[str, Any], *, accept: str = "*/*", sql: str = ""
    ) -> Reply:
        """Send something that costs nothing if it comes twice."""
        headers = {"Accept": accept}
        return self._sent("POST", path, body=_bytes(body), headers=headers, sql=sql, slow=True)

    def delete(self, path: str) -> Reply:
        """End something."""
        return self._sent("DELETE", path)

    def buy(self, path: str, body: Mapping[str, Any], *, accept: str, sql: str) -> Reply:
        """Send a question that is charged, with a key, so that it is charged once.

        Until it is known what became of it, the same question has the same key: sent anew, it is
        answered for what was paid.
        """
        sent = _bytes(body)
        name = sha256(path.encode() + b"\0" + sent).hexdigest()
        with self._turn:
            key = self._keys.setdefault(name, secrets.token_hex(16))
        headers = {"Idempotency-Key": key, "Accept": accept}
        try:
            reply = self._sent("POST", path, body=sent, headers=headers, sql=sql, slow=True)
        except Exception as error:
            if not _is_open(error):
                self._settled(name, key)
            raise
        self._settled(name, key)
        return reply

    def _settled(self, name: str, key: str) -> None:
        with self._turn:
            if self._keys.get(name) == key:
                del self._keys[name]

    def _sent(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        sql: str = "",
        slow: bool = False,
    ) -> Reply:
        """Send a request, again if need be, and return the reply if it is no refusal."""
        if self._closed:
            raise ValueError("this session is closed; connect again")
        request = self._request(method, path, query or {}, body, headers or {}, slow=slow)
        waited, pauses = 0.0, iter(_PAUSES)
        while True:
            found = self._once(request)
            pause = next(pauses, None) if found.again is None else found.again
            if found.reply is not None and not found.is_passing:
                break
            if pause is None or waited + pause > self._patience or not found.is_passing:
                break
            self._rest(pause)
            waited += pause
        if found.reply is None:
            raise found.error or not_ours()
        if found.reply.status >= 400:
            raise self._refusal(found.reply, sql, seen="sordino-seen" in request.headers)
        return found.reply

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes | None,
        headers: Mapping[str, str],
        *,
        slow: bool,
    ) -> httpx.Request:
        stated = {"User-Agent": f"sordino/{__version__}", **headers}
        if self._token is not None:
            stated["Authorization"] = f"Bearer {self._token}"
        seen = None if self._heads is None or self._token is None else self._heads.newest
        if seen is not None:
            stated["Sordino-Seen"] = seen
        if body is not None:
            stated["Content-Type"] = "application/json"
        import httpx  # takes long to import

        reading = self._waiting if slow else READING
        return self._here().build_request(
            method,
            self.url + path,
            params=query or None,
            content=body,
            headers=stated,
            timeout=httpx.Timeout(reading, connect=CONNECTING),
        )

    def _once(self, request: httpx.Request) -> _Found:
        """Send a request one time; no error of a library leaves here, for it holds the token."""
        import httpx  # as above

        error: ServerError
        try:
            response = self._here().send(request)
        except httpx.TimeoutException as failure:
            error, is_passing = self._too_slow(failure), isinstance(failure, httpx.ConnectTimeout)
        except httpx.HTTPError as failure:
            error, is_passing = self._away(failure)
        else:
            reply = Reply(response.status_code, dict(response.headers), response.content)
            return _Found(reply, None, _passes(reply), _pause(reply))
        return _Found(None, error, is_passing, None)

    def _refusal(self, reply: Reply, sql: str, *, seen: bool) -> Exception:
        """Return the exception for a reply that refuses."""
        problem = _problem(reply)
        error = error_of(problem, reply.status, sql=sql)
        if not problem and isinstance(error, ServerError):
            error.hint = error.hint or not_ours().hint
        if seen and self._heads is not None and problem.get("code") == "ledger":
            return type(error)(
                f"{error}; the newest receipt in {str(self._heads.path)!r} went along, and an "
                "older copy of the ledger would be refused for it"
            )
        return error

    def _too_slow(self, failure: httpx.TimeoutException) -> NotConnected:
        import httpx  # as above

        if isinstance(failure, httpx.ConnectTimeout):
            return self._unreachable("did not answer in time")
        return self._unreachable("took too long to reply")

    def _away(self, failure: httpx.HTTPError) -> tuple[ServerError, bool]:
        import httpx  # as above

        certificate = _certificate_error(failure)
        if certificate is not None:
            return (
                ServerError(
                    "untrusted",
                    f"the certificate of {self.url} is not trusted: {certificate}",
                    hint="if its owner gave you a certificate of their own, name it with "
                    "ca= or --ca, and otherwise send it nothing",
                ),
                False,
            )
        if isinstance(failure, httpx.ConnectError):
            return self._unreachable("cannot be reached"), True
        return self._unreachable("broke off the connection"), True

    def _unreachable(self, what: str) -> NotConnected:
        return NotConnected(
            "not_connected",
            f"the server {self.url} {what}",
            hint="ask the same again: what was charged is answered without paying again",
        )

    def _here(self) -> httpx.Client:
        """Return the connections of this process; those of a parent are left to it."""
        with self._turn:
            if self._process != os.getpid():
                self._client, self._process = self._opened(), os.getpid()
            return self._client

    def _opened(self) -> httpx.Client:
        import httpx  # as above

        is_near = is_loopback(urlsplit(self.url).hostname or "")
        return httpx.Client(
            verify=self._context,
            follow_redirects=False,
            trust_env=not is_near,  # a proxy has no business on the way to this machine itself
        )

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        self._client.close()


@dataclass(frozen=True, slots=True)
class _Found:
    """What came of sending a request once: a reply or an error, and whether it may pass."""

    reply: Reply | None
    error: ServerError | None
    is_passing: bool
    again: float | None  # seconds after which the server wants to be asked again


def checked_url(url: str) -> str:
    """Return the address of a server without a slash at its end.

    >>> checked_url("https://study.example/")
    'https://study.example'
    >>> checked_url("http://study.example")
    Traceback (most recent call last):
    ValueError: http:// would show the token to everybody on the way; write https://study.example
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("the address of a server is written as https://host:port")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ValueError("the address of a server has no name, password, query or fragment in it")
    plain = f"{parts.netloc}{parts.path.rstrip('/')}"
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise ValueError(
            f"http:// would show the token to everybody on the way; write https://{plain}"
        )
    return f"{parts.scheme}://{plain}"


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine itself.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("127.0.0.1.example")
    (True, True, False)
    """
    if host.casefold() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def checked_token(token: str) -> str:
    """Return a token that can stand in a header; what it is stays untold if it cannot."""
    if not isinstance(token, str) or not token.isascii() or not token.strip().isprintable():
        raise ValueError("a token is a text of letters, digits, dashes and underscores")
    if not token.strip() or " " in token.strip():
        raise ValueError("a token is a text of letters, digits, dashes and underscores")
    return token.strip()


def _context(ca: str | None) -> ssl.SSLContext | bool:
    if ca is None:
        return True
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise ValueError(
            f"the authority {ca!r} cannot be read: {error.strerror or error}"
        ) from None


def _certificate_error(failure: BaseException) -> str | None:
    """Return what is wrong with a certificate, if that is why a connection failed."""
    cause: BaseException | None = failure
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause.verify_message
        cause = cause.__cause__ or cause.__context__
    return None


def _bytes(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":"), allow_nan=False).encode()


def _passes(reply: Reply) -> bool:
    """Tell whether a refusal is about this moment, so that it is worth asking again."""
    if reply.status not in _AGAIN:
        return False
    return reply.status in (502, 504) or _problem(reply).get("code") in _BUSY


def _pause(reply: Reply) -> float | None:
    stated = reply.headers.get("retry-after", "")
    return min(float(stated), _LONGEST_PAUSE) if stated.isdecimal() else None


def _problem(reply: Reply) -> Mapping[str, Any]:
    if not reply.headers.get("content-type", "").startswith(_PROBLEM):
        return {}
    try:
        found = json.loads(reply.body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _is_open(error: Exception) -> bool:
    """Tell whether a question may have been charged without being answered."""
    if isinstance(error, ServerError):
        return error.status is None or error.status >= 500
    return isinstance(error, LedgerError | SealedError)
