# SPDX-License-Identifier: Apache-2.0
"""Tables in memory: pandas, polars, Arrow and dictionaries of columns, as Arrow.

The type of a column is that of its schema, and never guessed from values: a guess would change with
the data. Where the schema tells nothing, the owner says the type, or what is declared implies it:
keys have a type, bounds are those of real numbers or of days, and ids can always be text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any, NamedTuple

import numpy as np

from sordino.errors import CatalogError
from sordino.query import declare
from sordino.query.arrow import plain, type_of
from sordino.query.catalog import ROW, Catalog, Column, Frame, Table
from sordino.query.entries import read_entries
from sordino.query.names import about, among
from sordino.query.types import Type
from sordino.query.values import read_type, read_value

_SAYS_NOTHING = "tells nothing of its type; say it, as in types={{{!r}: 'text'}}, or leave it out"
_UNSUPPORTED = "is not supported; convert it, or leave the column out"
_PLAIN_UNITS = [(unit, 1) for unit in ("D", "s", "ms", "us", "ns")]  # those that Arrow has


def frame_catalog(
    frame: object,
    *,
    unit: str,
    name: str = "data",
    bounds: Mapping[str, object] | None = None,
    keys: Mapping[str, Iterable[object]] | None = None,
    other: Mapping[str, object] | None = None,
    types: Mapping[str, str] | None = None,
    rows: int | None = None,
    groups: int | None = None,
    rows_per_group: int | None = None,
    public_tables: Mapping[str, object] | None = None,
    epsilon: object = None,
    delta: object = None,
    rho: object = None,
    currency: str | None = None,
) -> Catalog:
    """Return the catalog of one private table in memory, with public ones beside it if given.

    ``keys`` has a list for a column, or ``"table.column"`` of a public table that holds them.
    """
    purse = declare.purse(epsilon=epsilon, delta=delta, rho=rho, currency=currency)
    keys = {name: _listed(stated) for name, stated in (keys or {}).items()}
    with about(f"table {name!r}"):
        implied = _implied(unit, bounds or {}, keys)
        held = to_arrow(frame, types=types or {}, implied=implied)
        _refuse_unit(held, frame, unit)
        columns = columns_of(held, bounds=bounds, keys=keys, other=other)
    private = declare.table(
        name,
        Frame(held),
        columns,
        unit=unit,
        limits=declare.limits(rows=rows, groups=groups, rows_per_group=rows_per_group),
    )
    public = [public_table(name, table) for name, table in (public_tables or {}).items()]
    return declare.catalog([private, *public], purse)


def public_table(name: str, frame: object, *, types: Mapping[str, str] | None = None) -> Table:
    """Return a public table in memory."""
    with about(f"table {name!r}"):
        held = to_arrow(frame, types=types or {}, public=True)
        columns = columns_of(held)
    return declare.table(name, Frame(held), columns, public=True)


def columns_of(
    held: Any,
    *,
    bounds: Mapping[str, object] | None = None,
    keys: Mapping[str, Iterable[object]] | None = None,
    other: Mapping[str, object] | None = None,
) -> list[Column]:
    """Return the columns of a plain Arrow table with what is declared of them."""
    stated = {"bounds": bounds or {}, "keys": keys or {}, "other": other or {}}
    for what, entries in stated.items():
        _check_known(what, entries, held.column_names)
    return [
        declare.column(
            field.name,
            type_of(field.type) or Type.TEXT,
            bounds=stated["bounds"].get(field.name),
            other=stated["other"].get(field.name),
            **_keys(stated["keys"].get(field.name)),
        )
        for field in held.schema
    ]


def to_arrow(
    frame: object,
    *,
    types: Mapping[str, str],
    implied: Mapping[str, Type] | None = None,
    public: bool = False,
) -> Any:
    """Return an Arrow table of plain types; its errors depend on the schema alone.

    ``types`` are those that the owner states, ``implied`` those of columns whose schema tells
    nothing.
    """
    import pyarrow as pa  # pyarrow is loaded only where there are frames

    columns = _columns(frame)
    _check_known("types", types, columns)
    made = {}
    for name, values in columns.items():
        with about(f"column {name!r}"):
            stated = read_type(types[name]) if name in types else None
            wanted = _Wanted(name, stated, (implied or {}).get(name), public)
            made[name] = _arrow_column(wanted, values)
    if len({len(column) for column in made.values()}) > 1:
        raise CatalogError("all columns must have the same length")
    return pa.table(made)


class _Wanted(NamedTuple):
    """A column with the type that was stated for it, and the one that is implied otherwise."""

    name: str
    stated: Type | None
    implied: Type | None
    public: bool = False

    def or_else(self, kind: Type) -> _Wanted:
        return self._replace(stated=self.stated or kind)


def _implied(
    unit: str, bounds: Mapping[str, object], keys: Mapping[str, Iterable[object]]
) -> dict[str, Type]:
    """Return the types that public declarations imply, where the schema tells nothing."""
    found = {unit: Type.TEXT} if isinstance(unit, str) else {}
    for name, ends in bounds.items():
        days = isinstance(ends, tuple | list) and any(isinstance(end, date) for end in ends)
        found[name] = Type.DATE if days else Type.REAL
    for name, listed in keys.items():
        if isinstance(listed, tuple):
            first = next((key for key in listed if key is not None), None)
            kind = next((kind for kind in Type if _is_key(kind, first)), None)
            found |= {} if kind is None else {name: kind}
    return found


def _listed(keys: Iterable[object]) -> Iterable[object]:
    """Return keys so that they can be gone through twice; what is no list is refused later."""
    again = isinstance(keys, str) or not isinstance(keys, Iterable)
    return keys if again else tuple(keys)


def _is_key(kind: Type, key: object) -> bool:
    try:
        read_value(kind, key)
    except CatalogError:
        return False
    return True


def _keys(stated: object) -> dict[str, Any]:
    return {"keys_from": stated} if isinstance(stated, str) else {"keys": stated}


def _check_known(what: str, entries: Mapping[str, object], names: Iterable[str]) -> None:
    names = list(names)
    for name in entries:
        if name not in names:
            raise CatalogError(f"{what} names {name!r}, which is not a column: {among(names)}")


def _columns(frame: object) -> dict[str, Any]:
    """Return the columns of a frame as they are, by name."""
    library = type(frame).__module__.partition(".")[0]
    found: list[tuple[object, Any]]
    if isinstance(frame, Mapping):
        found = list(frame.items())
    elif library == "pandas" and type(frame).__name__ == "DataFrame":
        pandas: Any = frame
        found = [(name, pandas.iloc[:, place]) for place, name in enumerate(pandas.columns)]
    elif hasattr(frame, "__arrow_c_stream__"):
        import pyarrow as pa  # pyarrow is loaded only where there are frames

        table = frame if isinstance(frame, pa.Table) else pa.table(frame)
        found = list(zip(table.column_names, table.columns, strict=True))
    else:
        raise CatalogError(
            "a table in memory must be a pandas or polars DataFrame, an Arrow table or a "
            f"dictionary of columns, not a value of type {type(frame).__name__}"
        )
    columns: dict[str, Any] = {}
    for name, values in found:
        if not isinstance(name, str) or name in columns:
            raise CatalogError(f"column names must be text and differ, got {name!r}")
        columns[name] = values
    return columns


def _arrow_column(wanted: _Wanted, values: Any) -> Any:
    import pyarrow as pa  # pyarrow is loaded only where there are frames

    if type(values).__module__.partition(".")[0] == "pandas":
        return _from_pandas(wanted, values)
    if isinstance(values, np.ndarray):
        return _from_numpy(wanted, values)
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return _from_arrow(wanted, values)
    if hasattr(values, "__arrow_c_stream__"):  # a polars Series
        return _from_arrow(wanted, pa.chunked_array(values))
    if isinstance(values, list | tuple):
        return _one_by_one(wanted, values, f"a {type(values).__name__}")
    raise CatalogError(
        f"it must be an array or a list, not a value of type {type(values).__name__}"
    )


def _from_arrow(wanted: _Wanted, column: Any) -> Any:
    is_null = str(column.type) == "null"
    kind = wanted.stated or (wanted.implied if is_null else type_of(column.type))
    if kind is None:
        said = _SAYS_NOTHING.format(wanted.name) if is_null else _UNSUPPORTED
        raise CatalogError(f"the Arrow type {column.type} {said}")
    return plain(column, kind)


def _from_numpy(wanted: _Wanted, values: np.ndarray[Any, Any]) -> Any:
    import pyarrow as pa  # pyarrow is loaded only where there are frames

    if values.ndim != 1 or isinstance(values, np.ma.MaskedArray):
        raise CatalogError("it must be an array of one dimension without a mask")
    if values.dtype.kind in "OUT":
        known = wanted if values.dtype.kind == "O" else wanted.or_else(Type.TEXT)
        return _one_by_one(known, values.tolist(), f"dtype {values.dtype}")
    if values.dtype.kind not in "biufM" or values.dtype == np.dtype("M8"):
        raise CatalogError(f"dtype {values.dtype} {_UNSUPPORTED}")
    if values.dtype.kind in "iuf" and wanted.implied is not Type.TEXT and not wanted.public:
        # numpy has no missing integers: with one missing entry they are floats. Whether they are is
        # therefore data, and both are one type unless it is stated.
        wanted = wanted.or_else(wanted.implied or Type.REAL)
    if values.dtype.kind == "M" and np.datetime_data(values.dtype) not in _PLAIN_UNITS:
        values = _moments(values)
    elif values.dtype.kind == "f":
        with np.errstate(over="ignore"):  # a number beyond the largest double is infinite
            values = values.astype(np.float64)
    return _from_arrow(wanted, pa.array(values.astype(values.dtype.newbyteorder("="))))


def _moments(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return moments of any unit as microseconds; those outside the years 1 to 9999 are missing."""
    coarse = np.datetime_data(values.dtype)[0] in ("Y", "M", "W")
    days = values if coarse else values.astype("M8[D]")
    first, last = (np.datetime64(day).astype(days.dtype) for day in ("0001-01-01", "9999-12-31"))
    inside = (days >= first) & (days <= last)
    return np.where(inside, values, np.datetime64("NaT")).astype("M8[us]")


def _from_pandas(wanted: _Wanted, series: Any) -> Any:
    import pyarrow as pa  # pyarrow is loaded only where there are frames

    dtype, label = series.dtype, f"dtype {series.dtype}"
    if label == "dtype category":  # what categories there are is data, so they become no keys
        dtype = dtype.categories.dtype
        if _is_loose(dtype):
            wanted = wanted.or_else(Type.TEXT)
    elif isinstance(dtype, np.dtype):
        return _from_numpy(wanted, series.to_numpy())
    if _is_loose(dtype):
        is_text = type(dtype).__name__ == "StringDtype"
        known = wanted.or_else(Type.TEXT) if is_text else wanted
        return _one_by_one(known, series.tolist(), label)
    if type(dtype).__name__ in ("PeriodDtype", "IntervalDtype", "SparseDtype"):
        raise CatalogError(f"{label} {_UNSUPPORTED}")
    return _from_arrow(wanted, pa.Array.from_pandas(series))


def _is_loose(dtype: Any) -> bool:
    """Tell whether pandas keeps the values of a column as Python objects."""
    return str(dtype) == "object" or getattr(dtype, "storage", "") == "python"


def _one_by_one(wanted: _Wanted, values: Iterable[object], label: str) -> Any:
    import pyarrow as pa  # pyarrow is loaded only where there are frames

    kind = wanted.stated or wanted.implied
    if kind is None:
        raise CatalogError(f"{label} {_SAYS_NOTHING.format(wanted.name)}")
    arrow = {
        Type.INTEGER: pa.int64(),
        Type.REAL: pa.float64(),
        Type.TEXT: pa.large_string(),
        Type.BOOLEAN: pa.bool_(),
        Type.DATE: pa.date32(),
        Type.TIMESTAMP: pa.timestamp("us"),
    }
    return pa.array(read_entries(kind, values), arrow[kind])


def _refuse_unit(held: Any, frame: object, unit: str) -> None:
    """Refuse ids of a type that cannot hold them for sure; the message says how to change it."""
    names = held.column_names
    if not isinstance(unit, str) or unit not in names:
        if unit == ROW:
            return
        raise CatalogError(
            f"unit must be a column, or 'row' if every row is one person, got {unit!r}; the "
            f"columns are {among(names)}"
        )
    if type_of(held.schema.field(unit).type) is Type.REAL:
        raise CatalogError(
            f"the unit column {unit!r} holds real numbers, as pandas makes of whole numbers when "
            f"some are missing; convert it, as in df[{unit!r}].astype('Int64')"
        )
    held_as = _columns(frame)[unit]
    if "uint64" in str(getattr(held_as, "dtype", getattr(held_as, "type", ""))).casefold():
        raise CatalogError(
            f"the unit column {unit!r} is of type uint64, whose larger half does not fit into 64 "
            "bits with a sign; convert the ids to int64 or to text"
        )
