# SPDX-License-Identifier: Apache-2.0
"""What the gateway says no to by itself: documents of constant bytes, as RFC 9457 has them.

None of them repeats what came, so none can carry anything of a request into a log or a page.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import msgspec

from sordino.channel.frames import Reply
from sordino.errors import error_json

MEDIA: Final = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong: its status, its code, and what it says; the bytes are made once."""

    status: int
    code: str
    title: str
    hint: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = field(init=False)

    def __post_init__(self) -> None:
        told = error_json(self.code, self.title, hint=self.hint)
        told["detail"] = told.pop("message")
        told["arguments"] = []
        name = self.code.replace("_", "-")
        about = {"type": f"urn:sordino:{name}", "title": self.title, "status": self.status}
        object.__setattr__(self, "body", msgspec.json.encode({**about, **told}))

    @property
    def reply(self) -> Reply:
        """The document as a reply."""
        return Reply(self.status, MEDIA, self.body, self.headers)


class Refused(Exception):
    """A request goes no further; ``problem`` says why, and ``headers`` what else the answer has."""

    def __init__(self, problem: Problem, **headers: str) -> None:
        super().__init__(problem.code)
        self.problem = problem
        self.headers = headers


_CLOSE = {"Connection": "close"}
_SOON = {"Retry-After": "1"}

BAD_FORM = Problem(
    400, "bad_request", "this is no request of HTTP/1.1", "send it as RFC 9112 has it", _CLOSE
)
BAD_QUERY = Problem(
    400,
    "bad_query",
    "the query has an entry that this call does not know, or one twice",
    "/openapi.json lists the entries of each call",
)
BAD_HEADER = Problem(
    400,
    "bad_header",
    "a header of the request is there twice, is too long or has letters that it may not have",
    "send Authorization, Content-Type, Idempotency-Key, Sordino-Seen and If-None-Match at most "
    "once, in ASCII",
)
NO_BODY_TAKEN = Problem(
    400, "no_body_taken", "this call takes no body", "send it without one", _CLOSE
)
NO_PATH = Problem(
    404, "no_such_path", "there is nothing at this path", "/openapi.json lists all paths"
)
NO_METHOD = Problem(
    405, "no_such_method", "this path has no such method", "the header Allow lists those it has"
)
TOO_SLOW = Problem(
    408, "too_slow", "the request did not arrive in time", "send it in one go", _CLOSE
)
TOO_LARGE = Problem(
    413,
    "body_too_large",
    "the body is too large",
    "a body has at most 65,536 bytes, and one with a catalog 1,048,576",
    _CLOSE,
)
NOT_JSON = Problem(
    415,
    "media_type",
    "this call takes JSON, not compressed",
    "send Content-Type: application/json and no Content-Encoding",
    _CLOSE,
)
WRONG_HOST = Problem(
    421,
    "wrong_host",
    "the server does not go by this name",
    "use the address that whoever runs the server gave you; --name adds one",
    _CLOSE,
)
LONG_HEADER = Problem(
    431, "header_too_large", "the headers are too large", "they have 16,384 bytes in all", _CLOSE
)
FAULT = Problem(
    500, "gateway_fault", "the gateway failed", "whoever runs the server finds why in its log"
)
NO_KEEPER = Problem(
    503,
    "keeper_unavailable",
    "the keeper cannot be reached now",
    "ask again; with the same Idempotency-Key nothing is charged twice",
    _SOON,
)
BUSY = Problem(
    503, "busy", "too many requests are under way", "ask again in a moment", _SOON | _CLOSE
)

ALL: Final = (
    BAD_FORM, BAD_QUERY, BAD_HEADER, NO_BODY_TAKEN, NO_PATH, NO_METHOD, TOO_SLOW, TOO_LARGE,
    NOT_JSON, WRONG_HOST, LONG_HEADER, FAULT, NO_KEEPER, BUSY,
)  # fmt: skip
