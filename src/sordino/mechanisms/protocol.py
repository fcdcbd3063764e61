# SPDX-License-Identifier: Apache-2.0
"""What every mechanism and every loss can do."""

from __future__ import annotations

from typing import Any, Protocol

from sordino.numbers.rational import Integer, Number


class Loss(Protocol):
    """How much a mechanism can reveal, read in several ways; each number is an upper bound."""

    @property
    def rho(self) -> float: ...

    def epsilon(self, *, delta: Number) -> float: ...

    def delta(self, *, epsilon: Number) -> float: ...


class Mechanism(Protocol):
    """Noise with fixed parameters: it has a loss and an accuracy before it sees any data.

    Guarantee: that of ``loss``, for each call of ``release``.
    """

    @property
    def loss(self) -> Loss: ...

    def release(self, value: object) -> Any:
        """Return the value with fresh noise on each coordinate."""
        ...

    def accuracy(self, *, confidence: Number, coordinates: Integer = 1) -> int | float:
        """Return the least half-width that holds for all coordinates with this confidence."""
        ...
