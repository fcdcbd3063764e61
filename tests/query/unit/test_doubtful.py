# SPDX-License-Identifier: Apache-2.0
import pytest

from sordino.query.operations import OPERATIONS, doubtful
from sordino.query.types import Value


@pytest.mark.parametrize(
    ("operation", "values", "expected"),
    [
        ("upper", ["flu ~"], False),
        ("upper", ["ﬁ"], True),
        ("ilike", ["flu", "É%"], True),
        ("like", ["flu", "É%"], False),
        ("to_boolean", ["yes"], False),
        ("to_boolean", ["true\u00a0"], True),
        ("to_integer", [7], False),
        ("to_integer", [None], False),
        ("to_real", ["-12.50"], False),
        ("to_real", [""], False),
        ("to_real", ["12 or so"], True),
        ("to_timestamp", ["2024-05-01 10:20:30"], False),
        ("to_timestamp", ["2024-05-01 "], True),
    ],
)
def test_text_is_doubtful_where_engines_may_differ(
    operation: str, values: list[Value], expected: bool
) -> None:
    assert doubtful(operation, values) is expected


def test_only_operations_that_look_into_text_are_doubtful() -> None:
    found = {name for name in OPERATIONS if doubtful(name, ["1\u00a0ß"])}
    casts = {"to_boolean", "to_date", "to_integer", "to_real", "to_timestamp"}
    assert found == {"ilike", "lower", "trim", "upper"} | casts
