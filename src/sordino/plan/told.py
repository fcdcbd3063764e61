# SPDX-License-Identifier: Apache-2.0
"""What an explanation looks like, wherever it was made: here from a plan, or by a server."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape

from sordino.privacy.currency import Price

RELEASES = ("released", "noise", "one unit moves it by", "price", "share")
COLUMNS = ("column", "half-width", "about")


class Told(ABC):
    """An explanation as text and as a table of a notebook."""

    __slots__ = ()

    price: Price
    facts: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]

    @abstractmethod
    def rows(self) -> list[tuple[str, ...]]:
        """Return a line for each release: what, noise, shift, price and share, as texts."""

    @abstractmethod
    def widths(self) -> list[tuple[str, ...]]:
        """Return a line for each column of the answer: title, half-width, what it is about."""

    def picture(self) -> str:
        """Return a picture to be shown below the tables, or nothing."""
        return ""

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.facts)
        lines = [f"{name:<{width}}  {text}" for name, text in self.facts]
        lines += ["", *_table(COLUMNS, self.widths()), ""]
        lines += _table((*RELEASES[:3], str(self.price.currency), RELEASES[4]), self.rows())
        lines += ["", *(f"warning: {text}" for text in self.warnings)] if self.warnings else []
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        facts = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in self.facts
        )
        warnings = "".join(f"<p><b>warning:</b> {escape(text)}</p>" for text in self.warnings)
        return (
            f'<div class="sordino-plan"><table>{facts}</table>'
            f"{_html(COLUMNS, self.widths())}{_html(RELEASES, self.rows())}{warnings}"
            f"{self.picture()}</div>"
        )


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    sizes = [max(len(line[i]) for line in (head, *lines)) for i in range(len(head))]
    rule = ["-" * size for size in sizes]
    return [
        "  ".join(cell.ljust(size) for cell, size in zip(line, sizes, strict=True))
        for line in (head, rule, *lines)
    ]


def _html(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in lines
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
