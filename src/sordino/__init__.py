# SPDX-License-Identifier: Apache-2.0
"""Differential privacy with exact integer noise."""

from typing import TYPE_CHECKING

__all__ = [
    "Budget",
    "Filter",
    "Gaussian",
    "Laplace",
    "Loss",
    "Odometer",
    "__version__",
    "calibrate",
    "compose",
    "explain_composition",
    "losses",
    "theorems",
]

__version__ = "0.1.0"

if TYPE_CHECKING:
    from sordino import theorems
    from sordino.mechanisms import Gaussian, Laplace
    from sordino.privacy import Budget, Filter, Loss, Odometer, calibrate, compose, losses
    from sordino.theorems.explain import explain_composition
else:
    _HOMES = {
        "Gaussian": "sordino.mechanisms",
        "Laplace": "sordino.mechanisms",
        "explain_composition": "sordino.theorems.explain",
        "losses": "sordino.privacy",
        "theorems": "sordino",
    }

    def __getattr__(name):
        """Load a name when it is first used, so that `import sordino` stays fast."""
        if name not in __all__:
            raise AttributeError(f"module 'sordino' has no attribute {name!r}")
        from importlib import import_module

        home = _HOMES.get(name, "sordino.privacy")
        if name in ("losses", "theorems"):
            value = import_module(f"{home}.{name}")
        else:
            value = getattr(import_module(home), name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted(__all__)
