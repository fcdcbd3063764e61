# SPDX-License-Identifier: Apache-2.0
"""A ledger lies where its locks hold, under one name, and comes into being whole."""

import fcntl
import os
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from sordino.errors import LedgerError
from sordino.ledger.stores.sqlite import files as place
from sordino.ledger.stores.sqlite.files import check_place, create
from sordino.ledger.stores.sqlite.store import SqliteStore
from tests.ledger.unit.samples import in_file, pay, started

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def made(path: Path) -> Path:
    path.write_bytes(b"something")
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_with_one_name_on_a_local_disk_is_good(tmp_path: Path) -> None:
    path = made(tmp_path / "ledger")
    assert check_place(path).st_ino == path.stat().st_ino


def test_a_second_name_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path / "ledger")
    os.link(path, tmp_path / "twin")
    for name in (path, tmp_path / "twin"):
        with pytest.raises(LedgerError, match="has a second name"):
            check_place(name)
    assert (tmp_path / "twin").exists()
    (tmp_path / "twin").unlink()
    check_place(path)


@pytest.mark.parametrize("name", ["ledger", "a[1].ledger", "what?*"])
def test_the_name_that_a_killed_maker_left_is_forgotten(tmp_path: Path, name: str) -> None:
    path = made(tmp_path / name)
    os.link(path, tmp_path / f"{name}.new-0123456789abcdef")
    other = made(tmp_path / f"{name}.new-other")
    check_place(path)
    assert names(tmp_path) == sorted([name, other.name])


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be opened: No such file"):
        check_place(tmp_path / "nothing")
    with pytest.raises(LedgerError, match="is not a file"):
        check_place(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LedgerError, match="is not a file"):
        check_place(tmp_path / "pipe")
    (tmp_path / "empty").touch()
    with pytest.raises(LedgerError, match="is empty, and a ledger never is"):
        check_place(tmp_path / "empty")


@pytest.mark.parametrize(
    ("kind", "good"),
    [
        ("ext4", True),
        ("tmpfs", True),
        ("fuseblk", True),
        ("nfs", False),
        ("nfs4", False),
        ("cifs", False),
        ("smb3", False),
        ("ceph", False),
        ("lustre", False),
        ("fuse.sshfs", False),
        ("fuse.glusterfs", False),
        ("fuse.ceph-fuse", False),
    ],
)
def test_a_network_file_system_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, good: bool
) -> None:
    folder = tmp_path / "a share"
    folder.mkdir()
    mounts = tmp_path / "mounts"
    point = str(folder).replace(" ", "\\040")
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/x {point} {kind} rw 0 0\n")
    monkeypatch.setattr(place, "_MOUNTS", mounts)
    path = made(folder / "ledger")
    if good:
        check_place(path)
    else:
        with pytest.raises(LedgerError, match=f"on a network file system \\({kind}\\)"):
            check_place(path)
    check_place(made(tmp_path / "ledger"))


def test_the_mount_that_was_made_last_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    monkeypatch.setattr(place, "_MOUNTS", mounts)
    path = made(tmp_path / "ledger")
    mounts.write_text(f"a {tmp_path} nfs rw 0 0\nb {tmp_path} ext4 rw 0 0\nc / nfs rw 0 0\n")
    check_place(path)
    mounts.write_text(f"b {tmp_path} ext4 rw 0 0\na {tmp_path} nfs rw 0 0\n")
    with pytest.raises(LedgerError, match="network file system"):
        check_place(path)
    mounts.unlink()
    check_place(path)


def test_a_file_appears_under_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "ledger"

    def make(draft: Path) -> None:
        draft.write_bytes(b"whole")
        assert not path.exists()

    create(path, make)
    assert path.read_bytes() == b"whole"
    assert names(tmp_path) == ["ledger"]


def test_whoever_was_faster_keeps_the_name(tmp_path: Path) -> None:
    path = tmp_path / "ledger"

    def make(draft: Path) -> None:
        draft.write_bytes(b"slow")
        path.write_bytes(b"fast")

    create(path, make)
    assert path.read_bytes() == b"fast"
    assert names(tmp_path) == ["ledger"]


def test_a_maker_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail(draft: Path) -> None:
        draft.write_bytes(b"half")
        draft.with_name(f"{draft.name}-wal").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(LedgerError, match="cannot be made: No space left"):
        create(tmp_path / "ledger", fail)
    assert names(tmp_path) == []
    with pytest.raises(LedgerError, match="cannot be made"):
        create(tmp_path / "no folder" / "ledger", fail)


def test_eight_processes_that_make_a_ledger_at_once_make_one(tmp_path: Path) -> None:
    path, start = tmp_path / "ledger", time.monotonic() + 0.3

    def work() -> None:
        while time.monotonic() < start:
            pass
        ledger = in_file(path, anchored=True)
        for _ in range(3):
            pay(ledger, "0.01")
        ledger.close()

    children = [started(work) for _ in range(8)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
    ledger = in_file(path, anchored=True)
    assert ledger.heads()[0].number == 1 + 8 * 3
    assert str(ledger.left("people", "ann")[0]) == "epsilon 0.76"
    ledger.close()
    assert names(tmp_path) == ["ledger", "ledger.heads"]


def is_locked(path: Path) -> bool:
    """Tell whether another process finds a lock such as SQLite's on a file."""

    def look() -> None:
        with path.open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    return os.waitpid(started(look), 0)[1] != 0


def test_a_ledger_keeps_its_locks_when_its_draft_is_taken_for_abandoned(tmp_path: Path) -> None:
    path = made(tmp_path / "ledger")
    os.link(path, tmp_path / "ledger.new-0123456789abcdef")
    with path.open("r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        create(path, lambda _: None)
        assert is_locked(path)
    assert not is_locked(path)
    assert names(tmp_path) == ["ledger"]


def test_a_ledger_keeps_the_locks_that_it_has_before_its_maker_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, link = tmp_path / "ledger", os.link
    with ExitStack() as users:

        def taken_up(draft: Path, name: Path) -> None:
            link(draft, name)
            fcntl.lockf(users.enter_context(path.open("r+b")), fcntl.LOCK_EX)

        monkeypatch.setattr(os, "link", taken_up)
        create(path, lambda _: None)
        assert is_locked(path)


def test_a_draft_that_somebody_is_at_work_on_is_left_and_an_abandoned_one_is_removed(
    tmp_path: Path,
) -> None:
    path, abandoned = tmp_path / "ledger", tmp_path / "ledger.new-0123456789abcdef"
    made(abandoned)
    made(tmp_path / f"{abandoned.name}.lock")
    made(tmp_path / f"{abandoned.name}-wal")

    def make(draft: Path) -> None:
        create(path, lambda _: None)
        assert draft.exists()
        assert draft.stat().st_mode & 0o077 == 0

    create(path, make)
    assert names(tmp_path) == ["ledger"]


def test_a_name_that_no_disk_can_have_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    for path in (tmp_path / ("x" * 300), tmp_path / "one", tmp_path / "no folder" / "ledger"):
        with pytest.raises(LedgerError):
            SqliteStore(path)
