# SPDX-License-Identifier: Apache-2.0
"""Observed frequencies against an exact law: a G-test with a false-alarm rate of 1e-6."""

from collections import Counter
from collections.abc import Iterable, Mapping

from scipy.special import chdtri, xlogy

ALPHA = 1e-6
_FEWEST = 15.0  # draws expected in a cell; cells that expect fewer are put together


def assert_fits(drawn: Iterable[int], law: Mapping[int, float]) -> None:
    """Fail if the draws are not from this law, or if one of them has probability 0."""
    seen = Counter(drawn)
    total = seen.total()
    assert abs(sum(law.values()) - 1) < 1e-9
    assert all(law.get(outcome, 0) > 0 for outcome in seen)
    cells, rest = [], [0.0, 0.0]
    for outcome, share in law.items():
        if share * total >= _FEWEST:
            cells.append((float(seen[outcome]), share * total))
        else:
            rest = [rest[0] + seen[outcome], rest[1] + share * total]
    if rest[1] >= _FEWEST:
        cells.append((rest[0], rest[1]))
    elif cells:
        seen_there, expected = cells.pop()
        cells.append((seen_there + rest[0], expected + rest[1]))
    assert len(cells) > 1
    statistic = 2 * sum(
        xlogy(observed, observed / expected) - (observed - expected) for observed, expected in cells
    )
    assert statistic < chdtri(len(cells) - 1, ALPHA)
