# SPDX-License-Identifier: Apache-2.0
"""`sordino metrics`: counts of public events, for whoever may open the server's folder."""

from __future__ import annotations

import json
import re

import typer

from sordino.cli.options import CATALOG, AsJson, CatalogFile
from sordino.cli.server.line import OWNER_ONLY, State, state_of, text_of
from sordino.cli.usage import refusals

_SAMPLE = re.compile(r"([A-Za-z_:][\w:]*(?:\{[^}]*\})?) ([0-9.eE+-]+)")


def metrics(
    *, catalog: CatalogFile = CATALOG, state: State = None, as_json: AsJson = False
) -> None:
    """Print counts of a running server, for Prometheus."""
    with refusals(as_json=as_json):
        text = text_of(state_of(catalog, state) / OWNER_ONLY)
        if as_json:
            typer.echo(json.dumps(samples(text), indent=2))
        else:
            typer.echo(text, nl=False)


def samples(text: str) -> dict[str, float]:
    r"""Return the samples of a text by their names.

    >>> samples('# TYPE asked counter\nasked{how="fresh"} 3\n')
    {'asked{how="fresh"}': 3.0}
    """
    found = (_SAMPLE.fullmatch(line) for line in text.splitlines())
    return {match[1]: float(match[2]) for match in found if match}
