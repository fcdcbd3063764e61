# SPDX-License-Identifier: Apache-2.0
"""Processes of their own for campaigns that fork: a test runner has threads, and must not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

_TESTS = Path(__file__).parents[1]
# Another package may be installed under the name of tests; ours is meant.
_CODE = f"""
import runpy, sys, types
tests = sys.modules["tests"] = types.ModuleType("tests")
tests.__path__ = [{str(_TESTS)!r}]
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


def launched(module: str, told: dict[str, object], *, seconds: float = 300) -> dict[str, Any]:
    """Run a module with an argument as JSON and return what it prints; all it says if it fails."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", _CODE, module]
    with subprocess.Popen(
        [*command, json.dumps(told)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as started:
        try:
            printed, said = started.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            said = f"it has not ended after {seconds} seconds"
        if started.returncode != 0:
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)  # with all children that it has left
    assert started.returncode == 0, f"{module} {told}\n{said}"
    found: dict[str, Any] = json.loads(printed)
    return found
