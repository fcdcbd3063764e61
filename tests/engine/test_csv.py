# SPDX-License-Identifier: Apache-2.0
"""CSV files in a session: no row vanishes without a word, and what cannot be read costs nothing."""

from __future__ import annotations

import bz2
import gzip
import logging
import os
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sordino as so
from sordino.catalog.csv.files import TEXT, iso_times, read_blocks, read_header
from sordino.catalog.model import Catalog, Column, CsvFile, ForeignKey, Table
from sordino.catalog.toml import read_catalog
from sordino.engine.duckdb import connection
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import CatalogError
from sordino.query.types import Type
from tests.engine.test_sources import values_of

MANY = 660


def lines_of(*odd: str, name: str = "José") -> list[str]:
    """Return the lines of a file of many rows; the odd ones come in the middle."""
    lines = [f"{place},{name},{place % 7}" for place in range(MANY)]
    lines[100:100] = odd
    return ["id,name,stay", *lines]


def written(path: Path, lines: list[str], encoding: str = "utf-8") -> CsvFile:
    path.write_bytes("\n".join(lines).encode(encoding))
    return CsvFile(path)


CATALOG = """
[budget]
epsilon = 1000

[tables.visits]
csv = "visits.csv"
{options}
unit = "id"
[tables.visits.columns]
id = "integer"
name = "text"
stay = {{ type = "integer", bounds = [0, 10] }}
"""


def opened(
    folder: Path, lines: list[str], options: str = "", encoding: str = "utf-8"
) -> so.Session:
    """Open a catalog that declares a file."""
    written(folder / "visits.csv", lines, encoding)
    (folder / "sordino.toml").write_text(CATALOG.format(options=options), "utf-8")
    return so.open(folder / "sordino.toml")


def rows_in(session: so.Session, where: str = "") -> int:
    answer = session.ask(f"SELECT COUNT(*) AS n FROM visits {where}", epsilon=400)  # noqa: S608
    return int(answer.cell(0, "n"))


def test_rows_that_are_not_utf_8_stay_and_only_their_text_is_missing(tmp_path: Path) -> None:
    with opened(tmp_path, lines_of(), encoding="latin-1") as session:
        assert rows_in(session) == MANY
        assert rows_in(session, "WHERE name IS NOT NULL") == 0


def test_text_is_read_in_the_encoding_that_is_declared(tmp_path: Path) -> None:
    options = 'encoding = "latin-1"'
    with opened(tmp_path, lines_of(), options, encoding="latin-1") as session:
        assert rows_in(session, "WHERE name = 'José'") == MANY


STRAY = '999,Karl "the tall,3'


def test_a_stray_quote_is_refused_before_the_charge(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        opened(tmp_path, lines_of(STRAY, name="Secret")) as session,
        caplog.at_level(logging.ERROR, "sordino.owner"),
    ):
        session.explain("SELECT COUNT(*) FROM visits", epsilon=1)  # reads no row
        for _ in range(2):
            with pytest.raises(CatalogError, match="not well-formed") as refused:
                session.ask("SELECT COUNT(*) FROM visits", epsilon=1)
        assert "102" not in str(refused.value)
        assert str(session.budget[0]).startswith("people: epsilon 1000 of epsilon 1000 left")
    assert "line 102: a quote stands in the middle of a value" in caplog.text
    assert "Secret" not in caplog.text
    assert "Karl" not in caplog.text


@pytest.mark.parametrize("odd", [STRAY, '999,"Karl,3', '999,"Karl" the tall,3', '"'])
def test_a_stray_quote_moves_nobody_elses_rows_if_lines_stand_for_themselves(
    tmp_path: Path, odd: str
) -> None:
    with opened(tmp_path, lines_of(odd), 'malformed = "skip"') as session:
        assert rows_in(session) == MANY


def test_only_the_tables_of_a_question_must_be_well_formed(tmp_path: Path) -> None:
    bad = "[tables.bad]\ncsv = 'bad.csv'\nunit = 'row'\ncolumns = { a = 'text' }\n"
    (tmp_path / "bad.csv").write_text('a\nx"', "utf-8")
    written(tmp_path / "visits.csv", lines_of())
    (tmp_path / "sordino.toml").write_text(CATALOG.format(options="") + bad, "utf-8")
    with so.open(tmp_path / "sordino.toml") as session:
        assert rows_in(session) == MANY
        with pytest.raises(CatalogError, match="table 'bad': its file is not well-formed"):
            session.ask("SELECT COUNT(*) FROM bad", epsilon=1)


def test_a_line_may_be_longer_than_any_block(tmp_path: Path) -> None:
    long = f"999,{'x' * 9_000_000},5"
    with opened(tmp_path, lines_of(long)) as session:
        assert rows_in(session) == MANY + 1
        assert rows_in(session, "WHERE stay = 5 AND name <> 'José'") == 1


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("t.csv.gz", gzip.compress),
        ("t.csv.bz2", bz2.compress),
        ("t.CSV.zst", lambda data: pa.compress(data, "zstd", asbytes=True)),
    ],
)
def test_packed_files_are_read(tmp_path: Path, name: str, pack: Any) -> None:
    data = "\n".join(lines_of()).encode()
    path = tmp_path / name
    path.write_bytes(pack(data))
    assert values_of(CsvFile(path), "name", Type.TEXT) == {"José": MANY}
    path.write_bytes(pack(data)[:-12])
    column = Column("name", Type.TEXT)
    with pytest.raises(CatalogError, match="cannot be read: it is damaged"):
        DuckdbEngine(Catalog((Table("t", CsvFile(path), (column,), unit="row"),))).read(["t"])


def test_a_pattern_is_all_its_files_and_each_has_its_own_order_of_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("v,w\n1,2\n", "utf-8")
    (tmp_path / "b.csv").write_text("w,v\n2,1\n2,3", "utf-8")
    assert values_of(CsvFile(tmp_path / "*.csv"), "v", Type.INTEGER) == {1: 2, 3: 1}
    (tmp_path / "c.csv").write_text("w\n", "utf-8")
    with pytest.raises(CatalogError, match=r"c\.csv' has no column 'v'"):
        values_of(CsvFile(tmp_path / "*.csv"), "v", Type.INTEGER)


def test_days_and_moments_are_read_as_they_are_written(tmp_path: Path) -> None:
    source = written(
        tmp_path / "t.csv", ["d", "24.12.2024", "1.2.2024", "30.02.2024", "2024-01-01"]
    )
    source = replace(source, date_format="%d.%m.%Y")
    assert values_of(source, "d", Type.DATE) == {
        date(2024, 12, 24): 1,
        date(2024, 2, 1): 1,
        None: 2,
    }
    source = written(tmp_path / "t.csv", ["d", "12/24/24 12:05:09 AM", "1/2/99 1:00:00 pm", "x"])
    source = replace(source, timestamp_format="%m/%d/%y %I:%M:%S %p")
    assert values_of(source, "d", Type.TIMESTAMP) == {
        datetime(2024, 12, 24, 0, 5, 9): 1,
        datetime(1999, 1, 2, 13): 1,
        None: 1,
    }


FORMATS = (
    *("%d.%m.%Y %H:%M", "%m/%d/%y %I:%M:%S %p", "%Y%m%d%H%M%S", "%d-%b-%Y %H.%M.%S,%f"),
    *("%%%Y %m %d, %H h", "%d%b%y%H%M%S%f", "(%d|%m|%Y) %H"),
)


@given(
    st.datetimes(datetime(1969, 1, 1), datetime(2068, 12, 31)),
    st.sampled_from(FORMATS),
    st.sampled_from(["", "0", " ", "x", ".", "1"]),
)
def test_a_format_reads_what_pythons_own_reads(moment: datetime, form: str, more: str) -> None:
    text = moment.strftime(form)
    (found,) = iso_times(pa.array([text], TEXT), form).to_pylist()
    assert datetime.fromisoformat(found) == datetime.strptime(text, form)
    (odd,) = iso_times(pa.array([text + more], TEXT), form).to_pylist()
    try:
        wanted = datetime.strptime((text + more).strip(" "), form)
    except ValueError:
        assert odd is None
    else:
        assert odd is None or datetime.fromisoformat(odd) == wanted


def test_fractions_may_have_a_comma_and_then_have_no_point(tmp_path: Path) -> None:
    lines = ["x;n", "1,5;1", "-2;2", "1.000,5;3", "1.5;1,0", "1,2,3;x"]
    source = replace(written(tmp_path / "t.csv", lines), separator=";", decimal=",")
    engine = DuckdbEngine(Catalog((Table("t", source, (Column("x", Type.REAL),), public=True),)))
    assert engine.public_values("t", "x") == (-2.0, 1.5)
    engine.close()
    assert values_of(source, "n", Type.INTEGER) == {1: 1, 2: 1, 3: 1, None: 2}
    assert values_of(source, "x", Type.TEXT)["1,5"] == 1


def test_texts_that_mean_nothing_are_missing_quoted_or_not(tmp_path: Path) -> None:
    lines = ["x,y", '"",1', ",1", '"NA",1', "NA,1", "na,1", '" ",1']
    source = written(tmp_path / "t.csv", lines)
    assert values_of(source, "x", Type.TEXT) == {None: 2, "NA": 2, "na": 1, " ": 1}
    other = replace(source, nulls=("NA",))
    assert values_of(other, "x", Type.TEXT) == {"": 2, None: 2, "na": 1, " ": 1}


def test_no_character_quotes_if_none_is_declared(tmp_path: Path) -> None:
    source = written(tmp_path / "t.csv", ["x,y", 'a"b,1', '"c,2', '"d",3'])
    found = values_of(replace(source, quote=""), "x", Type.TEXT)
    assert found == {'a"b': 1, '"c': 1, '"d"': 1}
    assert values_of(
        replace(written(tmp_path / "u.csv", ["x", "'a,b'"]), quote="'"), "x", Type.TEXT
    ) == {"a,b": 1}


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (b"a,A\n", "column 2 has the name of column 1 once more"),
        (b"a,b,a\n", "column 3 has the name of column 1 once more"),
        (b"a,\n", "column 2 has an empty name"),
        (b",a\n", "column 1 has an empty name"),
        (b"a,12\n", "column 2 has a number, so that it seems to be a row; add a first line"),
        (b"sep=;\na;b\n", 'that Excel reads and no header; delete it, and state separator = ";"'),
        (b'"a\nb",c\n', "not well-formed: a quoted value does not end"),
        (b"a,b\r1,2\r", "end with a carriage return alone"),
        (b"a,b\r" + b"1,2\r" * 300_000, "end with a carriage return alone"),
        (b"a\1b\n", "a character that cannot be printed"),
        (b'a"b,c\n', "not well-formed: a quote stands in the middle"),
        (b"gr\xf6\xdfe\n", "not text in utf-8; say what it is"),
        (b"\xff\xfea\0\n\0", 'is text in UTF-16; state encoding = "utf-16"'),
        (b"\n1,2\n", "a header of column names"),
        (b"", "a header of column names"),
        (b"x" * 1_000_001, "longer than 1,000,000 bytes"),
    ],
)
def test_a_header_that_names_no_columns_is_refused_without_what_it_holds(
    tmp_path: Path, header: bytes, said: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(header)
    with pytest.raises(CatalogError, match=said):
        read_header(CsvFile(path))


def test_headers_may_be_in_any_encoding_and_have_a_mark_before_them(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for encoding, declared in (
        ("cp1252", "cp1252"),
        ("utf-8-sig", "utf-8"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"),
    ):
        mark = "\N{ZERO WIDTH NO-BREAK SPACE}" if encoding == "utf-16-le" else ""
        path.write_bytes((mark + "größe,b\r\n5,x\r\n").encode(encoding))
        source = CsvFile(path, encoding=declared)
        assert read_header(source) == ("größe", "b")
        assert values_of(source, "größe", Type.INTEGER) == {5: 1}


def test_a_name_with_a_blank_at_its_end_is_used_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,age \n" + "1,30\n2,40\n", "utf-8")
    text = (
        "[budget]\nepsilon = 1000\n[tables.t]\ncsv = 't.csv'\nunit = 'id'\n"
        "[tables.t.columns]\nid = 'integer'\n'age ' = { type = 'integer', bounds = [0, 100] }\n"
    )
    (tmp_path / "sordino.toml").write_text(text, "utf-8")
    with so.open(tmp_path / "sordino.toml") as session:
        answer: Any = session.ask('SELECT SUM("age ") AS s FROM t', epsilon=900).cell(0, "s")
        assert abs(answer.value - 70) < 25


def test_a_file_that_was_written_since_the_opening_is_refused_before_the_charge(
    tmp_path: Path,
) -> None:
    with opened(tmp_path, lines_of()) as session:
        os.utime(tmp_path / "visits.csv", ns=(1, 1))
        with pytest.raises(CatalogError, match="open it again"):
            session.ask("SELECT COUNT(*) FROM visits", epsilon=1)
        assert "epsilon 1000 of epsilon 1000 left" in str(session.budget[0])


def test_another_way_to_read_a_file_is_another_version_of_its_rows(tmp_path: Path) -> None:
    plain = written(tmp_path / "t.csv", ["a", "1"])
    others: list[dict[str, Any]] = [
        {},
        {"separator": ";"},
        {"encoding": "cp1252"},
        {"quote": ""},
        {"decimal": ","},
        {"date_format": "%d.%m.%Y"},
        {"timestamp_format": "%d.%m.%Y %H"},
        {"nulls": ("NA",)},
        {"malformed": "skip"},
    ]
    versions = set()
    for options in others:
        table = Table("t", replace(plain, **options), (Column("a", Type.TEXT),), unit="row")
        engine = DuckdbEngine(Catalog((table,)))
        versions.add(engine.version(["t"]))
        engine.close()
    assert len(versions) == len(others)


def test_ids_that_are_days_in_a_format_are_refused(tmp_path: Path) -> None:
    source = replace(written(tmp_path / "t.csv", ["d,u", "1.2.2024,1"]), date_format="%d.%m.%Y")
    day = Column("d", Type.DATE)
    parent = Table("p", source, (day, Column("u", Type.INTEGER)), unit="u")
    child = Table("c", source, (day,), parent=ForeignKey("d", "p", "d"))
    for one in (replace(parent, source=CsvFile(source.path)), parent):
        other = child if one is not parent else replace(child, source=CsvFile(source.path))
        with pytest.raises(CatalogError, match="holds ids"):
            DuckdbEngine(Catalog((one, other)))


def test_what_is_missing_is_told_from_what_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\nx,1\n\xff,2\n,3\n\n5\n"u\nv",w\n')
    (block,) = (
        block
        for block in read_blocks(CsvFile(path), [Column("b", Type.TEXT), Column("a", Type.TEXT)])
        if len(block.lines)
    )
    b, a = block.texts
    assert block.lines.tolist() == [2, 3, 4, 6, 7]
    assert a.column.to_pylist() == ["x", None, None, "5", "u\nv"]
    assert a.present.tolist() == [True, True, False, True, True]
    assert a.unreadable.tolist() == [False, True, False, False, False]
    assert b.present.tolist() == [True, True, True, False, True]


@pytest.mark.parametrize("other", ["csv", "parquet"])
def test_who_reads_something_else_does_not_wait_until_a_csv_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """Prices that need the values of a public table would tell how long the private one is."""
    (tmp_path / "visits.csv").write_text("\n".join(lines_of()))
    cities = pa.table({"name": ["Bonn", "Ulm"]})
    if other == "csv":
        (tmp_path / "cities.csv").write_text("name\nBonn\nUlm\n")
    else:
        pq.write_table(cities, tmp_path / "cities.parquet")
    public = f'[tables.cities]\n{other} = "cities.{other}"\npublic = true\n'
    columns = '[tables.cities.columns]\nname = "text"\n'
    (tmp_path / "sordino.toml").write_text(CATALOG.format(options="") + public + columns)
    begun, let_go, inner = Event(), Event(), connection.read_typed

    def slow(held: Any, file: CsvFile, *rest: Any) -> Any:
        if file.path.name == "visits.csv":
            begun.set()
            assert let_go.wait(60)
        return inner(held, file, *rest)

    monkeypatch.setattr(connection, "read_typed", slow)
    engine = DuckdbEngine(read_catalog(tmp_path / "sordino.toml"))
    values: list[Any] = []
    reading = Thread(target=engine.read, args=(["visits"],))
    asking = Thread(target=lambda: values.append(engine.public_values("cities", "name")))
    reading.start()
    try:
        assert begun.wait(60)
        asking.start()
        asking.join(60)
        assert values == [("Bonn", "Ulm")]
        assert reading.is_alive()
    finally:
        let_go.set()
        reading.join(60)
    assert engine.database.is_loaded("t0")
    engine.close()


@pytest.mark.parametrize("is_again", [False, True])
def test_rows_are_not_there_twice_after_an_interrupt_when_they_were_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_again: bool
) -> None:
    """Then each of them would count twice, also where one row is all that is protected."""
    put = connection.Database._put

    def interrupted(*arguments: Any) -> None:
        put(*arguments)
        raise KeyboardInterrupt

    with opened(tmp_path, lines_of()) as session:
        with monkeypatch.context() as patched:
            patched.setattr(connection.Database, "_put", interrupted)
            with pytest.raises(KeyboardInterrupt):
                rows_in(session)
        if is_again:
            assert isinstance(session._engine, DuckdbEngine)
            session._engine.database.is_broken = True  # so that another one takes its place
        assert rows_in(session) == MANY
