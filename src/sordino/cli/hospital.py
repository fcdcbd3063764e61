# SPDX-License-Identifier: Apache-2.0
"""The invented hospital of the demonstration: its catalog and its tables.

The patients and visits are the same every time, and none of them ever lived. Every value is a
function of the number of its row, so that the recipe is the data set: nothing to download, nothing
to go stale, and no question whether somebody real might be in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.catalog.checks import DEFAULT
from sordino.errors import CatalogError

PATIENTS = 30_000
DISEASES = ("asthma", "diabetes", "flu", "fracture", "migraine", "pneumonia")
WARDS = ("Children", "Emergency", "Maternity", "Medicine", "Surgery")
REGIONS = ("north", "east", "south", "west")
_CITIES = 48
_SHARES = {"flu": 30, "asthma": 20, "fracture": 18, "diabetes": 14, "migraine": 12, "pneumonia": 6}
_COSTS = {
    "asthma": 180, "diabetes": 240, "flu": 90, "fracture": 900, "migraine": 120, "pneumonia": 1900,
}  # fmt: skip

Words = npt.NDArray[np.uint64]

CATALOG = """\
# Who is protected, what is public, how much may be learned. Nothing here was read off the data.

[budget]
epsilon = 3
delta = 1e-6              # only for keys that are not declared, such as the city of a patient

[tables.visits]
parquet = "visits.parquet"
unit = "patient_id"       # one patient with all visits is hidden
limits = { rows = 12 }    # a patient with more visits counts with twelve in all

[tables.visits.columns]
visit_id = "integer"
patient_id = "integer"
day = { type = "date", bounds = [2023-01-01, 2024-12-31] }
ward = { type = "text", keys = ["Children", "Emergency", "Maternity", "Medicine", "Surgery"] }
cost = { type = "real", bounds = [0, 5000] }
urgent = "boolean"

[tables.visits.columns.disease]
type = "text"
keys = ["asthma", "diabetes", "flu", "fracture", "migraine", "pneumonia"]

[tables.patients]
parquet = "patients.parquet"
unit = "patient_id"
limits = { rows = 1 }

[tables.patients.columns]
patient_id = "integer"
sex = { type = "text", keys = ["f", "m", "x"] }
age = { type = "integer", bounds = [0, 110] }
city = "text"             # no list of cities: which are told is decided privately

[tables.cities]
parquet = "cities.parquet"
public = true

[tables.cities.columns]
name = "text"
region = { type = "text", keys = ["north", "east", "south", "west"] }
"""


def write(folder: Path) -> Path:
    """Write three tables and their catalog into a folder, and return the path of the catalog.

    A ledger that an earlier demonstration left is begun anew, which is right for nobody but people
    who are invented. A folder that holds anything else is refused.
    """
    import pyarrow as pa  # heavy, and only the demonstration needs it here
    import pyarrow.parquet as pq

    made = tables()
    path = folder / "sordino.toml"
    files = [path, *(folder / f"{name}.parquet" for name in made)]
    ledger = [folder / f"{DEFAULT}{end}" for end in ("", "-wal", "-shm", ".heads")]
    if not (path.is_file() and path.read_text("utf-8", "replace") == CATALOG):
        _check_free([*files, *ledger])
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(CATALOG, encoding="utf-8")
    for file in ledger:
        file.unlink(missing_ok=True)
    for name, columns in made.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    return path


def _check_free(files: list[Path]) -> None:
    for file in files:
        if file.exists():
            raise CatalogError(
                f"{str(file)!r} is there already, and not as the demonstration writes it; name "
                "another folder"
            )


def tables() -> dict[str, dict[str, npt.NDArray[Any]]]:
    """Return the columns of the three tables."""
    people = np.arange(PATIENTS, dtype=np.uint64)
    city = _skewed(_mix(people, 1), _CITIES)
    ages = np.minimum((_share(_mix(people, 2)) + _share(_mix(people, 3))) * 52, 104)
    visits_of = 1 + np.minimum((-2.8 * np.log1p(-_share(_mix(people, 4)))).astype(np.int64), 40)
    owners = np.repeat(people, visits_of)
    visits = np.arange(owners.size, dtype=np.uint64)
    disease = _weighted(_mix(visits, 5), tuple(_SHARES[name] for name in DISEASES))
    typical = np.array([_COSTS[name] for name in DISEASES], dtype=np.float64)[disease]
    day = (_share(_mix(visits, 6)) * 731).astype(np.int64).astype("timedelta64[D]")
    return {
        "patients": {
            "patient_id": _identifier(people),
            "sex": np.array(["f", "m", "x"])[_weighted(_mix(people, 7), (50, 49, 1))],
            "age": ages.astype(np.int64),
            "city": np.where(people % np.uint64(10_007) == 5, "Little Foxley", _names()[city]),
        },
        "visits": {
            "visit_id": visits.astype(np.int64) + 1,
            "patient_id": _identifier(owners),
            "day": np.datetime64("2023-01-01", "D") + day,
            "disease": np.array(DISEASES)[disease],
            "ward": np.array(WARDS)[_weighted(_mix(visits, 8), (9, 16, 12, 36, 27))],
            "cost": np.round(typical * (0.4 - 0.6 * np.log1p(-_share(_mix(visits, 9)))), 2),
            "urgent": _share(_mix(visits, 10)) < 0.27,
        },
        "cities": {
            "name": _names(),
            "region": np.array(REGIONS)[np.arange(_CITIES) % len(REGIONS)],
        },
    }


def _names() -> npt.NDArray[Any]:
    first = ("Ash", "Birch", "Clay", "Dun", "Elm", "Fern", "Green", "Hart")
    second = ("bridge", "field", "ford", "haven", "mouth", "ton")
    return np.array([one + other for one in first for other in second])


def _identifier(people: Words) -> npt.NDArray[np.int64]:
    """Give each patient a number that does not tell the order they were made in."""
    return (people * np.uint64(7_919) % np.uint64(90_001)).astype(np.int64) + 10_000


def _mix(numbers: Words, column: int) -> Words:
    """Return a hash of each number, another one for each column; for invented data alone."""
    mixed = numbers + np.uint64(column * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def _share(hashes: Words) -> npt.NDArray[np.float64]:
    """Return numbers from 0 to below 1."""
    return (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _weighted(hashes: Words, percents: tuple[int, ...]) -> npt.NDArray[np.intp]:
    """Return places, each as often as its percentage says."""
    ends = np.cumsum(percents)
    places: npt.NDArray[np.intp] = np.searchsorted(ends, _share(hashes) * ends[-1], side="right")
    return places


def _skewed(hashes: Words, size: int) -> npt.NDArray[np.intp]:
    """Return places of which the first are the most frequent by far."""
    return (_share(hashes) ** 2.2 * size).astype(np.intp)
