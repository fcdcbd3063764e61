# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document: what can be called, made of the table of calls and the types of bodies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec

import sordino
from sordino.channel import messages
from sordino.channel.calls import CALLS, Call
from sordino.gateway.problems import MEDIA

Json = dict[str, Any]

_QUESTION: Final = {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.1"}
_EXAMPLES: Final[Mapping[type[messages.Body], Json]] = {
    messages.Prices: {"questions": [_QUESTION, {**_QUESTION, "epsilon": None, "within": 50}]},
    messages.Purchase: {"question": _QUESTION},
    messages.Login: {"name": "alice", "password": "correct horse battery staple"},
    messages.Vote: {"decision": "approve", "comment": "as agreed"},
    messages.Petition: {"question": {**_QUESTION, "epsilon": 1}, "comment": "for the report"},
    messages.Person: {"name": "alice", "roles": ["analyst"]},
    messages.NewPassword: {"password": "correct horse battery staple", "old": "what it was before"},
    messages.NewToken: {"note": "notebook", "days": 30, "scopes": ["price", "ask"], "cap": "0.5"},
    messages.NewCatalog: {"why": "the budget was raised, as agreed in spring"},
    messages.Draft: {"text": "[budget]\nepsilon = 1\n"},
}
_FORMS: Final = (
    "application/vnd.sordino.answer", "text/csv", "application/vnd.apache.arrow.stream",
    "text/plain",
)  # fmt: skip
_MEDIA: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("ask", "answer", "rehearse"), ("application/json", *_FORMS)),
    "ledger": ("application/jsonl",),
}
_ENTRY = re.compile(r"\{(\w+)\}")
_PATH_ENTRIES: Final = {
    "answer": "the place of its charge, such as people:12",
    "request": "the number of the request",
    "name": "the name of somebody",
    "token": "the number of the token",
}
_HEADERS: Final = {
    "ask": ("Idempotency-Key", "Sordino-Seen"),
    "petition": ("Idempotency-Key",),
    "catalog": ("If-None-Match",),
}
_ABOUT_HEADERS: Final = {
    "Idempotency-Key": "A name of one's own for this request: with it, it is carried out once.",
    "Sordino-Seen": "The newest receipt that is remembered, which the ledger has to hold.",
    "If-None-Match": "The generation that is known.",
}
_ALWAYS: Final = (400, 408, 421, 429, 431, 500, 503)
_MORE: Final[Mapping[str, tuple[int, ...]]] = {
    "prices": (409, 422),
    "ask": (409, 412, 422, 428),
    "rehearse": (409, 412, 422),
    "catalog": (304,),
    "petition": (409, 412, 422),
    "vote": (409,),
    "withdraw": (409,),
    "person": (409,),
    "dismiss": (409,),
    "token": (409,),
    "check": (422,),
    "swap": (409, 412, 422),
    "verify": (409,),
}
_WORDS: Final[Mapping[int, str]] = {
    200: "Done.",
    201: "Made.",
    202: "It waits for approval; Location says where.",
    204: "Done; there is nothing to say.",
    304: "What is known is still so.",
    400: "The request is malformed, or an argument of it is wrong.",
    401: "No valid token came with it.",
    403: "The token may not do that, whether or not there is such a thing.",
    404: "There is no such thing, or none for this token.",
    408: "The request did not arrive in time.",
    409: "The budget, or the state of things, says no.",
    412: "The catalog is no longer that of the quote.",
    413: "The body is too large.",
    415: "The body is no JSON, or compressed.",
    421: "The server does not go by this name.",
    422: "The question is refused; span says where.",
    428: "An Idempotency-Key is needed.",
    429: "Too many requests; Retry-After says when to ask again.",
    431: "The headers are too large.",
    500: "It failed; a charge stays. Always the same words.",
    503: "Nothing can be answered now. Always the same words.",
}


def document() -> bytes:
    """Return the document as JSON."""
    return msgspec.json.format(msgspec.json.encode(contents()), indent=1)


def contents() -> Json:
    """Return the document."""
    bodies = [call.body for call in CALLS if call.body is not None]
    _, schemas = msgspec.json.schema_components(bodies, ref_template="#/components/schemas/{name}")
    paths: dict[str, Json] = {
        "/healthz": {"get": _plain("healthz", "Whether the gateway is up.")},
        "/openapi.json": {"get": _plain("openapi", "This document.")},
    }
    for call in CALLS:
        paths.setdefault(call.path, {})[call.method.lower()] = operation(call)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "sordino",
            "summary": "Answers to questions about people that give no one of them away.",
            "version": sordino.__version__,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": {**schemas, "Problem": problem_schema()},
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token, as `sordino token` and POST /v1/sessions make it.",
                }
            },
        },
        "security": [{"token": []}],
    }


def operation(call: Call) -> Json:
    """Return what the document says of one call."""
    told: Json = {
        "operationId": call.name,
        "summary": call.summary,
        "description": _about(call),
        "parameters": _parameters(call),
        "responses": {str(status): _response(call, status) for status in statuses(call)},
    }
    if call.roles is None:
        told["security"] = []
    if call.body is not None:
        told["requestBody"] = {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"$ref": f"#/components/schemas/{call.body.__name__}"},
                    "example": _EXAMPLES[call.body],
                }
            },
        }
    return told


def statuses(call: Call) -> list[int]:
    """Return every status that can come of a call."""
    also = {*_ALWAYS, *call.statuses, *_MORE.get(call.name, ())}
    if call.roles is not None:
        also |= {401, 403}
    elif call.body is not None:
        also |= {401}
    if call.body is not None:
        also |= {413, 415}
    if "{" in call.path:
        also |= {404}
    return sorted(also)


def problem_schema() -> Json:
    """Return the schema of problem documents."""
    text = {"type": "string"}
    return {
        "title": "Problem",
        "description": "What is wrong, as RFC 9457 has it, with what sordino says of all errors.",
        "type": "object",
        "properties": {
            "type": {"type": "string", "pattern": "^urn:sordino:[a-z0-9-]+$"},
            "title": text,
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "detail": text,
            "code": {"type": "string", "pattern": "^[a-z0-9_]+$"},
            "why": text,
            "hint": text,
            "span": {
                "type": ["array", "null"],
                "items": {"type": "integer", "minimum": 0},
                "minItems": 2,
                "maxItems": 2,
            },
            "arguments": {"type": "array"},
        },
        "required": ["type", "title", "status", "detail", "code", "why", "hint", "span"],
    }


def _about(call: Call) -> str:
    if call.roles is None:
        return "Open to everybody."
    roles = f"For {', '.join(sorted(call.roles))}."
    return roles if call.scope is None else f"{roles} The token needs the scope {call.scope}."


def _parameters(call: Call) -> list[Json]:
    text = {"type": "string", "maxLength": 400}
    entries = [
        {"name": name, "in": "path", "required": True, "description": about, "schema": text}
        for name, about in _PATH_ENTRIES.items()
        if name in _ENTRY.findall(call.path)
    ]
    entries += [
        {"name": name, "in": "query", "required": False, "description": about, "schema": text}
        for name, about in call.query.items()
    ]
    entries += [
        {
            "name": name,
            "in": "header",
            "required": False,
            "description": _ABOUT_HEADERS[name],
            "schema": {"type": "string", "pattern": "^[!-~]+$", "maxLength": 200},
        }
        for name in _HEADERS.get(call.name, ())
    ]
    return entries


def _response(call: Call, status: int) -> Json:
    told: Json = {"description": _WORDS[status]}
    if status in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
        return told
    if status >= HTTPStatus.BAD_REQUEST:
        told["content"] = {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}
        if status == HTTPStatus.SERVICE_UNAVAILABLE and call.name == "ready":
            told["content"]["application/json"] = {"schema": {"type": "object"}}
    else:
        forms = _MEDIA.get(call.name, ("application/json",))
        told["content"] = {media: {"schema": _schema(media)} for media in forms}
    return told


def _schema(media: str) -> Json:
    return {"type": ["object", "array"]} if media == "application/json" else {"type": "string"}


def _plain(name: str, summary: str) -> Json:
    content = {"application/json": {"schema": {"type": "object"}}}
    return {
        "operationId": name,
        "summary": summary,
        "security": [],
        "responses": {"200": {"description": _WORDS[200], "content": content}},
    }
