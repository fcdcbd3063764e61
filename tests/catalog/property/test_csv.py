# SPDX-License-Identifier: Apache-2.0
"""CSV files against a reader that goes from character to character, and against Python's own."""

from __future__ import annotations

import csv
import io
import re
import tempfile
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from sordino.catalog.csv import tokens as csv_tokens
from sordino.catalog.csv.files import _lines_decoded, read_blocks, read_header
from sordino.catalog.csv.options import BY_LINE, csv_file
from sordino.catalog.model import Column, CsvFile
from sordino.catalog.schemas import Malformed
from sordino.errors import CatalogError
from sordino.query.types import Type

NAMES = ("a", "b", "c")
COLUMNS = tuple(Column(name, Type.TEXT) for name in NAMES)
KEEPING = CsvFile(Path(), nulls=())  # so that an empty cell is told from one that is not there
SKIPPING = replace(KEEPING, malformed="skip")
Row = tuple[str | None, ...]


def read(body: bytes, source: CsvFile, size: int = 1 << 20) -> list[Row]:
    """Return the rows of a file with a header of three names."""
    head = (source.separator.join(NAMES) + "\n").encode(source.encoding)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(head + body)
        found = []
        for block in read_blocks(replace(source, path=path), COLUMNS, size=size):
            columns = [texts.column.to_pylist() for texts in block.texts]
            assert {len(column) for column in columns} == {len(block.lines)}
            found += list(zip(*columns, strict=True))
        return found


QUOTED = re.compile(r'"(?:[^"]|"")*"')
PLAIN = re.compile(r'[^",]*')


def cells_of(record: str) -> list[str] | None:
    """Return the cells of one row, without its line feed, or None if it is not well-formed."""
    cells, place = [], 0
    while True:
        is_quoted = record[place : place + 1] == '"'
        cell = (QUOTED if is_quoted else PLAIN).match(record, place)
        if cell is None or record[cell.end() : cell.end() + 1] not in ("", ","):
            return None
        text = cell.group()
        cells.append(text[1:-1].replace('""', '"') if is_quoted else text)
        if cell.end() == len(record):
            return cells
        place = cell.end() + 1


def padded(cells: list[str]) -> Row:
    return tuple([*cells, None, None, None][:3])


def lines_of(text: str) -> list[str]:
    """Return the lines of a text without their ends."""
    lines = text.split("\n")
    lines = lines if lines[-1] else lines[:-1]
    return [line.removesuffix("\r") for line in lines]


def skipped(text: str) -> list[Row]:
    """Read every line by itself, and leave out those that are not well-formed."""
    cells = [cells_of(line) for line in lines_of(text) if line]
    return [padded(found) for found in cells if found is not None]


def refused(text: str) -> list[Row] | None:
    """Read rows that may go over several lines; None if the file is not well-formed."""
    rows, record, places = [], "", text if text.endswith("\n") or not text else text + "\n"
    for line in places.split("\n")[:-1]:
        record += line
        if record.count('"') % 2:
            record += "\n"
            continue
        record = record.removesuffix("\r")
        cells = cells_of(record)
        if cells is None:
            return None
        if record:
            rows.append(padded(cells))
        record = ""
    return None if record else rows


TEXTS = st.text(st.sampled_from('",\n\rxé ;'), max_size=30)
LINES = st.lists(
    st.sampled_from(
        ["x,y", '"x",y', '"', 'a"b', '"a""b",', '""', "", ",", ",,,,", '"a"b', "\r", "a\rb"]
    ),
    max_size=8,
).map("\n".join)
ANY = TEXTS | LINES
SIZES = st.integers(1, 12) | st.just(1 << 20)


@given(ANY, SIZES)
@example('"a\n"', 1)
@example('""""\n', 2)
@example('"\r\n"\r\n', 3)
@example("x\r", 1)
def test_a_file_is_read_as_a_reader_of_single_characters_reads_it(text: str, size: int) -> None:
    wanted = refused(text)
    if wanted is None:
        with pytest.raises(Malformed):
            read(text.encode(), KEEPING, size)
    else:
        assert read(text.encode(), KEEPING, size) == wanted


@given(ANY, SIZES)
@example('"\n"x', 1)
@example('"a\n",""\n"', 2)
def test_each_line_stands_for_itself_if_others_are_skipped(text: str, size: int) -> None:
    assert read(text.encode(), SKIPPING, size) == skipped(text)


@given(ANY, ANY, SIZES)
def test_rows_of_lines_put_together_are_the_rows_of_both(one: str, other: str, size: int) -> None:
    one = one if one.endswith("\n") else one + "\n"
    both = read((one + other).encode(), SKIPPING, size)
    assert both == read(one.encode(), SKIPPING) + read(other.encode(), SKIPPING)


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


@given(
    st.lists(st.lists(CELLS, min_size=1, max_size=5), max_size=6),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
    st.builds(
        replace,
        st.just(KEEPING),
        separator=st.sampled_from(",;\t|"),
        encoding=st.sampled_from(["utf-8", "utf-16", "utf-32-be", "gb18030"]),
    ),
    SIZES,
)
def test_what_python_writes_is_read_as_python_reads_it(
    rows: list[list[str]], all_quoted: bool, end: str, source: CsvFile, size: int
) -> None:
    # Python quotes no carriage return where lines end without one, and takes it for an end.
    assume(all_quoted or end == "\r\n" or "\r" not in "".join(map("".join, rows)))
    file = io.StringIO()
    quoting: Any = csv.QUOTE_ALL if all_quoted else csv.QUOTE_MINIMAL
    separator = source.separator
    csv.writer(file, delimiter=separator, quoting=quoting, lineterminator=end).writerows(rows)
    text = file.getvalue()
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    wanted = [padded(row) for row in reader if row]
    head = separator.join(NAMES) + "\n"
    body = (head + text).encode(source.encoding)[len(head.encode(source.encoding)) :]
    assert read(body, source, size) == wanted


@given(st.binary(max_size=40), SIZES)
def test_bytes_that_are_no_text_cost_a_value_and_never_a_row(body: bytes, size: int) -> None:
    text = body.decode("utf-8", "surrogateescape")
    wanted = [
        tuple(None if cell is None or _is_odd(cell) else cell for cell in row)
        for row in skipped(text)
    ]
    assert read(body, SKIPPING, size) == wanted


def _is_odd(cell: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in cell)


@given(st.binary(max_size=40), st.sampled_from(["latin-1", "cp1252", "ascii", "koi8-r"]), SIZES)
def test_each_byte_of_a_narrow_encoding_is_itself(body: bytes, encoding: str, size: int) -> None:
    text = "".join(
        bytes([byte]).decode(encoding, "replace").replace("\N{REPLACEMENT CHARACTER}", "\ud800")
        for byte in body
    )
    wanted = [
        tuple(None if cell is None or _is_odd(cell) else cell for cell in row)
        for row in skipped(text)
    ]
    assert read(body, replace(SKIPPING, encoding=encoding), size) == wanted


@pytest.mark.parametrize("encoding", BY_LINE)
def test_no_two_bytes_swallow_a_line_feed_or_reach_beyond_it(encoding: str) -> None:
    pairs = [bytes([one, other]) for one in range(256) for other in range(256)]
    pairs = [pair for pair in pairs if not set(pair) & set(b'\n\r",')]
    body = b"".join(b"k" + pair + b"\nk,x\n" for pair in pairs)
    found = read(body, replace(SKIPPING, encoding=encoding))
    assert len(found) == 2 * len(pairs)
    assert found[1::2] == [("k", "x", None)] * len(pairs)
    for pair, row in zip(pairs, found[0::2], strict=True):
        try:
            assert row[0] == (b"k" + pair).decode(encoding)
        except UnicodeDecodeError:
            assert row[0] is None


HALF = st.sampled_from([b"\xa4\xd4", b"\xa4\xd4\xa4\xa1", b"\x81\x30\x81", b"\x8f\xa1", b"\x81"])
ODD = st.one_of(HALF, st.binary(max_size=7)).filter(lambda body: not set(body) & set(b'\n\r",'))


@given(st.lists(ODD, max_size=5), st.sampled_from(BY_LINE), SIZES)
@example([b"\xa4\xd4", b"b"], "euc_kr", 1 << 20)
@example([b"\xa4\xd4", b"b", b"c" * 9], "euc_kr", 5)
def test_a_line_of_a_wide_encoding_is_decoded_by_itself(
    lines: list[bytes], encoding: str, size: int
) -> None:
    wanted: list[Row] = []
    for line in lines:
        try:
            wanted.append(("k" + line.decode(encoding), None, None))
        except UnicodeDecodeError:
            wanted.append((None, None, None))
    body = b"".join(b"k" + line + b"\n" for line in lines)
    assert read(body, replace(SKIPPING, encoding=encoding), size) == wanted


@pytest.mark.parametrize("encoding", BY_LINE)
def test_half_a_character_at_the_end_of_a_file_takes_no_row_with_it(encoding: str) -> None:
    for lead in range(128, 256):
        for other in range(128, 256):
            raw = bytes([lead, other]) + b"\nb\n"
            assert _lines_decoded(raw, encoding).endswith("\nb\n")


@pytest.mark.parametrize("encoding", BY_LINE)
def test_no_bytes_but_a_line_feed_are_one(encoding: str) -> None:
    assert "\n".encode(encoding) == b"\n"
    plain = [byte for byte in range(256) if byte != 10]
    for one in plain:
        for other in plain:
            for end in (b"", b"0\x810", b"\xa4\xa1\xa4\xa1\xa4\xa1"):
                text = (bytes([one, other]) + end).decode(encoding, "replace")
                assert "\n" not in text


@pytest.mark.parametrize(
    "encoding", ["euc_jis_2004", "euc_jisx0213", "shift_jis_2004", "johab", "hz", "iso2022_kr"]
)
def test_encodings_without_a_proof_are_refused_by_name(encoding: str) -> None:
    with pytest.raises(CatalogError, match=encoding):
        csv_file(Path("t.csv"), encoding=encoding)


@given(
    st.lists(st.lists(st.sampled_from([0x41, 0xD800, 0xDBFF, 0xDC00, 0xDFFF]), max_size=3)),
    st.sampled_from(["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]),
    SIZES,
)
def test_units_that_are_no_text_take_no_row_with_them(
    lines: list[list[int]], encoding: str, size: int
) -> None:
    text = "".join("k" + "".join(map(chr, line)) + "\n" for line in lines)
    body = text.encode(encoding, "surrogatepass")
    assert len(read(body, replace(SKIPPING, encoding=encoding), size)) == len(lines)


@given(st.text(alphabet="a,\n\r", max_size=60), st.integers(1, 9), SIZES)
def test_cells_that_the_header_has_no_name_for_change_nothing(
    text: str, piece: int, size: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_tokens, "PIECE", piece)
        assert read(text.encode(), SKIPPING, size) == skipped(text)


def rows_and_peak(line: bytes, *, by_line: bool) -> tuple[csv_tokens.Rows, int]:
    """Return the rows of a text, and the most bytes that were taken for reading them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_tokens, "PIECE", 1 << 12)
        tracemalloc.start()
        rows = csv_tokens.rows_of(line, ",", '"', by_line=by_line, last=True, most=3)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return rows, peak


def test_a_row_of_separators_takes_little_more_memory_than_its_bytes() -> None:
    line = b"," * (1 << 20) + b"\n"
    rows, peak = rows_and_peak(line, by_line=True)
    assert rows.many.tolist() == [4]
    assert peak < len(line)


@given(st.text(alphabet='a,"\n\r', max_size=60), st.integers(1, 30), SIZES)
def test_marks_that_no_row_can_use_change_nothing(text: str, piece: int, size: int) -> None:
    plain = replace(SKIPPING, malformed="refuse")
    wanted = [_told(text.encode(), source, size) for source in (SKIPPING, plain)]
    assert wanted[0] == skipped(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_tokens, "PIECE", piece)
        assert [_told(text.encode(), source, size) for source in (SKIPPING, plain)] == wanted


def _told(body: bytes, source: CsvFile, size: int) -> list[Row] | str:
    try:
        return read(body, source, size)
    except Malformed as error:
        return str(error)


@pytest.mark.parametrize("by_line", [False, True])
@pytest.mark.parametrize(
    ("line", "cells"),
    [
        (b'"x"' + b"," * (1 << 20), 4),
        (b'"' + b"," * (1 << 20) + b'"', 1),
        (b'"' + b'""' * (1 << 19) + b'"', 1),
        (b'a,"' + b'"",' * (1 << 19) + b'"', 2),
        (b"a," * (1 << 19) + b'"x"', 4),
    ],
)
def test_a_row_of_marks_with_quotes_takes_little_more_memory_than_its_bytes(
    line: bytes, cells: int, by_line: bool
) -> None:
    line += b"\n"
    rows, peak = rows_and_peak(line, by_line=by_line)
    assert rows.many.tolist() == [cells]
    assert not len(rows.bad)
    assert peak < len(line)


def test_headers_are_read_by_the_same_rules(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes('\N{ZERO WIDTH NO-BREAK SPACE}a,"b ""c"", d",e \r\n'.encode())
    assert read_header(CsvFile(path)) == ("a", 'b "c", d', "e ")
