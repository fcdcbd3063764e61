# SPDX-License-Identifier: Apache-2.0
"""The named theorems of privacy accounting: pure functions of numbers, each with its guarantee."""

from sordino.privacy import theorems as _theorems
from sordino.privacy.theorems import *  # noqa: F403 - this is the public door of that package

__all__: list[str] = []
__all__ += _theorems.__all__
