# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from sordino.randomness.coins import fails_exp_exactly
from sordino.randomness.samplers import (
    Joined,
    RawDigit,
    Sampler,
    WideGaussian,
    discrete_gaussian,
    discrete_laplace,
    fill_blocks,
    gather,
    geometric,
    place_deep,
    signed_shift,
)
from sordino.randomness.tables import BLOCK, Scratch, Table
from tests.support.tape import Tape, TapeEnded, Words, replay

mpmath.mp.prec = 300

SCALES = [Fraction(1, 1 << 20), Fraction(3, 10), Fraction(1), Fraction(15, 2), Fraction(1000),
          Fraction(10**6), Fraction(10**9, 7), Fraction(1 << 40), Fraction(1 << 50)]  # fmt: skip
SIGMAS = [Fraction(1, 3), Fraction(1), Fraction(511), Fraction(1024), Fraction(10**5),
          Fraction(10**8), Fraction(1 << 50)]  # fmt: skip
ALL: list[Sampler] = [
    *(discrete_laplace(scale) for scale in SCALES),
    *(geometric(scale) for scale in SCALES),
    *(discrete_gaussian(sigma**2) for sigma in SIGMAS),
]


@pytest.mark.parametrize("sampler", ALL, ids=range(len(ALL)))
def test_single_draws_and_arrays_of_one_agree_bit_for_bit(sampler: Sampler) -> None:
    rng = np.random.default_rng(11)
    for _ in range(300):
        data = rng.bytes(400)
        with replay(Tape(data)) as tape:
            single = sampler.one()
            used = tape.position  # type: ignore[attr-defined]  # Bits does not promise it
        with replay(Tape(data)) as tape:
            array = sampler.many(1)
            assert array.tolist() == [single]
            assert tape.position == used  # type: ignore[attr-defined]  # as above


@pytest.mark.parametrize("sampler", ALL, ids=range(len(ALL)))
def test_rare_bits_keep_single_draws_and_arrays_together(sampler: Sampler) -> None:
    """Tapes that begin with all zero or all one bits drive the draw into its slow paths."""
    rng = np.random.default_rng(12)
    for fill in (b"\x00", b"\xff"):
        for length in (2, 6, 9, 10, 11):
            data = fill * length + rng.bytes(400)
            with replay(Tape(data)):
                single = sampler.one()
            with replay(Tape(data)):
                assert sampler.many(1).tolist() == [single]


@pytest.mark.parametrize("sampler", ALL, ids=range(len(ALL)))
@pytest.mark.parametrize("size", [0, 1, 7, BLOCK, BLOCK + 1])
def test_arrays_have_the_size_asked_for(sampler: Sampler, size: int) -> None:
    drawn = sampler.many(size)
    assert drawn.dtype == np.int64
    assert drawn.shape == (size,)


def exp(x: Fraction) -> mpmath.mpf:
    return mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)


def table_probability(table: Table, outcome: int) -> mpmath.mpf:
    """P(outcome) from the law's own enclosures at 256 bits."""
    if outcome == table.law.lowest:
        before = mpmath.mpf(0)
    else:
        before = mpmath.mpf(table.law.cumulative(outcome - 1, outcome - 1, 256)[0][0])
    if outcome == table.law.highest:
        return 1 - mpmath.ldexp(before, -256)
    after = mpmath.mpf(table.law.cumulative(outcome, outcome, 256)[0][0])
    return mpmath.ldexp(after - before, -256)


@pytest.mark.parametrize("scale", SCALES[3:8], ids=str)
@pytest.mark.parametrize("signed", [True, False])
def test_the_parts_of_a_number_multiply_to_its_probability(scale: Fraction, signed: bool) -> None:
    sampler = discrete_laplace(scale) if signed else geometric(scale)
    assert isinstance(sampler, Joined)
    q = exp(1 / scale)
    norm = (1 - q) / (1 + q) if signed else 1 - q
    reach = int(scale * 3)
    for number in (0, 1, -1, 7, -8, reach, -reach, reach // 3, -reach // 3):
        if number < 0 and not signed:
            continue
        probability = mpmath.mpf(1)
        digits = number if number >= 0 else ~number
        at = 0
        for part in sampler._more:
            if isinstance(part, RawDigit):
                width = part._mask.bit_length()
                digit = digits & part._mask
                whole = (1 - q ** (1 << width)) / (1 - q)
                probability *= q**digit / whole
            else:
                assert isinstance(part, Table)
                width = (part.last + 1).bit_length()
                digit = (digits >> at) & ((1 << width) - 1)
                probability *= table_probability(part, digit)
            at += width
        top = sampler._top
        assert isinstance(top, Table)
        probability *= table_probability(top, digits >> at if number >= 0 else ~(digits >> at))
        exact = norm * q ** abs(number)
        assert abs(probability / exact - 1) < mpmath.mpf(2) ** -180


@pytest.mark.parametrize("sigma", SIGMAS[3:], ids=str)
def test_proposal_times_coin_is_the_discrete_gaussian(sigma: Fraction) -> None:
    sampler = discrete_gaussian(sigma**2)
    assert isinstance(sampler, WideGaussian)
    shares = []
    for number in (0, -1, 1, int(sigma), -int(sigma), int(5 * sigma) + 3, -int(7 * sigma)):
        corner = number >> sampler._low if number >= 0 else ~(~number >> sampler._low)
        place = signed_shift(sampler._low, corner)
        kept = exp(sampler._exponent(place, number))
        proposed = table_probability(sampler._table, corner)
        shares.append(proposed * kept / exp(number**2 / (2 * sigma**2)))
        assert place ^ number in range(sampler._mask + 1)
    assert max(shares) / min(shares) - 1 < mpmath.mpf(2) ** -150


@pytest.mark.parametrize("sigma", SIGMAS[3:], ids=str)
def test_a_sure_coin_is_sure_for_every_place_in_the_table(sigma: Fraction) -> None:
    sampler = discrete_gaussian(sigma**2)
    assert isinstance(sampler, WideGaussian)
    assert sampler._sure <= 12  # else the filter would be slow
    for corner in (sampler._table.first, sampler._table.last):
        place = signed_shift(sampler._low, corner)
        furthest = place ^ sampler._mask
        exponent = sampler._exponent(place, furthest)
        assert exponent > 0
        # Not failing: the least 64-bit prefix with this top byte lies above 1 - exp(-x).
        assert not fails_exp_exactly(exponent, sampler._sure << 56, Words([]))


def test_a_raw_digit_is_redrawn_exactly_when_its_coin_fails() -> None:
    part = RawDigit(Fraction(1, 1 << 20), 8)
    digit = 200
    x = Fraction(digit, 1 << 20)
    edge = int(mpmath.floor(mpmath.ldexp(-mpmath.expm1(-mpmath.mpf(digit) / (1 << 20)), 64)))
    for extension, expected in ((edge - 1, 7), (edge + 1, digit)):
        script = [digit, extension << 8, (255 << 8) | 7]
        assert part.one(Words(script)) == expected
        drawn, deep = part.draw(Scratch(1), Words(script))
        assert drawn.tolist() == [expected]
        assert deep == []
    assert fails_exp_exactly(x, edge - 1, Words([]))
    with pytest.raises(TapeEnded):
        part.one(Words([digit, edge << 8]))


def test_a_raw_digit_too_close_to_its_scale_is_refused() -> None:
    with pytest.raises(ValueError, match="too far from uniform"):
        RawDigit(Fraction(1, 1 << 10), 8)


@pytest.mark.parametrize("make", [discrete_laplace, geometric])
def test_scales_outside_the_supported_range_are_refused(make: object) -> None:
    for scale in (Fraction(1, 1 << 21), Fraction((1 << 50) + 1)):
        with pytest.raises(ValueError, match=r"between 2\*\*-20 and 2\*\*50"):
            make(scale)  # type: ignore[operator]  # both take a Fraction


def test_sigmas_outside_the_supported_range_are_refused() -> None:
    for sigma in (Fraction(1, 1 << 21), Fraction((1 << 50) + 1)):
        with pytest.raises(ValueError, match=r"between 2\*\*-20 and 2\*\*50"):
            discrete_gaussian(sigma**2)


def test_samplers_are_kept_by_parameter() -> None:
    assert discrete_laplace(Fraction(5)) is discrete_laplace(Fraction(10, 2))
    assert discrete_gaussian(Fraction(5)) is discrete_gaussian(Fraction(5))


def test_a_draw_beyond_sixty_four_bits_becomes_a_python_int() -> None:
    """Place an absurdly distant draw by hand; the law would take exp(8000) tries for it."""
    out = np.array([3, 4], dtype=np.int64)
    assert place_deep(out, [(0, 1 << 70), (1, -9)]) == {0: 1 << 70}
    assert out.tolist() == [0, -9]

    def block(piece: np.ndarray, _scratch: Scratch, _bits: object) -> dict[int, int]:
        piece[:] = 1
        return {0: 1 << 70}

    room = np.empty(3, dtype=np.int64)
    exact = gather(fill_blocks(room, block), room)
    assert exact.dtype == object
    assert exact.tolist() == [1 << 70, 1, 1]


class _Far:
    """A table whose every draw is beyond 64 bits, to drive the Gaussian's outermost path."""

    first, last = -5, 5

    def draw(self, scratch: Scratch, _bits: object) -> tuple[np.ndarray, list[tuple[int, int]]]:
        places = np.zeros(scratch.size, dtype=np.int64)
        return places, [(0, 1 << 70)]


def test_a_gaussian_draw_beyond_its_table_is_kept_or_redrawn_by_exact_arithmetic() -> None:
    sampler = WideGaussian(Fraction(1 << 100))
    sampler._table = _Far()  # type: ignore[assignment]  # stands in for a table
    with replay(Words([(200 << 56) | 5, *([2**64 - 1] * 2)])):
        drawn = sampler.many(1)
    assert drawn.tolist() == [(1 << 70) ^ 5]
