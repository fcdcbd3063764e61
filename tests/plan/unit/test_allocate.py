# SPDX-License-Identifier: Apache-2.0
"""A plan costs what was asked for, and shares it out well."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import MissingBound
from sordino.mechanisms import Gaussian, Laplace
from sordino.plan.aggregates import Direct, Mean, Spread
from sordino.plan.allocate import allocate, fingerprint_of
from sordino.plan.ask import Epsilon, cost_of
from sordino.plan.bound import bound
from sordino.plan.intervals import expected
from sordino.plan.plan import Added, Cells, Chosen, Plan, Ranked, RowCount, column_shift
from sordino.privacy import losses
from sordino.privacy.budget import Counted
from sordino.query.tree import Key, Kind, Measure
from tests.plan.unit.questions import (
    AGE,
    AVG,
    COST,
    COUNT,
    COUNTED,
    DECLARED,
    DISCOVERED,
    EVERYTHING,
    LEAST,
    MEDIAN,
    MODE,
    STDDEV,
    SUM,
    TOP,
    UNITS,
    catalog,
    plan_question,
    question,
)

KEYS = [(), (DECLARED,), (DISCOVERED,)]


@pytest.mark.parametrize("keys", KEYS, ids=["no keys", "declared", "discovered"])
@pytest.mark.parametrize("diagnostics", [False, True])
def test_a_plan_costs_exactly_the_epsilon_that_was_asked_for(
    keys: tuple[Key, ...], diagnostics: bool
) -> None:
    ours = catalog()
    plan = plan_question(question(EVERYTHING, *keys), ours, epsilon=0.7, diagnostics=diagnostics)
    assert ours.purse("patients").budget.price(plan.loss).value == Fraction(7, 10)
    assert plan.loss.neighbours == "add_remove"
    assert plan.epsilon == Fraction(7, 10)


@pytest.mark.parametrize("keys", KEYS, ids=["no keys", "declared", "discovered"])
def test_a_plan_in_rho_costs_at_most_what_was_asked_for_and_hardly_less(
    keys: tuple[Key, ...],
) -> None:
    ours = catalog(counted="rho")
    plan = plan_question(question(EVERYTHING, *keys), ours, rho=0.03)
    price = ours.purse("patients").budget.price(plan.loss).value
    assert Fraction(95, 100) * Fraction(3, 100) < price <= Fraction(3, 100)
    assert plan.epsilon is None


@given(
    st.sets(st.sampled_from(EVERYTHING), min_size=1, max_size=5),
    st.sampled_from(KEYS),
    st.integers(10, 5000).map(lambda n: Fraction(n, 1000)),
    st.sampled_from(COUNTED),
)
@settings(max_examples=40, deadline=None)
def test_no_plan_costs_more_than_was_asked_for(
    measures: set[Measure], keys: tuple[Key, ...], epsilon: Fraction, counted: Counted
) -> None:
    ours = catalog(counted=counted)
    plan = plan_question(question(sorted(measures, key=repr), *keys), ours, epsilon=epsilon)
    budget = ours.purse("patients").budget
    price = budget.price(plan.loss).value
    assert Fraction(repr(budget.currency.epsilon(price, delta=budget.slack))) <= epsilon
    assert plan.slack == (Fraction(1, 10**7) if keys == (DISCOVERED,) else 0)


@pytest.mark.parametrize("counted", COUNTED)
def test_noise_is_scaled_to_the_shift_of_its_column(counted: Counted) -> None:
    plan = plan_question(question(EVERYTHING, DISCOVERED), catalog(counted=counted), epsilon=1)
    added = [release for release in plan.releases if isinstance(release, Added)]
    assert len(added) >= 8
    for release in added:
        shift = column_shift(plan.bounded, release.part, release.column)
        if isinstance(release.mechanism, Laplace):
            assert release.mechanism.sensitivity == shift.l1
        else:
            assert release.mechanism.noise.squared_sensitivity == shift.l2_squared


def test_the_currency_decides_what_is_drawn() -> None:
    asked = question([COUNT, MODE, TOP, *EVERYTHING[5:6]])
    pure, rho, gdp = (
        plan_question(asked, catalog(counted=counted), epsilon=1) for counted in COUNTED
    )

    def laws(plan: Plan) -> list[str]:
        return [
            type(r.mechanism).__name__ if isinstance(r, Added) else r.mechanism
            for r in plan.releases
        ]

    flip, weighed = "permute_and_flip", "exponential"
    assert laws(pure) == ["Laplace", flip, weighed, flip]
    assert laws(rho) == laws(gdp) == ["Gaussian", weighed, weighed, weighed]


def test_equal_columns_are_one_release() -> None:
    again = Measure(Kind.COUNT, COST)
    plan = plan_question(question([SUM, AVG, again]), catalog(), epsilon=1)
    assert len(plan.releases) == 2
    assert plan.formulas[0] == Direct(0)
    assert isinstance(plan.formulas[1], Mean)
    assert plan.formulas[2] == Direct(1)


def test_formulas_point_at_the_releases_of_their_columns() -> None:
    plan = plan_question(question(EVERYTHING, DECLARED), catalog(), epsilon=1)
    made = dict(zip(EVERYTHING, plan.formulas, strict=True))
    spread = made[STDDEV]
    assert isinstance(spread, Spread)
    assert spread.root
    places = [plan.releases[at] for at in (spread.total, spread.square, spread.count)]
    assert len({(r.part, r.column) for r in places if isinstance(r, Added)}) == 3
    for measure, kind in ((MODE, Chosen), (TOP, Chosen), (EVERYTHING[5], Ranked)):
        formula = made[measure]
        assert isinstance(formula, Direct)
        assert isinstance(plan.releases[formula.release], kind)


def test_the_split_beats_an_even_one() -> None:
    asked, ours = question([UNITS, AVG, COUNT], DECLARED), catalog(rows=8)
    plan = plan_question(asked, ours, epsilon=1)
    added = [release for release in plan.releases if isinstance(release, Added)]
    even = [
        replace(
            release,
            mechanism=Laplace(
                sensitivity=int(release.mechanism.sensitivity), epsilon=Fraction(1, len(added))
            ),
        )
        for release in added
    ]

    def total(candidate: Plan) -> float:
        scales = (1.0, 5000.0 * 8 / 1000, 8.0)  # a unit, a mean of 1000 rows, the rows of a unit
        outputs = candidate.query.post.outputs[1:]
        widths = [expected(candidate, output.scalar, rows=1000).half_width for output in outputs]
        return sum((width or 0) / scale for width, scale in zip(widths, scales, strict=True))

    assert total(plan) < total(replace(plan, releases=tuple(even)))


def test_one_column_gets_everything() -> None:
    plan = plan_question(question([COUNT]), catalog(rows=4), epsilon=0.5)
    noise = Laplace(sensitivity=4 << 16, epsilon=0.5)
    assert plan.releases == (Added(Cells((RowCount(),)), 0, noise, Fraction(1, 2**16)),)
    noisy = plan_question(question([COUNT]), catalog(counted="rho", rows=4), rho=0.5).releases[0]
    assert isinstance(noisy, Added)
    assert isinstance(noisy.mechanism, Gaussian)


def test_keys_are_selected_for_as_many_groups_as_a_unit_may_have() -> None:
    plan = plan_question(question([COUNT], DISCOVERED), catalog(rows=8, groups=3), epsilon=1)
    assert plan.keys is not None
    assert plan.keys.groups == 3
    stated = plan_question(question([COUNT], DISCOVERED), catalog(), epsilon=1, delta=1e-8)
    assert stated.slack == Fraction(1, 10**8)


def test_a_delta_is_for_discovering_keys_alone() -> None:
    with pytest.raises(ValueError, match="all keys here are declared"):
        plan_question(question([COUNT], DECLARED), catalog(), epsilon=1, delta=1e-8)
    with pytest.raises(MissingBound, match="no delta"):
        plan_question(question([COUNT], DISCOVERED), catalog(slack=Fraction(0)), epsilon=1)


def test_a_fingerprint_covers_the_plan_and_not_the_spelling() -> None:
    ours, asked = catalog(), question([COUNT, AVG], DECLARED)
    plan = plan_question(asked, ours, epsilon=1)
    other = replace(asked, sql="select   ...")
    assert plan_question(other, ours, epsilon=1).fingerprint == plan.fingerprint
    assert fingerprint_of(plan) == plan.fingerprint
    different = [
        plan_question(asked, ours, epsilon=2),
        plan_question(asked, ours, epsilon=1, confidence=0.9),
        plan_question(asked, catalog(rows=3), epsilon=1),
        plan_question(question([AVG, COUNT], DECLARED), ours, epsilon=1),
        plan_question(asked, catalog(counted="rho"), epsilon=1),
    ]
    assert len({plan.fingerprint, *(p.fingerprint for p in different)}) == 6


def test_diagnostics_are_releases_with_titles() -> None:
    asked = question([Measure(Kind.SUM, AGE, AGE.range)])
    plan = plan_question(asked, catalog(), epsilon=1, diagnostics=True)
    assert [title for title, _ in plan.diagnostics] == [
        "rows, weighed, with age outside 0 to 120",
        "patients with more rows than count in full",
    ]
    spent = [plan.releases[at] for _, at in plan.diagnostics]
    assert sum(r.mechanism.loss.pure or 0 for r in spent if isinstance(r, Added)) == Fraction(1, 10)


def test_an_outline_can_be_priced_again() -> None:
    ours = catalog()
    outline = bound(question([COUNT]), ours)
    purse = ours.purse("patients")
    cheap, dear = (
        allocate(outline, purse, cost_of(Epsilon(Fraction(e)), purse), confidence=Fraction(95, 100))
        for e in (1, 2)
    )
    assert cheap.bounded == dear.bounded
    assert cheap.fingerprint != dear.fingerprint


@pytest.mark.parametrize("counted", COUNTED)
def test_an_extreme_pays_for_its_value_and_the_one_end_that_is_drawn(counted: Counted) -> None:
    ours = catalog(counted=counted)
    least, first = (
        plan_question(question([measure]), ours, epsilon=1)
        for measure in (LEAST, replace(MEDIAN, quantile=Fraction(0)))
    )
    release = least.releases[0]
    assert isinstance(release, Ranked)
    assert release.ends == 1
    draw = losses.exponential if counted != "epsilon" else losses.pure
    spent = draw(epsilon=release.epsilon_value) + draw(epsilon=release.epsilon_end)
    assert least.loss == spent.under("add_remove")
    ratio = float(release.epsilon_end / release.epsilon_value)
    wanted, near = {"epsilon": (1.5, 1e-5), "rho": (math.sqrt(1.5), 1e-5)}.get(
        counted, (math.sqrt(1.5), 1e-3)
    )
    assert ratio == pytest.approx(wanted, rel=near)
    assert first.releases == least.releases
