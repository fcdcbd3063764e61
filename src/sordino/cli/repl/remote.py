# SPDX-License-Identifier: Apache-2.0
"""A prompt for SQL that asks a server: prices first, and an answer at that price."""

from __future__ import annotations

import json

import typer
from rich.text import Text

from sordino.catalog.model import Catalog, Column, Frame, Table
from sordino.cli.options import Typed
from sordino.cli.remote import show_told
from sordino.cli.repl.prompt import Manner, Prompt, check_input, speak
from sordino.cli.show import show_answer
from sordino.cli.terminal import plain, table_with
from sordino.ledger.left import is_too_dear
from sordino.remote import RemoteSession, connect
from sordino.remote.told import RemoteExplanation, RemoteTable
from sordino.session.service import answer_to_json


def start_there(server: str, typed: Typed, manner: Manner) -> int:
    """Read questions and ask a server; return the code of the first error."""
    check_input(typed, manner)
    with connect(server) as session:
        tables = tuple(map(_named, session.tables))
        return speak(RemotePrompt(session, typed, manner), Catalog(tables), manner)


class RemotePrompt(Prompt):
    """A prompt for a session on a server."""

    def __init__(self, session: RemoteSession, typed: Typed, manner: Manner) -> None:
        super().__init__(typed, manner)
        self.session = session

    def ask(self, sql: str, *, fresh: bool) -> None:
        """Show the price, let it be confirmed, and show the answer."""
        ask = self.typed.read(sql, fresh=fresh)
        explanation = self.session.explain_ask(ask)
        if not self.yes and not self._agree(explanation):
            return
        answer = self.session.buy(explanation)
        left = self.session.budget.of(answer.charge.people)
        if self.as_json:
            typer.echo(json.dumps(answer_to_json(answer, left)))
        else:
            show_answer(self.console, answer, left)
            self.console.print()

    def _agree(self, explanation: RemoteExplanation) -> bool:
        facts = [("price", str(explanation.price)), ("left", explanation.left)]
        for title, width, about in explanation.widths():
            facts.append((title, plain(f"{width} {about}".rstrip(), self.console)))
        facts += [("warning", warning) for warning in explanation.warnings]
        left = self.session.budget.of(explanation.people)
        enough = explanation.price.nanos <= left.left.nanos
        return self.is_agreed(facts, fits=enough and not is_too_dear(left, explanation.price))

    def show_tables(self) -> None:
        """Show what the server tells of each column."""
        table = table_with("table", "column")
        for one in self.session.tables:
            name = f"{one.name} (public)" if one.public else one.name
            for column in one.columns:
                table.add_row(Text(name, "bold"), Text(str(column)))
                name = ""
        self.console.print(table)

    def show_budget(self) -> None:
        """Show what is left."""
        for left in self.session.budget:
            self.console.print(str(left), markup=False, highlight=False)

    def show_history(self, many: int) -> None:
        """Show the newest entries of the ledger that may be seen."""
        counted = {left.people: left.cap.currency for left in self.session.budget}
        show_told(self.console, self.session.history(last=many), counted)

    def change_who(self, name: str) -> str:
        """Say whose token it is; nobody else can be charged with it."""
        if name:
            raise ValueError("a server knows who asks by the token; log in as somebody else")
        return self.session.who


def _named(table: RemoteTable) -> Table:
    """Return a table whose names can be completed; it has no rows here."""
    columns = tuple(Column(one.name, one.type) for one in table.columns)
    return Table(table.name, Frame(None), columns, unit=table.unit, public=table.public)
