# SPDX-License-Identifier: Apache-2.0
"""Commands that ask a server: `sordino login`, and the others where `--server` is stated."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from sordino.cli.options import CATALOG, OWNER, AsJson, typed_secret
from sordino.cli.usage import refusals

if TYPE_CHECKING:
    from sordino.answer import Answer
    from sordino.ledger.entry import Entry
    from sordino.plan.ask import Ask
    from sordino.privacy.currency import Currency
    from sordino.remote import RemoteSession


def check_alone(*, catalog: Path, who: str | None, receipt: str | None = None) -> None:
    """Refuse what has no meaning where a server is asked."""
    if catalog != CATALOG:
        raise ValueError("ask a server or a catalog: leave out --server or --catalog")
    if who not in (None, OWNER):
        raise ValueError("a server knows who asks by the token; leave out --who")
    if receipt is not None:
        raise ValueError(
            "a server is held to every receipt that was seen, by itself; leave out --receipt"
        )


def login(
    url: Annotated[str, typer.Argument(help="The address of the server, https://host:port.")],
    *,
    name: Annotated[
        str | None, typer.Option(help="How to call it from now on; its host without it.")
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="Your name there; a token is asked for without it.")
    ] = None,
    ca: Annotated[
        Path | None, typer.Option(help="The certificate of an authority of the owner's own.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Keep a token for a server, so that --server NAME asks it."""
    with refusals(as_json=as_json):
        from sordino.remote import connect, profiles  # httpx is loaded only here
        from sordino.remote.connecting import login as token_for
        from sordino.remote.wire import checked_url

        address, authority = checked_url(url), None if ca is None else str(ca.resolve())
        if user is None:
            token = typed_secret("token")
        else:
            password = typed_secret(f"password of {user}")
            token = token_for(address, user, password, ca=authority)
        with connect(address, token=token, ca=authority) as session:
            who = session.who
        called = name or urlsplit(address).hostname or "server"
        path = profiles.keep(profiles.Profile(called, address, token.strip(), authority))
        if as_json:
            told = {"who": who, "url": address, "name": called, "file": str(path)}
            typer.echo(json.dumps(told, indent=2))
            return
        typer.echo(f"{who} may ask {address}; --server {called} does, by the token in {path}")


def explain_there(server: str, ask: Ask, *, as_json: bool) -> None:
    """Say what an answer of a server would cost."""
    from sordino.cli.show import show_explanation  # loads rich
    from sordino.cli.terminal import console_for

    with _session(server) as session:
        told = session.explain_ask(ask)
    if as_json:
        typer.echo(json.dumps(told.json, indent=2))
        return
    facts = [("left", told.left), ("plan", told.number)]
    show_explanation(console_for(), told, facts, told.warnings)


def ask_there(server: str, ask: Ask, *, as_json: bool) -> Answer:
    """Ask a server, show the answer, and return it."""
    from sordino.cli.show import show_answer  # loads rich
    from sordino.cli.terminal import console_for
    from sordino.session.service import answer_to_json

    with _session(server) as session:
        answer = session.answer_ask(ask)
        left = session.budget.of(answer.charge.people)
    if as_json:
        typer.echo(json.dumps(answer_to_json(answer, left), indent=2))
    else:
        show_answer(console_for(), answer, left)
    return answer


def budget_there(server: str, *, as_json: bool) -> None:
    """Show what is left of the budgets of a server."""
    from sordino.cli.terminal import console_for  # loads rich

    with _session(server) as session:
        if as_json:
            typer.echo(json.dumps(session.standing, indent=2))
            return
        for left in session.budget:
            console_for().print(str(left), markup=False, highlight=False)
        cap, spent = session.me.get("cap_nanos"), session.me.get("spent_nanos", 0)
        if cap is not None:
            from sordino.privacy.currency import Price  # as above

            # A cap is of use only where all budgets count alike, so the first one says how.
            counted = session.budget[0].cap.currency
            line = f"this token: {Price(counted, cap - spent)} of {Price(counted, cap)} left"
            console_for().print(line, markup=False, highlight=False)


def history_there(server: str, *, people: str | None, last: int, as_json: bool) -> None:
    """Show the newest entries of the ledger of a server that may be seen."""
    from sordino.cli.terminal import console_for  # loads rich

    with _session(server) as session:
        listed = session.history(last=last, people=people)
        counted = {left.people: left.cap.currency for left in session.budget}
    if as_json:
        typer.echo(json.dumps(listed, indent=2))
        return
    show_told(console_for(), listed, counted)


def show_told(
    console: Any, listed: Iterable[Mapping[str, Any]], counted: Mapping[str, Currency]
) -> None:
    """Print entries that a server has told, each with its question where that is known."""
    from sordino.cli.show import show_listed  # loads rich

    show_listed(console, [(entry_of(one), one.get("question")) for one in listed], counted)


def entry_of(told: Mapping[str, Any]) -> Entry:
    """Return an entry as far as it was told: what it says of all analysts may be left out."""
    from sordino.ledger.entry import FIELDS, Entry  # as above

    otherwise: dict[str, Any] = {"cap": -1, "most": None, "others": None, "others_slack": None}
    return Entry._make(told.get(name, otherwise.get(name, 0)) for name in FIELDS)


def _session(server: str) -> RemoteSession:
    from sordino.remote import connect  # as above

    return connect(server)
