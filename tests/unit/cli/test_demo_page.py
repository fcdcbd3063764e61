# SPDX-License-Identifier: Apache-2.0
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from rich.console import Console

from sordino.cli.demo import Interval, answers
from sordino.cli.demo_data import people
from sordino.cli.demo_page import PLAIN_INK, draw, show, zoom


def shown(width: int, *, colour: bool = False) -> str:
    page = StringIO()
    show(Console(file=page, width=width, force_terminal=colour, highlight=False))
    return page.getvalue()


@pytest.mark.parametrize("width", [40, 59, 60, 69, 70, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(len, shown(width).splitlines())) <= width


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_nothing_is_cut_off(width: int) -> None:
    page = shown(width)
    assert "…" not in page
    assert page.count("exact ") >= 8
    assert "exact 7.04" in page


@pytest.mark.parametrize("width", [60, 80, 120])
def test_code_and_signs_stay_whole_where_there_is_room(width: int) -> None:
    page = [line.strip() for line in shown(width).splitlines()]
    for answer in answers(people()):
        assert {line.strip() for line in answer.code.splitlines()} <= set(page)
    legend = next(at for at, line in enumerate(page) if "├───┤" in line)
    exact = next(at for at, line in enumerate(page) if "×      the exact value" in line)
    assert all(line.startswith("│         ") for line in page[legend + 1 : exact])


def test_a_narrow_page_leaves_out_pictures_and_code() -> None:
    page = shown(40)
    assert "├" not in page
    assert "so.Gaussian" not in page
    assert "±  error bar" in page


def test_a_page_is_never_laid_out_for_less_than_forty_columns() -> None:
    assert max(map(len, shown(20).splitlines())) == 40


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
