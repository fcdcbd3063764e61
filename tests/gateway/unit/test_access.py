# SPDX-License-Identifier: Apache-2.0
"""The access log: what a line has, how it is put aside, and that processes may share it."""

import re
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from sordino.gateway.access import AccessLog, Served
from tests.keeper.study import until
from tests.support.gateways import RunningGateway
from tests.support.keepers import FakeKeeper

LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z [0-9a-f]{14}-\d+ (GET|POST|HEAD|DELETE|OPTIONS|-) "
    r"(/[\w/{}.]+|-) \d{3} \d+ \d+\.\d"
)


def test_nothing_of_a_request_comes_into_the_log(
    gateway: RunningGateway, keeper: FakeKeeper, folder: Path
) -> None:
    url = gateway.url
    headers = {
        "Authorization": "Bearer canary",
        "Idempotency-Key": "canary",
        "User-Agent": "canary",
    }
    httpx.get(f"{url}/v1/answers/canary", headers=headers, params={"format": "canary"})
    httpx.post(f"{url}/v1/answers", headers=headers, json={"canary": "canary"})
    httpx.get(f"{url}/canary", headers=headers)
    httpx.get(f"{url}/v1/me", headers={"Host": "canary"})
    httpx.request("CANARY", f"{url}/v1/me")
    assert len(keeper.requests) == 2
    log = folder / "access.log"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    # The line of a request is written once its answer has left.
    until(lambda: len(log.read_text("utf-8").splitlines()) >= 5)
    lines = log.read_text("utf-8").splitlines()
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    assert any("GET /v1/answers/{answer} 200" in line for line in lines)


def served(number: int) -> Served:
    return Served(f"{number:014x}-1", "GET", "/v1/me", 200, 10, 0.001)


def test_a_full_log_is_put_aside_and_no_line_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    logs = [AccessLog(path, largest=20_000) for _ in range(4)]  # as several workers have it
    with ThreadPoolExecutor(4) as pool:
        for part in pool.map(
            lambda log: [log.write(served(number)) for number in range(100)], logs
        ):
            assert len(part) == 100
    older = path.with_name("access.log.1")
    lines = older.read_text("utf-8").splitlines() + path.read_text("utf-8").splitlines()
    assert len(lines) == 400
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    for log in logs:
        log.close()


def test_a_link_in_place_of_the_log_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "access.log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        AccessLog(tmp_path / "access.log")
    assert not (tmp_path / "elsewhere").exists()
