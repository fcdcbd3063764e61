# SPDX-License-Identifier: Apache-2.0
"""The data sets that show why: they are neighbours, and they attain every norm."""

import math
import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sordino.sensitivity as s
from sordino.sensitivity import Sensitivity, Units, why
from tests.sensitivity.unit.queries import mean, order_statistic, variance

Answer = Callable[[Sequence[Any]], Any]
BOTH = ("add_remove", "replace_one")


def cells(many: int) -> Answer:
    return lambda data: [sum(r == f"in cell {c + 1}" for r in data) for c in range(many)]


def chosen(many: int) -> Answer:
    return lambda data: [sum(c + 1 in r for r in data) for c in range(many)]


def at(share: Fraction) -> Answer:
    return lambda data: order_statistic(data, share)


def linear(matrix: list[list[int]]) -> Answer:
    def answer(data: Sequence[str]) -> list[int]:
        kinds = [int(r.removeprefix("kind ")) - 1 for r in data]
        return [sum(row[kind] for kind in kinds) for row in matrix]

    return answer


def products(matrix: list[list[int]]) -> Answer:
    return lambda data: [
        sum(a * x for r in data for a, x in zip(row, r, strict=True)) for row in matrix
    ]


MATRIX = [[1, 0, 2], [-1, 3, 2], [2, 2, -1]]
CASES: list[tuple[Sensitivity, Answer]] = [
    *((s.count(neighbours=n), lambda d: sum(r == "match" for r in d)) for n in BOTH),
    *((s.rows(neighbours=n), len) for n in BOTH),
    *((s.sum(bounds=b, neighbours=n), sum) for n in BOTH for b in ((0, 5), (-7, 5), (-3, -1))),
    *((s.sum(bounds=(0.1, 0.7), neighbours=n), sum) for n in BOTH),
    *((s.mean(bounds=(-1, 5), size=n, neighbours="replace_one"), mean) for n in (1, 2, 50)),
    (
        s.variance(bounds=(-1, 5), size=9, neighbours="replace_one", divisor="n"),
        lambda d: variance(d, "n"),
    ),
    (
        s.variance(bounds=(-1, 5), size=9, neighbours="replace_one", divisor="n-1"),
        lambda d: variance(d, "n-1"),
    ),
    *((s.histogram(cells=c, neighbours=n), cells(c)) for n in BOTH for c in (1, 2, 5)),
    *(
        (s.choices(most=m, cells=c, neighbours=n), chosen(c))
        for n in BOTH
        for m, c in ((1, 1), (2, 3), (3, 3), (2, 7))
    ),
    *(
        (s.quantile(at=q, bounds=(-1, 5), neighbours="replace_one", size=n), at(q))
        for q in (Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), Fraction(1))
        for n in (1, 2, 7)
    ),
    *(
        (s.quantile(at=q, bounds=(-1, 5), neighbours="add_remove"), at(q))
        for q in (Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), Fraction(1))
    ),
    *((s.maximum(bounds=(-1, 5), neighbours=n), max) for n in BOTH),
    *((s.minimum(bounds=(-1, 5), neighbours=n), min) for n in BOTH),
    *((s.linear(MATRIX, neighbours=n), linear(MATRIX)) for n in BOTH),
    *((s.linear(MATRIX, bounds=(-1, 3), neighbours=n), products(MATRIX)) for n in BOTH),
]
GROUPED: list[tuple[Sensitivity, Answer]] = [
    *(
        (query(neighbours=Units(neighbours=n, groups=g, rows=2), cells=c), len)
        for n in BOTH
        for g, c in ((1, 1), (2, 3), (2, None))
        for query in (s.count, s.rows, s.histogram)
    ),
    *(
        (s.sum(bounds=b, neighbours=Units(neighbours=n, groups=g, rows=2), cells=c), sum)
        for n in BOTH
        for g, c in ((1, 1), (2, 3), (2, None))
        for b in ((0, 5), (-2, 5), (-5, 5), (1, 2), (-7, -3))
    ),
    *(
        (s.sum(bounds=b, neighbours=Units(neighbours=n, groups=2, amount=4, rows=r)), sum)
        for n in BOTH
        for r, b in ((None, None), (None, (0, 9)), (3, (0, 9)), (3, (-1, 9)))
    ),
    *(
        (s.quantile(at=q, bounds=(0, 5), neighbours=Units(neighbours=n, groups=2), cells=c), at(q))
        for n in BOTH
        for q in (Fraction(0), Fraction(1, 2), Fraction(1))
        for c in (2, 3, None)
    ),
]


def attains(found: Sensitivity, answer: Answer) -> None:
    """Check the answers and the norms of all witnesses, with a query written on its own."""
    norms = {"l1": found.l1, "l2": found.l2_squared, "linf": found.linf}
    attained: set[str] = set()
    for witness in found.witnesses:
        for data, told in zip(witness.data(), witness.answers, strict=True):
            values = answer(data)
            listed = values if isinstance(values, list) else [values]
            assert tuple(map(Fraction, listed)) == told
        moved = {"l1": witness.l1, "l2": witness.l2_squared, "linf": witness.linf}
        assert all(moved[name] <= norms[name] for name in norms)
        assert all(moved[name] == norms[name] for name in witness.attains)
        attained |= set(witness.attains)
    assert attained == set(norms)
    assert found.witness is not None
    assert "l1" in found.witness.attains


def differences(witness: s.Witness) -> tuple[Counter[Any], Counter[Any]]:
    one, other = map(Counter, witness.data())
    return one - other, other - one


@pytest.mark.parametrize("number", range(len(CASES)))
def test_witnesses_are_neighbours_that_attain_every_norm(number: int) -> None:
    found, answer = CASES[number]
    attains(found, answer)
    for witness in found.witnesses:
        gone, come = (extra.total() for extra in differences(witness))
        if found.neighbours == "add_remove":
            assert gone + come == 1
        else:
            assert gone == come <= 1


@pytest.mark.parametrize("number", range(len(GROUPED)))
def test_witnesses_at_the_user_level_keep_to_the_limits_of_one_person(number: int) -> None:
    found, answer = GROUPED[number]
    units = found.neighbours
    assert isinstance(units, Units)
    counting = answer is len

    def by_group(data: Sequence[Any]) -> list[Any]:
        rows = [(r, None) if counting else r for r in data]
        return [answer([x for name, x in rows if name == group]) for group in names]

    # Groups are numbered from 1; those without rows in either data set are not answered.
    assert found.witness is not None
    for witness in found.witnesses:
        names = [f"group {n + 1}" for n in range(len(witness.answers[0]))]
        told = [list(vector) for vector in witness.answers]
        assert [by_group(data) for data in witness.data()] == told
        for person in differences(witness):
            groups = [r if counting else r[0] for r in person]
            assert len(set(groups)) <= units.groups
            for group in groups:
                own = [r for r in person.elements() if (r if counting else r[0]) == group]
                assert units.rows is None or len(own) <= units.rows
                assert units.amount is None or abs(sum(r[1] for r in own)) <= units.amount
        if units.neighbours == "add_remove":
            assert not all(differences(witness))
    attained = {name for witness in found.witnesses for name in witness.attains}
    assert attained == {"l1", "l2", "linf"}
    assert max(w.l1 for w in found.witnesses) == found.l1
    assert max(w.l2_squared for w in found.witnesses) == found.l2_squared
    assert max(w.linf for w in found.witnesses) == found.linf


@pytest.mark.parametrize("number", range(len(CASES + GROUPED)))
def test_sensitivities_are_values(number: int) -> None:
    found = (CASES + GROUPED)[number][0]
    again = eval(repr(found))  # noqa: S307 - our own text
    assert again == found
    assert hash(again) == hash(found)
    copied = pickle.loads(pickle.dumps(found))  # noqa: S301 - our own bytes
    assert copied == found
    assert copied.witnesses == found.witnesses
    assert str(why(found)).startswith(str(found))


def test_why_shows_both_data_sets_side_by_side() -> None:
    found = s.quantile(at=0.5, bounds=(0, 10), neighbours="replace_one", size=5)
    assert str(why(found)) == (
        "quantile 0.5 of values from 0 to 10; one record replaced; moves by at most 10\n"
        "            one      other\n"
        "  records   2 × 0    2 × 0\n"
        "            2 × 10   2 × 10\n"
        "            0        10\n"
        "  answer    0        10\n"
        "  moved by  10"
    )


def test_why_shows_a_pair_for_each_norm_if_no_pair_attains_all() -> None:
    units = Units(neighbours="replace_one", groups=2, rows=1)
    text = str(why(s.sum(bounds=(-1, 3), neighbours=units)))
    assert "for L1 and L2:" in text
    assert "for Linf:" in text


def test_why_takes_the_report_of_a_check_too() -> None:
    report = s.check(sum, range(4), 2, "add_remove", claimed=1)
    assert why(report).witnesses == report.witnesses
    assert "moves by at most 3" in str(why(report))
    with pytest.raises(TypeError, match="why takes a sensitivity or the report of a check"):
        why(3)  # type: ignore[arg-type]


def test_long_data_sets_are_cut_when_they_are_printed() -> None:
    units = Units(neighbours="add_remove", groups=10_000, rows=3)
    text = str(why(s.count(neighbours=units)))
    assert "... 9990 more" in text
    assert len(text.splitlines()) < 20
    wide = str(why(s.choices(most=500, neighbours="add_remove")))
    assert max(map(len, wide.splitlines())) < 120


def test_a_claim_of_ones_own_has_no_witness() -> None:
    own = Sensitivity(query="mine", l1=3, l2_squared=5, linf=2, neighbours="add_remove")
    assert own.witness is None
    assert own.witnesses == ()
    assert str(why(own)) == ("mine; one record added or removed; L1 3, L2 2.23606797749979, Linf 2")


@pytest.mark.parametrize(
    ("square", "root"),
    [(0, 0.0), (1, 1.0), (2, 1.4142135623730951), (Fraction(1, 4), 0.5), (10**40, 1e20)],
)
def test_the_l2_norm_is_a_double_rounded_up(square: int | Fraction, root: float) -> None:
    high = 10**21
    own = Sensitivity(query="mine", l1=high, l2_squared=square, linf=0, neighbours="add_remove")
    assert own.l2 == root
    assert Fraction(repr(own.l2)) ** 2 >= square
    below = math.nextafter(own.l2, -math.inf)
    assert below < 0 or Fraction(repr(below)) ** 2 < square


@pytest.mark.parametrize(("l1", "l2_squared", "linf"), [(1, 4, 1), (3, 3, 2), (1, 1, 2), (2, 5, 1)])
def test_norms_that_no_vector_has_are_refused(l1: int, l2_squared: int, linf: int) -> None:
    with pytest.raises(ValueError, match="no vector has these norms"):
        Sensitivity(query="mine", l1=l1, l2_squared=l2_squared, linf=linf, neighbours="add_remove")


@pytest.mark.parametrize(
    ("value", "error"), [(-1, ValueError), (math.nan, ValueError), ("1", TypeError)]
)
def test_norms_that_are_no_numbers_are_refused(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="l1 must be a number that is not negative"):
        Sensitivity(query="mine", l1=value, l2_squared=0, linf=0, neighbours="add_remove")


def test_a_double_in_a_claim_counts_as_at_least_itself() -> None:
    own = Sensitivity(query="x", l1=0.1, l2_squared=0, linf=0, neighbours="add_remove")
    assert own.l1 == Fraction(0.1) > Fraction(1, 10)
    short = np.float32(0.1)
    own = Sensitivity(query="x", l1=short, l2_squared=0, linf=0, neighbours="add_remove")
    assert own.l1 == Fraction(float(short)) > Fraction(0.1)
    exact = Sensitivity(query="x", l1=Decimal("0.1"), l2_squared=0, linf=0, neighbours="add_remove")
    assert exact.l1 == Fraction(1, 10)


def test_norms_are_handed_to_mechanisms_as_integers_only_if_the_answers_are() -> None:
    whole = s.sum(bounds=(0, 5), neighbours="add_remove")
    assert [whole.l1_number, whole.l2_number] == [5, 5]
    assert type(whole.l1_number) is type(whole.l2_number) is int
    real = s.sum(bounds=(0, 5.0), neighbours="add_remove")
    assert type(real.l1_number) is type(real.l2_number) is Fraction
    cells = s.histogram(neighbours="replace_one")
    assert type(cells.l1_number) is int
    assert type(cells.l2_number) is Fraction
    assert cells.l2_number**2 >= cells.l2_squared == 2


def test_integers_move_by_integers() -> None:
    with pytest.raises(ValueError, match="with whole=True all norms must be whole"):
        Sensitivity(query="x", l1=1.5, l2_squared=1, linf=1, neighbours="add_remove", whole=True)


def test_what_does_not_move_needs_no_noise() -> None:
    public = s.rows(neighbours="replace_one")
    for name in ("l1_number", "l2_number"):
        with pytest.raises(ValueError, match="it is public and needs no noise"):
            getattr(public, name)


def test_a_witness_of_very_many_choices_is_made_in_a_moment() -> None:
    found = s.choices(most=10_000, neighbours="replace_one")
    assert found.witness is not None
    assert found.witness.l1 == 20_000
