# SPDX-License-Identifier: Apache-2.0
"""`sordino repl`: a prompt for SQL that says what an answer would cost before it is asked for."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.text import Text

import sordino as so
from sordino.answer.render import plain as brief
from sordino.catalog.model import Catalog, Column
from sordino.cli.options import Typed
from sordino.cli.repl.input import (
    COMMANDS_WITHOUT_BACKSLASH,
    Terminal,
    history_file,
    read_pipe,
    statements,
)
from sordino.cli.show import note_stranger, show_answer, show_budget, show_entries
from sordino.cli.terminal import console_for, facts_of, plain, table_with
from sordino.cli.usage import code_of, show_error, words_of
from sordino.errors import QueryError, SordinoError
from sordino.ledger.history import entries, standing
from sordino.ledger.left import and_delta, is_too_dear, left_in_words, more_like
from sordino.plan.explain import Explanation
from sordino.session.service import answer_to_json, check_who, number_of

ENTRIES_BY_DEFAULT = 20
MAX_KEYS_SHOWN = 6
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
class Manner:
    """How to speak with whoever types: whether prices are confirmed, what is kept, what is said."""

    yes: bool
    no_history: bool
    as_json: bool


def start(catalog: Path, who: str, typed: Typed, receipt: str | None, manner: Manner) -> int:
    """Read and answer questions until there are no more; return the code of the first error.

    In a terminal an error is shown and forgotten, and the code is 0.
    """
    check_input(typed, manner)
    with so.open(catalog, who=check_who(who), receipt=receipt) as session:
        if not manner.as_json:
            note_stranger(session.catalog, who)
        return speak(_LocalPrompt(session, typed, manner), session.catalog, manner)


def check_input(typed: Typed, manner: Manner) -> None:
    """Refuse terms that mean nothing, and a pipe in which nobody can confirm a price."""
    if not sys.stdin.isatty() and not manner.yes:
        raise ValueError(
            "the input is no terminal, so that nobody can confirm a price; add --yes to pay "
            "without being asked"
        )
    _check(typed)


def speak(prompt: Prompt, catalog: Catalog, manner: Manner) -> int:
    """Let somebody type, or read a pipe; ``catalog`` has the names that can be completed."""
    if not sys.stdin.isatty():
        return prompt.run(watched=False)
    history = None if manner.no_history else history_file()
    terminal = Terminal(catalog, tuple(_HELP), history)
    try:
        prompt.read, prompt.confirm = terminal.read, terminal.confirm
        prompt.remember = terminal.remember
        prompt.greet([table.name for table in catalog.tables])
        prompt.run(watched=True)
    finally:
        terminal.close()
    return 0


def _check(typed: Typed) -> None:
    """Refuse terms that no question could be asked on; the price may still be open."""
    (typed if typed.priced else typed.changed("epsilon", "1")).read("")


class Prompt(ABC):
    """What is remembered from one question to the next, whoever answers it."""

    def __init__(self, typed: Typed, manner: Manner) -> None:
        self.typed = typed
        self.yes = manner.yes
        self.as_json = manner.as_json
        self.read: Callable[[str], str] = read_pipe
        self.confirm: Callable[[str], str] = read_pipe
        self.remember: Callable[[str], None] | None = None
        self.console = console_for()
        self.errors = console_for(errors=True)
        self.last = ""  # question

    @abstractmethod
    def ask(self, sql: str, *, fresh: bool) -> None:
        """Show the price, let it be confirmed, and show the answer."""

    @abstractmethod
    def show_tables(self) -> None:
        """Show what can be asked about."""

    @abstractmethod
    def show_budget(self) -> None:
        """Show what is left."""

    @abstractmethod
    def show_history(self, many: int) -> None:
        """Show the newest entries of the ledger."""

    @abstractmethod
    def change_who(self, name: str) -> str:
        """Let somebody else be charged if one is named; return who is charged."""

    def greet(self, tables: list[str]) -> None:
        """Say how to begin."""
        if not self.as_json:
            named = ", ".join(tables)
            self.console.print(
                f"Ask {named} in SQL; end with ; or an empty line. \\help lists commands.",
                markup=False,
            )

    def run(self, *, watched: bool) -> int:
        """Answer everything that is typed; return the code of the first error."""
        code = 0
        for text in statements(self.read, watched=watched):
            try:
                if self.remember is not None:
                    self.remember(text)
                if text.startswith("\\") or text.rstrip(";").strip() in COMMANDS_WITHOUT_BACKSLASH:
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
                self.show_tables()
            case "budget":
                self.show_budget()
            case "history":
                self._history(value)
            case "who":
                self.console.print(f"{self.change_who(value)} is charged", markup=False)
            case "help" | "h" | "?":
                self.console.print(facts_of(_HELP.items()))
            case _:
                raise ValueError(f"there is no command \\{name}; \\help lists them")
        return True

    def _set(self, name: str, value: str) -> None:
        """Change what holds for the next questions, and say what holds now."""
        if value:
            typed = self.typed.changed(name, value)
            _check(typed)
            self.typed = typed
        stated = getattr(self.typed, name)
        self.console.print(f"{name} {stated}" if stated else f"no {name} is stated", markup=False)

    def _fresh(self) -> None:
        if not self.last:
            raise ValueError("nothing was asked yet that could be asked again")
        self._ask(self.last, fresh=True)

    def _ask(self, sql: str, *, fresh: bool = False) -> None:
        if not self.typed.priced:
            raise ValueError(
                "say first what a question may cost, such as \\epsilon 0.2, or how far off "
                "answers may be, such as \\within 50"
            )
        self.ask(sql, fresh=fresh)

    def _history(self, many: str) -> None:
        if many and not (many.isascii() and many.isdecimal() and int(many)):
            raise ValueError(f"\\history takes how many entries to show, got {many!r}")
        self.show_history(int(many or ENTRIES_BY_DEFAULT))

    def is_agreed(self, facts: list[tuple[str, str]], *, fits: bool) -> bool:
        """Show what an answer would cost and how wide its error bars would be; Enter agrees.

        What does not fit into what is left is not asked for.
        """
        self.console.print(facts_of(facts))
        if not fits:
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

    def _show_error(self, error: Exception) -> None:
        if self.as_json:
            show_error(error, as_json=True)
            return
        first, *others = words_of(error).split("\n")
        self.errors.print(Text(first, style="bold red" if isinstance(error, QueryError) else "red"))
        for line in others:
            marks = not line.strip(" ^")
            style = "red" if marks else "" if line.startswith("  ") else "dim"
            self.errors.print(Text(line, style=style))


class _LocalPrompt(Prompt):
    """A prompt for a session here."""

    def __init__(self, session: so.Session, typed: Typed, manner: Manner) -> None:
        super().__init__(typed, manner)
        self.session = session

    def ask(self, sql: str, *, fresh: bool) -> None:
        """Show the price, let it be confirmed, and show the answer; a stored one costs nothing."""
        explanation = self.session.explain_ask(self.typed.read(sql))
        plan = explanation.plan
        answer = None if fresh else self.session.stored(plan)
        if answer is None:
            if not self.yes and not self._agree(explanation):
                return
            answer = self.session.answer(plan, fresh=fresh)
        left = self.session.budget.of(plan.people)
        if self.as_json:
            typer.echo(json.dumps({**answer_to_json(answer, left), "plan": number_of(plan)}))
        else:
            show_answer(self.console, answer, left)
            self.console.print()

    def _agree(self, explanation: Explanation) -> bool:
        plan, left = explanation.plan, self.session.budget.of(explanation.plan.people)
        facts = [
            ("price", and_delta(explanation.price, plan.slack)),
            ("left", left_in_words(left, explanation.price, plan.slack, more="")),
        ]
        columns = zip(explanation.columns, explanation.widths(), strict=True)
        for (title, expected), (_, width, about) in columns:
            between = ": " if expected.half_width is None else " "
            told = f"{width}{between}{about}" if about else width
            facts.append((title, plain(told, self.console)))
        facts += [("warning", warning) for warning in explanation.warnings]
        enough = more_like(explanation.price, plan.slack, left.left, left.delta)
        return self.is_agreed(facts, fits=bool(enough) and not is_too_dear(left, explanation.price))

    def show_tables(self) -> None:
        """Show what is declared of each column."""
        table = table_with("table", "column", "type", "what is declared")
        for one in self.session.catalog.tables:
            name = f"{one.name} (public)" if one.public else one.name
            for column in one.columns:
                told = "whose row it is" if column.name == one.unit else _declared(column)
                cells = Text(name, "bold"), Text(column.name), str(column.type), Text(told)
                table.add_row(*cells)
                name = ""
        self.console.print(table)

    def show_history(self, many: int) -> None:
        """Show the newest entries of the ledger."""
        ledger = self.session.ledger
        show_entries(self.console, ledger, list(entries(ledger, last=many)))

    def show_budget(self) -> None:
        """Show what is left."""
        standings = standing(self.session.ledger, who=self.session.who)
        show_budget(self.console, standings, self.session.who)

    def change_who(self, name: str) -> str:
        """Let somebody else be charged if one is named; return who is charged."""
        if name:
            self.session.who = check_who(name)
            note_stranger(self.session.catalog, name)
        return self.session.who


def _declared(column: Column) -> str:
    """Say what is public about a column."""
    if column.keys_from is not None:
        return f"keys from {'.'.join(column.keys_from)}"
    if column.keys is not None:
        more = len(column.keys) - MAX_KEYS_SHOWN
        shown = ", ".join(map(brief, column.keys[:MAX_KEYS_SHOWN]))
        return f"{shown} and {more:,} more" if more > 0 else shown
    return "" if column.bounds is None else f"{column.bounds.low} to {column.bounds.high}"
