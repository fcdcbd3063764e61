# SPDX-License-Identifier: Apache-2.0
import sys
from pathlib import Path

import pytest

from sordino.answer import Column
from sordino.query.types import Type
from tests.unit.answer.sample import COUNTS, FULL, KEYS, MEANS, SURE, answer

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
