# SPDX-License-Identifier: Apache-2.0
"""The page on accuracy holds the tables that its program makes, and the program runs."""

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from bench import medians
from tests.house.tree import ROOT

PAGE = ROOT / "docs" / "accuracy.md"


@pytest.fixture(scope="module")
def results() -> medians.Results:
    return medians.measure(2, data_sets=2)


def skeleton(text: str) -> list[tuple[str, ...]]:
    """Return the headings and, of each row of a table, all that is not drawn at random."""
    lines = [line for line in text.splitlines() if line.startswith(("#", "|"))]
    found = []
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        random = len(cells) == len(medians.headings()) and cells[0] in NAMES
        found.append(tuple(cells[:2] if random else cells))
    return found


NAMES = {shape.name for shape in medians.SHAPES}


def written(page: Path) -> str:
    _, _, rest = page.read_text("utf-8").partition(medians.START)
    return rest.partition(medians.END)[0]


def test_the_page_has_the_tables_that_the_program_makes(results: medians.Results) -> None:
    assert len(skeleton(medians.tables(results))) > 40
    assert skeleton(written(PAGE)) == skeleton(medians.tables(results))


def test_every_figure_of_the_page_is_a_number() -> None:
    rows = [line.strip("|").split("|") for line in written(PAGE).splitlines()]
    rows = [row for row in rows if len(row) == len(medians.headings()) and row[0].strip() in NAMES]
    assert len(rows) == len(medians.MEASURES) * len(medians.SHAPES) * len(medians.EPSILONS)
    for row in rows:
        figures = [float(cell.strip(" *").replace(",", "")) for cell in row[2:]]
        assert min(figures) >= 0
        bold = [figure for figure, cell in zip(figures, row[2:], strict=True) if "**" in cell]
        assert min(bold, default=min(figures)) == min(figures)
    assert sum("**" in "".join(row) for row in rows) > len(rows) / 2


def test_every_kind_of_data_is_in_its_range_and_has_the_lower_middle_as_its_median() -> None:
    for shape in medians.SHAPES:
        data = shape.data(seed=0)
        low, high = shape.range
        assert low <= data[0] <= data[-1] <= high
        assert data.size % 2 == 1
        assert medians.middle(data) == np.median(data)


def test_the_rank_of_the_median_is_not_off_and_that_of_the_ends_is_off_by_half() -> None:
    data = np.array([1.0, 2.0, 2.0, 2.0, 7.0])
    assert medians.ranks_off(data, np.array([2.0, 0.0, 8.0, 3.0])).tolist() == [0, 2.5, 2.5, 1.5]


def test_the_program_writes_the_page_and_the_picture(
    results: medians.Results, tmp_path: Path
) -> None:
    page, picture = tmp_path / "page.md", tmp_path / "images" / "picture.png"
    page.write_text(f"before\n{medians.START}\nold\n{medians.END}\nafter\n", "utf-8")
    medians.write(results, page=page, picture=picture)
    text = page.read_text("utf-8")
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert medians.tables(results) in text
    assert "old" not in text
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_page_without_marks_is_left_alone(results: medians.Results, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("no marks\n", "utf-8")
    with pytest.raises(ValueError, match="marks"):
        medians.write(results, page=page, picture=tmp_path / "picture.png")
    assert page.read_text("utf-8") == "no marks\n"


def test_the_benchmark_prints_a_table_for_each_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(medians, "QUICK", 2)
    monkeypatch.setattr(medians, "DATA_SETS", 2)
    output = io.StringIO()
    assert medians.run(Console(file=output, width=130)) == 0
    for what in medians.MEASURES:
        assert what in output.getvalue()
    for name in NAMES:
        assert name in output.getvalue()


def test_numbers_are_written_with_two_digits() -> None:
    numbers = [0.0512, 0.996, 3.0, 9.96, 36_127.0, 5e8, 0.0, 1e-9]
    wanted = ["0.051", "1", "3", "10", "36,000", "500,000,000", "0", "0"]
    assert [medians.two_digits(x) for x in numbers] == wanted


def test_only_what_chance_may_have_put_behind_the_best_is_bold() -> None:
    figures = [medians.Figure(1.0, 0.9, 1.1), medians.Figure(1.2, 1.0, 1.4)]
    figures.append(medians.Figure(2.0, 1.9, 2.1))
    assert medians.best_of(figures, most=5) == [True, True, False]
    assert medians.best_of(figures, most=0.5) == [False, False, False]
