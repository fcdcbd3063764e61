# SPDX-License-Identifier: Apache-2.0
"""Gateways for tests: as processes of their own, as they are in use."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.stopping import Stopping


@dataclass
class RunningGateway(Stopping):
    """A gateway that is ready; ``told`` is what it announced."""

    process: subprocess.Popen[bytes]
    told: dict[str, Any]

    @property
    def host(self) -> str:
        return str(self.told["host"])

    @property
    def port(self) -> int:
        return int(self.told["port"])

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def start_gateway(keeper: Path, *options: str, python: tuple[str, ...] = ()) -> RunningGateway:
    """Start a gateway at a free port of loopback, and wait until it is ready."""
    module = python or ("-m", "sordino.gateway")
    reading, writing = os.pipe()
    command = [sys.executable, *module, "--keeper", str(keeper), "--port", "0", *options]
    process = subprocess.Popen(
        [*command, "--ready", str(writing)], pass_fds=(writing,), stderr=subprocess.DEVNULL
    )
    os.close(writing)
    with os.fdopen(reading, "rb") as announced:
        line = announced.readline()
    if not line:
        process.wait(30)
        raise RuntimeError(f"the gateway ended with {process.returncode}")
    return RunningGateway(process, json.loads(line))
