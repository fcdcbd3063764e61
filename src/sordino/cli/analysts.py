# SPDX-License-Identifier: Apache-2.0
"""Who asks: a name that can be charged, and a word about one that nobody declared."""

from __future__ import annotations

import typer

from sordino.catalog.model import EVERYBODY, Catalog
from sordino.cli.options import OWNER
from sordino.ledger.ledger import check_name


def check_who(who: str) -> str:
    """Return the name of one analyst; raises ValueError for what stands for all others."""
    if who == EVERYBODY:
        raise ValueError(f"{EVERYBODY!r} stands for all analysts without a share; name one of them")
    return check_name(who)


def note_stranger(catalog: Catalog, who: str, *, refused: bool = False) -> None:
    """Say on standard error that analysts are declared and this one is not, as after a slip.

    With ``refused`` nothing is said of who may not ask, because the refusal of a question says it.
    """
    named = sorted(one.name for one in catalog.analysts if one.name != EVERYBODY)
    everybody = any(one.name == EVERYBODY for one in catalog.analysts)
    if not catalog.analysts or who in named or (who == OWNER and everybody):
        return
    if refused and not everybody:
        return
    others = f"only {', '.join(named)}" if named else "nobody by name"
    rest = "the limits of all others hold" if everybody else f"{who!r} may not ask"
    typer.echo(f"note: the catalog does not name {who!r}, {others}; {rest}", err=True)
