# SPDX-License-Identifier: Apache-2.0
"""Calls of the owner about the catalog: check another one, serve it, and read the journal."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from sordino.catalog.model import Catalog
from sordino.catalog.toml import read_all, read_catalog
from sordino.channel import messages
from sordino.channel.frames import Reply
from sordino.engine.opening import open_engine
from sordino.errors import CatalogError, HeaderError, LedgerError
from sordino.keeper.generations import name_of, open_generation
from sordino.keeper.problems import Refusal, arguments
from sordino.keeper.reach import Reach
from sordino.keeper.replies import as_json
from sordino.keeper.visit import Desk, Visit
from sordino.ledger.entry import Entry
from sordino.ledger.ledger import differences
from sordino.ledger.opening import open_ledger
from sordino.ledger.rules import terms_of
from sordino.ledger.stores.sqlite.files import sync_folder
from sordino.session.owner_log import path_of

_MOST_STEPS = 1_000
_SWAP = "swap.json"  # in the state folder: a swap that was begun and is not done


def check(visit: Visit) -> Reply:
    """Check the text of a catalog, and say what would change."""
    text = visit.read(messages.Draft).text
    with _drafted(_path(visit), text.encode()) as draft:
        catalog, mistakes = _read(draft, _path(visit), _reach(visit))
        if catalog is None:
            return as_json({"mistakes": mistakes, "changes": [], "generation": None})
        told = {
            "mistakes": [],
            "changes": _changes(visit, catalog),
            "generation": name_of(text.encode(), catalog),
        }
        return as_json(told)


def swap(visit: Visit) -> Reply:
    """Serve another catalog from now on; what is under way ends under the one before."""
    body = visit.read(messages.NewCatalog)
    path, reach = _path(visit), None if body.text is None else _reach(visit)
    with ExitStack() as held:
        held.enter_context(visit.keeper.swapping)
        text = path.read_bytes() if body.text is None else body.text.encode()
        draft = held.enter_context(_drafted(path, text))
        catalog, mistakes = _read(draft, path, reach)
        if catalog is None:
            raise Refusal("catalog", 422, "; ".join(mistakes))
        if catalog.book != visit.generation.catalog.book:
            raise Refusal("catalog", 422, "the ledger stays where it is while a server runs")
        before = visit.generation.catalog
        if reach is not None and path_of(catalog, before.book) != path_of(before, before.book):
            raise Refusal("catalog", 422, "a catalog that is sent leaves the log where it is")
        changes = _changes(visit, catalog)
        try:
            open_engine(catalog).close()
            begin_swap(visit.keeper.folder, text, by=visit.by.who, why=body.why)
            with arguments():
                amended = finish_swap(visit.keeper.folder, path)
        except HeaderError as error:
            raise Refusal("catalog", 422, error.message) from None
        except (CatalogError, LedgerError) as error:  # whoever may call this may read it
            raise Refusal("catalog", 422, str(error)) from None
        generation = open_generation(path)
        visit.keeper.serve(generation)
        visit.keeper.state.note(visit.by.who, "catalog", f"{generation.name}: {body.why}")
    told = {
        "generation": generation.name,
        "changes": changes,
        "entries": [entry._asdict() for entry in amended],
    }
    return as_json(told, 201)


def _path(visit: Visit) -> Path:
    path = visit.generation.catalog.path
    if path is None:
        raise Refusal("catalog", 422, "this catalog is in no file")
    return path


@contextmanager
def _drafted(path: Path, text: bytes) -> Iterator[Path]:
    """Write a draft beside the catalog, so that names of files in it mean the same."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, stat.S_IMODE(path.stat().st_mode))
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def _reach(visit: Visit) -> Reach:
    return Reach(visit.generation.catalog, _path(visit), visit.keeper.folder)


def _read(draft: Path, path: Path, reach: Reach | None) -> tuple[Catalog | None, list[str]]:
    """Read a draft as the catalog that it would be; with what is wrong with it."""
    try:
        reading = read_all(draft, check_source=None if reach is None else reach.check)
    except CatalogError as error:
        return None, [str(error).replace(draft.name, path.name)]
    return reading.catalog, [text.replace(draft.name, path.name) for text in reading.mistakes]


def _changes(visit: Visit, catalog: Catalog) -> list[str]:
    """Say which tables and which limits would be others."""
    before, told = visit.generation.catalog, []
    for table in catalog.tables:
        held = before.table(table.name)
        if held is None:
            told.append(f"table {table.name!r} is new")
        elif held != table:
            told.append(f"table {table.name!r} is declared otherwise")
    told += [
        f"table {table.name!r} is gone"
        for table in before.tables
        if catalog.table(table.name) is None
    ]
    ledger = visit.generation.session.ledger
    with ledger.store.read() as pages:
        for people, terms in sorted(terms_of(catalog).items()):
            last = ledger.chain.last(pages, people)
            if last is None:
                told.append(f"people {people!r} are new")
            else:
                told += [f"{people}: {text}" for text in differences(pages, last, terms)]
    return told


def begin_swap(folder: Path, text: bytes, *, by: str, why: str) -> None:
    """Write down durably what is to be done, so that it is done whole, also after a crash."""
    step = json.dumps({"text": text.decode(), "by": by, "why": why}).encode()
    partial = folder / f"{_SWAP}.part"
    held = os.open(partial, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(held, "wb") as file:
        file.write(step)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(folder / _SWAP)
    sync_folder(folder)


def finish_swap(folder: Path, path: Path) -> list[Entry]:
    """Do what was begun: put changed limits on record, and then the text in its place.

    Where nothing was begun, nothing is done. If the ledger refuses the limits or the reason, the
    text stays as it is, and what was begun is forgotten.
    """
    step = folder / _SWAP
    try:
        begun = json.loads(step.read_bytes())
    except FileNotFoundError:
        return []
    try:
        with _drafted(path, begun["text"].encode()) as draft:
            catalog = read_catalog(draft)
            ledger = open_ledger(catalog, catalog.book)
            try:
                entries = ledger.amend(by=begun["by"], why=begun["why"])
            finally:
                ledger.close()
            draft.replace(path)
            sync_folder(path.parent)
    except (CatalogError, LedgerError, ValueError):
        step.unlink()
        raise
    step.unlink()
    return entries


def journal(visit: Visit) -> Reply:
    """Return steps of the journal in their order; each is bound to the one before."""
    stated = visit.request.query
    if "last" in stated:
        if stated.keys() & {"from", "count"}:
            raise Refusal("query", 400, "state last, or from and count")
        newest = visit.keeper.state.rows(
            "SELECT * FROM journal ORDER BY number DESC LIMIT ?",
            visit.number("last", _MOST_STEPS, _MOST_STEPS),
        )
        rows = newest[::-1]
    else:
        rows = visit.keeper.state.rows(
            "SELECT * FROM journal WHERE number >= ? ORDER BY number LIMIT ?",
            visit.number("from", 1, 10**15),
            visit.number("count", _MOST_STEPS, _MOST_STEPS),
        )
    steps: list[dict[str, Any]] = [dict(row) for row in rows]
    return as_json({"steps": steps})


DESK: Desk = {"check": check, "swap": swap, "journal": journal}
