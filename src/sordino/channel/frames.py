# SPDX-License-Identifier: Apache-2.0
"""Frames: the only form in which bytes cross the socket between gateway and keeper.

A frame is its length, four bytes, the most significant first, and so many bytes of MessagePack.
The gateway sends a ``Request`` and gets one ``Reply``; then it may send the next one. Whoever
breaks the form is hung up on: no frame is skipped, and none is guessed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

USUAL_REQUEST: Final = 256 * 1024  # a body of 64 kB, a path, a query, and the rest
LARGEST_REQUEST: Final = USUAL_REQUEST + 1024 * 1024  # the same with a catalog
LARGEST_REPLY: Final = 128 * 1024 * 1024  # the largest stored answer, in its longest form
HEADER = struct.Struct(">I")


class BrokenFrame(Exception):
    """What came is no frame; the connection is of no further use."""


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the gateway passes on: a call by its name, and what the client sent with it.

    ``credential`` is the client's token as it came. Nothing else here says who asks: the keeper
    finds that out from the credential. ``address`` is where the client is, for limits on guessing.
    """

    call: str
    number: str  # of the request, in the access log
    credential: str | None = None
    path: dict[str, str] = {}
    query: dict[str, str] = {}
    body: bytes = b""
    key: str | None = None  # the client's Idempotency-Key
    seen: str | None = None  # the newest receipt that the client remembers
    tag: str | None = None  # of If-None-Match
    address: str = ""
    knocks: bool = False


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the keeper answers: a status, a media type, a body, and headers of its choice."""

    status: int
    media: str
    body: bytes
    headers: dict[str, str] = {}


M = TypeVar("M")

_encoder = msgspec.msgpack.Encoder()
_requests = msgspec.msgpack.Decoder(Request, strict=True)
_replies = msgspec.msgpack.Decoder(Reply, strict=True)


def pack(message: Request | Reply) -> bytes:
    """Return a message as a frame.

    >>> unpack_request(pack(Request(call="budget", number="7"))[HEADER.size :]).call
    'budget'
    """
    body = _encoder.encode(message)
    largest = LARGEST_REQUEST if isinstance(message, Request) else LARGEST_REPLY
    if len(body) > largest:
        raise BrokenFrame(f"a frame has at most {largest} bytes, and this one has {len(body)}")
    return HEADER.pack(len(body)) + body


def length(header: bytes, largest: int) -> int:
    """Return how many bytes follow a header."""
    (many,) = HEADER.unpack(header)
    if not 0 < many <= largest:
        raise BrokenFrame(f"a frame has 1 to {largest} bytes, and this one claims {many}")
    return int(many)


def unpack_request(body: bytes) -> Request:
    """Read the bytes of a request."""
    return _unpacked(_requests.decode, body)


def unpack_reply(body: bytes) -> Reply:
    """Read the bytes of a reply."""
    return _unpacked(_replies.decode, body)


def _unpacked(decode: Callable[[bytes], M], body: bytes) -> M:
    try:
        return decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BrokenFrame("these bytes are no message") from error
