# SPDX-License-Identifier: Apache-2.0
"""Mechanisms: what is released, its loss and its accuracy in one value."""

from sordino.mechanisms.choose import (
    Exponential,
    Generalised,
    JointTopK,
    NoisyMax,
    PermuteAndFlip,
    Quantiles,
    TopK,
)
from sordino.mechanisms.gaussian import Gaussian
from sordino.mechanisms.laplace import Laplace

__all__ = ["ADDING", "CHOOSING", "Gaussian", "Laplace"]

# Each is enrolled in the laws of its kind.
ADDING = (Laplace, Gaussian)
CHOOSING = (Exponential, PermuteAndFlip, NoisyMax, Generalised, TopK, JointTopK, Quantiles)
