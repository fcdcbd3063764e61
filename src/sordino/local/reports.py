# SPDX-License-Identifier: Apache-2.0
"""Reports: what clients send and servers count, marked with the protocol they were made by."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

_MARK = "sordino reports 1"
_NUMBER = re.compile(r"[<|]u[1248]")
_LONGEST_HEADER = 1_000


@dataclass(frozen=True, eq=False)
class Reports:
    """The randomized answers of some people to one question; the first axis goes by person.

    ``protocol`` is the fingerprint of the protocol that made them: another one cannot count them.
    """

    protocol: str
    data: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<{len(self)} reports, {self.data.nbytes} bytes, protocol {self.protocol[:8]}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reports):
            return NotImplemented
        return self.protocol == other.protocol and np.array_equal(self.data, other.data)

    __hash__ = None  # type: ignore[assignment]  # arrays have none either

    def to_bytes(self) -> bytes:
        """Return the reports as bytes: a line that says what they are, then the numbers."""
        data = np.ascontiguousarray(self.data)
        data = data.astype(data.dtype.newbyteorder("<"), copy=False)
        header = {
            "kind": _MARK,
            "protocol": self.protocol,
            "number": data.dtype.str,
            "shape": data.shape,
        }
        return json.dumps(header).encode() + b"\n" + data.tobytes()


def read_reports(data: bytes) -> Reports:
    """Read what ``to_bytes`` wrote."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError("reports are read from bytes")
    line, _, body = bytes(data).partition(b"\n")
    try:
        header = json.loads(line) if len(line) <= _LONGEST_HEADER else None
        if not isinstance(header, dict) or header.get("kind") != _MARK:
            raise ValueError
        shape, number, protocol = header["shape"], header["number"], header["protocol"]
        sizes = isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)
        if not sizes or not _NUMBER.fullmatch(number) or not isinstance(protocol, str):
            raise ValueError
        if prod(shape) * np.dtype(number).itemsize != len(body) or not 1 <= len(shape) <= 2:
            raise ValueError
        array = np.frombuffer(body, dtype=number).reshape(shape)
    except (ValueError, KeyError, TypeError, UnicodeDecodeError, RecursionError):
        raise ValueError("these bytes are no whole reports; have them sent again") from None
    return Reports(protocol, array)


def joined(many: Iterable[Reports]) -> Reports:
    """Return the reports of several clients as one."""
    parts = list(many)
    if not parts:
        raise ValueError("there are no reports to join")
    if len({part.protocol for part in parts}) > 1:
        raise ValueError("only reports of one protocol can be joined; keep others apart")
    return Reports(parts[0].protocol, np.concatenate([part.data for part in parts]))
