# SPDX-License-Identifier: Apache-2.0
"""What a file of reports says of itself: all that a server needs to count them."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.cli.local_choice import KINDS, NUMBER_KINDS, AnyProtocol, name_of
from sordino.local.protocol import Protocol

MARK = "sordino local reports 1"
_MOST_PEOPLE = 1 << 52  # more than a server counts
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
        if type(people) is not int or not 0 <= people <= _MOST_PEOPLE:
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
