# SPDX-License-Identifier: Apache-2.0
from hashlib import sha256
from pathlib import Path

import numpy as np

from sordino.cli.demo_data import DISEASES, PATIENTS, REGIONS, tables, write
from sordino.query.toml import read_catalog

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
