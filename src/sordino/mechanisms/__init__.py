# SPDX-License-Identifier: Apache-2.0
"""Mechanisms: what is released, its loss and its accuracy in one value."""

from sordino.mechanisms.bounds import PrivateBounds
from sordino.mechanisms.choose import (
    AboveThreshold,
    BestOf,
    Exponential,
    Generalised,
    JointTopK,
    NoisyMax,
    PermuteAndFlip,
    Quantiles,
    TopK,
)
from sordino.mechanisms.gaussian import Gaussian
from sordino.mechanisms.keys.selection import KeySelection
from sordino.mechanisms.laplace import Laplace
from sordino.mechanisms.mechanism import Constant
from sordino.mechanisms.propose_test_release import ProposeTestRelease
from sordino.mechanisms.smooth import Smooth

__all__ = ["ADDING", "CHOOSING", "RELEASING", "Gaussian", "Laplace"]

# Each is enrolled in the laws of its kind.
ADDING = (Laplace, Gaussian)
CHOOSING = (Exponential, PermuteAndFlip, NoisyMax, Generalised, TopK, JointTopK, Quantiles)
RELEASING = (
    Smooth,
    KeySelection,
    ProposeTestRelease,
    PrivateBounds,
    AboveThreshold,
    BestOf,
    Constant,
)
