# SPDX-License-Identifier: Apache-2.0
"""What was once written as JSON is read for ever: these strings must never change."""

import json
from fractions import Fraction

import pytest

from sordino.privacy import ContinuousGaussian, DiscreteGaussian, DiscreteLaplace
from sordino.privacy.bounded_range import BoundedRange
from sordino.privacy.codec import leaf_from_json, leaf_to_json
from sordino.privacy.concentrated import Concentrated
from sordino.privacy.grouped import Grouped
from sordino.privacy.laplace import ContinuousLaplace
from sordino.privacy.leaf import Leaf
from sordino.privacy.pure import Approximate, KaryResponse, Pure
from sordino.privacy.subsampled import FixedSizeSubsampled, PoissonSubsampled
from sordino.privacy.tables import PmfPair

TENTH = Fraction(1, 10)
THIRD = Fraction(1, 3)
WRITTEN: list[tuple[Leaf, str]] = [
    (Pure(epsilon=TENTH), '{"leaf": "pure", "epsilon": "1/10"}'),
    (Pure(epsilon=Fraction(2)), '{"leaf": "pure", "epsilon": "2/1"}'),
    (
        Approximate(epsilon=TENTH, delta=Fraction(1, 10**6)),
        '{"leaf": "approximate", "epsilon": "1/10", "delta": "1/1000000"}',
    ),
    (Concentrated(rho=TENTH), '{"leaf": "concentrated", "rho": "1/10"}'),
    (ContinuousLaplace(epsilon=TENTH), '{"leaf": "laplace", "epsilon": "1/10"}'),
    (
        DiscreteLaplace(eta=TENTH, shift=3),
        '{"leaf": "discrete_laplace", "eta": "1/10", "shift": 3}',
    ),
    (
        ContinuousGaussian(variance=Fraction(4), squared_sensitivity=Fraction(1, 4)),
        '{"leaf": "gaussian", "variance": "4/1", "squared_sensitivity": "1/4"}',
    ),
    (
        DiscreteGaussian(variance=Fraction(4), squared_sensitivity=2),
        '{"leaf": "discrete_gaussian", "variance": "4/1", "squared_sensitivity": 2, '
        '"coordinates": null}',
    ),
    (
        DiscreteGaussian(variance=Fraction(4), squared_sensitivity=9, coordinates=1),
        '{"leaf": "discrete_gaussian", "variance": "4/1", "squared_sensitivity": 9, '
        '"coordinates": 1}',
    ),
    (BoundedRange(epsilon=TENTH), '{"leaf": "bounded_range", "epsilon": "1/10"}'),
    (
        KaryResponse(epsilon=TENTH, categories=4),
        '{"leaf": "kary_response", "epsilon": "1/10", "categories": 4}',
    ),
    (
        PoissonSubsampled(base=Pure(epsilon=TENTH), rate=THIRD),
        '{"leaf": "poisson_subsampled", "base": {"leaf": "pure", "epsilon": "1/10"}, '
        '"rate": "1/3"}',
    ),
    (
        FixedSizeSubsampled(base=Pure(epsilon=TENTH), rate=THIRD),
        '{"leaf": "fixed_size_subsampled", "base": {"leaf": "pure", "epsilon": "1/10"}, '
        '"rate": "1/3"}',
    ),
    (
        PmfPair(p=(THIRD, 2 * THIRD), q=(2 * THIRD, THIRD)),
        '{"leaf": "pmf_pair", "p": ["1/3", "2/3"], "q": ["2/3", "1/3"]}',
    ),
    (
        PmfPair(p=(Fraction(0), TENTH, 9 * TENTH), q=(TENTH, 9 * TENTH, Fraction(0))),
        '{"leaf": "pmf_pair", "p": ["0/1", "1/10", "9/10"], "q": ["1/10", "9/10", "0/1"]}',
    ),
    (
        Grouped(base=PoissonSubsampled(base=Pure(epsilon=TENTH), rate=THIRD), size=2),
        '{"leaf": "grouped", "base": {"leaf": "poisson_subsampled", "base": '
        '{"leaf": "pure", "epsilon": "1/10"}, "rate": "1/3"}, "size": 2}',
    ),
]


@pytest.mark.parametrize(("leaf", "text"), WRITTEN, ids=[text for _, text in WRITTEN])
def test_a_loss_is_written_and_read_like_this(leaf: Leaf, text: str) -> None:
    assert json.dumps(leaf_to_json(leaf)) == text
    assert leaf_from_json(json.loads(text)) == (leaf, None)


def test_the_order_of_fields_does_not_matter() -> None:
    assert leaf_from_json({"epsilon": "1/10", "leaf": "pure"}) == (Pure(epsilon=TENTH), None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"leaf": "purple"}', "unknown loss 'purple'; known are approximate, bounded_range"),
        ('{"leaf": 3}', "unknown loss 3; known are"),
        ('{"leaf": ["pure"]}', "unknown loss a value of type list; known are"),
        ("{}", "unknown loss None; known are"),
        ('["pure"]', "loss must be an object, got list"),
        ('{"leaf": "pure"}', "the loss 'pure' needs the field 'epsilon'"),
        ('{"leaf": "pure", "epsilon": "1/10", "rho": "1/2"}', "'pure' has no field 'rho'"),
        ('{"leaf": "pure", "epsilon": 0.1}', "epsilon must be a fraction such as '1/10', got 0.1"),
        ('{"leaf": "pure", "epsilon": "0.1"}', "must be a fraction such as '1/10', got '0.1'"),
        ('{"leaf": "pure", "epsilon": "1/0"}', "must be a fraction such as '1/10', got '1/0'"),
        ('{"leaf": "pure", "epsilon": " 1/2"}', "must be a fraction such as"),
        ('{"leaf": "pure", "epsilon": "2/20"}', "must be in lowest terms, got '2/20'"),
        ('{"leaf": "pure", "epsilon": "-1/10"}', "epsilon must be a positive Fraction"),
        ('{"leaf": "pure", "epsilon": "0/1"}', "epsilon must be a positive Fraction"),
        (
            '{"leaf": "discrete_laplace", "eta": "1/2", "shift": 1.0}',
            "shift must be a whole number",
        ),
        ('{"leaf": "discrete_laplace", "eta": "1/2", "shift": true}', "must be a whole number"),
        ('{"leaf": "pmf_pair", "p": "1/2", "q": ["1/1"]}', "p must be a list of at most 65536"),
        ('{"leaf": "pmf_pair", "p": ["1/2"], "q": ["1/1"]}', "p must be a tuple of Fractions"),
        ('{"leaf": "grouped", "base": "pure", "size": 2}', "base must be an object, got str"),
        (
            '{"leaf": "poisson_subsampled", "base": {"leaf": "pure", "epsilon": "1/2"}, '
            '"rate": "3/2"}',
            "rate must be a Fraction above 0 and at most 1",
        ),
    ],
)
def test_what_was_not_written_so_is_refused_in_one_sentence(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        leaf_from_json(json.loads(text))
    assert "\n" not in str(refused.value)


def test_endless_numbers_and_nests_are_refused() -> None:
    with pytest.raises(ValueError, match=r"must be a fraction such as .* got a value of type str"):
        leaf_from_json({"leaf": "pure", "epsilon": "1/1" + "0" * 30_000})
    nest: dict[str, object] = {"leaf": "pure", "epsilon": "1/10"}
    for _ in range(20):
        nest = {"leaf": "poisson_subsampled", "base": nest, "rate": "1/2"}
    with pytest.raises(ValueError, match="losses are nested more than 8 deep"):
        leaf_from_json(nest)


def test_a_loss_of_another_kind_cannot_be_written() -> None:
    with pytest.raises(TypeError, match="a loss of type object cannot be written"):
        leaf_to_json(object())  # type: ignore[arg-type]  # on purpose
