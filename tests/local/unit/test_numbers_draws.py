# SPDX-License-Identifier: Apache-2.0
"""How a place becomes a report: every word that decides a report is enumerated."""

from fractions import Fraction

import numpy as np
import pytest

from sordino.local.one_bit import OneBit
from sordino.local.piecewise import Piecewise
from tests.support.tape import Tape, Words

ALL = np.arange(1 << 16, dtype=np.uint16)
FILLER = 1 << 20  # bytes of zeros, for the draws that look at more bits


@pytest.mark.parametrize("epsilon", [0.1, 1, 6])
@pytest.mark.parametrize("steps", [1, 4, 7])
def test_each_report_has_the_words_that_its_chance_asks_for(epsilon: float, steps: int) -> None:
    protocol = Piecewise(0, 1, epsilon=epsilon, steps=steps)
    channel = protocol.channel()
    for j in range(steps + 1):
        tape = Tape(ALL.tobytes() + bytes(FILLER))
        drawn = protocol.draw(np.full(ALL.size, j), tape)
        counts = np.bincount(drawn, minlength=protocol.outputs).tolist()
        for report, count in enumerate(counts):
            # Words that hold an end of this report's share are undecided; there are at most two.
            assert abs(count - channel[report][j] * ALL.size) <= 2
        assert sum(counts) == ALL.size


def test_the_law_of_the_turn_is_exact_and_turns_make_the_channel() -> None:
    protocol = Piecewise(0, 1, epsilon=Fraction(3, 2), steps=5)
    law, channel = protocol._turns.law, protocol.channel()
    width = 300
    ends = law.cumulative(0, protocol.outputs - 1, width)
    sums = [Fraction(0)]
    for j in range(protocol.outputs):
        sums.append(sums[-1] + channel[j][0])
        low, high = ends[j]
        assert low <= sums[-1] * 2**width <= high <= low + 1
    for j in range(6):
        for turn in range(protocol.outputs):
            middle = int((sums[turn] + sums[turn + 1]) / 2 * 2**16)
            report = int(protocol.draw(np.array([j]), Words([middle]))[0])
            assert report == (turn + j) % protocol.outputs
            assert channel[report][j] == channel[turn][0]


@pytest.mark.parametrize("epsilon", [0.1, 1, 6])
def test_one_bit_tells_the_truth_as_often_as_the_channel_says(epsilon: float) -> None:
    protocol = OneBit(0, 1, epsilon=epsilon, steps=4)
    lie = 1 / (protocol.odds + 1)
    first, rest = divmod(lie * 256, 1)
    second = int(rest * 2**64)
    for j in range(5):
        ones = Fraction(0)
        for quarter in range(4):
            for byte in range(256):
                words, weight = [quarter << 62, byte], Fraction(1, 4 * 256)
                if byte == first:  # 64 more bits: those below the threshold lie
                    for more, share in ((0, rest), (2**64 - 1, 1 - rest)):
                        bit = protocol.draw(np.array([j]), Words([*words, more]))[0]
                        ones += weight * share * int(bit)
                else:
                    ones += weight * int(protocol.draw(np.array([j]), Words(words))[0])
        assert ones == protocol.channel()[1][j]
    near = [second - 1, second + 1]
    bits = [protocol.draw(np.array([0]), Words([0, int(first), word]))[0] for word in near]
    assert bits == [1, 0]


def test_a_tie_is_settled_by_further_bits() -> None:
    protocol = OneBit(0, 1, epsilon=1, steps=1)
    first, rest = divmod(256 / (protocol.odds + 1), 1)
    second, more = divmod(rest * 2**64, 1)
    third = int(more * 2**64)
    words = [int(first), int(second)]  # a single step needs no word of its own
    assert protocol.draw(np.array([0]), Words([*words, third - 1]))[0] == 1
    assert protocol.draw(np.array([0]), Words([*words, third + 1]))[0] == 0


@pytest.mark.parametrize("kind", [OneBit, Piecewise])
def test_reports_are_small_numbers_one_for_each_value(kind: type[OneBit | Piecewise]) -> None:
    protocol = kind(0, 10, epsilon=1)
    reports = protocol.client().encode(np.linspace(-5, 15, 100_001))
    assert len(reports) == 100_001
    assert reports.data.dtype == (np.uint8 if kind is OneBit else np.uint16)
    assert int(reports.data.max()) < protocol.outputs
    assert reports.protocol == protocol.fingerprint
    pieces = list(protocol.client().stream(np.arange(10), at_once=4))
    assert [len(piece) for piece in pieces] == [4, 4, 2]
    empty = protocol.client().encode(np.array([]))
    assert len(empty) == 0
    assert empty.data.dtype == reports.data.dtype


@pytest.mark.parametrize("kind", [OneBit, Piecewise])
def test_values_that_change_under_way_give_reports_of_the_range(
    kind: type[OneBit | Piecewise],
) -> None:
    """A stream reads the array of the caller, who may write to it meanwhile."""
    protocol, values = kind(0, 10, epsilon=1, steps=4), np.zeros(100)
    pieces = protocol.client().stream(values, at_once=50)
    next(pieces)
    values[:] = np.nan
    assert protocol.accepts(next(pieces).data)
