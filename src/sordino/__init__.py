# SPDX-License-Identifier: Apache-2.0
"""Differential privacy with exact integer noise."""

from typing import TYPE_CHECKING

__all__ = [
    "AboveThreshold",
    "Answer",
    "BestOf",
    "Budget",
    "Constant",
    "Exponential",
    "Filter",
    "Gaussian",
    "Generalised",
    "Integers",
    "Interval",
    "JointTopK",
    "KeySelection",
    "Laplace",
    "Line",
    "Loss",
    "Neighbours",
    "NoisyMax",
    "Odometer",
    "PermuteAndFlip",
    "PrivateBounds",
    "Product",
    "ProposeTestRelease",
    "Quantiles",
    "Rehearsal",
    "RemoteSession",
    "Session",
    "Strings",
    "TopK",
    "Units",
    "__version__",
    "add_remove",
    "assert_private",
    "audit",
    "best_of",
    "best_price",
    "bound_contributions",
    "calibrate",
    "check_distance",
    "choose",
    "choose_in",
    "classic_sigma",
    "compose",
    "connect",
    "dbapi",
    "explain_composition",
    "fresh_secret",
    "local",
    "losses",
    "median",
    "mock",
    "open",
    "price_accuracy",
    "private_bounds",
    "quantiles",
    "rehearse",
    "replace_one",
    "replay",
    "revenues",
    "select_keys",
    "sensitivity",
    "smooth",
    "table",
    "theorems",
    "top_k",
    "verify_law",
    "why",
]

__version__ = "0.1.0"

if TYPE_CHECKING:
    from sordino import dbapi, local, mock, sensitivity, theorems
    from sordino.answer import Answer
    from sordino.auditing import assert_private, audit, replay, verify_law
    from sordino.contributions.bounding import bound_contributions
    from sordino.mechanisms import Gaussian, Laplace, smooth
    from sordino.mechanisms.bounds import PrivateBounds, private_bounds
    from sordino.mechanisms.choose import (
        AboveThreshold,
        BestOf,
        Exponential,
        Generalised,
        Integers,
        Interval,
        JointTopK,
        Line,
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
        price_accuracy,
        quantiles,
        revenues,
        top_k,
    )
    from sordino.mechanisms.keys.selection import KeySelection, select_keys
    from sordino.mechanisms.mechanism import Constant
    from sordino.mechanisms.propose_test_release import ProposeTestRelease, check_distance
    from sordino.privacy import (
        Budget,
        Filter,
        Loss,
        Odometer,
        calibrate,
        classic_sigma,
        compose,
        losses,
    )
    from sordino.privacy.theorems.explain import explain_composition
    from sordino.randomness.hashing import fresh_secret
    from sordino.remote import RemoteSession, connect
    from sordino.sensitivity import Neighbours, Units, why
    from sordino.sensitivity.norms import add_remove, replace_one
    from sordino.session import Rehearsal, Session, rehearse, table
    from sordino.session import open_catalog as open  # noqa: A004 - so.open reads best
else:
    _HOMES = {
        "sordino.answer": ("Answer",),
        "sordino.auditing": ("assert_private", "audit", "replay", "verify_law"),
        "sordino.randomness.hashing": ("fresh_secret",),
        "sordino.mechanisms": ("Gaussian", "Laplace", "smooth"),
        "sordino.mechanisms.bounds": ("PrivateBounds", "private_bounds"),
        "sordino.mechanisms.choose": (
            "AboveThreshold", "BestOf", "Exponential", "Generalised", "Integers", "Interval",
            "JointTopK", "Line", "NoisyMax", "PermuteAndFlip", "Product", "Quantiles", "Strings",
            "TopK",
            "best_of", "best_price", "choose", "choose_in", "median", "price_accuracy",
            "quantiles", "revenues", "top_k",
        ),
        "sordino.mechanisms.mechanism": ("Constant",),
        "sordino.mechanisms.keys.selection": ("KeySelection", "select_keys"),
        "sordino.mechanisms.propose_test_release": ("ProposeTestRelease", "check_distance"),
        "sordino.privacy": (
            "Budget", "Filter", "Loss", "Odometer", "calibrate", "classic_sigma", "compose",
            "losses",
        ),
        "sordino.remote": ("RemoteSession", "connect"),
        "sordino.sensitivity": ("Neighbours", "Units", "why"),
        "sordino.contributions.bounding": ("bound_contributions",),
        "sordino.sensitivity.norms": ("add_remove", "replace_one"),
        "sordino.session": ("Rehearsal", "Session", "open", "rehearse", "table"),
        "sordino.privacy.theorems.explain": ("explain_composition",),
        "sordino": ("dbapi", "local", "mock", "sensitivity", "theorems"),
    }  # fmt: skip
    _NAMES = {"open": "open_catalog"}  # inside the package the built-in keeps its name
    _MODULES = ("dbapi", "local", "losses", "mock", "sensitivity", "smooth", "theorems")

    def __getattr__(name):
        """Load a name when it is first used, so that `import sordino` stays fast."""
        from importlib import import_module

        home = next((home for home, names in _HOMES.items() if name in names), None)
        if home is None:
            raise AttributeError(f"module 'sordino' has no attribute {name!r}")
        try:
            if name in _MODULES:
                value = import_module(f"{home}.{name}")
            else:
                value = getattr(import_module(home), _NAMES.get(name, name))
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith(f"{__name__}."):
                raise
            raise ImportError(f"this client has no {name!r}: pip install sordino") from None
        globals()[name] = value
        return value

    def __dir__():
        return sorted(__all__)
