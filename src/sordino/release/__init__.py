# SPDX-License-Identifier: Apache-2.0
"""From sealed exact integers to an answer: noise, key selection, post-processing."""

from sordino.release.door import release
from sordino.release.options import Options

__all__ = ["Options", "release"]
