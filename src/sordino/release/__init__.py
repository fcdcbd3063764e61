# SPDX-License-Identifier: Apache-2.0
"""From sealed exact integers to an answer: noise, key selection, post-processing."""

from sordino.plan.ask import Options
from sordino.release.door import release

__all__ = ["Options", "release"]
