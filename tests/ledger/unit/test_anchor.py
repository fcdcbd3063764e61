# SPDX-License-Identifier: Apache-2.0
"""An anchor remembers the newest entries, whatever happens to half of it, for all who share it."""

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from sordino.errors import LedgerError
from sordino.ledger.chain import Anchor
from sordino.ledger.entry import Seen
from tests.ledger.unit.samples import ended, started

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

PLACE = 512


def seen(number: int, people: str = "people") -> Seen:
    return Seen(people, number, f"{number:064x}")


def anchored(path: Path, *numbers: int) -> Anchor:
    anchor = Anchor(path)
    for number in numbers:
        anchor.write(seen(number))
    anchor.close()
    return anchor


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def test_the_newest_entry_of_each_id_space_is_remembered(tmp_path: Path) -> None:
    anchor = Anchor(tmp_path / "heads")
    for number in range(1, 6):
        anchor.write(seen(number))
        anchor.write(seen(number * 10, "staff"))
    anchor.close()
    assert Anchor(tmp_path / "heads").all() == {"people": seen(5), "staff": seen(50, "staff")}
    assert (tmp_path / "heads").stat().st_size == 4 * PLACE
    assert (tmp_path / "heads").stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_not_there_or_empty_remembers_nothing(tmp_path: Path) -> None:
    path = tmp_path / "heads"
    assert Anchor(path).all() == {}
    assert not path.exists()
    path.touch()
    assert Anchor(path).all() == {}


@pytest.mark.parametrize("people", ["my patients", "a:b", "患者", "x" * 100, "\U0001f600" * 100])
def test_an_id_space_may_have_any_printable_name(tmp_path: Path, people: str) -> None:
    anchor = Anchor(tmp_path / "heads")
    for number in (1, 2, 10**17):
        anchor.write(seen(number, people))
    anchor.write(seen(4))
    anchor.close()
    assert Anchor(tmp_path / "heads").all() == {people: seen(10**17, people), "people": seen(4)}


@pytest.mark.parametrize("length", [1, 100, 300, PLACE])
def test_one_of_two_places_is_whole_when_the_other_is_torn(tmp_path: Path, length: int) -> None:
    path = tmp_path / "heads"
    for newest in (6, 7):
        anchored(path, newest - 2, newest - 1, newest)
        overwrite(path, newest % 2 * PLACE, b"?" * length)
        assert Anchor(path).all().get("people") == seen(newest - 1)
        anchored(path, newest)
        assert Anchor(path).all().get("people") == seen(newest)
        path.unlink()


def test_a_place_that_holds_another_number_than_was_written_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "heads"
    anchored(path, 4, 5)
    overwrite(path, PLACE + len("people:"), b"9")
    assert Anchor(path).all().get("people") == seen(4)


def test_two_damaged_places_are_said_to_be_damaged(tmp_path: Path) -> None:
    path = tmp_path / "heads"
    anchor = anchored(path, 4, 5)
    overwrite(path, 0, b"?")
    overwrite(path, PLACE, b"?")
    with pytest.raises(LedgerError, match="is damaged; check the ledger"):
        anchor.all().get("people")
    with pytest.raises(LedgerError, match="is damaged"):
        Anchor(path).write(seen(6))


@pytest.mark.parametrize("kept", [1, 100, PLACE - 1])
def test_a_file_cut_in_its_first_place_is_said_to_be_damaged(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "heads"
    anchored(path, 4, 5)
    os.truncate(path, kept)
    with pytest.raises(LedgerError, match="is damaged"):
        Anchor(path).all()


def test_places_of_zeros_were_made_before_the_power_was_lost(tmp_path: Path) -> None:
    path = tmp_path / "heads"
    path.write_bytes(bytes(2 * PLACE))
    assert Anchor(path).all() == {}
    anchored(path, 3)
    assert Anchor(path).all() == {"people": seen(3)}
    assert path.stat().st_size == 4 * PLACE


def test_an_odd_tail_does_not_shift_the_places(tmp_path: Path) -> None:
    path = tmp_path / "heads"
    path.write_bytes(bytes(700))
    anchored(path, 3, 4)
    assert Anchor(path).all() == {"people": seen(4)}


def test_an_older_entry_never_replaces_a_newer_one(tmp_path: Path) -> None:
    path = tmp_path / "heads"
    fast, slow = Anchor(path), Anchor(path)
    for number in range(1, 12):
        fast.write(seen(number))
    for number in (1, 2, 9, 10):
        for late in (slow, fast):  # another process, and another thread of the same one
            late.write(seen(number))
            assert Anchor(path).all().get("people") == seen(11)
    fast.close()
    slow.close()


def test_processes_share_an_anchor(tmp_path: Path) -> None:
    path, anchor = tmp_path / "heads", Anchor(tmp_path / "heads")
    anchor.write(seen(1))

    def work(space: int) -> None:
        for number in range(1, 101):
            anchor.write(seen(number, f"space {space}"))
            anchor.write(seen(100 * space + number))

    children = [started(partial(work, space)) for space in range(4)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    anchor.write(seen(2))
    expected = {f"space {space}": seen(100, f"space {space}") for space in range(4)}
    assert Anchor(path).all() == {"people": seen(400), **expected}
    anchor.close()


def test_a_fork_in_the_midst_of_writing_does_not_hang_the_child(tmp_path: Path) -> None:
    anchor = Anchor(tmp_path / "heads")
    anchor.write(seen(1))

    def work() -> None:
        signal.alarm(20)
        anchor.write(seen(2))
        anchor.close()

    with anchor._lock:
        assert ended(work) == 0
    assert anchor.all().get("people") == seen(2)
    anchor.close()


def test_a_child_that_closes_takes_nothing_from_its_parent(tmp_path: Path) -> None:
    anchor = Anchor(tmp_path / "heads")
    anchor.write(seen(1))
    assert ended(anchor.close) == 0
    anchor.write(seen(2))
    anchor.close()
    anchor.write(seen(3))
    anchor.close()
    assert anchor.all().get("people") == seen(3)


def test_a_place_that_cannot_be_used_is_an_error_of_ours(tmp_path: Path) -> None:
    away = tmp_path / "away" / "heads"
    for path, said in ((tmp_path, "Is a directory"), (away, "there is no folder .*away'; make it")):
        with pytest.raises(LedgerError, match=f"cannot be written: {said}"):
            Anchor(path).write(seen(1))
        with pytest.raises(LedgerError, match=f"cannot be written: {said}"):
            Anchor(path).ready()
    with pytest.raises(LedgerError, match="cannot be read"):
        Anchor(tmp_path).all()
