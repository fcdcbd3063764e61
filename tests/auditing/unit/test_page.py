# SPDX-License-Identifier: Apache-2.0
"""The page of a list of audits. Generators are seeded, so every page is the same each time."""

import re
import sys
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import sordino as so
from sordino.auditing import Report, batched
from sordino.auditing.report import Outcome, page

EVIL = "<script>alert('x')</script>&\x1b"


def law(bit: int) -> dict[int, Fraction]:
    return {bit: Fraction(3, 4), 1 - bit: Fraction(1, 4)}


def audited(epsilon: float) -> Report:
    rng = np.random.default_rng(13)

    @batched
    def coin(bit: int, runs: int) -> Any:
        return np.where(rng.random(runs) < 0.75, bit, 1 - bit)

    return so.audit(coin, 0, 1, epsilon=epsilon, runs=10_000)


class Read(HTMLParser):
    """Collects names, tags and texts of a page, and sees that tags are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


OUTCOMES = [
    Outcome("a coin", audited(1.1), so.verify_law(law, [(0, 1)], epsilon=1.1)),
    Outcome("the same, promising less", audited(0.5)),
    Outcome("a plan", findings=()),
    Outcome("another plan", findings=("the price differs",)),
]


def test_the_page_has_a_row_and_a_section_for_each() -> None:
    text = page("Audits", [("version", "1")], OUTCOMES)
    read = Read(text)
    assert read.open == []
    assert text.count("<section>") == 4
    assert text.count("<svg") == 2
    said = "\n".join(read.texts)
    for word in ("Audits", "version", "a coin", "holds", "no violation found", "the price differs"):
        assert word in said
    assert re.findall(r'<td class="(ok|bad)">', text) == ["ok", "bad", "ok", "bad"]


def test_the_page_needs_no_other_file() -> None:
    text = page("Audits", [], OUTCOMES)
    assert re.findall(r'(?:src|href)="(?!#)', text) == []
    assert "script" not in Read(text).tags


def test_pictures_do_not_share_names() -> None:
    text = page("Audits", [], OUTCOMES)
    ids = Read(text).ids
    assert len(ids) == len(set(ids)) > 20
    used = set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text))
    assert {one or other for one, other in used} <= set(ids)


def test_every_text_is_escaped() -> None:
    report = replace(audited(1.1), event=EVIL, x=EVIL, y=EVIL)
    text = page(EVIL, [(EVIL, EVIL)], [Outcome(EVIL, report, findings=(EVIL,)), *OUTCOMES])
    assert "<script" not in text
    assert "\x1b" not in text
    assert text.count("&lt;script&gt;") > 6
    assert Read(text).open == []


def test_without_matplotlib_the_page_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    text = page("Audits", [], OUTCOMES[:1])
    assert "<svg" not in text
    assert "plot needs matplotlib" in text


def test_an_outcome_is_private_only_if_everything_is() -> None:
    assert [one.private for one in OUTCOMES] == [True, False, True, False]
    wrong = so.verify_law(law, [(0, 1)], epsilon=1)
    assert not Outcome("a coin", audited(1.1), wrong).private
    assert Outcome("a coin", verified=wrong).words == wrong.event
    assert OUTCOMES[0].exact == "1.0986"
    assert OUTCOMES[0].promised == "1.1"
    assert OUTCOMES[3].to_json() == {
        "name": "another plan",
        "described": "another plan",
        "verdict": "violation",
        "sampled": None,
        "verified": None,
        "findings": ["the price differs"],
    }
