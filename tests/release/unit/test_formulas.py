# SPDX-License-Identifier: Apache-2.0
import random
from fractions import Fraction

import numpy as np

from sordino.plan.aggregates import Mean, Spread
from sordino.plan.intervals import Span

MEAN = Mean(total=0, count=1, offset=Fraction(50), low=Fraction(0), high=Fraction(100))


def span(*triples: tuple[float, float, float]) -> Span:
    return Span(*(np.array(column, dtype=np.float64) for column in zip(*triples, strict=True)))


def test_a_mean_is_the_offset_and_the_quotient() -> None:
    found = MEAN.value(span((-100, -120, -80)), span((10, 8, 12)))
    assert found.value.tolist() == [40.0]
    assert np.isclose(found.low[0], 50 - 120 / 8)
    assert np.isclose(found.high[0], 50 - 80 / 12)


def test_where_the_count_may_be_0_the_interval_of_a_mean_is_the_public_range() -> None:
    found = MEAN.value(span((3, -20, 30), (1, 0, 2)), span((1, -1, 3), (-2, -4, 0)))
    assert found.low.tolist() == [0.0, 0.0]
    assert found.high.tolist() == [100.0, 100.0]
    assert found.value.tolist() == [53.0, 50.0]


def test_intervals_hold_every_mean_and_variance_that_their_totals_allow() -> None:
    draw = random.Random(3)  # noqa: S311 - test data
    plain = Spread(0, 1, 2, low=Fraction(0), high=Fraction(100), root=False)
    rooted = Spread(0, 1, 2, low=Fraction(0), high=Fraction(100), root=True)
    for _ in range(2000):
        values = [draw.uniform(-50, 50) for _ in range(draw.randint(1, 9))]
        exact = (sum(values), sum(x * x for x in values), len(values))
        spans = []
        for x in exact:
            far = draw.choice([0.0, 0.5, 3.0, 400.0])
            noisy = x + draw.uniform(-far, far)
            spans.append(span((noisy, noisy - far - 1e-9, noisy + far + 1e-9)))
        total, square, count = spans
        middle = exact[0] / exact[2]
        variance = exact[1] / exact[2] - middle**2
        found = MEAN.value(total, count)
        assert found.low[0] <= 50 + middle <= found.high[0]
        for formula, truth in ((plain, variance), (rooted, max(variance, 0) ** 0.5)):
            wide = formula.value(total, square, count)
            assert wide.low[0] <= truth + 1e-9
            assert wide.high[0] >= truth - 1e-9
            assert 0 <= wide.low[0] <= wide.value[0] <= wide.high[0]


def test_a_variance_is_never_more_than_its_public_range_allows() -> None:
    formula = Spread(0, 1, 2, low=Fraction(0), high=Fraction(10), root=False)
    found = formula.value(span((0, -1, 1)), span((1e9, 1e9, 1e9)), span((2, 1, 3)))
    assert (found.value[0], found.high[0]) == (25.0, 25.0)
