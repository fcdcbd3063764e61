# SPDX-License-Identifier: Apache-2.0
"""The side of a person who holds a category: it goes in, and a randomized report comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from sordino.local.domain import Codes
from sordino.local.randomizer import Encoder

if TYPE_CHECKING:
    from sordino.local.protocol import Protocol


class Client(Encoder):
    """What runs where the truth is known, and lets only randomized reports out.

    >>> from sordino.local import Response
    >>> client = Response(["no", "yes"], epsilon=1).client()
    >>> len(client.encode("yes")), len(client.encode(["yes", "no", "no"]))
    (1, 3)

    Guarantee: as for Encoder.
    """

    def __init__(self, protocol: Protocol) -> None:
        self.protocol: Protocol = protocol

    def _read(self, values: object) -> Codes:
        codes, _ = self.protocol.domain.codes(values)
        return codes

    def _drawn(self, column: Codes) -> npt.NDArray[Any]:
        return self.protocol.draw(self.protocol.domain.check(column))
