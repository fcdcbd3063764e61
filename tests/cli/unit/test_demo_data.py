# SPDX-License-Identifier: Apache-2.0
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

import sordino as so
from sordino.catalog.toml import read_catalog
from sordino.cli.hospital import DISEASES, PATIENTS, REGIONS, tables, write
from sordino.errors import CatalogError

DIGEST = "83413cf39f482ed4af4b588c92be5268feac4a49b5581b9b6055d03362195ffb"


def test_the_tables_are_the_same_on_every_machine() -> None:
    state = sha256()
    for name, columns in tables().items():
        for title, column in columns.items():
            state.update(f"{name}.{title}".encode())
            state.update("\n".join(map(str, column.tolist())).encode())
    assert state.hexdigest() == DIGEST


def test_there_are_about_a_hundred_thousand_visits_of_thirty_thousand_patients() -> None:
    made = tables()
    owners, visits = np.unique(made["visits"]["patient_id"], return_counts=True)
    assert owners.size == PATIENTS == np.unique(made["patients"]["patient_id"]).size
    assert 95_000 < visits.sum() < 105_000
    assert 0 < (visits > 12).mean() < 0.03  # a few are cut by the declared limit
    assert set(made["visits"]["disease"]) == set(DISEASES)
    assert set(made["cities"]["region"]) == set(REGIONS)


def test_one_village_is_too_small_to_be_told() -> None:
    assert (tables()["patients"]["city"] == "Little Foxley").sum() == 3


def test_the_catalog_fits_the_files(tmp_path: Path) -> None:
    catalog = read_catalog(write(tmp_path / "new"))
    assert [table.name for table in catalog.tables] == ["visits", "patients", "cities"]
    for table in catalog.tables:
        assert {column.name for column in table.columns} <= set(tables()[table.name])


def test_a_ledger_of_an_earlier_demonstration_is_begun_anew(tmp_path: Path) -> None:
    path = write(tmp_path / "d")
    for _ in range(2):
        with so.open(path) as hospital:
            hospital.ask("SELECT COUNT(*) FROM visits", epsilon=2)
        write(tmp_path / "d")
    assert not (tmp_path / "d" / "sordino.ledger").exists()
    assert not (tmp_path / "d" / "sordino.ledger.heads").exists()


@pytest.mark.parametrize(
    "name", ["sordino.toml", "sordino.ledger", "sordino.ledger.heads", "visits.parquet"]
)
def test_what_is_not_of_the_demonstration_is_never_written_over(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(CatalogError, match="name another folder"):
        write(tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "mine")]


def test_a_changed_catalog_keeps_its_ledger(tmp_path: Path) -> None:
    path = write(tmp_path)
    with so.open(path) as hospital:
        hospital.ask("SELECT COUNT(*) FROM visits", epsilon=2)
    path.write_text(path.read_text("utf-8") + "# mine now\n", "utf-8")
    with pytest.raises(CatalogError, match="not as the demonstration writes it"):
        write(tmp_path)
    assert (tmp_path / "sordino.ledger").exists()
