# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: a fixture that audits a mechanism, and an option for how often it is run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pytest

from sordino.auditing.assertion import RUNS
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


@pytest.fixture(scope="session")
def assert_private(pytestconfig: pytest.Config) -> Callable[..., Report]:
    """Fail if a mechanism loses more than it promises: `assert_private(mechanism, epsilon=1)`."""
    return partial(check, runs=_runs(pytestconfig))


def _runs(config: pytest.Config) -> int:
    """Return what the command line says, or the settings, or the usual number."""
    said = config.getoption(_NAME) or config.getini(_NAME)
    if not said:
        return RUNS
    digits = str(said).replace("_", "")
    if not digits.isdecimal():
        raise pytest.UsageError(f"--audit-runs must be a whole number, got {said!r}")
    return int(digits)
