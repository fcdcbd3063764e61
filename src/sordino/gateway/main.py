# SPDX-License-Identifier: Apache-2.0
"""Start a gateway: its socket, its workers, and the server in each of them."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import resource
import socket
import ssl
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import uvicorn

from sordino.channel.listening import announce
from sordino.gateway.access import AccessLog, Numbers
from sordino.gateway.app import Gateway
from sordino.gateway.forwarded import Proxies
from sordino.gateway.headers import LOOPBACK, Names
from sordino.gateway.limits import Limits, bounded
from sordino.gateway.link import Link
from sordino.gateway.listening import is_loopback, listen, listen_unix, place_of
from sordino.gateway.processes import NotStarted, Process, Watch

FIRST_OF_SYSTEMD: Final = 3  # the first descriptor that systemd hands over
MOST_FILES: Final = 65_536
_GRACE = 15  # seconds that requests under way may take at the end
_WRONG = 2  # the exit code of a wrong option, as elsewhere


class _Formatter(logging.Formatter):
    """Says of an error its kind and where it came by, and never its words, which may quote."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name is logging's
        kind, _, trace = ei
        places = [f"{one.filename}:{one.lineno}" for one in traceback.extract_tb(trace)]
        return f"{kind.__name__} at {' '.join(places)}"


class _Server(uvicorn.Server):
    """A server that says when it is ready."""

    def __init__(self, config: uvicorn.Config, say: Callable[[], None]) -> None:
        super().__init__(config)
        self._say = say

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take connections, and say so."""
        await super().startup(sockets)
        if self.started:
            self._say()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a gateway until it is told to end."""
    typed = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(typed)
    try:
        listening = _listening(options)
        proxies = Proxies.named(options.proxy)
        context = None if options.tls is None else _context(*options.tls)
        _check_place(listening, options)
    except (OSError, ValueError, ssl.SSLError) as error:
        print(f"sordino gateway: {error}", file=sys.stderr)  # noqa: T201 - a program by itself
        raise SystemExit(_WRONG) from None
    _set_limits()
    if options.workers > 1 and options.of is None:
        _watch(options, listening)
    else:
        _serve(options, listening, proxies, context)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m sordino.gateway", allow_abbrev=False)
    parser.add_argument("--keeper", type=Path, required=True, help="the keeper's socket")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at")
    parser.add_argument("--port", type=int, default=8000, help="the port; 0 for any that is free")
    parser.add_argument("--unix", type=Path, help="a Unix socket to listen at instead")
    parser.add_argument("--fd", type=int, help="a socket that is listening already")
    parser.add_argument("--workers", type=int, default=1, help="how many processes")
    parser.add_argument("--of", type=int, help=argparse.SUPPRESS)  # set for each of the workers
    parser.add_argument("--tls", nargs=2, type=Path, metavar=("CERT", "KEY"))
    parser.add_argument("--proxy", action="append", default=[], help="a proxy that is believed")
    parser.add_argument("--name", action="append", default=[], help="a name clients may use")
    parser.add_argument("--access-log", type=Path, help="a file; standard error without it")
    parser.add_argument("--ready", type=int, help="where to announce that it is ready")
    return parser


def _listening(options: argparse.Namespace) -> socket.socket:
    """Return the socket to listen at: one that was handed over, or a new one."""
    handed = options.fd
    if handed is None and os.environ.get("LISTEN_PID") == str(os.getpid()):
        handed = FIRST_OF_SYSTEMD
    if handed is not None:
        return socket.socket(fileno=handed)
    if options.unix is not None:
        return listen_unix(options.unix)
    return listen(options.host, options.port)


def _check_place(listening: socket.socket, options: argparse.Namespace) -> None:
    """Refuse a socket at which tokens would cross a network in the clear."""
    host = str(place_of(listening).get("host", "localhost"))
    if not is_loopback(host) and options.tls is None and not options.proxy:
        raise ValueError(f"other machines can reach {host}; add --tls CERT KEY or --proxy ADDRESS")


def _context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return what TLS needs: version 1.2 or newer, and the certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:
        raise ValueError(
            f"the certificate {certificate} or its key {key} cannot be used: "
            f"{error.strerror or 'they are no such files, or do not belong together'}"
        ) from None
    return context


def _watch(options: argparse.Namespace, listening: socket.socket) -> None:
    """Keep several workers, which take connections from one socket."""
    listening.set_inheritable(True)
    handed = listening.fileno()
    command = [
        *(sys.executable, "-m", "sordino.gateway", "--keeper", str(options.keeper)),
        *("--fd", str(handed), "--of", str(options.workers)),
        *(() if options.tls is None else ("--tls", *map(str, options.tls))),
        *(word for proxy in options.proxy for word in ("--proxy", proxy)),
        *(word for name in options.name for word in ("--name", name)),
        *(() if options.access_log is None else ("--access-log", str(options.access_log))),
    ]
    workers = [
        Process(f"worker {number}", command, (handed,)) for number in range(1, options.workers + 1)
    ]
    with Watch(workers, lambda text: print(f"sordino gateway: {text}", file=sys.stderr)) as watch:  # noqa: T201
        try:
            for worker in workers:
                worker.launch()
            for worker in workers:
                worker.announced()
        except NotStarted as error:
            raise SystemExit(error.status or 1) from None
        announce(options.ready, **place_of(listening))
        watch.keep()


def _serve(
    options: argparse.Namespace,
    listening: socket.socket,
    proxies: Proxies,
    context: ssl.SSLContext | None,
) -> None:
    _log_to_standard_error()
    limits = Limits()
    log, numbers = AccessLog(options.access_log), Numbers()
    workers = options.of or 1
    limits = replace(limits, connections=max(1, limits.connections // workers))
    gateway = Gateway(
        Link(options.keeper, workers=workers),
        names=Names([*LOOPBACK, *options.name]),
        log=log,
        numbers=numbers,
        proxies=proxies,
        limits=limits,
    )
    config = uvicorn.Config(
        gateway,
        http=bounded(limits, log, numbers),
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=limits.idle,
        timeout_graceful_shutdown=_GRACE,
        h11_max_incomplete_event_size=limits.header,
        ssl_context_factory=None if context is None else lambda *_: context,
    )
    server = _Server(config, lambda: announce(options.ready, **place_of(listening)))
    try:
        server.run([listening])
    finally:
        gateway.close()
        log.close()


def _log_to_standard_error() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_Formatter("sordino gateway: %(message)s"))
    logging.basicConfig(level=logging.ERROR, handlers=[handler])


def _set_limits() -> None:
    """Leave no core behind, and have as many files open as may be: each connection is one.

    Where a filter forbids the calls, as that of the systemd unit does, the unit sets both.
    """
    with contextlib.suppress(OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
        if soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
