# SPDX-License-Identifier: Apache-2.0
from datetime import date, datetime, time

import pytest

from sordino import dbapi
from sordino.dbapi.types import type_code
from sordino.query.types import Type

FAMILIES = (dbapi.STRING, dbapi.NUMBER, dbapi.DATETIME, dbapi.BINARY, dbapi.ROWID)


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("kind", Type)
def test_every_type_belongs_to_one_family(kind: Type, listed: bool) -> None:
    code = type_code(kind, listed=listed)
    assert sum(family == code for family in FAMILIES) == 1


def test_families_are_told_apart() -> None:
    for family in FAMILIES:
        assert [family == other for other in FAMILIES].count(True) == 1
    assert dbapi.NUMBER != "VARCHAR"
    assert dbapi.STRING != 5
    assert repr(dbapi.DATETIME) == "DATETIME"


def test_values_are_made_by_the_names_of_the_interface() -> None:
    assert dbapi.Date(2024, 5, 1) == date(2024, 5, 1)
    assert dbapi.Time(12, 30) == time(12, 30)
    assert dbapi.Timestamp(2024, 5, 1, 12) == datetime(2024, 5, 1, 12)
    assert dbapi.Binary(b"ab") == b"ab"


def test_values_are_made_from_seconds_where_this_machine_is() -> None:
    moment = datetime(2024, 5, 1, 12, 30)
    ticks = moment.timestamp()
    assert dbapi.TimestampFromTicks(ticks) == moment
    assert dbapi.DateFromTicks(ticks) == moment.date()
    assert dbapi.TimeFromTicks(ticks) == moment.time()
