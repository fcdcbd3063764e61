# SPDX-License-Identifier: Apache-2.0
"""An answer as a table of Arrow, pandas or polars; its types are fixed by the question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sordino.answer.column import Column, Held
from sordino.query.types import Type, Value

if TYPE_CHECKING:
    from sordino.answer.answer import Answer

_LARGEST = 2**63 - 1


def to_arrow(answer: Answer) -> Any:
    """Return a pyarrow table: each noisy column is followed by half-widths, low and high ends.

    Guarantee: none needed; an answer is already private.
    """
    import pyarrow as pa  # takes long to import

    fields, arrays = [], []
    names = set(answer.titles)
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
    """Return a pandas DataFrame; columns with missing values have pandas' nullable types.

    Guarantee: none needed; an answer is already private.
    """
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
    """Return a polars DataFrame.

    Guarantee: none needed; an answer is already private.
    """
    try:
        import polars as pl  # an extra
    except ImportError:
        raise ImportError("to_polars needs polars: pip install polars") from None
    return pl.from_arrow(to_arrow(answer))


def _arrow_type(column: Column) -> Any:
    import pyarrow as pa  # takes long to import

    kinds = {
        Type.INTEGER: pa.int64(),
        Type.REAL: pa.float64(),
        Type.TEXT: pa.string(),
        Type.BOOLEAN: pa.bool_(),
        Type.DATE: pa.date32(),
        Type.TIMESTAMP: pa.timestamp("us"),
    }
    kind = kinds[column.type]
    return pa.list_(kind) if column.listed else kind


def fitting(value: Held) -> Value | list[Value]:
    """Return a value as tables take it; a whole number beyond 64 bits becomes the nearest one.

    Guarantee: none needed; an answer is already private.
    """
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return min(max(value, -_LARGEST - 1), _LARGEST)
    return value


def free_name(name: str, taken: set[str]) -> str:
    """Return a name that no column has yet, and take it.

    Guarantee: none needed; public inputs only.
    """
    found, number = name, 2
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    taken.add(found)
    return found
