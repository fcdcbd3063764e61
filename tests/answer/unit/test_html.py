# SPDX-License-Identifier: Apache-2.0
from html.parser import HTMLParser

from sordino.answer import Column
from sordino.query.types import Type
from tests.answer.unit.sample import FULL, SURE, answer

HOSTILE = "<script>alert('x')</script>&\"'"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.opened.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Tags:
    tags = Tags()
    tags.feed(html)
    return tags


def test_every_cell_is_there_with_its_half_width() -> None:
    tags = read(FULL._repr_html_())
    assert tags.opened.count("td") == 3 * 6
    assert "1,204 ± 31" in tags.text
    assert "price epsilon 0.5" in tags.text


def test_titles_keys_and_notes_are_text_and_never_markup() -> None:
    column = Column(HOSTILE, Type.TEXT, "key", (HOSTILE,))
    chosen = Column("t", Type.TEXT, "measure", ((HOSTILE, "b"),), listed=True, confidence=SURE)
    tags = read(answer(column, chosen, notes=(HOSTILE,))._repr_html_())
    assert "script" not in tags.opened
    assert tags.text.count(HOSTILE) == 4


def test_a_long_answer_is_cut() -> None:
    long = answer(Column("k", Type.INTEGER, "key", tuple(range(500))))
    tags = read(long._repr_html_())
    assert "440 more rows" in tags.text
    assert tags.opened.count("tr") == 62
