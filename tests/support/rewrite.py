# SPDX-License-Identifier: Apache-2.0
"""A function with one phrase of its source exchanged, in place and for a while."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FunctionType
from typing import Any


@contextmanager
def rewritten(function: Callable[..., Any], old: str, new: str) -> Iterator[None]:
    """Let a function behave as if ``old`` read ``new`` in its source, wherever it was imported.

    The code object is exchanged, so that every name for the function means the changed one.
    """
    plain = inspect.unwrap(function)
    assert isinstance(plain, FunctionType)
    assert not plain.__code__.co_freevars, "a closure cannot be rewritten"
    source = textwrap.dedent(inspect.getsource(plain))
    assert old in source, f"{plain.__qualname__} no longer says {old!r}; rewrite the mutant"
    changed = source.replace(old, new)
    names: dict[str, Any] = {}
    exec(compile(f"from __future__ import annotations\n{changed}", "<mutant>", "exec"),  # noqa: S102  # our own source, one phrase changed
         plain.__globals__, names)  # fmt: skip
    made = names[plain.__name__]
    before, plain.__code__ = plain.__code__, inspect.unwrap(made).__code__
    _forget(function)
    try:
        yield
    finally:
        plain.__code__ = before
        _forget(function)


def _forget(function: Any) -> None:
    clear = getattr(function, "cache_clear", None)
    if clear is not None:
        clear()


Mutant = Callable[[], AbstractContextManager[Any]]


def mutant(function: Callable[..., Any], old: str, new: str) -> Mutant:
    """Return what changes a function for a while, each time it is called."""
    return lambda: rewritten(function, old, new)
