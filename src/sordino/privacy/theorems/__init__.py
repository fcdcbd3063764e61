# SPDX-License-Identifier: Apache-2.0
"""The named theorems of privacy accounting: pure functions of numbers, each with its guarantee."""

from sordino.privacy.theorems.arguments import EpsilonDelta
from sordino.privacy.theorems.composition import (
    advanced,
    advanced_per_query,
    azuma,
    azuma_threshold,
    basic,
    postprocessing,
)
from sordino.privacy.theorems.conversions import (
    pure_to_chi_squared,
    pure_to_renyi,
    pure_to_rho,
    pure_to_total_variation,
    renyi_to_delta,
    renyi_to_epsilon,
    rho_to_delta,
    rho_to_epsilon,
    subsampled,
)
from sordino.privacy.theorems.explain import Row, compare
from sordino.privacy.theorems.groups import (
    group,
    group_rho,
    parallel,
    parallel_rho,
    replace_from_add_remove,
    replace_from_add_remove_rho,
)
from sordino.privacy.theorems.laws import (
    CloseLaw,
    ClosePair,
    approximate_max_divergence,
    close_law,
    close_pair,
    hockey_stick,
    kl_divergence,
    max_divergence,
    renyi_divergence,
    total_variation,
)
from sordino.privacy.theorems.ranges import (
    bounded_range,
    bounded_range_delta,
    bounded_range_to_rho,
    bounded_range_to_total_variation,
)
from sordino.privacy.theorems.responses import optimal, optimal_heterogeneous
from sordino.privacy.theorems.selection import (
    expected_runs,
    repeat_and_select,
    repeat_and_select_poisson,
    repeat_and_select_renyi,
    repeat_fixed,
)

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
