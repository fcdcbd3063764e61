# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the sparse vector technique: four published variants that are wrong, and a fifth.

Data are the answers to the queries, each of sensitivity 1; the threshold is 0. The variants are
numbered as in Lyu, Su and Li (2017). An output is one column a query: 1 above, 0 below, -1 not
asked any more; or a place and a value. The probabilities in the docstrings are integrals over the
noise of the threshold, computed on a fine grid.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.auditing.audit.fixture import Fixture, on_grid


def _tests(
    generator: np.random.Generator, queries: Any, runs: int, threshold: float, query: float
) -> npt.NDArray[np.bool_]:
    """Whether each query is above, with noise of these scales; no noise at scale 0."""
    level = generator.laplace(0, threshold, (runs, 1))
    noise = generator.laplace(0, query, (runs, len(queries))) if query else 0.0
    return np.asarray(np.asarray(queries) + noise >= level)


def _cut(above: npt.NDArray[np.bool_], positives: int) -> npt.NDArray[np.int8]:
    """Answers up to the last of the positives that are allowed; -1 after it."""
    before: npt.NDArray[np.int64] = np.cumsum(above, axis=1) - above
    return np.where(before < positives, above.astype(np.int8), np.int8(-1))


def _valued(
    generator: np.random.Generator, queries: Any, runs: int, scales: tuple[float, float, float]
) -> Any:
    """The place of the first query above and a noisy value; a third scale 0 reuses the test's."""
    threshold, query, fresh = scales
    values = np.asarray(queries) + generator.laplace(0, query, (runs, len(queries)))
    above = values >= generator.laplace(0, threshold, (runs, 1))
    place = np.where(above.any(axis=1), above.argmax(axis=1), len(queries))
    shown = np.column_stack([values, np.zeros(runs)])
    if fresh:
        shown = np.append(queries, 0) + generator.laplace(0, fresh, shown.shape)
    told = shown[np.arange(runs), place]
    return np.column_stack([place.astype(np.float64), on_grid(told)])


def third_variant(generator: np.random.Generator, queries: Any, runs: int) -> Any:
    """Releases the noisy value that passed the test, which tells that the level was below it.

    Six queries 0 (or 1) and one 0 (or -1): place 6 with a value up to 0.9 has 8.4e-4 and 3.0e-5,
    a loss of 3.31; it grows with the number of queries.
    """
    return _valued(generator, queries, runs, (2.0, 2.0, 0.0))


def value_with_fresh_noise(generator: np.random.Generator, queries: Any, runs: int) -> Any:
    """Releases the value with fresh noise: thirds for the level, the test and the value."""
    return _valued(generator, queries, runs, (3.0, 6.0, 3.0))


POSITIVES = 2


def fourth_variant(generator: np.random.Generator, queries: Any, runs: int) -> Any:
    """Noise of scale 4 and 4/3 whatever the number of positives c: the loss is (1 + 6c)/4.

    Five queries 0 (or 1) and two 1 (or 0): below five times, then above twice, has 0.01176 and
    5.6e-4, a loss of 3.04 of 3.25.
    """
    return _cut(_tests(generator, queries, runs, 4.0, 4 / 3), POSITIVES)


def fifth_variant(generator: np.random.Generator, queries: Any, runs: int) -> Any:
    """No noise on the queries: (0, 1) can be below, above, and (1, 0) can not."""
    return _tests(generator, queries, runs, 2.0, 0.0).astype(np.int8)


def sixth_variant(generator: np.random.Generator, queries: Any, runs: int) -> Any:
    """No limit on the positives: four queries 0 (or 1) and four 0 (or -1).

    Below four times, then above four times, has 1.6e-3 and 4.6e-5, a loss of 3.55; it grows with
    the number of queries.
    """
    return _tests(generator, queries, runs, 2.0, 2.0).astype(np.int8)


def one_positive(generator: np.random.Generator, queries: Any, runs: int) -> Any:
    """Scales 2 and 4 with one positive lose 1 at most."""
    return _cut(_tests(generator, queries, runs, 2.0, 4.0), 1)


def two_positives(generator: np.random.Generator, queries: Any, runs: int) -> Any:
    """Scales 2 and 8 with two positives lose 1 at most."""
    return _cut(_tests(generator, queries, runs, 2.0, 8.0), POSITIVES)


def noise_for_monotone_queries(generator: np.random.Generator, queries: Any, runs: int) -> Any:
    """Scales 2 and 2 with one positive are for queries that move the same way.

    Five queries 0 (or 1) and one 1 (or 0): below five times, then above, has 0.0382 and 0.00908, a
    loss of 1.438; the limit is 1.5.
    """
    return _cut(_tests(generator, queries, runs, 2.0, 2.0), 1)


FIXTURES = [
    Fixture(
        "sparse vector, variant 3",
        third_variant,
        value_with_fresh_noise,
        (0,) * 6 + (0,),
        (1,) * 6 + (-1,),
        1.0,
    ),
    Fixture(
        "sparse vector, variant 4",
        fourth_variant,
        two_positives,
        (0,) * 5 + (1, 1),
        (1,) * 5 + (0, 0),
        1.0,
        loss=(1 + 6 * POSITIVES) / 4,
    ),
    Fixture("sparse vector, variant 5", fifth_variant, one_positive, (0, 1), (1, 0), 1.0),
    Fixture(
        "sparse vector, variant 6",
        sixth_variant,
        one_positive,
        (0,) * 8,
        (1,) * 4 + (-1,) * 4,
        1.0,
    ),
    Fixture(
        "monotone noise, queries that move both ways",
        noise_for_monotone_queries,
        one_positive,
        (0,) * 5 + (1,),
        (1,) * 5 + (0,),
        1.0,
        loss=1.5,
    ),
]
