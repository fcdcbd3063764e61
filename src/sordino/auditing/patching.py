# SPDX-License-Identifier: Apache-2.0
"""Putting other things in the place of attributes, for as long as a function runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def patched(patches: Iterable[tuple[Any, str, Any]]) -> Iterator[None]:
    """Set attributes, and put back afterwards what was there.

    Guarantee: none needed; for invented data only.
    """
    held: list[tuple[Any, str, Any]] = []
    try:
        for owner, name, value in patches:
            held.append((owner, name, getattr(owner, name)))
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in reversed(held):
            setattr(owner, name, value)


@contextmanager
def replaced(function: Callable[..., Any], other: Callable[[Any], Any]) -> Iterator[None]:
    """Replace what a function holds: globals, closure, defaults and attributes of its object.

    ``other`` returns what is to stand in a place, or the same thing again.

    Guarantee: none needed; for invented data only.
    """
    undo: list[Callable[[], None]] = []
    try:
        for holder in _holders(function):
            for name, value in list(holder.items()):
                made = other(value)
                if made is not value:
                    undo.append(functools.partial(holder.__setitem__, name, value))
                    holder[name] = made
        for inner in _functions(function):
            undo.append(_replace_cells(inner, other))
            undo.append(_replace_defaults(inner, other))
        yield
    finally:
        for step in reversed(undo):
            step()


def _functions(function: Any) -> list[Any]:
    """Return the plain functions that a callable is made of."""
    if isinstance(function, functools.partial):
        return _functions(function.func)
    function = getattr(function, "__func__", function)
    if not hasattr(function, "__globals__"):
        kinds = type(function).__mro__
        calls = [vars(kind)["__call__"] for kind in kinds if "__call__" in vars(kind)]
        return [call for call in calls[:1] if hasattr(call, "__globals__")]
    return [function]


def _holders(function: Any) -> list[dict[str, Any]]:
    held = [inner.__globals__ for inner in _functions(function)]
    if isinstance(function, functools.partial):
        return [*_holders(function.func), function.keywords]
    owner = getattr(function, "__self__", function)
    if not isinstance(owner, type) and not hasattr(owner, "__globals__"):
        held.append(getattr(owner, "__dict__", {}))
    return held


def _replace_cells(function: Any, other: Callable[[Any], Any]) -> Callable[[], None]:
    held = []
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # it is empty
            continue
        made = other(value)
        if made is not value:
            held.append((cell, value))
            cell.cell_contents = made

    def undo() -> None:
        for cell, value in held:
            cell.cell_contents = value

    return undo


def _replace_defaults(function: Any, other: Callable[[Any], Any]) -> Callable[[], None]:
    plain, named = function.__defaults__, function.__kwdefaults__
    if plain:
        function.__defaults__ = tuple(map(other, plain))
    if named:
        function.__kwdefaults__ = {name: other(value) for name, value in named.items()}

    def undo() -> None:
        function.__defaults__, function.__kwdefaults__ = plain, named

    return undo
