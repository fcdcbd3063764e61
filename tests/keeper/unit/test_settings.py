# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction
from pathlib import Path

import pytest

from sordino.catalog.model import Serving
from sordino.catalog.toml import read_catalog
from sordino.errors import CatalogError
from tests.keeper.study import CATALOG


def read(tmp_path: Path, text: str) -> Serving:
    path = tmp_path / "sordino.toml"
    path.write_text(CATALOG.format(server=text, epsilon="1").replace("rate = 10000\n", ""))
    return read_catalog(path).serving


def test_what_is_not_stated_is_the_usual(tmp_path: Path) -> None:
    assert read(tmp_path, "") == Serving()
    assert Serving().slot == 1


def test_all_is_read_as_it_is_written(tmp_path: Path) -> None:
    text = """
slot = "250ms"
deadline = 40
resume = true
approve_above = 0.1
approvers = 2
show_all = true
rate = 5
"""
    assert read(tmp_path, text) == Serving(
        Fraction(1, 4),
        40,
        resume=True,
        approve_above=Fraction(1, 10),
        approvers=2,
        show_all=True,
        rate=5,
    )
    assert read(tmp_path, 'slot = "off"').slot is None
    assert read(tmp_path, 'slot = "1.5s"').slot == Fraction(3, 2)


@pytest.mark.parametrize(
    "text",
    [
        "slot = 1",
        'slot = "1"',
        'slot = "1 s"',
        'slot = "0s"',
        'slot = "9ms"',
        'slot = "3601s"',
        'slot = "-1s"',
        "slot = false",
        "deadline = 0",
        "deadline = 1.5",
        "deadline = true",
        "resume = 1",
        "approve_above = 0",
        'approve_above = "much"',
        "approve_above = nan",
        "approvers = 3",
        "show_all = 'yes'",
        "rate = 0",
        "rates = 5",
    ],
)
def test_what_is_wrong_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(CatalogError, match=r"^sordino\.toml: server"):
        read(tmp_path, text)
