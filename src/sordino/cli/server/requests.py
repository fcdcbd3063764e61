# SPDX-License-Identifier: Apache-2.0
"""`sordino request`: dear questions, which somebody else has to approve before they are asked."""

import json
from decimal import Decimal
from typing import Annotated, Any, get_args

import typer

from sordino.cli.options import Sql, Typed, read_sql, takes_records
from sordino.cli.server.line import Anywhere
from sordino.cli.server.showing import day, say, show
from sordino.cli.usage import Commands, refusals

request = typer.Typer(cls=Commands, no_args_is_help=True, rich_markup_mode=None)

_NUMBER = typer.Argument(help="The number of a request.", show_default=False)
_PAGE = 200  # requests that come at once


@request.callback()
def about_requests() -> None:
    """Ask that dear questions be approved, and decide about them."""


@request.command()
@takes_records
def send(
    sql: Sql,
    *,
    typed: Typed,
    comment: Annotated[str, typer.Option(help="What whoever decides should know.")] = "",
    reached: Anywhere,
) -> None:
    """Ask that a question be approved which costs much; nothing is charged."""
    with refusals(as_json=reached.as_json):
        from sordino.remote.questions import question_of  # loads numpy

        question = question_of(read_sql(typed.read(sql)))
        with reached.line() as line:
            made = line.call("petition", {"question": question, "comment": comment})
        said = f"request {made['number']} was sent; ask the same once it is approved"
        say(made, said, as_json=reached.as_json)


@request.command("list")
@takes_records
def list_requests(
    *,
    only: Annotated[
        str | None,
        typer.Option(
            help="Only those that are sent, voted, approved, denied, returned, withdrawn, expired "
            "or answered."
        ),
    ] = None,
    reached: Anywhere,
) -> None:
    """Show requests: your own or, for those who decide or audit, all."""
    with reached.line() as line:
        query = {} if only is None else {"state": only}
        found: list[Any] = []
        while True:
            first = 1 + (found[-1]["number"] if found else 0)
            page = {**query, "from": str(first), "count": str(_PAGE)}
            listed = line.call("requests", query=page)["requests"]
            found += listed
            if len(listed) < _PAGE:
                break
        titles = ("number", "state", "who", "price", "question", "comment")
        show(found, titles, [_row(one) for one in found], as_json=reached.as_json)


@request.command("show")
@takes_records
def show_request(number: Annotated[str, _NUMBER], *, reached: Anywhere) -> None:
    """Show one request: the question, its price, its error bars, the votes."""
    with reached.line() as line:
        found = line.call("request", path={"request": number})
        if reached.as_json:
            typer.echo(json.dumps(found, indent=2))
            return
        from sordino.cli.show import show_explanation  # this and the following load rich
        from sordino.cli.terminal import console_for
        from sordino.remote.told import explanation_of

        explained = found["explanation"]
        told = explanation_of(explained, found["question"]["sql"])
        show_explanation(console_for(), told, _facts(found), told.warnings)


@request.command()
@takes_records
def vote(
    number: Annotated[str, _NUMBER],
    decision: Annotated[
        str,
        typer.Argument(
            help="approve, deny, or return, so that it is asked otherwise.", show_default=False
        ),
    ],
    *,
    comment: Annotated[str, typer.Option(help="What whoever asks is told about it.")] = "",
    reached: Anywhere,
) -> None:
    """Decide a request of somebody else."""
    with refusals(as_json=reached.as_json):
        from sordino.channel.messages import Decision  # loads msgspec

        if decision not in get_args(Decision):
            raise ValueError(f"a vote is {', '.join(get_args(Decision))}, got {decision!r}")
        with reached.line() as line:
            body = {"decision": decision, "comment": comment}
            made = line.call("vote", body, path={"request": number})
        say(made, f"request {made['number']} is {made['state']}", as_json=reached.as_json)


@request.command()
@takes_records
def withdraw(number: Annotated[str, _NUMBER], *, reached: Anywhere) -> None:
    """Take back a request of your own."""
    with reached.line() as line:
        made = line.call("withdraw", path={"request": number})
        say(made, f"request {made['number']} is {made['state']}", as_json=reached.as_json)


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    sql = " ".join(one["question"]["sql"].split())
    price = one["explanation"]["price"]
    return str(one["number"]), one["state"], one["who"], price, sql, one["comment"]


def _facts(one: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what there is to say of a request beside what its answer would cost."""
    state = one["state"]
    if state in ("sent", "voted"):
        state += "; needs " + ("1 vote" if one["approvers"] == 1 else f"{one['approvers']} votes")
    facts = [
        ("request", f"{one['number']} of {one['who']}, {state}"),
        ("good until", day(one["expires"])),
        ("question", " ".join(one["question"]["sql"].split())),
    ]
    if one["delta_attos"]:
        facts.append(("delta", str(Decimal(one["delta_attos"]).scaleb(-18).normalize())))
    if one["comment"]:
        facts.append(("comment", one["comment"]))
    if one["charge"] is not None:
        facts.append(("answer", one["charge"]))
    return facts + [
        (f"vote of {each['who']}", f"{each['decision']} {each['comment']}".strip())
        for each in one["votes"]
    ]
