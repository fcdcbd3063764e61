# SPDX-License-Identifier: Apache-2.0
"""Replies that are not errors."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sordino.channel.frames import Reply

JSON = "application/json"


def as_json(data: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """Return a reply with a body of JSON.

    >>> as_json({"n": 1}).body
    b'{"n":1}'
    """
    body = json.dumps(data, separators=(",", ":"), allow_nan=False).encode()
    return Reply(status, JSON, body, dict(headers or {}))


def nothing(headers: Mapping[str, str] | None = None) -> Reply:
    """Return a reply without a body: it was done."""
    return Reply(204, JSON, b"", dict(headers or {}))
