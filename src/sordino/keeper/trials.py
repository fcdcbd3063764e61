# SPDX-License-Identifier: Apache-2.0
"""Trials at the start: the first question finds everything loaded, and slots are long enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

from sordino.errors import SealedError, SordinoError
from sordino.plan.ask import Ask, read_ask

if TYPE_CHECKING:
    from sordino.catalog.model import Catalog, Table
    from sordino.keeper.keeper import Keeper

# An answer so far off costs next to nothing, so that every budget has room for it.
_FAR_OFF = Decimal(10) ** 12
_NOBODY = ""  # waits for a place like a person of this name, which nobody has
_USUAL = 0.5  # of a slot is what questions should take at most


def trials(catalog: Catalog) -> Iterator[tuple[str, Ask]]:
    """Yield a question about all rows of each table that is private, with the table's name."""
    for table in catalog.tables:
        if not table.public:
            yield table.name, read_ask(_question(table), within=_FAR_OFF)


def _question(table: Table) -> str:
    measured = next(
        (one.name for one in table.columns if one.bounds is not None and one.type.is_number), None
    )
    sums = "" if measured is None else f", SUM({_quoted(measured)}) AS s"
    return f"SELECT COUNT(*) AS n{sums} FROM {_quoted(table.name)}"  # noqa: S608 - of the catalog


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def rehearse_first(keeper: Keeper) -> None:
    """Answer a question on invented rows, which loads all that the first one in earnest needs.

    It comes before connections are taken, and takes as long whatever the data is.
    """
    with keeper.generations.using() as generation:
        for name, ask in trials(generation.catalog):
            try:
                generation.session.rehearse_ask(ask)
            except (SordinoError, ValueError) as error:
                keeper.tell(f"no question about table {name!r} could be rehearsed", error)
                continue
            return


def check_slot(keeper: Keeper, warn: Callable[[str], None]) -> None:
    """Warn the owner of tables about which a question takes more than half of a slot.

    How long it takes may tell something of the data. So connections are taken before, and the
    warning is for the owner alone.
    """
    slots = keeper.slots
    if slots.length is None:
        return
    length = float(slots.length)
    with keeper.generations.using() as generation:
        for name, ask in trials(generation.catalog):
            try:
                with keeper.room(_NOBODY, None):
                    plan = generation.session.plan_ask(ask)
                    took = generation.session.time_of(plan, deadline=length)
            except SealedError:
                warn(
                    f"a question about all rows of {name!r} takes longer than a slot of "
                    f"{length:g} s, or fails; answers tell that they were late"
                )
            except (SordinoError, ValueError) as error:
                keeper.tell(f"no question about table {name!r} could be tried out", error)
            else:
                if took > _USUAL * length:
                    warn(
                        f"a question about all rows of {name!r} took {took:.2g} s, more than half "
                        f"of a slot of {length:g} s; choose a longer slot in [server]"
                    )
