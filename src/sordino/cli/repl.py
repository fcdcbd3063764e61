# SPDX-License-Identifier: Apache-2.0
"""`sordino repl`: a prompt for SQL that says what an answer would cost before it is asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.table import Table
from rich.text import Text

import sordino as so
from sordino.answer.render import plain as brief
from sordino.catalog.model import Column
from sordino.cli.analysts import check_who, note_stranger
from sordino.cli.ask import answer_as_json, show_answer
from sordino.cli.budget import show_budget
from sordino.cli.exits import code_of, error_as_json, words_of
from sordino.cli.history import SHORT, show_entries
from sordino.cli.question import Wish
from sordino.cli.repl_input import WORDS, Terminal, history_file, read_pipe, statements
from sordino.cli.shown import (
    and_delta,
    console_for,
    facts_of,
    is_too_dear,
    left_in_words,
    more_like,
    plain,
)
from sordino.errors import QueryError, SordinoError
from sordino.ledger.history import entries, standing
from sordino.plan.explain import Explanation
from sordino.release import Options
from sordino.session import Left
from sordino.session.identity import asked_of

_SEEN = 20  # entries that are shown if nobody says how many
_LISTED = 6  # keys of a column that are shown
_AGREED = ("", "y", "yes")
_HELP = {
    "\\help": "this list",
    "\\epsilon": "what a question may cost, such as \\epsilon 0.2",
    "\\rho": "the same, where the budget counts rho",
    "\\within": "how far off answers may be instead, such as \\within 50 or \\within 5%",
    "\\delta": "what discovering keys may cost, such as \\delta 1e-8",
    "\\confidence": "how sure error bars are to be, such as \\confidence 0.99",
    "\\fresh": "ask the last question again, pay for it, and get new noise",
    "\\tables": "what can be asked about",
    "\\budget": "what is left",
    "\\history": "the newest entries of the ledger, such as \\history 5",
    "\\who": "who is charged, or from now on, such as \\who alice",
    "\\quit": "leave; so does Ctrl-D",
}


@dataclass(frozen=True, slots=True)
class Request:
    """What was typed."""

    catalog: Path
    who: str
    wish: Wish
    receipt: str | None
    yes: bool
    no_history: bool
    as_json: bool


def repl(request: Request) -> int:
    """Read and answer questions until there are no more; return the code of the first error.

    In a terminal an error is shown and forgotten, and the code is 0.
    """
    watched = sys.stdin.isatty()
    if not watched and not request.yes:
        raise ValueError(
            "the input is no terminal, so that nobody can confirm a price; add --yes to pay "
            "without being asked"
        )
    wish = request.wish
    (wish if wish.priced else wish.with_("epsilon", "1")).asked()
    who = check_who(request.who)
    with so.open(request.catalog, who=who, receipt=request.receipt) as session:
        if not request.as_json:
            note_stranger(session.catalog, who)
        if not watched:
            prompt = _Prompt(session, request, read_pipe, read_pipe)
            return prompt.run(watched=False)
        history = None if request.no_history else history_file()
        terminal = Terminal(session.catalog, tuple(_HELP), history)
        try:
            prompt = _Prompt(session, request, terminal.read, terminal.confirm, terminal.remember)
            prompt.greet()
            prompt.run(watched=True)
        finally:
            terminal.close()
    return 0


class _Prompt:
    """What is remembered from one question to the next."""

    def __init__(
        self,
        session: so.Session,
        request: Request,
        read: Callable[[str], str],
        confirm: Callable[[str], str],
        remember: Callable[[str], None] | None = None,
    ) -> None:
        self.session = session
        self.wish = request.wish
        self.yes = request.yes
        self.as_json = request.as_json
        self.read = read
        self.confirm = confirm
        self.remember = remember
        self.console = console_for()
        self.errors = console_for(errors=True)
        self.last = ""  # question

    def greet(self) -> None:
        """Say how to begin."""
        if not self.as_json:
            tables = ", ".join(table.name for table in self.session.catalog.tables)
            self.console.print(
                f"Ask {tables} in SQL; end with ; or an empty line. \\help lists commands.",
                markup=False,
            )

    def run(self, *, watched: bool) -> int:
        """Answer everything that is typed; return the code of the first error."""
        code = 0
        for text in statements(self.read, watched=watched):
            try:
                if self.remember is not None:
                    self.remember(text)
                if text.startswith("\\") or text.rstrip(";").strip() in WORDS:
                    if not self._command(*text.removeprefix("\\").rstrip(";").split(None, 1)):
                        break
                else:
                    self.last = text
                    self._ask(text)
            except (SordinoError, ValueError, TypeError) as error:
                code = code or code_of(error)
                self._show_error(error)
            except KeyboardInterrupt:
                self.errors.print(
                    "interrupted; if a charge was made, \\history shows it, and asking the same "
                    "again is answered without paying again",
                    style="yellow",
                )
        return code

    def _command(self, name: str = "", rest: str = "") -> bool:
        """Carry out a command; return whether to go on."""
        value = rest.strip()
        match name:
            case "quit" | "exit" | "q":
                return False
            case "epsilon" | "rho" | "within" | "delta" | "confidence":
                self._set(name, value)
            case "fresh":
                self._fresh()
            case "tables":
                self._show_tables()
            case "budget":
                found = standing(self.session.ledger, who=self.session.who)
                show_budget(self.console, found, self.session.who)
            case "history":
                self._show_history(value)
            case "who":
                if value:
                    self.session.who = check_who(value)
                    note_stranger(self.session.catalog, value)
                self.console.print(f"{self.session.who} is charged", markup=False)
            case "help" | "h" | "?":
                self.console.print(facts_of(_HELP.items()))
            case _:
                raise ValueError(f"there is no command \\{name}; \\help lists them")
        return True

    def _set(self, name: str, value: str) -> None:
        """Change what holds for the next questions, and say what holds now."""
        if value:
            wish = self.wish.with_(name, value)
            (wish if wish.priced else wish.with_("epsilon", "1")).asked()
            self.wish = wish
        stated = getattr(self.wish, name)
        self.console.print(f"{name} {stated}" if stated else f"no {name} is stated", markup=False)

    def _fresh(self) -> None:
        if not self.last:
            raise ValueError("nothing was asked yet that could be asked again")
        self._ask(self.last, fresh=True)

    def _ask(self, sql: str, *, fresh: bool = False) -> None:
        """Show the price, let it be confirmed, and show the answer; a stored one costs nothing."""
        if not self.wish.priced:
            raise ValueError(
                "say first what a question may cost, such as \\epsilon 0.2, or how far off answers "
                "may be, such as \\within 50"
            )
        asked, session = self.wish.asked(), self.session
        found = session.explain(sql, **asked)
        answer = None if fresh else session.stored(found.plan)
        if answer is None:
            if not self.yes and not self._is_agreed(found):
                return
            answer = session.answer(found.plan, fresh=fresh)
        left = self._left(found.plan.people)
        if self.as_json:
            number = asked_of(found.plan, Options())[:SHORT]
            typer.echo(json.dumps({**answer_as_json(answer, left), "plan": number}))
        else:
            show_answer(self.console, answer, left)
            self.console.print()

    def _is_agreed(self, found: Explanation) -> bool:
        """Show what an answer would cost and how wide its error bars would be; Enter agrees."""
        plan, left = found.plan, self._left(found.plan.people)
        facts = [
            ("price", and_delta(found.price, plan.slack)),
            ("left", left_in_words(left, found.price, plan.slack, more="")),
        ]
        for (title, expected), (_, width, about) in zip(found.columns, found.widths(), strict=True):
            between = ": " if expected.half_width is None else " "
            told = f"{width}{between}{about}" if about else width
            facts.append((title, plain(told, self.console)))
        facts += [("warning", warning) for warning in found.warnings]
        self.console.print(facts_of(facts))
        enough = more_like(found.price, plan.slack, left.left, left.delta)
        if not enough or is_too_dear(left, found.price):
            return False
        try:
            said = self.confirm("Enter or y asks, anything else cancels: ")
            agreed = said.strip().casefold() in _AGREED
            self.console.print()
        except (KeyboardInterrupt, EOFError):
            typer.echo()
            agreed = False
        if not agreed:
            self.console.print("cancelled; nothing was charged", style="dim")
        return agreed

    def _left(self, people: str) -> Left:
        return next(one for one in self.session.budget if one.people == people)

    def _show_tables(self) -> None:
        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
        for title in ("table", "column", "type", "what is declared"):
            table.add_column(title, overflow="fold")
        for one in self.session.catalog.tables:
            name = f"{one.name} (public)" if one.public else one.name
            for column in one.columns:
                told = "whose row it is" if column.name == one.unit else _declared(column)
                cells = Text(name, "bold"), Text(column.name), str(column.type), Text(told)
                table.add_row(*cells)
                name = ""
        self.console.print(table)

    def _show_history(self, many: str) -> None:
        if many and not (many.isascii() and many.isdecimal() and int(many)):
            raise ValueError(f"\\history takes how many entries to show, got {many!r}")
        ledger = self.session.ledger
        show_entries(self.console, ledger, list(entries(ledger, last=int(many or _SEEN))))

    def _show_error(self, error: Exception) -> None:
        if self.as_json:
            typer.echo(json.dumps(error_as_json(error)), err=True)
            return
        first, *others = words_of(error).split("\n")
        self.errors.print(Text(first, style="bold red" if isinstance(error, QueryError) else "red"))
        for line in others:
            marks = not line.strip(" ^")
            style = "red" if marks else "" if line.startswith("  ") else "dim"
            self.errors.print(Text(line, style=style))


def _declared(column: Column) -> str:
    """Say what is public about a column."""
    if column.keys_from is not None:
        return f"keys from {'.'.join(column.keys_from)}"
    if column.keys is not None:
        more = len(column.keys) - _LISTED
        shown = ", ".join(map(brief, column.keys[:_LISTED]))
        return f"{shown} and {more:,} more" if more > 0 else shown
    return "" if column.bounds is None else f"{column.bounds.low} to {column.bounds.high}"
