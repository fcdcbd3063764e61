# SPDX-License-Identifier: Apache-2.0
"""Privacy losses: values that say how much a mechanism can reveal."""

from sordino.privacy.discrete_gaussian import DiscreteGaussian
from sordino.privacy.discrete_laplace import DiscreteLaplace
from sordino.privacy.gaussian import ContinuousGaussian, classic_sigma

__all__ = ["ContinuousGaussian", "DiscreteGaussian", "DiscreteLaplace", "classic_sigma"]
