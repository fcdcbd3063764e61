# SPDX-License-Identifier: Apache-2.0
"""Headers: what every answer says to browsers, and by which names the server goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

SAFE: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Names:
    """The names that a Host header may have, with any port.

    A page of somebody else that had its own name point here would be turned away.

    >>> Names(["study.example"]).has("Study.example:8443")
    True
    >>> Names(["study.example"]).has("evil.example")
    False
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = {name.lower() for name in names}

    def has(self, host: str) -> bool:
        """Tell whether the server goes by what a Host header says."""
        name, _, port = host.lower().rpartition(":")
        if not name or host.endswith("]"):
            name, port = host.lower(), ""
        return name in self._names and (not port or (port.isascii() and port.isdigit()))
