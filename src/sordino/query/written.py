# SPDX-License-Identifier: Apache-2.0
"""Writing values as TOML."""

from __future__ import annotations

import re
from datetime import date

from sordino.query.types import Value

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def quoted(text: str) -> str:
    r"""Write text as a TOML string.

    >>> print(quoted('a "b"'))
    "a \"b\""
    """
    return '"' + "".join(_escaped(character) for character in text) + '"'


def key(name: str) -> str:
    """Write a name as a TOML key.

    >>> key("age"), key("weight in kg")
    ('age', '"weight in kg"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quoted(name)


def value(x: Value) -> str:
    """Write a value as TOML, which has everything but missing values."""
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, str):
        return quoted(x)
    if isinstance(x, date):
        return x.isoformat()
    return repr(x)


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character < " " or character == "\x7f":
        return f"\\u{ord(character):04x}"
    return character
