# SPDX-License-Identifier: Apache-2.0
"""`sordino serve`: what it starts, what it prints, and how it ends."""

import json
import os
import signal
import ssl
import stat
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
import trustme
from typer.testing import CliRunner

from sordino.cli.main import app
from sordino.cli.server.demo import asked_by_curl, asked_by_python
from tests.support.servers import RunningServer, is_running, serving


def ask(server: RunningServer, name: str, **question: object) -> httpx.Response:
    body = {"question": {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.1", **question}}
    headers = {"Authorization": f"Bearer {server.token(name)}"}
    return httpx.post(f"{server.url}/v1/answers", json=body, headers=headers, timeout=60)


def wait_until_replaced(server: RunningServer, name: str, number: int) -> None:
    """Wait until another process does the work of one that died."""
    due = time.monotonic() + 60
    while time.monotonic() < due:
        try:
            if server.children().get(name, number) == number:
                time.sleep(0.05)
                continue
            if httpx.get(f"{server.url}/readyz", timeout=60).status_code == 200:
                return
        except httpx.TransportError:
            pass  # the gateway is being replaced
        time.sleep(0.1)
    raise AssertionError("the server did not come back")


def test_the_demonstration_has_an_owner_two_analysts_and_an_auditor(demo: RunningServer) -> None:
    people = {one["name"]: one["roles"] for one in demo.told["people"]}
    assert people == {
        "owner": ["owner"],
        "alice": ["analyst"],
        "bob": ["analyst"],
        "ada": ["auditor"],
    }
    for name, roles in people.items():
        headers = {"Authorization": f"Bearer {demo.token(name)}"}
        told = httpx.get(f"{demo.url}/v1/me", headers=headers).json()
        assert (told["name"], told["roles"]) == (name, roles)


def test_the_line_for_curl_gets_an_answer(demo: RunningServer) -> None:
    line = asked_by_curl(demo.url, demo.token("alice"))
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert b'"disease":"asthma"' in done.stdout


def test_the_line_for_python_gets_the_same_answer(demo: RunningServer, tmp_path: Path) -> None:
    line = asked_by_python(demo.url, demo.token("alice"))
    assert line.startswith("python -c ")
    command = f"exec {sys.executable}{line.removeprefix('python')}"
    homes = {"HOME": str(tmp_path), "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": ""}
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        capture_output=True,
        check=False,
        timeout=120,
        env=os.environ | homes,
    )
    assert done.returncode == 0, done.stderr
    assert b"asthma" in done.stdout


def test_https_is_spoken_with_a_certificate(tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost")
    certificate.private_key_and_cert_chain_pem.write_to_path(tmp_path / "both.pem")
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    both = str(tmp_path / "both.pem")
    with serving("--demo", "--tls", both, both, "--name", "localhost") as server:
        assert server.url.startswith("https://localhost:")
        trusted = ssl.create_default_context(cafile=tmp_path / "authority.pem")
        headers = {"Authorization": f"Bearer {server.token('ada')}"}
        with httpx.Client(verify=trusted, headers=headers, base_url=server.url) as client:
            assert client.get("/v1/me").json()["name"] == "ada"
        old = ssl.create_default_context(cafile=tmp_path / "authority.pem")
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        assert httpx.get(f"{server.url}/healthz", verify=old).status_code == 200
        with pytest.raises(httpx.TransportError):
            httpx.get(server.url.replace("https", "http") + "/healthz")


def test_counts_are_told_to_whoever_may_open_the_folder(demo: RunningServer) -> None:
    done = CliRunner().invoke(app, ["metrics", "--state", str(demo.state)])
    assert done.exit_code == 0, done.stderr
    assert "# TYPE " in done.stdout
    done = CliRunner().invoke(app, ["metrics", "--state", str(demo.state), "--json"])
    told = json.loads(done.stdout)
    assert told
    assert all(isinstance(count, float) for count in told.values())


@pytest.mark.parametrize("why", ["a\x10b", "   ", "\x80"])
def test_a_reason_that_no_ledger_keeps_is_refused_and_leaves_nothing_to_be_done(
    demo: RunningServer, why: str
) -> None:
    headers = {"Authorization": f"Bearer {demo.told['owner']}"}
    before = {path.name for path in demo.state.iterdir()}
    answer = httpx.post(f"{demo.url}/v1/catalogs", json={"why": why}, headers=headers, timeout=60)
    assert answer.status_code == 400, answer.text
    assert {path.name for path in demo.state.iterdir()} == before


def test_only_the_owner_can_open_the_state_folder(demo: RunningServer) -> None:
    assert stat.S_IMODE(demo.state.stat().st_mode) == 0o700
    for name in ("keeper.sock", "keeper.db", "secret.key", "access.log", "keeper.log"):
        assert stat.S_IMODE((demo.state / name).stat().st_mode) == 0o600, name


def test_no_log_has_a_token_or_a_question(demo: RunningServer) -> None:
    answer = ask(demo, "bob", sql="SELECT COUNT(*) AS canary_4711 FROM visits")
    assert answer.status_code == 200
    logs = b"".join(path.read_bytes() for path in demo.state.glob("*.log*"))
    assert b"POST /v1/answers 200" in logs
    assert b"canary" not in logs
    for one in demo.told["people"]:
        assert one["token"].encode() not in logs


def test_what_dies_is_started_again_at_the_same_place_and_both_end_together(
    tmp_path: Path,
) -> None:
    errors = tmp_path / "errors"
    with serving("--demo", "--workers", "2", errors=errors) as server:
        before = ask(server, "alice")
        assert before.status_code == 200
        for name, number in server.children().items():
            os.kill(number, signal.SIGKILL)
            wait_until_replaced(server, name, number)
        again = ask(server, "alice").json()
        assert again["again"]
        assert again["receipt"] == before.json()["receipt"]
        started = server.children().values()
        folder = server.state.parent
        assert server.stop(signal.SIGINT) == 0
        assert not any(map(is_running, started))
        assert not folder.exists()
    said = errors.read_text("utf-8")
    assert "the keeper ended with -9; it is started again" in said
    assert "the gateway ended with -9; it is started again" in said
    assert "Traceback" not in said


def test_a_supervisor_that_is_killed_leaves_no_process_behind() -> None:
    with serving("--demo") as server:
        started = server.children().values()
        server.stop(signal.SIGKILL)
        due = time.monotonic() + 60
        while any(map(is_running, started)):
            assert time.monotonic() < due
            time.sleep(0.1)


def refused(*words: str) -> str:
    done = CliRunner().invoke(app, ["serve", *words])
    assert done.exit_code == 2, done.output
    return done.stderr


@pytest.mark.parametrize("host", ["192.0.2.1", "0.0.0.0", "::", "study.example"])  # noqa: S104
def test_other_machines_are_let_in_by_tls_or_a_proxy_alone(host: str) -> None:
    said = refused("--demo", "--host", host)
    assert "tokens would cross the network in the clear" in said
    assert "add --tls CERT KEY, or --behind-proxy ADDRESS" in said


def test_a_server_at_all_addresses_needs_a_name() -> None:
    said = refused("--demo", "--host", "0.0.0.0", "--behind-proxy", "10.0.0.1")  # noqa: S104
    assert "--name study.example" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--behind-proxy", "somewhere"), "'somewhere' does not appear to be an IPv4 or IPv6"),
        (("--tls", "no.pem", "no.key"), "there is no file 'no.pem', which --tls names"),
        (("no.toml",), "there is no catalog 'no.toml'"),
        (("--demo", "sordino.toml"), "--demo brings a catalog and a folder of its own"),
        (("--demo", "--state", "x"), "--demo brings a catalog and a folder of its own"),
        (("--port", "70000"), "it must be at most 65535"),
        (("--workers", "0"), "it must be at least 1"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_started(
    words: tuple[str, ...], said: str
) -> None:
    assert said in refused(*words)


def test_a_port_that_is_taken_is_named(demo: RunningServer) -> None:
    said = refused("--demo", "--port", demo.url.rpartition(":")[2])
    assert "nothing can listen at 127.0.0.1" in said
    assert "or 0 for any that is free" in said


def test_a_catalog_that_is_wrong_ends_it_with_2(tmp_path: Path) -> None:
    catalog = tmp_path / "sordino.toml"
    catalog.write_text("[budget]\nepsilon = 'much'\n", "utf-8")
    with pytest.raises(RuntimeError, match="ended with 2"), serving(str(catalog)):
        pass


def test_the_owners_token_is_told_at_the_first_start_alone(tmp_path: Path) -> None:
    from sordino.cli.hospital import write

    catalog = write(tmp_path / "hospital")
    with serving(str(catalog)) as server:
        owner = server.told["owner"]
        assert owner.startswith("sd_")
        assert server.state == tmp_path / "hospital" / "sordino.server"
    with serving(str(catalog)) as server:
        assert server.told["owner"] is None
        headers = {"Authorization": f"Bearer {owner}"}
        assert httpx.get(f"{server.url}/v1/me", headers=headers).json()["roles"] == ["owner"]
