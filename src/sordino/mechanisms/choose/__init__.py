# SPDX-License-Identifier: Apache-2.0
"""Choosing among candidates by private scores."""

from sordino.mechanisms.choose.above_threshold import AboveThreshold
from sordino.mechanisms.choose.choosing import Generalised, choose
from sordino.mechanisms.choose.continuous import choose_in
from sordino.mechanisms.choose.domains import Integers, Product, Strings
from sordino.mechanisms.choose.exponential import Exponential, PermuteAndFlip
from sordino.mechanisms.choose.interval import Interval, Line
from sordino.mechanisms.choose.noisy_max import NoisyMax
from sordino.mechanisms.choose.price import best_price, price_accuracy, revenues
from sordino.mechanisms.choose.private_candidates import BestOf, best_of
from sordino.mechanisms.choose.quantiles.quantiles import Quantiles, median, quantiles
from sordino.mechanisms.choose.top_k import JointTopK, TopK, top_k

__all__ = [
    "AboveThreshold",
    "BestOf",
    "Exponential",
    "Generalised",
    "Integers",
    "Interval",
    "JointTopK",
    "Line",
    "NoisyMax",
    "PermuteAndFlip",
    "Product",
    "Quantiles",
    "Strings",
    "TopK",
    "best_of",
    "best_price",
    "choose",
    "choose_in",
    "median",
    "price_accuracy",
    "quantiles",
    "revenues",
    "top_k",
]
