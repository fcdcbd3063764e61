# SPDX-License-Identifier: Apache-2.0
import csv
import io
import re
import unicodedata
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.answer.frames import safe_cell

_ESCAPED = re.compile(r"\\(?:x..|u.{4}|U.{8}|.)")
COMPUTED = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20",
            "\ufe62", "\ufe63", "\ufe66", "\ufe6b")  # fmt: skip


@given(st.text() | st.text(["a", " ", ";", "|", '"', *COMPUTED]))
def test_no_text_is_computed_or_obeyed(text: str) -> None:
    cell = safe_cell(text)
    assert isinstance(cell, str)
    first, *others = re.split("[;|]", cell)  # as where cells are separated so
    assert not first.lstrip().startswith(COMPUTED)
    for part in others:  # in which a quote may be one that ends nothing
        assert not re.sub(r'^[\s"]*', "", part).startswith(COMPUTED)
    assert not {unicodedata.category(c) for c in cell} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


def read_back(cell: str) -> str:
    """Return the text of a cell, as the documentation says how to."""
    return _ESCAPED.sub(
        lambda part: part[0].encode("ascii").decode("unicode_escape"), cell.removeprefix("'")
    )


@given(st.text() | st.text(["\\", "'", "=", ";", "n", "x", "0", "1", "\n", "\x01"]))
def test_every_text_can_be_read_back(text: str) -> None:
    file = io.StringIO()
    csv.writer(file).writerow([safe_cell(text), 1])
    file.seek(0)
    (cell, one), *none = csv.reader(file)
    assert (read_back(cell), one, none) == (text, "1", [])


@pytest.mark.parametrize("sign", COMPUTED[7:])
def test_signs_of_another_width_are_signs(sign: str) -> None:
    assert safe_cell(f"{sign}cmd()") == f"'{sign}cmd()"


@pytest.mark.parametrize("value", [-5, -0.5, None, True, date(2024, 1, 1), [1, 2]])
def test_what_is_no_text_stays_as_it_is(value: object) -> None:
    assert safe_cell(value) is value
