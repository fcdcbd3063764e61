# SPDX-License-Identifier: Apache-2.0
"""The laws that sordino verifies itself by are those that its samplers were tested against."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from sordino import AboveThreshold, BestOf, KeySelection, Laplace, PrivateBounds, ProposeTestRelease
from sordino.auditing.own import laws as own_laws
from sordino.mechanisms.smooth import Smooth
from tests.mechanisms.contract import cases
from tests.mechanisms.unit import test_bounds as ends
from tests.mechanisms.unit import test_propose_test_release as proposals
from tests.mechanisms.unit.smooth import laws as smooth_laws
from tests.release.contract import releases


def near(expected: Any) -> Any:
    return pytest.approx(expected, rel=1e-10, abs=1e-14)


def examples(kind: type) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("release", releases.EXAMPLES[kind], ids=repr)


KEYS = [
    release
    for release in releases.EXAMPLES[KeySelection]
    if release.mechanism.method != "gaussian" and release.mechanism.groups == 1
]
UPPER = [
    release for release in releases.EXAMPLES[PrivateBounds] if release.mechanism.side == "upper"
]


@pytest.mark.parametrize("mechanism", cases.ON_INTEGERS, ids=repr)
def test_whole_noise_has_the_law_of_the_contract(mechanism: Any) -> None:
    reach = int(cases.width_of(mechanism)) + 10
    noise = cases.law(mechanism, reach)
    if isinstance(mechanism, Laplace):
        found = own_laws.laplace_law(mechanism)(2)
        inside = [found[(place,)] for place in range(-8, 9)]
        assert inside == near(noise[reach - 10 : reach + 7].tolist())
        assert found[(9,)] == near(noise[reach + 7 :].sum())
        assert found[(-9,)] == near(noise[: reach - 10].sum())
    else:
        found = own_laws.gaussian_law(mechanism)(2)
        assert [found[place] for place in range(-2, 7)] == near(
            noise[reach - 4 : reach + 5].tolist()
        )


@examples(AboveThreshold)
def test_the_sparse_vector_technique_has_the_law_of_the_contract(release: Any) -> None:
    law = own_laws.threshold_law(release.mechanism)
    for queries in product((-2, 0, 1), repeat=3):
        expected = release.law(release.mechanism, queries)
        assert law(queries) == near(expected)


@examples(Smooth)
def test_smooth_noise_has_the_law_of_the_contract(release: Any) -> None:
    law = own_laws.smooth_law(release.mechanism)
    for value, bound in ((0, 1), (2, 0.5), (4, 3.75)):
        expected = smooth_laws.law(release.mechanism, value, bound)
        assert list(law((value, bound)).values()) == near(list(expected.values()))


@examples(ProposeTestRelease)
def test_proposals_have_the_law_of_the_contract(release: Any) -> None:
    law = own_laws.proposal_law(release.mechanism)
    for value, distance in ((0, 0), (1, 2), (6, 5)):
        found = law((value, distance))
        refused, *told = map(float, proposals.law(release.mechanism, value, distance, 60))
        assert found[None] == near(refused)
        assert [found[place] for place in range(-8, 9)] == near(told[52:69])


@pytest.mark.parametrize("release", KEYS, ids=repr)
def test_keys_have_the_law_of_the_contract(release: Any) -> None:
    law, least = own_laws.key_law(release.mechanism), release.mechanism.threshold
    for units in range(12):
        found, expected = law(units), releases._of_key(release.mechanism, units)
        if least is None:
            assert found == near(expected)
        else:
            assert found[-1] == near(expected[None])
            inside = range(least, least + 12)
            assert [found[told] for told in inside] == near([expected[told] for told in inside])


@pytest.mark.parametrize("release", UPPER, ids=repr)
def test_upper_bounds_have_the_law_of_the_contract(release: Any) -> None:
    law = own_laws.upper_law(release.mechanism, ends.VALUES)
    for data in ((), (0.5, 0.5, 100.0), (-3.0, 1.0, 1.0, 1.0)):
        expected = release.law(release.mechanism, data)
        by_size = [expected[told] for told in sorted(expected, key=lambda told: -told[1])]
        assert list(law(data).values()) == near(by_size)


def test_the_best_of_several_has_the_law_of_the_contract() -> None:
    release = releases.EXAMPLES[BestOf][0]
    law = own_laws.best_law(release.mechanism, releases.RUN.probabilities)
    for scores in ((0, 0, 0), (1, 0, 3)):
        expected = release.law(release.mechanism, scores)
        assert expected.pop(None) == 0
        assert law(scores) == near(expected)
