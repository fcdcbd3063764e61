# SPDX-License-Identifier: Apache-2.0
"""Losses that are unbounded with a small probability: that probability, and what is left of them.

A budget adds up the two apart: docs/proofs/budgets.md, theorem 6.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import cast

from sordino.numbers.rounding import reading
from sordino.privacy.leaf import Leaf
from sordino.privacy.loss import Loss
from sordino.privacy.pure import Approximate, Pure
from sordino.privacy.related import plain

_NONE = Fraction(0)
_LOW_ORDER = 1.25  # a divergence that is finite here has a currency that needs no failures
_TAIL = 1e-300
_LEAST = Fraction(1, 10**12)  # a pure loss that stands for none at all


def without_failures(loss: object) -> tuple[Loss, Fraction] | None:
    """Return what a loss is unless it fails, and the probability that it fails; None if it cannot.

    >>> leaf = Approximate(epsilon=Fraction(1), delta=Fraction(1, 1000))
    >>> without_failures(leaf)
    (Loss(Pure(epsilon=1)), Fraction(1, 1000))

    Guarantee:
        Neighbours: those of the loss.
        Loss: the laws for two neighbours are P = (1 - d) P' + d P'' and Q = (1 - d) Q' + d Q'',
            where d is at most the probability and P' and Q' lose at most the loss returned.
        Numerics: exact for losses stated by epsilon and delta; else doubles that were rounded up.
        Proof: docs/proofs/budgets.md, theorem 6.
    """
    if isinstance(loss, Loss):
        uses = loss.parts
    elif hasattr(loss, "reach"):  # a leaf by itself
        uses = ((cast("Leaf", loss), 1),)
    else:
        return None
    parts, failures = [], _NONE
    for leaf, times in uses:
        rest, failing = _split(leaf)
        parts.append((rest, times))
        failures += times * failing
    return (Loss(tuple(parts)), failures) if failures else None


def _split(leaf: Leaf) -> tuple[Leaf, Fraction]:
    """Return what a leaf is unless it fails, and the probability that it fails."""
    base = plain(leaf)
    if isinstance(base, Approximate):
        return Pure(epsilon=base.bound), base.slack
    if base.pure is not None or math.isfinite(base.renyi(order=_LOW_ORDER)):
        return leaf, _NONE
    far = max(map(abs, base.reach(_TAIL)))
    if not math.isfinite(far):
        return leaf, _NONE
    bound = max(Fraction(far), _LEAST)
    failing = Fraction(reading(base.delta(epsilon=bound)))
    return (Pure(epsilon=bound), failing) if failing < 1 else (leaf, _NONE)
