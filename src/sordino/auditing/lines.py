# SPDX-License-Identifier: Apache-2.0
"""The lines of the code under test that run, and those that run on one data set only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from sordino.auditing.differences import Finding
from sordino.auditing.draws import is_followed


@contextmanager
def watched(seen: set[str]) -> Iterator[None]:
    """Note the lines of the code under test that run in this thread.

    Guarantee: none needed; for invented data only.
    """

    def line(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            seen.add(f"{frame.f_code.co_filename}:{frame.f_lineno}")
        return line

    def enter(frame: FrameType, *_: Any) -> Any:
        return line if is_followed(frame.f_code.co_filename) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)


def one_sided(x: frozenset[str], y: frozenset[str]) -> Iterator[Finding]:
    """Yield the lines that ran on one data set only.

    Guarantee: none needed; it tells about invented data only.
    """
    one = [("x", line) for line in x - y]
    for name, line in sorted(one + [("y", line) for line in y - x]):
        yield Finding("lines", f"this line runs on {name} only", Path(line).name)
