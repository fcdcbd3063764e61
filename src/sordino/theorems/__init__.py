# SPDX-License-Identifier: Apache-2.0
"""The named theorems of privacy accounting: pure functions of numbers, each with its guarantee."""

from sordino.theorems.advanced import advanced, advanced_per_query
from sordino.theorems.arguments import EpsilonDelta
from sordino.theorems.azuma import azuma, azuma_threshold
from sordino.theorems.basic import basic, postprocessing
from sordino.theorems.bounded_range import (
    bounded_range,
    bounded_range_delta,
    bounded_range_to_rho,
    bounded_range_to_total_variation,
)
from sordino.theorems.comparison import Row, compare
from sordino.theorems.couplings import CloseLaw, ClosePair, close_law, close_pair
from sordino.theorems.divergences import (
    pure_to_chi_squared,
    pure_to_renyi,
    pure_to_total_variation,
)
from sordino.theorems.groups import (
    group,
    group_rho,
    replace_from_add_remove,
    replace_from_add_remove_rho,
)
from sordino.theorems.heterogeneous import optimal_heterogeneous
from sordino.theorems.optimal import optimal
from sordino.theorems.pairs import (
    approximate_max_divergence,
    hockey_stick,
    kl_divergence,
    max_divergence,
    renyi_divergence,
    total_variation,
)
from sordino.theorems.parallel import parallel, parallel_rho
from sordino.theorems.renyi import renyi_to_delta, renyi_to_epsilon
from sordino.theorems.sampling import subsampled
from sordino.theorems.selection import (
    expected_runs,
    repeat_and_select,
    repeat_and_select_poisson,
    repeat_and_select_renyi,
    repeat_fixed,
)
from sordino.theorems.zcdp import pure_to_rho, rho_to_delta, rho_to_epsilon

__all__ = [
    "CloseLaw",
    "ClosePair",
    "EpsilonDelta",
    "Row",
    "advanced",
    "advanced_per_query",
    "approximate_max_divergence",
    "azuma",
    "azuma_threshold",
    "basic",
    "bounded_range",
    "bounded_range_delta",
    "bounded_range_to_rho",
    "bounded_range_to_total_variation",
    "close_law",
    "close_pair",
    "compare",
    "expected_runs",
    "group",
    "group_rho",
    "hockey_stick",
    "kl_divergence",
    "max_divergence",
    "optimal",
    "optimal_heterogeneous",
    "parallel",
    "parallel_rho",
    "postprocessing",
    "pure_to_chi_squared",
    "pure_to_renyi",
    "pure_to_rho",
    "pure_to_total_variation",
    "renyi_divergence",
    "renyi_to_delta",
    "renyi_to_epsilon",
    "repeat_and_select",
    "repeat_and_select_poisson",
    "repeat_and_select_renyi",
    "repeat_fixed",
    "replace_from_add_remove",
    "replace_from_add_remove_rho",
    "rho_to_delta",
    "rho_to_epsilon",
    "subsampled",
    "total_variation",
]
