# SPDX-License-Identifier: Apache-2.0
"""Choosing in one line: which mechanism is used, with which law, and what is refused."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sordino.mechanisms.choose import (
    Exponential,
    Generalised,
    Integers,
    NoisyMax,
    PermuteAndFlip,
    Product,
    Strings,
    choose,
)
from tests.support.frequencies import assert_fits
from tests.support.seeded import SeededBits
from tests.support.tape import replay

NAMES = ["a", "b", "c"]
SCORES = [3, 1, 4]
DRAWS = 800


def draws(*arguments: Any, **options: Any) -> list[Any]:
    with replay(SeededBits(20269)):
        return [choose(*arguments, **options) for _ in range(DRAWS)]


def named(law: Any) -> dict[Any, float]:
    shares = np.asarray(law) / np.sum(law)
    return dict(zip(NAMES, shares.tolist(), strict=True))


@pytest.mark.parametrize(
    ("options", "mechanism"),
    [
        ({}, PermuteAndFlip(sensitivity=1, epsilon=1)),
        ({"monotone": True}, PermuteAndFlip(sensitivity=1, epsilon=1, monotone=True)),
        ({"sensitivity": 2, "spread": 3}, PermuteAndFlip(sensitivity=2, epsilon=1, spread=3)),
        ({"uses": 2}, Exponential(sensitivity=1, epsilon=1)),
        ({"mechanism": "exponential"}, Exponential(sensitivity=1, epsilon=1)),
        (
            {"mechanism": "exponential", "monotone": True},
            Exponential(sensitivity=1, epsilon=1, monotone=True),
        ),
        ({"mechanism": "permute_and_flip", "uses": 9}, PermuteAndFlip(sensitivity=1, epsilon=1)),
        ({"mechanism": "noisy_max"}, NoisyMax(sensitivity=1, epsilon=1, noise="laplace")),
        ({"noise": "laplace"}, NoisyMax(sensitivity=1, epsilon=1, noise="laplace")),
        ({"noise": "gumbel"}, Exponential(sensitivity=1, epsilon=1)),
        (
            {"noise": "exponential", "mechanism": "noisy_max"},
            PermuteAndFlip(sensitivity=1, epsilon=1),
        ),
        ({"sensitivity": [1, 2, 1]}, Generalised(sensitivities=[1, 2, 1], epsilon=1)),
        (
            {"sensitivity": np.array([1, 2, 1]), "uses": 5},
            Generalised(sensitivities=[1, 2, 1], epsilon=1, mechanism="exponential"),
        ),
    ],
    ids=str,
)
def test_the_options_name_the_mechanism(options: dict[str, Any], mechanism: Any) -> None:
    assert_fits(draws(NAMES, SCORES, epsilon=1, **options), named(mechanism.probabilities(SCORES)))


@pytest.mark.parametrize("options", [{}, {"mechanism": "exponential"}], ids=str)
def test_a_base_is_a_public_prior(options: dict[str, Any]) -> None:
    base = [1, 5, 0]
    law = Exponential(sensitivity=1, epsilon=1).probabilities(SCORES, base=base)
    drawn = draws(NAMES, SCORES, epsilon=1, base=base, **options)
    assert_fits(drawn, {name: p for name, p in named(law).items() if p})


NAMED: list[Any] = [
    {"c": 1, "a": 2, "b": 30},
    pd.Series({"c": 1, "b": 30, "a": 2}),
    pd.Series([2, 30, 1]),
    pd.Series([2, 30, 1], index=["a", "b", "c"]),
    np.array([2, 30, 1]),
]


@pytest.mark.parametrize("given", NAMED, ids=range(5))
def test_sensitivities_and_weights_go_by_name_where_they_have_names(given: Any) -> None:
    """Read by its keys, in its own order, a dict would give a candidate the number of another."""
    law = Generalised(sensitivities=[2, 30, 1], epsilon=1).probabilities(SCORES)
    assert_fits(draws(NAMES, SCORES, epsilon=1, sensitivity=given), named(law))
    law = Exponential(sensitivity=1, epsilon=1).probabilities(SCORES, base=[2, 30, 1])
    assert_fits(draws(NAMES, SCORES, epsilon=1, base=given), named(law))


def test_a_dict_of_sensitivities_is_not_read_by_its_keys() -> None:
    """With the keys 1, 2, 3 as sensitivities there would be far too little noise."""
    stated = {3: 100, 2: 100, 1: 100}
    law = Generalised(sensitivities=[100] * 3, epsilon=1).probabilities([30, 10, 40])
    drawn = draws([1, 2, 3], [30, 10, 40], epsilon=1, sensitivity=stated)
    assert_fits(drawn, dict(zip([1, 2, 3], law.tolist(), strict=True)))
    row = (length for length in (1, 1, 1))
    assert choose(NAMES, [0, 900, 0], epsilon=1, sensitivity=row) == "b"


def test_row_numbers_are_names_of_candidates_that_are_numbers() -> None:
    heavy = pd.Series([10**9, 1, 1])
    for names in ([2, 0, 1], [0, 1, 2]):
        assert choose(names, [0, 0, 0], epsilon=1, base=heavy) == 0
        assert choose(names, SCORES, epsilon=1, sensitivity=heavy) in names
    with pytest.raises(ValueError, match="base must name every candidate, and nothing else"):
        choose([1, 2, 3], SCORES, epsilon=1, base=heavy)


def test_candidates_of_numpy_have_sensitivities_of_their_own() -> None:
    names = np.array(NAMES)
    for given in ([2, 30, 1], {"a": 2, "b": 30, "c": 1}):
        assert choose(names, [0, 10**6, 0], epsilon=1, sensitivity=given) == "b"


@pytest.mark.parametrize("kind", ["permute_and_flip", "exponential"])
@pytest.mark.parametrize("default", [-2, 1, 3, 6])
def test_an_implicit_domain_has_the_law_of_the_list(kind: Any, default: int) -> None:
    """Scores above, below and equal to the default one; every member by its own name."""
    domain = Product(["f", "m"], Strings("ab", longest=1))
    members: list[Any] = [domain.member(number) for number in range(domain.size)]
    counts = {members[2]: 3, members[0]: 1}
    maker: Any = {"permute_and_flip": PermuteAndFlip, "exponential": Exponential}[kind]
    law = maker(sensitivity=1, epsilon=1).probabilities([counts.get(m, default) for m in members])
    drawn = draws(domain, counts, epsilon=1, default_score=default, mechanism=kind)
    assert_fits(drawn, dict(zip(members, law.tolist(), strict=True)))


@pytest.mark.parametrize("counts", [{}, {0: 7}], ids=str)
def test_an_implicit_domain_may_have_nobody_in_it(counts: dict[int, int]) -> None:
    """An error for empty data would tell that the data are empty."""
    law = PermuteAndFlip(sensitivity=1, epsilon=1).probabilities([counts.get(0, 0), 0, 0])
    for domain, options in ((Integers(0, 2), {}), (None, {"domain_size": 3})):
        drawn = draws(domain, counts, epsilon=1, **options)
        assert_fits(drawn, dict(enumerate(law.tolist())))


def test_a_huge_domain_takes_the_time_of_what_is_listed() -> None:
    counts = {n * 10**12 + 7: 100 + n for n in range(50)}
    with replay(SeededBits(3)):
        found = choose(Integers(0, 10**18), counts, epsilon=10)
        assert found in counts
        assert choose([5, 10**17], [500, 3], domain_size=10**18, epsilon=1) == 5
        assert 0 <= choose([5], [0], domain_size=10**18, epsilon=1) < 10**18


@pytest.mark.parametrize(
    "scores",
    [
        [0, 900, 0],
        np.array([0, 900, 0]),
        pd.Series([0, 900, 0]),
        pl.Series([0.0, 900.0, 0.0]),
        pd.Series({"b": 900}),
        {"b": 900, "a": 1},
        lambda name: 900 if name == "b" else 0,
        [Fraction(1, 3), 900.5, 10**2],
        (score for score in (0, 900, 0)),
    ],
    ids=lambda scores: type(scores).__name__,
)
def test_scores_come_in_many_ways(scores: Any) -> None:
    assert choose(NAMES, scores, epsilon=1) == "b"


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"mechanism": "gaussian"}, ValueError, "mechanism must be one of permute_and_flip, e"),
    ({"noise": "gaussian"}, ValueError, "noise must be one of laplace, gumbel, exponential, got"),
    ({"noise": "laplace", "mechanism": "exponential"}, ValueError, "noise goes with mechanism="),
    ({"base": [1, 1, 1], "mechanism": "noisy_max"}, ValueError, "base goes with mechanism='exp"),
    ({"base": [1, 1, 1], "mechanism": "permute_and_flip"}, ValueError, "base goes with mechanism="),
    ({"base": [1, 1, 1], "noise": "laplace"}, ValueError, "base goes with mechanism='exponential'"),
    ({"base": [1, 1]}, ValueError, "base must have one number for each of 3 candidates, got 2"),
    ({"sensitivity": 0}, ValueError, "sensitivity must be a positive number, got 0"),
    ({"sensitivity": [1, 2]}, ValueError, "sensitivity must have one number for each of 3 cand"),
    ({"sensitivity": {"a": 1, "b": 1}}, ValueError, "sensitivity must name every candidate, and"),
    ({"sensitivity": {1: 1, 2: 1, 3: 1}}, ValueError, "sensitivity must name every candidate, and"),
    ({"sensitivity": {1, 2, 3}}, TypeError, "sensitivity must be a list in the order of the can"),
    ({"sensitivity": {"a": 1, "b": 1, "c": 1}.values()}, TypeError, "sensitivity must be a list i"),
    ({"sensitivity": np.array(1)}, TypeError, "sensitivity must be a list in the order of the c"),
    ({"sensitivity": pd.Series([1, 1, 1], index=["a", "a", "b"])}, ValueError, "a candidate is na"),
    ({"base": {"a": 1, "b": 1, "c": 1, "d": 1}}, ValueError, "base must name every candidate, and"),
    ({"base": {"a": 1, "b": 1, "c": 1}.keys()}, TypeError, "base must be a list in the order of"),
    ({"base": 3}, TypeError, "base must be a list in the order of the candidates, got a value of"),
    ({"default_score": math.nan}, ValueError, "default_score must be a finite number, got nan"),
    ({"sensitivity": [1, 0, 1]}, ValueError, "a sensitivity must be a positive number, got 0"),
    ({"sensitivity": [1, 1, 1], "monotone": True}, ValueError, "a list of sensitivities goes w"),
    ({"sensitivity": [1, 1, 1], "spread": 1}, ValueError, "a list of sensitivities goes w"),
    ({"sensitivity": [1, 1, 1], "base": [1, 1, 1]}, ValueError, "a list of sensitivities goes w"),
    ({"sensitivity": [1, 1, 1], "noise": "laplace"}, ValueError, "a list of sensitivities goes w"),
    ({"sensitivity": "1"}, TypeError, "sensitivity must be a positive number, got '1'"),
    ({"epsilon": math.nan}, ValueError, "epsilon must be a positive number, got nan"),
    ({"epsilon": "1"}, TypeError, "epsilon must be a positive number, got '1'"),
    ({"spread": 3}, ValueError, "spread must be at most twice the sensitivity, which is 2, got 3"),
    ({"monotone": True, "spread": 1}, ValueError, "state either monotone=True or a spread"),
    ({"monotone": 1}, TypeError, "monotone must be True or False, got a value"),
    ({"public_domain": 1}, TypeError, "public_domain must be True or False, got a value"),
    ({"uses": 0}, ValueError, "uses must be a positive whole number, got 0"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "error", "message"), REFUSED, ids=lambda case: str(case)[:50])
def test_options_that_do_not_go_together_are_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{message}"):
        choose(NAMES, SCORES, **{"epsilon": 1} | options)


@pytest.mark.parametrize(
    "options",
    [
        {"noise": "laplace"},
        {"mechanism": "noisy_max"},
        {"base": [1, 1, 1]},
        {"sensitivity": [1, 1, 1]},
    ],
    ids=str,
)
@pytest.mark.parametrize("counts", [{0: 1}, {2: 1, 0: 3, 1: 5}], ids=str)
def test_what_goes_by_the_order_needs_a_public_order(
    counts: dict[int, int], options: dict[str, Any]
) -> None:
    """The order in which a mapping lists its candidates may come from the data, even a full one."""
    with pytest.raises(ValueError, match="go by the order of the candidates; list the candid"):
        choose(None, counts, epsilon=1, **options, domain_size=3)
    with pytest.raises(TypeError, match="what goes by the order of the candidates, need a list"):
        choose(Integers(0, 1 << 20), counts, epsilon=1, **options)
    for domain in (Integers(0, 2), range(3), [0, 1, 2]):
        assert (
            choose(domain, {1: 9000, **dict.fromkeys(counts, 0)} | {1: 9000}, epsilon=1, **options)
            == 1
        )


@pytest.mark.parametrize(
    ("scores", "error"),
    [
        ([41957, 1], ValueError),
        ([41957.5, math.nan, 1], ValueError),
        ([41957, "x", 1], TypeError),
        ([[41957, 1, 2]] * 3, TypeError),
        ([41957, None, 1], ValueError),
        ({"a": 41957, "secret": 3}, ValueError),
        (lambda _: math.inf, ValueError),
    ],
    ids=lambda case: getattr(case, "__name__", type(case).__name__),
)
def test_no_message_quotes_a_score_or_a_key(scores: Any, error: type[Exception]) -> None:
    for options in ({}, {"mechanism": "exponential"}, {"base": [1, 1, 1]}):
        with pytest.raises(error) as raised:
            choose(NAMES, scores, epsilon=1, **options)
        assert "41957" not in str(raised.value)
        assert "secret" not in str(raised.value)
        assert "\n" not in str(raised.value)
