# SPDX-License-Identifier: Apache-2.0
"""What is named on the command line to be audited: a function, and the two inputs for it."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from operator import attrgetter
from pathlib import Path
from typing import Any

_FORM = "write module:function, such as my_module:my_mechanism"
_LITERALS = "([{'\"-+.0123456789"  # what a value that is no plain text begins with


def load(target: str) -> Callable[..., Any]:
    """Import a function by its name, from the current folder first."""
    module, colon, name = target.partition(":")
    parts = [*module.split("."), *name.split(".")]
    if not colon or not all(part.isidentifier() for part in parts):
        raise ValueError(f"{target!r} does not name a function; {_FORM}")
    with _current_folder():
        found = _module(module)
    try:
        mechanism = attrgetter(name)(found)
    except AttributeError:
        raise ValueError(_no_name(found, module, name)) from None
    if not callable(mechanism):
        kind = type(mechanism).__name__
        raise ValueError(
            f"{target} is of type {kind} and cannot be called; name a function of the data"
        )
    return mechanism  # type: ignore[no-any-return]  # whatever the file holds


def read_value(text: str) -> Any:
    """Read a value as Python writes it; what is a plain word is text.

    >>> read_value("[1, 2]"), read_value("-3"), read_value("alice")
    ([1, 2], -3, 'alice')
    """
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        if text.strip()[:1] not in _LITERALS or not text.strip():
            return text
    raise ValueError(
        f"the neighbour {text} cannot be read; write it as Python does, such as 3, [1, 2] or 'a'"
    )


@contextmanager
def _current_folder() -> Iterator[None]:
    """Let imports look into the current folder, as `python -m` does."""
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise ValueError(
                f"there is no module {error.name!r}; go to the folder that holds it, or install it"
            ) from None
        raise _failed(name, error) from None
    except (Exception, SystemExit) as error:
        raise _failed(name, error) from None


def _failed(name: str, error: BaseException) -> ValueError:
    said = " ".join(str(error).split())
    told = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return ValueError(
        f"importing {name} failed with {told}; see that 'python -c \"import {name}\"' works"
    )


def _no_name(found: Any, module: str, name: str) -> str:
    public = [one for one in dir(found) if callable(getattr(found, one)) and one[:1] != "_"]
    near = get_close_matches(name, public, n=1)
    hint = f"did you mean {near[0]}?" if near else _FORM
    return f"module {module} has no {name}; {hint}"
