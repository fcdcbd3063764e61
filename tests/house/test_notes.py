# SPDX-License-Identifier: Apache-2.0
"""Every item of the lecture notes has a call on their page, and gives what the page says."""

import ast
import doctest
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.house.tree import ROOT

PAGE = ROOT / "docs" / "notes.md"
ITEMS = 127
HEAD = re.compile(r"^(?:## Note (\d{3}):.*|\*\*(\d+)\. (.+?)\*\*)", re.MULTILINE)
SHOWN = re.compile(r"^```pycon\n(.*?)^```", re.MULTILINE | re.DOTALL)
CONTENTS = re.compile(r"^\| \[(\d{3})\]\(#([\w-]+)\) \|.*\| (\d+) to (\d+) \|$", re.MULTILINE)


class Item(NamedTuple):
    note: str
    number: int
    title: str
    examples: list[doctest.Example]


def examples(text: str) -> list[doctest.Example]:
    """Return the examples of all blocks, each with the line of the text that it stands on."""
    parser, shown = doctest.DocTestParser(), []
    for block in SHOWN.finditer(text):
        for example in parser.get_examples(block[1]):
            example.lineno += text.count("\n", 0, block.start(1))
            shown.append(example)
    return shown


def items(text: str) -> list[Item]:
    """Return what a page numbers, each with its examples up to the next head."""
    heads = list(HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    numbered, note = [], ""
    for head, end in zip(heads, ends, strict=True):
        note = head[1] or note
        if head[2]:
            own = examples(text[head.end() : end])
            numbered.append(Item(note, int(head[2]), head[3], own))
    return numbered


def compares(item: Item) -> bool:
    """Tell whether some output of an item is given, of more than what stands there already."""
    return any(
        any(
            isinstance(node, ast.Name | ast.Attribute) for node in ast.walk(ast.parse(shown.source))
        )
        for shown in item.examples
        if shown.want
    )


def crashes(text: str) -> list[str]:
    """Return the errors that a page shows and that are no refusals: those come with a reason."""
    raised = [example.exc_msg for example in examples(text) if example.exc_msg]
    return [message for message in raised if not re.match(r"ValueError: \w", message)]


def failures(text: str) -> str:
    """Run all examples from top to bottom and return what differs from what is written."""
    report: list[str] = []
    page = doctest.DocTest(examples(text), {}, PAGE.name, str(PAGE), 0, None)
    doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS).run(page, out=report.append)
    return "".join(report)


def written() -> str:
    return PAGE.read_text("utf-8")


def test_the_page_has_all_items_in_order() -> None:
    assert [item.number for item in items(written())] == list(range(1, ITEMS + 1))


def test_every_item_compares_an_output() -> None:
    assert [item.number for item in items(written()) if not compares(item)] == []


def test_every_error_is_a_refusal() -> None:
    assert crashes(written()) == []


def test_every_title_is_there_once_in_a_note() -> None:
    titles = [(item.note, item.title) for item in items(written())]
    assert len(set(titles)) == len(titles)


def test_every_output_is_the_one_that_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert failures(written()) == ""


def test_the_contents_lead_to_the_items_of_each_note() -> None:
    text = written()
    anchors = [
        re.sub(r"[^\w -]", "", line.removeprefix("## ").lower()).replace(" ", "-")
        for line in text.splitlines()
        if line.startswith("## Note ")
    ]
    rows = CONTENTS.findall(text)
    assert [anchor for _, anchor, _, _ in rows] == anchors
    for item in items(text):
        [(first, last)] = [
            (int(low), int(high)) for note, _, low, high in rows if note == item.note
        ]
        assert first <= item.number <= last
    ends = [int(number) for row in rows for number in row[2:]]
    assert ends == sorted(ends)
    assert (ends[0], ends[-1]) == (1, ITEMS)


def test_an_item_without_a_comparison_is_noticed() -> None:
    page = "**1. No block.** None.\n\n**2. No output.**\n\n```pycon\n>>> x = abs(-1)\n```\n\n"
    page += "**3. Nothing computed.**\n\n```pycon\n>>> True\nTrue\n```\n\n"
    page += "**4. A call.**\n\n```pycon\n>>> abs(-1)\n1\n```\n"
    assert [(item.number, compares(item)) for item in items(page)] == [
        (1, False),
        (2, False),
        (3, False),
        (4, True),
    ]


def test_an_error_that_is_no_refusal_is_noticed() -> None:
    page = "```pycon\n>>> x\nTraceback (most recent call last):\n{}\n```\n"
    assert crashes(page.format("ValueError: epsilon must be positive")) == []
    for message in ("ImportError: no such name", "ValueError", "ValueError: ..."):
        assert crashes(page.format(message)) == [f"{message}\n"]


def test_an_output_that_differs_is_noticed() -> None:
    assert failures("```pycon\n>>> abs(-1)\n1\n```\n") == ""
    wrong = failures("one\n\n```pycon\n>>> abs(-1)\n2\n```\n")
    assert "Expected:\n    2\nGot:\n    1\n" in wrong
    assert ", line 4, in " in wrong
    assert "ZeroDivisionError" in failures("```pycon\n>>> x = 1 / 0\n```\n")
