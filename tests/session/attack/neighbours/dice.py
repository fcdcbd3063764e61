# SPDX-License-Identifier: Apache-2.0
"""Randomness that a seed repeats."""

from random import Random


def dice(seed: int | str) -> Random:
    """Return the same draws for the same seed, so that every failure can be seen again."""
    return Random(seed)  # noqa: S311  # tests may be foreseen
