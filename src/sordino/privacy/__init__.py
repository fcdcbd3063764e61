# SPDX-License-Identifier: Apache-2.0
"""Privacy losses: values that say how much a mechanism can reveal."""

from typing import TYPE_CHECKING

__all__ = [
    "Bracket",
    "Budget",
    "ContinuousGaussian",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Filter",
    "Loss",
    "Odometer",
    "Pld",
    "calibrate",
    "classic_sigma",
    "compose",
    "loss_from_json",
    "loss_to_json",
]

if TYPE_CHECKING:
    from sordino.privacy.budget import Budget, Filter, Odometer
    from sordino.privacy.discrete_gaussian import DiscreteGaussian
    from sordino.privacy.fit import calibrate
    from sordino.privacy.gaussian import ContinuousGaussian, classic_sigma
    from sordino.privacy.laplace import DiscreteLaplace
    from sordino.privacy.loss import Loss, compose, loss_from_json, loss_to_json
    from sordino.privacy.pld import Bracket, Pld
else:
    _HOMES = {
        "sordino.privacy.budget": (
            "Budget",
            "Filter",
            "Odometer",
        ),
        "sordino.privacy.discrete_gaussian": ("DiscreteGaussian",),
        "sordino.privacy.fit": ("calibrate",),
        "sordino.privacy.gaussian": (
            "ContinuousGaussian",
            "classic_sigma",
        ),
        "sordino.privacy.laplace": ("DiscreteLaplace",),
        "sordino.privacy.loss": (
            "Loss",
            "compose",
            "loss_from_json",
            "loss_to_json",
        ),
        "sordino.privacy.pld": (
            "Bracket",
            "Pld",
        ),
    }

    def __getattr__(name):
        """Load a name when it is first used: a price by itself needs none of what is behind it."""
        from importlib import import_module

        home = next((home for home, names in _HOMES.items() if name in names), None)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(home), name)
        globals()[name] = value
        return value
