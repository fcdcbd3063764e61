# SPDX-License-Identifier: Apache-2.0
"""Text that is declared a number, a truth value, a day or a moment: against rules in Python."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.catalog.model import Catalog, Column, Frame, Table
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.plan.plan import Bounded, Cells, RowCount, Shares
from sordino.query.tree import Field, Key, Scan
from sordino.query.types import Type
from tests.engine.engines import RECEIPT
from tests.support.trace import unsealed

COUNT = Cells((RowCount(),))
_DIGITS = st.text("0123456789", min_size=1, max_size=20)
_ODD = st.text(" +-0123456789._eExXnaifTZ:tyTRUEfalsno\t\u00a0\u0663\uff11", max_size=24)
_TIMES = st.builds(
    "{}{}{}{}{}".format,
    st.dates().map(str),
    st.sampled_from(["", " ", "T", "t", "  "]),
    st.sampled_from(
        ["", "03:04", "3:04", "03:04:05", "23:59:59.999999", "03:04:05.1234567", "25:00"]
    ),
    st.sampled_from(["", "Z", "z", "+00", "+05:30", "-0800", " UTC", "+5"]),
    st.sampled_from(["", " ", "\n"]),
)
TEXTS = st.one_of(
    _ODD,
    _TIMES,
    st.builds("{}{}{}".format, st.sampled_from(["", " ", "+", "-", " -"]), _DIGITS,
              st.sampled_from(["", ".", ".0", ".5", "e3", "E-400", "e999", "_0", " "])),
    st.sampled_from(["true", "FALSE", "Yes", "nO", "on", "1", "0", "nan", "inf", "infinity",
                     "epoch",
                     "today", "now", "2020-02-30", "0000-01-01", "-0", "0x1F", "9" * 1_001,
                     "9223372036854775807", "9223372036854775808", "-9223372036854775808",
                     "0" * 990 + "7", "tru\u0117", "\u017fes"]),
)  # fmt: skip


def integer(text: str, *, is_id: bool = False) -> int | None:
    pattern = "0|-?[1-9][0-9]*" if is_id else " *[+-]?[0-9]+ *"
    if len(text.encode()) > 1_000 or not re.fullmatch(pattern, text):
        return None
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None


def real(text: str) -> float | None:
    pattern = r" *[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)? *"
    if len(text.encode()) > 1_000 or not re.fullmatch(pattern, text):
        return None
    value = float(text)
    return None if abs(value) == float("inf") else value + 0.0


def boolean(text: str) -> bool | None:
    words = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
    if not text.isascii() or text.lower() not in words[0] + words[1]:
        return None
    return text.lower() in words[0]


def day(text: str) -> date | None:
    if not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def moment(text: str) -> datetime | None:
    pattern = (
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
        "(Z|[+-][0-9]{2}(:?[0-9]{2})?)?"
    )
    if not re.fullmatch(pattern, text):
        return None
    try:
        value = datetime.fromisoformat(text)
        return (
            value.replace(tzinfo=None)
            if value.tzinfo is None
            else value.astimezone(UTC).replace(tzinfo=None)
        )
    except (ValueError, OverflowError):
        return None


RULES: dict[Type, Any] = {
    Type.INTEGER: integer,
    Type.REAL: real,
    Type.BOOLEAN: boolean,
    Type.DATE: day,
    Type.TIMESTAMP: moment,
}


@pytest.mark.parametrize("kind", RULES)
@settings(max_examples=15, deadline=None)
@given(texts=st.lists(TEXTS, min_size=20, max_size=60))
def test_text_is_read_by_rules_that_are_written_out(kind: Type, texts: list[str]) -> None:
    table = Table("t", Frame(pa.table({"v": texts})), (Column("v", kind),), unit="row")
    engine = DuckdbEngine(Catalog((table,)), threads=1)
    field = Field("f", kind, "f")
    rows, keys = Scan("t", ((field, "v"),)), (Key(field, "f", None),)
    bounded = Bounded(rows, keys, Shares(rows=1, alone=True), (COUNT,))
    (part,) = unsealed(engine.run(bounded, RECEIPT, salt=1))
    engine.close()
    found = Counter({row["k0"]: row["s0"] for row in part.to_pylist()})
    assert found == Counter(map(RULES[kind], texts))


@settings(max_examples=15, deadline=None)
@given(texts=st.lists(TEXTS, min_size=20, max_size=60))
def test_no_two_texts_are_one_id(texts: list[str]) -> None:
    table = Table("t", Frame(pa.table({"v": texts})), (Column("v", Type.INTEGER),), unit="v")
    engine = DuckdbEngine(Catalog((table,)), threads=1)
    field, shares = Field("f", Type.INTEGER, "f"), Shares(rows=1_000)
    rows, keys = Scan("t", ((field, "v"),)), (Key(field, "f", None),)
    (part,) = unsealed(engine.run(Bounded(rows, keys, shares, (COUNT,)), RECEIPT, salt=1))
    engine.close()
    found = Counter({row["k0"]: row["s0"] // shares.steps for row in part.to_pylist()})
    ids = [text for text in texts if integer(text, is_id=True) is not None]
    assert found == Counter(int(text) for text in ids)
    assert len(found) == len(set(ids))
