# SPDX-License-Identifier: Apache-2.0
"""An output that was fixed before there were data: no loss, and nothing to learn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sordino.privacy.loss import Loss, compose


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Constant:
    """Always the same value, whatever the data are: epsilon 0.

    It is the one end of what a mechanism can be: all privacy and no use. ``value`` must have been
    chosen without looking at the data; then whoever sees it learns nothing from it. Its ``loss`` is
    that of no mechanism at all, and adds nothing to other losses.

    >>> zero = Constant(0)
    >>> zero.release([3, 1, 4]), zero.loss.epsilon(delta=0), zero.loss.delta(epsilon=0)
    (0, 0.0, 0.0)

    Guarantee:
        Neighbours: any two data sets, however much they differ.
        Loss: epsilon 0 and delta 0, in every currency.
        Numerics: exact; no noise is drawn.
        Proof: docs/proofs/composition.md; two equal laws have the profile 0 at every epsilon.
    """

    value: Any
    loss: Loss = field(compare=False)

    def __init__(self, value: Any) -> None:
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "loss", compose([]))

    def __repr__(self) -> str:
        return f"Constant({self.value!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Constant, (self.value,)

    def release(self, data: object) -> Any:  # noqa: ARG002 - this is the point of it
        """Return the value; the data are not looked at."""
        return self.value
