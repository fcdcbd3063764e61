# SPDX-License-Identifier: Apache-2.0
"""The one door through which exact values leave their seal, with noise."""

from __future__ import annotations

import logging
from fractions import Fraction
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np
import numpy.typing as npt

from sordino.answer import Answer
from sordino.engine.protocol import Exact
from sordino.errors import SealedError
from sordino.ledger.entry import Receipt
from sordino.plan.ask import Options
from sordino.plan.intervals import level_of_release
from sordino.plan.plan import Added, Cells, Chosen, Crowded, Part, Plan, Ranked, Release
from sordino.release.draw import (
    Groups,
    Pile,
    add_noise,
    declared,
    discovered,
    draw_choices,
    draw_quantiles,
    gather,
    piles,
)
from sordino.release.key import KEY
from sordino.release.post import Draw, Drawn, columns_of, facts_of, notes_of

if TYPE_CHECKING:
    import pyarrow as pa

_PLAIN = Options()
_log = logging.getLogger("sordino.owner")
_log.addHandler(logging.NullHandler())  # what is logged is for the owner, not for stderr


def release(plan: Plan, sealed: Exact, receipt: Receipt, options: Options = _PLAIN) -> Answer:
    """Return the answer to a question that has been paid for.

    The seal is opened, noise is added to every number, and all else happens to noisy numbers.
    Whatever goes wrong is a SealedError, and its cause is for the owner's log alone.

    Guarantee:
        Neighbours: one unit with all its rows, added or removed.
        Loss: that of the plan; the answer depends on exact values through its releases only.
        Numerics: as for the mechanisms; intervals are rounded outwards.
        Proof: docs/proofs/queries.md, theorems 3 to 5.
    """
    answer = _logged(plan, sealed, receipt, options)
    if answer is None:
        raise SealedError  # here, where no other error is around that it could carry along
    return answer


def _logged(plan: Plan, sealed: Exact, receipt: Receipt, options: Options) -> Answer | None:
    """Return the answer, or None if it failed; why is in the owner's log."""
    try:
        drawn = draw(plan, sealed, options)
        columns = columns_of(drawn)
        charge = receipt._replace(plan="", data="")
        notes, facts = notes_of(drawn, columns), facts_of(plan, options)
        return Answer(columns, notes, plan.confidence, charge, facts)
    except Exception as error:
        # Neither its text nor a trace, which may have values in it.
        safe = f"an answer could not be released: {type(error).__name__}"
        paid = f"{receipt.people}:{receipt.number}"
        _log.error(safe, extra={"safe": safe, "charge": paid})
        return None


def draw(plan: Plan, sealed: Exact, options: Options = _PLAIN) -> Drawn:
    """Open the seal and make all draws of a plan, each once."""
    tables = sealed.open(KEY)
    if len(tables) != len(plan.bounded.parts):
        raise ValueError("an engine returns one table for each part")
    if plan.keys is not None:
        groups = discovered(plan.bounded, tables, plan.keys)
    else:
        groups = declared(plan.bounded)
    parts = zip(plan.bounded.parts, tables, strict=True)
    opened = {part: _Open(part, table, groups) for part, table in parts}
    draws = tuple(
        _draw(release, opened[release.part], level_of_release(plan, at))
        for at, release in enumerate(plan.releases)
    )
    return Drawn(plan, options, groups, draws)


class _Open:
    """A part that has been opened: its table, and to which group each row belongs."""

    __slots__ = ("_piles", "many", "part", "places", "table")

    def __init__(self, part: Part, table: pa.Table, groups: Groups) -> None:
        alone = isinstance(part, Crowded)
        self.part = part
        self.table = table
        self.many = 1 if alone else len(groups.keys)
        self._piles: list[Pile] | None = None
        self.places = np.zeros(table.num_rows, dtype=np.int64) if alone else groups.find(table)

    def column(self, at: int) -> npt.NDArray[Any]:
        """Return a column of integers by group; ranks and votes are added up."""
        name = f"s{at}" if isinstance(self.part, Cells) else "s0"
        return gather(self.table.column(name), self.places, self.many)

    def piles(self) -> list[Pile]:
        """Return the records of every group of ranks or votes."""
        if self._piles is None:
            self._piles = piles(self.table, self.places, self.many)
        return self._piles


def _draw(release: Release, opened: _Open, level: Fraction) -> Draw:
    """Make one release."""
    match release:
        case Added():
            return add_noise(release, opened.column(release.column))
        case Ranked():
            return draw_quantiles(release, opened.piles(), level)
        case Chosen():
            return draw_choices(release, opened.piles(), level)
        case _:
            assert_never(release)
