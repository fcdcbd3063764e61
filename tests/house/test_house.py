# SPDX-License-Identifier: Apache-2.0
"""The page about the house, and the glossary: what they name is there, and nothing is left out."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.house.tree import ROOT, SOURCES

PAGE = (ROOT / "docs" / "house.md").read_text("utf-8")
PACKAGE = ROOT / "src" / "sordino"
FILES = sorted(set(re.findall(r"`((?:src|tests|docs)/[\w/.]+)`", PAGE)))
ROOMS = re.findall(r"^\| `(\w+)` \| (.+) \|$", PAGE, re.MULTILINE)
STEPS = re.findall(r"^\| \d\. .+ \| `(src/[\w/.]+)` \| `(\w+)` \|$", PAGE, re.MULTILINE)
WORDS = re.findall(r"^\| (\w+) \| .+ \| `(\w+)` \|$", PAGE, re.MULTILINE)
RECIPES = PAGE.partition("## Where to add things")[2].split("\n### ")[1:]
MOST_FILES = {"A scalar operation": 2, "An aggregate": 5}


@cache
def classes() -> set[str]:
    return {
        node.name
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
    }


def summary(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition("\n")[0]


@pytest.mark.parametrize("name", FILES)
def test_every_place_that_the_page_names_is_there(name: str) -> None:
    assert (ROOT / name).exists()


def test_a_question_has_seven_steps_whose_types_exist() -> None:
    assert len(STEPS) == 7
    assert {kind for _, kind in STEPS} <= classes()


def test_every_room_is_on_the_map_in_its_own_words() -> None:
    rooms = {path.parent.name: summary(path) for path in PACKAGE.glob("*/__init__.py")}
    assert dict(ROOMS) == rooms


def test_twenty_words_have_a_type_each() -> None:
    assert len(WORDS) == 20
    assert {kind for _, kind in WORDS} <= classes()


def test_the_words_of_the_page_are_in_the_glossary() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    bold = {word.lower() for word in re.findall(r"\*\*([^*]+)\*\*", glossary)}
    assert {word for word, _ in WORDS} <= bold


def test_the_types_that_the_glossary_names_exist() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    named = set(re.findall(r"`([A-Z]\w+)`", glossary))
    assert named
    assert named <= classes()


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.partition("\n")[0])
def test_a_recipe_names_its_files_in_order(recipe: str) -> None:
    title, _, text = recipe.partition("\n")
    steps = re.findall(r"^(\d)\. .*`(src/[\w/.]+)`", text, re.MULTILINE)
    assert [int(number) for number, _ in steps] == list(range(1, len(steps) + 1))
    assert 1 <= len(steps) <= MOST_FILES.get(title, 4)
