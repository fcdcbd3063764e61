# SPDX-License-Identifier: Apache-2.0
"""Shuffled reports by brute force, in fractions: all values, all multisets of reports."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from typing import TypeAlias

Law: TypeAlias = dict[tuple[int, ...], Fraction]
Randomizer: TypeAlias = Sequence[Sequence[Fraction]]  # a row of probabilities for each value


def shuffled_law(randomizer: Randomizer, values: Sequence[int]) -> Law:
    """How often each report occurs, with its probability: the multiset of the reports."""
    kinds = len(randomizer[0])
    law: Law = {(0,) * kinds: Fraction(1)}
    for value in values:
        longer: Law = {}
        for counts, chance in law.items():
            for kind, share in enumerate(randomizer[value]):
                key = (*counts[:kind], counts[kind] + 1, *counts[kind + 1 :])
                longer[key] = longer.get(key, Fraction(0)) + chance * share
        law = longer
    return law


def hockey_stick(p: Law, q: Law, x: Fraction) -> Fraction:
    """The sum of (p - x q)+."""
    gains = (chance - x * q.get(seen, Fraction(0)) for seen, chance in p.items())
    return sum((gain for gain in gains if gain > 0), Fraction(0))


def neighbours(randomizer: Randomizer, people: int) -> Iterator[tuple[Law, Law]]:
    """Both laws, for all values of the others and every two values of the one, in either order."""
    values = range(len(randomizer))
    for others in combinations_with_replacement(values, people - 1):
        for one, other in permutations(values, 2):
            yield (
                shuffled_law(randomizer, (one, *others)),
                shuffled_law(randomizer, (other, *others)),
            )


def worst(randomizer: Randomizer, people: int, x: Fraction) -> Fraction:
    """The profile that holds whatever the others hold."""
    return max(hockey_stick(p, q, x) for p, q in neighbours(randomizer, people))


def odds_of(randomizer: Randomizer) -> Fraction:
    """The largest quotient of the probabilities of a report."""
    columns = [list(column) for column in zip(*randomizer, strict=True)]
    return max((max(column) / min(column) for column in columns), default=Fraction(1))


def response(odds: Fraction, categories: int) -> Randomizer:
    """Randomized response."""
    whole = odds + categories - 1
    values = range(categories)
    return [[(odds if x == y else Fraction(1)) / whole for y in values] for x in values]


def clones_law(people: int, share: Fraction, odds: Fraction) -> tuple[Law, Law]:
    """The dominating pair: how many signs are plus, how many minus, under P and under Q."""
    coin = [Fraction(1, 2) * share, Fraction(1, 2) * share, 1 - share]
    laws = []
    for truth in (odds, 1 / odds):
        one = [truth / (1 + truth), 1 / (1 + truth), Fraction(0)]
        laws.append(shuffled_law([one, coin], [0] + [1] * (people - 1)))
    return laws[0], laws[1]
