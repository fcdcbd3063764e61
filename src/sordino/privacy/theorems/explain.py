# SPDX-License-Identifier: Apache-2.0
"""What each theorem makes of the same steps, and which one is used."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from sordino.numbers.balls import round_up
from sordino.numbers.rational import Number, probability, reading, up_as_printed
from sordino.privacy.bounded_range import BoundedRange
from sordino.privacy.bounds import by_responses, by_sums, few_enough, set_aside
from sordino.privacy.loss import Loss, compose
from sordino.privacy.pld import Bracket
from sordino.privacy.repeated import Failures
from sordino.privacy.theorems.arguments import read_amount, read_delta, read_times, rounded
from sordino.privacy.theorems.composition import DRIFTS, Drift, advanced
from sordino.privacy.theorems.conversions import pure_to_rho, renyi_to_epsilon, rho_to_epsilon
from sordino.privacy.theorems.ranges import bounded_range
from sordino.privacy.theorems.responses import optimal


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


_FIXED = "only if no score depends on an answer"  # so it is shown, and not used


@dataclass(frozen=True, slots=True)
class Explanation:
    """The rows of all theorems that apply, the one that is used, and the certified bracket.

    Guarantee: every row is an epsilon that goes with ``delta``; ``used`` is the least of those that
        hold without a condition, and what ``Loss.epsilon`` gives.
    """

    delta: float
    uses: int
    rows: tuple[Row, ...]
    used: Row
    bracket: Bracket

    @property
    def epsilon(self) -> float:
        """The least epsilon that any theorem gives."""
        return self.used.epsilon

    def __str__(self) -> str:
        """Write the rows as a table of text."""
        lines = [f"{self.uses} uses, delta {self.delta:g}"]
        for row in self.rows:
            mark = "<- used" if row is self.used else ""
            lines.append(f"  {row.theorem:<26}{row.epsilon:>10.4f}  {row.note:<44}{mark}".rstrip())
        lines.append(f"  certain: {self.bracket.lower:.4f} <= epsilon <= {self.bracket.upper:.4f}")
        return "\n".join(lines)


def explain_composition(losses: Iterable[Loss] | Loss, *, delta: Number) -> Explanation:
    """Return what each theorem gives for these losses together, at the same delta.

    >>> from sordino.privacy import losses
    >>> print(explain_composition(100 * losses.pure(epsilon=0.1), delta=1e-6))
    100 uses, delta 1e-06
      basic                        10.0000  the sum of all epsilons
      advanced                      6.3082  equal losses, as in textbooks
      zCDP                          5.2191  rho 0.4996
      Rényi                         5.0731  the best of many orders
      optimal, equal losses         4.7746  no theorem gives less                       <- used
      loss distribution             4.7746  both bounds certified
      certain: 4.7746 <= epsilon <= 4.7746

    Guarantee:
        Neighbours: those of the losses.
        Loss: each row holds for all uses together, when the losses were fixed beforehand.
        Numerics: those of each theorem; all are rounded up.
        Proof: docs/proofs/composition.md and docs/proofs/pld.md.
    """
    loss = losses if isinstance(losses, Loss) else compose(losses)
    if not loss.parts:
        raise ValueError("there is nothing to compose")
    target = probability("delta", delta)
    bracket = loss.pld().epsilon(delta=target)
    rows = [
        *_sums(loss, target),
        *_equal(loss, target),
        *_orders(loss, target),
        *_best(loss, target),
        Row("loss distribution", bracket.upper, float(target), "both bounds certified"),
    ]
    least = loss.epsilon(delta=target)
    # Where two theorems agree but for their rounding, the one that was counted with is named.
    names = [row for row in rows if row.note != _FIXED]
    used = min(names, key=lambda row: (abs(row.epsilon - least), row.epsilon))
    # A rho may say more than the profile that follows from it, so the bracket may be too high.
    certain = Bracket(min(bracket.lower, least), least)
    return Explanation(float(target), loss.uses, tuple(rows), used, certain)


def _sums(loss: Loss, target: Fraction) -> list[Row]:
    """Basic composition; what delta leaves is split evenly over the uses that need a part of it."""
    if loss.uses == 1:
        epsilon = loss.epsilon(delta=target)
        return [Row("one use", epsilon, float(target), "nothing is composed")]
    note = "the sum of all epsilons"
    if loss.pure is not None:
        return [Row("basic", up_as_printed(loss.pure), 0.0, note)]
    epsilon = by_sums(loss.parts, delta=target)
    if epsilon == math.inf:
        return [Row("basic", epsilon, float(target), "delta is too small for it")]
    rows = [Row("basic", epsilon, float(target), f"{note}, delta split evenly")]
    beside = set_aside(loss.parts, delta=target)
    if math.isfinite(beside):
        rows.append(Row("others set aside", beside, float(target), "they add their epsilons"))
    return rows


def _equal(loss: Loss, target: Fraction) -> list[Row]:
    price = _common(loss)
    if price is None:
        return []
    found = advanced(epsilon=price, times=loss.uses, slack=target)
    return [Row("advanced", found.epsilon, found.delta, "equal losses, as in textbooks")]


def _orders(loss: Loss, target: Fraction) -> list[Row]:
    rows = []
    if math.isfinite(loss.rho):
        epsilon = rho_to_epsilon(rho=loss.rho, delta=target)
        rows.append(Row("zCDP", epsilon, float(target), f"rho {loss.rho:.4g}"))
    epsilon = renyi_to_epsilon(curve=lambda order: loss.renyi(order=order), delta=target)
    if math.isfinite(epsilon):
        rows.append(Row("Rényi", epsilon, float(target), "the best of many orders"))
    return rows


def _best(loss: Loss, target: Fraction) -> list[Row]:
    """The theorems that are optimal where only the epsilons, or the ranges, are known."""
    rows = []
    price = _common(loss)
    exact = by_responses(loss.parts, delta=target)
    if price is not None and few_enough(loss.parts):
        epsilon = optimal(epsilon=price, times=loss.uses, at_delta=target).epsilon
        rows.append(Row("optimal, equal losses", epsilon, float(target), "no theorem gives less"))
        if all(isinstance(leaf, BoundedRange) for leaf, _ in loss.parts):
            found = bounded_range(
                epsilon=price, times=loss.uses, adaptive=False, at_delta=target
            ).epsilon
            rows[-1] = Row("optimal, as pure losses", epsilon, float(target), "range not used")
            rows.append(Row("bounded range", found, float(target), _FIXED))
    elif exact is not None:
        rows.append(
            Row("optimal, different losses", exact, float(target), "knowing the epsilons only")
        )
    return rows


def _common(loss: Loss) -> Fraction | None:
    """Return the epsilon that all uses have, or None if there is no such number."""
    prices = {leaf.pure for leaf, _ in loss.parts}
    return prices.pop() if len(prices) == 1 else None
