# SPDX-License-Identifier: Apache-2.0
import pytest

from sordino.auditing import Universe


@pytest.mark.parametrize(("neighbours", "sizes"), [("add_remove", {1}), ("replace_one", {0})])
def test_the_pairs_of_a_universe_are_neighbours_and_come_once(
    neighbours: str, sizes: set[int]
) -> None:
    pairs = Universe("abc", size=3, neighbours=neighbours).pairs()
    assert len({frozenset(pair) for pair in pairs}) == len(pairs) > 10
    assert {len(two) - len(one) for one, two in pairs} == sizes
    for one, two in pairs:
        kept = sum(min(one.count(letter), two.count(letter)) for letter in "abc")
        assert kept == max(len(one), len(two)) - 1


@pytest.mark.parametrize(
    ("universe", "text"),
    [
        (Universe((), size=2, neighbours="add_remove"), "needs records"),
        (Universe("ab", size=2, neighbours="add_remove", least=3), "make no sense"),
        (Universe(range(1000), size=9, neighbours="add_remove"), "at most"),
        (Universe("ab", size=2, neighbours="next door"), "next door"),
    ],
)
def test_a_universe_that_cannot_be_listed_is_refused(universe: Universe, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        universe.pairs()
