# SPDX-License-Identifier: Apache-2.0
"""How answers, gauges and sentences look."""

from fractions import Fraction
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from rich.console import Console

import sordino as so
from sordino.cli.show import show_answer
from sordino.cli.terminal import gauge
from sordino.ledger.left import more_in_words, more_like
from sordino.privacy.currency import PURE, Price

YEARS = tuple(range(1900, 2000))


@pytest.fixture(scope="module")
def session() -> so.Session:
    frame = {"year": list(YEARS) * 3, "cost": [k % 90 for k in range(300)]}
    return so.table(
        frame,
        unit="row",
        types={"year": "integer"},
        keys={"year": YEARS},
        bounds={"cost": (0, 90)},
        epsilon=100,
    )


def shown(session: so.Session, sql: str, width: int, *, terminal: bool) -> str:
    page = StringIO()
    console = Console(file=page, width=width, force_terminal=terminal, highlight=False)
    show_answer(console, session.ask(sql, epsilon=1), session.budget[0])
    return page.getvalue()


def test_a_terminal_gets_the_ends_of_a_long_answer_and_a_pipe_all_of_it(
    session: so.Session,
) -> None:
    sql = "SELECT year, COUNT(*) AS n FROM data GROUP BY year"
    short, whole = (shown(session, sql, 100, terminal=terminal) for terminal in (True, False))
    assert "... 40 more rows" in short
    assert "1929" in short
    assert "1930" not in short
    assert all(str(year) in whole for year in YEARS)
    assert ("\x1b[" in short, "\x1b[" in whole) == (True, False)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut_off(
    session: so.Session, width: int
) -> None:
    page = shown(session, "SELECT AVG(cost) AS a, COUNT(*) AS n FROM data", width, terminal=False)
    (receipt,) = (line for line in page.splitlines() if "people:" in line)  # is to be copied
    assert max(len(line) for line in page.splitlines() if line != receipt) <= width
    assert "…" not in page
    assert receipt.startswith("people:" if width < 86 else "receipt     people:")


def test_numbers_that_do_not_fit_side_by_side_stand_below_each_other(session: so.Session) -> None:
    sums = ", ".join(f"SUM(cost + {k}) AS a_rather_long_title_{k}" for k in range(4))
    sql = f"SELECT year, {sums} FROM data GROUP BY year"  # noqa: S608 - a question
    narrow, wide = (shown(session, sql, width, terminal=False) for width in (60, 200))
    answer = session.ask(sql, epsilon=1)
    assert answer.again
    assert wide.splitlines()[0].split() == ["year", *(f"a_rather_long_title_{k}" for k in range(4))]
    assert narrow.splitlines()[0].split() == ["year", "1900"]
    for page in (narrow, wide):
        words = " ".join(page.split())
        for column in answer.columns[1:]:
            for row in (0, 50, 99):
                assert str(column.cell(row)) in words


def test_a_terminal_that_knows_ascii_alone_gets_ascii(session: so.Session) -> None:
    raw = BytesIO()
    page = TextIOWrapper(raw, encoding="ascii")
    console = Console(file=page, width=80, highlight=False)
    show_answer(
        console, session.ask("SELECT COUNT(*) AS n FROM data", epsilon=1), session.budget[0]
    )
    console.print(gauge(Fraction(1, 2), console))
    page.flush()
    assert b"+/-" in raw.getvalue()
    assert b"############............" in raw.getvalue()


@pytest.mark.parametrize(
    ("part", "full"), [(Fraction(0), 0), (Fraction(1, 10**9), 1), (Fraction(1, 2), 12), (1, 24)]
)
def test_a_gauge_is_empty_only_if_nothing_is_left(part: Fraction, full: int) -> None:
    console = Console(file=StringIO())
    assert gauge(Fraction(part), console).plain == "━" * full + "─" * (24 - full)


def test_questions_are_counted_by_what_runs_out_first() -> None:
    price, left = Price(PURE, 100), Price(PURE, 1_000)
    assert more_like(price, Fraction(0), left, Fraction(0)) == 10
    assert more_like(price, Fraction(1, 10), left, Fraction(25, 100)) == 2
    assert more_in_words(1_234) == "about 1,234 more questions like this one"
    assert more_in_words(0) == "not enough for another question like this one"
    assert more_in_words(0, more="") == "not enough for a question like this one"
