# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: a fixture that audits a mechanism, and an option for how often it is run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pytest

from sordino.auditing.assertion import MIN_RUNS, RUNS
from sordino.auditing.assertion import assert_private as check

if TYPE_CHECKING:
    from sordino.auditing.report import Report

_NAME = "audit_runs"
_HELP = f"how often assert_private runs a mechanism, on both inputs together (default: {RUNS:,})"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--audit-runs` and the setting `audit_runs`."""
    group = parser.getgroup("sordino", "audits of private mechanisms")
    group.addoption("--audit-runs", dest=_NAME, metavar="N", help=_HELP)
    parser.addini(_NAME, _HELP)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a number of runs that is none before any test begins."""
    _runs(config)


@pytest.fixture(scope="session")
def assert_private(pytestconfig: pytest.Config) -> Callable[..., Report]:
    """Fail if a mechanism loses more than it promises: `assert_private(mechanism, epsilon=1)`."""
    return partial(check, runs=_runs(pytestconfig))


def _runs(config: pytest.Config) -> int:
    """Return what the command line says, or the settings, or the usual number."""
    name, said = "--audit-runs", config.getoption(_NAME)
    if said is None:
        name, said = f"the setting {_NAME}", config.getini(_NAME)
        if not said:
            return RUNS
    digits = str(said)
    if not (digits.isascii() and digits.isdecimal()) or int(digits) < MIN_RUNS:
        raise pytest.UsageError(
            f"{name} must be a whole number of at least {MIN_RUNS}, got {said!r}"
        )
    return int(digits)
