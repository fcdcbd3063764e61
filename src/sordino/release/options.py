# SPDX-License-Identifier: Apache-2.0
"""What the analyst may ask to have done to noisy counts; it costs nothing and is always said."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """How noisy counts are shown.

    ``nonnegative`` shows 0 for counts below 0. ``integer`` shows numbers of the type INTEGER as
    whole ones. ``consistent`` makes the counts of all groups whole and not negative in such a way
    that they add up to the total of the noisy counts, which clipping alone would push up.

    Guarantee: none needed; public inputs only.
    """

    nonnegative: bool = False
    integer: bool = True
    consistent: bool = False

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not isinstance(value, bool):
                raise TypeError(f"{name} must be True or False")
