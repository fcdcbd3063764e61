# SPDX-License-Identifier: Apache-2.0
"""An answer as a table of Arrow, pandas or polars; its types are fixed by the question.

Texts in a CSV file, so that no program that opens it acts on them.

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
from typing import TYPE_CHECKING, Any

from sordino.answer.answer import CellValue, Column
from sordino.query.types import ARROW_TYPES, Value

if TYPE_CHECKING:
    from sordino.answer.answer import Answer


_LARGEST = 2**63 - 1


def to_arrow(answer: Answer) -> Any:
    """Return a pyarrow table: each noisy column is followed by half-widths, low and high ends.

    A rehearsal has a first column that says so in every row.
    """
    import pyarrow as pa  # takes long to import

    fields, arrays = [], []
    names = set(answer.titles)
    if answer.rehearsed:
        fields.append(pa.field(free_name("rehearsal", names), pa.string()))
        arrays.append(pa.array(["invented rows"] * len(answer), type=pa.string()))
    for column in answer.columns:
        kind = _arrow_type(column)
        fields.append(pa.field(column.title, kind))
        arrays.append(pa.array([fitting(value) for value in column.values], type=kind))
        if column.noisy:
            errors = (
                ("half_width", column.half_widths),
                ("low", column.low),
                ("high", column.high),
            )
            for name, ends in errors:
                fields.append(pa.field(free_name(f"{column.title}_{name}", names), pa.float64()))
                arrays.append(pa.array(ends, type=pa.float64()))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def to_pandas(answer: Answer) -> Any:
    """Return a pandas DataFrame; columns with missing values have pandas' nullable types."""
    try:
        import pandas as pd  # an extra
    except ImportError:
        raise ImportError("to_pandas needs pandas: pip install pandas") from None
    types = {
        "int64": pd.Int64Dtype(),
        "double": pd.Float64Dtype(),
        "bool": pd.BooleanDtype(),
        "string": pd.StringDtype(),
    }
    return to_arrow(answer).to_pandas(types_mapper=lambda kind: types.get(str(kind)))


def to_polars(answer: Answer) -> Any:
    """Return a polars DataFrame."""
    try:
        import polars as pl  # an extra
    except ImportError:
        raise ImportError("to_polars needs polars: pip install polars") from None
    return pl.from_arrow(to_arrow(answer))


def _arrow_type(column: Column) -> Any:
    import pyarrow as pa  # takes long to import

    kind = pa.type_for_alias(ARROW_TYPES[column.type])
    return pa.list_(kind) if column.listed else kind


def fitting(value: CellValue) -> Value | list[Value]:
    """Return a value as tables take it; a whole number beyond 64 bits becomes the nearest one."""
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return min(max(value, -_LARGEST - 1), _LARGEST)
    return value


def free_name(name: str, taken: set[str]) -> str:
    """Return a name that no column has yet, and take it."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    taken.add(found)
    return found


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
