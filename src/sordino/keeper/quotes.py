# SPDX-License-Identifier: Apache-2.0
"""Quotes: a price that the keeper has signed, and that it takes for a quarter of an hour."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import os
import secrets
import stat
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sordino.keeper.problems import Refusal
from sordino.keeper.state import StateError

SECONDS = 15 * 60
_BYTES = 32


@dataclass(frozen=True, slots=True)
class Quote:
    """What was priced, for whom, at which price, under which catalog, and until when."""

    question: dict[str, Any]
    asked: str  # the digest of plan and options
    price: int  # in nano-units
    delta: int  # in parts of 10**18
    generation: str
    who: str
    expires: int


def read_key(path: Path) -> bytes:
    """Read the key of quotes, and make it if there is none; others must not be able to read it."""
    if not os.path.lexists(path):
        _make_key(path)
    try:
        held = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise StateError(f"the key {str(path)!r} cannot be read: {error.strerror}") from None
    with os.fdopen(held, "rb") as file:
        seen = os.fstat(file.fileno())
        key = file.read(_BYTES + 1)
    if not stat.S_ISREG(seen.st_mode) or stat.S_IMODE(seen.st_mode) & 0o077:
        raise StateError(f"the key {str(path)!r} can be read by others; make it anew: remove it")
    if len(key) != _BYTES:
        raise StateError(f"the key {str(path)!r} must have {_BYTES} bytes; make it anew: remove it")
    return key


def _make_key(path: Path) -> None:
    """Make a key whole or not at all: whoever is killed meanwhile leaves none under this name."""
    partial = path.with_name(f"{path.name}.part")
    partial.unlink(missing_ok=True)
    made = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    with os.fdopen(made, "wb") as file:
        file.write(secrets.token_bytes(_BYTES))
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def write(quote: Quote, key: bytes) -> str:
    """Return a quote as text."""
    body = json.dumps(asdict(quote), separators=(",", ":"), sort_keys=True).encode()
    return f"{_text(body)}.{_text(_signed(body, key))}"


def read(text: str, key: bytes, *, who: str, now: int) -> Quote:
    """Read a quote; one that is not the keeper's, or somebody else's, or too old is refused."""
    wrong = Refusal(
        "quote_wrong",
        403,
        "this is no quote that was made for you here",
        hint="ask for the price again",
    )
    body_text, _, signature = text.partition(".")
    body = _bytes(body_text)
    if body is None or not hmac.compare_digest(
        _text(_signed(body, key)).encode(), signature.encode()
    ):
        raise wrong
    quote = Quote(**json.loads(body))
    if quote.who != who:
        raise wrong
    if quote.expires <= now:
        raise Refusal(
            "quote_expired",
            400,
            "this quote has expired; nothing was charged",
            hint="ask for the price again",
        )
    return quote


def _signed(body: bytes, key: bytes) -> bytes:
    return hmac.new(key, body, hashlib.sha256).digest()


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes | None:
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        return None
    return data if _text(data) == text else None  # one quote is written in one way
