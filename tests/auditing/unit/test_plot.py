# SPDX-License-Identifier: Apache-2.0
"""The picture of an audit. Generators are seeded, so every picture is the same each time."""

import itertools
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import sordino as so
from sordino.auditing import Report, batched
from sordino.auditing.plot import cells_of, draw, plot, svg


def audited(noise: Any, *, x: Any = 3, y: Any = 2, epsilon: float = 1.0) -> Report:
    rng = np.random.default_rng(11)

    @batched
    def mechanism(data: Any, runs: int) -> Any:
        return noise(rng, data, runs)

    return so.audit(mechanism, x, y, epsilon=epsilon, runs=20_000)


def laplace(rng: np.random.Generator, data: float, runs: int) -> Any:
    return data + rng.laplace(0, 0.5, runs)


def coin(rng: np.random.Generator, bit: int, runs: int) -> Any:
    return np.where(rng.random(runs) < 0.9, bit, 1 - bit)


def texts(report: Report) -> list[str]:
    figure = Figure()
    axes = figure.subplots()
    draw(report, axes)
    legend = [word.get_text() for one in figure.legends for word in one.get_texts()]
    return [axes.get_title(loc="left"), axes.get_xlabel(), axes.get_ylabel(), *legend]


def test_the_picture_says_what_was_found_in_words() -> None:
    report = audited(laplace)
    title, below, beside, *legend = texts(report)
    assert title.startswith(f"violation: epsilon is at least {report.lower_bound:.4g} with 99.9 %")
    assert title.endswith(f"promised 1\nworst event: {report.event}")
    assert (below, beside) == ("the output", "share of the runs")
    likelier, other = (report.of(side) for side in report.order)
    assert legend == [
        f"output for {likelier}",
        f"output for {other}",
        f"promised: within a factor e^1 of that for {other}",
        "worst event",
    ]


def test_the_shares_of_each_side_add_up_and_the_event_is_where_it_is_likelier() -> None:
    report = audited(laplace)
    cells = cells_of(report)
    for share in cells.shares:
        assert 0.99 < share.sum() <= 1
    ((start, end),) = cells.worst
    middles = (cells.edges[:-1] + cells.edges[1:]) / 2
    inside = (middles > start) & (middles < end)
    first, other = (share[inside].sum() for share in cells.shares)
    assert math.log(first / other) > 1


def test_the_likelier_input_comes_first_whichever_it_is() -> None:
    report = audited(coin, x=0, y=1)
    sides = {"x": 0, "y": 1}
    cells = cells_of(report)
    assert report.sample is not None
    expected = np.mean(report.sample[sides[report.order[0]]] == 0)
    assert cells.names == ("0", "1")
    assert cells.shares[0][0] == expected
    assert [end - start for start, end in cells.worst] == [1.0]


def test_whole_numbers_have_cells_of_whole_width() -> None:
    def geometric(rng: np.random.Generator, data: int, runs: int) -> Any:
        return data + np.round(rng.laplace(0, 40, runs))

    cells = cells_of(audited(geometric))
    widths = np.unique(np.diff(cells.edges))
    assert len(widths) == 1
    assert widths[0] == int(widths[0]) > 1
    assert cells.edges[0] % 1 == 0.5


def test_words_are_drawn_as_bars_and_the_rarest_share_one() -> None:
    names = np.array([f"name {place}" for place in range(40)])
    report = audited(coin, x=0, y=1)
    words = names[np.arange(4_000) % 40]
    cells = cells_of(replace(report, members=None, sample=(words, words)))
    assert cells.names is not None
    assert len(cells.names) == 17
    assert cells.names[-1] == "24 more"
    assert cells.shares[0].sum() == pytest.approx(1)


def test_words_and_kinds_of_output_have_a_bar_each() -> None:
    def choice(rng: np.random.Generator, weight: float, runs: int) -> Any:
        return np.where(rng.random(runs) < weight, "flu", "mumps")

    def lengths(rng: np.random.Generator, weight: float, runs: int) -> Any:
        return [[0] if one < weight else None for one in rng.random(runs)]

    words = cells_of(audited(choice, x=0.2, y=0.9))
    assert words.names is not None
    assert sorted(words.names) == ["'flu'", "'mumps'"]
    kinds = cells_of(audited(lengths, x=0.2, y=0.9))
    assert kinds.names is not None
    assert len(kinds.names) == 2
    for cells in (words, kinds):
        assert sorted(np.round(cells.shares[0], 1)) in ([0.1, 0.9], [0.2, 0.8])


def test_numbers_that_are_missing_or_infinite_are_drawn_as_far_as_they_go() -> None:
    report = audited(coin, x=0, y=1)
    odd = np.array([math.nan, math.inf, 0.0, 1.0])
    cells = cells_of(replace(report, members=None, sample=(odd, odd)))
    assert cells.shares[0].sum() == pytest.approx(0.5)
    alone = np.full(4, math.nan)
    assert cells_of(replace(report, members=None, sample=(alone, alone))).names == ("nan",)
    one = np.zeros(4)
    assert cells_of(replace(report, members=None, sample=(one, one))).shares[0].tolist() == [1.0]


def test_an_event_that_is_no_set_of_numbers_is_not_shaded() -> None:
    report = replace(audited(laplace), edges=None, inside=None, event="the output has 3 digits $x$")
    title, *_, last = texts(report)
    assert title.endswith(r"has 3 digits \$x\$")
    assert last.startswith("promised")


def test_every_report_can_be_written_as_a_file_and_as_svg(tmp_path: Path) -> None:
    for number, report in enumerate(
        [
            audited(laplace),
            audited(laplace, epsilon=1e-9),
            replace(audited(laplace, epsilon=4), epsilon=1e6, delta=1e-5),
            audited(coin, x=0, y=1, epsilon=0),
        ]
    ):
        path = tmp_path / f"{number}.png"
        plot(report, path)
        assert path.read_bytes().startswith(b"\x89PNG")
        drawn = svg(report)
        assert drawn.startswith("<svg")
        assert drawn.rstrip().endswith("</svg>")


def test_letters_that_the_font_lacks_are_no_warning(tmp_path: Path) -> None:
    report = replace(audited(laplace), event="the output is \U0001f40d or \t")
    plot(report, tmp_path / "a.png")
    assert "<svg" in svg(report)


def test_without_outputs_there_is_nothing_to_draw() -> None:
    with pytest.raises(ValueError, match="kept no outputs to draw"):
        plot(replace(audited(laplace), members=None, sample=None))


def test_without_matplotlib_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    report = audited(laplace)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'sordino\[plot\]'"):
        plot(report)


def test_words_of_the_worst_event_are_shaded() -> None:
    turn = itertools.count()

    def word(data: int) -> str:
        return ("yes", "yes", "no", "perhaps")[next(turn) % 4] if data else "perhaps"

    cells = cells_of(so.audit(word, 1, 0, epsilon=1, runs=2_000))
    assert cells.names is not None
    marked = {
        name
        for place, name in enumerate(cells.names)
        if any(a <= place <= b for a, b in cells.worst)
    }
    assert marked == {"'yes'", "'no'"}


def test_the_event_ends_between_two_whole_numbers() -> None:
    def rounded(rng: np.random.Generator, data: int, runs: int) -> Any:
        return data + np.round(rng.laplace(0, 1.5, runs))

    report = audited(rounded, epsilon=0.3)
    assert report.event in {"the output is less than 3", "the output is at least 3"}
    cells = cells_of(report)
    ((start, end),) = cells.worst
    assert 2.5 in (start, end)
    assert {start, end} <= {2.5, cells.edges[0], cells.edges[-1]}


def test_an_axis_of_last_bits_says_so() -> None:
    report = audited(laplace, x=0, y=1, epsilon=3.0)
    assert "last binary digit" in report.event
    _, below, *_ = texts(report)
    assert below == "where the last binary digit of the output stands, as a power of two"


def test_each_input_keeps_its_colour_whichever_is_likelier() -> None:
    found = {}
    for x, y in ((3, 2), (2, 3)):
        report = audited(laplace, x=x, y=y)
        figure = Figure()
        draw(report, figure.subplots())
        (legend,) = figure.legends
        colours = [mark.get_facecolor() for mark in legend.get_patches()]
        found[report.order] = dict(zip(report.order, colours, strict=False))
    assert len({tuple(one[side] for side in report.order) for one in found.values()}) == 1
    assert len(found) == 2
