# SPDX-License-Identifier: Apache-2.0
"""Formats of days and moments in CSV files, such as %d.%m.%Y: which there are, and what fits."""

from __future__ import annotations

import re
from functools import cache

from sordino.errors import CatalogError

DATE, TIMESTAMP = "date", "timestamp"
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# What a directive matches: if it has room around it, and if other digits may follow at once.
_DIRECTIVES = {
    "d": ("[0-9]{1,2}", "[0-9]{2}"),
    "m": ("[0-9]{1,2}", "[0-9]{2}"),
    "b": (f"(?i:{'|'.join(MONTHS)})",) * 2,
    "Y": ("[0-9]{4}",) * 2,
    "y": ("[0-9]{2}",) * 2,
    "H": ("[01]?[0-9]|2[0-3]", "[01][0-9]|2[0-3]"),
    "I": ("0?[1-9]|1[0-2]", "0[1-9]|1[0-2]"),
    "p": ("(?i:am|pm)",) * 2,
    "M": ("[0-5]?[0-9]", "[0-5][0-9]"),
    "S": ("[0-5]?[0-9]", "[0-5][0-9]"),
    "f": ("[0-9]{1,6}", "[0-9]{6}"),
}
_NAMED = "%d, %m, %b (Jan), %Y, %y, %H, %I with %p, %M, %S, %f and %%"
_PART = re.compile(r"%(.?)|([^%]+)", re.DOTALL)
_LONGEST = 100


def check_format(name: str, value: object, kind: str) -> str | None:
    """Return a format that names a day, and for moments an hour, each part of them once.

    >>> check_format("date_format", "%d.%m.%Y", DATE)
    '%d.%m.%Y'
    """
    if value is None:
        return None
    if not isinstance(value, str) or not value.isprintable() or len(value) > _LONGEST:
        raise CatalogError(f"{name} must be text such as '%d.%m.%Y', got {value!r}")
    stated = [part for part, text in _PART.findall(value.replace("%%", "")) if not text]
    if odd := [part for part in stated if part not in _DIRECTIVES]:
        raise CatalogError(f"{name} has %{odd[0]}; there are {_NAMED}")
    day = [sorted(part for part in stated if part in either) for either in ("d", "mb", "Yy")]
    if any(len(parts) != 1 for parts in day) or len(set(stated)) != len(stated):
        raise CatalogError(f"{name} must name a day by %d, %m and %Y once each, got {value!r}")
    clock = "".join(part for part in "HIpMSf" if part in stated)
    if clock not in ("", "H", "HM", "HMS", "HMSf", "Ip", "IpM", "IpMS", "IpMSf"):
        raise CatalogError(
            f"{name} must name the time by %H, %M, %S or %I, %p, %M, %S, got {value!r}"
        )
    if not clock and kind == TIMESTAMP:
        raise CatalogError(f"{name} must name a time too, as in '%d.%m.%Y %H:%M:%S', got {value!r}")
    if clock and kind == DATE:
        raise CatalogError(f"{name} must not name a time; declare the column as timestamp")
    return value


@cache
def pattern_of(form: str) -> str:
    """Return the regular expression of a format, with a group for each directive."""
    parts = _PART.findall(form)
    pattern = ""
    for place, (directive, text) in enumerate(parts):
        if text or directive == "%":
            pattern += re.escape(text or "%")
            continue
        around = (parts[step][0] for step in (place - 1, place + 1) if 0 <= step < len(parts))
        tight = any(other in _DIRECTIVES for other in around if other)
        pattern += f"(?P<{directive}>{_DIRECTIVES[directive][tight]})"
    return f"^ *{pattern} *$"
