# SPDX-License-Identifier: Apache-2.0
"""One list of losses, of every kind and at every size, for all laws that losses must obey."""

from fractions import Fraction

from sordino.privacy.bounded_range import BoundedRange
from sordino.privacy.concentrated import Concentrated
from sordino.privacy.discrete_gaussian import DiscreteGaussian
from sordino.privacy.gaussian import ContinuousGaussian
from sordino.privacy.grouped import Grouped
from sordino.privacy.laplace import ContinuousLaplace, DiscreteLaplace
from sordino.privacy.leaf import Leaf
from sordino.privacy.pure import Approximate, KaryResponse, Pure
from sordino.privacy.shuffled import Shuffled, ShuffledResponse
from sordino.privacy.subsampled import FixedSizeSubsampled, PoissonSubsampled
from sordino.privacy.tables import PmfPair


def fraction(text: str) -> Fraction:
    return Fraction(text)


def gaussian(sigma: str) -> ContinuousGaussian:
    return ContinuousGaussian(variance=Fraction(sigma) ** 2, squared_sensitivity=Fraction(1))


def discrete(
    variance: str, squared_sensitivity: int = 1, coordinates: int | None = None
) -> DiscreteGaussian:
    return DiscreteGaussian(
        variance=Fraction(variance),
        squared_sensitivity=squared_sensitivity,
        coordinates=coordinates,
    )


def pmf(*weights: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(weight, sum(weights)) for weight in weights)


LOPSIDED = PmfPair(p=pmf(5, 3, 1, 1), q=pmf(1, 2, 6, 1))
BOUNDLESS = PmfPair(p=pmf(6, 3, 1, 0), q=pmf(4, 4, 0, 2))

LEAVES: dict[str, Leaf] = {
    "pure": Pure(epsilon=Fraction(1)),
    "pure, small": Pure(epsilon=Fraction(1, 100)),
    "pure, large": Pure(epsilon=Fraction(30)),
    "approximate": Approximate(epsilon=Fraction(1, 2), delta=Fraction(1, 1000)),
    "concentrated": Concentrated(rho=Fraction(1, 8)),
    "concentrated, small": Concentrated(rho=Fraction(1, 10**5)),
    "laplace": ContinuousLaplace(epsilon=Fraction(1)),
    "laplace, large": ContinuousLaplace(epsilon=Fraction(9)),
    "bounded range": BoundedRange(epsilon=Fraction(1)),
    "bounded range, small": BoundedRange(epsilon=Fraction(1, 2)),
    "bounded range, large": BoundedRange(epsilon=Fraction(7)),
    "response of 2": KaryResponse(epsilon=Fraction(1), categories=2),
    "response of 100": KaryResponse(epsilon=Fraction(1), categories=100),
    "discrete laplace, 1": DiscreteLaplace(eta=Fraction(1, 2), shift=1),
    "discrete laplace, 7": DiscreteLaplace(eta=Fraction(1, 5), shift=7),
    "discrete laplace, fine": DiscreteLaplace(eta=Fraction(1, 2**45), shift=2**45),
    "gaussian": gaussian("1"),
    "gaussian, wide": gaussian("50"),
    "gaussian, narrow": gaussian("0.2"),
    "discrete gaussian": discrete("1"),
    "discrete gaussian, 3": discrete("16", 9, 1),
    "discrete gaussian, wide": discrete("1e9", 49, 1),
    "discrete gaussian, few shifts": discrete("2", 4),
    "discrete gaussian, many shifts": discrete("500", 30),
    "discrete gaussian, rho alone": discrete("40", 200),
    "poisson, pure": PoissonSubsampled(base=Pure(epsilon=Fraction(1)), rate=Fraction(1, 10)),
    "poisson, gaussian": PoissonSubsampled(base=gaussian("1"), rate=Fraction(1, 100)),
    "poisson, table": PoissonSubsampled(base=LOPSIDED, rate=Fraction(1, 3)),
    "poisson, approximate": PoissonSubsampled(
        base=Approximate(epsilon=Fraction(1), delta=Fraction(1, 100)), rate=Fraction(1, 4)
    ),
    "fixed size, laplace": FixedSizeSubsampled(
        base=ContinuousLaplace(epsilon=Fraction(2)), rate=Fraction(1, 10)
    ),
    "fixed size, gaussian": FixedSizeSubsampled(base=gaussian("2"), rate=Fraction(1, 20)),
    "fixed size, table": FixedSizeSubsampled(base=LOPSIDED, rate=Fraction(1, 2)),
    "shuffled": Shuffled(epsilon=Fraction(1), people=1000),
    "shuffled, few": Shuffled(epsilon=Fraction(3), people=4),
    "shuffled, many": Shuffled(epsilon=Fraction(2), people=10**8),
    "shuffled, hardly": Shuffled(epsilon=Fraction(31), people=10**6),
    "shuffled answers": ShuffledResponse(epsilon=Fraction(1), people=200),
    "shuffled answers, few": ShuffledResponse(epsilon=Fraction(2), people=3),
    "table": LOPSIDED,
    "table, boundless": BOUNDLESS,
    "table, two answers": PmfPair(p=pmf(3, 1), q=pmf(1, 3)),
    "group, poisson": Grouped(
        base=PoissonSubsampled(base=gaussian("2"), rate=Fraction(1, 50)), size=3
    ),
    "group, pure": Grouped(base=Pure(epsilon=Fraction(1, 4)), size=2),
}

# Of the first the profile is above the delta of a single use, of the second it is below that delta,
# which does not tell the two orders of its base apart.
LOOSER_PROFILE = {"discrete gaussian, wide", *(name for name in LEAVES if "shuffled" in name)}
LOOSER_DELTA = {"poisson, table"}
