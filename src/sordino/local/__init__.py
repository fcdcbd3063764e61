# SPDX-License-Identifier: Apache-2.0
"""The local model: each person randomizes, and nobody who counts need be trusted."""

from sordino.local.best import best, candidates
from sordino.local.estimate import Estimate
from sordino.local.hadamard import Hadamard
from sordino.local.hashing import Hashing
from sordino.local.heavy import HeavyHitters
from sordino.local.mean import MeanEstimate
from sordino.local.memoised import Memoised
from sordino.local.one_bit import OneBit
from sordino.local.piecewise import Piecewise
from sordino.local.prefixes import Found
from sordino.local.protocol import Protocol
from sordino.local.reports import Reports, joined, read_reports
from sordino.local.response import Response
from sordino.local.sides import Client, Server
from sordino.local.subset import Subset
from sordino.local.unary import Unary

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
