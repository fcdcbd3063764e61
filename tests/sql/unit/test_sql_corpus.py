# SPDX-License-Identifier: Apache-2.0
"""SQL that was not written for us: every statement is read or refused, and nothing else happens."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import QueryError
from sordino.sql.parse import parse
from tests.fixtures.hospital import hospital
from tests.fixtures.sql_cases import accepted, rejected

CORPUS = Path(__file__).parents[2] / "fixtures" / "third_party" / "sqlglot"
FILES = sorted(CORPUS.glob("*.sql"))
CATALOG = hospital()
ASKED = "SELECT COUNT(*) FROM visits"
WORDS = sorted({word for sql in accepted() for word in re.findall(r"\w+|[^\w\s]|'[^']*'", sql)})
CASES = [*accepted(), *(case.sql for case in rejected())]


def read(text: str) -> bool:
    """Whether a text is a question; any error but a QueryError fails the test."""
    try:
        parse(text, CATALOG)
    except QueryError as caught:
        error = caught
    else:
        return True
    assert str(error)
    start, stop = error.span or (0, 1)
    assert 0 <= start < stop <= max(1, len(text))
    return False


def statements(file: Path) -> list[str]:
    text = file.read_text("utf-8")
    return sorted({*text.split("\n"), *text.split(";")})


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_statement_of_a_foreign_corpus_is_read_or_refused(file: Path) -> None:
    found = statements(file)
    assert len(found) > 20
    for statement in found:
        read(statement)
        read(re.sub(r"FROM \w+", "FROM visits", re.sub(r"\b[a-z]\b", "cost", statement)))


def test_foreign_statements_are_read_once_they_are_about_the_hospital() -> None:
    text = (CORPUS / "simplify.sql").read_text("utf-8")
    lines = [re.sub(r"\b[a-z]\b", "cost", line.strip(";")) for line in text.split("\n")]
    assert sum(read(f"{ASKED} WHERE {line}") for line in lines) > 100


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=30))
def test_words_in_any_order_are_read_or_refused(words: list[str]) -> None:
    read(" ".join(["SELECT", *words]))


@settings(max_examples=500, deadline=None)
@given(st.data())
def test_a_question_with_a_part_of_another_is_read_or_refused(data: st.DataObject) -> None:
    one, other = (data.draw(st.sampled_from(CASES)).split() for _ in range(2))
    start = data.draw(st.integers(0, len(one)))
    stop = data.draw(st.integers(start, len(one)))
    first = data.draw(st.integers(0, len(other)))
    last = data.draw(st.integers(first, len(other)))
    read(" ".join([*one[:start], *other[first:last], *one[stop:]]))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    read(text)
    read(f"{ASKED} WHERE note = '{text}'")
