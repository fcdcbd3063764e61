# SPDX-License-Identifier: Apache-2.0
"""Reading a sum of losses as people type it: ``laplace(epsilon=0.1) * 50 + gaussian(sigma=20)``."""

from __future__ import annotations

import ast
from collections.abc import Callable
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction

from sordino.numbers.rational import decimal_of
from sordino.privacy import losses
from sordino.privacy.loss import Loss

KNOWN: dict[str, Callable[..., Loss]] = {
    name: getattr(losses, name) for name in losses.__all__ if name != "pmfs"
}


class ExpressionError(ValueError):
    """The text is no sum of losses; the message points at the place."""

    def __init__(self, message: str, text: str, column: int) -> None:
        super().__init__(f"{message}\n  {text}\n  {' ' * column}^")


def read_losses(text: str) -> list[tuple[Loss, int]]:
    """Read a sum of losses, each with how often it is used, in the order they stand."""
    flat = " ".join(text.split())
    try:
        tree = ast.parse(flat, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        column = max(0, (getattr(error, "offset", None) or 1) - 1)
        message = "this is not a sum such as laplace(epsilon=0.1) * 50 + gaussian(sigma=20)"
        raise ExpressionError(message, flat[:200], min(column, 200)) from None
    return _Reader(flat).terms(tree)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def _refuse(self, message: str, node: ast.AST) -> ExpressionError:
        column = len(self._text.encode()[: getattr(node, "col_offset", 0)].decode())
        return ExpressionError(message, self._text, column)

    def terms(self, node: ast.expr) -> list[tuple[Loss, int]]:
        found: list[tuple[Loss, int]] = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            found.append(self._term(node.right))
            node = node.left
        found.append(self._term(node))
        return found[::-1]

    def _term(self, node: ast.expr) -> tuple[Loss, int]:
        times = 1
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            left_is_number = isinstance(node.left, ast.Constant)
            number, node = (node.left, node.right) if left_is_number else (node.right, node.left)
            if not (isinstance(number, ast.Constant) and type(number.value) is int):
                raise self._refuse("a loss is repeated a whole number of times", number)
            self._check_plain(number)
            if number.value < 1:
                raise self._refuse("a loss is repeated at least once", number)
            times *= number.value
        return self._loss(node), times

    def _loss(self, node: ast.expr) -> Loss:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise self._refuse("a loss looks like laplace(epsilon=0.1)", node)
        name = node.func.id
        if name not in KNOWN:
            near = get_close_matches(name, KNOWN, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(KNOWN))}"
            raise self._refuse(f"there is no loss called {name}; {hint}", node)
        positional = [self._loss(argument) for argument in node.args]
        named = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self._refuse("arguments are written name=value", keyword.value)
            named[keyword.arg] = self._value(keyword.value)
        try:
            return KNOWN[name](*positional, **named)
        except (TypeError, ValueError) as error:
            message = str(error).replace(f"{name}()", name)
            raise self._refuse(message, node) from None

    def _check_plain(self, node: ast.Constant) -> Decimal:
        """Return a number as it was typed, whatever its length; refuse 1_0 and 0x10."""
        try:
            return decimal_of("a value", ast.get_source_segment(self._text, node) or "")
        except ValueError as error:
            raise self._refuse(str(error), node) from None

    def _value(self, node: ast.expr) -> object:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str):
            if isinstance(node.value, str | bool):
                return node.value
            typed = self._check_plain(node)
            return typed if isinstance(node.value, float) else node.value
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            above, below = self._value(node.left), self._value(node.right)
            if isinstance(above, int) and isinstance(below, int) and below:
                return Fraction(above, below)
        raise self._refuse("a value is a number, such as 0.1 or 1/3, of whole numbers", node)
