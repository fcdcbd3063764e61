# SPDX-License-Identifier: Apache-2.0
from datetime import date, datetime
from fractions import Fraction

import pytest

from sordino.query.tree import Bins, Call, Field, Key, Literal, Scalar
from sordino.query.types import Range, Type, Value
from sordino.release.post import rows_left_out

CITY = Field("f0", Type.TEXT, "city", domain=("Rome", "Oslo"))
AGE = Field("f1", Type.INTEGER, "age", Range(Fraction(0), Fraction(3570)))
DAY = Field("f2", Type.DATE, "day")
SICK = Field("f3", Type.BOOLEAN, "sick")
OLD = Call("gt", (AGE, Literal(60, Type.INTEGER)), Type.BOOLEAN)


def text(value: Value) -> Literal:
    return Literal(value, Type.TEXT)


@pytest.mark.parametrize(
    ("scalar", "domain", "why"),
    [
        (CITY, ("Rome", "Oslo"), ["rows whose k is not declared"]),
        (AGE, (0, 1), ["rows whose k is not declared"]),
        (Call("lower", (CITY,), Type.TEXT), ("rome",), ["rows whose k is not declared"]),
        (SICK, (False, True), []),
        (OLD, (False, True), []),
        (Call("case", (OLD, text("old"), text("young")), Type.TEXT), ("old", "young"), []),
        (
            Call("case", (OLD, text("old"), text(None)), Type.TEXT),
            ("old",),
            ["rows whose k is not declared"],
        ),
        (
            Call("case", (OLD, text("old"), CITY), Type.TEXT),
            ("old", "Rome"),
            ["rows whose k is not declared"],
        ),
        (Call("month", (DAY,), Type.INTEGER), tuple(range(1, 13)), []),
        (
            Call("trunc_month", (DAY,), Type.TIMESTAMP),
            (datetime(2024, 1, 1),),
            ["rows whose k is outside its declared bounds"],
        ),
        (DAY, (date(2024, 1, 1),), ["rows whose k is not declared"]),
    ],
)
def test_only_keys_whose_list_may_not_hold_all_rows_leave_some_out(
    scalar: Scalar, domain: tuple[Value, ...], why: list[str]
) -> None:
    assert rows_left_out([Key(scalar, "k", domain)]) == why


def test_discovered_keys_and_keys_with_a_group_for_others_leave_nothing_out() -> None:
    assert rows_left_out([Key(CITY, "k", None), Key(CITY, "k", ("Rome",), "others")]) == []


def test_keys_that_leave_rows_out_for_one_reason_are_named_together() -> None:
    keys = [Key(CITY, "city", ("Rome",)), Key(AGE, "age", (1, 2))]
    assert rows_left_out(keys) == ["rows whose city or age is not declared"]


def test_a_histogram_leaves_out_what_lies_outside_its_range() -> None:
    bins = Key(AGE, "k", (0, 1), bins=Bins(Range(Fraction(0), Fraction(3570)), 2))
    assert rows_left_out([bins]) == ["rows with age outside 0 to 3,570"]
