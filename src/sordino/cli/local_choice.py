# SPDX-License-Identifier: Apache-2.0
"""From words on the command line to a protocol of the local model."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

from sordino.local.best import best, candidates
from sordino.local.bit_rows import Subset, Unary
from sordino.local.hadamard import Hadamard
from sordino.local.hashing import Hashing
from sordino.local.numbers import NumberProtocol
from sordino.local.one_bit import OneBit
from sordino.local.piecewise import Piecewise
from sordino.local.protocol import Protocol
from sordino.local.response import Response
from sordino.numbers.rational import decimal_of

AnyProtocol: TypeAlias = Protocol | NumberProtocol

KINDS: dict[str, type[Protocol]] = {
    "response": Response,
    "unary": Unary,
    "hashing": Hashing,
    "hadamard": Hadamard,
    "subset": Subset,
}
NUMBER_KINDS: dict[str, type[OneBit | Piecewise]] = {"one-bit": OneBit, "piecewise": Piecewise}
_NEITHER = (
    "say what people may answer: --categories yes,no, or --categories-file with one in each line, "
    "or --low 0 --high 100 for numbers"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What was said about the protocol, as it was typed."""

    categories: str | None
    categories_file: Path | None
    low: str | None
    high: str | None
    epsilon: str
    protocol: str


def choose_protocol(asked: Asked) -> AnyProtocol:
    """Return the protocol that was asked for, or the best one."""
    if asked.protocol not in ("best", *KINDS, *NUMBER_KINDS):
        names = ", ".join((*KINDS, *NUMBER_KINDS))
        raise ValueError(f"there is no protocol {asked.protocol!r}; take best or one of {names}")
    epsilon = decimal_of("epsilon", asked.epsilon)
    if _is_about_numbers(asked):
        if asked.protocol in KINDS:
            raise ValueError(
                f"{asked.protocol} is for categories; for numbers take one-bit or piecewise"
            )
        found = number_protocols(asked)
        if asked.protocol == "best":
            return min(found.values(), key=lambda protocol: protocol.variance())
        return found[asked.protocol]
    if asked.protocol in NUMBER_KINDS:
        raise ValueError(f"{asked.protocol} is for numbers; say --low and --high, not categories")
    named = read_categories(asked)
    if asked.protocol == "best":
        return best(named, epsilon)
    return KINDS[asked.protocol](named, epsilon=epsilon)


def all_protocols(asked: Asked) -> list[Protocol] | list[NumberProtocol]:
    """Return one protocol of each kind that would do."""
    if _is_about_numbers(asked):
        return list(number_protocols(asked).values())
    return candidates(read_categories(asked), decimal_of("epsilon", asked.epsilon))


def number_protocols(asked: Asked) -> dict[str, NumberProtocol]:
    """Return the protocols for numbers of a range."""
    if asked.low is None or asked.high is None:
        raise ValueError("numbers need both ends of their range: --low and --high")
    low, high = decimal_of("low", asked.low), decimal_of("high", asked.high)
    epsilon = decimal_of("epsilon", asked.epsilon)
    return {name: kind(low, high, epsilon=epsilon) for name, kind in NUMBER_KINDS.items()}


def read_categories(asked: Asked) -> list[str] | int:
    """Return the categories as texts, or how many there are."""
    if asked.categories is not None and asked.categories_file is not None:
        raise ValueError("name the categories once: by --categories or by --categories-file")
    if asked.categories_file is not None:
        return _kept(_lines(asked.categories_file))
    if asked.categories is None:
        raise ValueError(_NEITHER)
    text = asked.categories.strip()
    if text.isascii() and text.isdigit() and len(text) <= 12:
        return int(text)
    return _kept(text.split(","))


def name_of(protocol: AnyProtocol) -> str:
    """Return the name that the command line has for a protocol."""
    kinds: dict[str, type] = {**KINDS, **NUMBER_KINDS}
    return next(name for name, kind in kinds.items() if type(protocol) is kind)


def as_text(x: Fraction) -> str:
    """Write a fraction as the decimal that was typed."""
    return format(Decimal(x.numerator) / Decimal(x.denominator), "f")


def _is_about_numbers(asked: Asked) -> bool:
    ranged = asked.low is not None or asked.high is not None
    if ranged and (asked.categories is not None or asked.categories_file is not None):
        raise ValueError("people answer by a category or by a number; give categories or a range")
    return ranged


def _kept(names: list[str]) -> list[str]:
    return [name.strip() for name in names if name.strip()]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"the categories in {path} are not UTF-8; save them as UTF-8") from None
    except OSError as error:
        raise ValueError(f"the file {path} cannot be read: {error.strerror}") from None
