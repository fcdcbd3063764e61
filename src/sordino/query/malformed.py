# SPDX-License-Identifier: Apache-2.0
"""What is raised where a file is not well-formed."""

from __future__ import annotations


class Malformed(Exception):
    """A file that is not well-formed: the line, counted from 1, and why; no value is told."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason
