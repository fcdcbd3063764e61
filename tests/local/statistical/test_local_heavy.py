# SPDX-License-Identifier: Apache-2.0
"""Heavy hitters keep what they promise, and their reports have the law that is proved private.

A false alarm of a search has a chance of at most 1e-8 for each run, as the confidence says; the
tape is seeded.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from sordino.local.heavy import HeavyHitters
from tests.support.frequencies import assert_fits
from tests.support.seeded import SeededBits
from tests.support.tape import replay

SURE = 1 - Fraction(1, 10**8)
PROTOCOLS = [
    HeavyHitters(epsilon=4, length=5, alphabet="abcdefgh", least=0.01),
    HeavyHitters(epsilon=2, length=4, alphabet="abcdefgh", least=0.02, step=2),
    HeavyHitters(epsilon=3, length=6, alphabet="abcdefgh", least=0.01, prime=65_521, step=2),
]


def zipf_words(protocol: HeavyHitters, people: int, seed: int) -> tuple[list[str], np.ndarray]:
    """Distinct words of every length, many sharing prefixes, and how many hold each."""
    rng = np.random.default_rng(seed)
    letters, longest = protocol.domain.alphabet, protocol.domain.length
    every: set[str] = set()
    while len(every) < 400:
        every.add("".join(rng.choice(list(letters), rng.integers(longest + 1))))
    words = sorted(every)
    rng.shuffle(words)
    weights = 1 / np.arange(1, 401) ** 1.5
    return words, rng.multinomial(people, weights / weights.sum())


def keeps_its_promise(protocol: HeavyHitters, people: int, seed: int) -> None:
    words, counts = zipf_words(protocol, people, seed)
    shares = dict(zip(words, counts / people, strict=True))
    with replay(SeededBits(seed)):
        reports = protocol.client().encode(np.repeat(words, counts))
    server = protocol.server()
    server.add(reports)
    found = server.estimate(confidence=SURE)
    stated = protocol.threshold(people, confidence=SURE)
    assert {word for word, share in shares.items() if share >= stated} <= set(found.labels)
    assert sum(share >= stated for share in shares.values()) >= 1
    assert found.threshold <= stated
    assert not found.crowded
    for line in found:
        share = shares.get(str(line.label), 0.0)
        assert share > protocol.least
        assert line.low <= share <= line.high


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
@pytest.mark.parametrize("seed", range(8))
def test_all_words_above_the_threshold_are_found_and_none_below_the_least_share(
    protocol: HeavyHitters, seed: int
) -> None:
    keeps_its_promise(protocol, 60_000, seed)


@pytest.mark.soak
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
@pytest.mark.parametrize("seed", range(100, 200))
def test_promises_are_kept_in_many_more_searches(protocol: HeavyHitters, seed: int) -> None:
    keeps_its_promise(protocol, 200_000, seed)


@pytest.mark.parametrize("word", ["", "a", "ba"])
def test_reports_are_drawn_from_the_law_that_is_proved_private(word: str) -> None:
    protocol = HeavyHitters(epsilon=1, length=2, alphabet="ab", prime=3)
    odds, buckets = protocol.hashing.odds, protocol.hashing.buckets
    edges = [y * 3 // buckets for y in range(buckets + 1)]
    law = {}
    ranges = [range(2), *[range(3)] * 3, range(buckets)]
    for place, report in enumerate(itertools.product(*ranges)):
        level, a, b, start, bucket = report
        symbols = [*("ab".index(letter) + 1 for letter in word), 0, 0]
        value = (a * symbols[0] + (b * symbols[1] if level else 0) + start) % 3
        inside = edges[bucket] <= value < edges[bucket + 1]
        law[place] = float((odds if inside else 1) / (odds + buckets - 1) / (2 * 27))
    with replay(SeededBits(3)):
        data = protocol.client().encode([word] * 20_000).data
    shape = [len(r) for r in ranges]
    assert_fits(np.ravel_multi_index(tuple(data.T.astype(np.int64)), shape).tolist(), law)
