# SPDX-License-Identifier: Apache-2.0
"""Differential privacy with exact integer noise."""

from typing import TYPE_CHECKING

__all__ = [
    "AboveThreshold",
    "BestOf",
    "Budget",
    "Exponential",
    "Filter",
    "Gaussian",
    "Generalised",
    "Integers",
    "Interval",
    "JointTopK",
    "Laplace",
    "Loss",
    "NoisyMax",
    "Odometer",
    "PermuteAndFlip",
    "Product",
    "Quantiles",
    "Strings",
    "TopK",
    "__version__",
    "best_of",
    "best_price",
    "calibrate",
    "choose",
    "choose_in",
    "compose",
    "explain_composition",
    "losses",
    "median",
    "quantiles",
    "theorems",
    "top_k",
]

__version__ = "0.1.0"

if TYPE_CHECKING:
    from sordino import theorems
    from sordino.mechanisms import Gaussian, Laplace
    from sordino.mechanisms.choose import (
        AboveThreshold,
        BestOf,
        Exponential,
        Generalised,
        Integers,
        Interval,
        JointTopK,
        NoisyMax,
        PermuteAndFlip,
        Product,
        Quantiles,
        Strings,
        TopK,
        best_of,
        best_price,
        choose,
        choose_in,
        median,
        quantiles,
        top_k,
    )
    from sordino.privacy import Budget, Filter, Loss, Odometer, calibrate, compose, losses
    from sordino.theorems.explain import explain_composition
else:
    _HOMES = {
        "sordino.mechanisms": ("Gaussian", "Laplace"),
        "sordino.mechanisms.choose": (
            "AboveThreshold", "BestOf", "Exponential", "Generalised", "Integers", "Interval",
            "JointTopK", "NoisyMax", "PermuteAndFlip", "Product", "Quantiles", "Strings", "TopK",
            "best_of", "best_price", "choose", "choose_in", "median", "quantiles", "top_k",
        ),
        "sordino.privacy": (
            "Budget", "Filter", "Loss", "Odometer", "calibrate", "compose", "losses",
        ),
        "sordino.theorems.explain": ("explain_composition",),
        "sordino": ("theorems",),
    }  # fmt: skip
    _MODULES = ("losses", "theorems")

    def __getattr__(name):
        """Load a name when it is first used, so that `import sordino` stays fast."""
        from importlib import import_module

        home = next((home for home, names in _HOMES.items() if name in names), None)
        if home is None:
            raise AttributeError(f"module 'sordino' has no attribute {name!r}")
        if name in _MODULES:
            value = import_module(f"{home}.{name}")
        else:
            value = getattr(import_module(home), name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted(__all__)
