# SPDX-License-Identifier: Apache-2.0
"""Tables in memory: pandas, polars, Arrow and dictionaries of columns, as Arrow.

The type of a column is that of its schema, and never guessed from values: a guess would change with
the data. Where the schema tells nothing, the owner says the type, or what is declared implies it:
keys have a type, bounds are those of real numbers or of days, and ids can always be text.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from datetime import date
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from sordino.catalog import checks
from sordino.catalog.arrow import moments, plain, read_entries, type_of
from sordino.catalog.checks import about, among
from sordino.catalog.model import ROW, Catalog, Column, Frame, Table
from sordino.catalog.values import LONG_ARROW_TYPES, read_type, read_value
from sordino.errors import CatalogError
from sordino.query.types import Type

_SAYS_NOTHING = "tells nothing of its type; say it, as in types={{{!r}: 'text'}}, or leave it out"
_UNSUPPORTED = "is not supported; convert it, or leave the column out"
_OTHER_FRAME = "; another library's frame may be turned into an Arrow table first"
_PLAIN_UNITS = [(unit, 1) for unit in ("s", "ms", "us", "ns")]  # those that Arrow has
_TOO_FINE = ("ps", "fs", "as")  # in which no year but a few around 1970 can be told
_ANY_LENGTH = {"string": "large_string"}  # where a text may stand many times over
_MASKED = [f"{sign}Int{bits}Dtype" for sign in ("", "U") for bits in (8, 16, 32, 64)]
_PANDAS_DTYPES = frozenset(  # of which Arrow takes the values as they are, and guesses nothing
    (*_MASKED, "Float32Dtype", "Float64Dtype", "BooleanDtype", "StringDtype", "ArrowDtype",
     "DatetimeTZDtype")
)  # fmt: skip
_POLARS_DTYPES = frozenset(  # the others have no Arrow type, or one with addresses for values
    ("Boolean", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64",
     "Float16", "Float32", "Float64", "Decimal", "String", "Categorical", "Enum", "Date",
     "Datetime", "Null")
)  # fmt: skip


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
    purse = checks.purse(epsilon=epsilon, delta=delta, rho=rho, currency=currency)
    keys = {name: _listed(stated) for name, stated in (keys or {}).items()}
    with about(f"table {name!r}"):
        implied = _implied(unit, bounds or {}, keys)
        held = to_arrow(frame, types=types or {}, implied=implied)
        _refuse_unit(held, frame, unit)
        columns = columns_of(held, bounds=bounds, keys=keys, other=other)
    private = checks.table(
        name,
        Frame(held),
        columns,
        unit=unit,
        limits=checks.limits(rows=rows, groups=groups, rows_per_group=rows_per_group),
    )
    public = [public_table(name, table) for name, table in (public_tables or {}).items()]
    return checks.catalog([private, *public], purse)


def public_table(name: str, frame: object, *, types: Mapping[str, str] | None = None) -> Table:
    """Return a public table in memory."""
    with about(f"table {name!r}"):
        held = to_arrow(frame, types=types or {}, public=True)
        columns = columns_of(held)
    return checks.table(name, Frame(held), columns, public=True)


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
        checks.column(
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
    import pyarrow as pa  # pyarrow is loaded only where there are frames

    pairs: list[tuple[object, Any]]
    if isinstance(frame, Mapping):
        pairs = list(frame.items())
    elif _is_of(frame, "pandas", "DataFrame"):
        pandas: Any = frame
        pairs = [(name, pandas.iloc[:, place]) for place, name in enumerate(pandas.columns)]
    elif _is_of(frame, "polars", "DataFrame"):
        polars: Any = frame
        pairs = [(series.name, series) for series in polars.get_columns()]
    elif isinstance(frame, pa.Table | pa.RecordBatch):
        pairs = list(zip(frame.schema.names, frame.columns, strict=True))
    else:
        lazy = _is_of(frame, "polars", "LazyFrame")
        hint = "; read it first, with .collect()" if lazy else _OTHER_FRAME
        if isinstance(frame, str | PathLike):
            hint = (
                "; read the file first, as with pandas.read_csv, or draft a catalog for it with "
                "'sordino init'"
            )
        raise CatalogError(
            "a table in memory must be a pandas or polars DataFrame, an Arrow table or a "
            f"dictionary of columns, not a value of type {type(frame).__name__}{hint}"
        )
    columns: dict[str, Any] = {}
    for name, values in pairs:
        if not isinstance(name, str) or name in columns:
            raise CatalogError(f"column names must be text and differ, got {name!r}")
        columns[str(name)] = values
    return columns


def _is_of(value: object, library: str, *names: str) -> bool:
    """Tell whether a value is of a class of a library, which is not imported for it."""
    loaded = sys.modules.get(library)
    classes = (getattr(loaded, name, None) for name in names)
    return any(isinstance(each, type) and issubclass(type(value), each) for each in classes)


def _arrow_column(wanted: _Wanted, values: Any) -> Any:
    import pyarrow as pa  # pyarrow is loaded only where there are frames

    if _is_of(values, "pandas", "Series", "Index") or _is_extension_array(values):
        return _from_pandas(wanted, values)
    if isinstance(values, np.ndarray):
        return _from_numpy(wanted, values)
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return _from_arrow(wanted, values)
    if _is_of(values, "polars", "Series"):
        return _from_polars(wanted, values)
    if isinstance(values, list | tuple):
        return _one_by_one(wanted, values, f"a {type(values).__name__}")
    raise CatalogError(
        f"it must be an array or a list, not a value of type {type(values).__name__}"
    )


def _is_extension_array(values: object) -> bool:
    extensions = getattr(getattr(sys.modules.get("pandas"), "api", None), "extensions", None)
    base = getattr(extensions, "ExtensionArray", None)
    return base is not None and issubclass(type(values), base)


def _from_polars(wanted: _Wanted, series: Any) -> Any:
    import pyarrow as pa  # pyarrow is loaded only where there are frames

    name = series.dtype.base_type().__name__  # the whole of it may list categories, which are data
    if name not in _POLARS_DTYPES:
        raise CatalogError(f"dtype {name} {_UNSUPPORTED}")
    return _from_arrow(wanted, pa.chunked_array(series))


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
    too_fine = values.dtype.kind == "M" and np.datetime_data(values.dtype)[0] in _TOO_FINE
    if values.dtype.kind not in "biufM" or values.dtype == np.dtype("M8") or too_fine:
        raise CatalogError(f"dtype {values.dtype} {_UNSUPPORTED}")
    if values.dtype.kind in "iuf" and wanted.implied is not Type.TEXT and not wanted.public:
        # numpy has no missing integers: with one missing entry they are floats. Whether they are is
        # therefore data, and both are one type unless it is stated.
        wanted = wanted.or_else(wanted.implied or Type.REAL)
    if values.dtype.kind == "M":
        return _from_moments(wanted, values)
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        if wanted.stated is Type.INTEGER:  # a double would hold less
            return _one_by_one(wanted, values.tolist(), f"dtype {values.dtype}")
        with np.errstate(over="ignore"):  # a number beyond the largest double is infinite
            values = values.astype(np.float64)
    return _from_arrow(wanted, pa.array(values.astype(values.dtype.newbyteorder("="))))


def _from_moments(wanted: _Wanted, values: np.ndarray[Any, Any]) -> Any:
    """Return moments; those of days alone are days. Arrow would wrap days around at 32 bits."""
    import pyarrow as pa  # pyarrow is loaded only where there are frames

    if np.datetime_data(values.dtype) in _PLAIN_UNITS:
        return _from_arrow(wanted, pa.array(values.astype(values.dtype.newbyteorder("="))))
    made = pa.array(moments(values))
    if np.datetime_data(values.dtype) == ("D", 1):
        made = plain(made, Type.DATE)
    return _from_arrow(wanted, made)


def _from_pandas(wanted: _Wanted, series: Any) -> Any:
    import pyarrow as pa  # pyarrow is loaded only where there are frames

    dtype, label = series.dtype, f"dtype {series.dtype}"
    if type(dtype).__name__ == "CategoricalDtype":
        # What categories there are is data, so they become no keys.
        return _from_categories(wanted, series)
    if isinstance(dtype, np.dtype):
        return _from_numpy(wanted, series.to_numpy())
    if _is_loose(dtype):
        is_text = type(dtype).__name__ == "StringDtype"
        known = wanted.or_else(Type.TEXT) if is_text else wanted
        return _one_by_one(known, series.tolist(), label)
    if type(dtype).__module__.partition(".")[0] != "pandas" or (
        type(dtype).__name__ not in _PANDAS_DTYPES
    ):
        # The whole of it may hold a value, such as the one that a sparse column leaves out.
        raise CatalogError(f"dtype {type(dtype).__name__} {_UNSUPPORTED}")
    if type(dtype).__name__ == "DatetimeTZDtype":  # the zone may be any object; UTC is behind it
        return _from_numpy(wanted, series.to_numpy(dtype=f"M8[{dtype.unit}]"))
    return _from_arrow(wanted, pa.Array.from_pandas(series))


def _from_categories(wanted: _Wanted, series: Any) -> Any:
    """Return categories at the places that have them; they are text if nothing says what they are.

    Of which dtype they are is data: one category more may change it. So they are read one by one,
    like a column of Python objects. Public categories are read like any column.
    """
    import pyarrow as pa  # pyarrow is loaded only where there are frames

    held = getattr(series, "array", series)
    loose = _is_loose(held.categories.dtype)
    if wanted.public and not loose:
        categories = _from_pandas(wanted, held.categories)
    else:
        _check_dtype(held.categories.dtype)
        known = wanted.or_else(wanted.implied or Type.TEXT)
        categories = _one_by_one(known, held.categories.tolist(), "a category")
    places = pa.array(held.codes, mask=held.codes < 0)
    return categories.cast(_ANY_LENGTH.get(str(categories.type), categories.type)).take(places)


def _check_dtype(dtype: Any) -> None:
    """Refuse a dtype of pandas whose values mean nothing here, such as intervals."""
    if isinstance(dtype, np.dtype) or _is_loose(dtype) or type(dtype).__name__ in _PANDAS_DTYPES:
        return
    raise CatalogError(f"dtype {type(dtype).__name__} {_UNSUPPORTED}")


def _is_loose(dtype: Any) -> bool:
    """Tell whether pandas keeps the values of a column as Python objects."""
    return str(dtype) == "object" or getattr(dtype, "storage", "") == "python"


def _one_by_one(wanted: _Wanted, values: Iterable[object], label: str) -> Any:
    import pyarrow as pa  # pyarrow is loaded only where there are frames

    kind = wanted.stated or wanted.implied
    if kind is None:
        raise CatalogError(f"{label} {_SAYS_NOTHING.format(wanted.name)}")
    return pa.array(read_entries(kind, values), LONG_ARROW_TYPES[kind])


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
    column = _columns(frame)[unit]
    kind = getattr(column, "dtype", getattr(column, "type", ""))
    if "uint64" in str(kind).casefold():
        raise CatalogError(
            f"the unit column {unit!r} is of type uint64, whose larger half does not fit into 64 "
            "bits with a sign; convert the ids to int64 or to text"
        )
