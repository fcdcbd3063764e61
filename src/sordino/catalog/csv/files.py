# SPDX-License-Identifier: Apache-2.0
"""CSV files: from bytes to columns of text, block by block, by rules that are all our own.

What a row becomes depends on its own bytes and on what is declared, never on other rows: see the
section on CSV files in docs/proofs/queries.md.

Values become text that every source has: ISO 8601, and fractions with a point. A text that is not
written as declared is missing. Whether there is such a day, and whether digits are a number, is
seen where text is read as the declared type.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sordino.catalog.csv.options import BY_LINE, MONTHS, UTF_8, is_narrow, pattern_of
from sordino.catalog.csv.tokens import REASONS, Flags, Places, Rows, rows_of
from sordino.catalog.model import Column, CsvFile
from sordino.catalog.schemas import PACKED, Malformed, reason
from sordino.catalog.toml import quoted
from sordino.errors import CatalogError
from sordino.query.types import Type

TEXT = pa.large_string()
_FEW = 1024  # cells that are looked at one by one if one of them is no text


def decoded(raw: Any) -> Any:
    """Return bytes as text; what is no UTF-8 is missing."""
    try:
        return raw.cast(TEXT)
    except pa.ArrowInvalid:
        parts = [raw.slice(start, _FEW) for start in range(0, len(raw), _FEW)]
        return pa.concat_arrays([_decoded_few(part) for part in parts])


def _decoded_few(few: Any) -> Any:
    try:
        return few.cast(TEXT)
    except pa.ArrowInvalid:
        return pa.array([_text(cell) for cell in few.to_pylist()], TEXT)


def _text(cell: bytes | None) -> str | None:
    try:
        return None if cell is None else cell.decode()
    except UnicodeDecodeError:
        return None


def without(text: Any, nulls: Iterable[str]) -> Any:
    """Return text in which those that mean nothing are missing."""
    listed = pa.array(nulls, TEXT)
    return _unless(pc.is_in(text, value_set=listed), text) if len(listed) else text


def normal(text: Any, kind: Type, source: CsvFile) -> Any:
    """Return the text of a column as values of its type are written in every source."""
    if kind is Type.DATE and source.date_format is not None:
        return iso_times(text, source.date_format)
    if kind is Type.TIMESTAMP and source.timestamp_format is not None:
        return iso_times(text, source.timestamp_format)
    if kind is Type.REAL and source.decimal == ",":
        return pc.replace_substring(_unless(pc.match_substring(text, "."), text), ",", ".")
    return text


def _unless(condition: Any, text: Any) -> Any:
    return pc.if_else(condition, pa.scalar(None, TEXT), text)


def iso_times(text: Any, form: str) -> Any:
    """Return the texts that are of a format, in ISO 8601; others are missing.

    >>> iso_times(pa.array(["24.12.2024", "2024-12-24"], TEXT), "%d.%m.%Y").to_pylist()
    ['2024-12-24', None]
    """
    found = pc.extract_regex(text, pattern_of(form))
    part = {
        field.name: pc.struct_field(found, [place]).cast(TEXT)
        for place, field in enumerate(found.type)
    }
    day = _joined("-", _year(part), _month(part), _two(part["d"]))
    if not {"H", "I"} & set(part):
        return day
    clock = [_two(part[name]) if name in part else pa.scalar("00", TEXT) for name in "MS"]
    moment = _joined(" ", day, _joined(":", _hour(part), *clock))
    return _joined(".", moment, pc.utf8_rpad(part["f"], 6, "0")) if "f" in part else moment


def _joined(sign: str, *texts: Any) -> Any:
    return pc.binary_join_element_wise(*texts, pa.scalar(sign, TEXT))


def _two(digits: Any) -> Any:
    return pc.utf8_lpad(digits.cast(TEXT), 2, "0")


def _year(part: dict[str, Any]) -> Any:
    """Return four digits; of two, those below 69 are of this century, as POSIX has it."""
    if "Y" in part:
        return part["Y"]
    early = pc.less(part["y"], pa.scalar("69", TEXT))
    century = pc.if_else(early, pa.scalar("20", TEXT), pa.scalar("19", TEXT))
    return _joined("", century, part["y"])


def _month(part: dict[str, Any]) -> Any:
    if "m" in part:
        return _two(part["m"])
    return _two(pc.add(pc.index_in(pc.utf8_lower(part["b"]), pa.array(MONTHS, TEXT)), 1))


def _hour(part: dict[str, Any]) -> Any:
    if "H" in part:
        return _two(part["H"])
    twelve = part["I"].cast(pa.int64())
    late = pc.equal(pc.utf8_lower(part["p"]), pa.scalar("pm", TEXT))
    return _two(pc.add(pc.if_else(pc.equal(twelve, 12), 0, twelve), pc.if_else(late, 12, 0)))


BLOCK = 1 << 22  # bytes that are looked at at once
LONGEST_HEADER = 1_000_000  # bytes
_START = 1 << 16  # bytes that a header is looked for in at first
_BOM = codecs.BOM_UTF8
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SEPARATOR = re.compile(rb"\"?sep=([ -~\t])\"?[,;\t]*", re.IGNORECASE)  # a line for Excel
_UNREADABLE = "sordino.unreadable"


def _unreadable(error: UnicodeError) -> tuple[str, int]:
    """Stand in for bytes that do not decode: this is no text in UTF-8, so the value is missing."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\udfff", error.end


codecs.register_error(_UNREADABLE, _unreadable)


@dataclass(frozen=True, slots=True)
class Texts:
    """A column of some rows: Arrow text, as values of its type are written in every source.

    It was made from ``raw`` bytes that were ``read`` as text, and ``told`` without texts that mean
    nothing.
    """

    column: Any = field(repr=False)
    raw: Any = field(repr=False)
    read: Any = field(repr=False)
    told: Any = field(repr=False)

    @property
    def unreadable(self) -> Flags:
        """Where the file has bytes that are no text in its encoding."""
        return _flags(self.raw) & ~_flags(self.read)

    @property
    def present(self) -> Flags:
        """Where the file has a value."""
        return _flags(self.told) | self.unreadable


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows of a file, and the lines in which they begin.

    The lines ``bad`` were left out, each for one of ``reasons``. Rows that begin in the lines
    ``longer`` have more values than the header, and those in ``shorter`` fewer. Lines count from 1.
    """

    texts: tuple[Texts, ...]
    lines: Places
    bad: Places
    reasons: tuple[str, ...]
    longer: Places
    shorter: Places


def read_header(source: CsvFile) -> tuple[str, ...]:
    """Return the names in the first line of a file.

    They must be names: not empty, no numbers, and different in more than the case of letters.
    """
    where = repr(str(source.path))
    with _opened(source) as stream:
        names = _names(_first_line(stream, where), source, where)
    seen: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        said = _refusal(name)
        if not said and name.casefold() in seen:
            said = (
                f"the name of column {seen[name.casefold()]} once more, and the case of letters "
                "does not count; rename one of them"
            )
        if said:
            raise CatalogError(
                f"the first line of {where} must name its columns, but column {place} has {said}"
            )
        seen[name.casefold()] = place
    return names


def _refusal(name: str) -> str:
    """Say what is wrong with a name, without the name: it may be the value of a row."""
    if not name.strip():
        return "an empty name (pandas writes one unless it is told index=False)"
    if _is_number(name):
        return (
            "a number, so that it seems to be a row; add a first line with the names of the columns"
        )
    if "\t" in name:
        return 'a tab in it; if tabs separate the columns, state separator = "\\t"'
    if not name.isprintable():
        return "a character that cannot be printed, such as a line break"
    return ""


def header_line(source: CsvFile) -> str:
    """Return the first line of a file, whatever it is separated by."""
    where = repr(str(source.path))
    with _opened(source) as stream:
        return _decoded(_first_line(stream, where), source, where)


def read_blocks(
    source: CsvFile, columns: Sequence[Column], *, size: int = BLOCK
) -> Iterator[Block]:
    """Read the rows of a file, of the given columns alone, which its header must have.

    Raises Malformed if the file is not well-formed, unless such lines are to be left out.
    """
    by_line = source.malformed == "skip"
    where = repr(str(source.path))
    with _opened(source) as stream:
        header = _names(_first_line(stream, where), source, where)
        if missing := [column.name for column in columns if column.name not in header]:
            raise CatalogError(f"the header of {where} has no column {missing[0]!r}")
        places = [header.index(column.name) for column in columns]
        passed, rest, last = 1, b"", False
        while not last:
            fresh = stream.read(max(size, len(rest)))
            last = not fresh
            block = rest + fresh
            if last and block and not block.endswith(b"\n"):
                block += b"\n"
            rows = rows_of(
                block,
                source.separator,
                source.quote,
                by_line=by_line,
                last=last,
                most=len(header),
            )
            if len(rows.bad) and not by_line:
                raise Malformed(passed + 1 + int(rows.bad[0]), REASONS[rows.reasons[0]])
            if rows.used:
                cells = _cells(block, rows)
                read = [
                    _column(cells, rows, place, column.type, source)
                    for place, column in zip(places, columns, strict=True)
                ]
                lines = rows.lines + passed + 1
                yield Block(
                    tuple(read),
                    lines,
                    rows.bad + passed + 1,
                    tuple(REASONS[reason] for reason in rows.reasons),
                    longer=lines[rows.many > len(header)],
                    shorter=lines[rows.many < len(header)],
                )
            passed, rest = passed + rows.passed, block[rows.used :]


def _cells(block: bytes, rows: Rows) -> Any:
    """Return all cells, and between two of them what separates them, without a copy."""
    buffers = [None, pa.py_buffer(rows.ends), pa.py_buffer(block)]
    many = max(len(rows.ends) - 1, 0)
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), many, buffers)


def _column(cells: Any, rows: Rows, place: int, kind: Type, source: CsvFile) -> Texts:
    raw = _bytes(cells, rows, place, empty_is_null="" in source.nulls)
    if rows.doubled is not None and _is_any(rows.doubled, rows, place):
        raw = pc.replace_substring(raw, source.quote * 2, source.quote)
    text = decoded(raw)
    told = without(text, [null for null in source.nulls if null])
    return Texts(normal(told, kind, source), raw, text, told)


def _bytes(cells: Any, rows: Rows, place: int, *, empty_is_null: bool) -> Any:
    """Return the bytes of one column; a row with too few cells has none there."""
    if place < rows.width:  # as below, in less time
        start, step = 2 * place, 2 * rows.width
        taken = np.arange(start, len(rows.ends), step)
        empty = rows.ends[start::step] == rows.ends[start + 1 :: step]
        return cells.take(pa.array(taken, mask=empty if empty_is_null else None))
    missing = rows.many <= place
    taken = np.where(missing, 0, 2 * (rows.first + place))
    if empty_is_null:
        missing |= rows.ends[taken] == rows.ends[taken + 1]
    return cells.take(pa.array(taken, mask=missing))


def _is_any(flags: Flags, rows: Rows, place: int) -> bool:
    if place < rows.width:
        return bool(flags[place :: rows.width].any())
    return bool(flags[(rows.first + place)[rows.many > place]].any())


def _flags(column: Any) -> Flags:
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False), bool)


@contextmanager
def _opened(source: CsvFile) -> Iterator[_Stream]:
    """Open a file as a stream of UTF-8 without a byte order mark."""
    ending = source.path.suffix.lower()
    where = repr(str(source.path))
    try:
        with pa.input_stream(
            str(source.path), compression="detect" if ending in PACKED else None
        ) as raw:
            yield _Stream(raw, source.encoding)
    except FileNotFoundError:
        raise CatalogError(f"there is no file {where}") from None
    except OSError as error:
        said = reason(error, "it is damaged, or not packed as its name says")
        raise CatalogError(f"{where} cannot be read: {said}") from None


class _Stream:
    """The bytes of a file in UTF-8, whatever its encoding is.

    Bytes that do not decode become bytes that are no UTF-8 either, and nothing else changes, above
    all no line feed: encodings in which that could be are refused, or decoded line by line.
    """

    def __init__(self, raw: Any, encoding: str) -> None:
        self._raw = _WholeLines(raw) if encoding in BY_LINE else raw
        self._encoding = encoding
        self._skips = encoding != UTF_8 and is_narrow(encoding) and _is_above_ascii(encoding)
        self._decoder = None
        if encoding != UTF_8 and encoding not in BY_LINE:
            self._decoder = codecs.getincrementaldecoder(encoding)(_UNREADABLE)
        self._kept = b""
        start = self.read(_START)
        self._kept = start.removeprefix(_BOM)

    def read(self, size: int) -> bytes:
        """Return about so many bytes; none at the end of the file alone."""
        if self._kept:
            kept, self._kept = self._kept, b""
            return kept
        while True:
            raw = self._raw.read(size)
            if self._encoding in BY_LINE:
                return _lines_decoded(raw, self._encoding).encode(UTF_8, "surrogatepass")
            if self._decoder is None or (self._skips and raw.isascii()):
                return bytes(raw)
            text = self._decoder.decode(raw, final=not raw)
            if text or not raw:
                return text.encode(UTF_8, "surrogatepass")

    def keep(self, rest: bytes) -> None:
        """Put bytes back that were read too early."""
        self._kept = rest


class _WholeLines:
    """Bytes in pieces that end where a line does, or where the file does."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._rest = b""

    def read(self, size: int) -> bytes:
        """Return about so many bytes, or a longer line; none at the end of the file alone."""
        while True:
            fresh: bytes = self._raw.read(max(size, len(self._rest)))
            block = self._rest + fresh
            end = block.rfind(b"\n") + 1 if fresh else len(block)
            self._rest = block[end:]
            if end or not fresh:
                return block[:end]


def _lines_decoded(raw: bytes, encoding: str) -> str:
    """Decode each line by itself: the bytes of an unknown character may reach beyond its line."""
    if raw.isascii():
        return raw.decode("ascii")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        text = ""
    if text.count("\n") == raw.count(b"\n") and text:  # so all lines are what they are alone
        return text
    return "\n".join(line.decode(encoding, _UNREADABLE) for line in raw.split(b"\n"))


def _is_above_ascii(encoding: str) -> bool:
    plain = bytes(range(128))
    return plain.decode(encoding, "replace") == plain.decode("ascii")


def _first_line(stream: _Stream, where: str) -> bytes:
    line = b""
    while b"\n" not in line and len(line) <= LONGEST_HEADER:
        fresh = stream.read(_START)
        if not fresh:
            line += b"\n"
            break
        line += fresh
    line, _, rest = line.partition(b"\n")
    if len(line) > LONGEST_HEADER:
        _check_returns(line, where)
        raise CatalogError(
            f"the first line of {where} is longer than {LONGEST_HEADER:,} bytes, and must name the "
            "columns"
        )
    stream.keep(rest)
    return line.removesuffix(b"\r")


def _check_returns(line: bytes, where: str) -> None:
    if b"\r" in line:
        raise CatalogError(
            f"lines of {where} end with a carriage return alone, as those of old Macs; write it "
            "with line feeds, as in tr '\\r' '\\n' < old.csv > new.csv"
        )


def _names(line: bytes, source: CsvFile, where: str) -> tuple[str, ...]:
    text = _decoded(line, source, where).encode()
    rows = rows_of(text + b"\n", source.separator, source.quote, by_line=True, last=True)
    if len(rows.bad):
        raise CatalogError(f"the header of {where} is not well-formed: {REASONS[rows.reasons[0]]}")
    cells = [text[start:stop] for start, stop in rows.ends.reshape(-1, 2).tolist()]
    if rows.doubled is not None:
        quote = source.quote.encode()
        cells = [cell.replace(quote * 2, quote) for cell in cells]
    return tuple(cell.decode(UTF_8) for cell in cells)


def _decoded(line: bytes, source: CsvFile, where: str) -> str:
    if line.startswith(_UTF_16):
        raise CatalogError(f'{where} is text in UTF-16; state encoding = "utf-16"')
    if not line or b"\0" in line:
        raise CatalogError(f"{where} must be a CSV file with a header of column names")
    _check_returns(line, where)
    if stated := _SEPARATOR.fullmatch(line):
        raise CatalogError(
            f"the first line of {where} is one that Excel reads and no header; delete it, and "
            f"state separator = {quoted(stated[1].decode())}"
        )
    try:
        return line.decode(UTF_8)
    except UnicodeDecodeError:
        raise CatalogError(
            f"the header of {where} is not text in {source.encoding}; say what it is, by encoding "
            '= "cp1252" in the catalog, or by --encoding cp1252'
        ) from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
