# SPDX-License-Identifier: Apache-2.0
"""Every code that an error can have is explained on one page, and that page invents none."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from sordino.sql.refusals import CODES
from tests.house.tree import ROOT, SOURCES, name_of

PAGE = ROOT / "docs" / "errors.md"
MAKERS = {
    *("QueryError", "SyntaxFault", "Unsupported", "UnknownName", "MissingBound", "refusal"),
    "Refusal",  # of the keeper
}


def named(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def codes(source: Path) -> Iterator[str]:
    """The codes that a source file names: of errors it makes, and of classes of errors."""
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        match node:
            case ast.Call(args=[first, *_]) if named(node) in MAKERS:
                yield from (
                    part.value
                    for part in ast.walk(first)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                )
            case ast.Call(args=[_, ast.Constant(value=str() as value), *_]) if (
                named(node) == "Problem"  # of the gateway
            ):
                yield value
            case ast.AnnAssign(
                target=ast.Name(id="code"), value=ast.Constant(value=str() as value)
            ):
                yield value


def headings() -> list[str]:
    return re.findall(r"^## `(\w+)`$", PAGE.read_text("utf-8"), re.MULTILINE)


def test_every_code_has_one_heading_and_every_heading_is_a_code() -> None:
    used = {code for source in SOURCES for code in codes(source)} | set(CODES)
    assert sorted(headings()) == sorted(used)


def test_codes_are_words_in_lower_case() -> None:
    used = [(name_of(source), code) for source in SOURCES for code in codes(source)]
    assert used
    assert [(name, code) for name, code in used if not re.fullmatch(r"[a-z_]+", code)] == []


def test_no_code_of_a_refused_question_is_listed_in_vain() -> None:
    query = [source for source in SOURCES if {"query", "sql"} & set(source.parts)]
    used = {code for source in query for code in codes(source)}
    text = "".join(source.read_text("utf-8") for source in query)
    assert sorted(code for code in CODES if code not in used and f'"{code}"' not in text) == []
    assert sorted(code for code in CODES if text.count(f'"{code}"') < 2) == []
