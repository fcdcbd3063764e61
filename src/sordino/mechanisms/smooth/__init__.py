# SPDX-License-Identifier: Apache-2.0
"""Smooth sensitivity: noise as wide as the data at hand need it, and no leak from its width."""

from sordino.mechanisms.smooth.cauchy import CauchyNoise
from sordino.mechanisms.smooth.clusters import cluster_radii
from sordino.mechanisms.smooth.graphs import spanning_tree, triangles
from sordino.mechanisms.smooth.laplace import LaplaceNoise
from sordino.mechanisms.smooth.lomax import LomaxNoise
from sordino.mechanisms.smooth.mechanism import Smooth
from sordino.mechanisms.smooth.power import PowerNoise
from sordino.mechanisms.smooth.statistics import custom, maximum, median, quantile, trimmed_mean
from sordino.mechanisms.smooth.student import StudentNoise
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
