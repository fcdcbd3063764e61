# SPDX-License-Identifier: Apache-2.0
"""Opening a ledger: where it is said to be, with its key, and never anew where one has been."""

from pathlib import Path

import pytest

from sordino.catalog.model import Book
from sordino.errors import LedgerError
from sordino.ledger.opening import book_at, open_ledger, open_store, read_key
from sordino.ledger.stores.memory import MemoryStore
from sordino.ledger.stores.sqlite.store import SqliteStore
from tests.ledger.unit.samples import catalog, pay


def keyed(folder: Path, key: bytes = b"0123456789abcdef") -> Book:
    (folder / "key").write_bytes(key)
    return Book(folder / "ledger", anchor=folder / "ledger.heads", key=folder / "key")


def test_without_a_book_it_is_in_memory() -> None:
    one, two = open_ledger(catalog(), None), open_ledger(catalog(), None)
    assert isinstance(one.store, MemoryStore)
    pay(one, "1")
    pay(two, "1")


def test_a_ledger_is_made_where_the_book_says_and_opened_there_again(tmp_path: Path) -> None:
    book = book_at(tmp_path / "ledger")
    for number in (2, 3):
        ledger = open_ledger(catalog(), book)
        assert pay(ledger).number == number
        ledger.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger", "ledger.heads"]


def test_a_book_at_a_place_has_an_anchor_beside_a_file() -> None:
    assert book_at("a/b.ledger") == Book(Path("a/b.ledger"), anchor=Path("a/b.ledger.heads"))
    for address in ("postgresql://host/name", "postgres://host/name"):
        assert book_at(address) == Book(address)


def test_a_path_opens_a_file(tmp_path: Path) -> None:
    store = open_store(tmp_path / "ledger", keyed=True)
    assert isinstance(store, SqliteStore)
    assert store.keyed
    store.close()


@pytest.mark.parametrize("key", [b"", b" \n", b"short", b"fifteen letters", b" fifteen letters \n"])
def test_a_short_key_is_refused(tmp_path: Path, key: bytes) -> None:
    with pytest.raises(LedgerError, match="is too short: it needs 16 bytes or more"):
        open_ledger(catalog(), keyed(tmp_path, key))
    assert not (tmp_path / "ledger").exists()


def test_a_key_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(LedgerError, match="cannot be read"):
            read_key(path)


def test_white_space_at_the_ends_of_a_key_does_not_count(tmp_path: Path) -> None:
    ledger = open_ledger(catalog(), keyed(tmp_path))
    pay(ledger)
    ledger.close()
    again = open_ledger(catalog(), keyed(tmp_path, b"  0123456789abcdef\r\n"))
    assert pay(again).number == 3
    again.close()


def test_a_ledger_with_a_key_opens_with_that_key_alone(tmp_path: Path) -> None:
    ledger = open_ledger(catalog(), keyed(tmp_path))
    pay(ledger)
    ledger.close()
    with pytest.raises(LedgerError, match="the key is another one"):
        open_ledger(catalog(), keyed(tmp_path, b"another key of the owner"))
    with pytest.raises(LedgerError, match="was made with a key; state its file"):
        open_ledger(catalog(), book_at(tmp_path / "ledger"))
    plain = open_ledger(catalog(), book_at(tmp_path / "plain"))
    plain.close()
    with pytest.raises(LedgerError, match="was made without a key; state none"):
        open_ledger(catalog(), Book(tmp_path / "plain", key=tmp_path / "key"))


def test_a_ledger_that_is_gone_is_not_begun_anew(tmp_path: Path) -> None:
    book = book_at(tmp_path / "ledger")
    ledger = open_ledger(catalog(), book)
    pay(ledger)
    ledger.close()
    (tmp_path / "ledger").rename(tmp_path / "away")
    with pytest.raises(
        LedgerError, match="its anchor has seen entry 2 of 'people': put the newest"
    ):
        open_ledger(catalog(), book)
    assert not (tmp_path / "ledger").exists()
    fresh = open_ledger(catalog(), Book(tmp_path / "ledger"))
    pay(fresh)
    fresh.close()
    with pytest.raises(LedgerError, match="lacks entry 2 of 'people', which has been seen"):
        open_ledger(catalog(), book)
    (tmp_path / "away").rename(tmp_path / "ledger")
    back = open_ledger(catalog(), book)
    assert pay(back).number == 3
    back.close()


def test_a_ledger_that_was_never_used_leaves_no_anchor(tmp_path: Path) -> None:
    book = book_at(tmp_path / "ledger")
    open_ledger(catalog(), book).close()
    (tmp_path / "ledger").unlink()
    open_ledger(catalog(), book).close()


def test_an_anchor_that_was_removed_is_made_again(tmp_path: Path) -> None:
    book = book_at(tmp_path / "ledger")
    for _ in range(2):
        ledger = open_ledger(catalog(), book)
        pay(ledger)
        ledger.close()
        assert (tmp_path / "ledger.heads").exists()
        (tmp_path / "ledger.heads").unlink()


def test_an_anchor_that_is_the_ledger_itself_is_refused(tmp_path: Path) -> None:
    book = Book(tmp_path / "ledger", anchor=tmp_path / "ledger")
    for _ in range(2):
        with pytest.raises(LedgerError):
            pay(open_ledger(catalog(), book))
    SqliteStore(tmp_path / "ledger").close()
