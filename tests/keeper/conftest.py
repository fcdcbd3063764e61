# SPDX-License-Identifier: Apache-2.0
"""A study for every test of keepers that asks for one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.keeper.study import Study, study


@pytest.fixture
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Study]:
    """A study; STUDY in the file of the test has its terms where they are not the usual ones."""
    with study(tmp_path / "study", **getattr(request.module, "STUDY", {})) as made:
        yield made
