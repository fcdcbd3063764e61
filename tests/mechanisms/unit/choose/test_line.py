# SPDX-License-Identifier: Apache-2.0
"""The exponential mechanism on a line without end: its law, its draws, its privacy, refusals."""

import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sordino as so
from sordino import Exponential, Laplace, Line, choose_in
from sordino.mechanisms.choose.interval import OnLine, Slope
from tests.support.frequencies import assert_fits
from tests.support.seeded import SeededBits
from tests.support.tape import replay

FAR = 400
Law = dict[int, float]


def weights(
    line: Line,
    breaks: list[Any],
    scores: list[Any],
    rate: Any,
    *,
    falls: Any = 0,
    closed: str = "left",
) -> dict[int, Any]:
    """The weight of each place between -FAR and FAR, from the definition."""
    found = {}
    for place in range(-FAR, FAR + 1):
        y = place * line.step
        piece = sum(b <= y if closed == "left" else b < y for b in breaks)
        score = Fraction(scores[piece])
        if falls and piece == 0:
            score -= falls * (breaks[0] - y)
        if falls and piece == len(breaks):
            score -= falls * (y - breaks[-1])
        exponent = rate * score
        if line.centre is not None and line.scale is not None:
            exponent -= abs(y - line.centre) / line.scale
        found[place] = mpmath.exp(mpmath.mpf(exponent.numerator) / exponent.denominator)
    return found


def law(*arguments: Any, **options: Any) -> Law:
    found = weights(*arguments, **options)
    whole = mpmath.fsum(found.values())
    return {place: float(weight / whole) for place, weight in found.items()}


BASED = Line(centre=Fraction(1, 3), scale=2)
CASES: list[tuple[Line, list[Any], list[Any], dict[str, Any]]] = [
    (BASED, [], [5], {}),
    (BASED, [-2, 3], [0, 1, 2], {}),
    (BASED, [0, 0, 1], [4, 9, 1, 3], {"closed": "right"}),
    (BASED, [-40, 60], [8, 0, 30], {}),
    (Line(), [2], [0, 0], {"falls": Fraction(1, 2)}),
    (Line(), [-3, Fraction(1, 2), 4], [0, 2, 1, Fraction(-1, 3)], {"falls": 2}),
    (Line(step=3), [-4, 6], [1, 0, 2], {"falls": Fraction(1, 8), "closed": "right"}),
    (Line(step=0.25, centre=-1, scale=Fraction(3, 2)), [-2, 0.125], [0, 1, -1], {}),
    (Line(centre=10, scale=8), [-5, 3], [0, 1, 0], {"falls": Fraction(1, 4)}),
    (Line(centre=-10, scale=1), [-5, 3], [0, 1, 0], {"falls": 3}),
]


@pytest.mark.parametrize(("line", "breaks", "scores", "options"), CASES, ids=str)
def test_slopes_have_the_weights_of_the_definition(
    line: Line, breaks: list[Any], scores: list[Any], options: dict[str, Any]
) -> None:
    rate = Fraction(3, 4)
    expected = weights(line, breaks, scores, rate, **options)
    on_line = OnLine(
        line, [Fraction(b) for b in breaks], [Fraction(s) for s in scores], rate=rate,
        falls=Fraction(options.get("falls", 0)), after=options.get("closed") == "right",
    )  # fmt: skip
    best = Fraction(max(scores))
    top = mpmath.exp(mpmath.mpf((rate * best).numerator) / (rate * best).denominator)
    seen: dict[int, Any] = {}
    for slope in on_line.slopes:
        for distance in range(min(slope.size or 2 * FAR, 2 * FAR)):
            place = slope.start + slope.direction * distance
            assert place not in seen
            exponent = slope.floor + slope.rate * distance
            seen[place] = top * mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator)
    for place, weight in expected.items():
        assert abs(seen[place] / weight - 1) < 1e-12
    ends = [slope for slope in on_line.slopes if slope.size is None]
    assert sorted(slope.direction for slope in ends) == [-1, 1]
    assert all(slope.rate > 0 for slope in ends)


@pytest.mark.parametrize(("line", "breaks", "scores", "options"), CASES, ids=str)
def test_draws_fit_the_law(
    line: Line, breaks: list[Any], scores: list[Any], options: dict[str, Any]
) -> None:
    expected = law(line, breaks, scores, Fraction(1, 2), **options)
    with replay(SeededBits(31)):
        drawn = [
            choose_in(line, breaks, scores, sensitivity=1, epsilon=1, **options)
            for _ in range(3000)
        ]
    assert {type(y) for y in drawn} == {int if line.whole else float}
    places = [Fraction(y) / line.step for y in drawn]
    assert all(place.denominator == 1 for place in places)
    assert_fits([place.numerator for place in places], expected)


@pytest.mark.parametrize(
    "slope",
    [
        Slope(0, 1, None, Fraction(0), Fraction(1, 3)),
        Slope(5, -1, None, Fraction(0), Fraction(7, 2)),
        Slope(0, 1, 20, Fraction(0), Fraction(2, 3)),
        Slope(0, 1, 3, Fraction(0), Fraction(1, 5)),
        Slope(2, -1, 9, Fraction(0), Fraction(0)),
    ],
    ids=repr,
)
def test_a_slope_draws_each_point_with_its_weight_over_the_count(slope: Slope) -> None:
    bits, draws = SeededBits(7), 4000
    drawn = [slope.draw(bits) for _ in range(draws)]
    expected: dict[Any, float] = {}
    for distance in range(min(slope.size or 200, 200)):
        place = slope.start + slope.direction * distance
        expected[place] = math.exp(-float(slope.rate) * distance) / slope.count
    expected[None] = max(1 - math.fsum(expected.values()), 0.0)
    assert_fits(drawn, expected)  # type: ignore[arg-type]
    assert expected[None] < 0.75


# Privacy: all data of up to three records from 0 to 3, for both relations.

RECORDS = range(4)


def pairs(relation: str) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    found = []
    for size in range(4):
        for data in combinations_with_replacement(RECORDS, size):
            if relation == "add_remove" and size < 3:
                found += [(data, tuple(sorted((*data, other)))) for other in RECORDS]
            if relation == "replace_one":
                for place in range(size):
                    rest = (*data[:place], *data[place + 1 :])
                    found += [(data, tuple(sorted((*rest, other)))) for other in RECORDS]
    return [(one, other) for one, other in found if one != other]


def worst(relation: str, of: Callable[[tuple[int, ...]], Law]) -> tuple[float, float]:
    """The largest loss of all pairs, and the widest range of the losses of a pair."""
    known: dict[tuple[int, ...], Any] = {}

    def logs(data: tuple[int, ...]) -> Any:
        if data not in known:
            known[data] = np.log(np.array([*of(data).values()]))
        return known[data]

    losses = [logs(one) - logs(other) for one, other in pairs(relation)]
    return (
        max(float(np.abs(loss).max()) for loss in losses),
        max(float(loss.max() - loss.min()) for loss in losses),
    )


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_ranks_on_a_line_with_a_base_are_private(relation: str, epsilon: Fraction) -> None:
    """The score of y is minus how far its rank is from the middle one, which moves by 1."""

    def of(data: tuple[int, ...]) -> Law:
        half = Fraction(len(data), 2)
        scores = [-abs(rank - half) for rank in range(len(data) + 1)]
        return law(BASED, [*data], scores, epsilon / 2)

    loss, width = worst(relation, of)
    assert loss <= float(epsilon) * (1 + 1e-9)
    assert float(epsilon) / 4 < width <= float(epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_scores_that_fall_are_private(relation: str) -> None:
    """The score -abs(y - sum of the records) / 3 moves by at most 1 everywhere."""
    epsilon = Fraction(1)

    def of(data: tuple[int, ...]) -> Law:
        return law(Line(), [sum(data)], [0, 0], epsilon / 2, falls=Fraction(1, 3))

    loss, width = worst(relation, of)
    assert loss <= float(epsilon) * (1 + 1e-9)
    assert width == pytest.approx(float(epsilon))


def test_the_score_of_a_distance_is_the_laplace_mechanism() -> None:
    """Twice the epsilon, since its normaliser is the same for all data."""
    found = law(Line(), [3], [0, 0], Fraction(1, 2), falls=1)
    laplace = Laplace(sensitivity=1, epsilon=0.5)
    for place in range(-20, 25):
        assert found[place] == pytest.approx(laplace.pmf(place - 3), rel=1e-12)


def test_the_accuracy_is_that_of_as_many_candidates_as_the_best_ones_are_rare() -> None:
    """With a base the share of the best points takes the place of one over their number."""
    rate = Fraction(1, 2)
    base = law(BASED, [], [0], rate)
    for breaks, scores in (([-2, 3], [0, 20, 5]), ([4, 6], [0, 30, 0]), ([0, 1], [3, 9, 7])):
        found = law(BASED, breaks, scores, rate)
        gap = {p: max(scores) - scores[sum(b <= p for b in breaks)] for p in found}
        share = math.fsum(base[p] for p in base if gap[p] == 0)
        for confidence in (0.5, 0.9, 0.99):
            limit = Exponential(sensitivity=1, epsilon=1).accuracy(
                confidence=confidence, candidates=math.ceil(1 / share)
            )
            bad = math.fsum(found[p] for p in found if gap[p] >= limit.gap and gap[p])
            assert bad <= 1 - confidence + 1e-12


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_scores_give_weights_that_add_up(data: st.DataObject) -> None:
    breaks = sorted(data.draw(st.lists(st.integers(-30, 30), max_size=4)))
    size = len(breaks) + 1
    scores = data.draw(st.lists(st.integers(-50, 50), min_size=size, max_size=size))
    line = Line(centre=data.draw(st.integers(-30, 30)), scale=data.draw(st.integers(1, 40)))
    on_line = OnLine(
        line, [Fraction(b) for b in breaks], [Fraction(s) for s in scores], rate=Fraction(1, 3),
        falls=Fraction(0), after=False,
    )  # fmt: skip
    assert all(slope.floor >= 0 and slope.rate >= 0 for slope in on_line.slopes)
    assert all(slope.rate > 0 or slope.size is not None for slope in on_line.slopes)
    sizes = [slope.size for slope in on_line.slopes]
    assert sizes.count(None) == 2
    assert all(size is None or size > 0 for size in sizes)
    with replay(SeededBits(3)):
        assert isinstance(line.point(on_line.draw(SeededBits(9))), int)


def test_huge_and_tiny_numbers_are_drawn_too() -> None:
    wide = choose_in(Line(centre=0, scale=10**100), [0], [0, 0], sensitivity=1, epsilon=1)
    assert isinstance(wide, int)
    tiny = choose_in(Line(step=1e-100), [0.5], [0, 0], falls=1e-100, sensitivity=1, epsilon=1e-50)
    assert math.isfinite(tiny)
    far = choose_in(Line(), [10**200], [0, 0], falls=10**50, sensitivity=1, epsilon=10)
    assert far == 10**200
    beyond = choose_in(Line(step=1e150), [10**400], [0, 0], falls=1, sensitivity=1, epsilon=1)
    assert beyond == 1.7976931348623157e308


@pytest.mark.parametrize(
    ("line", "breaks", "options", "match"),
    [
        (Line(), [0], {}, "on a line without end the weights must add up"),
        (Line(), [], {"falls": 1}, "need at least one break"),
        (Line(), [0], {"falls": 0}, "falls must be a positive number"),
        (Line(), [1, 0], {"falls": 1}, "breaks must be finite numbers that do not decrease"),
        (so.Interval(0, 5), [1], {"falls": 1}, "leave falls out"),
    ],
)
def test_what_has_no_law_is_refused(
    line: Any, breaks: list[int], options: dict[str, Any], match: str
) -> None:
    scores = [0] * (len(breaks) + 1)
    with pytest.raises(ValueError, match=match):
        choose_in(line, breaks, scores, sensitivity=1, epsilon=1, **options)


def test_whoever_asks_for_infinite_bounds_is_told_of_the_line() -> None:
    with pytest.raises(ValueError, match=r"so\.Line"):
        so.Interval(0, math.inf)
    with pytest.raises(TypeError, match=r"so\.Line"):
        so.Integers(None, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="an Interval or a Line"):
        choose_in((0, 1), [], [0], sensitivity=1, epsilon=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "line", [Line(), Line(step=2.0), Line(step=0.5, centre=-1.5, scale=3), Line(centre=0, scale=1)]
)
def test_a_line_prints_and_travels_as_it_was_made(line: Line) -> None:
    assert eval(repr(line)) == line  # noqa: S307 - our own repr
    assert pickle.loads(pickle.dumps(line)) == line  # noqa: S301 - ours
