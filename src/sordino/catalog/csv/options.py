# SPDX-License-Identifier: Apache-2.0
"""How a CSV file is written, as its owner states it: each option is checked when it is read."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path

from sordino.catalog.model import CsvFile
from sordino.catalog.schemas import check_ending
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


OPTIONS = (
    *("separator", "encoding", "quote", "decimal", "date_format", "timestamp_format"),
    *("nulls", "malformed"),
)
MALFORMED = ("refuse", "skip")
UTF_8 = "utf-8"
_UNITS = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
# In these a line feed is the byte 10, and lines are decoded one by one. Each is without states.
BY_LINE = (
    *("cp932", "shift_jis", "euc_jp", "gb18030", "gbk", "gb2312", "big5", "big5hkscs"),
    *("euc_kr", "cp949"),
)
_MOST_NULLS = 1_000


def csv_file(
    path: Path,
    *,
    separator: object = None,
    encoding: object = UTF_8,
    quote: object = '"',
    decimal: object = ".",
    date_format: object = None,
    timestamp_format: object = None,
    nulls: object = ("",),
    malformed: object = "refuse",
) -> CsvFile:
    """Return a CSV file with checked options; a ``.tsv`` file is separated by tabs if none is said.

    >>> csv_file(Path("visits.csv"), encoding="Latin-1").encoding
    'iso8859-1'
    """
    check_ending(path, "csv")
    if separator is None:
        separator = "\t" if ".tsv" in path.suffixes[-2:] else ","
    text = _sign("separator", separator, "such as ';'")
    sign = "" if quote == "" else _sign("quote", quote, 'or "" for none')
    if text == sign:
        raise CatalogError("separator and quote must be different characters")
    if decimal not in (".", ","):
        raise CatalogError(f"decimal must be '.' or ',', got {decimal!r}")
    if malformed not in MALFORMED:
        raise CatalogError(f"malformed must be 'refuse' or 'skip', got {malformed!r}")
    return CsvFile(
        path,
        text,
        encoding=_encoding(encoding),
        quote=sign,
        decimal=str(decimal),
        date_format=check_format("date_format", date_format, DATE),
        timestamp_format=check_format("timestamp_format", timestamp_format, TIMESTAMP),
        nulls=_nulls(nulls),
        malformed=str(malformed),
    )


def _sign(name: str, value: object, example: str) -> str:
    if not isinstance(value, str) or len(value) != 1 or not value.isascii() or value in "\n\r\0":
        raise CatalogError(f"{name} must be one ASCII character, {example}, got {value!r}")
    return value


def _encoding(name: object) -> str:
    """Return the name that Python has for an encoding whose lines stand for themselves."""
    try:
        found = codecs.lookup(name).name if isinstance(name, str) else ""
    except (LookupError, ValueError):
        found = ""
    if found in (UTF_8, "utf-8-sig"):
        return UTF_8
    if not (found in _UNITS or found in BY_LINE or is_narrow(found)):
        raise CatalogError(
            f"encoding must be 'utf-8', 'utf-16', 'latin-1', 'cp1252' or another one of Python's "
            f"that has no states, got {name!r}"
        )
    return found


def is_narrow(encoding: str) -> bool:
    """Tell whether each byte of an encoding is a character by itself.

    >>> is_narrow("cp1252"), is_narrow("utf-7")
    (True, False)
    """
    if encoding == "ascii":
        return True
    try:
        module = import_module("encodings." + encoding.replace("-", "_")) if encoding else None
    except ModuleNotFoundError:
        return False
    return len(getattr(module, "decoding_table", "")) == 256


def _nulls(values: object) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise CatalogError(f'nulls must be a list of texts, such as ["", "NA"], got {values!r}')
    texts = tuple(dict.fromkeys(values))
    if not all(isinstance(text, str) for text in texts) or len(texts) > _MOST_NULLS:
        raise CatalogError(f"nulls must be a list of at most {_MOST_NULLS:,} texts")
    return texts
