# SPDX-License-Identifier: Apache-2.0
"""`sordino serve`: start a keeper and a gateway, keep both running, and end both."""

from __future__ import annotations

import json
import resource
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sordino.cli.options import CATALOG, AsJson, count, option, takes_records
from sordino.cli.server.line import KEEPER, State, check_path, state_of
from sordino.cli.usage import refusals

if TYPE_CHECKING:
    from sordino.cli.server.demo import Person
    from sordino.gateway.processes import Process

LOOPBACK, PORT = "127.0.0.1", 8000
ACCESS_LOG = "access.log"
_ANY = ("0.0.0.0", "::")  # noqa: S104 - names for all addresses, which are told apart here
_LIBRARIES = ("argon2", "msgspec", "starlette", "uvicorn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a server listens, and how clients reach it."""

    host: str = option("The address to listen at.", default=LOOPBACK)
    port: int = count(
        "The port to listen at; 0 takes any that is free.", default=PORT, least=0, most=65535
    )
    name: list[str] | None = option(
        "A name by which clients reach the server; may be repeated.", default=None
    )
    workers: int = count("How many processes speak HTTP.", default=1, least=1, most=64)
    tls: tuple[Path, Path] | None = option(
        "The files of a certificate and of its key, for https.", default=None
    )
    behind_proxy: list[str] | None = option(
        "The address of a proxy that speaks https for it; may be repeated.", default=None
    )

    @property
    def names(self) -> tuple[str, ...]:
        """The names that were stated."""
        return tuple(self.name or ())

    @property
    def proxies(self) -> tuple[str, ...]:
        """The addresses of proxies that were stated."""
        return tuple(self.behind_proxy or ())

    def check(self) -> None:
        """Refuse a place at which tokens would cross a network in the clear."""
        from sordino.gateway.forwarded import Proxies
        from sordino.gateway.listening import is_loopback

        Proxies.named(self.proxies)
        for file in self.tls or ():
            if not file.is_file():
                raise ValueError(f"there is no file {str(file)!r}, which --tls names")
        if not is_loopback(self.host) and self.tls is None and not self.proxies:
            raise ValueError(
                f"other machines can reach {self.host}, and tokens would cross the network in the "
                "clear; add --tls CERT KEY, or --behind-proxy ADDRESS if a proxy there speaks "
                "https, or leave --host out"
            )
        if self.host in _ANY and not self.names:
            raise ValueError(
                f"{self.host} stands for all addresses; say with --name by which name clients "
                "reach the server, such as --name study.example"
            )

    @property
    def known(self) -> tuple[str, ...]:
        """The names that a request may call the server by, beside those of loopback."""
        return (*self.names, *(() if self.host in _ANY else (_in_url(self.host),)))

    def url(self, port: int) -> str:
        """Return the address that clients use."""
        scheme = "http" if self.tls is None else "https"
        return f"{scheme}://{self.names[0] if self.names else _in_url(self.host)}:{port}"


@takes_records
def serve(
    catalog: Annotated[
        Path | None, typer.Argument(help="The catalog to serve; sordino.toml without it.")
    ] = None,
    *,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve an invented hospital, with people and tokens.")
    ] = False,
    place: Place,
    state: State = None,
    as_json: AsJson = False,
) -> None:
    """Serve questions over HTTP until it is interrupted."""
    with refusals(as_json=as_json), ExitStack() as ending:
        check_libraries()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # it knows tokens
        if demo and (catalog is not None or state is not None):
            raise ValueError("--demo brings a catalog and a folder of its own; name neither")
        place.check()
        people: tuple[Person, ...] = ()
        if demo:
            from sordino.cli.server.demo import PEOPLE, hospital  # loads numpy and pyarrow

            served, folder = ending.enter_context(hospital())
            people = PEOPLE
        else:
            served = catalog or CATALOG
            folder = state_of(served, state)
        Server(served, folder, place).run(people, as_json=as_json)


def check_libraries() -> None:
    """Refuse to begin without the libraries of a server, which are an extra."""
    from importlib.util import find_spec

    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        raise ValueError(
            f"a server needs {', '.join(missing)}, which are not there: "
            "pip install 'sordino[server]'"
        )


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


@dataclass(frozen=True, slots=True)
class Server:
    """A keeper and a gateway, and what they are started with."""

    catalog: Path
    folder: Path
    place: Place

    def run(self, people: tuple[Person, ...], *, as_json: bool) -> None:
        """Start both, say where, and keep both running until a signal comes."""
        from sordino.gateway.listening import listen, place_of
        from sordino.gateway.processes import NotStarted, Watch

        if not self.catalog.is_file():
            raise ValueError(
                f"there is no catalog {str(self.catalog)!r}; draft one with 'sordino init', or "
                "look around with 'sordino serve --demo'"
            )
        check_path(self.folder / KEEPER)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        try:
            listening = listen(self.place.host, self.place.port)
        except OSError as error:
            raise ValueError(
                f"nothing can listen at {self.place.host}, port {self.place.port}: "
                f"{error.strerror}; name another one with --port, or 0 for any that is free"
            ) from None
        keeper, gateway = self._keeper(), self._gateway(listening.fileno())
        with listening, Watch([keeper, gateway], _say) as watch:
            keeper.launch()
            gateway.launch()
            try:
                first = keeper.announced()
                gateway.announced()
            except NotStarted as error:
                raise typer.Exit(error.status if error.status > 0 else 1) from None
            told: dict[str, Any] = {
                "url": self.place.url(int(str(place_of(listening)["port"]))),
                "catalog": str(self.catalog),
                "state": str(self.folder),
                "owner": first.get("owner"),
                "people": [],
            }
            if people:
                from sordino.cli.server.demo import admit

                told["people"] = admit(people, self.folder, told["owner"])
            _show(told, as_json=as_json)
            watch.keep()
        if not as_json:
            typer.echo("sordino: ended")

    def _keeper(self) -> Process:
        from sordino.gateway.processes import Process

        command = [sys.executable, "-m", "sordino.keeper", str(self.catalog)]
        return Process("keeper", [*command, "--state", str(self.folder)], grace=120.0)

    def _gateway(self, listening: int) -> Process:
        from sordino.gateway.processes import Process

        place = self.place
        command = [
            *(sys.executable, "-m", "sordino.gateway", "--keeper", str(self.folder / KEEPER)),
            *("--fd", str(listening), "--workers", str(place.workers)),
            *(() if place.tls is None else ("--tls", *map(str, place.tls))),
            *(word for proxy in place.proxies for word in ("--proxy", proxy)),
            *(word for name in place.known for word in ("--name", name)),
            *("--access-log", str(self.folder / ACCESS_LOG)),
        ]
        return Process("gateway", command, (listening,))


def _say(text: str) -> None:
    typer.echo(f"sordino: {text}", err=True)


def _show(told: dict[str, Any], *, as_json: bool) -> None:
    """Print where the server is, and the tokens that are told once."""
    if as_json:
        typer.echo(json.dumps(told))
    elif told["people"]:
        from sordino.cli.server.demo import show

        show(told)
    else:
        typer.echo(f"sordino serves {told['catalog']} at {told['url']}")
        typer.echo(f"what can be called: {told['url']}/openapi.json")
        if told["owner"]:
            typer.echo(
                "the owner's token, which is shown this once; keep it in a file of mode 600:"
            )
            typer.echo(told["owner"])
        typer.echo("Ctrl-C ends it")
    sys.stdout.flush()
