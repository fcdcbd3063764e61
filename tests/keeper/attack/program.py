# SPDX-License-Identifier: Apache-2.0
"""What programs of campaigns have in common: a folder, an end of all they started, figures."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.keeper.attack.sites import end_all


def carry_out(campaign: Callable[..., dict[str, object]], told: dict[str, Any]) -> None:
    """Run a campaign in a folder of its own with what it was told, and print what happened."""
    with tempfile.TemporaryDirectory(prefix="run-") as folder:
        try:
            figures = campaign(Path(folder), **told)
        finally:
            end_all()
    used = round(sum(os.times()[:4]), 1)
    sys.stdout.write(json.dumps({**figures, "seconds of processors": used}))
