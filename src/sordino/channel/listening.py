# SPDX-License-Identifier: Apache-2.0
"""Unix sockets at which the keeper or the gateway listens, and how each says that it is ready."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path


def listen_at(path: Path, *, hidden: int, waiting: int) -> socket.socket:
    """Listen at a new Unix socket; ``hidden`` is the mask of who may not use it."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(hidden)
    try:
        listening.bind(str(path))
    except BaseException:
        listening.close()
        raise
    finally:
        os.umask(before)
    listening.listen(waiting)
    return listening


def announce(ready: int | None, **told: object) -> None:
    """Say that this process is ready: on a descriptor, and to systemd where that asks for it."""
    if ready is not None:
        os.write(ready, json.dumps(told).encode() + b"\n")
        os.close(ready)
    address = os.environ.pop("NOTIFY_SOCKET", "")
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notice:
            notice.connect("\0" + address[1:] if address.startswith("@") else address)
            notice.sendall(b"READY=1")
