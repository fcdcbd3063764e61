# SPDX-License-Identifier: Apache-2.0
"""`sordino serve --demo`: the invented hospital, who may ask it, and two lines that ask it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from sordino.cli.hospital import PATIENTS, write
from sordino.cli.server.line import Line

SERVING = """
[server]
slot = "250ms"            # a new answer leaves a quarter of a second after its question came
approve_above = 0.9       # a question that costs more is asked after the owner has approved it
"""
_SQL = "SELECT disease, COUNT(*) AS n FROM visits GROUP BY disease"
_EPSILON = "0.2"
_OWNER = "owner"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody of the demonstration."""

    name: str
    roles: tuple[str, ...]


PEOPLE = (
    Person(_OWNER, ("owner",)),
    Person("alice", ("analyst",)),
    Person("bob", ("analyst",)),
    Person("ada", ("auditor",)),
)


@contextmanager
def hospital() -> Iterator[tuple[Path, Path]]:
    """Write the hospital into a folder that goes with the demonstration.

    Returns its catalog and its state folder.
    """
    with TemporaryDirectory(prefix="sordino-") as name:
        catalog = write(Path(name))
        with catalog.open("a", encoding="utf-8") as file:
            file.write(SERVING)
        yield catalog, Path(name) / "state"


def admit(people: tuple[Person, ...], state: Path, owner: str) -> list[dict[str, Any]]:
    """Make everybody known to the keeper, with a token each; returns what was made."""
    made = [{"name": _OWNER, "roles": [_OWNER], "token": owner}]
    with Line(state, owner) as line:
        for person in people:
            if person.name != _OWNER:
                about = {"name": person.name, "roles": list(person.roles)}
                line.call("person", about)
                token = line.call("token", {"name": person.name, "note": "demonstration"})
                made.append({**about, "token": token["secret"]})
    return made


def show(told: dict[str, Any]) -> None:
    """Print links, tokens, and two lines that ask a question."""
    url = told["url"]
    typer.echo(f"An invented hospital of {PATIENTS:,} patients is served at {url}")
    typer.echo(f"{url}/openapi.json lists what can be called, {url}/readyz whether it answers.")
    typer.echo("")
    for person in told["people"]:
        typer.echo(f"{person['name']:<6} {', '.join(person['roles']):<8} {person['token']}")
    token = next(one["token"] for one in told["people"] if "analyst" in one["roles"])
    typer.echo("")
    typer.echo(asked_by_curl(url, token))
    typer.echo("")
    typer.echo(asked_by_python(url, token))
    typer.echo("")
    typer.echo("Ctrl-C ends it, and nothing of it stays.")


def asked_by_curl(url: str, token: str) -> str:
    """Return a line for a shell that asks a question by curl."""
    body = json.dumps({"question": {"sql": _SQL, "epsilon": _EPSILON}})
    words = (
        *("curl", "--silent", "--show-error", f"{url}/v1/answers"),
        *("--header", f"Authorization: Bearer {token}"),
        *("--header", "Content-Type: application/json", "--data", body),
    )
    return shlex.join(words)


def asked_by_python(url: str, token: str) -> str:
    """Return a line for a shell that asks a question by Python."""
    code = (
        f'import sordino as so; print(so.connect("{url}", token="{token}", '
        f'remember=False).ask("{_SQL}", epsilon={_EPSILON}))'
    )
    return shlex.join(("python", "-c", code))
