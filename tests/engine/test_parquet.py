# SPDX-License-Identifier: Apache-2.0
"""Parquet files: many of them, of different schemas, in folders with odd names, with odd values."""

from __future__ import annotations

import logging
import struct
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.catalog.model import Catalog, Column, Frame, ParquetFile, Table
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import CatalogError
from sordino.plan.plan import Bounded, Cells, RowCount, Shares, Total, UnitCount
from sordino.query.operations import call
from sordino.query.tree import Field, Key, Literal, Scan, Where
from sordino.query.types import Type
from tests.engine.engines import RECEIPT, rows_of
from tests.engine.test_sources import values_of
from tests.support.trace import unsealed

COUNT = Cells((RowCount(),))
ALONE = Shares(rows=1, alone=True)
WHO, V = Field("who", Type.INTEGER, "who"), Field("v", Type.INTEGER, "v")


def opened(path: Path, types: dict[str, Type], unit: str = "row") -> DuckdbEngine:
    columns = tuple(Column(name, kind) for name, kind in types.items())
    return DuckdbEngine(Catalog((Table("t", ParquetFile(path), columns, unit=unit),)))


def test_folders_say_nothing(tmp_path: Path) -> None:
    for place, folder in enumerate(("who=7", "who=x", "day=2020-01-01", "v=9")):
        (tmp_path / folder).mkdir()
        held = pa.table({"who": [place], "v": [place]})
        pq.write_table(held, tmp_path / folder / "t.parquet")
    source = ParquetFile(tmp_path / "*" / "t.parquet")
    wanted = dict.fromkeys(range(4), 1)
    assert values_of(source, "who", Type.INTEGER) == wanted
    assert values_of(source, "v", Type.INTEGER) == wanted
    engine = opened(source.path, {"who": Type.INTEGER}, unit="who")
    bounded = Bounded(Scan("t", ()), (), Shares(rows=1), (Cells((UnitCount(),)),))
    assert rows_of(engine, bounded) == [{(4,)}]
    engine.close()
    with pytest.raises(CatalogError, match="no column 'day'"):
        opened(source.path, {"day": Type.DATE})


MONTHS: list[tuple[list[Any], list[int | None]]] = [
    (pa.array([1, 2], pa.int8()), [1, 2]),
    (pa.array([2**40, None], pa.int64()), [2**40, None]),
    (pa.array([1.0, 1.5, float("nan"), 1e300]), [1, None, None, None]),
    (pa.array(["5", " 6 ", "x", "7.0"]), [5, 6, None, None]),
    (pa.array([Decimal("8.00"), Decimal("8.50")]), [8, None]),
    (pa.array([2**64 - 1, 9], pa.uint64()), [None, 9]),
    (pa.array([True, False]), [1, 0]),
    (pa.nulls(1), [None]),
]


@pytest.mark.parametrize("turn", range(len(MONTHS)))
def test_files_of_different_types_are_read_each_in_its_own(tmp_path: Path, turn: int) -> None:
    wanted: Counter[int | None] = Counter()
    months = MONTHS[turn:] + MONTHS[:turn]  # whichever comes first, it decides nothing
    for place, (held, values) in enumerate(months):
        pq.write_table(pa.table({"v": held, f"extra{place}": held}), tmp_path / f"{place}.parquet")
        wanted.update(values)
    assert values_of(ParquetFile(tmp_path / "*.parquet"), "v", Type.INTEGER) == wanted


def test_ids_in_files_of_different_types_stay_apart(tmp_path: Path) -> None:
    pq.write_table(pa.table({"who": ["7", "07", "7.0", " 7"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"who": [7, 8]}), tmp_path / "b.parquet")
    engine = opened(tmp_path / "*.parquet", {"who": Type.INTEGER}, unit="who")
    keys, shares = (Key(WHO, "who", None),), Shares(rows=9)
    bounded = Bounded(Scan("t", ((WHO, "who"),)), keys, shares, (COUNT,))
    assert rows_of(engine, bounded) == [{(7, 2 * shares.steps), (8, shares.steps)}]
    engine.close()
    long = ["x" * 10_000 + "a", "x" * 10_000 + "b"]
    pq.write_table(pa.table({"who": long}), tmp_path / "a.parquet")
    engine = opened(tmp_path / "*.parquet", {"who": Type.TEXT}, unit="who")
    bounded = Bounded(Scan("t", ()), (), Shares(rows=1), (Cells((UnitCount(),)),))
    assert rows_of(engine, bounded) == [{(4,)}]
    engine.close()


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (pa.table({"w": [1]}), r"last\.parquet' has no column 'v'; it has w"),
        (pa.table({"v": [[1]]}), r"last\.parquet"),
        (pa.table({"v": [b"1"]}), r"BLOB.*last\.parquet"),
        (pa.table({"v": [1], "V": [2]}), r"last\.parquet' has several columns that are called 'V'"),
        (pa.table([[1], [2]], names=["v", "v"]), r"last\.parquet' has several columns"),
        (None, r"last\.parquet' is not a Parquet file"),
    ],
)
def test_every_file_is_looked_at_before_anything_is_charged(
    tmp_path: Path, last: pa.Table | None, words: str
) -> None:
    pq.write_table(pa.table({"v": [1]}), tmp_path / "first.parquet")
    if last is None:
        (tmp_path / "last.parquet").write_bytes(b"PAR1 no more PAR1")
    else:
        pq.write_table(last, tmp_path / "last.parquet")
    with pytest.raises(CatalogError, match=words):
        opened(tmp_path / "*.parquet", {"v": Type.INTEGER})


def test_columns_within_columns_are_no_columns(tmp_path: Path) -> None:
    held = pa.table({"s": [{"v": 5, "w": {"x": [1]}}], "v": [1], "l": [[{"v": 1}]], "w": ["a"]})
    pq.write_table(held, tmp_path / "t.parquet")
    assert values_of(ParquetFile(tmp_path / "t.parquet"), "v", Type.INTEGER) == {1: 1}
    assert values_of(ParquetFile(tmp_path / "t.parquet"), "W", Type.TEXT) == {"a": 1}


# Moments. ----------------------------------------------------------------------------------------

ENDS = [0, 2**63 - 1, -(2**63), -(2**63) + 1, 2**62, -(2**62)]
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def moment(ticks: int, rate: int) -> datetime | None:
    """Return a moment in microseconds, or None if its year is not between 1 and 9999."""
    days, rest = divmod(ticks * 10**6 // rate, 86_400 * 10**6)
    ordinal = days + date(1970, 1, 1).toordinal()
    if not 1 <= ordinal <= date.max.toordinal():
        return None
    midnight = datetime.combine(date.fromordinal(ordinal), time())
    return midnight + timedelta(microseconds=rest)


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("unit", UNITS)
def test_moments_beyond_all_microseconds_are_missing(
    tmp_path: Path, unit: str, zone: str | None
) -> None:
    rate = UNITS[unit]
    ends = [-62_135_596_800 * rate, 253_402_300_800 * rate - 1]
    near = [end + step for end in ends for step in (-1, 0, 1)]
    ticks = [tick for tick in ENDS + near + [-1, 1] if -(2**63) <= tick < 2**63]
    if unit == "ns":  # the last ones are infinity to DuckDB
        ticks = [tick for tick in ticks if abs(tick) != 2**63 - 1]
    if unit == "s":  # which Parquet has as milliseconds
        ticks = [tick for tick in ticks if abs(tick) < 2**63 // 1000]
    held = pa.table({"v": pa.array(ticks, pa.timestamp(unit, zone)), "k": ["a"] * len(ticks)})
    path = tmp_path / "t.parquet"
    pq.write_table(held, path)
    wanted = Counter(moment(tick, rate) for tick in ticks)
    assert values_of(ParquetFile(path), "v", Type.TIMESTAMP) == wanted
    days = Counter(None if at is None else at.date() for at in wanted.elements())
    assert values_of(ParquetFile(path), "v", Type.DATE) == days
    assert values_of(ParquetFile(path), "k", Type.TEXT) == {"a": len(ticks)}


def test_moments_of_96_bits_are_read_or_missing(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    known = [datetime(2001, 2, 3, 4, 5, 6, 7), datetime(1999, 12, 31, 23, 59, 59)]
    marks = [datetime(2020, 1, day) for day in range(1, 9)]
    held = pa.table({"v": pa.array(known + marks, pa.timestamp("us"))})
    pq.write_table(
        held,
        path,
        use_deprecated_int96_timestamps=True,
        use_dictionary=False,
        compression="none",
        write_statistics=False,
    )
    body = path.read_bytes()
    odd = [(0, 0), (2**32 - 1, 0), (2**31, 2**64 - 1), (0, 2**63), (2_458_850, 2**63 - 1)]
    odd += [(2_458_850, 2**64 - 1), (2**32 - 1, 2**63 - 1), (2_458_850, 86_400 * 10**9)]
    for mark, (day, nanos) in zip(marks, odd, strict=True):
        julian = mark.toordinal() + 1_721_425
        plain = struct.pack("<QI", 0, julian)
        assert body.count(plain) == 1
        body = body.replace(plain, struct.pack("<QI", nanos, day))
    path.write_bytes(body)
    found = values_of(ParquetFile(path), "v", Type.TIMESTAMP)
    assert sum(found.values()) == len(known) + len(marks)
    assert all(found[at] == 1 for at in known)


def test_several_readings_of_one_careful_file_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    many = 3_000
    held = pa.table(
        {
            "who": list(range(many)),
            "at": pa.array([2**62, 0, 10**12] * (many // 3), pa.timestamp("ms")),
        }
    )
    pq.write_table(held, path, row_group_size=500)
    engine = opened(path, {"who": Type.INTEGER, "at": Type.TIMESTAMP}, unit="who")
    at = Field("at", Type.TIMESTAMP, "at")
    rows = Scan("t", ((WHO, "who"), (at, "at")))
    shares = Shares(rows=1, groups=1)
    bounded = Bounded(rows, (Key(at, "at", None),), shares, (COUNT, Cells((UnitCount(),))))
    whole = many // 3 * shares.steps
    moments = [None, datetime(1970, 1, 1), datetime(2001, 9, 9, 1, 46, 40)]
    wanted = [{(key, whole) for key in moments}, {(key, many // 3) for key in moments}]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda salt: rows_of(engine, bounded, salt=salt), range(12)))
    assert found == [wanted] * 12
    engine.close()


# Numbers. ----------------------------------------------------------------------------------------


def test_decimals_of_many_digits_are_whole_numbers_without_rounding(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    ids = [Decimal(2**53), Decimal(2**53 + 1), Decimal("1.5"), Decimal(10**30)]
    pq.write_table(pa.table({"v": pa.array(ids, pa.decimal256(50, 2))}), path)
    found = values_of(ParquetFile(path), "v", Type.INTEGER)
    assert found == {2**53: 1, 2**53 + 1: 1, None: 2}


NAN = float("nan")
ODD = [NAN, -NAN, 0.0, -0.0, float("inf"), -float("inf"), 1.0, -1.0, 5e-324, 1e308]


@settings(max_examples=25, deadline=None)
@given(
    values=st.lists(st.sampled_from(ODD), min_size=1, max_size=12),
    condition=st.tuples(
        st.sampled_from(["lt", "lte", "gt", "gte", "eq", "neq"]),
        st.sampled_from([0.0, 1.0, -1.0, 2.0, -1e308]),
    ),
    size=st.integers(1, 4),
    is_single=st.booleans(),
)
def test_statistics_of_a_file_decide_nothing(
    tmp_path_factory: pytest.TempPathFactory,
    values: list[float],
    condition: tuple[str, float],
    size: int,
    is_single: bool,
) -> None:
    """Rows kept by a condition, and sums, are those of the same numbers without any statistics."""
    sign, end = condition
    path = tmp_path_factory.mktemp("stats") / "t.parquet"
    kind = pa.float32() if is_single else pa.float64()
    held = pa.table({"v": pa.array(values, kind)})
    pq.write_table(held, path, row_group_size=size, write_page_index=True)
    field = Field("v", Type.REAL, "v")
    where = call(sign, field, Literal(end, Type.REAL))
    rows = Where(Scan("t", ((field, "v"),)), where)
    parts = (Cells((RowCount(), Total(field, -8, 8, 0, 0, 1))),)
    bounded = Bounded(rows, (), ALONE, parts)
    found = []
    for source in (ParquetFile(path), Frame(held)):
        table = Table("t", source, (Column("v", Type.REAL),), unit="row")
        engine = DuckdbEngine(Catalog((table,)), threads=1)
        found.append(rows_of(engine, bounded))
        engine.close()
    kept = [value for value in held.column("v").to_pylist() if _keeps(value, sign, end)]
    total = sum(round(min(max(value, -8), 8)) for value in kept)
    assert found == [[{(len(kept), total)}]] * 2


def _keeps(value: float, sign: str, end: float) -> bool:
    if value != value:  # noqa: PLR0124 - NaN is missing
        return False
    return {
        "lt": value < end,
        "lte": value <= end,
        "gt": value > end,
        "gte": value >= end,
        "eq": value == end,
        "neq": value != end,
    }[sign]


# Text. -------------------------------------------------------------------------------------------


def texts(values: list[bytes | None]) -> pa.Array:
    """Return bytes as text, whether they are or not."""
    held = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(held), held.buffers())


BAD = [
    b"\xff",
    b"a\xffb",
    b"\xed\xa0\x80",
    b"\xc3",
    b"\xf4\x90\x80\x80",
    b"\xc0\x80",
    b"ab\xe2\x82",
]


@pytest.mark.parametrize("use_dictionary", [True, False])
def test_text_that_is_not_unicode_is_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, use_dictionary: bool
) -> None:
    path = tmp_path / "t.parquet"
    good = ["", "a", "ab", "?", "a?b", "\ufffd", "J\u00f3se", "\U0001f600", "a\x00b"]
    held = [*(text.encode() for text in good), *BAD, None]
    numbers = list(range(len(held)))
    table = pa.table({"k": texts(held), "v": numbers})
    pq.write_table(table, path, use_dictionary=use_dictionary, row_group_size=5)
    with caplog.at_level(logging.DEBUG):
        found = values_of(ParquetFile(path), "k", Type.TEXT)
    wanted: Counter[str | None] = Counter([text.replace("\0", "") for text in good])
    assert found == wanted + Counter([None] * (len(BAD) + 1))
    assert not caplog.text


def test_bad_text_of_one_person_changes_nothing_for_the_others(tmp_path: Path) -> None:
    types = {"who": Type.TEXT, "k": Type.TEXT, "at": Type.TIMESTAMP, "v": Type.INTEGER}
    good = [f"id-{place}".encode() for place in range(40)]
    ticks = pa.array([-1_500 - place for place in range(40)], pa.timestamp("ns"))
    answers = []
    for bad in (None, b"\xff\xfe"):
        who, keys = texts([*good, bad or b"x"]), texts([*([b"?"] * 40), b"k"])
        at = pa.concat_arrays([ticks, pa.array([0], pa.timestamp("ns"))])
        table = pa.table({"who": who, "k": keys, "at": at, "v": [str(n) for n in range(41)]})
        for place in range(2):
            part = table.slice(20 * place, 20 + place)
            pq.write_table(part, tmp_path / f"{place}.parquet", row_group_size=7)
        engine = opened(tmp_path / "*.parquet", types, unit="who")
        fields = [Field(name, kind, name) for name, kind in types.items()]
        rows = Scan("t", tuple((field, field.name) for field in fields))
        shares = Shares(rows=1, groups=1)
        found: list[set[Any]] = []
        for field in fields[1:]:
            bounded = Bounded(rows, (Key(field, field.name, None),), shares, (COUNT,))
            found += rows_of(engine, bounded)
        bounded = Bounded(rows, (), shares, (Cells((UnitCount(),)),))
        (units,) = rows_of(engine, bounded)
        assert units == {(41 if bad is None else 40,)}
        answers.append(found)
        engine.close()
    for without, with_one in zip(answers[1], answers[0], strict=True):
        assert without < with_one or len(without ^ with_one) <= 2


def test_ids_that_are_no_text_belong_to_nobody(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"who": texts([b"a", b"?", b"\xff", b"\xfe", b"", b"a\xff"])}), path)
    engine = opened(path, {"who": Type.TEXT}, unit="who")
    bounded = Bounded(Scan("t", ()), (), Shares(rows=1), (Cells((UnitCount(), RowCount())),))
    assert rows_of(engine, bounded) == [{(3, 3 * 2**16)}]
    engine.close()


def test_a_file_with_bad_text_and_odd_moments_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    at = pa.array([2**62, 0, 0], pa.timestamp("ms"))
    pq.write_table(pa.table({"k": texts([b"a", b"\xff", b"b"]), "at": at}), path)
    engine = opened(path, {"k": Type.TEXT, "at": Type.TIMESTAMP})
    field = Field("k", Type.TEXT, "k")
    bounded = Bounded(Scan("t", ((field, "k"),)), (Key(field, "k", None),), ALONE, (COUNT,))
    assert rows_of(engine, bounded) == [{("a", 1), ("b", 1), (None, 1)}]
    engine.close()


def test_the_other_schema_of_a_file_is_noticed_before_the_charge(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"v": [1]}), path)
    engine = opened(path, {"v": Type.INTEGER})
    bounded = Bounded(Scan("t", ((V, "v"),)), (), ALONE, (COUNT,))
    engine.prepare(bounded)
    pq.write_table(pa.table({"v": [1, 2, 3]}), path)
    engine.prepare(bounded)
    pq.write_table(pa.table({"v": [0.5, 1.0]}), path)
    with pytest.raises(CatalogError, match="columns of a file have changed"):
        engine.prepare(bounded)
    assert engine.catalog.tables[0].name == "t"
    pq.write_table(pa.table({"v": [1, 2]}), path)
    engine.prepare(bounded)
    (part,) = unsealed(engine.run(bounded, RECEIPT, salt=1))
    assert part.to_pylist() == [{"s0": 2}]
    engine.close()


def with_text(last: bytes) -> pa.Array:
    """Return four texts, of which the last may be anything."""
    raw = pa.array([b"a", b"b", b"c", last], pa.binary())
    return pa.Array.from_buffers(pa.string(), 4, raw.buffers())


FOUR = pa.array([5, 5, 5, 5], pa.int8())
ALIKE = {  # columns that one footer entry stands for, and Arrow takes for two types
    "decimals of two widths": (
        pa.array([Decimal("5.00")] * 4, pa.decimal128(5, 2)),
        pa.array([Decimal("5.00")] * 4, pa.decimal256(5, 2)),
    ),
    "whole numbers and truth values": (
        FOUR,
        pa.ExtensionArray.from_storage(pa.bool8(), FOUR),
    ),
}


@pytest.mark.parametrize("kind", ALIKE)
@pytest.mark.parametrize("turn", [1, -1])
def test_a_text_that_is_none_changes_no_other_value_whatever_arrow_makes_of_it(
    kind: str, turn: int, tmp_path: Path
) -> None:
    for last in (b"d", b"\xff"):
        for place, held in enumerate(ALIKE[kind][::turn]):
            texts = with_text(last if place == 1 else b"d")
            pq.write_table(pa.table({"v": held, "s": texts}), tmp_path / f"{place}.parquet")
        try:
            engine = opened(tmp_path / "*.parquet", {"v": Type.REAL, "s": Type.TEXT})
        except CatalogError:
            assert kind == "whole numbers and truth values"  # refused by its schema, for both
            continue
        s, v = Field("s", Type.TEXT, "s"), Field("v", Type.REAL, "v")
        rows = Scan("t", ((s, "s"), (v, "v")))
        texts_of = Bounded(rows, (Key(s, "s", None),), ALONE, (COUNT,))
        values = Bounded(rows, (Key(v, "v", None),), ALONE, (COUNT,))
        before = rows_of(engine, values)
        assert len(rows_of(engine, texts_of)[0]) == 4 + (last == b"\xff")  # one is missing
        assert rows_of(engine, values) == before == [{(5.0, 8)}]
        engine.close()


def test_a_text_that_is_none_changes_no_odd_moment_of_96_bits(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    moments = pa.array([datetime(2020, 1, 1)] * 4, pa.timestamp("us"))
    for last in (b"d", b"\xff"):
        table = pa.table({"m": moments, "s": with_text(last)})
        pq.write_table(table, path, use_deprecated_int96_timestamps=True, compression="none")
        stored = path.read_bytes()
        odd = struct.pack("<qi", 0, 0)
        day = struct.pack("<qi", 0, 2_458_850)
        assert day in stored
        path.write_bytes(stored.replace(day, odd))
        engine = opened(path, {"m": Type.TIMESTAMP, "s": Type.TEXT})
        m, s = Field("m", Type.TIMESTAMP, "m"), Field("s", Type.TEXT, "s")
        rows = Scan("t", ((m, "m"), (s, "s")))
        moments_of = Bounded(rows, (Key(m, "m", None),), ALONE, (COUNT,))
        before = rows_of(engine, moments_of)
        rows_of(engine, Bounded(rows, (Key(s, "s", None),), ALONE, (COUNT,)))
        assert rows_of(engine, moments_of) == before
        engine.close()


@pytest.mark.parametrize(("digits", "scale"), [(38, 1), (38, 10), (38, 38), (37, 2)])
@pytest.mark.parametrize("value", [-(2**127), 2**127 - 1, -(10**38), 10**38 - 1])
def test_no_stored_decimal_makes_a_question_fail(
    digits: int, scale: int, value: int, tmp_path: Path
) -> None:
    raw = b"".join(number.to_bytes(16, "little", signed=True) for number in (10, value))
    kind = pa.decimal128(digits, scale)
    held = pa.Array.from_buffers(kind, 2, [None, pa.py_buffer(raw)])
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"v": held}), path)
    v = Field("v", Type.REAL, "v")
    rows = Scan("t", ((v, "v"),))
    above = Where(rows, call("gt", v, Literal(0.0, Type.REAL)))
    engine = opened(path, {"v": Type.REAL})
    (found,) = rows_of(engine, Bounded(above, (), ALONE, (COUNT,)))
    assert found == {(1 + (0 < value < 10**digits),)}
    engine.close()
