# SPDX-License-Identifier: Apache-2.0
"""Estimates: anchors, tables, the simplex, and the choice of a protocol."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sordino as so
from sordino.local import Hadamard, Hashing, Response, Subset, Unary, best, candidates
from sordino.local.estimate import onto_simplex
from sordino.local.plot import draw_errors
from sordino.local.randomizer import odds_of
from sordino.numbers.confidence import highest, lowest, mean_limits
from tests.support.seeded import SeededBits
from tests.support.tape import replay


def test_the_anchors_of_the_literature_are_met() -> None:
    two, four, ten = Response(2, epsilon=1), Response(4, epsilon=1), Response(10, epsilon=2)
    assert float(two.truth) == pytest.approx(0.73105857863, abs=1e-11)
    assert float(two.variance()) == pytest.approx(0.92067359420779, abs=1e-14)
    assert two.variance(0) == two.variance(1) == two.variance(Fraction(1, 3))
    assert float(four.truth) == pytest.approx(0.47536688641867, abs=1e-14)
    assert float(four.other) == pytest.approx(0.17487770452711, abs=1e-14)
    assert float(four.variance()) == pytest.approx(1.5980673688847, abs=1e-13)
    assert float(ten.truth) == pytest.approx(0.45085306037928, abs=1e-14)
    assert float(ten.variance()) == pytest.approx(0.37699759517687, abs=1e-14)
    assert float(Unary(4, epsilon=1).variance()) == pytest.approx(3.6826943768312, abs=1e-13)
    assert float(Unary(9, epsilon=2).variance()) == pytest.approx(0.72406166096631, abs=1e-14)


@pytest.mark.parametrize("epsilon", [0.2, 1, 2.5])
@pytest.mark.parametrize("k", [3, 10, 60])
def test_variances_are_those_of_the_papers(k: int, epsilon: float) -> None:
    e = math.exp(epsilon)
    expected = {
        Response: (k - 2 + e) / (e - 1) ** 2,
        Unary: 4 * e / (e - 1) ** 2,
        Hadamard: ((e + 1) / (e - 1)) ** 2,
    }
    for kind, variance in expected.items():
        assert float(kind(k, epsilon=epsilon).variance()) == pytest.approx(variance, rel=1e-12)
    root = math.exp(epsilon / 2)
    symmetric = Unary(k, epsilon=epsilon, optimised=False)
    assert float(symmetric.variance()) == pytest.approx(root / (root - 1) ** 2, rel=1e-12)
    hashing = Hashing(k, epsilon=epsilon)
    g = hashing.buckets
    assert float(hashing.variance()) == pytest.approx((e - 1 + g) ** 2 / ((e - 1) ** 2 * (g - 1)))
    subset = Subset(k, epsilon=epsilon)
    assert subset.total_error(1) <= min(p.total_error(1) for p in candidates(k, epsilon)) * 1.0001


@given(epsilon=st.fractions(Fraction(1, 1 << 20), 40, max_denominator=1 << 20))
def test_odds_are_just_below_e_to_epsilon(epsilon: Fraction) -> None:
    odds = odds_of(epsilon)
    assert odds > 1
    assert float(odds) == pytest.approx(math.exp(epsilon), rel=1e-13)
    assert float(odds_of(epsilon, root=2)) == pytest.approx(math.exp(epsilon / 2), rel=1e-13)
    assert odds_of(epsilon, root=2) ** 2 <= odds * (1 + Fraction(1, 1 << 50))


@given(st.integers(2, 40), st.fractions(Fraction(1, 100), 6, max_denominator=1000))
def test_no_choice_of_categories_and_epsilon_breaks_the_inequality(k: int, eps: Fraction) -> None:
    for protocol in (Response(k, epsilon=eps), Hadamard(k, epsilon=eps)):
        channel = protocol.channel()
        assert max(max(row) / min(row) for row in channel.values()) <= protocol.odds
        assert all(sum(column) == 1 for column in zip(*channel.values(), strict=True))


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "1", None, True, 1e-9, 41])
def test_an_epsilon_that_is_none_is_refused(epsilon: object) -> None:
    for kind in (Response, Unary, Hadamard, Subset, Hashing):
        with pytest.raises((ValueError, TypeError), match="epsilon"):
            kind(3, epsilon=epsilon)  # type: ignore[arg-type]
    with pytest.raises((ValueError, TypeError), match="epsilon"):
        best(3, epsilon)  # type: ignore[arg-type]


def test_the_best_protocol_is_within_five_percent_and_has_the_shortest_reports() -> None:
    for k in (2, 3, 8, 12, 30, 200, 5_000):
        for epsilon in (0.3, 1, 2, 4):
            found = best(k, epsilon)
            errors = {type(p): p.total_error(1) for p in candidates(k, epsilon)}
            least = min(errors.values())
            assert found.total_error(1) <= 1.05 * least
            for other in candidates(k, epsilon):
                shorter = other.report_bits < found.report_bits
                assert not (shorter and errors[type(other)] <= 1.05 * least)
    assert isinstance(best(["no", "yes"], 1), Response)
    assert isinstance(best(1_000, 1), Hashing)
    assert best(1_000, 1, most_bits=20).report_bits <= 20
    with pytest.raises(ValueError, match="at least 10 bits"):
        best(1_000, 1, most_bits=5)


def test_what_is_predicted_before_anything_is_collected() -> None:
    protocol = Response(4, epsilon=1)
    assert protocol.standard_error(10_000) == pytest.approx(math.sqrt(1.5980673688847e-4))
    total = protocol.variance(1) + 3 * protocol.variance(0)
    assert protocol.total_error(50) == pytest.approx(float(total) / 50)
    with pytest.raises(ValueError, match="people"):
        protocol.standard_error(0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        protocol.standard_error(10, frequency=1.5)


def test_the_loss_of_a_report_enters_the_accountant() -> None:
    protocol = Response(["no", "yes"], epsilon=1)
    assert protocol.client().loss.epsilon(delta=0) == 1.0
    assert (protocol.loss * 3).epsilon(delta=0) == 3.0
    assert (protocol.loss * 100).epsilon(delta=1e-6) < 84
    assert Hashing(1_000, epsilon=1).loss.rho < Response(2, epsilon=1).loss.rho


def counted(hits: list[int], people: int) -> so.local.Estimate:
    protocol = Response(["a", "b", "c"], epsilon=1)
    server = protocol.server()
    data = np.repeat(np.arange(3, dtype=np.uint8), hits)
    server.add(so.local.Reports(protocol.fingerprint, data))
    assert server.people == people
    return server.estimate()


def test_an_estimate_is_what_the_counts_say() -> None:
    found = counted([60, 30, 10], 100)
    protocol = Response(["a", "b", "c"], epsilon=1)
    p, q = float(protocol.truth), float(protocol.other)
    assert found.frequencies == pytest.approx((np.array([0.6, 0.3, 0.1]) - q) / (p - q))
    assert found.frequencies.sum() == pytest.approx(1)
    assert found.counts == pytest.approx(100 * found.frequencies)
    assert found.low[1] == pytest.approx(max(0, (lowest(30, 100, 0.025) - q) / (p - q)))
    assert found.high[1] == pytest.approx((highest(30, 100, 0.025) - q) / (p - q))
    assert (found.low >= 0).all()
    assert (found.high <= 1).all()
    assert found["b"].label == "b"
    with pytest.raises(KeyError, match="no category 'd'"):
        found["d"]
    text = str(found)
    assert text.splitlines()[0].split() == ["category", "frequency", "from", "to"]
    assert text.splitlines()[1].startswith("a ")
    assert "100 people; each interval holds with confidence 0.95" in text
    assert found.to_json()["categories"][2]["label"] == "c"


def test_a_table_says_what_is_noise_and_what_was_moved() -> None:
    found = counted([10, 30, 60], 100)
    assert found.frequencies.min() < 0
    assert "Below 0 is noise" in str(found)
    moved = found.projected()
    assert "Below 0" not in str(moved)
    assert "moved to the nearest that are possible" in str(moved)
    assert (found.to_json()["projected"], moved.to_json()["projected"]) == (False, True)
    many = Response(100, epsilon=1)
    server = many.server()
    server.add(many.client().encode(np.arange(100)))
    assert "so about 5 of 100 do not: take them together" in server.estimate().words
    assert "do not" not in server.estimate(together=True).words


def test_all_intervals_together_are_wider() -> None:
    protocol = Response(3, epsilon=1)
    server = protocol.server()
    server.add(protocol.client().encode(np.zeros(1_000, dtype=int)))
    alone, together = server.estimate(), server.estimate(together=True)
    assert (together.low <= alone.low).all()
    assert (together.high >= alone.high).all()
    assert "together" in str(together)


def test_nothing_is_estimated_from_nothing_or_with_a_wrong_confidence() -> None:
    server = Response(3, epsilon=1).server()
    with pytest.raises(ValueError, match="no reports"):
        server.estimate()
    server.add(Response(3, epsilon=1).client().encode(1))
    for confidence in (0, 1, 95, -0.1):
        with pytest.raises(ValueError, match="confidence"):
            server.estimate(confidence=confidence)


@given(st.lists(st.floats(-2, 2), min_size=2, max_size=12))
def test_the_simplex_projection_is_the_nearest_distribution(values: list[float]) -> None:
    given_values = np.array(values)
    found = onto_simplex(given_values)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    # The nearest point of a convex set: no direction into the set makes it nearer.
    for corner in np.eye(found.size):
        assert (given_values - found) @ (corner - found) <= 1e-9


def test_the_limits_of_a_mean_are_never_nearer_than_one_hit() -> None:
    low, high = mean_limits(np.array([0, 1, 2, 50, 99, 100]), 100, 0.05)
    assert low.tolist()[:2] == [0.0, 0.0]
    assert high.tolist()[4:] == [1.0, 1.0]
    assert low[3] == pytest.approx(float(lowest(50, 100, 0.025)), rel=1e-12)
    assert high[3] == pytest.approx(float(highest(50, 100, 0.025)), rel=1e-12)


def test_pictures_are_drawn(tmp_path: Path) -> None:
    counted([60, 30, 10], 100).plot(tmp_path / "estimate.png")
    draw_errors(candidates(50, 1), tmp_path / "errors.png")
    assert (tmp_path / "estimate.png").stat().st_size > 5_000
    assert (tmp_path / "errors.png").stat().st_size > 5_000


def test_a_shuffler_makes_the_loss_smaller() -> None:
    two, many = Response(["no", "yes"], epsilon=1), Hashing(1_000, epsilon=1)
    assert two.shuffled(1_000) == so.losses.shuffled_response(epsilon=1, people=1_000)
    assert many.shuffled(1_000) == so.losses.shuffled(epsilon=1, people=1_000)
    assert so.local.OneBit(0, 1, epsilon=1).shuffled(1_000) == many.shuffled(1_000)
    assert two.shuffled(1_000).epsilon(delta=1e-6) < many.shuffled(1_000).epsilon(delta=1e-6) < 0.3
    assert many.shuffled(10_000).neighbours == "replace_one"


def test_half_the_length_of_an_interval_is_known_beforehand() -> None:
    """Coins and people together: in expectation that of a survey of so many."""
    protocol, people, share = Response(3, epsilon=4), 730, 0.5
    told = protocol.half_width(people, frequency=share)
    assert told > 3 * protocol.standard_error(people)
    values = np.repeat([0, 1, 2], [365, 200, 165])
    with replay(SeededBits(5)):
        server = protocol.server()
        server.add(protocol.client().encode(values))
        found = server.estimate()
    assert (found.high[0] - found.low[0]) / 2 == pytest.approx(told, rel=0.03)
    assert protocol.half_width(people, frequency=share, confidence=0.99) > told


def test_no_interval_shrinks_to_nothing_at_an_end() -> None:
    """A count far below what noise alone gives leaves an interval as long as the noise."""
    protocol = Response(["a", "b", "c"], epsilon=0.5)
    server = protocol.server()
    data = np.repeat(np.arange(3, dtype=np.uint8), [100, 900, 0])
    server.add(so.local.Reports(protocol.fingerprint, data))
    found = server.estimate()
    assert found.frequencies[2] < -1
    assert found.low[2] == 0
    assert found.high[2] == protocol.standard_error(1_000)
    assert found.low[1] <= 1 - protocol.standard_error(1_000, frequency=1)
    assert found.high[1] == 1
