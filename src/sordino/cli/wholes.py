# SPDX-License-Identifier: Apache-2.0
"""Whole numbers on the command line: plain digits, where Python would take 1_0 for ten."""

from collections.abc import Callable

import typer


def whole(*, least: int | None = None, most: int | None = None) -> Callable[[str | int], int]:
    """Return a reader for an option that takes a whole number."""

    def read(text: str | int) -> int:
        if isinstance(text, int):  # what holds if nothing was typed
            return text
        from sordino.numbers.rational import whole_of  # numpy is loaded only here

        try:
            number = whole_of("it", text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        if least is not None and number < least:
            raise typer.BadParameter(f"it must be at least {least}, got {number}")
        if most is not None and number > most:
            raise typer.BadParameter(f"it must be at most {most}, got {number}")
        return number

    return read
