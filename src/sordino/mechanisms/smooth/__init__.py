# SPDX-License-Identifier: Apache-2.0
"""Smooth sensitivity: noise as wide as the data at hand need it, and no leak from its width."""

from sordino.mechanisms.smooth.noise import (
    CauchyNoise,
    LaplaceNoise,
    LomaxNoise,
    PowerNoise,
    StudentNoise,
)
from sordino.mechanisms.smooth.statistics import (
    Smooth,
    cluster_radii,
    custom,
    maximum,
    median,
    quantile,
    spanning_tree,
    triangles,
    trimmed_mean,
)
from sordino.sensitivity.smooth import (
    local_maximum,
    local_median,
    local_quantile,
    local_sensitivity,
    local_spanning_tree,
    local_triangles,
    local_trimmed_mean,
    sensitivity,
)

__all__ = [
    "CauchyNoise",
    "LaplaceNoise",
    "LomaxNoise",
    "PowerNoise",
    "Smooth",
    "StudentNoise",
    "cluster_radii",
    "custom",
    "local_maximum",
    "local_median",
    "local_quantile",
    "local_sensitivity",
    "local_spanning_tree",
    "local_triangles",
    "local_trimmed_mean",
    "maximum",
    "median",
    "quantile",
    "sensitivity",
    "spanning_tree",
    "triangles",
    "trimmed_mean",
]
