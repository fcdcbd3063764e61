# SPDX-License-Identifier: Apache-2.0
"""What came out for one mechanism or one plan, however it was looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sordino.auditing.report import Report
    from sordino.auditing.verified import Verified


@dataclass(frozen=True, slots=True)
class Outcome:
    """One line of a list of audits: sampled, verified from the law, replayed, or all of it.

    Guarantee: none needed; it tells about invented data only.
    """

    name: str
    report: Report | None = None
    verified: Verified | None = None
    findings: tuple[str, ...] | None = None  # of a replay; empty if nothing differed
    described: str = ""  # what it is in full, where the name is short

    @property
    def private(self) -> bool:
        """Tell whether nothing was found that breaks the promise."""
        sampled = self.report is None or self.report.private
        exact = self.verified is None or self.verified.private
        return sampled and exact and not self.findings

    @property
    def verdict(self) -> str:
        """Say what was found, in the words that reports use."""
        if not self.private:
            return "violation"
        return "no violation found" if self.verified is None else "holds"

    @property
    def ways(self) -> str:
        """Say how it was looked at.

        >>> Outcome("SELECT 1", findings=()).ways
        'replayed'
        """
        looked = {
            "sampled": self.report is not None,
            "verified": self.verified is not None,
            "replayed": self.findings is not None,
        }
        return ", ".join(way for way, is_so in looked.items() if is_so)

    @property
    def promised(self) -> str:
        """Write the promised epsilon, and delta if there is one.

        >>> Outcome("nothing").promised
        ''
        """
        one = self.report or self.verified
        if one is None:
            return ""
        return f"{one.epsilon:.4g}" + (f", {one.delta:.3g}" if one.delta else "")

    @property
    def found(self) -> str:
        """Write the lower bound that the runs show."""
        return "" if self.report is None else bounded(self.report.lower_bound)

    @property
    def exact(self) -> str:
        """Write the least epsilon that holds, where the law is known."""
        return "" if self.verified is None else bounded(self.verified.least_epsilon)

    @property
    def words(self) -> str:
        """Say what is behind the verdict: the findings, or the worst event."""
        if self.findings:
            return "; ".join(self.findings)
        if self.verified is not None and not self.verified.private:
            return self.verified.event
        return "" if self.report is None else self.report.event

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "name": self.name,
            "described": self.described or self.name,
            "verdict": self.verdict,
            "sampled": None if self.report is None else self.report.to_json(),
            "verified": None if self.verified is None else self.verified.to_json(),
            "findings": None if self.findings is None else list(self.findings),
        }


def bounded(epsilon: float) -> str:
    """Write an epsilon.

    >>> bounded(0.123456), bounded(float("inf"))
    ('0.1235', 'infinite')
    """
    return f"{epsilon:.4f}" if math.isfinite(epsilon) else "infinite"
