# SPDX-License-Identifier: Apache-2.0
"""An invented hospital: the same 2,000 persons every time, none of whom ever lived.

The persons are made from digests of their number, so that the recipe is the data set: nothing to
download, nothing to go stale, and no question whether somebody real might be in it.
"""

from hashlib import sha256
from typing import NamedTuple

PERSONS = 2_000

# Share of all persons in percent, youngest and oldest age, persons with the flu in percent.
_WARDS = {
    "Medicine": (36, 30, 95, 24),
    "Surgery": (27, 18, 90, 9),
    "Emergency": (16, 16, 90, 19),
    "Maternity": (12, 18, 44, 6),
    "Children": (9, 0, 15, 31),
}
WARDS = tuple(_WARDS)


class Person(NamedTuple):
    """One row: a person, the ward, and the length of the stay in days."""

    ward: str
    age: int
    flu: bool
    days: int


def people() -> tuple[Person, ...]:
    """Return the synthetic persons, in the same order every time."""
    return tuple(_person(number) for number in range(PERSONS))


def _person(number: int) -> Person:
    digest = sha256(f"sordino demo, person {number}".encode()).digest()
    for_ward, for_age, for_flu, for_days = (
        int.from_bytes(digest[start : start + 2]) for start in (0, 2, 4, 6)
    )
    ward = _pick_ward(for_ward * 100 >> 16)
    _, youngest, oldest, flu_percent = _WARDS[ward]
    return Person(
        ward=ward,
        age=youngest + ((oldest - youngest + 1) * for_age >> 16),
        flu=for_flu * 100 >> 16 < flu_percent,
        days=40 * for_days**4 >> 64,  # many short stays, a few long ones
    )


def _pick_ward(percent: int) -> str:
    reached = 0
    for ward, (share, *_) in _WARDS.items():
        reached += share
        if percent < reached:
            return ward
    raise ValueError(f"the shares of the wards must add up to 100, got {reached}")
