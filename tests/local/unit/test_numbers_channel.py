# SPDX-License-Identifier: Apache-2.0
"""The channels of numbers, in fractions: private, unbiased, and as exact as the formulas say."""

import math
from collections.abc import Iterator
from fractions import Fraction

import pytest

from sordino.local.numbers import NumberProtocol
from sordino.local.one_bit import OneBit
from sordino.local.piecewise import Piecewise, Window, best_window
from sordino.numbers.balls import exp_neg
from sordino.privacy import losses

EPSILONS: list[float | Fraction] = [Fraction(1, 1 << 20), 0.1, 1, 2.5, 8, 40]
PROTOCOLS: list[NumberProtocol] = [
    kind(-1, 1, epsilon=epsilon, steps=steps)
    for kind in (OneBit, Piecewise)
    for epsilon in EPSILONS
    for steps in (1, 2, 5, 8)
]


def name(protocol: NumberProtocol) -> str:
    return f"{protocol.words}-{float(protocol.epsilon):g}-{protocol.scale.steps}"


def columns(protocol: NumberProtocol) -> list[dict[int, Fraction]]:
    """The law of a report from each place."""
    channel = protocol.channel()
    return [
        {report: chances[j] for report, chances in channel.items()}
        for j in range(protocol.scale.steps + 1)
    ]


def power(law: dict[int, Fraction], protocol: NumberProtocol, centre: Fraction, k: int) -> Fraction:
    """The mean k-th power of an estimate of t, less a centre."""
    last = protocol.outputs - 1
    estimates = {o: Fraction(2 * o - last) / protocol.gain for o in law}
    return sum((p * (estimates[o] - centre) ** k for o, p in law.items()), Fraction(0))


def places(protocol: NumberProtocol) -> Iterator[tuple[Fraction, dict[int, Fraction]]]:
    for j, law in enumerate(columns(protocol)):
        yield Fraction(2 * j, protocol.scale.steps) - 1, law


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name)
def test_a_report_is_never_more_than_the_odds_likelier_from_one_place_than_from_another(
    protocol: NumberProtocol,
) -> None:
    for chances in protocol.channel().values():
        assert max(chances) <= protocol.odds * min(chances)
    low, _ = exp_neg(protocol.epsilon, 200)
    assert protocol.odds * low <= 1 << 200  # odds <= e^epsilon


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name)
def test_chances_add_up_to_one_and_every_report_can_come_from_every_place(
    protocol: NumberProtocol,
) -> None:
    channel = protocol.channel()
    assert sorted(channel) == list(range(protocol.outputs))
    assert protocol.outputs <= 1 << protocol.report_bits < 2 * protocol.outputs
    for law in columns(protocol):
        assert sum(law.values()) == 1
        assert min(law.values()) > 0


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name)
def test_estimates_are_unbiased_and_have_the_variance_that_is_stated(
    protocol: NumberProtocol,
) -> None:
    for t, law in places(protocol):
        assert power(law, protocol, Fraction(0), 1) == t
        assert power(law, protocol, t, 2) == protocol.variance(t)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name)
def test_rounding_to_the_grid_adds_what_is_stated_and_no_value_is_worse_than_the_worst(
    protocol: NumberProtocol,
) -> None:
    laws, steps = columns(protocol), protocol.scale.steps
    for quarter in range(4 * steps + 1):
        below, over = divmod(Fraction(quarter, 4), 1)
        above = min(below + 1, steps)
        mixed = {o: (1 - over) * p + over * laws[above][o] for o, p in laws[below].items()}
        t = Fraction(quarter, 2 * steps) - 1
        assert power(mixed, protocol, Fraction(0), 1) == t
        assert power(mixed, protocol, t, 2) == protocol.variance(t) <= protocol.variance()


def test_the_worst_variance_is_attained() -> None:
    for protocol in PROTOCOLS:
        if isinstance(protocol, Piecewise):
            worst = protocol.scale.value(protocol.window.worst_place())
            assert protocol.variance(worst) == protocol.variance()
        else:
            assert protocol.variance(0) == protocol.variance()


def test_one_bit_has_the_chances_and_the_variance_of_the_formulas() -> None:
    protocol = OneBit(-1, 1, epsilon=1, steps=4)
    r = protocol.odds
    assert protocol.channel()[1][3] == Fraction(1, 2) + Fraction(1, 2) * (r - 1) / (2 * (r + 1))
    assert protocol.variance(0.5) == ((r + 1) / (r - 1)) ** 2 - Fraction(1, 4)
    assert float(protocol.variance()) == pytest.approx(4.6826943768312)  # 1 / tanh(1/2)^2
    assert protocol.report_bits == 1


def test_the_variance_goes_with_the_square_of_the_range() -> None:
    for kind in (OneBit, Piecewise):
        unit, wide = kind(-1, 1, epsilon=2), kind(100, 120, epsilon=2)
        assert wide.variance() == 100 * unit.variance()
        assert wide.variance(115) == 100 * unit.variance(0.5)
        assert wide.standard_error(25) == pytest.approx(2 * math.sqrt(unit.variance()))


@pytest.mark.parametrize("odds", [Fraction(101, 100), Fraction(3), Fraction(60), Fraction(10**9)])
@pytest.mark.parametrize("steps", [1, 2, 3, 10, 33])
def test_no_width_has_a_smaller_worst_variance_on_the_grid(odds: Fraction, steps: int) -> None:
    found = best_window(steps, odds)
    worst = [w.floor + w.rise for w in (Window(steps, k, odds) for k in range(1, 3 * steps + 2))]
    assert worst[found.width - 1] == min(worst)


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4, 8])
def test_fine_grids_come_near_the_continuous_mechanism_and_the_best_width_is_below_it(
    epsilon: float,
) -> None:
    e = math.exp(epsilon / 2)
    floor, rise = (e + 3) / (3 * (e - 1) ** 2), 1 / (e - 1)
    best = Piecewise(-1, 1, epsilon=epsilon, steps=1 << 14)
    same = Window(1 << 14, round((1 << 14) / e), best.odds)  # the width of Wang and others
    assert float(same.floor) == pytest.approx(floor, rel=1e-2)
    assert float(same.rise) == pytest.approx(rise, rel=1e-2)
    assert float(same.floor + same.rise) == pytest.approx(floor + rise, rel=2e-3)
    assert float(best.variance()) < floor + rise
    usual = Piecewise(-1, 1, epsilon=epsilon)
    assert float(usual.variance()) == pytest.approx(float(best.variance()), rel=1e-3)


def test_which_protocol_is_better_changes_at_an_epsilon_of_1_18() -> None:
    def gain(epsilon: float) -> Fraction:
        return (
            OneBit(0, 1, epsilon=epsilon).variance() - Piecewise(0, 1, epsilon=epsilon).variance()
        )

    assert gain(1.18) < 0 < gain(1.19)


@pytest.mark.parametrize("protocol", [p for p in PROTOCOLS if isinstance(p, Piecewise)], ids=name)
def test_the_bounds_of_moments_hold_for_every_law_of_two_places(protocol: Piecewise) -> None:
    window, known = protocol.window, list(places(protocol))
    assert window.floor == protocol.variance(0) or window.steps % 2
    for t, law in known:
        assert power(law, protocol, Fraction(0), 4) <= window.fourth
        for s, other in known:
            for share in (Fraction(1), Fraction(1, 2), Fraction(1, 5)):
                mean = share * t + (1 - share) * s
                mixed = {o: share * p + (1 - share) * other[o] for o, p in law.items()}
                assert power(mixed, protocol, mean, 4) <= window.central_fourth
    assert window.fourth == power(known[-1][1], protocol, Fraction(0), 4)
    assert window.summit == Fraction(protocol.outputs - 1) / protocol.gain


def test_the_loss_is_that_of_randomized_response_or_of_any_private_report() -> None:
    assert OneBit(0, 1, epsilon=1).loss == losses.randomized_response(epsilon=1, categories=2)
    assert Piecewise(0, 1, epsilon=1).loss == losses.pure(epsilon=1)
    assert Piecewise(0, 1, epsilon=1).client().loss == losses.pure(epsilon=1)


def test_every_setting_has_a_fingerprint_of_its_own() -> None:
    settings = [
        kind(low, 10, epsilon=epsilon, steps=steps)
        for kind in (OneBit, Piecewise)
        for low in (0, 1)
        for epsilon in (1, 2)
        for steps in (4, 8)
    ]
    assert len({protocol.fingerprint for protocol in settings}) == len(settings)
    assert (
        OneBit(0, 0.1, epsilon=1).fingerprint == OneBit(0, Fraction(1, 10), epsilon=1).fingerprint
    )
