# SPDX-License-Identifier: Apache-2.0
"""What a gateway is as a process: what it has loaded, and what happens when the keeper goes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx

from tests.support.gateways import RunningGateway, start_gateway
from tests.support.keepers import FakeKeeper, echo

NEVER = {
    *("duckdb", "pyarrow", "numpy", "scipy", "flint", "sqlite3", "_sqlite3", "sqlglot"),
    *("sordino.ledger", "sordino.engine", "sordino.release", "sordino.session"),
    *("sordino.catalog", "sordino.plan", "sordino.sql", "sordino.answer", "sordino.keeper"),
}
LOADED = """
import json, sys, sordino.gateway.main as main
before = main.announce
def announce(ready, **told):
    before(ready, **told, modules=sorted(sys.modules))
main.announce = announce
main.main()
"""


def test_a_running_gateway_has_loaded_nothing_that_reads_data(
    keeper: FakeKeeper,
) -> None:
    with start_gateway(keeper.path, python=("-c", LOADED)) as gateway:
        assert httpx.get(f"{gateway.url}/v1/me").status_code == 200
        loaded = gateway.told["modules"]
    assert "uvicorn" in loaded
    assert sorted(NEVER & set(loaded)) == []


def test_a_keeper_that_is_gone_is_told_in_constant_words_and_found_again(folder: Path) -> None:
    path = folder / "comes-and-goes.sock"
    keeper = FakeKeeper(path)
    with start_gateway(path) as gateway, httpx.Client(base_url=gateway.url) as client:
        gone = [client.get("/v1/me"), client.post("/v1/prices", json={})]
        assert [one.status_code for one in gone] == [503, 503]
        assert gone[0].content == gone[1].content
        assert json.loads(gone[0].content)["code"] == "keeper_unavailable"
        assert gone[0].headers["retry-after"] == "1"
        assert client.get("/healthz").status_code == 200
        assert client.get("/readyz").status_code == 503
        for _ in range(3):
            keeper.start()
            assert client.get("/v1/me").status_code == 200
            assert client.get("/readyz").status_code == 200
            keeper.stop()
            assert client.get("/v1/me").status_code == 503
        keeper.start()
        assert [client.get("/v1/me").status_code for _ in range(5)] == [200] * 5
        keeper.hang_up()
        assert client.get("/v1/me").status_code == 200
        keeper.stop()


def test_a_request_is_sent_once_even_if_its_reply_is_lost(
    gateway: RunningGateway, keeper: FakeKeeper
) -> None:
    def hang_up(_: object) -> object:
        raise ConnectionResetError

    keeper.answering = hang_up  # type: ignore[assignment]
    response = httpx.post(f"{gateway.url}/v1/answers", json={})
    assert response.status_code == 503
    assert len(keeper.requests) == 1
    keeper.answering = echo
    assert httpx.get(f"{gateway.url}/v1/me").status_code == 200


def workers_of(gateway: RunningGateway) -> set[int]:
    at = gateway.process.pid
    return set(map(int, Path(f"/proc/{at}/task/{at}/children").read_text("ascii").split()))


def test_workers_share_one_port_and_one_that_dies_is_replaced(keeper: FakeKeeper) -> None:
    with start_gateway(keeper.path, "--workers", "3") as gateway:
        before = workers_of(gateway)
        assert len(before) == 3
        killed = min(before)
        os.kill(killed, signal.SIGKILL)
        due = time.monotonic() + 30
        while killed in (now := workers_of(gateway)) or len(now) < 3:
            assert time.monotonic() < due
            time.sleep(0.05)
        with httpx.Client(base_url=gateway.url) as client:
            assert [client.get("/v1/me").status_code for _ in range(10)] == [200] * 10


def test_a_gateway_that_others_could_reach_in_the_clear_does_not_start(folder: Path) -> None:
    command = [sys.executable, "-m", "sordino.gateway", "--keeper", str(folder / "k")]
    done = subprocess.run(
        [*command, "--host", "0.0.0.0", "--port", "0"],  # noqa: S104 - what is refused
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert "add --tls CERT KEY or --proxy ADDRESS" in done.stderr
