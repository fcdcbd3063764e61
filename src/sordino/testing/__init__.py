# SPDX-License-Identifier: Apache-2.0
"""Recorded randomness for tests. Nothing in the package imports this."""

from sordino.testing.tape import Tape, TapeEnded, Words, replay

__all__ = ["Tape", "TapeEnded", "Words", "replay"]
