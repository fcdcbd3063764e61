# SPDX-License-Identifier: Apache-2.0
"""`sordino people`: who may use the server; and `sordino token`: what they use it with."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, get_args

import typer

from sordino.cli.options import count, option, takes_records, typed_secret
from sordino.cli.server.line import BySocket
from sordino.cli.server.showing import day, say, show
from sordino.cli.usage import Commands

people = typer.Typer(cls=Commands, no_args_is_help=True, rich_markup_mode=None)
token = typer.Typer(cls=Commands, no_args_is_help=True, rich_markup_mode=None)

_NAMED = typer.Argument(help="The name of somebody.", show_default=False)


@people.callback()
def about_people() -> None:
    """Say who may use the server."""


@people.command("list")
@takes_records
def list_people(*, reached: BySocket) -> None:
    """Show who may use the server, and who no longer may."""
    with reached.line() as line:
        made = line.call("people")["people"]
        rows: list[tuple[str, ...]] = [
            (one["name"], " ".join(one["roles"]), "" if one["ended"] is None else "dismissed")
            for one in made
        ]
        show(made, ("name", "roles", ""), rows, as_json=reached.as_json)


@people.command()
@takes_records
def add(
    name: Annotated[str, _NAMED],
    *,
    role: Annotated[
        list[str],
        typer.Option(
            help="What they are: analyst, approver, owner, auditor or operator; may be repeated."
        ),
    ],
    password: Annotated[
        bool, typer.Option("--password", help="Read a password for them from standard input.")
    ] = False,
    reached: BySocket,
) -> None:
    """Add somebody, or change what they are."""
    with reached.line() as line:
        from sordino.channel.messages import Role  # loads msgspec

        _check_named("role", role, get_args(Role))
        body: dict[str, object] = {"name": name, "roles": role}
        if password:
            body["password"] = typed_secret("password")
        made = line.call("person", body)
        say(made, f"{name} is {' and '.join(made['roles'])}", as_json=reached.as_json)


@people.command()
@takes_records
def dismiss(name: Annotated[str, _NAMED], *, reached: BySocket) -> None:
    """Let somebody use the server no more; their tokens end."""
    with reached.line() as line:
        made = line.call("dismiss", path={"name": name})
        say(made, f"{name} can use the server no more", as_json=reached.as_json)


@people.command()
@takes_records
def password(
    name: Annotated[str, _NAMED],
    *,
    old: Annotated[
        bool, typer.Option("--old", help="Read your old password first, to change your own.")
    ] = False,
    reached: BySocket,
) -> None:
    """Set a password, which is read from standard input."""
    with reached.line() as line:
        body = {"old": typed_secret("old password")} if old else {}
        line.call("password", {**body, "password": typed_secret("password")}, path={"name": name})
        say({"name": name}, f"{name} has a new password", as_json=reached.as_json)


@token.callback()
def about_tokens() -> None:
    """Make, list and revoke tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a token is for, as it was typed."""

    note: str = option("What it is for, to tell it from others.", default="")
    days: int = count("How long it is good, 90 days at most.", default=30, least=1, most=90)
    scope: list[str] | None = option(
        "What it may be used for: price, ask, rehearse, audit, decide, own or operate; "
        "may be repeated. Without it, all that its person may do.",
        default=None,
    )
    cap: str | None = option("The most that may be spent with it, such as 0.5.", default=None)
    table: list[str] | None = option(
        "A table that it may be used for; may be repeated.", default=None
    )
    fresh: bool = option("Let it pay for the same question twice.", "--fresh", default=False)


@token.command()
@takes_records
def make(
    name: Annotated[
        str | None, typer.Argument(help="Whose it is to be; your own without it.")
    ] = None,
    *,
    typed: Terms,
    reached: BySocket,
) -> None:
    """Make a token; it is shown once."""
    with reached.line() as line:
        from sordino.channel.messages import Scope  # as above

        scopes = typed.scope or None
        _check_named("scope", scopes or [], get_args(Scope))
        body = {"name": name, "note": typed.note, "days": typed.days, "scopes": scopes}
        body |= {"cap": typed.cap, "tables": typed.table or None, "fresh": typed.fresh}
        made = line.call("token", {key: value for key, value in body.items() if value is not None})
        ends = day(made["expires"])
        said = f"{made['secret']}\nfor {made['who']}, until {ends}; it is shown this once"
        say(made, said, as_json=reached.as_json)


@token.command("list")
@takes_records
def list_tokens(*, reached: BySocket) -> None:
    """Show tokens, your own or, for the owner, all; never the secrets."""
    with reached.line() as line:
        made = line.call("tokens")["tokens"]
        titles = ("id", "who", "for", "spent", "until", "used", "note")
        show(made, titles, [_row(one) for one in made], as_json=reached.as_json)


@token.command()
@takes_records
def revoke(
    number: Annotated[str, typer.Argument(help="The id of the token.", show_default=False)],
    *,
    reached: BySocket,
) -> None:
    """End a token at once."""
    with reached.line() as line:
        line.call("revoke", path={"token": number})
        say({"id": number}, f"the token {number} ended", as_json=reached.as_json)


def _check_named(what: str, names: list[str], known: tuple[str, ...]) -> None:
    """Refuse a word that the server does not know, before it is sent there."""
    for name in names:
        if name not in known:
            raise ValueError(f"there is no {what} {name!r}; there are {', '.join(known)}")


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    until = "revoked" if one["revoked"] is not None else day(one["expires"])
    used = "never" if one["used"] is None else day(one["used"])
    uses = [*one["scopes"], *(["fresh"] if one["fresh"] else [])]
    if one["tables"] is not None:
        uses += ["of", *one["tables"]]
    return one["id"], one["who"], " ".join(uses), _spent(one), until, used, one["note"]


def _spent(one: dict[str, Any]) -> str:
    """Say how much of the cap is gone; without a cap nothing is counted for a token."""
    if one["cap_nanos"] is None:
        return "no cap"
    return f"{_units(one['spent_nanos'])} of {_units(one['cap_nanos'])}"


def _units(nanos: int) -> str:
    return f"{Decimal(nanos).scaleb(-9).normalize():f}"
