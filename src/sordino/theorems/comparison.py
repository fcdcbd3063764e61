# SPDX-License-Identifier: Apache-2.0
"""What each theorem gives for the same steps, side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sordino.numbers.balls import round_up
from sordino.numbers.rational import Number
from sordino.numbers.rounding import reading, up_as_printed
from sordino.privacy.failures import Failures
from sordino.theorems.advanced import DRIFTS, Drift, advanced
from sordino.theorems.arguments import read_amount, read_delta, read_times, rounded
from sordino.theorems.optimal import optimal
from sordino.theorems.zcdp import pure_to_rho, rho_to_epsilon


@dataclass(frozen=True, slots=True)
class Row:
    """What one theorem gives: a loss, infinite if the theorem gives none, and a remark."""

    theorem: str
    epsilon: float
    delta: float
    note: str


def compare(*, epsilon: Number, delta: Number = 0, times: int, at_delta: Number) -> list[Row]:
    """Return what each theorem says about equal steps, for the same total delta.

    >>> for row in compare(epsilon=0.1, times=100, at_delta=1e-6):
    ...     print(f"{row.theorem:16} {row.epsilon:.4f}")
    basic            10.0000
    advanced         6.3082
    advanced, tight  5.7561
    zCDP             5.2191
    optimal          4.7746

    Guarantee:
        Neighbours: those of the loss that came in.
        Loss: each row holds for the steps together, each chosen after the answers to those before
            it, with an epsilon and a delta that were fixed beforehand. The least is the last.
        Numerics: those of `basic`, `advanced`, `rho_to_epsilon` and `optimal`.
        Proof: docs/proofs/composition.md, theorems 1, 3, 4, 9 and 10.
    """
    price, lost = read_amount("epsilon", epsilon), read_delta("delta", delta)
    steps, target = read_times("times", times), read_delta("at_delta", at_delta)
    total = rounded(target)
    slack = target - steps * lost
    sum_ = Row("basic", rounded(steps * price), total, "the sum of the losses")
    rows = [sum_ if slack >= 0 else _none("basic", total)]
    rows += [_advanced(price, lost, steps, target, drift) for drift in DRIFTS]
    rows.append(_concentrated(price, lost, steps, target))
    best = optimal(epsilon=price, delta=lost, times=steps, at_delta=target).epsilon
    note = "no theorem can give less" if best < math.inf else "the steps alone have a larger delta"
    return [*rows, Row("optimal", best, total, note)]


def _advanced(price: Fraction, lost: Fraction, times: int, target: Fraction, drift: Drift) -> Row:
    """Use up the whole delta: what the steps leave is slack, rounded down to a double."""
    name, total = "advanced" if drift == "printed" else "advanced, tight", rounded(target)
    slack = -up_as_printed(times * lost - target)
    if slack <= 0:
        return _none(name, total)
    found = advanced(epsilon=price, delta=lost, times=times, slack=slack, drift=drift)
    return Row(name, found.epsilon, total, f"with slack {slack:.3g}")


def _concentrated(price: Fraction, lost: Fraction, times: int, target: Fraction) -> Row:
    """Convert by way of rho, after what can fail altogether has been set aside."""
    total, failures = rounded(target), Failures({lost: times})
    left = Fraction(-reading(round_up(lambda: -failures.left(target))))
    if failures.room(target) <= 0 or left <= 0:
        return _none("zCDP", total)
    rho = times * Fraction(reading(pure_to_rho(epsilon=price)))
    note = f"rho = {float(rho):.4g}"
    return Row("zCDP", rho_to_epsilon(rho=rho, delta=left), total, note)


def _none(theorem: str, delta: float) -> Row:
    return Row(theorem, math.inf, delta, "gives nothing for so small a delta")
