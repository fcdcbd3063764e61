# SPDX-License-Identifier: Apache-2.0
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sordino.randomness import selection as wheel
from sordino.randomness.entropy import Bits
from sordino.randomness.selection import keeps, spin
from tests.support.frequencies import assert_fits
from tests.support.seeded import SeededBits
from tests.support.tape import TapeEnded, Words

NO_BITS = Words([])


def exactly(exponents: list[Fraction]) -> Callable[[int], Fraction]:
    return lambda slot: exponents[slot]


def doubles(exponents: list[Fraction]) -> wheel.Floats:
    return np.array([float(x) for x in exponents])


def weight(count: int, x: Fraction) -> arb:
    return arb(count) * (-arb(fmpq(x.numerator, x.denominator))).exp()


def law_of(counts: list[int], exponents: list[Fraction]) -> dict[int, float]:
    with mpmath.workprec(400):
        weights = [
            n * mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
            for n, x in zip(counts, exponents, strict=True)
        ]
        total = sum(weights)
        return {slot: float(w / total) for slot, w in enumerate(weights)}


counts_of_any_size = st.one_of(
    st.integers(0, 3),
    st.integers(0, 2**63 - 1),
    st.integers(0, 3000).map(lambda digits: 10**digits),
    st.integers(0, 10**3000),
)
exponents_of_any_size = st.one_of(
    st.just(Fraction(0)),
    st.fractions(0, 50, max_denominator=10**6),
    st.fractions(0, 10**6, max_denominator=10**12),
    st.integers(-1100, 20).map(lambda power: Fraction(2) ** power),
)


@given(
    st.lists(
        st.tuples(counts_of_any_size, exponents_of_any_size, st.integers(-1, 1)),
        min_size=1,
        max_size=12,
    ).filter(lambda slots: any(count for count, _, _ in slots))
)
@example([(1, Fraction(10**6), -1), (10**3000, Fraction(10**6), 1)])
@example([(10**3000, Fraction(0), 1), (1, Fraction(10**6), 1), (0, Fraction(0), 0)])
@example([(2**63 - 1, Fraction(1, 3), 1)] * 12)
@settings(max_examples=150, deadline=None)
def test_numbers_cover_the_weights_and_hardly_more(
    slots: list[tuple[int, Fraction, int]],
) -> None:
    counts = [count for count, _, _ in slots]
    # Doubles off by all that is allowed, in either direction, or not at all.
    off = np.array([1 + error * 2.0**-49.01 for _, _, error in slots])
    exponents = doubles([x for _, x, _ in slots])
    numbers, scale = wheel._cover(wheel._logarithms(counts), exponents * off)
    assert sum(numbers.tolist()) < 2**62
    with ctx.workprec(1000):
        unit = arb(2) ** scale
        for (count, x, _), number in zip(slots, numbers.tolist(), strict=True):
            if count == 0:
                assert number == 0
                continue
            covered = weight(count, x) * unit
            assert arb(number) > covered
            # An error of 2**-49 of two exponents below 10**6, of logarithms, and the margin.
            assert arb(number - 1) < covered * arb(1.000001)
        assert numbers.max() > 2 ** (wheel._TOP_BITS - len(slots).bit_length() - 2)


def test_arrays_and_lists_of_counts_have_the_same_numbers() -> None:
    counts = [0, 1, 2, 10**6, 2**62 + 1, 2**63 - 1]
    exponents = np.array([0.0, 1.5, 0.25, 3.0, 44.0, 1e6])
    listed = wheel._cover(wheel._logarithms(counts), exponents)
    stored = wheel._cover(wheel._logarithms(np.array(counts)), exponents)
    assert listed[1] == stored[1]
    assert np.abs(listed[0] - stored[0]).max() <= stored[0].max() * 2.0**-45


SLOTS = [
    ([1, 2, 3], [Fraction(0), Fraction(1, 3), Fraction(2)]),
    ([0, 5, 0, 1, 0], [Fraction(0), Fraction(1), Fraction(0), Fraction(0), Fraction(9)]),
    ([10**30, 1], [Fraction(70), Fraction(0)]),
    ([7], [Fraction(5000)]),
    ([1, 1, 10**400], [Fraction(10**9), Fraction(10**9 + 1), Fraction(10**9 + 920)]),
    ([1, 10**2000], [Fraction(0), Fraction(4605)]),
]


@pytest.mark.parametrize(("counts", "exponents"), SLOTS, ids=range(len(SLOTS)))
def test_each_number_below_the_total_leads_to_one_slot_and_corrections_make_the_law_exact(
    counts: list[int], exponents: list[Fraction], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, total = 0, 0
    asked: list[tuple[Fraction, Fraction]] = []

    def below(bound: int, bits: Bits) -> int:  # noqa: ARG001 - in place of one that draws
        nonlocal total
        total = bound
        return place

    def keep(x: Fraction, bits: Bits, factor: Fraction) -> bool:  # noqa: ARG001 - the same
        asked.append((x, factor))
        return True

    monkeypatch.setattr(wheel, "_TOP_BITS", 12)
    monkeypatch.setattr(wheel, "below_one", below)
    monkeypatch.setattr(wheel, "keeps", keep)
    drawn: Counter[int] = Counter()
    corrected: dict[int, tuple[Fraction, Fraction]] = {}
    while place == 0 or place < total:
        slot = spin(counts, doubles(exponents), exactly(exponents), NO_BITS)
        drawn[slot] += 1
        corrected[slot] = asked[-1]
        place += 1
    assert set(drawn) == {slot for slot, count in enumerate(counts) if count}
    # numbers[i] * factor_i * exp(-y_i) is the weight times the same constant for every slot.
    shared = {drawn[slot] * factor / counts[slot] for slot, (_, factor) in corrected.items()}
    offsets = {exponents[slot] - x for slot, (x, _) in corrected.items()}
    assert len(shared) == len(offsets) == 1


def edge(x: Fraction, factor: Fraction) -> int:
    """The first 64 bits of factor * exp(-x)."""
    with mpmath.workprec(20_000):
        true = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
        true *= mpmath.mpf(factor.numerator) / factor.denominator
        return int(mpmath.floor(mpmath.ldexp(true, 64)))


COINS = [
    (Fraction(1, 3), Fraction(1)),
    (Fraction(1, 10**12), Fraction(1)),
    (Fraction(40), Fraction(1)),
    (Fraction(0), Fraction(1, 3)),
    (Fraction(7), Fraction(1000)),
    (Fraction(7), Fraction(1000, 7)),
    (Fraction(1000), Fraction(2) ** 1442),
    (Fraction(10_000), Fraction(2) ** 14_426),
    (Fraction(6907), Fraction(10**3000, 3)),
]


@pytest.mark.parametrize(("x", "factor"), COINS, ids=range(len(COINS)))
def test_a_coin_is_decided_by_its_true_probability_at_the_words_beside_it(
    x: Fraction, factor: Fraction
) -> None:
    at = edge(x, factor)
    assert 0 < at < 2**64
    assert keeps(x, Words([at - 1]), factor)
    assert keeps(x, Words([0]), factor)
    if at + 1 < 2**64:
        assert not keeps(x, Words([at + 1]), factor)
    with pytest.raises(TapeEnded):
        keeps(x, Words([at]), factor)
    assert keeps(x, Words([at, 0, 0]), factor)
    assert not keeps(x, Words([at, 2**64 - 1, 2**64 - 1]), factor)


def test_a_dyadic_probability_needs_no_second_word() -> None:
    assert keeps(Fraction(0), Words([3 * 2**62 - 1]), Fraction(3, 4))
    assert not keeps(Fraction(0), Words([3 * 2**62]), Fraction(3, 4))


def test_a_sure_coin_takes_no_bits() -> None:
    assert keeps(Fraction(0), NO_BITS)


def test_a_coin_that_hardly_ever_comes_up_is_still_decided() -> None:
    far = Fraction(10) ** 400
    assert not keeps(far, Words([1]))
    assert not keeps(far, Words([0, 1]))
    assert not keeps(far, Words([1]), Fraction(2) ** 9000)
    assert not keeps(far, Words([0, 1]), Fraction(2) ** 9000)


@pytest.mark.parametrize("factor", [Fraction(2), Fraction(2) ** 9000])
def test_a_probability_above_one_is_an_error(factor: Fraction) -> None:
    with pytest.raises(ArithmeticError, match=r"larger than|above 1"):
        keeps(Fraction(1, 2), Words([0]), factor)


FREQUENCIES = [
    ([1, 1, 1, 1], [Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3)]),
    ([3, 0, 7, 1, 0], [Fraction(1), Fraction(0), Fraction(2), Fraction(1, 7), Fraction(0)]),
    ([10**300, 1, 10**301], [Fraction(691), Fraction(0), Fraction(692)]),
    ([10**3000, 2, 3], [Fraction(69077, 10), Fraction(0), Fraction(1)]),
    ([1, 2, 1], [Fraction(10**17), Fraction(10**17 + 1), Fraction(10**17 + 3)]),
    ([1, 5], [Fraction(60_000), Fraction(60_002)]),
    ([1, 1, 1], [Fraction(0), Fraction(1, 2**1100), Fraction(10) ** 400]),
]


@pytest.mark.parametrize(("counts", "exponents"), FREQUENCIES, ids=range(len(FREQUENCIES)))
def test_slots_come_up_in_proportion_to_their_weights(
    counts: list[int], exponents: list[Fraction]
) -> None:
    bits = SeededBits(41)
    near = np.array([float(min(x, Fraction(2) ** 1000)) for x in exponents])
    drawn = [spin(counts, near, exactly(exponents), bits) for _ in range(3000)]
    assert_fits(drawn, {slot: p for slot, p in law_of(counts, exponents).items() if p})


def test_exponents_beyond_all_doubles_leave_a_slot_on_the_wheel() -> None:
    for far in (math.inf, 1.7e308, 2.0**1000):
        numbers, _ = wheel._cover(
            wheel._logarithms([1, 0, 1]), np.minimum([0.0, far, far], 2.0**1000)
        )
        assert numbers.tolist()[1:] == [0, 1]
        # The last number of all leads to the far slot, whose coin then fails.
        total = sum(numbers.tolist())
        width = -(-(total - 1).bit_length() // 16) * 16
        last = (total - 1) << (width - (total - 1).bit_length())
        exact = exactly([Fraction(0), Fraction(0), Fraction(10) ** 400])
        with pytest.raises(TapeEnded):
            spin([1, 0, 1], np.array([0.0, far, far]), exact, Words([last, 5]))


@pytest.mark.parametrize("counts", [[0, 0], np.array([0, 0]), []], ids=["list", "array", "none"])
def test_a_wheel_without_a_weight_is_refused(counts: wheel.Counts) -> None:
    with pytest.raises(ValueError, match="a slot with a weight"):
        spin(counts, np.zeros(len(counts)), exactly([Fraction(0)] * 2), NO_BITS)


def test_wrong_exponents_are_an_error_and_no_wrong_draw() -> None:
    # The slot's true weight is larger than what the doubles say.
    with pytest.raises(ArithmeticError, match="larger than the number"):
        spin([1], np.array([1.0]), exactly([Fraction(1, 2)]), Words([0, 0, 0]))
    with pytest.raises(ArithmeticError, match="not a number"):
        spin([1, 1], np.array([0.0, math.nan]), exactly([Fraction(0)] * 2), NO_BITS)
