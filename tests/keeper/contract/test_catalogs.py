# SPDX-License-Identifier: Apache-2.0
"""Another catalog is served whole or not at all, and is on record."""

from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import LedgerError
from sordino.keeper import catalogs
from sordino.keeper.main import open_keeper
from sordino.ledger.ledger import Ledger
from tests.keeper.study import Study, code, raising, told

STUDY = {"server": 'slot = "off"'}


def test_a_draft_is_checked_and_nothing_changes(served: Study) -> None:
    ann, olga = served.person("ann", "analyst"), served.person("olga", "owner")
    served.ask(ann)
    before = served.catalog.read_text()
    found = told(served.send("check", olga, {"text": served.text(epsilon="4")}))
    assert found["changes"] == ["people: epsilon 3 on record and epsilon 4 stated"]
    wrong = told(served.send("check", olga, {"text": served.text(epsilon="-4")}))
    assert wrong["generation"] is None
    assert all(text.startswith("sordino.toml: ") for text in wrong["mistakes"])
    assert told(served.send("check", olga, {"text": "]"}))["mistakes"]
    assert served.catalog.read_text() == before
    assert sorted(path.suffix for path in served.folder.glob(".*")) == []


def test_a_catalog_may_be_long_and_nothing_else(served: Study) -> None:
    olga = served.person("olga", "owner")
    text = served.text() + "# a line\n" * 100_000
    assert told(served.send("check", olga, {"text": text}))["mistakes"] == []
    assert served.send("swap", olga, {"text": text, "why": "more words"}).status == 201
    assert served.catalog.read_text() == text
    reply = served.send("check", olga, {"text": text * 2})
    assert (reply.status, code(reply)) == (413, "body_too_large")
    reply = served.send("prices", olga, raw=b" " * 65_537)
    assert (reply.status, code(reply)) == (413, "body_too_large")
    for text in ("x = " + "[" * 400_000, ".".join(["a"] * 400_000) + " = 1"):
        assert told(served.send("check", olga, {"text": text}))["mistakes"]
        assert code(served.send("swap", olga, {"text": text, "why": "it is deep"})) == "catalog"
    assert told(served.send("check", olga, {"text": served.text()}))["mistakes"] == []


def test_who_knocks_is_told_whether_they_may_and_nothing_is_done(served: Study) -> None:
    ann, olga = served.person("ann", "analyst"), served.person("olga", "owner")
    body = {"text": served.text(epsilon="4"), "why": "the board allows more"}
    for who, status in ((None, 401), (ann, 403), (olga, 204)):
        for sent in (None, body):
            assert served.send("swap", who, sent, knocks=True).status == status
    made = told(served.send("token", ann, {}))["id"]
    assert served.send("revoke", ann, path={"token": made}, knocks=True).status == 204
    assert served.keeper.tokens.get(made).revoked is None  # type: ignore[union-attr]
    assert served.catalog.read_text() == served.text()


def test_a_swap_is_on_record_and_kept(served: Study) -> None:
    ann, olga = served.person("ann", "analyst"), served.person("olga", "owner")
    served.ask(ann, epsilon="2.9")
    assert served.ask(ann, epsilon="0.5").status == 409
    body = {"text": served.text(epsilon="4"), "why": "the board allows more"}
    reply = told(served.send("swap", olga, body))
    (entry,) = reply["entries"]
    assert (entry["kind"], entry["by"], entry["why"]) == ("limits", "olga", "the board allows more")
    assert served.ask(ann, epsilon="0.5").status == 200
    steps = told(served.send("journal", olga))["steps"]
    assert steps[-1]["what"] == "catalog"
    newest = served.send("journal", olga, query={"last": "2"})
    assert told(newest)["steps"] == steps[-2:]
    assert told(served.send("journal", olga, query={"last": "1000"}))["steps"] == steps
    both = served.send("journal", olga, query={"last": "2", "from": "1"})
    assert (both.status, code(both)) == (400, "query")
    served.restart()
    assert told(served.send("me", ann))["generation"] == reply["generation"]


@pytest.mark.parametrize(
    "change",
    [
        ("epsilon = 3", "epsilon = 0"),
        ('parquet = "visits.parquet"', 'parquet = "gone.parquet"'),
        ('age = { type = "integer"', 'height = { type = "integer"'),
        ("[budget]", '[ledger]\nfile = "other.ledger"\n[budget]'),
        ('people = "people"', 'people = "others"'),
    ],
)
def test_a_wrong_catalog_is_refused_and_the_old_one_stays(
    served: Study, change: tuple[str, str]
) -> None:
    ann, olga = served.person("ann", "analyst"), served.person("olga", "owner")
    served.ask(ann)
    before = served.catalog.read_text()
    generation = told(served.send("me", ann))["generation"]
    reply = served.send("swap", olga, {"text": before.replace(*change), "why": "a try"})
    assert (reply.status, code(reply)) == (422, "catalog")
    assert served.catalog.read_text() == before
    assert told(served.send("me", ann))["generation"] == generation
    assert served.ask(ann, epsilon="0.2").status == 200


def test_a_question_under_way_ends_in_its_own_generation(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, olga = served.person("ann", "analyst"), served.person("olga", "owner")
    under_way, go_on = Event(), Event()
    run = DuckdbEngine.run

    def slow(self: DuckdbEngine, *arguments: Any, **terms: Any) -> Any:
        under_way.set()
        go_on.wait(30)
        return run(self, *arguments, **terms)

    monkeypatch.setattr(DuckdbEngine, "run", slow)
    replies: list[Any] = []
    asking = Thread(target=lambda: replies.append(served.ask(ann)))
    asking.start()
    assert under_way.wait(30)
    assert (
        served.send("swap", olga, {"text": served.text(epsilon="4"), "why": "more"}).status == 201
    )
    go_on.set()
    asking.join(30)
    assert replies[0].status == 200
    assert served.ask(ann).status == 200
    assert len(served.charges) == 1


class Killed(BaseException):
    """The process has ended here."""


@pytest.mark.parametrize("place", ["amend", "replace"])
def test_a_swap_that_a_crash_has_cut_short_is_finished_at_the_next_start(
    served: Study, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    ann, olga = served.person("ann", "analyst"), served.person("olga", "owner")
    served.ask(ann)
    killed = raising(Killed)
    with monkeypatch.context() as patched:
        if place == "amend":
            patched.setattr(Ledger, "amend", killed)
        else:
            patched.setattr(Path, "unlink", lambda *_, **__: None)
            patched.setattr(catalogs, "sync_folder", _killed_at(killed, 2))
        with pytest.raises(Killed):
            served.send("swap", olga, {"text": served.text(epsilon="4"), "why": "more"})
    served.close()
    keeper = open_keeper(served.catalog, served.folder)
    assert keeper.generations.now.catalog.purses[0][1].budget.cap.nanos == 4 * 10**9
    keeper.close()
    assert not (served.folder / "swap.json").exists()
    served.open()
    assert "epsilon = 4" in served.catalog.read_text()
    assert [entry.kind for entry in served.entries].count("limits") == 1


def _killed_at(killed: Callable[[], None], call: int) -> Callable[[Path], None]:
    calls: list[Path] = []

    def sync(folder: Path) -> None:
        calls.append(folder)
        if len(calls) == call:
            killed()

    return sync


def test_a_swap_that_is_refused_is_forgotten(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    olga = served.person("olga", "owner")
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "amend", raising(LedgerError("so much cannot be kept")))
        body = {"text": served.text(epsilon="4"), "why": "more"}
        assert served.send("swap", olga, body).status == 422
    assert not (served.folder / "swap.json").exists()
    assert "epsilon = 3" in served.catalog.read_text()


def test_a_catalog_keeps_its_mode(served: Study) -> None:
    olga = served.person("olga", "owner")
    served.catalog.chmod(0o640)
    served.send("swap", olga, {"text": served.text(epsilon="4"), "why": "more"})
    assert served.catalog.stat().st_mode & 0o777 == 0o640


def test_settings_of_a_new_catalog_hold_at_once(served: Study) -> None:
    ann, olga = served.person("ann", "analyst"), served.person("olga", "owner")
    body = {"text": served.text(server="approve_above = 0.05"), "why": "stricter"}
    assert served.send("swap", olga, body).status == 201
    assert served.ask(ann).status == 202


def test_a_question_that_meets_limits_of_the_next_catalog_is_told_to_come_again(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = served.person("ann", "analyst")
    with monkeypatch.context() as patched:
        differ = raising(LedgerError("the catalog and the ledger differ"))
        patched.setattr(Ledger, "obtain", differ)
        with served.keeper.swapping:
            reply = served.ask(ann)
        assert (reply.status, code(reply), reply.headers["Retry-After"]) == (503, "busy", "1")
        assert code(served.ask(ann)) == "ledger"
    assert served.ask(ann).status == 200


def apart(served: Study) -> Path:
    """Give the keeper a folder of its own beside the data, as it has in earnest."""
    state = served.folder / "state"
    state.mkdir()
    served.keeper.folder = state
    return state


FURTHER = """
[tables.further]
{kind} = "{file}"
{more}
[tables.further.columns]
name = "text"
"""


def further(served: Study, file: str, kind: str = "csv", more: str = 'unit = "row"') -> str:
    """The text of the catalog with one more table."""
    return served.text() + FURTHER.format(kind=kind, file=file, more=more)


@pytest.mark.parametrize("more", ['unit = "row"', "public = true"])
@pytest.mark.parametrize(
    "file",
    [
        *("/etc/passwd", "/nowhere/at/all", "/proc/self/environ", "//host/share", "/dev/zero"),
        *("../beside.csv", "inside/../../beside.csv", "link.csv", "linked/beside.csv", "l*.csv"),
        *("state/owner.token", "state/keeper.db", "state/*", "sordino.ledger", "sordino.log"),
    ],
)
def test_a_catalog_that_is_sent_reaches_no_file_but_those_of_the_study(
    served: Study, file: str, more: str
) -> None:
    olga = served.person("olga", "owner")
    (served.folder.parent / "beside.csv").write_text("name\nBob\n")
    (served.folder / "link.csv").symlink_to(served.folder.parent / "beside.csv")
    (served.folder / "linked").symlink_to(served.folder.parent)
    (served.folder / "inside").mkdir()
    state = apart(served)
    for name in ("keeper.db", "secret.key", "owner.token"):
        (state / name).write_bytes(b"name\n")
    (served.folder / "sordino.log").write_text("name\n")
    text = further(served, file, more=more)
    (mistake,) = told(served.send("check", olga, {"text": text}))["mistakes"]
    reply = served.send("swap", olga, {"text": text, "why": "a try"})
    assert (reply.status, code(reply)) == (422, "catalog")
    for said in (mistake, told(reply)["detail"]):
        assert "may not name" in said
        assert "Bob" not in said
    assert served.catalog.read_text() == served.text()


def test_the_schema_of_a_file_out_of_reach_is_not_even_read(served: Study) -> None:
    olga = served.person("olga", "owner")
    text = served.text() + '[tables.further]\nparquet = "/dev/zero"\npublic = true\n'
    (mistake,) = told(served.send("check", olga, {"text": text}))["mistakes"][:1]
    assert "may not name" in mistake


def test_a_catalog_that_is_sent_may_name_what_is_served_and_what_lies_beside_it(
    served: Study, tmp_path: Path
) -> None:
    apart(served)
    olga = served.person("olga", "owner")
    (tmp_path / "beside.csv").write_text("name\nBob\n")
    far = further(served, "../beside.csv")
    served.catalog.write_text(far)
    assert served.send("swap", olga, {"why": "the server's own file"}).status == 201
    assert served.send("swap", olga, {"text": far + "# more\n", "why": "as it was"}).status == 201
    (served.folder / "new").mkdir()
    (served.folder / "new" / "near.csv").write_text("name\nBob\n")
    for file in ("new/near.csv", "new/*.csv"):
        sent = {"text": further(served, file), "why": "one that is near"}
        assert served.send("swap", olga, sent).status == 201


def test_what_stands_in_the_place_of_a_header_is_told_to_nobody_who_calls(served: Study) -> None:
    apart(served)
    olga = served.person("olga", "owner")
    (served.folder / "bare.csv").write_text("Bob,flu\nAnn,asthma\n")
    sent = {"text": further(served, "bare.csv"), "why": "it has no header"}
    reply = served.send("swap", olga, sent)
    assert (reply.status, code(reply)) == (422, "catalog")
    assert "has no column 'name'" in told(reply)["detail"]
    assert b"Bob" not in reply.body
    assert b"flu" not in reply.body


def test_a_catalog_that_is_sent_writes_no_log_elsewhere(served: Study) -> None:
    olga = served.person("olga", "owner")
    text = '[log]\nfile = "../elsewhere"\n' + served.text()
    reply = served.send("swap", olga, {"text": text, "why": "a try"})
    assert (reply.status, code(reply)) == (422, "catalog")
    assert not (served.folder.parent / "elsewhere").exists()
