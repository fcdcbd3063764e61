# SPDX-License-Identifier: Apache-2.0
"""`sordino catalog`: what a running server serves; and `sordino journal`: who changed what."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sordino.cli.options import takes_records, whole
from sordino.cli.server.line import Anywhere
from sordino.cli.server.showing import day, say, show
from sordino.cli.usage import FAILED, Commands

catalog = typer.Typer(cls=Commands, no_args_is_help=True, rich_markup_mode=None)
_MOST_STEPS = 1_000


@catalog.callback()
def about_catalogs() -> None:
    """Look at another catalog, and let a running server serve it."""


@catalog.command("check")
@takes_records
def check_draft(
    file: Annotated[Path, typer.Argument(help="The new catalog.", show_default=False)],
    *,
    reached: Anywhere,
) -> None:
    """Let a server check a new catalog and say what would change."""
    with reached.line() as line:
        found = line.call("check", {"text": _text(file)})
        lines = [*found["mistakes"], *_changes(found)]
        say(found, "\n".join(map(_plain, lines)), as_json=reached.as_json)
        if found["mistakes"]:
            raise typer.Exit(FAILED)


@catalog.command()
@takes_records
def swap(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="The new catalog; without it, the file of the server as it is now.",
            show_default=False,
        ),
    ] = None,
    *,
    why: Annotated[str, typer.Option(help="The reason, which stays on record.")],
    reached: Anywhere,
) -> None:
    """Let a server serve another catalog from now on; changed limits go on record."""
    with reached.line() as line:
        text = {} if file is None else {"text": _text(file)}
        made = line.call("swap", {"why": why, **text})
        said = [f"the server serves {made['generation']}", *_changes(made)]
        said += [
            f"on record as {entry['people']}:{entry['number']}: limits" for entry in made["entries"]
        ]
        say(made, "\n".join(map(_plain, said)), as_json=reached.as_json)


@takes_records
def journal(
    *,
    last: Annotated[
        int,
        typer.Option(
            help="How many steps, the newest; 1000 at most.",
            parser=whole(least=1, most=_MOST_STEPS),
            metavar="<int>",
        ),
    ] = 20,
    reached: Anywhere,
) -> None:
    """Show who changed what on a server, the last step last."""
    with reached.line() as line:
        steps = line.call("journal", query={"last": str(last)})["steps"]
        rows: list[tuple[str, ...]] = [
            (str(one["number"]), day(one["at"]), one["by"], one["what"], one["about"])
            for one in steps
        ]
        show(steps, ("number", "when", "who", "what", "about"), rows, as_json=reached.as_json)


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"the catalog {str(file)!r} cannot be read: {error}") from None


def _changes(told: dict[str, Any]) -> list[str]:
    if told["generation"] is None:
        return []
    return told["changes"] or ["no table and no limit is another one"]


def _plain(text: str) -> str:
    """Return a text that no terminal obeys."""
    from sordino.answer.render import printable  # loads numpy

    return printable(text)
