# SPDX-License-Identifier: Apache-2.0
import math
from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.query.operations import OPERATIONS, Doubtful, apply, call, evaluate
from sordino.query.tree import Field, Literal
from sordino.query.types import Type, Value
from sordino.query.values import like

DAY = date(2024, 8, 15)  # a Thursday
MOMENT = datetime(2024, 8, 15, 13, 45, 59, 7)
VALUES: dict[Type, st.SearchStrategy[Value]] = {
    Type.INTEGER: st.integers(-(2**63), 2**63 - 1),
    Type.REAL: st.floats(allow_nan=False),
    Type.TEXT: st.text(max_size=20) | st.sampled_from(["1e999999999", "nan", "2024-02-30", "-0"]),
    Type.BOOLEAN: st.booleans(),
    Type.DATE: st.dates(),
    Type.TIMESTAMP: st.datetimes(),
}
PYTHON = {
    Type.INTEGER: int,
    Type.REAL: float,
    Type.TEXT: str,
    Type.BOOLEAN: bool,
    Type.DATE: date,
    Type.TIMESTAMP: datetime,
}


@pytest.mark.parametrize(
    ("name", "values", "kind", "expected"),
    [
        ("add", [1, 2], Type.INTEGER, 3),
        ("add", [1, 2.5], Type.REAL, 3.5),
        ("add", [2**63 - 1, 2**63 - 1], Type.INTEGER, None),
        ("mul", [1e308, 10], Type.REAL, math.inf),
        ("sub", [math.inf, math.inf], Type.REAL, None),
        ("div", [1, 0], Type.REAL, None),
        ("div", [1, 4], Type.REAL, 0.25),
        ("neg", [3], Type.INTEGER, -3),
        ("abs", [-(2**63)], Type.INTEGER, None),
        ("floor", [-1.5], Type.INTEGER, -2),
        ("ceil", [math.inf], Type.INTEGER, None),
        ("round", [2.5, 0], Type.INTEGER, 3),
        ("round", [-2.5, 0], Type.INTEGER, -3),
        ("round", [0.49999999999999994, 0], Type.INTEGER, 0),
        ("round", [1.25, 1], Type.REAL, 1.3),
        ("greatest", [None, 2, 1], Type.INTEGER, 2),
        ("least", [None, None], Type.INTEGER, None),
        ("clamp", [math.inf, 0, 1], Type.REAL, 1.0),
        ("coalesce", [None, "a"], Type.TEXT, "a"),
        ("nullif", [1, 1], Type.INTEGER, None),
        ("nullif", [1, None], Type.INTEGER, 1),
        ("is_null", [None], Type.BOOLEAN, True),
        ("and", [None, False], Type.BOOLEAN, False),
        ("and", [None, True], Type.BOOLEAN, None),
        ("or", [None, True], Type.BOOLEAN, True),
        ("or", [False, None], Type.BOOLEAN, None),
        ("not", [None], Type.BOOLEAN, None),
        ("eq", [None, None], Type.BOOLEAN, None),
        ("lt", ["a", "b"], Type.BOOLEAN, True),
        ("in", [1, 2, None], Type.BOOLEAN, None),
        ("in", [1, 1, None], Type.BOOLEAN, True),
        ("in", [1, 2], Type.BOOLEAN, False),
        ("case", [None, "a", True, "b", "c"], Type.TEXT, "b"),
        ("case", [False, "a", None], Type.TEXT, None),
        ("trim", ["  a\t "], Type.TEXT, "a\t"),
        ("length", ["é😀"], Type.INTEGER, 2),
        ("substring", ["abcdef", 2, 3], Type.TEXT, "bcd"),
        ("substring", ["abc", 9, 3], Type.TEXT, ""),
        ("dow", [date(2024, 8, 18)], Type.INTEGER, 0),
        ("dow", [DAY], Type.INTEGER, 4),
        ("quarter", [DAY], Type.INTEGER, 3),
        ("hour", [MOMENT], Type.INTEGER, 13),
        ("hour", [DAY], Type.INTEGER, 0),
        ("trunc_month", [DAY], Type.DATE, date(2024, 8, 1)),
        ("trunc_quarter", [MOMENT], Type.TIMESTAMP, datetime(2024, 7, 1)),
        ("trunc_year", [MOMENT], Type.TIMESTAMP, datetime(2024, 1, 1)),
        ("trunc_hour", [MOMENT], Type.TIMESTAMP, datetime(2024, 8, 15, 13)),
        ("to_integer", [2.5], Type.INTEGER, 2),
        ("to_integer", ["2.5"], Type.INTEGER, 3),
        ("to_integer", ["many"], Type.INTEGER, None),
        ("to_real", ["nan"], Type.REAL, None),
        ("to_real", [True], Type.REAL, 1.0),
        ("to_boolean", ["T"], Type.BOOLEAN, True),
        ("to_boolean", [" FALSE "], Type.BOOLEAN, False),
        ("to_boolean", ["yes"], Type.BOOLEAN, None),
        ("to_boolean", ["n"], Type.BOOLEAN, None),
        ("to_boolean", ["\ttrue"], Type.BOOLEAN, None),
        ("to_boolean", [0.0], Type.BOOLEAN, False),
        ("to_date", ["2024-02-30"], Type.DATE, None),
        ("to_date", [MOMENT], Type.DATE, DAY),
        ("to_timestamp", [DAY], Type.TIMESTAMP, datetime(2024, 8, 15)),
        ("to_text", [True], Type.TEXT, "true"),
        ("to_text", [-0.0], Type.TEXT, "0.0"),
        ("to_text", [DAY], Type.TEXT, "2024-08-15"),
    ],
)
def test_an_operation_gives_what_it_says(
    name: str, values: list[Value], kind: Type, expected: Value
) -> None:
    found = apply(name, values, kind)
    assert found == expected
    assert type(found) is type(expected)


@given(st.data())
def test_no_operation_fails_and_all_results_have_their_type(data: st.DataObject) -> None:
    operation = data.draw(st.sampled_from(sorted(OPERATIONS.values(), key=lambda o: o.name)))
    count = data.draw(st.integers(operation.fewest, min(operation.most, operation.fewest + 2)))
    kinds = [data.draw(st.sampled_from(list(Type))) for _ in range(count)]
    if operation.arguments.fit(tuple(kinds)):
        literals = [Literal(data.draw(VALUES[k] | st.none()), k) for k in kinds]
        if operation.name == "round":
            literals[1] = Literal(data.draw(st.integers(0, 9)), Type.INTEGER)
        found = call(operation.name, *literals)
        value = evaluate(found, {})
        assert value is None or type(value) is PYTHON[found.type]
        assert not (isinstance(value, float) and math.isnan(value))


def test_every_operation_that_is_typed_has_a_meaning() -> None:
    for name, operation in OPERATIONS.items():
        values: list[Value] = [None] * max(operation.fewest, 1)
        apply(name, values, Type.TEXT)


@given(st.text("ab%_", max_size=8), st.text("ab%_", max_size=6))
def test_patterns_agree_with_regular_expressions(text: str, pattern: str) -> None:
    import re

    signs = {"%": ".*", "_": "."}
    expected = re.fullmatch("".join(signs.get(c, re.escape(c)) for c in pattern), text, re.DOTALL)
    assert like(text, pattern) == (expected is not None)


def test_a_field_has_the_value_of_the_row() -> None:
    age = Field("f0", Type.INTEGER, "age")
    assert evaluate(call("add", age, Literal(1, Type.INTEGER)), {"f0": 36}) == 37


def test_who_has_to_be_sure_is_told_where_engines_may_differ() -> None:
    city = Field("f0", Type.TEXT, "city")
    part = call("substring", city, Literal(1, Type.INTEGER), Literal(4, Type.INTEGER))
    shouted = call("upper", part)
    assert evaluate(shouted, {"f0": "straße"}, sure=True) == "STRA"
    assert evaluate(shouted, {"f0": "groß"}) == "GROSS"
    with pytest.raises(Doubtful):
        evaluate(shouted, {"f0": "groß"}, sure=True)
