# SPDX-License-Identifier: Apache-2.0
"""Footers of Parquet files taken apart and put together: for files that say what is not so.

A footer is a structure of Thrift, in its compact form. A structure is read as a dictionary from the
number of a field to its type and value; a list as the type of its entries, and the entries.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

Struct: TypeAlias = "dict[int, tuple[int, Any]]"

_TRUE, _FALSE, _BYTE, _DOUBLE, _BYTES, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_WHOLE = (4, 5, 6)
_SCHEMA, _GROUPS, _KEYS = 2, 4, 5  # fields of a footer
_CHUNKS, _CHUNK, _STATISTICS = 1, 3, 12  # of a group of rows, of a chunk, and of what it says
_ENDS, _MISSING, _EXACT = (1, 2, 5, 6), 3, (7, 8)  # of statistics
_NAME, _LOGICAL = 4, 10  # of a column in the schema
_ELEMENT = {"type": 1, "length": 2, "converted": 6, "scale": 7, "precision": 8}
DECIMAL, INT_8, INT_16, UINT_8, UINT_16 = 5, 15, 16, 11, 12  # what a column may be converted to


class _Bytes:
    """Bytes that are read from left to right."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.place = raw, 0

    def take(self, many: int) -> bytes:
        self.place += many
        return self.raw[self.place - many : self.place]

    def whole(self) -> int:
        value = shift = 0
        while True:
            (byte,) = self.take(1)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self) -> int:
        value = self.whole()
        return (value >> 1) ^ -(value & 1)

    def value(self, kind: int) -> Any:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _BYTE:
            return self.take(1)[0]
        if kind in _WHOLE:
            return self.signed()
        if kind == _DOUBLE:
            return self.take(8)
        if kind == _BYTES:
            return self.take(self.whole())
        if kind in (_LIST, _SET):
            (head,) = self.take(1)
            many, inner = head >> 4, head & 15
            many = self.whole() if many == 15 else many
            plain = _BYTE if inner in (_TRUE, _FALSE) else inner
            return inner, [self.value(plain) for _ in range(many)]
        assert kind == _STRUCT
        return self.struct()

    def struct(self) -> Struct:
        fields: Struct = {}
        number = 0
        while head := self.take(1)[0]:
            number = number + (head >> 4) if head >> 4 else self.signed()
            kind = head & 15
            fields[number] = (_TRUE if kind == _FALSE else kind, self.value(kind))
        return fields


def _whole(value: int) -> bytes:
    raw = b""
    while value > 127:
        raw += bytes([value & 127 | 128])
        value >>= 7
    return raw + bytes([value])


def _signed(value: int) -> bytes:
    return _whole(((value << 1) ^ (value >> 63)) & (2**64 - 1))


def _written(kind: int, value: Any) -> bytes:
    if kind == _BYTE:
        return bytes([value])
    if kind in _WHOLE:
        return _signed(value)
    if kind == _DOUBLE:
        return bytes(value)
    if kind == _BYTES:
        return _whole(len(value)) + bytes(value)
    if kind in (_LIST, _SET):
        inner, entries = value
        head = bytes([min(len(entries), 15) << 4 | inner])
        head += _whole(len(entries)) if len(entries) >= 15 else b""
        plain = _BYTE if inner in (_TRUE, _FALSE) else inner
        return head + b"".join(_written(plain, entry) for entry in entries)
    assert kind == _STRUCT
    raw, last = b"", 0
    for number, (form, entry) in sorted(value.items()):
        is_truth = form in (_TRUE, _FALSE)
        shown = (_TRUE if entry else _FALSE) if is_truth else form
        step = number - last
        raw += bytes([step << 4 | shown]) if step < 16 else bytes([shown]) + _signed(number)
        raw += b"" if is_truth else _written(form, entry)
        last = number
    return raw + b"\0"


def edit(path: Path, change: Callable[[Struct], None]) -> None:
    """Change the footer of a file; what a library keeps there for itself is dropped."""
    raw = path.read_bytes()
    (size,) = struct.unpack("<I", raw[-8:-4])
    footer = _Bytes(raw[-8 - size : -8]).struct()
    footer.pop(_KEYS, None)
    change(footer)
    made = _written(_STRUCT, footer)
    path.write_bytes(raw[: -8 - size] + made + struct.pack("<I", len(made)) + b"PAR1")


def say_ends(path: Path, column: int, low: bytes, high: bytes) -> None:
    """Let a footer say that all values of a column lie between two ends, and none is missing."""

    def change(footer: Struct) -> None:
        for statistics in _statistics(footer, column):
            for number in _ENDS:
                statistics[number] = (_BYTES, high if number in (1, 5) else low)
            statistics[_MISSING] = (6, 0)
            statistics.update(dict.fromkeys(_EXACT, (_TRUE, True)))

    edit(path, change)


def say_type(path: Path, name: str, *, logical: Struct | None = None, **fields: int) -> None:
    """Let a footer say something else of the type of a column, and nothing of any values."""

    def change(footer: Struct) -> None:
        for group in footer[_GROUPS][1][1]:
            for chunk in group[_CHUNKS][1][1]:
                chunk[_CHUNK][1].pop(_STATISTICS, None)
        elements = footer[_SCHEMA][1][1]
        element = next(entry for entry in elements if entry[_NAME][1] == name.encode())
        element.pop(_LOGICAL, None)
        if logical is not None:
            element[_LOGICAL] = (_STRUCT, logical)
        for field, value in fields.items():
            element[_ELEMENT[field]] = (5, value)

    edit(path, change)


def _statistics(footer: Struct, column: int) -> list[Struct]:
    groups = footer[_GROUPS][1][1]
    return [group[_CHUNKS][1][1][column][_CHUNK][1][_STATISTICS][1] for group in groups]
