# SPDX-License-Identifier: Apache-2.0
"""What is named on the command line to be audited: a function, and the two inputs for it."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from operator import attrgetter
from pathlib import Path
from typing import Any

_FORM = "write module:function, such as my_module:my_mechanism"
_CODE = re.compile(r"[()\[\]{}]")  # a call, a choice or a list: no plain word has them
_LITERALS = "([{'\"-+.0123456789"  # what a value that is no plain text begins with


def load(target: str) -> Callable[..., Any]:
    """Import a function by its name, from the current folder first."""
    module, colon, name = target.partition(":")
    if module.endswith(".py"):
        stem = Path(module).stem
        raise ValueError(
            f"{target!r} names a file; go to its folder and write {stem}:{name or 'function'}"
        )
    parts = [*module.split("."), *name.split(".")]
    if not colon or not all(part.isidentifier() for part in parts):
        raise ValueError(f"{target!r} does not name a function; {_form(target)}")
    with _current_folder():
        found = _module(module)
    try:
        mechanism = attrgetter(name)(found)
    except AttributeError:
        raise ValueError(_no_name(found, module, name)) from None
    except Exception as error:  # what a file does when a name of it is looked up
        raise ValueError(f"looking up {target} failed with {_told(error)}") from None
    if not callable(mechanism):
        kind = type(mechanism).__name__
        raise ValueError(
            f"{target} is of type {kind} and cannot be called; name a function of the data"
        )
    return mechanism  # type: ignore[no-any-return]  # whatever the file holds


def read_value(text: str) -> Any:
    """Read a value as Python writes it; what is a plain word is text, and code is refused.

    >>> read_value("[1, 2]"), read_value("-3"), read_value("alice")
    ([1, 2], -3, 'alice')
    """
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        if not text.strip() or (text.strip()[0] not in _LITERALS and not _CODE.search(text)):
            return text
    raise ValueError(
        f"the neighbour {text} cannot be read; write it as Python does, such as 3, [1, 2] or 'a'"
    )


def _form(target: str) -> str:
    """Say how a function is named; a dot may stand where the colon belongs."""
    module, dot, name = target.rpartition(".")
    if dot and all(part.isidentifier() for part in [*module.split("."), name]):
        return f"write {module}:{name}"
    return _FORM


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
    return ValueError(
        f"importing {name} failed with {_told(error)}; see that 'python -c \"import {name}\"' works"
    )


def _told(error: BaseException) -> str:
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _no_name(found: Any, module: str, name: str) -> str:
    held = getattr(found, "__dict__", {})  # what a module would load on demand is not asked for
    public = [one for one, value in held.items() if callable(value) and one[:1] != "_"]
    near = get_close_matches(name, public, n=1)
    hint = f"did you mean {near[0]}?" if near else _FORM
    return f"module {module} has no {name}; {hint}"
