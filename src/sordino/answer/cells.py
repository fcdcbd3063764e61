# SPDX-License-Identifier: Apache-2.0
r"""Texts in a CSV file, so that no program that opens it acts on them.

A spreadsheet computes what begins with ``=``, ``+``, ``-`` or ``@``, and a terminal obeys control
characters. A key may be any text that somebody wrote into the data. So such a text gets an
apostrophe in front, which spreadsheets take for "this is text", and control characters are written
as in Python, and so is a backslash, so that no two texts are written alike. Whoever reads the file
back takes one apostrophe off a text that begins with one, and reads what follows a backslash as
Python does. Where spreadsheets separate cells by semicolons, one within a text would let what
follows begin a cell: before such a character it is written as in Python, too.
"""

from __future__ import annotations

import re
import unicodedata

_COMPUTED = (
    *("=", "+", "-", "@"),
    *("\uff1d", "\uff0b", "\uff0d", "\uff20"),  # of full width
    *("\ufe66", "\ufe62", "\ufe63", "\ufe6b"),  # small
)
_ACTIVE = (*_COMPUTED, "'")
_SEPARATORS = re.compile(rf"[;|](?=[\s\"]*[{re.escape(''.join(_COMPUTED))}])")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})  # controls, marks of direction


def safe_cell(value: object) -> object:
    r"""Return a value as it is written to a CSV file; numbers, days and truth values as they are.

    >>> safe_cell("=cmd()"), safe_cell(-5), safe_cell("flu\x1b[31m"), safe_cell("'s-Gravenhage")
    ("'=cmd()", -5, 'flu\\x1b[31m', "''s-Gravenhage")

    Guarantee: none needed; an answer is already private.
    """
    if not isinstance(value, str):
        return value
    text = _SEPARATORS.sub(_escaped, "".join(map(_seen, value)))
    return f"'{text}" if text.lstrip().startswith(_ACTIVE) else text


def _seen(character: str) -> str:
    if character == "\\" or unicodedata.category(character) in _UNSEEN:
        return character.encode("unicode_escape").decode()
    return character


def _escaped(separator: re.Match[str]) -> str:
    return f"\\x{ord(separator[0]):02x}"
