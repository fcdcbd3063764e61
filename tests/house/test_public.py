# SPDX-License-Identifier: Apache-2.0
"""Rules for public names: no seed to set, and a guarantee to read."""

import doctest
from types import FunctionType, ModuleType

import pytest

import sordino
from tests.house.tree import modules, public, signatures

SEEDS = {"seed", "random_state", "rng", "generator"}
# Domains, neighbours and what looks at invented or public things alone.
PROMISING_NOTHING = {
    "Integers", "Interval", "Line", "Neighbours", "Product", "Strings", "assert_private", "audit",
    "check_distance", "fresh_secret", "price_accuracy", "replay", "verify_law", "why",
}  # fmt: skip
PROMISING = [
    thing
    for name in sordino.__all__
    if name not in PROMISING_NOTHING
    and isinstance(thing := getattr(sordino, name), type | FunctionType)
]


def qualified(thing: type | FunctionType) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"


def test_no_public_signature_takes_a_seed() -> None:
    seen = {
        f"{thing.__module__}.{name}": SEEDS & set(signature.parameters)
        for thing in public("sordino")
        for name, signature in signatures(thing)
    }
    assert "sordino.cli.main.run" in seen
    assert {name: found for name, found in seen.items() if found} == {}


def test_there_are_public_names_that_promise_privacy() -> None:
    assert {sordino.Laplace, sordino.Gaussian} <= set(PROMISING)


@pytest.mark.parametrize("thing", PROMISING, ids=qualified)
def test_everything_exported_that_touches_privacy_states_its_guarantee(
    thing: type | FunctionType,
) -> None:
    assert "Guarantee:" in (thing.__doc__ or "")


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.__name__)
def test_the_examples_in_docstrings_hold(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


def test_every_exported_name_exists_and_no_other_is_offered() -> None:
    assert dir(sordino) == sorted(sordino.__all__)
    for name in sordino.__all__:
        assert getattr(sordino, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'Sordino'"):
        sordino.Sordino  # type: ignore[attr-defined]  # noqa: B018 - the point of the test


def test_no_module_hides_an_exported_name_of_its_package() -> None:
    """A module that is imported is bound in its package, also where that exports another thing."""
    packages = [module for module in modules("sordino") if hasattr(module, "__all__")]
    hidden = {
        f"{package.__name__}.{name}"
        for package in packages
        for name in package.__all__
        if isinstance(getattr(package, name), ModuleType)
    }
    meant = {"dbapi", "local", "losses", "mock", "sensitivity", "smooth", "theorems"}
    assert {name for name in hidden if name.rpartition(".")[2] not in meant} == set()
