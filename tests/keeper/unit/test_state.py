# SPDX-License-Identifier: Apache-2.0
"""The keeper's own file: durable, forward only, with a journal that shows what was done to it."""

import re
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from sordino.keeper.state import MIGRATIONS, State, StateError
from sordino.keeper.tokens import Tokens

FIRST = Path(__file__).parents[1] / "fixtures" / "keeper-1.sql"


def file_of_version_1(path: Path) -> Path:
    """A file as version 1 has left it."""
    with sqlite3.connect(path) as db:
        db.executescript(FIRST.read_text("utf-8"))
    db.close()
    return path


def test_a_file_of_version_1_is_read(tmp_path: Path) -> None:
    state = State(file_of_version_1(tmp_path / "keeper.db"))
    assert [row["name"] for row in state.rows("SELECT name FROM people")] == ["ann", "owner"]
    assert state.check_journal() == 3
    state.note("owner", "person", "bob: analyst")
    assert state.check_journal() == 4
    (token,) = Tokens(state).all()
    assert (token.who, token.cap, token.note, token.revoked) == ("ann", 5 * 10**8, "laptop", None)
    _, made = Tokens(state).make("ann", ["price"], seconds=60, made_with=token)
    Tokens(state).revoke(token.number)
    assert [one.number for one in Tokens(state).all() if one.revoked] == [token.number, made.number]
    Tokens(state).make("ann", ["price"], seconds=60, made_with=token)  # as at the same moment
    assert all(one.revoked for one in Tokens(state).all())
    state.close()
    assert (tmp_path / "keeper.db.version1").exists()


def test_an_older_file_is_copied_and_brought_forward_at_once(tmp_path: Path) -> None:
    path = file_of_version_1(tmp_path / "keeper.db")
    steps = (*MIGRATIONS, "ALTER TABLE people ADD COLUMN mail TEXT; CREATE TABLE more (x) STRICT;")
    wrong = (
        *MIGRATIONS,
        "ALTER TABLE people ADD COLUMN mail TEXT; CREATE TABLE more (x INTEGR) STRICT;",
    )
    with pytest.raises(StateError):
        State(path, migrations=wrong)
    State(path, migrations=MIGRATIONS[:1]).close()  # it is still of version 1
    steps = (*MIGRATIONS, "ALTER TABLE people ADD COLUMN mail TEXT;")
    state = State(path, migrations=steps)
    assert [row["mail"] for row in state.rows("SELECT mail FROM people")] == [None, None]
    state.close()
    copy = tmp_path / "keeper.db.version1"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    State(copy, migrations=MIGRATIONS[:1]).close()
    with pytest.raises(StateError, match="newer version"):
        State(path)


def test_another_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "keeper.db"
    path.write_text("something else, that is no database at all")
    before = path.read_bytes()
    with pytest.raises(StateError):
        State(path)
    assert path.read_bytes() == before
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE mine (x)")
    db.close()
    with pytest.raises(StateError, match="something else"):
        State(other)


def test_a_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "keeper.db"
    state = State(path)
    state.note("owner", "person", "ann")
    for one in tmp_path.iterdir():
        assert stat.S_IMODE(one.stat().st_mode) == 0o600, one
    state.close()


def test_a_journal_is_never_changed(tmp_path: Path) -> None:
    state = State(tmp_path / "keeper.db")
    for about in "abc":
        state.note("owner", "person", about)
    for sql in (
        "UPDATE journal SET about = 'x' WHERE number = 2",
        "DELETE FROM journal WHERE number = 3",
        "INSERT INTO journal VALUES (9, 1, 'a', 'b', 'c', 'd')",
        "INSERT OR REPLACE INTO journal VALUES (2, 1, 'a', 'b', 'c', 'd')",
    ):
        with pytest.raises(sqlite3.DatabaseError):
            state.change(sql)
    assert state.check_journal() == 3
    state.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE journal SET about = 'x' WHERE number = 2",
        "UPDATE journal SET by = 'x' WHERE number = 3",
        "UPDATE journal SET at = at + 1 WHERE number = 1",
        "UPDATE journal SET hash = 'x' WHERE number = 1",
        "DELETE FROM journal WHERE number = 1",
        "DELETE FROM journal WHERE number = 2",
        "INSERT INTO journal VALUES (0, 1, 'a', 'b', 'c', 'd')",
    ],
)
@pytest.mark.parametrize("at_once", [1, 2, 1_000])
def test_what_was_done_to_a_journal_shows(
    tmp_path: Path, damage: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sordino.keeper.state._STEPS", at_once)
    path = tmp_path / "keeper.db"
    state = State(path)
    for about in "abc":
        state.note("owner", "person", about)
    assert state.check_journal() == 3
    state.close()
    with sqlite3.connect(path) as db:
        for name in ("journal_no_update", "journal_no_delete", "journal_in_order"):
            db.execute(f"DROP TRIGGER {name}")
        db.execute(damage)
    db.close()
    state = State(path)
    with pytest.raises(StateError, match=r"step [123] of the journal"):
        state.check_journal()
    state.close()


def test_a_transaction_that_fails_changes_nothing(tmp_path: Path) -> None:
    state = State(tmp_path / "keeper.db")

    def fail() -> None:
        with state.writing():
            state.note("owner", "person", "ann")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert state.check_journal() == 0
    state.close()


def test_the_fixture_is_what_version_1_writes(tmp_path: Path) -> None:
    new = State(tmp_path / "new.db", migrations=MIGRATIONS[:1])
    old = State(file_of_version_1(tmp_path / "old.db"), migrations=MIGRATIONS[:1])
    sql = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"
    schemas = [
        [(row["name"], re.sub(r"\s+", " ", row["sql"])) for row in state.rows(sql)]
        for state in (new, old)
    ]
    assert schemas[0] == schemas[1]
    new.close()
    old.close()


def test_what_follows_a_failed_commit_is_durable(tmp_path: Path) -> None:
    path = tmp_path / "keeper.db"
    state = State(path)

    def vote_on_nothing() -> None:
        with state.writing():
            state.change("PRAGMA defer_foreign_keys = ON")  # so that it is the COMMIT that fails
            state.change("INSERT INTO votes VALUES (1, 'ann', 'approve', '', 0)")

    with pytest.raises(sqlite3.IntegrityError):
        vote_on_nothing()
    state.note("olga", "revoke", "a token")
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT about FROM journal").fetchall() == [("a token",)]
        assert other.execute("SELECT * FROM votes").fetchall() == []
    state.close()
