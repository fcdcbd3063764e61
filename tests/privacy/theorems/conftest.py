# SPDX-License-Identifier: Apache-2.0
"""Reference values have many digits, whatever other tests do to mpmath."""

from collections.abc import Iterator

import pytest
from mpmath import mp


@pytest.fixture(autouse=True, scope="module")
def many_digits() -> Iterator[None]:
    with mp.workdps(60):
        yield
