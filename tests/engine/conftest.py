# SPDX-License-Identifier: Apache-2.0
"""Of many cases on Spark some are run every day, and all of them by `make soak`."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
EVERY = 5  # one in so many
WHOLE = ("test_scalars.py",)  # where many cases are one statement


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most cases on Spark to the soak: a statement there takes half a second of work."""
    held: dict[str, int] = {}
    for item in items:
        case = getattr(item, "callspec", None) if HERE in item.path.parents else None
        if case is None or "spark" not in [v for v in case.params.values() if type(v) is str]:
            continue
        name = item.location[2].partition("[")[0]
        held[name] = held.get(name, -1) + 1
        if item.path.name not in WHOLE and held[name] % EVERY:
            item.add_marker(pytest.mark.soak)
