# SPDX-License-Identifier: Apache-2.0
"""Ways to open a session, from a catalog or a table in memory, and to look at its ledger alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from os import PathLike
from pathlib import Path

from sordino.catalog.frames import frame_catalog
from sordino.catalog.model import Book, Catalog
from sordino.catalog.toml import read_catalog
from sordino.engine.opening import open_engine
from sordino.errors import LedgerError
from sordino.ledger.chain import Anchor
from sordino.ledger.entry import read_seen
from sordino.ledger.ledger import Ledger, check_name
from sordino.ledger.opening import book_at, check_never_made, open_ledger
from sordino.session.owner_log import check_log, open_log
from sordino.session.progress import ProgressBar, is_watched
from sordino.session.session import OWNER, Session, Watch

IN_MEMORY = "memory"


def open_catalog(
    catalog: str | PathLike[str] | Catalog,
    *,
    who: str = OWNER,
    ledger: str | PathLike[str] | Ledger | None = None,
    receipt: str | None = None,
    threads: int | None = None,
    memory_limit: str | None = None,
) -> Session:
    """Open the tables that a ``sordino.toml`` declares, and the ledger that counts what is spent.

    ``who`` is charged. The ledger is where the catalog says, by default in the file
    ``sordino.ledger`` beside it; ``ledger`` is another file, the address of a PostgreSQL database,
    or ``"memory"`` for a budget that ends with this process. With a ``receipt`` of an earlier
    answer, a ledger that does not hold that charge, such as an old copy, is refused. Why a question
    failed after its charge is written to the owner's log, beside the ledger if nothing is declared.

    Guarantee: as for Session.
    """
    return open_session(
        catalog if isinstance(catalog, Catalog) else read_catalog(Path(catalog)),
        who=who,
        ledger=ledger,
        receipt=receipt,
        threads=threads,
        memory_limit=memory_limit,
        watch=partial(ProgressBar, "asking") if is_watched() else nullcontext,
    )


def open_session(
    declared: Catalog,
    *,
    who: str = OWNER,
    ledger: str | PathLike[str] | Ledger | None = None,
    receipt: str | None = None,
    threads: int | None = None,
    memory_limit: str | None = None,
    watch: Watch = nullcontext,
) -> Session:
    """Open a catalog that was read; how far a question is goes to ``watch``, and to nobody else.

    The arguments are those of ``open_catalog``.

    Guarantee: as for Session.
    """
    check_name(who)
    place = None if isinstance(ledger, Ledger) else _book(declared, ledger)
    check_log(declared, place)
    engine = open_engine(declared, threads=threads, memory_limit=memory_limit)
    try:
        held_to = None if receipt is None else read_seen(receipt)
        if isinstance(ledger, Ledger):
            book = ledger
            if held_to is not None:
                book.hold_to(held_to)
        else:
            book = open_ledger(declared, place, held_to=held_to)
        try:
            book.check_terms()
        except BaseException:
            book.close()
            raise
    except BaseException:
        engine.close()
        raise
    return Session(
        declared,
        engine=engine,
        ledger=book,
        public=engine.public_values,
        who=who,
        log=open_log(declared, place),
        watch=watch,
    )


def _book(catalog: Catalog, ledger: str | PathLike[str] | None) -> Book | None:
    """Return where the ledger is kept, None for the memory of the process."""
    if ledger is None:
        return catalog.book
    if ledger == IN_MEMORY:
        return None
    book = book_at(ledger if isinstance(ledger, str) else Path(ledger))
    declared = catalog.book
    if declared is not None and _place(book) == _place(declared):
        return declared  # with its anchor and its key
    return book


def _place(book: Book) -> str:
    return book.place if isinstance(book.place, str) else str(book.place.resolve())


def table(
    frame: object,
    *,
    unit: str,
    name: str = "data",
    bounds: Mapping[str, object] | None = None,
    keys: Mapping[str, Iterable[object] | str] | None = None,
    other: Mapping[str, object] | None = None,
    types: Mapping[str, str] | None = None,
    rows: int | None = None,
    groups: int | None = None,
    rows_per_group: int | None = None,
    public_tables: Mapping[str, object] | None = None,
    epsilon: object = None,
    delta: object = None,
    rho: object = None,
    currency: str | None = None,
    ledger: str | PathLike[str] | Ledger | None = None,
    receipt: str | None = None,
    who: str = OWNER,
) -> Session:
    """Open a table in memory: pandas, polars, Arrow, or a dictionary of columns.

    ``unit`` is the column that says whose row it is, or "row" if every row stands for itself.
    Columns of numbers in pandas are real; say ``types={"age": "integer"}`` to group by one.
    ``bounds`` and ``keys`` are public: never take them from the data. ``epsilon`` is all that may
    be spent; with a ``delta`` keys that are not declared can be discovered. What was spent is
    forgotten with the session unless ``ledger`` names a file to keep it in. Rows in memory are new
    in every session: a question that was asked in an earlier one is charged again.

    >>> data = table({"ward": ["a", "b"] * 50}, unit="row", keys={"ward": ["a", "b"]}, epsilon=1)
    >>> print(data.budget[0])
    people: epsilon 1 of epsilon 1 left

    Guarantee: as for Session.
    """
    catalog = frame_catalog(
        frame,
        unit=unit,
        name=name,
        bounds=bounds,
        keys=keys,
        other=other,
        types=types,
        rows=rows,
        groups=groups,
        rows_per_group=rows_per_group,
        public_tables=public_tables,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        currency=currency,
    )
    return open_catalog(catalog, ledger=ledger, receipt=receipt, who=who)


@contextmanager
def ledger_of(catalog: Catalog) -> Iterator[Ledger]:
    """Open the ledger of a catalog; one that is not there yet is imagined in memory, not made."""
    book = catalog.book
    ledger = open_ledger(catalog, book if _is_there(book) else None)
    try:
        yield ledger
    finally:
        ledger.close()


def refusal_of(catalog: Catalog) -> str:
    """Say why the ledger would answer no question, such as other limits on record, or nothing."""
    try:
        with ledger_of(catalog) as ledger:
            ledger.check_terms()
    except LedgerError as error:
        return str(error)
    return ""


def check_there(catalog: Catalog) -> Book:
    """Return where the ledger is; raises LedgerError if nothing was asked yet."""
    book = catalog.book
    if book is None or not _is_there(book):
        place = "" if book is None else f" {str(book.place)!r}"
        raise LedgerError(f"there is no ledger{place} yet; the first question makes it")
    return book


def _is_there(book: Book | None) -> bool:
    """Tell whether there is a ledger; raises LedgerError if there has been one."""
    if book is None:
        return False
    if not isinstance(book.place, Path) or book.place.exists():
        return True
    if book.anchor is not None:
        check_never_made(Anchor(book.anchor), book.place)
    return False
