# SPDX-License-Identifier: Apache-2.0
"""The light client: a small wheel that asks a server, installed where nothing else is."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import sordino as so
from tests.house.tree import ROOT
from tests.session.unit.clinic import SQL, clinic
from tests.support.remotes import Server

MOST_BYTES = 15 * 10**6
MOST_SECONDS = 0.15  # of a processor, since other programs run, too
HEAVY = ("duckdb", "numpy", "pyarrow", "scipy", "flint", "msgspec", "sqlglot")
ASKING = f"""
import os, sys
import sordino as so
with so.connect(os.environ["SERVER"], token=os.environ["TOKEN"]) as session:
    price = session.explain({SQL!r}, epsilon=1)
    answer = session.ask({SQL!r}, epsilon=1)
    print(answer)
    trial = session.rehearse({SQL!r}, epsilon=1)
    print(answer._repr_html_()[:20], price.price, session.budget, trial.rehearsed)
    assert session.ask({SQL!r}, epsilon=1) == answer
print(*[name for name in {HEAVY!r} if name in sys.modules])
try:
    so.table
except ImportError as error:
    print(error)
"""
STARTING = """
from time import process_time
began = process_time()
import sordino as so
so.connect
print(process_time() - began)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment that has the client and what it needs."""
    folder = tmp_path_factory.mktemp("client")
    build = [sys.executable, str(ROOT / "client" / "build.py"), str(folder / "dist")]
    made = subprocess.run(build, check=True, capture_output=True, text=True)
    wheel = made.stdout.splitlines()[-1]
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install", wheel]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if "Failed to establish a new connection" in done.stderr:
        pytest.skip("no package index can be reached from here, so that nothing can be installed")
    assert done.returncode == 0, done.stderr
    return python


def ran(python: Path, program: str, **environment: str) -> str:
    done = subprocess.run(
        [python, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        cwd=python.parent,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_client_is_small(installed: Path) -> None:
    (packages,) = installed.parents[1].glob("lib/python*/site-packages")
    brought = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
    kept = [one for one in packages.iterdir() if not one.name.startswith(brought)]
    size = sum(
        file.stat().st_size
        for one in kept
        for file in (one.rglob("*") if one.is_dir() else [one])
        if file.is_file()
    )
    assert 100_000 < size < MOST_BYTES


def test_the_client_starts_at_once(installed: Path) -> None:
    assert min(float(ran(installed, STARTING)) for _ in range(5)) < MOST_SECONDS


def test_the_client_asks_a_server(installed: Path, tmp_path: Path) -> None:
    with so.open(clinic(tmp_path), who="ann") as session, Server() as server:
        server.serve(session)
        told = ran(
            installed,
            ASKING,
            SERVER=server.url,
            TOKEN=server.token("ann"),
            XDG_STATE_HOME=str(tmp_path / "state"),
        )
    assert "price epsilon 1; epsilon 9999 left" in told
    lines = told.splitlines()
    assert lines[-3].startswith('<div class="sordino" epsilon 1 people: epsilon 9999 of')
    assert lines[-3].endswith("True")
    assert lines[-2:] == ["", "this client has no 'table': pip install sordino"]
