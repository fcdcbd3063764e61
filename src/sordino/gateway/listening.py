# SPDX-License-Identifier: Apache-2.0
"""Sockets at which a gateway listens; they outlive it in the hands of whoever starts it again."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from sordino.channel.listening import listen_at

WAITING: Final = 2048  # connections that nobody has taken yet


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("192.0.2.1")
    (True, True, False)
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> socket.socket:
    """Listen at an address; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.create_server((host, port), family=family, backlog=WAITING)
    # Asked anew, the socket knows that it is TCP; asyncio turns delays off for those alone.
    return socket.socket(fileno=bound.detach())


def listen_unix(path: Path) -> socket.socket:
    """Listen at a Unix socket that its owner and their group may use."""
    path.unlink(missing_ok=True)
    return listen_at(path, hidden=0o117, waiting=WAITING)


def place_of(listening: socket.socket) -> dict[str, object]:
    """Return where clients find a socket."""
    if listening.family == socket.AF_UNIX:
        return {"unix": listening.getsockname()}
    host, port = listening.getsockname()[:2]
    return {"host": host, "port": port}
