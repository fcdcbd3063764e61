# SPDX-License-Identifier: Apache-2.0
"""From words on the command line, or in a file of reports, to a protocol of the local model."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.cli.local.commands import Answers
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


def choose_protocol(asked: Answers, protocol: str) -> AnyProtocol:
    """Return the protocol that was asked for, or the best one."""
    if protocol not in ("best", *KINDS, *NUMBER_KINDS):
        names = ", ".join((*KINDS, *NUMBER_KINDS))
        raise ValueError(f"there is no protocol {protocol!r}; take best or one of {names}")
    epsilon = decimal_of("epsilon", asked.epsilon)
    if _is_about_numbers(asked):
        if protocol in KINDS:
            raise ValueError(f"{protocol} is for categories; for numbers take one-bit or piecewise")
        found = number_protocols(asked)
        if protocol == "best":
            return min(found.values(), key=lambda one: one.variance())
        return found[protocol]
    if protocol in NUMBER_KINDS:
        raise ValueError(f"{protocol} is for numbers; say --low and --high, not categories")
    named = read_categories(asked)
    if protocol == "best":
        return best(named, epsilon)
    return KINDS[protocol](named, epsilon=epsilon)


def all_protocols(asked: Answers) -> list[Protocol] | list[NumberProtocol]:
    """Return one protocol of each kind that would do."""
    if _is_about_numbers(asked):
        return list(number_protocols(asked).values())
    return candidates(read_categories(asked), decimal_of("epsilon", asked.epsilon))


def number_protocols(asked: Answers) -> dict[str, NumberProtocol]:
    """Return the protocols for numbers of a range."""
    if asked.low is None or asked.high is None:
        raise ValueError("numbers need both ends of their range: --low and --high")
    low, high = decimal_of("low", asked.low), decimal_of("high", asked.high)
    epsilon = decimal_of("epsilon", asked.epsilon)
    return {name: kind(low, high, epsilon=epsilon) for name, kind in NUMBER_KINDS.items()}


def read_categories(asked: Answers) -> list[str] | int:
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


def _is_about_numbers(asked: Answers) -> bool:
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


MARK = "sordino local reports 1"
_MAX_PEOPLE = 1 << 52  # More than a server counts.
_FRACTION = re.compile(r"-?[0-9]{1,200}(/[0-9]{1,200})?")


def about(protocol: AnyProtocol, people: int) -> str:
    """Return, in a line of JSON, how reports were made and how many there are."""
    told: dict[str, Any] = {
        "kind": MARK,
        "protocol": name_of(protocol),
        "epsilon": str(protocol.epsilon),
    }
    if isinstance(protocol, Protocol):
        labels = protocol.domain.labels
        told["categories"] = len(labels) if isinstance(labels, range) else list(labels)
    else:
        scale = protocol.scale
        told |= {"low": str(scale.low), "high": str(scale.high), "steps": scale.steps}
    return json.dumps({**told, "fingerprint": protocol.fingerprint, "people": people})


def read_about(text: bytes, path: Path, *, most: int) -> tuple[AnyProtocol, int]:
    """Return the protocol and the number of people that a file of reports names.

    Whoever lists categories has to send them all; one who only says how many there are could ask
    for any amount of memory by a few bytes, and so they may be no more than ``most``.
    """
    try:
        told = json.loads(text)
        if not isinstance(told, dict) or told.get("kind") != MARK:
            raise ValueError
        many = told.get("categories")
        too_many = isinstance(many, int) and many > most
        people = told["people"]
        if type(people) is not int or not 0 <= people <= _MAX_PEOPLE:
            raise ValueError
        protocol = None if too_many else _protocol(told)
    except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError):
        raise foreign(path) from None
    if protocol is None:
        raise ValueError(
            f"{path} says that it has {many:,} categories, and lists none, which may take much "
            f"memory; if that is right, add --most-categories {many}"
        )
    if protocol.fingerprint != told.get("fingerprint"):
        raise ValueError(
            f"the reports in {path} were made by another version of sordino or have been changed; "
            "have them made again"
        )
    return protocol, people


def foreign(path: Path) -> ValueError:
    """Return the error about a file that holds something else."""
    return ValueError(f"{path} holds no reports; name files that `sordino local encode` wrote")


def shape_of(protocol: AnyProtocol) -> npt.NDArray[Any]:
    """Return reports of nobody, of the type and width that those of a protocol have."""
    none = np.empty(0, dtype=np.int64)
    if isinstance(protocol, Protocol):
        return protocol.draw(none)
    return protocol.client().encode(none).data


def _protocol(told: dict[str, Any]) -> AnyProtocol:
    name, epsilon = told["protocol"], _fraction(told["epsilon"])
    if name in KINDS:
        return KINDS[name](told["categories"], epsilon=epsilon)
    low, high = _fraction(told["low"]), _fraction(told["high"])
    return NUMBER_KINDS[name](low, high, epsilon=epsilon, steps=told["steps"])


def _fraction(text: object) -> Fraction:
    if not isinstance(text, str) or not _FRACTION.fullmatch(text):
        raise ValueError
    return Fraction(text)


def percentage(share: float) -> str:
    """Write a share in percentage points, with two digits that tell.

    >>> percentage(0.0192), percentage(0.04), percentage(0.0000334), percentage(12.5)
    ('1.9', '4.0', '0.0033', '1250')
    """
    text = f"{100 * share:#.2g}".rstrip(".")
    return f"{100 * share:.0f}" if "e+" in text else text
