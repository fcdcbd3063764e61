# SPDX-License-Identifier: Apache-2.0
"""The units of systemd: how exposed they leave a service, and that both services run under them."""

import ctypes.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from sordino.cli.hospital import write
from sordino.cli.server.demo import SERVING
from sordino.gateway.listening import listen
from tests.house.tree import ROOT
from tests.support import confined

DEPLOY = ROOT / "deploy"
MOST = {"keeper": 1.0, "gateway": 2.0}
ANALYZE = shutil.which("systemd-analyze")
LAUNCHER = Path(confined.__file__)

needs_systemd = pytest.mark.skipif(
    ANALYZE is None, reason="systemd-analyze is not installed: the units were not looked at"
)
needs_filters = pytest.mark.skipif(
    ANALYZE is None
    or ctypes.util.find_library("seccomp") is None
    or subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode != 0,  # noqa: S607
    reason="no libseccomp, no systemd-analyze or no namespaces: nothing was started confined",
)


@needs_systemd
@pytest.mark.parametrize("name", MOST)
def test_a_unit_leaves_its_service_little_exposed(name: str) -> None:
    unit = DEPLOY / f"sordino-{name}.service"
    command = ["systemd-analyze", "security", "--offline=yes", "--no-pager", str(unit)]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    level = re.search(r"Overall exposure level for \S+: ([0-9.]+)", said)
    assert level is not None, said
    assert float(level[1]) <= MOST[name]


@needs_systemd
def test_systemd_understands_every_entry() -> None:
    units = [str(path) for path in sorted(DEPLOY.glob("sordino*.*")) if _is_unit(path)]
    command = ["systemd-analyze", "verify", "--man=no", *units]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    about = [line for line in said.splitlines() if "/deploy/" in line or "sordino" in line]
    assert [line for line in about if "/opt/sordino/bin/python is not executable" not in line] == []


def _is_unit(path: Path) -> bool:
    return path.suffix in (".service", ".socket", ".target")


@pytest.mark.parametrize("name", MOST)
def test_a_unit_starts_a_module_that_knows_its_options(name: str) -> None:
    (started,) = confined.entries(DEPLOY / f"sordino-{name}.service", "ExecStart")
    words = started.split()
    assert words[1:3] == ["-m", f"sordino.{name}"]
    helped = subprocess.run(
        [sys.executable, *words[1:3], "--help"], capture_output=True, text=True, check=True
    ).stdout
    for option in (word for word in words if word.startswith("--")):
        assert option in helped


@contextmanager
def started(name: str, *arguments: object, hand: tuple[int, ...] = ()) -> Iterator[dict[str, Any]]:
    """Start one of the services under what can be had of its unit, and wait until it is ready."""
    reading, writing = os.pipe()
    unit = DEPLOY / f"sordino-{name}.service"
    command = [sys.executable, LAUNCHER, unit, f"sordino.{name}", *arguments, "--ready", writing]
    process = subprocess.Popen(
        [str(word) for word in command], pass_fds=(writing, *hand), stderr=subprocess.DEVNULL
    )
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as announced:
            yield {**json.loads(announced.readline()), "process": process.pid}
    finally:
        process.terminate()
        assert process.wait(60) in (0, -15)


@needs_filters
def test_both_services_answer_questions_while_confined(tmp_path: Path) -> None:
    catalog = write(tmp_path)
    with catalog.open("a", encoding="utf-8") as file:
        file.write(SERVING)
    socket = tmp_path / "sordino.server" / "keeper.sock"
    with (
        listen("127.0.0.1", 0) as listening,
        started("keeper", catalog) as keeper,
        started(
            "gateway", "--keeper", socket, "--fd", listening.fileno(), hand=(listening.fileno(),)
        ) as gateway,
    ):
        for one in (keeper, gateway):
            status = Path(f"/proc/{one['process']}/status").read_text("ascii")
            assert re.search(r"^Seccomp:\s+2$", status, re.MULTILINE)
            assert re.search(r"^NoNewPrivs:\s+1$", status, re.MULTILINE)
            network = Path(f"/proc/{one['process']}/net/dev").read_text("ascii")
            assert network.count(":") == 1  # a loopback of its own, and nothing else
        headers = {"Authorization": f"Bearer {keeper['owner']}"}
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
            for sql in (
                "SELECT disease, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY disease",
                "SELECT MEDIAN(cost) AS cost FROM visits WHERE urgent",
                "SELECT city, COUNT(*) AS patients FROM patients GROUP BY city",
            ):
                question = {"question": {"sql": sql, "epsilon": "0.1"}}
                answer = client.post("/v1/answers", json=question)
                assert answer.status_code == 200, answer.text
            body = {"name": "dora", "roles": ["auditor"], "password": "correct horse battery"}
            assert client.post("/v1/people", json=body).status_code == 201
