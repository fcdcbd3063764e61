# SPDX-License-Identifier: Apache-2.0
import pyarrow as pa

from sordino.answer import Column
from sordino.query.types import Type
from tests.answer.unit.sample import COUNTS, FULL, SURE, answer

TYPES = {
    "disease": "string",
    "day": "date32[day]",
    "n": "int64",
    "n_half_width": "double",
    "n_low": "double",
    "n_high": "double",
    "cost": "double",
    "cost_half_width": "double",
    "cost_low": "double",
    "cost_high": "double",
    "often": "string",
    "top": "list<item: string>",
}


def test_arrow_columns_have_the_types_of_the_question() -> None:
    table = FULL.to_arrow()
    assert {field.name: str(field.type) for field in table.schema} == TYPES
    assert table.column("n").to_pylist() == [1204, -3, 0]
    assert table.column("n_half_width").to_pylist() == [31.0, 31.0, 31.0]
    assert table.column("cost_half_width").to_pylist() == [1.0, 1.25, None]
    assert table.column("cost_low").to_pylist() == [10.0, 1.0, None]
    assert table.column("cost_high").to_pylist() == [11.5, 3.0, None]
    assert table.column("top").to_pylist()[0] == ["x", "y"]


def test_types_do_not_depend_on_what_the_columns_hold() -> None:
    empty = answer(*(column.take([]) for column in FULL.columns))
    assert empty.to_arrow().schema == FULL.to_arrow().schema
    missing = answer(Column("a", Type.INTEGER, "key", (None, None)))
    assert missing.to_arrow().schema.field("a").type == pa.int64()


def test_pandas_and_polars_get_the_same_columns() -> None:
    panda, polar = FULL.to_pandas(), FULL.to_polars()
    assert list(panda.columns) == list(polar.columns) == list(TYPES)
    assert str(panda["n"].dtype) == "Int64"
    assert str(panda["cost"].dtype) == "Float64"
    assert panda["n"].tolist() == polar["n"].to_list() == [1204, -3, 0]


def test_a_half_width_never_takes_the_name_of_another_column() -> None:
    taken = Column("n_half_width", Type.TEXT, "key", ("a", "b", "c"))
    names = answer(taken, COUNTS).to_arrow().column_names
    assert names == ["n_half_width", "n", "n_half_width_2", "n_low", "n_high"]


def test_whole_numbers_beyond_64_bits_become_the_nearest() -> None:
    huge = Column("n", Type.INTEGER, "measure", (2**70,), (2.0**70,), (2.0**70,), SURE)
    assert answer(huge).to_arrow().column("n").to_pylist() == [2**63 - 1]
