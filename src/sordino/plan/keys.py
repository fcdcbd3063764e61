# SPDX-License-Identifier: Apache-2.0
"""How keys are discovered for a share of the price and a delta."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from sordino.mechanisms.partitions import KeySelection
from sordino.plan.noise import root_down
from sordino.privacy import losses
from sordino.privacy.loss import Loss, single

_ROUNDS = 12
_CLOSE = Fraction(99, 100)
_USUAL = Fraction(95, 100)


@lru_cache(maxsize=256)
def selection(share: Fraction, slack: Fraction, groups: int, *, rho: bool) -> KeySelection:
    """Return the rule that discovers keys for at most a share of the price and a slack.

    Where epsilons are added up it is the optimal law. Where rho is, it is a threshold on counts
    with Gaussian noise if that keeps smaller groups, as it does for several groups of a unit.

    Guarantee:
        Neighbours: one unit with at most ``groups`` keys, added or removed.
        Loss: but for an event of probability ``slack``, at most the share.
        Numerics: as for KeySelection.
        Proof: docs/proofs/queries.md, theorem 5.
    """
    optimal = KeySelection(
        epsilon=root_down(2 * share) if rho else share,
        delta=slack,
        groups=groups,
        neighbours="add_remove",
    )
    noisy = _gaussian(share, slack, groups) if rho else None
    if noisy is None or noisy.count_for(_USUAL) >= optimal.count_for(_USUAL):
        return optimal
    return noisy


def loss_of_keys(keys: KeySelection) -> Loss:
    """Return what discovering keys loses, but for its slack.

    Guarantee: as for selection.
    """
    return losses.pure(epsilon=keys.epsilon) if keys.noise is None else single(keys.noise)


def slack_of_keys(keys: KeySelection) -> Fraction:
    """Return the probability of the event in which keys may tell of a unit.

    The noise of a noisy threshold has no delta of its own when rho is counted.

    Guarantee: as for selection.
    """
    return keys.delta


def _gaussian(share: Fraction, slack: Fraction, groups: int) -> KeySelection | None:
    """Return a threshold on Gaussian counts whose rho is nearly a share, or None."""
    about = float(share)
    epsilon = about + 2 * math.sqrt(-about * math.log(float(slack)))
    best = None
    for _ in range(_ROUNDS):
        try:
            found = KeySelection(
                epsilon=Fraction(f"{epsilon:.6g}"),
                delta=slack,
                groups=groups,
                neighbours="add_remove",
                method="gaussian",
            )
        except ValueError:
            return best
        spent = Fraction(repr(loss_of_keys(found).rho))
        if spent <= share and (best is None or found.epsilon > best.epsilon):
            best = found
        if share * _CLOSE <= spent <= share:
            break
        epsilon *= math.sqrt(float(share * (1 + _CLOSE) / 2 / spent))
    return best
