# SPDX-License-Identifier: Apache-2.0
"""Data that was written again is asked again, and is charged to the same budget."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sordino as so
from sordino.catalog.model import Catalog, Column, CsvFile, ForeignKey, Table
from sordino.engine.compile.declared import declared_text
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import BudgetExceeded, CatalogError
from sordino.query.types import Type
from sordino.session import Session
from tests.session.unit.clinic import (
    COLUMNS,
    DEAR,
    PEOPLE,
    SQL,
    VISITS,
    charges,
    clinic,
    rows,
    spent,
    write_catalog,
    write_rows,
    written_later,
)

CSV = f'[tables.visits]\ncsv = "visits.csv"\nunit = "person"\n{COLUMNS}'
PARTS = VISITS.replace("visits.parquet", "parts/*.parquet")
DUCKDB = f'[tables.visits]\nduckdb = "clinic.duckdb"\ntable = "visits"\nunit = "person"\n{COLUMNS}'
HOMES = '[tables.homes]\nparquet = "homes.parquet"\npublic = true\n'


def counted(data: Session) -> object:
    """Ask at such a price that the answer is the number of people."""
    return data.ask(SQL, epsilon=DEAR).cell(0, "n").value


def asked_again(data: Session) -> bool:
    return data.ask(SQL, epsilon=DEAR).again


def write_csv(path: Path, people: int) -> None:
    lines = [f"{person},1.5" for person in range(people)]
    path.write_text("\n".join(["person,cost", *lines, ""]), "utf-8")
    written_later(path)


def write_duckdb(path: Path, **tables: int) -> None:
    """Write a new file of tables with so many people, as another process would."""
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        for name, people in tables.items():
            held = rows(people)
            connection.register("held", held)
            connection.execute(f"CREATE TABLE {name} AS FROM held")
    written_later(path)


def replace_duckdb(path: Path, **tables: int) -> None:
    """Put another file in the place of one."""
    new = path.with_name("new.duckdb")
    write_duckdb(new, **tables)
    new.replace(path)


@contextmanager
def of_duckdb(folder: Path) -> Iterator[tuple[so.Session, Path]]:
    """Open a session on a DuckDB file, and ask it once."""
    path, file = write_catalog(folder, DUCKDB), folder / "clinic.duckdb"
    write_duckdb(file, visits=100)
    with so.open(path) as data:
        assert counted(data) == 100
        yield data, file


def test_a_file_written_again_while_a_session_is_open_is_asked_again(tmp_path: Path) -> None:
    with so.open(clinic(tmp_path)) as data:
        assert counted(data) == PEOPLE
        write_rows(tmp_path / "visits.parquet", 150)
        assert counted(data) == 150
        assert (charges(data), spent(data)) == (2, 2 * DEAR)


def test_a_file_written_again_between_two_sessions_is_asked_again(tmp_path: Path) -> None:
    path = clinic(tmp_path)
    with so.open(path) as data:
        assert counted(data) == PEOPLE
    write_rows(tmp_path / "visits.parquet", 150)
    with so.open(path) as data:
        assert counted(data) == 150
        assert (charges(data), spent(data)) == (2, 2 * DEAR)


def test_a_file_that_was_touched_is_asked_again(tmp_path: Path) -> None:
    with so.open(clinic(tmp_path)) as data:
        counted(data)
        written_later(tmp_path / "visits.parquet")
        assert not asked_again(data)
        assert charges(data) == 2


def test_a_version_tells_nothing_of_what_is_in_a_file(tmp_path: Path) -> None:
    path, file = clinic(tmp_path), tmp_path / "visits.parquet"
    moment = file.stat().st_mtime_ns
    with so.open(path, ledger="memory") as data:
        before = data._engine.version(["visits"])
        pq.write_table(rows(PEOPLE + 1), file)
        os.utime(file, ns=(moment, moment))
        assert data._engine.version(["visits"]) == before
        written_later(file)
        assert data._engine.version(["visits"]) != before


def test_changed_data_never_refills_the_budget(tmp_path: Path) -> None:
    path = clinic(tmp_path, budget="epsilon = 1")
    for person in range(4):
        with so.open(path) as data:
            data.ask(SQL, epsilon=0.25)
        write_rows(tmp_path / "visits.parquet", 100 + person)
    with so.open(path) as data:
        with pytest.raises(BudgetExceeded, match="epsilon 0 is left"):
            data.ask(SQL, epsilon=0.25)
        assert str(data.budget[0]) == "people: epsilon 0 of epsilon 1 left"


def test_a_csv_file_stays_as_it_was_read_until_it_is_opened_again(tmp_path: Path) -> None:
    path = write_catalog(tmp_path, CSV)
    write_csv(tmp_path / "visits.csv", 100)
    with so.open(path) as data:
        assert counted(data) == 100
        write_csv(tmp_path / "visits.csv", 150)
        assert asked_again(data)
        assert data.ask(SQL, epsilon=DEAR, fresh=True).cell(0, "n").value == 100
    with so.open(path) as data:
        assert counted(data) == 150
        assert charges(data) == 3


def test_a_duckdb_file_in_place_of_another_is_asked_again(tmp_path: Path) -> None:
    with of_duckdb(tmp_path) as (data, file):
        replace_duckdb(file, visits=150)
        assert counted(data) == 150
        assert asked_again(data)
        assert charges(data) == 2


def test_a_duckdb_file_without_its_columns_is_refused_before_the_charge(tmp_path: Path) -> None:
    with of_duckdb(tmp_path) as (data, file):
        replace_duckdb(file, others=150)
        with pytest.raises(CatalogError):
            data.ask(SQL, epsilon=1)
        assert charges(data) == 1


def test_another_table_of_the_same_duckdb_file_is_asked_again(tmp_path: Path) -> None:
    write_duckdb(tmp_path / "clinic.duckdb", visits=100, newer=150)
    with so.open(write_catalog(tmp_path, DUCKDB)) as data:
        assert counted(data) == 100
    newer = DUCKDB.replace('table = "visits"', 'table = "newer"')
    with so.open(write_catalog(tmp_path, newer)) as data:
        assert counted(data) == 150


def test_another_separator_is_asked_again(tmp_path: Path) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("person,cost;person;cost\n1,2;3;4\n", "utf-8")
    versions = set()
    for separator in (",", ";"):
        stated = CSV.replace("unit", f'separator = "{separator}"\nunit')
        columns = '[tables.visits.columns]\nperson = "integer"\n'
        with so.open(
            write_catalog(tmp_path, stated.replace(COLUMNS, columns)), ledger="memory"
        ) as data:
            versions.add(data._engine.version(["visits"]))
    assert len(versions) == 2


def test_rows_that_belong_to_somebody_else_now_are_asked_again(tmp_path: Path) -> None:
    held = pa.table({"a": [1, 1, 2], "b": [1, 2, 3], "cost": [0.5] * 3})
    pq.write_table(held, tmp_path / "visits.parquet")
    for many, unit in enumerate("ab", start=1):
        declared = VISITS.replace('unit = "person"', f'unit = "{unit}"').replace("person", unit)
        with so.open(write_catalog(tmp_path, declared)) as data:
            assert not asked_again(data)
            assert charges(data) == many


def test_rows_that_hang_on_other_rows_now_are_asked_again(tmp_path: Path) -> None:
    write_rows(tmp_path / "visits.parquet")
    pq.write_table(
        pa.table({"v": [1, 2], "w": [1, 1], "x": [1.0, 2.0]}), tmp_path / "drugs.parquet"
    )
    for many, via in enumerate("vw", start=1):
        drugs = (
            f'[tables.drugs]\nparquet = "drugs.parquet"\nparent = "visits.person"\nvia = "{via}"\n'
            f'[tables.drugs.columns]\n{via} = "integer"\nx = {{ type = "real", bounds = [0, 9] }}\n'
        )
        with so.open(write_catalog(tmp_path, VISITS, drugs)) as data:
            assert not data.ask("SELECT SUM(x) FROM drugs", epsilon=1).again
            assert charges(data) == many


def test_a_part_of_several_files_that_is_written_again_is_asked_again(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    for name in "abc":
        write_rows(parts / f"{name}.parquet", 50)
    path = write_catalog(tmp_path, PARTS)
    with so.open(path) as data:
        counted(data)
        write_rows(parts / "notes.txt", 1)
        assert asked_again(data)
        write_rows(parts / "b.parquet", 20)
        assert not asked_again(data)
    write_rows(parts / "d.parquet", 1)
    with so.open(path) as data:
        assert not asked_again(data)
    (parts / "a.parquet").unlink()
    with so.open(path) as data:
        assert not asked_again(data)
        assert charges(data) == 4


def test_rows_put_in_place_of_others_in_memory_are_asked_again() -> None:
    with so.table(rows(), unit="person", name="visits", epsilon=10**4) as data:
        assert counted(data) == PEOPLE
        engine = data._engine
        assert isinstance(engine, DuckdbEngine)
        engine.swap("visits", rows(150))
        assert counted(data) == 150
        assert spent(data) == 2 * DEAR


def test_a_table_in_memory_is_asked_again_in_another_session(tmp_path: Path) -> None:
    ledger = tmp_path / "kept.ledger"
    for many in (1, 2):
        with so.table(rows(), unit="person", name="visits", epsilon=10**4, ledger=ledger) as data:
            assert not asked_again(data)
            assert charges(data) == many


def test_a_folder_that_was_moved_has_the_same_data_and_the_same_ledger(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "elsewhere" / "after"
    before.mkdir()
    after.parent.mkdir()
    with so.open(clinic(before)) as data:
        receipt = data.ask(SQL, epsilon=DEAR).receipt
    before.rename(after)
    with so.open(after / "sordino.toml", receipt=receipt) as data:
        again = data.ask(SQL, epsilon=DEAR)
        assert (again.again, again.receipt) == (True, receipt)
        assert spent(data) == DEAR


def test_the_folder_one_stands_in_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with so.open(clinic(tmp_path)) as data:
        counted(data)
    monkeypatch.chdir(tmp_path)
    with so.open("sordino.toml") as data:
        assert asked_again(data)
    monkeypatch.chdir("/")
    with so.open(tmp_path / "sordino.toml") as data:
        assert asked_again(data)


def test_a_copy_of_the_data_is_other_data_on_the_same_budget(tmp_path: Path) -> None:
    path = clinic(tmp_path)
    with so.open(path) as data:
        counted(data)
    shutil.copy2(tmp_path / "visits.parquet", tmp_path / "copy.parquet")
    write_catalog(tmp_path, VISITS.replace("visits.parquet", "copy.parquet"))
    with so.open(path) as data:
        assert not asked_again(data)
        assert spent(data) == 2 * DEAR


def test_public_rows_that_were_written_again_are_asked_again(tmp_path: Path) -> None:
    write_rows(tmp_path / "visits.parquet")
    pq.write_table(pa.table({"home": ["a"]}), tmp_path / "homes.parquet")
    with so.open(write_catalog(tmp_path, VISITS, HOMES)) as data:
        counted(data)
        assert asked_again(data)
        written_later(tmp_path / "homes.parquet")
        assert not asked_again(data)


def test_rows_above_that_were_written_again_are_asked_again(tmp_path: Path) -> None:
    write_rows(tmp_path / "visits.parquet")
    pq.write_table(pa.table({"visit": [1, 2], "x": [0.5, 1.5]}), tmp_path / "drugs.parquet")
    drugs = (
        '[tables.drugs]\nparquet = "drugs.parquet"\nparent = "visits.person"\nvia = "visit"\n'
        '[tables.drugs.columns]\nvisit = "integer"\nx = { type = "real", bounds = [0, 9] }\n'
    )
    sql = "SELECT COUNT(*) AS n FROM drugs"
    with so.open(write_catalog(tmp_path, VISITS, drugs)) as data:
        data.ask(sql, epsilon=1)
        counted(data)
        written_later(tmp_path / "drugs.parquet")
        assert asked_again(data)  # what lies below a table does not matter to it
        assert not data.ask(sql, epsilon=1).again
        written_later(tmp_path / "visits.parquet")
        assert not data.ask(sql, epsilon=1).again


def test_a_table_registered_ten_times_has_the_budget_of_its_people(tmp_path: Path) -> None:
    write_rows(tmp_path / "visits.parquet")
    shutil.copy2(tmp_path / "visits.parquet", tmp_path / "copy.parquet")
    names = [f"visits{place}" for place in range(10)]
    tables = [
        VISITS.replace("tables.visits", f"tables.{name}").replace(
            '"visits.parquet"', '"copy.parquet"' if place % 2 else '"visits.parquet"'
        )
        for place, name in enumerate(names)
    ]
    with so.open(write_catalog(tmp_path, *tables, budget="epsilon = 1")) as data:
        for name in names:
            data.ask(f"SELECT COUNT(*) AS n FROM {name}", epsilon=0.1)  # noqa: S608 - a question
        (left,) = data.budget
        assert left.left.nanos == 0
        for name in names:
            with pytest.raises(BudgetExceeded):
                data.ask(f"SELECT SUM(cost) FROM {name}", epsilon=0.1)  # noqa: S608 - a question


def test_a_table_that_was_renamed_has_the_budget_it_had(tmp_path: Path) -> None:
    path = clinic(tmp_path, budget="epsilon = 1")
    with so.open(path) as data:
        data.ask(SQL, epsilon=0.75)
    write_catalog(tmp_path, VISITS.replace("visits", "stays").replace("stays.p", "visits.p"),
                  budget="epsilon = 1")  # fmt: skip
    with so.open(path) as data:
        assert str(data.budget[0]) == "people: epsilon 0.25 of epsilon 1 left"
        with pytest.raises(BudgetExceeded):
            data.ask("SELECT COUNT(*) AS n FROM stays", epsilon=0.75)


def test_a_csv_table_without_options_has_the_version_that_it_had_before_there_were_any(
    tmp_path: Path,
) -> None:
    file, moment = tmp_path / "visits.csv", 1_700_000_000_000_000_000
    write_csv(file, 100)
    os.utime(file, ns=(moment, moment))
    columns = [("person", "integer"), ("cost", "real")]
    told = f"{('visits', 'person', None, False, ',', columns)!r}\nvisits.csv {moment}"
    with so.open(write_catalog(tmp_path, CSV), ledger="memory") as data:
        assert data._engine.version(["visits"]) == sha256(told.encode()).hexdigest()
    stated = CSV.replace('unit = "person"', 'unit = "person"\nnulls = ["", "NA"]')
    with so.open(write_catalog(tmp_path, stated), ledger="memory") as data:
        assert data._engine.version(["visits"]) != sha256(told.encode()).hexdigest()


def test_a_version_has_the_words_that_it_had_when_answers_were_first_paid_for(
    tmp_path: Path,
) -> None:
    """The classes that these words were once taken from may be called something else by now."""
    file = tmp_path / "visits.csv"
    source = CsvFile(file, nulls=("", "NA"))
    columns = (Column("person", Type.INTEGER), Column("cost", Type.REAL))
    parent = ForeignKey("person", "people", "id")
    declared = Table("visits", source, columns, parent=parent)
    read = (
        "CsvFile(path=PosixPath('.'), separator=',', encoding='utf-8', quote='\"', decimal='.', "
        "date_format=None, timestamp_format=None, nulls=('', 'NA'), malformed='refuse')"
    )
    assert declared_text(Catalog((declared,)), "visits") == (
        "('visits', None, ForeignKey(column='person', parent='people', parent_column='id'), False, "
        f"{read!r}, [('person', 'integer'), ('cost', 'real')])"
    )
