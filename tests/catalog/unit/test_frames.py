# SPDX-License-Identifier: Apache-2.0
"""Tables in memory have the types of their schema, and no value makes reading them fail."""

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pandas.api.extensions import (  # type: ignore[import-untyped]
    ExtensionArray,
    ExtensionDtype,
)

from sordino.catalog.frames import frame_catalog, public_table, to_arrow
from sordino.catalog.model import Catalog, Frame
from sordino.errors import CatalogError
from sordino.query.types import Type

ALL = [None, True, 7, 2**80, -1.5, float("nan"), float("inf"), 1e308, "x", "\ud800", b"y", [1]]
MORE = [Decimal("1e999"), Decimal("sNaN"), date(2020, 2, 3), pd.NaT, pd.NA, object(), 1j]
LATE = [datetime.max.replace(tzinfo=timezone(timedelta(hours=-9))), np.float32(2.5), np.int64(4)]


def column(values: object, stated: str | None = None) -> Any:
    return to_arrow({"x": values}, types={"x": stated} if stated else {})["x"]


def kind_of(values: object) -> Type:
    catalog = frame_catalog({"x": values}, unit="row", epsilon=1)
    return catalog.tables[0].columns[0].type


def refused(frame: object, **more: Any) -> str:
    stated: dict[str, Any] = {"unit": "row", "epsilon": 1} | more
    with pytest.raises(CatalogError) as caught:
        frame_catalog(frame, **stated)
    return str(caught.value)


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        ("int8", Type.REAL),
        (">i4", Type.REAL),
        ("uint64", Type.REAL),
        ("float16", Type.REAL),
        ("longdouble", Type.REAL),
        ("bool", Type.BOOLEAN),
        ("U5", Type.TEXT),
        ("datetime64[D]", Type.DATE),
        ("datetime64[Y]", Type.TIMESTAMP),
        ("datetime64[ns]", Type.TIMESTAMP),
        ("datetime64[25s]", Type.TIMESTAMP),
    ],
)
def test_a_numpy_array_has_the_type_of_its_dtype(dtype: str, kind: Type) -> None:
    assert kind_of(np.zeros(2, dtype=dtype)) is kind


@pytest.mark.parametrize(
    ("series", "kind"),
    [
        (pd.Series([1, None], dtype="Int64"), Type.INTEGER),
        (pd.Series([1, 2], dtype="uint16"), Type.REAL),
        (pd.Series([1.0, None]), Type.REAL),
        (pd.Series(["a", None], dtype="str"), Type.TEXT),
        (pd.Series(["a", "\ud800"], dtype="string[python]"), Type.TEXT),
        (pd.Series(["a", None], dtype="category"), Type.TEXT),
        (pd.Series([3, None], dtype="category"), Type.TEXT),
        (pd.Series(pd.Categorical([3.5, 4])), Type.TEXT),
        (pd.Series(pd.Categorical(["a", None], categories=pd.Index(["a"], dtype=object))), "text"),
        (pd.Series([True, None], dtype="boolean"), Type.BOOLEAN),
        (pd.Series(pd.to_datetime(["2020-01-01", None])), Type.TIMESTAMP),
        (pd.Series([Decimal(1)], dtype=pd.ArrowDtype(pa.decimal128(9, 2))), Type.REAL),
        (pd.Series([date(2020, 1, 1)], dtype=pd.ArrowDtype(pa.date32())), Type.DATE),
    ],
    ids=lambda x: str(getattr(x, "dtype", x)),
)
def test_a_pandas_column_has_the_type_of_its_dtype(series: "pd.Series[Any]", kind: Type) -> None:
    assert kind_of(series) is Type(kind)


def test_a_polars_frame_has_the_types_of_its_schema() -> None:
    frame = pl.DataFrame(
        {"a": [1], "b": ["x"], "c": [date(2020, 1, 1)], "d": [Decimal(1)], "e": [b"x"]},
        schema_overrides={"a": pl.UInt8, "b": pl.Categorical},
    ).drop("e")
    columns = frame_catalog(frame, unit="row", epsilon=1).tables[0].columns
    assert [c.type for c in columns] == [Type.INTEGER, Type.TEXT, Type.DATE, Type.REAL]
    assert all(c.keys is None for c in columns)  # categories are data


def test_an_arrow_table_a_batch_and_a_polars_series_are_read() -> None:
    table = pa.table({"a": pa.array([1, 2], pa.int32())})
    for frame in (table, table.to_batches()[0], {"a": pl.Series([1, 2])}):
        held = frame_catalog(frame, unit="row", epsilon=1).tables[0].source
        assert isinstance(held, Frame)
        assert held.table["a"].to_pylist() == [1, 2]


@pytest.mark.parametrize(
    "values", [[1, 2], np.array([1, 2], dtype=object), pd.Series([1, "x"], dtype=object)]
)
def test_where_the_schema_tells_nothing_the_owner_must_say_the_type(values: object) -> None:
    assert "tells nothing of its type" in refused({"x": values})
    assert "types={'x': 'text'}" in refused({"x": values})
    assert column(values, "integer").to_pylist()[0] == 1


def test_what_is_declared_implies_the_type_where_the_schema_does_not() -> None:
    frame = {"id": [1, UUID(int=2), 1.0], "age": [1, 2.5, "x"], "ward": ["a", 5, None]}
    frame |= {"day": [date(2020, 1, 1), None, 5], "floor": pa.array([None] * 3)}
    ends = date(2019, 1, 1), date(2021, 1, 1)
    catalog = frame_catalog(
        frame,
        unit="id",
        bounds={"age": (0, 9), "day": ends},
        keys={"ward": iter(["a", "b"]), "floor": [None, 3]},
        epsilon=1,
    )
    kinds = [column.type for column in catalog.tables[0].columns]
    assert kinds == [Type.TEXT, Type.REAL, Type.TEXT, Type.DATE, Type.INTEGER]
    source = catalog.tables[0].source
    assert isinstance(source, Frame)
    assert source.table["id"].to_pylist() == ["\x001", f"\0{UUID(int=2)}", "\x001"]
    assert source.table["age"].to_pylist() == [1.0, 2.5, None]
    held = {"id": np.array([1, 2]), "age": np.array([1, 2])}
    typed = frame_catalog(held, unit="id", bounds={"age": (0, 9)}, epsilon=1)
    assert [column.type for column in typed.tables[0].columns] == [Type.INTEGER, Type.REAL]


def test_a_missing_entry_does_not_change_the_type_of_a_column_of_pandas() -> None:
    def types(ages: list[int | None], **stated: Any) -> list[Type]:
        frame = pd.DataFrame({"id": range(len(ages)), "age": ages})
        catalog = frame_catalog(frame, unit="id", epsilon=1, **stated)
        return [column.type for column in catalog.tables[0].columns]

    for stated in ({}, {"bounds": {"age": (0, 9)}}, {"keys": {"age": [1, 2]}}):
        assert types([1, 2], **stated) == types([1, None], **stated)
    assert types([1, None], types={"age": "integer"})[1] is Type.INTEGER
    assert types([1, None], keys={"age": [1, 2]})[1] is Type.INTEGER


@pytest.mark.parametrize("kind", list(Type))
def test_no_value_makes_reading_a_list_fail(kind: Type) -> None:
    read = column([*ALL, *MORE, *LATE], kind)
    assert len(read) == len(ALL) + len(MORE) + len(LATE)
    assert read.null_count > 0


@pytest.mark.parametrize(
    ("array", "kind", "wanted"),
    [
        (pa.array([2**63, 5], pa.uint64()), "integer", [None, 5]),
        (pa.array([1.5, 2.0, float("nan"), 1e300, -(2.0**63)]), "integer", None),
        (pa.array([2**62 + 1]), "real", [2.0**62]),
        (pa.array([2**62, 0], pa.timestamp("s")), "timestamp", [None, datetime(1970, 1, 1)]),
        (pa.array([2**31 - 1, 0], pa.date32()), "date", [None, date(1970, 1, 1)]),
        (pa.array([2**62, 86_400_000], pa.date64()), "date", [None, date(1970, 1, 2)]),
        (pa.array([2**31 - 1, 0], pa.date32()), "timestamp", [None, datetime(1970, 1, 1)]),
        (pa.array([-1], pa.timestamp("us")), "date", [date(1969, 12, 31)]),
        (pa.array([Decimal("1e40")], pa.decimal256(60, 2)), "real", [1e40]),
        (pa.array([None, None]), "date", [None, None]),
    ],
    ids=str,
)
def test_what_does_not_fit_a_type_is_missing(
    array: Any, kind: str, wanted: list[object] | None
) -> None:
    wanted = [None, 2, None, None, -(2**63)] if wanted is None else wanted
    assert column(array, kind).to_pylist() == wanted


def test_numpy_moments_of_any_unit_are_read_or_missing() -> None:
    for unit in ("Y", "M", "W", "h", "s", "ns", "7m"):
        far = np.array([2**62, 1], dtype="int64").view(f"M8[{unit}]")
        read = column(far).to_pylist()
        assert read[1] is not None
        assert (read[0] is None) == (unit != "ns")


def test_moments_with_a_zone_become_utc_without_one() -> None:
    noon = datetime(2024, 6, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    aware = pa.array([noon], pa.timestamp("ms", "Europe/Berlin"))
    series = pd.Series([noon]).dt.tz_convert("Europe/Berlin")
    for values in (aware, series):
        assert column(values).to_pylist() == [datetime(2024, 6, 1, 10)]
    assert column([noon.astimezone(UTC)], "timestamp").to_pylist() == [datetime(2024, 6, 1, 10)]


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ({"x": np.zeros((2, 2))}, "one dimension"),
        ({"x": np.zeros(2, dtype=complex)}, "dtype complex128 is not supported"),
        ({"x": np.zeros(2, dtype="M8")}, "is not supported"),
        ({"x": pa.array([[1]])}, "list<item: int64> is not supported"),
        ({"x": pa.array([None])}, "null tells nothing"),
        ({"x": pd.Series(pd.period_range("2020", periods=2, freq="M"))}, "is not supported"),
        ({"x": 5}, "an array or a list"),
        ({5: np.zeros(2)}, "column names must be text"),
        ({"x": np.zeros(2), "X": np.zeros(2)}, "are the same"),
        ({"x": np.zeros(2), "y": np.zeros(3)}, "the same length"),
        ({}, "at least one column"),
        ("visits.csv", "a table in memory must be"),
        ("flights.csv", "read the file first, as with pandas.read_csv, or draft a catalog"),
        (Path("flights.csv"), "or draft a catalog for it with 'sordino init'"),
        (pl.LazyFrame({"x": [1]}), "not a value of type LazyFrame; read it first, with .collect()"),
        (pa.table({"x": [1]}).to_reader(), "may be turned into an Arrow table first"),
        (pa.table([[1], [2]], names=["x", "x"]), "must be text and differ, got 'x'"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "must be text and differ, got 'x'"),
        (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("x", 1)])), "must be text"),
        ({"x": pd.DataFrame({"x": [1]})}, "an array or a list"),
        ({"x": np.ma.masked_array([1])}, "without a mask"),
        ({"x": np.zeros(2, "i4,i4")}, "is not supported"),
        ({"x": np.zeros(2, "S3")}, "dtype |S3 is not supported"),
        ({"x": np.zeros(2, "m8[s]")}, "dtype timedelta64[s] is not supported"),
        ({"x": pd.Series([0, 1], dtype="Sparse[int]")}, "is not supported"),
        ({"x": pd.Series([pd.Interval(0, 1)])}, "is not supported"),
        ({"x": pd.Series(pd.Categorical([pd.Interval(0, 1)]))}, "dtype IntervalDtype"),
        ({"x": pd.Series(pd.Categorical([pd.Period("2020")]))}, "dtype PeriodDtype"),
        ({"x": pl.Series([object()], dtype=pl.Object)}, "dtype Object is not supported"),
        ({"x": pl.Series([1], dtype=pl.Int128)}, "dtype Int128 is not supported"),
        ({"x": pl.Series([[1]])}, "dtype List is not supported"),
        ({"x": pl.Series([timedelta(1)])}, "is not supported"),
        ({"x": pa.array([b"x"])}, "the Arrow type binary is not supported"),
        ({"x": pa.RunEndEncodedArray.from_arrays([1], ["a"])}, "is not supported"),
        ({"x": pa.array([1], pa.int8()).cast(pa.bool8())}, "bool8> is not supported"),
    ],
)
def test_what_cannot_be_a_table_is_refused_by_its_schema(frame: object, said: str) -> None:
    assert said in refused(frame)


def test_ids_that_pandas_made_real_are_refused_with_a_hint() -> None:
    frame = pd.DataFrame({"id": [1, None, 3], "x": [1, 2, 3]})
    assert "astype('Int64')" in refused(frame, unit="id")
    assert frame_catalog(frame.astype({"id": "Int64"}), unit="id", epsilon=1).tables[0].unit == "id"
    stated = frame_catalog(frame, unit="id", types={"id": "integer"}, epsilon=1)
    assert stated.tables[0].columns[0].type is Type.INTEGER


@pytest.mark.parametrize(
    "ids", [np.zeros(2, "uint64"), pd.Series([1], dtype="UInt64"), pa.array([1], pa.uint64())]
)
def test_ids_that_may_not_fit_64_bits_are_refused_by_their_type(ids: object) -> None:
    assert "convert the ids to int64 or to text" in refused({"id": ids}, unit="id")


def test_what_is_declared_of_an_unknown_column_is_refused() -> None:
    frame = {"age": np.zeros(2)}
    assert "bounds names 'agee', which is not a column: age" in refused(frame, bounds={"agee": 1})
    assert "types names" in refused(frame, types={"agee": "text"})
    assert "keys names" in refused(frame, keys={"agee": [1]})
    assert "keys must be a list" in refused(frame, keys={"age": 5})
    assert "the columns are age" in refused(frame, unit="person")


def test_a_frame_with_all_there_is_to_declare_becomes_a_catalog() -> None:
    visits = pd.DataFrame({"id": [1, 2], "age": [30, 40], "city": ["a", "b"], "sex": ["f", "m"]})
    catalog = frame_catalog(
        visits,
        unit="id",
        name="visits",
        bounds={"age": (0, 120)},
        keys={"sex": ["f", "m"], "city": "cities.name"},
        other={"sex": "other"},
        rows=5,
        groups=2,
        public_tables={"cities": {"name": np.array(["a", "b"])}},
        epsilon=1,
        delta=1e-6,
    )
    assert isinstance(catalog, Catalog)
    table = catalog.tables[0]
    assert (table.limits.rows, table.limits.groups) == (5, 2)
    assert [c.keys for c in table.columns] == [None, None, None, ("f", "m")]
    assert table.columns[2].keys_from == ("cities", "name")
    assert table.columns[3].other == "other"
    assert catalog.tables[1].public
    assert str(catalog.purse("people").budget.cap) == "epsilon 1"
    assert "f" not in repr(table.source).replace("Frame", "")


class Foreign(ExtensionArray):  # type: ignore[misc]
    """An array of a class that pandas does not know, with a type guessed from values."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    dtype = type("ForeignDtype", (ExtensionDtype,), {"name": "foreign", "type": object})()

    def __len__(self) -> int:
        return len(self.values)

    def __arrow_array__(self, type: object = None) -> Any:  # noqa: A002  # the name pyarrow uses
        del type
        return pa.array(self.values)


def test_an_array_that_guesses_its_type_from_values_is_refused() -> None:
    for values in ([1], ["x"]):
        assert "dtype ForeignDtype is not supported" in refused({"x": Foreign(values)})


def test_a_frame_of_a_derived_class_is_read_as_pandas_reads_it() -> None:
    class Derived(pd.DataFrame):  # type: ignore[misc]
        """A frame that says it can be streamed as Arrow, which guesses types of objects."""

    frame = Derived({"x": pd.Series([1, None], dtype=object)})
    assert "tells nothing of its type" in refused(frame)


def test_categories_are_read_like_columns() -> None:
    text = pd.Categorical(["a", None, "a"], categories=pd.Index(["a", "\ud800"], dtype=object))
    assert column(text).to_pylist() == ["a", None, "a"]
    mixed = pd.Categorical([1, "1", 1.5], categories=pd.Index([1, "1", 1.5], dtype=object))
    assert column(mixed).to_pylist() == ["\x001", "1", "\x003/2"]
    moments = pd.Series(pd.Categorical(pd.to_datetime(["2020-01-01"]).tz_localize("UTC")))
    assert column(moments, "timestamp").to_pylist() == [datetime(2020, 1, 1)]


@pytest.mark.parametrize("more", [[], [2.5], ["x"], [2**64 - 1], [None]])
def test_one_category_more_changes_no_type_and_no_other_entry(more: list[Any]) -> None:
    series = pd.Series(pd.Categorical([1, 2, 2, *more]))
    for stated, wanted in ((None, ["\x001", "\x002", "\x002"]), ("integer", [1, 2, 2])):
        read = column(series, stated) if stated else column(series)
        assert str(read.type) == ("int64" if stated else "large_string")
        assert read.to_pylist()[:3] == wanted
    held = frame_catalog({"id": series}, unit="id", epsilon=1).tables[0]
    assert [entry.type for entry in held.columns] == [Type.TEXT]
    public = public_table("p", {"x": pd.Series(pd.Categorical([1, 2]))})
    assert public.columns[0].type is Type.INTEGER


@pytest.mark.parametrize("unit", ["3D", "7D", "25s", "3M", "10Y", "13h", "7ns", "1000us", "2W"])
def test_moments_in_multiples_of_a_unit_do_not_wrap_around(unit: str) -> None:
    ticks = np.array([1, 2**62, -(2**62), 2**63 - 1, 3074457345618258603, -(2**63)], "i8")
    read = column(ticks.view(f"M8[{unit}]"), "timestamp").to_pylist()
    one = ticks[:1].view(f"M8[{unit}]").astype("M8[us]").tolist()[0]
    assert read == [one, *[None] * 5]


@pytest.mark.parametrize("unit", ["as", "fs", "ps", "7ps"])
def test_moments_in_units_that_are_too_fine_are_refused(unit: str) -> None:
    assert "is not supported" in refused({"x": np.array([1], "i8").view(f"M8[{unit}]")})


def test_long_doubles_become_integers_exactly() -> None:
    if np.finfo(np.longdouble).nmant < 63:
        pytest.skip("a long double is a double here")
    odd = np.array([2**62 + 1, 0.5, np.inf, np.nan], dtype=np.longdouble)
    odd[0] = np.longdouble(2**62) + 1
    assert column(odd, "integer").to_pylist() == [2**62 + 1, None, None, None]
    assert "holds real numbers" in refused({"id": odd}, unit="id")


def test_days_of_numpy_beyond_32_bits_are_missing() -> None:
    days = np.array([2**40, -(2**62), 5, np.iinfo("i8").min], "i8").view("M8[D]")
    assert column(days).to_pylist() == [None, None, date(1970, 1, 6), None]
    assert column(days, "timestamp").to_pylist() == [None, None, datetime(1970, 1, 6), None]


def test_a_zone_of_any_class_is_read() -> None:
    class Odd(tzinfo):
        def utcoffset(self, when: datetime | None) -> timedelta:
            del when
            return timedelta(minutes=1)

        def dst(self, when: datetime | None) -> None:
            del when

        def tzname(self, when: datetime | None) -> None:
            del when

    series = pd.Series([datetime(2020, 1, 1)]).dt.tz_localize("UTC").dt.tz_convert(Odd())
    assert column(series).to_pylist() == [datetime(2020, 1, 1)]
