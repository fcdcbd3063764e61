# SPDX-License-Identifier: Apache-2.0
"""Servers of numbers: counts that merge, and intervals whose coverage is computed exactly."""

from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from sordino.local.numbers import MeanEstimate, MeanServer, NumberProtocol
from sordino.local.one_bit import OneBit
from sordino.local.piecewise import (
    Piecewise,
    Window,
    best_window,
    deviations_and_shift,
    largest_square,
    window_limits,
)
from sordino.local.randomizer import Reports, number_of, read_reports
from tests.support.seeded import SeededBits
from tests.support.tape import replay

Floats = np.ndarray[Any, np.dtype[np.float64]]
KINDS: list[type[OneBit | Piecewise]] = [OneBit, Piecewise]
ROUNDING = 1e-9  # of sums of doubles


def two_groups(people: int, first: int, chances: tuple[float, float]) -> Floats:
    """The law of the ones of two groups of people."""
    counts = [
        binom.pmf(np.arange(n + 1), n, p)
        for n, p in zip((first, people - first), chances, strict=True)
    ]
    return np.convolve(*counts)


def assert_covers(law: Floats, limits: list[tuple[float, float]], t: float, level: float) -> None:
    low, high = np.array(limits).T
    assert law[(low <= t) & (t <= high)].sum() >= level - ROUNDING


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("people", [1, 2, 3, 10, 41, 150])
def test_the_interval_of_one_bit_covers_any_two_groups_of_people(people: int, level: float) -> None:
    protocol = OneBit(-1, 1, epsilon=2)
    limits = [
        protocol.unit_limits(people, 2 * c - people, people, Fraction(level))
        for c in range(people + 1)
    ]
    gain = float(protocol.gain)
    for first in range(0, people + 1, max(people // 10, 1)):
        for a, b in [(-1.0, 1.0), (0.0, 1.0), (-1.0, -0.3), (0.1, 0.2), (0.9, 1.0)]:
            t = (first * a + (people - first) * b) / people
            chances = ((1 + gain * a) / 2, (1 + gain * b) / 2)
            assert_covers(two_groups(people, first, chances), limits, t, level)
            same = binom.pmf(np.arange(people + 1), people, (1 + gain * t) / 2)
            assert_covers(same, limits, t, level)


@pytest.mark.parametrize(
    ("people", "level", "odds", "normal"),
    [
        (1, 0.9, 20, False),
        (5, 0.5, 2, False),
        (60, 0.9, 2, False),
        (60, 0.9, 20, False),
        (700, 0.5, 20, True),
        (9000, 0.95, 2, True),
        (9000, 0.95, 20, False),
    ],
)
def test_the_interval_of_a_window_covers_any_people_at_the_two_ends(
    people: int, level: float, odds: int, normal: bool
) -> None:
    window = Window(1, 1, Fraction(odds))
    _, shift = deviations_and_shift(window, people, (1 - level) * 0.475)
    assert (shift == 0) == normal
    limits = [
        window_limits(window, people, 2 * c - people, people, Fraction(level))
        for c in range(people + 1)
    ]
    lie = 1 / (odds + 1)
    for first in {0, people // 100, people // 3, people // 2, people}:
        t = 1 - 2 * first / people
        assert_covers(two_groups(people, first, (lie, 1 - lie)), limits, t, level)
        one = (1 + t * (1 - 2 * lie)) / 2
        assert_covers(binom.pmf(np.arange(people + 1), people, one), limits, t, level)


@pytest.mark.parametrize("odds", [2, 20, 1000])
@pytest.mark.parametrize("people", [1, 10, 60, 1000])
@pytest.mark.parametrize("tail", [0.2, 0.02, 0.001])
def test_a_mean_is_not_further_off_than_its_deviations_and_shift(
    odds: int, people: int, tail: float
) -> None:
    window, lie = Window(1, 1, Fraction(odds)), 1 / (odds + 1)
    gain = float(window.gain)
    deviations, shift = deviations_and_shift(window, people, tail)
    reach = deviations * np.sqrt((1 / gain**2 - 1) / people) + shift
    means = (2 * np.arange(people + 1) - people) / (people * gain)
    for first in {0, people // 3, people // 2, people}:
        law, t = two_groups(people, first, (lie, 1 - lie)), 1 - 2 * first / people
        assert law[means > t + reach].sum() <= tail
        assert law[means < t - reach].sum() <= tail


@pytest.mark.parametrize("odds", [2, 20, 1000])
@pytest.mark.parametrize("people", [1, 10, 60, 1000])
@pytest.mark.parametrize("alpha", [0.2, 0.02, 0.001])
def test_the_mean_square_is_seldom_above_its_bound(odds: int, people: int, alpha: float) -> None:
    window = Window(2, 1, Fraction(odds))
    height = float(2 / window.gain) ** 2  # of the square of a report that is not the middle one
    counts = np.arange(people + 1)
    bounds = np.array([largest_square(window, people, height * c / people, alpha) for c in counts])
    middle, ends = 2 / (odds + 2), (odds + 1) / (odds + 2)
    for chance in (middle, 0.9 * middle + 0.1 * ends, (middle + ends) / 2, ends):
        law = binom.pmf(counts, people, chance)
        assert law[bounds < chance * height].sum() <= alpha


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize("odds", [Fraction(3, 2), Fraction(3), Fraction(300)])
def test_the_interval_of_a_window_covers_equal_people_at_three_places(
    odds: Fraction, level: float
) -> None:
    window, people = Window(2, 1, odds), 40
    counts = np.array(
        [(a, b, people - a - b) for a in range(people + 1) for b in range(people + 1 - a)]
    )
    limits = [
        window_limits(window, people, 2 * int(c - a), 4 * int(a + c), Fraction(level))
        for a, _, c in counts
    ]
    far, near = float(1 / window.whole), float(odds / window.whole)
    laws = [[near if o == j else far for o in range(3)] for j in range(3)]
    for t, weights in [
        (-1, (1, 0, 0)),
        (0, (0, 1, 0)),
        (0, (0.5, 0, 0.5)),
        (0.5, (0, 0.5, 0.5)),
        (-0.96, (0.98, 0, 0.02)),  # often nobody from the other end is there to be seen
    ]:
        law = multinomial.pmf(counts, people, np.array(weights) @ np.array(laws))
        assert_covers(law, limits, t, level)


def test_limits_grow_with_the_reports_and_shrink_with_the_confidence() -> None:
    window = best_window(64, Fraction(5))
    people, squares = 5000, int(5000 * window.gain**2)
    totals = range(-people * 60, people * 60, people * 3)
    limits = np.array([window_limits(window, people, y, squares, Fraction(9, 10)) for y in totals])
    assert (np.diff(limits, axis=0) > 0).all()
    wide = np.array([window_limits(window, people, y, squares, Fraction(99, 100)) for y in totals])
    assert (wide[:, 0] < limits[:, 0]).all()
    assert (wide[:, 1] > limits[:, 1]).all()
    mirrored = -limits[::-1, ::-1]
    again = [window_limits(window, people, -y, squares, Fraction(9, 10)) for y in reversed(totals)]
    assert np.allclose(mirrored, again, atol=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "people", "most"),
    [(1, 10**4, 1.25), (1, 10**6, 1.03), (4, 10**5, 1.25), (4, 10**7, 1.03), (8, 10**7, 1.08)],
)
def test_intervals_are_little_wider_than_the_standard_error_asks_for(
    epsilon: int, people: int, most: float
) -> None:
    window = Piecewise(-1, 1, epsilon=epsilon).window
    square = window.floor + (window.rise + 1) / 4  # people at 1/2 and -1/2
    squares = round(square * people * window.gain**2)
    low, high = window_limits(window, people, 0, squares, Fraction(19, 20))
    assert 1 < (high - low) / 2 / (1.96 * float(square / people) ** 0.5) < most


@pytest.mark.parametrize("kind", KINDS)
def test_servers_merge_in_any_order_to_the_same_bytes(kind: type[OneBit | Piecewise]) -> None:
    protocol = kind(0, 10, epsilon=1)
    client = protocol.client()
    reports = [client.encode(np.full(n, n / 10)) for n in (1, 20, 300)]
    whole = protocol.server()
    for part in reports:
        whole.add(part)
    for order in permutations(reports):
        merged = protocol.server()
        for part in order:
            other = protocol.server()
            other.add(part)
            merged.merge(other)
        assert merged.to_bytes() == whole.to_bytes()
        assert merged == whole
        assert merged.estimate() == whole.estimate()
    loaded = protocol.server()
    loaded.load(whole.to_bytes())
    loaded.load(protocol.server().to_bytes())
    assert loaded == whole
    assert loaded.people == 321
    assert whole != protocol.server()


@pytest.mark.parametrize("kind", KINDS)
def test_reports_travel_as_bytes(kind: type[OneBit | Piecewise]) -> None:
    protocol = kind(0, 10, epsilon=1)
    reports = protocol.client().encode(np.arange(11))
    assert read_reports(reports.to_bytes()) == reports


@pytest.mark.parametrize("kind", KINDS)
def test_reports_and_counts_of_another_protocol_are_refused(kind: type[OneBit | Piecewise]) -> None:
    server, other = kind(0, 10, epsilon=1).server(), kind(0, 10, epsilon=2)
    words = "another protocol, with another epsilon, or with other categories"
    with pytest.raises(ValueError, match=f"these reports were made by {words}"):
        server.add(other.client().encode(3))
    with pytest.raises(ValueError, match=f"these counts were made by {words}"):
        server.merge(other.server())
    with pytest.raises(ValueError, match=f"these counts were made by {words}"):
        server.load(other.server().to_bytes())
    with pytest.raises(TypeError, match="a server takes the reports that a client encoded"):
        server.add([1, 2, 3])  # type: ignore[arg-type]  # what is tested
    with pytest.raises(TypeError, match="only a server that counts"):
        server.merge("server")  # type: ignore[arg-type]  # what is tested
    assert server.people == 0


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_reports_are_refused_whole(kind: type[OneBit | Piecewise]) -> None:
    protocol = kind(0, 10, epsilon=1)
    server, size = protocol.server(), protocol.outputs
    for data in (
        np.array([0, size], dtype=np.uint16),
        np.array([0, -1]),
        np.array([0.0]),
        np.array([0, 1], dtype=np.uint64),
        np.array([0, 1], dtype=np.uint32),
        np.zeros((2, 2), np.uint8),
    ):
        with pytest.raises(ValueError, match="these reports are damaged"):
            server.add(Reports(protocol.fingerprint, data))
    assert server == protocol.server()


@pytest.mark.parametrize(
    "change",
    [
        (b"sordino server", b"other thing"),
        (b'"people":2', b'"people":3'),
        (b'"people":2', b'"people":true'),
        (b'"people":2', b'"people":-2'),
        (b"[2", b"[2.0"),
        (b"[", b"[0,"),
        (b"counts", b"count"),
        (b"}", b""),
    ],
)
def test_damaged_counts_are_refused(change: tuple[bytes, bytes]) -> None:
    protocol = OneBit(0, 10, epsilon=1)
    server = protocol.server()
    server.add(Reports(protocol.fingerprint, np.zeros(2, dtype=np.uint8)))
    data = server.to_bytes()
    assert data.replace(*change) != data
    with pytest.raises(ValueError, match="these bytes are no whole counts"):
        protocol.server().load(data.replace(*change))


def test_a_server_counts_no_more_than_it_can_hold() -> None:
    protocol = OneBit(0, 10, epsilon=1)
    server = protocol.server()
    state = server.to_bytes().replace(b'"people":0', b'"people":%d' % 2**46)
    server.load(state.replace(b"[0,0]", b"[%d,0]" % 2**46))
    assert server.estimate().high == 0.0
    with pytest.raises(ValueError, match="at most 2\\*\\*46 reports"):
        server.add(protocol.client().encode(5))
    assert server.people == 2**46


def filled(protocol: NumberProtocol, value: float, people: int) -> MeanServer:
    server = protocol.server()
    with replay(SeededBits(5)):
        server.add(protocol.client().encode(np.full(people, value)))
    return server


@pytest.mark.parametrize("kind", KINDS)
def test_an_estimate_holds_the_numbers_it_states(kind: type[OneBit | Piecewise]) -> None:
    protocol = kind(100, 200, epsilon=2)
    found = filled(protocol, 130, 20_000).estimate(confidence=0.9)
    assert (found.people, found.confidence) == (20_000, 0.9)
    assert 100 < found.low < found.mean < found.high < 200
    assert found.low < 130 < found.high
    predicted = protocol.standard_error(20_000, value=130)
    assert found.standard_error == pytest.approx(predicted, rel=0.03)
    assert str(found).startswith(f"mean {found.mean:.2f}, from ")
    assert str(found).endswith("with confidence 0.9 (20000 people)")


def test_the_text_of_an_estimate_rounds_its_limits_outwards() -> None:
    found = MeanEstimate(9, 5.55, 4.4501, 6.6499, 0.52, 0.95)
    assert str(found) == "mean 5.55, from 4.45 to 6.65 with confidence 0.95 (9 people)"
    found = MeanEstimate(9, 5.55, 4.4599, 6.6401, 0.52, 0.95)
    assert str(found) == "mean 5.55, from 4.45 to 6.65 with confidence 0.95 (9 people)"
    far = MeanEstimate(9, 55555.0, -4.5, 66666.5, 5200.0, 0.95)
    assert str(far) == "mean 55555, from -5 to 66667 with confidence 0.95 (9 people)"


def test_the_text_of_an_estimate_has_no_zero_below_zero_and_places_to_see_it_by() -> None:
    found = MeanEstimate(9, -0.001, -0.0, -0.0, 0.5, 0.95)
    assert str(found) == "mean 0.00, from 0.00 to 0.00 with confidence 0.95 (9 people)"
    found = MeanEstimate(9, 0.0012345, 0.0010, 0.0014, 0.0, 0.9999999)
    assert str(found) == (
        "mean 0.00123, from 0.00100 to 0.00140 with confidence 0.9999999 (9 people)"
    )
    found = MeanEstimate(9, 12345.6, 12345.6, 12345.6, 1e-14, 0.95)
    first, last = str(found).split("from ")[1].split(" with")[0].split(" to ")
    assert Fraction(first) <= Fraction(12345.6) <= Fraction(last)
    assert str(MeanEstimate(9, 3.0, 3.0, 3.0, 0.0, 0.95)).startswith("mean 3.0, from 3.0 to 3.0")


@pytest.mark.parametrize("people", [1, 2, 100])
@pytest.mark.parametrize("kind", KINDS)
def test_equal_reports_do_not_make_the_mean_certain(
    kind: type[OneBit | Piecewise], people: int
) -> None:
    protocol = kind(0, 100, epsilon=1)
    server = protocol.server()
    data = np.full(people, protocol.outputs - 1, dtype=number_of(protocol.outputs))
    server.add(Reports(protocol.fingerprint, data))
    assert server.estimate().standard_error == protocol.standard_error(people) > 10 / people


@pytest.mark.parametrize("steps", [1, 2, 7, 64])
@pytest.mark.parametrize("kind", KINDS)
def test_a_standard_error_is_at_least_that_of_the_coins(
    kind: type[OneBit | Piecewise], steps: int
) -> None:
    protocol = kind(0, 1, epsilon=1, steps=steps)
    values = [Fraction(i, 8 * steps) for i in range(8 * steps + 1)]
    least = min(protocol.variance(value) for value in values)
    assert protocol.least_variance() == least
    server, middle = protocol.server(), protocol.outputs // 2
    data = np.array([middle] * 9 + [middle - 1], dtype=number_of(protocol.outputs))
    server.add(Reports(protocol.fingerprint, data))
    assert server.estimate().standard_error >= (float(least) / 10) ** 0.5 * (1 - 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_limits_stay_in_the_range_and_means_need_not(kind: type[OneBit | Piecewise]) -> None:
    protocol = kind(0, 1, epsilon=0.5)
    server = protocol.server()
    server.add(
        Reports(
            protocol.fingerprint, np.full(50, protocol.outputs - 1, number_of(protocol.outputs))
        )
    )
    found = server.estimate()
    assert found.mean > 1
    assert found.low == found.high == 1


def test_no_reports_and_no_confidence_give_no_estimate() -> None:
    server = OneBit(0, 1, epsilon=1).server()
    with pytest.raises(ValueError, match="no reports have been added yet"):
        server.estimate()
    server.add(server.protocol.client().encode([0, 1]))
    with pytest.raises(ValueError, match=r"write 95 % as 0\.95"):
        server.estimate(confidence=95)


def test_clients_and_servers_say_what_they_are() -> None:
    protocol = Piecewise(0, 0.5, epsilon=1)
    assert repr(protocol) == "<piecewise: 0 to 0.5, epsilon 1>"
    assert repr(protocol.client()) == "<client of piecewise, epsilon 1>"
    assert repr(protocol.server()) == "<server of piecewise: 0 reports>"
    assert repr(OneBit(0, 1, epsilon=0.1)) == "<one bit: 0 to 1, epsilon 0.1>"
