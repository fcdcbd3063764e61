# SPDX-License-Identifier: Apache-2.0
"""Local protocols on many people: coverage of the intervals and squared errors.

All draws are seeded; a wrong protocol would fail, and a right one fails for at most one seed in a
million.
"""

import numpy as np
import pytest
from scipy.stats import binom, chi2

from sordino.local import Hadamard, Hashing, Protocol, Response, Subset, Unary
from tests.support.seeded import SeededBits
from tests.support.tape import replay

ALPHA = 1e-6
MANY = [
    Response(12, epsilon=1),
    Response(5_000, epsilon=4),  # so many categories that a coin is tossed first
    Unary(12, epsilon=1),
    Unary(12, epsilon=1, optimised=False),
    Hadamard(12, epsilon=1),
    Subset(12, epsilon=1),
    Hashing(12, epsilon=1),
]


def people(k: int, many: int) -> np.ndarray:
    """Some people of each category, with frequencies that fall as in Zipf's law."""
    shares = 1 / np.arange(1, k + 1)
    ends = np.round(np.cumsum(shares / shares.sum()) * many).astype(int)
    return np.repeat(np.arange(k), np.diff(ends, prepend=0))


@pytest.mark.parametrize("protocol", MANY, ids=repr)
def test_intervals_cover_the_truth_as_often_as_they_say(protocol: Protocol) -> None:
    """300 surveys of 200 people; a category that all surveys share is looked at in each."""
    runs, confidence = 300, 0.9
    values = people(len(protocol.domain), 200)
    truth = (values == 0).mean()
    client, missed = protocol.client(), 0
    with replay(SeededBits(20)):
        for _ in range(runs):
            server = protocol.server()
            server.add(client.encode(values))
            found = server.estimate(confidence=confidence)
            missed += not found.low[0] <= truth <= found.high[0]
    assert missed <= binom.ppf(1 - ALPHA, runs, 1 - confidence)


@pytest.mark.parametrize("protocol", MANY, ids=repr)
def test_squared_errors_are_those_that_are_predicted(protocol: Protocol) -> None:
    """The errors of categories, each over its standard error, squared and added up."""
    values = people(len(protocol.domain), 60_000)
    truth = np.bincount(values, minlength=len(protocol.domain)) / values.size
    server = protocol.server()
    with replay(SeededBits(21)):
        for reports in protocol.client().stream(values):
            server.add(reports)
    errors = server.estimate().frequencies - truth
    spread = [float(protocol.variance(share)) / values.size for share in truth.tolist()]
    scaled = float((errors**2 / spread).sum())
    # Errors of two categories are correlated by about -1/k, so this is nearly chi-squared.
    assert chi2.ppf(ALPHA, 0.6 * truth.size) < scaled < chi2.ppf(1 - ALPHA, 1.6 * truth.size)
