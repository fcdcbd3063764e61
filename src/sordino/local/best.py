# SPDX-License-Identifier: Apache-2.0
"""Which protocol to take: that of least error, or one nearly as good with shorter reports."""

from __future__ import annotations

from sordino.local.bit_rows import Subset, Unary
from sordino.local.domain import read_domain
from sordino.local.hadamard import Hadamard
from sordino.local.hashing import Hashing
from sordino.local.protocol import Protocol
from sordino.local.response import Response
from sordino.numbers.rational import Integer, Number, positive_whole

CLOSE_TO_LEAST = 1.05  # Times the least error counts as the least.


def best(categories: object, epsilon: Number, *, most_bits: Integer | None = None) -> Protocol:
    """Return the protocol for some categories: least total error, then the shortest reports.

    The total error is the expected sum of squared errors over all categories, which does not
    depend on what is true. Among the protocols within 5 percent of the least, the one with the
    shortest reports is taken. ``most_bits`` leaves out those with longer reports.

    >>> best(["no", "yes"], 1), best(1000, 1)  # doctest: +NORMALIZE_WHITESPACE
    (<randomized response: 2 categories, epsilon 1>,
     <optimised local hashing: 1000 categories, epsilon 1>)
    >>> round(best(1000, 1).standard_error(1_000_000), 5)
    0.00192
    """
    found = candidates(categories, epsilon)
    if most_bits is not None:
        limit = positive_whole("most_bits", most_bits)
        short = [protocol for protocol in found if protocol.report_bits <= limit]
        if not short:
            least = min(protocol.report_bits for protocol in found)
            raise ValueError(f"no protocol has so short reports; allow at least {least} bits")
        found = short
    errors = {protocol: protocol.total_error(1) for protocol in found}
    least_error = min(errors.values())
    close = [protocol for protocol in found if errors[protocol] <= CLOSE_TO_LEAST * least_error]
    return min(close, key=lambda protocol: (protocol.report_bits, errors[protocol]))


def candidates(categories: object, epsilon: Number) -> list[Protocol]:
    """Return one protocol of each kind."""
    labels = read_domain(categories).labels
    kinds = (Response, Hadamard, Hashing, Unary, Subset)
    return [kind(labels, epsilon=epsilon) for kind in kinds]
