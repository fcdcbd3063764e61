# SPDX-License-Identifier: Apache-2.0
"""What an exact verification found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Verified:
    """The worst pair of neighbours, and the promise that would hold.

    ``least_delta`` is the least delta that holds at the claimed epsilon for the worst pair, ``x``
    being the likelier; ``least_epsilon`` the least epsilon that holds at the claimed delta for all
    pairs. ``outputs`` is the worst set, ``event`` says it in words. ``tolerance`` is how far off,
    relative to it, each probability was taken to be: 0 where the law was exact.

    Guarantee: none needed; it tells about invented data only.
    """

    epsilon: float
    delta: float
    verdict: Literal["holds", "violation"]
    x: Any
    y: Any
    least_delta: float
    least_epsilon: float
    outputs: tuple[Any, ...]
    event: str
    pairs: int
    tolerance: float

    @property
    def private(self) -> bool:
        """Tell whether the promise holds."""
        return self.verdict == "holds"

    def __str__(self) -> str:
        claimed = f"epsilon {self.epsilon:g}, delta {self.delta:g}"
        many = "1 pair" if self.pairs == 1 else f"{self.pairs} pairs"
        rounding = "exactly" if not self.tolerance else f"within rounding of {self.tolerance:g}"
        said = "it holds" if self.private else "it does not hold"
        return "\n".join(
            [
                f"{claimed} for {many} of neighbours, {rounding}: {said}",
                f"the least delta at this epsilon is {self.least_delta:.6g}",
                f"the least epsilon at this delta is {self.least_epsilon:.6g}",
                f"worst pair: {_short(self.x)} and {_short(self.y)}; {self.event}",
            ]
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values; data and outputs as text, and an infinite number as null."""
        finite = self.least_epsilon < float("inf")
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "verdict": self.verdict,
            "x": _short(self.x),
            "y": _short(self.y),
            "least_delta": self.least_delta,
            "least_epsilon": self.least_epsilon if finite else None,
            "event": self.event,
            "pairs": self.pairs,
            "tolerance": self.tolerance,
        }


def _short(value: Any, longest: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
