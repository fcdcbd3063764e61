# SPDX-License-Identifier: Apache-2.0
"""Privacy losses: values that say how much a mechanism can reveal."""

from sordino.privacy.budget import Budget, Filter, Odometer
from sordino.privacy.discrete_gaussian import DiscreteGaussian
from sordino.privacy.fit import calibrate
from sordino.privacy.gaussian import ContinuousGaussian, classic_sigma
from sordino.privacy.laplace import DiscreteLaplace
from sordino.privacy.loss import Loss, compose, loss_from_json, loss_to_json
from sordino.privacy.pld import Bracket, Pld

__all__ = [
    "Bracket",
    "Budget",
    "ContinuousGaussian",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Filter",
    "Loss",
    "Odometer",
    "Pld",
    "calibrate",
    "classic_sigma",
    "compose",
    "loss_from_json",
    "loss_to_json",
]
