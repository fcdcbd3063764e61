# SPDX-License-Identifier: Apache-2.0
import sys
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sordino.answer import Column
from sordino.query.types import Type
from tests.answer.unit.sample import COUNTS, FULL, KEYS, MEANS, SURE, answer

pytest.importorskip("matplotlib")


def test_each_noisy_column_is_a_panel_of_bars(tmp_path: Path) -> None:
    path = tmp_path / "answer.png"
    figure = FULL.plot(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["n", "cost"]
    assert [len(axes.patches) for axes in figure.axes] == [3, 3]


def test_bars_have_the_values_and_whiskers_the_intervals() -> None:
    (axes,) = answer(KEYS, COUNTS).plot().axes
    assert sorted(bar.get_height() for bar in axes.patches) == [-3.0, 0.0, 1204.0]
    (whiskers,) = [c for c in axes.containers if hasattr(c, "has_yerr") and c.has_yerr]
    segments = whiskers.lines[2][0].get_segments()
    assert sorted(segments[0][:, 1].tolist()) == [1173.0, 1235.0]


def test_of_many_groups_the_first_40_are_drawn_on_their_side_and_that_is_said() -> None:
    many = tuple(range(100))
    ends = tuple(map(float, many))
    figure = answer(
        Column("ward", Type.INTEGER, "key", many),
        Column("n", Type.INTEGER, "measure", many, ends, ends, SURE),
    ).plot()
    assert [len(axes.patches) for axes in figure.axes] == [40]
    assert max(bar.get_width() for bar in figure.axes[0].patches) == 39.0
    assert "the first 40 of 100 groups" in figure.get_supxlabel()


def test_bins_have_both_their_ends_and_long_names_stay_distinct() -> None:
    bins = (
        Column("x_from", Type.INTEGER, "key", (0, 1000, 2000)),
        Column("x_to", Type.INTEGER, "key", (1000, 2000, 3000)),
    )
    (axes,) = answer(*bins, COUNTS).plot().axes
    assert labels(axes.get_xticklabels() + axes.get_yticklabels(), " to ") == [
        "0 to 1,000", "1,000 to 2,000", "2,000 to 3,000",
    ]  # fmt: skip
    towns = tuple(f"Saint-Rémy-{'x' * 30}{at}{'y' * 30}" for at in range(3))
    town, drug = Column("a", Type.TEXT, "key", towns), Column("b", Type.TEXT, "key", ("z",) * 3)
    (axes,) = answer(town, drug, COUNTS).plot().axes
    names = labels(axes.get_yticklabels(), "…")
    assert len(set(names)) == 3
    assert max(map(len, names)) <= 32


def test_days_have_no_time() -> None:
    days = tuple(datetime(2024, at, 1) for at in (1, 2, 3))
    (axes,) = answer(Column("d", Type.TIMESTAMP, "key", days), COUNTS).plot().axes
    assert labels(axes.get_xticklabels() + axes.get_yticklabels(), "2024") == [
        "2024-01-01", "2024-02-01", "2024-03-01",
    ]  # fmt: skip


def test_letters_that_the_font_lacks_are_no_warning(tmp_path: Path) -> None:
    names = Column("k", Type.TEXT, "key", ("東京", "大阪", "京都"))
    answer(names, COUNTS).plot(tmp_path / "a.png")  # warnings are errors here


@pytest.mark.parametrize("many", [1, 3, 8, 20])
def test_names_and_numbers_along_the_axes_do_not_collide(many: int) -> None:
    keys = Column("k", Type.TEXT, "key", tuple(f"a name of a town {at}" for at in range(many)))
    values = tuple(1_234_567.0 * (at + 1) for at in range(many))
    columns = [Column(t, Type.REAL, "measure", values, values, values, SURE) for t in "abc"]
    figure = answer(keys, *columns).plot()
    figure.canvas.draw()
    assert not any("e+" in text for text in labels(figure.axes[0].get_xticklabels(), ""))
    for axes in figure.axes:
        for along, side in ((axes.xaxis, "x"), (axes.yaxis, "y")):
            boxes = [
                label.get_window_extent()
                for label in along.get_ticklabels()
                if label.get_text() and label.get_visible()
            ]
            starts = sorted((getattr(b, f"{side}0"), getattr(b, f"{side}1")) for b in boxes)
            assert all(one[1] <= other[0] for one, other in pairwise(starts))


def labels(texts: list[Any], part: str) -> list[str]:
    return [text.get_text() for text in texts if part in text.get_text()]


def test_formulas_in_names_are_not_read_as_such(tmp_path: Path) -> None:
    hostile = Column("$\\frac{1}$ $", Type.TEXT, "key", ("$x^$", "$", "a_b$"))
    answer(hostile, COUNTS, MEANS).plot(tmp_path / "a.png")


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'sordino\[plot\]'"):
        FULL.plot()


def test_an_answer_without_numbers_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="no noisy numbers"):
        answer(KEYS).plot()
