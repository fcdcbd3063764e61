# SPDX-License-Identifier: Apache-2.0
"""Rules for every source file: header, length, and no randomness but our own."""

import ast
from collections.abc import Iterator

import pytest

from tests.house.tree import OWN_CODE, SOURCES, name_of

SPDX = "# SPDX-License-Identifier: Apache-2.0"
BANNED = ("random", "numpy.random")
WATCHED = {
    "src/sordino/auditing/replays/adapters.py"
}  # it sees what others draw, and draws nothing for us


def banned_randomness(source: str) -> list[str]:
    """Name every use of `random` or `numpy.random`, however it was imported."""
    nodes = list(ast.walk(ast.parse(source)))
    numpys = {
        alias.asname or "numpy"
        for node in nodes
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "numpy"
    }
    return [name for node in nodes for name in _dotted(node, numpys) if _is_banned(name)]


def _dotted(node: ast.AST, numpys: set[str]) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=str(module), names=names, level=0):
            yield module
            yield from (f"{module}.{alias.name}" for alias in names)
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in numpys:
            yield f"numpy.{attribute}"


def _is_banned(name: str) -> bool:
    return any(name == banned or name.startswith(f"{banned}.") for banned in BANNED)


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "from random import gauss",
        "import numpy.random as r",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import numpy as np\nnp.random.normal()",
        "import numpy\ndef f():\n    return numpy.random",
    ],
)
def test_every_way_to_reach_banned_randomness_is_seen(source: str) -> None:
    assert banned_randomness(source)


@pytest.mark.parametrize("source", ["import numpy as np\nnp.sort([1])", "from .random import x"])
def test_harmless_code_is_not_called_randomness(source: str) -> None:
    assert banned_randomness(source) == []


def test_no_source_uses_banned_randomness() -> None:
    uses = {
        name_of(path): banned_randomness(path.read_text("utf-8"))
        for path in SOURCES
        if name_of(path) not in WATCHED
    }
    assert {name: banned for name, banned in uses.items() if banned} == {}


def test_every_file_opens_with_its_licence() -> None:
    opening = {name_of(path): path.read_text("utf-8").partition("\n")[0] for path in OWN_CODE}
    assert {name: line for name, line in opening.items() if line != SPDX} == {}


def test_no_file_is_longer_than_800_lines() -> None:
    lines = {name_of(path): len(path.read_text("utf-8").splitlines()) for path in OWN_CODE}
    assert {name: many for name, many in lines.items() if many > 800} == {}
