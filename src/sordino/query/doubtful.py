# SPDX-License-Identifier: Apache-2.0
"""Text that engines and Python may read differently, so that no list of keys rests on it.

They fold letters beyond ASCII in different ways, disagree on which are spaces, and one reads
``0x1F`` as a number where another reads none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sordino.query.types import Value

_PLAIN = re.compile(r"[ -~]*")
_NUMBER = re.compile(r" *[-+]?\d{1,15}(\.\d{1,15})? *", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}( \d{2}:\d{2}(:\d{2})?)?", re.ASCII)
_DIGIT = re.compile(r"\d", re.ASCII)
_SPECIAL = ("nan", "inf", "infinity", "epoch", "now", "today", "yesterday", "tomorrow")


class Doubtful(Exception):
    """An operation meets text on which engines may differ."""


def doubtful(operation: str, values: Sequence[Value]) -> bool:
    """Tell whether engines may differ on what an operation gives for values.

    >>> doubtful("upper", ["flu"]), doubtful("upper", ["stra\u00dfe"])
    (False, True)
    >>> doubtful("to_integer", ["31"]), doubtful("to_integer", ["0x1F"])
    (False, True)
    """
    agreed = _AGREED.get(operation)
    if agreed is None:
        return False
    return not all(agreed(value) for value in values if isinstance(value, str))


def _plain(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None


def _written(form: re.Pattern[str]) -> Callable[[str], bool]:
    """Return a test for text of one form, or for text that everybody reads as something else."""

    def agreed(text: str) -> bool:
        if form.fullmatch(text):
            return True
        word = text.strip(" +-").lower()
        return _plain(text) and not _DIGIT.search(text) and word not in _SPECIAL

    return agreed


_AGREED: dict[str, Callable[[str], bool]] = {
    **dict.fromkeys(("lower", "upper", "trim", "ilike", "to_boolean"), _plain),
    **dict.fromkeys(("to_integer", "to_real"), _written(_NUMBER)),
    **dict.fromkeys(("to_date", "to_timestamp"), _written(_MOMENT)),
}
