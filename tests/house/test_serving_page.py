# SPDX-License-Identifier: Apache-2.0
"""The page about serving: its lines run against a server, and no call and no limit is left out."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from sordino.channel.calls import CALLS
from sordino.gateway.limits import Limits
from tests.house.test_docs import README, blocks
from tests.house.tree import ROOT, SCRIPT
from tests.support.servers import RunningServer, serving

PAGE = ROOT / "docs" / "serving.md"
SHELL = [block for block in blocks(PAGE) if block.language == "sh"]
IN_README = [block for block in blocks(README) if "sordino serve" in block.text]
PATH = f"{SCRIPT.parent}{os.pathsep}{os.environ['PATH']}"

NAMED = {(call.method, call.path) for call in CALLS}

needs_curl = pytest.mark.skipif(
    shutil.which("curl") is None or shutil.which("bash") is None,
    reason="curl or bash is not installed: the lines of docs/serving.md were not run",
)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


def run(text: str, folder: Path, **variables: str) -> str:
    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", text],  # noqa: S607
        cwd=folder,
        env=os.environ | variables | {"PATH": PATH},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def test_the_readme_serves_in_the_same_four_lines() -> None:
    assert [block.text for block in IN_README] == [SHELL[0].text]


@needs_curl
def test_four_lines_lead_from_nothing_to_an_answer(tmp_path: Path) -> None:
    install, *lines = SHELL[0].text.splitlines()
    assert (
        install == "pip install --editable '.[server]'"
    )  # which the environment of tests has done
    assert len(lines) == 3
    port = str(free_port())
    text = "\n".join(lines).replace("8000", port)
    text = text.replace("serve --demo", f"serve --demo --port {port}")
    text = text.replace("> demo.json &", "> demo.json 2> errors & echo $! > server.pid")
    try:
        answer = json.loads(run(text, tmp_path))
    finally:
        os.kill(int((tmp_path / "server.pid").read_text("ascii")), signal.SIGTERM)
    assert answer["columns"][0]["title"] == "n"
    assert answer["rows"][0]["n"]["half_width"] > 0


@needs_curl
def test_every_call_has_an_example_that_works(tmp_path: Path) -> None:
    with serving("--demo") as server:
        names = {"ALICE": "alice", "BOB": "bob", "AUDITOR": "ada", "OWNER": "owner"}
        tokens = {variable: server.token(name) for variable, name in names.items()}
        text = "\n".join(block.text for block in SHELL[1:])
        run(text, tmp_path, URL=server.url, CATALOG=server.told["catalog"], **tokens)
        due = time.monotonic() + 30
        while (missing := NAMED - worked(server)) and time.monotonic() < due:
            time.sleep(0.05)  # the line of a request is written once its answer has left
    assert missing == set()


def worked(server: RunningServer) -> set[tuple[str, str]]:
    """Return the calls that have been answered as they should."""
    log = (server.state / "access.log").read_text("utf-8")
    return set(re.findall(r" (GET|POST|DELETE) (/\S+) 2\d\d ", log))


def test_the_limits_are_those_of_the_code() -> None:
    text, limits = PAGE.read_text("utf-8"), Limits()
    for shown in (
        f"| body of a request | {limits.body:,} bytes; with a catalog, ",
        f" {limits.catalog:,} bytes, and {limits.catalogs_at_once} of them at once: "
        f"others wait {limits.catalog_waits:g} s",
        f"| headers | {limits.header:,} bytes in all, and {limits.headers_in:g} seconds",
        f"| body | {limits.body_in:g} seconds",
        f"| idle connection | {limits.idle} seconds |",
        f"| client that does not read its answer | {limits.answer_out:g} seconds |",
        f"| connections | {limits.connections:,};",
    ):
        assert shown in text


def test_the_units_and_files_it_names_are_there() -> None:
    for name in re.findall(r"`deploy/(\w+)`", PAGE.read_text("utf-8")):
        assert (ROOT / "deploy" / name).exists()
