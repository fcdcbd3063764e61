# SPDX-License-Identifier: Apache-2.0
"""Mechanisms: exact noise, its loss and its accuracy in one value."""

from sordino.mechanisms.gaussian import Gaussian
from sordino.mechanisms.laplace import Laplace

__all__ = ["ALL", "Gaussian", "Laplace"]

ALL = (Laplace, Gaussian)
