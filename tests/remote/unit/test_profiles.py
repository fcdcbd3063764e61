# SPDX-License-Identifier: Apache-2.0
"""Profiles and receipts: kept for one's own eyes, refused otherwise, and found again."""

import json
from pathlib import Path
from typing import Any

import pytest

import sordino as so
from sordino.errors import LedgerError, ServerError
from sordino.ledger.entry import Seen
from sordino.remote import profiles
from sordino.remote.connecting import login, logout
from sordino.remote.heads import Heads
from sordino.remote.profiles import Profile, keep, profiles_path
from tests.remote.unit.conftest import TOKEN, Connect
from tests.support.scripted import Scripted, ScriptedServer, problem, said

STUDY = Profile("study", "https://study.example", TOKEN)
ODD = Profile("odd", "https://odd.example/ü", 'a"b\\c\x7f', ca="/tmp/ca '1'.pem")  # noqa: S108


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_profiles_are_kept_for_their_owner_alone_and_read_again() -> None:
    assert profiles.profiles() == {}
    path = keep(STUDY)
    keep(ODD)
    assert path == profiles_path()
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)
    assert profiles.profiles() == {"study": STUDY, "odd": ODD}
    keep(Profile("study", STUDY.url, "sd_other"))
    assert profiles.profile("study").token == "sd_other"  # noqa: S105 - nobody's
    assert list(path.parent.iterdir()) == [path]  # nothing is left beside it


def test_a_profile_does_not_show_its_token() -> None:
    assert "s3cr3t" not in repr(STUDY)


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o660])
def test_profiles_that_others_can_read_are_refused_with_what_to_do(bits: int) -> None:
    path = keep(STUDY)
    path.chmod(bits)
    with pytest.raises(ValueError, match=r"others can read the tokens .* 'chmod 600 .*'"):
        so.connect("study")


def test_a_link_to_profiles_is_refused(tmp_path: Path) -> None:
    path = keep(STUDY)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="cannot be read"):
        profiles.profiles()


@pytest.mark.parametrize(
    "text",
    ["servers = 3", "[servers.a]\nurl = 3\ntoken = ''", "[servers.a]\nurl = 'x'", "= broken",
     "[servers.a]\nurl = 'x'\ntoken = 'y'\nother = 'z'", "servers.a = 'x'"],
)  # fmt: skip
def test_what_are_no_profiles_is_refused(text: str) -> None:
    path = keep(STUDY)
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=r"no file of profiles|must have"):
        profiles.profiles()


@pytest.mark.parametrize("name", ["", "a b", "../x", "a/b", "x" * 65])
def test_odd_names_of_profiles_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="the name of a profile"):
        keep(Profile(name, STUDY.url, TOKEN))


def test_a_server_is_found_by_its_profile_or_by_its_address() -> None:
    keep(STUDY)
    for session in (
        so.connect("study"),
        so.connect(profile="study"),
        so.connect("https://study.example/"),
        so.connect("https://study.example", token=TOKEN),
    ):
        with session:
            assert repr(session) == "<RemoteSession at https://study.example>"


def test_what_names_no_server_or_two_is_refused() -> None:
    keep(STUDY)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "name a server"),
        ({"server": "nobody"}, "there is no profile 'nobody'"),
        ({"server": "https://other.example"}, "there is no token"),
        ({"server": "study", "token": TOKEN}, "has its token"),
        ({"profile": "study", "token": TOKEN}, "a profile has a token"),
        ({"server": "https://other.example", "profile": "study"}, "another server"),
    ]
    for stated, said_there in wrong:
        with pytest.raises(ValueError, match=said_there):
            so.connect(**stated)
    keep(Profile("again", STUDY.url, TOKEN))
    with pytest.raises(ValueError, match="several profiles"):
        so.connect("https://study.example")


def test_a_name_and_a_password_give_a_token(server: ScriptedServer) -> None:
    server.script = [said({"secret": TOKEN})]
    assert login(server.url, "ann", "correct horse battery") == TOKEN
    assert "authorization" not in server.requests[0].headers
    wanted = {"name": "ann", "password": "correct horse battery"}
    assert json.loads(server.requests[0].body) == wanted
    server.script = [said({"no": "secret"})]
    with pytest.raises(ServerError, match="none of a sordino server"):
        login(server.url, "ann", "correct horse battery")


def test_a_token_that_has_ended_can_be_ended_again(
    server: ScriptedServer, connect: Connect
) -> None:
    session = connect()
    server.script = [Scripted(204, b"")]
    logout(session)
    assert server.requests[-1].method == "DELETE"
    server.script = [problem(401, "unauthenticated")]
    logout(session)
    server.script = [problem(403, "forbidden")]
    with pytest.raises(ServerError):
        logout(session)


def test_the_newest_receipt_of_each_people_is_remembered(tmp_path: Path) -> None:
    heads = Heads("https://study.example", tmp_path / "heads")
    assert heads.newest is None
    for number in (5, 7, 6):
        heads.remember(Seen("people", number, f"{number}" * 64))
    assert heads.newest == f"people:7:{'7' * 64}"
    heads.remember(Seen("staff", 2, "a" * 64))
    again = Heads("https://study.example", tmp_path / "heads")
    assert again.newest == f"staff:2:{'a' * 64}"
    assert json.loads(again.path.read_text("utf-8"))["heads"]["people"].startswith("people:7:")
    assert (mode(again.path), mode(again.path.parent)) == (0o600, 0o700)
    assert Heads("https://other.example", tmp_path / "heads").newest is None


def test_a_receipt_that_no_header_can_hold_is_kept_and_not_sent(tmp_path: Path) -> None:
    heads = Heads("https://study.example", tmp_path)
    heads.remember(Seen("ärzte", 5, "5" * 64))
    assert heads.newest is None
    assert "rzte" in heads.path.read_text("utf-8")


@pytest.mark.parametrize("text", ["", "[]", '{"heads": 3}', "\0"])
def test_receipts_that_cannot_be_read_are_not_passed_over(text: str, tmp_path: Path) -> None:
    heads = Heads("https://study.example", tmp_path)
    heads.path.write_text(text, "utf-8")
    with pytest.raises(LedgerError, match="remove the file to begin anew"):
        _ = heads.newest
