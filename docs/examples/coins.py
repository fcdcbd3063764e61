# SPDX-License-Identifier: Apache-2.0
"""Two ways to answer yes or no with a coin, for `sordino audit`; only one keeps its promise."""

import secrets


def careful(truth):
    """Tell the truth with probability 3/4: epsilon is ln 3, just below 1.1."""
    return truth if secrets.randbelow(4) else 1 - truth


def hasty(truth):
    """Tell the truth with probability 7/8: epsilon is ln 7, almost 2."""
    return truth if secrets.randbelow(8) else 1 - truth
