# SPDX-License-Identifier: Apache-2.0
"""Arrow columns of every type are converted exactly, value by value, or refused by their type."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.catalog.arrow import plain, type_of
from sordino.errors import CatalogError
from sordino.query.types import Type

BAD = pa.array([b"ok", b"\xff", None, b"\xed\xa0\x80" + b"x" * 20, b"\xc3\xa9"])
WANTED = ["ok", None, None, None, "\u00e9"]
WIDE = [pa.decimal32(9, 4), pa.decimal64(18, 9), pa.decimal128(38, 0), pa.decimal128(38, 37),
        pa.decimal128(38, 38), pa.decimal256(76, 0), pa.decimal256(76, 38), pa.decimal256(76, 76),
        pa.decimal128(5, 2)]  # fmt: skip


def read(column: Any, kind: Type) -> list[Any]:
    found: list[Any] = plain(column, kind).to_pylist()
    return found


def decimals(arrow: Any, unscaled: list[int]) -> Any:
    """Return decimals of any digits, also of more than their type allows."""
    size = arrow.bit_width // 8
    raw = b"".join(value.to_bytes(size, "little", signed=True) for value in unscaled)
    return pa.Array.from_buffers(arrow, len(unscaled), [None, pa.py_buffer(raw)])


@given(st.sampled_from(WIDE), st.data())
def test_decimals_become_integers_exactly_and_the_nearest_doubles(
    arrow: Any, data: st.DataObject
) -> None:
    bits = arrow.bit_width - 1
    scale = 10**arrow.scale
    near = st.one_of(
        st.integers(-(2**bits), 2**bits - 1),
        st.sampled_from([0, 1, -1, 2**63, 2**63 - 1, -(2**63), -(2**63) - 1, 2**53 + 1]).map(
            lambda whole: max(-(2**bits), min(2**bits - 1, whole * scale))
        ),
        st.sampled_from([10**arrow.precision - 1, 1 - 10**arrow.precision]),
    )
    unscaled = data.draw(st.lists(near, min_size=1, max_size=20))
    array = decimals(arrow, unscaled)
    whole: list[int | None] = []
    real: list[float | None] = []
    for value in unscaled:
        inside = abs(value) < 10**arrow.precision
        fits = inside and value % scale == 0 and -(2**63) <= value // scale < 2**63
        whole.append(value // scale if fits else None)
        real.append(value / scale if inside else None)
    assert read(array, Type.INTEGER) == whole
    assert read(array, Type.REAL) == real


@pytest.mark.parametrize(
    "column",
    [
        BAD.view(pa.string()),
        BAD.cast(pa.large_binary()).view(pa.large_string()),
        BAD.cast(pa.binary_view()).view(pa.string_view()),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, 4], pa.uint8()), BAD.view("string")),
        pa.concat_arrays([pa.array([b"\xff"]), BAD]).slice(1).view(pa.string()),
    ],
    ids=lambda column: str(column.type),
)
def test_text_that_is_no_unicode_is_missing(column: Any) -> None:
    assert read(column, Type.TEXT) == WANTED
    chunked = pa.chunked_array([column, column.slice(2)])
    assert read(chunked, Type.TEXT) == WANTED + WANTED[2:]
    assert plain(chunked, Type.TEXT).type == plain(column, Type.TEXT).type
    assert read(pa.chunked_array([], column.type), Type.TEXT) == []


def test_text_that_is_no_unicode_is_missing_in_a_long_column() -> None:
    entries = [b"x%d" % place for place in range(5000)]
    for place in (0, 1023, 1024, 4999):
        entries[place] = b"\x80"
    wanted = [None if entry == b"\x80" else entry.decode() for entry in entries]
    assert read(pa.array(entries).view(pa.string()), Type.TEXT) == wanted


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "+05:30", "No/Where"])
def test_moments_of_every_unit_are_those_of_utc_rounded_down(unit: str, zone: str | None) -> None:
    rate = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    last = min(253_402_300_800 * rate - 1, 2**63 - 1)
    ticks = [0, -1, 1, -999, -1000, -1001, 86_400 * rate, -86_400 * rate - 1, last, last + 1,
             2**63 - 1, -(2**63), -62_135_596_800 * rate, -62_135_596_800 * rate - 1]  # fmt: skip
    ticks = [tick for tick in ticks if -(2**63) <= tick < 2**63]
    array = pa.array(ticks, pa.int64()).view(pa.timestamp(unit, zone))
    wanted = [moment(tick * 10**6 // rate) for tick in ticks]
    assert read(array, Type.TIMESTAMP) == wanted
    assert read(array, Type.DATE) == [None if m is None else m.date() for m in wanted]


def moment(microseconds: int) -> datetime | None:
    try:
        aware = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
    except OverflowError:
        return None
    return aware.replace(tzinfo=None)


def test_days_in_milliseconds_are_rounded_down() -> None:
    ticks = pa.array([-1, 3 * 86_400_000 + 5, -86_400_000, 2**63 - 1, -(2**63)], pa.int64())
    wanted = [date(1969, 12, 31), date(1970, 1, 4), date(1969, 12, 31), None, None]
    assert read(ticks.view(pa.date64()), Type.DATE) == wanted


@pytest.mark.parametrize(
    ("values", "kind", "wanted"),
    [
        (pa.array([Decimal("1.5"), Decimal(2), None]), Type.INTEGER, [None, 2, None]),
        (pa.array([Decimal("1.5"), None], pa.decimal32(5, 2)), Type.REAL, [1.5, None]),
        (pa.array([date(2020, 1, 1), None]), Type.TIMESTAMP, [datetime(2020, 1, 1), None]),
        (pa.array(["a", None], pa.string_view()), Type.TEXT, ["a", None]),
        (pa.array([1, 2**63], pa.uint64()), Type.INTEGER, [1, None]),
        (pa.array([1, 2**63], pa.uint64()), Type.TEXT, ["1", str(2**63)]),
        (pa.array([1.5, 2.0], pa.float16()), Type.INTEGER, [None, 2]),
        (pa.array([True, None]), Type.BOOLEAN, [True, None]),
        (pa.array([-1], pa.timestamp("ns", "UTC")), Type.DATE, [date(1969, 12, 31)]),
        (pa.array([b"a" * 16], pa.uuid()), Type.TEXT, ["61616161-6161-6161-6161-616161616161"]),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_a_dictionary_is_what_its_values_are(values: Any, kind: Type, wanted: list[Any]) -> None:
    places = [*range(len(values)), None, 0]
    held = pa.DictionaryArray.from_arrays(pa.array(places, pa.int16()), values)
    assert read(values, kind) == wanted
    assert read(held, kind) == [*wanted, None, wanted[0]]
    assert read(held.slice(1), kind) == [*wanted[1:], None, wanted[0]]


REFUSED = [
    pa.list_(pa.int8()), pa.large_list(pa.int8()), pa.list_view(pa.int8()), pa.list_(pa.int8(), 2),
    pa.struct([("a", pa.int8())]), pa.map_(pa.int8(), pa.int8()), pa.duration("s"),
    pa.time32("s"), pa.time64("ns"), pa.month_day_nano_interval(), pa.binary(), pa.large_binary(),
    pa.binary(4), pa.binary_view(), pa.bool8(), pa.json_(), pa.opaque(pa.int8(), "a", "b"),
    pa.run_end_encoded(pa.int32(), pa.string()), pa.decimal128(5, -3),
    pa.dictionary(pa.int8(), pa.binary()), pa.dense_union([pa.field("a", pa.int8())]),
]  # fmt: skip


@pytest.mark.parametrize("arrow", REFUSED, ids=str)
def test_other_types_are_refused_whatever_they_are_declared_as(arrow: Any) -> None:
    assert type_of(arrow) is None
    for kind in Type:
        with pytest.raises(CatalogError, match="declare what it holds, convert it before"):
            plain(pa.chunked_array([], arrow), kind)


def test_damaged_memory_is_refused_without_its_values() -> None:
    outside = pa.DictionaryArray.from_arrays(pa.array([0, 9]), pa.array(["secret"]), safe=False)
    offsets = pa.py_buffer(np.array([0, 500, 6], "i4").tobytes())
    torn = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"secret")])
    for column in (outside, torn):
        with pytest.raises(CatalogError, match="its memory is damaged") as caught:
            plain(column, Type.TEXT)
        assert "secret" not in str(caught.value)
