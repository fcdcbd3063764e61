# SPDX-License-Identifier: Apache-2.0
"""The side of the person: a value goes in, a randomized report comes out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sordino.exact.rational import Integer, positive_whole, written
from sordino.local.reports import Reports
from sordino.privacy.loss import Loss

if TYPE_CHECKING:
    from sordino.local.protocol import Protocol

AT_ONCE = 1 << 16  # people


class Client:
    """What runs where the truth is known, and lets only randomized reports out.

    >>> from sordino.local import Response
    >>> client = Response(["no", "yes"], epsilon=1).client()
    >>> len(client.encode("yes")), len(client.encode(["yes", "no", "no"]))
    (1, 3)

    Guarantee:
        Neighbours: any two values of one person.
        Loss: ``loss`` for each report; whoever reports twice loses twice, unless the reports are
            kept (see Memoised).
        Numerics: as for the protocol.
        Proof: docs/proofs/local.md, theorem 1.
    """

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol

    def __repr__(self) -> str:
        return f"<client of {self.protocol.words}, epsilon {written(self.protocol.epsilon)}>"

    @property
    def loss(self) -> Loss:
        """What one report can reveal."""
        return self.protocol.loss

    def encode(self, values: object) -> Reports:
        """Return a fresh report for a value, or for each value of a column.

        Guarantee: as for Client.
        """
        codes, _ = self.protocol.domain.codes(values)
        return Reports(self.protocol.fingerprint, self.protocol.draw(codes))

    def stream(self, values: object, *, at_once: Integer = AT_ONCE) -> Iterator[Reports]:
        """Give the reports of a column piece by piece, so that they need little memory.

        Guarantee: as for Client.
        """
        size = positive_whole("at_once", at_once)
        codes, _ = self.protocol.domain.codes(values)
        for start in range(0, codes.size, size):
            drawn = self.protocol.draw(codes[start : start + size])
            yield Reports(self.protocol.fingerprint, drawn)
