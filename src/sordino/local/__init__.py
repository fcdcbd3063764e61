# SPDX-License-Identifier: Apache-2.0
"""The local model: each person randomizes, and nobody who counts need be trusted."""

from sordino.local.best import best, candidates
from sordino.local.bit_rows import Subset, Unary
from sordino.local.estimate import Estimate
from sordino.local.hadamard import Hadamard
from sordino.local.hashing import Hashing
from sordino.local.heavy import Found, HeavyHitters
from sordino.local.memoised import Memoised
from sordino.local.numbers import MeanEstimate
from sordino.local.one_bit import OneBit
from sordino.local.piecewise import Piecewise
from sordino.local.protocol import Client, Protocol, Server
from sordino.local.randomizer import Reports, joined, read_reports
from sordino.local.response import Response

__all__ = [
    "Client",
    "Estimate",
    "Found",
    "Hadamard",
    "Hashing",
    "HeavyHitters",
    "MeanEstimate",
    "Memoised",
    "OneBit",
    "Piecewise",
    "Protocol",
    "Reports",
    "Response",
    "Server",
    "Subset",
    "Unary",
    "best",
    "candidates",
    "joined",
    "read_reports",
]
