# SPDX-License-Identifier: Apache-2.0
"""Losses of single mechanisms, from the numbers that people use to describe them."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Literal

from sordino.numbers.rational import (
    Integer,
    Number,
    is_integer,
    nonnegative,
    positive,
    positive_whole,
    probability,
)
from sordino.privacy.bounded_range import BoundedRange
from sordino.privacy.concentrated import Concentrated
from sordino.privacy.discrete_gaussian import DiscreteGaussian
from sordino.privacy.gaussian import ContinuousGaussian
from sordino.privacy.laplace import ContinuousLaplace, DiscreteLaplace
from sordino.privacy.leaf import RELATIONS
from sordino.privacy.loss import Loss, single
from sordino.privacy.pure import Approximate, KaryResponse, Pure
from sordino.privacy.shuffled import Shuffled, ShuffledResponse
from sordino.privacy.subsampled import FixedSizeSubsampled, PoissonSubsampled
from sordino.privacy.tables import PmfPair

__all__ = [
    "approximate",
    "concentrated",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential",
    "gaussian",
    "laplace",
    "pmfs",
    "pure",
    "randomized_response",
    "shuffled",
    "shuffled_response",
    "subsampled",
]

_NEARLY_ONE = Fraction(1, 10**12)
_WHY = {
    "poisson": (
        "add_remove",
        "Poisson sampling hides whether a unit is there, so it goes with add_remove; "
        "under replace_one its amplification is another one, which is not known here",
    ),
    "fixed_size": (
        "replace_one",
        "a sample of fixed size hides what a unit is, so it goes with replace_one; "
        "under add_remove its amplification is another one, which is not known here",
    ),
}


def pure(*, epsilon: Number) -> Loss:
    """Return the loss of any mechanism that is epsilon-private."""
    return single(Pure(epsilon=positive("epsilon", epsilon)))


def approximate(*, epsilon: Number, delta: Number) -> Loss:
    """Return the loss of any mechanism that is (epsilon, delta)-private."""
    return single(
        Approximate(epsilon=positive("epsilon", epsilon), delta=probability("delta", delta))
    )


def concentrated(*, rho: Number) -> Loss:
    """Return the loss of any mechanism that is rho-zCDP."""
    return single(Concentrated(rho=positive("rho", rho)))


def gaussian(*, sigma: Number, sensitivity: Number = 1) -> Loss:
    """Return the loss of Gaussian noise on the real line, for comparison with other libraries.

    What sordino draws is discrete: ``discrete_gaussian`` is its loss.

    >>> gaussian(sigma=2).rho
    0.125
    """
    return single(
        ContinuousGaussian(
            variance=positive("sigma", sigma) ** 2,
            squared_sensitivity=positive("sensitivity", sensitivity) ** 2,
        )
    )


def discrete_gaussian(
    *,
    sigma: Number,
    sensitivity: Number = 1,
    coordinates: Integer | None = None,
) -> Loss:
    """Return the loss of discrete Gaussian noise on integers.

    ``sensitivity`` is the L2 norm of how far one unit moves them; its square is a whole number, and
    is rounded to the next one if it is as close as a printed square root. ``coordinates`` is how
    many of them one unit can move.

    >>> discrete_gaussian(sigma=2, sensitivity=1.4142135623730951).rho
    0.25
    """
    square = positive("sensitivity", sensitivity) ** 2
    whole = round(square)
    if whole < 1 or abs(square - whole) > _NEARLY_ONE * square:
        raise ValueError(
            "the square of sensitivity must be a whole number, as integers move by whole steps, "
            f"got {sensitivity!r}"
        )
    return single(
        DiscreteGaussian(
            variance=positive("sigma", sigma) ** 2,
            squared_sensitivity=whole,
            coordinates=None if coordinates is None else positive_whole("coordinates", coordinates),
        )
    )


def laplace(*, epsilon: Number) -> Loss:
    """Return the loss of Laplace noise on the real line, for comparison with other libraries.

    What sordino draws is discrete: ``discrete_laplace`` is its loss.
    """
    return single(ContinuousLaplace(epsilon=positive("epsilon", epsilon)))


def discrete_laplace(*, epsilon: Number, sensitivity: Integer = 1) -> Loss:
    """Return the loss of discrete Laplace noise of scale sensitivity / epsilon on integers.

    ``sensitivity`` is the L1 norm of how far one unit moves them.
    """
    shift = positive_whole("sensitivity", sensitivity)
    return single(DiscreteLaplace(eta=positive("epsilon", epsilon) / shift, shift=shift))


def exponential(*, epsilon: Number) -> Loss:
    """Return the loss of the exponential mechanism."""
    return single(BoundedRange(epsilon=positive("epsilon", epsilon)))


def randomized_response(*, epsilon: Number, categories: Integer = 2) -> Loss:
    """Return the loss of randomized response with so many possible answers."""
    many = positive_whole("categories", categories)
    return single(KaryResponse(epsilon=positive("epsilon", epsilon), categories=many))


def shuffled(*, epsilon: Number, people: Integer) -> Loss:
    """Return the loss of the shuffled reports of so many people.

    ``epsilon`` is that of one report by itself, from any randomizer that is the same for all. Who
    sent which report must not be seen, and one person may have one report in it.

    >>> shuffled(epsilon=1, people=10_000).neighbours
    'replace_one'
    """
    many = positive_whole("people", people)
    return single(Shuffled(epsilon=positive("epsilon", epsilon), people=many))


def shuffled_response(*, epsilon: Number, people: Integer) -> Loss:
    """Return the loss of the shuffled answers of so many people, yes or no.

    Each answer is a randomized response with two categories, which is ``epsilon`` by itself; what
    can be seen is how many said yes. For other randomizers there is ``shuffled``.
    """
    many = positive_whole("people", people)
    return single(ShuffledResponse(epsilon=positive("epsilon", epsilon), people=many))


def subsampled(
    base: Loss,
    *,
    rate: Number,
    sampling: Literal["poisson", "fixed_size"] = "poisson",
    neighbours: Literal["add_remove", "replace_one"] | None = None,
) -> Loss:
    """Return the loss of a mechanism on a secret sample.

    ``rate`` is the chance of each unit, or the size of the sample over the number of units. The
    loss it is applied to, one use of one mechanism, must hold on the sample for the neighbours
    that go with the sampling: add_remove with "poisson", replace_one with "fixed_size". Naming
    other ``neighbours`` is refused.

    >>> subsampled(pure(epsilon=1), rate=0.01, sampling="poisson", neighbours="replace_one")
    Traceback (most recent call last):
    ValueError: Poisson sampling hides whether a unit is there, so it goes with add_remove; under \
replace_one its amplification is another one, which is not known here
    """
    if sampling not in _WHY:
        raise ValueError(f"sampling must be 'poisson' or 'fixed_size', got {sampling!r}")
    if neighbours not in (*RELATIONS, None):
        raise ValueError(f"neighbours must be 'add_remove' or 'replace_one', got {neighbours!r}")
    relation, reason = _WHY[sampling]
    if neighbours not in (relation, None):
        raise ValueError(reason)
    if not isinstance(base, Loss) or base.uses != 1:
        raise TypeError("subsampled takes the loss of one use of one mechanism")
    share = positive("rate", rate)
    if share > 1:
        raise ValueError(f"rate must be at most 1, got {rate!r}")
    kind = PoissonSubsampled if sampling == "poisson" else FixedSizeSubsampled
    kind.check_neighbours(base.neighbours)
    return Loss(((kind(base=base.parts[0][0], rate=share), 1),), base.stated)


def pmfs(p: Iterable[Number], q: Iterable[Number]) -> Loss:
    """Return the loss of a mechanism from the probabilities of its outcomes for two neighbours.

    Floats are read as the decimals they print as. If those do not quite add up to 1, by at most
    1e-12, what is missing goes to one outcome, and what is too much is taken from one. The loss is
    that of these completed laws: another way to complete them may have a larger one, so state
    fractions that add up wherever that could matter.

    >>> pmfs([2 / 3, 1 / 3], [1 / 3, 2 / 3]).epsilon(delta=0)
    0.6931471805599455
    """
    one, other = _probabilities("p", p), _probabilities("q", q)
    if len(one) != len(other):
        raise ValueError(
            f"p and q must have the same number of outcomes, got {len(one)} and {len(other)}"
        )
    _complete(one, other)
    _complete(other, one)
    return single(PmfPair(p=tuple(one), q=tuple(other)))


def _probabilities(name: str, values: Iterable[Number]) -> list[Fraction]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list of probabilities, got {type(values).__name__}")
    listed = list(values)
    read = [nonnegative(f"{name}[{place}]", value) for place, value in enumerate(listed)]
    total = sum(read, Fraction(0))
    exact = all(is_integer(value) or isinstance(value, Fraction) for value in listed)
    if not read or abs(total - 1) > (0 if exact else _NEARLY_ONE):
        raise ValueError(f"{name} must add up to 1, got a sum of {float(total)!r}")
    return read


def _complete(law: list[Fraction], against: list[Fraction]) -> None:
    """Let a law add up to 1, by changing the outcome that tells the two apart the most."""

    def towards_law(place: int) -> tuple[bool, Fraction]:
        return (against[place] == 0, law[place] / (against[place] or 1))

    missing = 1 - sum(law, Fraction(0))
    used = [place for place in range(len(law)) if law[place] or against[place]]
    order = sorted(used, key=towards_law, reverse=missing > 0)
    for place in order:
        change = max(missing, -law[place])
        law[place] += change
        missing -= change
        if missing == 0:
            return
