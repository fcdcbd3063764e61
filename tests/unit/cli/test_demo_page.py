# SPDX-License-Identifier: Apache-2.0
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from rich.console import Console

from sordino.cli.demo import Interval
from sordino.cli.demo_page import PLAIN_INK, draw, show, zoom


def shown(width: int, *, colour: bool = False) -> str:
    page = StringIO()
    show(Console(file=page, width=width, force_terminal=colour, highlight=False))
    return page.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(len, shown(width).splitlines())) <= width


def test_a_pipe_gets_no_colours_and_a_terminal_does() -> None:
    assert "\x1b[" not in shown(80)
    assert "\x1b[" in shown(80, colour=True)


def test_the_page_says_that_nobody_is_real_and_what_it_cost() -> None:
    page = shown(80)
    assert "synthetic" in page
    assert "only because nobody here is real" in page
    assert "all of it, added up" in page


def test_a_terminal_without_unicode_is_drawn_in_ascii() -> None:
    page = TextIOWrapper(BytesIO(), encoding="ascii")
    show(Console(file=page, width=80))
    page.seek(0)
    assert "+/-" in page.read()


def test_an_error_bar_is_drawn_to_scale() -> None:
    interval = Interval("", noisy=5, low=2, high=8, exact=6)
    assert draw(interval, (0, 10), 11, PLAIN_INK, bar=True).plain == "##|--ox-|  "
    assert draw(interval, (0, 10), 11, PLAIN_INK, bar=False).plain == "  |--ox-|  "


def test_an_exact_value_outside_its_error_bar_stays_in_the_picture() -> None:
    interval = Interval("", noisy=5, low=2, high=8, exact=10)
    assert draw(interval, zoom(interval), 9, PLAIN_INK, bar=False).plain == "|--o--| x"
