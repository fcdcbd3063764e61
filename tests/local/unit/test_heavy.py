# SPDX-License-Identifier: Apache-2.0
"""Heavy hitters: private whatever the word, counted right, and never more work than stated."""

import itertools
import math
import re
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino.local.heavy import Found, HeavyHitters, WordServer
from sordino.local.randomizer import Reports
from tests.support.seeded import SeededBits
from tests.support.tape import replay

TINY = HeavyHitters(epsilon=1, length=2, alphabet="ab", prime=5)
WORDS = ["", "a", "b", "aa", "ab", "ba", "bb"]
GIVEN: dict[str, Any] = {"epsilon": 3, "length": 3, "alphabet": "abc"}
SMALL = HeavyHitters(**GIVEN, least=0.05)


def law(protocol: HeavyHitters, word: str) -> Counter[tuple[int, ...]]:
    """The exact law of the report of a word: all that can be drawn, put through the code."""
    prime, levels = protocol.hashing.prime, protocol.levels
    blocks = protocol.domain.blocks
    found: Counter[tuple[int, ...]] = Counter()
    drawn = list(protocol.hashing.channel().items())
    for level in range(levels):
        numbers = protocol.prefixes(protocol.domain.symbols(word), np.array([level]))
        for others in itertools.product(range(prime), repeat=blocks - 1):
            reports = protocol.arranged(
                np.full(len(drawn), level),
                np.repeat(numbers, len(drawn), axis=0),
                np.tile(np.array(others, dtype=np.uint32), (len(drawn), 1)),
                np.array([outcome for outcome, _ in drawn], dtype=np.uint32),
            )
            for report, (_, chances) in zip(reports.tolist(), drawn, strict=True):
                chance = chances[int(numbers[0, 0])] / levels / prime ** (blocks - 1)
                found[tuple(report)] += chance
    return found


def is_inside(protocol: HeavyHitters, report: tuple[int, ...], numbers: list[int]) -> bool:
    """Whether a report supports a prefix, by the definition of the hash."""
    prime, buckets = protocol.hashing.prime, protocol.hashing.buckets
    *steps, start, bucket = report[1:]
    value = (sum(a * x for a, x in zip(steps, numbers, strict=True)) + start) % prime
    return bucket * prime // buckets <= value < (bucket + 1) * prime // buckets


@pytest.fixture(scope="module")
def laws() -> dict[str, Counter[tuple[int, ...]]]:
    return {word: law(TINY, word) for word in WORDS}


def test_the_law_of_a_report_is_that_of_hashing_for_every_word(
    laws: dict[str, Counter[tuple[int, ...]]],
) -> None:
    odds, buckets = TINY.hashing.odds, TINY.hashing.buckets
    assert TINY.domain.blocks == 2
    for word, found in laws.items():
        assert len(found) == 2 * 5**3 * buckets
        assert sum(found.values()) == 1
        for report, chance in found.items():
            symbols = TINY.domain.symbols(word)
            numbers = TINY.prefixes(symbols, np.array(report[:1]))[0].tolist()
            weight = odds if is_inside(TINY, report, numbers) else 1
            assert chance == weight / (odds + buckets - 1) / (2 * 5**3)


def test_no_report_tells_two_words_apart_by_more_than_epsilon(
    laws: dict[str, Counter[tuple[int, ...]]],
) -> None:
    ratios = [
        laws[one][report] / laws[other][report]
        for one, other in itertools.permutations(WORDS, 2)
        for report in laws[one]
    ]
    assert max(ratios) == TINY.hashing.odds < Fraction("2.7182818284590452354")
    assert TINY.loss.pure == 1


def test_neither_level_nor_hash_function_depends_on_the_word(
    laws: dict[str, Counter[tuple[int, ...]]],
) -> None:
    for found in laws.values():
        open_part: Counter[tuple[int, ...]] = Counter()
        for report, chance in found.items():
            open_part[report[:-1]] += chance
        assert set(open_part.values()) == {Fraction(1, 2 * 5**3)}


def test_a_report_supports_its_prefix_and_any_other_with_the_stated_chances(
    laws: dict[str, Counter[tuple[int, ...]]],
) -> None:
    for word, other in itertools.product(WORDS, WORDS):
        for level in (0, 1):
            own, numbers = (
                TINY.prefixes(TINY.domain.symbols(w), np.array([level]))[0].tolist()
                for w in (word, other)
            )
            chance = sum(
                chance
                for report, chance in laws[word].items()
                if report[0] == level and is_inside(TINY, report, numbers)
            )
            expected = TINY.hashing.truth if own == numbers else TINY.hashing.other
            assert chance * 2 == expected


def reports_of(protocol: HeavyHitters, words: list[str], seed: int = 1) -> Reports:
    with replay(SeededBits(seed)):
        return protocol.client().encode(words)


def server_of(protocol: HeavyHitters, *many: Reports) -> WordServer:
    server = protocol.server()
    for reports in many:
        server.add(reports)
    return server


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("prime", [7, 2**31 - 1])
def test_supports_are_counted_for_every_extension(step: int, prime: int) -> None:
    protocol = HeavyHitters(epsilon=2, length=3, alphabet="ab", step=step, prime=prime)
    assert protocol.ends == {1: (1, 2, 3), 2: (2, 3), 3: (3,)}[step]
    data = reports_of(protocol, ["aba", "b", "", "ab"] * 25).data
    server = protocol.server()
    parents: list[tuple[int, ...]] = [()]
    for level, end in enumerate(protocol.ends):
        rows = data[data[:, 0] == level]
        found = server._passed(level, rows[:, 1:], parents, 0.0)
        every = [p for p in itertools.product(range(3), repeat=end) if "0" not in ended(p)]
        assert sorted(found) == every
        for prefix, count in found.items():
            numbers = protocol.domain.numbers(np.array([prefix]))[0].tolist()
            assert count == sum(is_inside(protocol, tuple(r), numbers) for r in rows.tolist())
        parents = list(found)


def ended(prefix: tuple[int, ...]) -> str:
    """What stands between an end mark and a letter: nothing, if the prefix is one of words."""
    text = "".join(map(str, prefix))
    return text.rstrip("0")


def test_a_search_finds_the_words_that_many_hold() -> None:
    words = ["abc"] * 2700 + ["ab"] * 2100 + ["a"] * 2400 + [""] * 1800 + ["cc", "ca"] * 10
    protocol = HeavyHitters(epsilon=6, length=3, alphabet="abc", least=0.05)
    assert protocol.threshold(len(words)) < 0.2
    found = server_of(protocol, reports_of(protocol, words)).estimate()
    assert set(found.labels) == {"abc", "ab", "a", ""}
    for line in found:
        share = words.count(str(line.label)) / len(words)
        assert line.low <= share <= line.high
        assert abs(line.frequency - share) < 6 * line.standard_error
    assert list(found.frequencies) == sorted(found.frequencies, reverse=True)
    assert found.together
    assert not found.crowded
    assert found.least == 0.05 < found.threshold < 0.2
    assert "every word of at least" in str(found)
    assert "none below 5 %" in str(found)
    assert found.to_json()["threshold"] == found.threshold
    assert 0 <= found.projected().frequencies.min() <= found.projected().frequencies.sum() <= 1


def test_with_few_people_nothing_is_found_and_nothing_promised() -> None:
    found = server_of(SMALL, reports_of(SMALL, ["abc"])).estimate()
    assert len(found) == 0
    assert found.threshold == math.inf
    assert "too few people" in str(found)
    assert found.to_json()["threshold"] is None
    assert len(found.projected()) == 0
    with pytest.raises(ValueError, match="nothing to draw, as nothing was found"):
        found.plot()


def test_servers_merge_in_any_order_to_the_same_state() -> None:
    parts = [reports_of(SMALL, ["abc", "b"] * 30, seed) for seed in range(3)]
    states = set()
    for order in itertools.permutations(parts):
        first, second = server_of(SMALL, order[0]), server_of(SMALL, *order[1:])
        first.merge(second)
        states.add(first.to_bytes())
        assert first.people == 180
    assert len(states) == 1
    again = SMALL.server()
    again.load(states.pop())
    assert again == server_of(SMALL, *parts)
    assert again != SMALL.server()
    assert again.estimate().labels == server_of(SMALL, *parts).estimate().labels
    empty = SMALL.server()
    empty.merge(SMALL.server())
    empty.load(SMALL.server().to_bytes())
    assert empty.people == 0


def test_reports_that_change_after_they_were_added_change_nothing() -> None:
    reports = reports_of(SMALL, ["a"] * 9)
    server = server_of(SMALL, reports)
    before = server.to_bytes()
    reports.data[:] = 0
    assert server.to_bytes() == before


def test_a_server_may_choose_another_least_share_than_the_clients_know_of() -> None:
    other = HeavyHitters(epsilon=3, length=3, alphabet="abc", least=0.1)
    assert other.fingerprint == SMALL.fingerprint
    server_of(other, reports_of(SMALL, ["a"]))


@pytest.mark.parametrize(
    "change", [{"epsilon": 2}, {"length": 4}, {"alphabet": "acb"}, {"step": 2}, {"prime": 101}]
)
def test_reports_of_another_protocol_are_refused(change: dict[str, Any]) -> None:
    other = HeavyHitters(**GIVEN | change)
    with pytest.raises(ValueError, match="made by another protocol"):
        server_of(SMALL, reports_of(other, ["a"]))
    with pytest.raises(ValueError, match="made by another protocol"):
        SMALL.server().merge(other.server())


def test_damaged_reports_are_refused_whole() -> None:
    good = reports_of(SMALL, ["a"] * 5)
    server = SMALL.server()
    for column, value in enumerate((3, 2**31 - 1, 2**31 - 1, SMALL.hashing.buckets)):
        data = good.data.copy()
        data[2, column] = value
        with pytest.raises(ValueError, match="damaged"):
            server.add(Reports(good.protocol, data))
    for data in (good.data[:, :3], good.data[0], good.data.astype(np.uint64)):
        with pytest.raises(ValueError, match="damaged"):
            server.add(Reports(good.protocol, data))
    with pytest.raises(TypeError, match="takes the reports"):
        server.add(good.data)  # type: ignore[arg-type]  # the point of the test
    with pytest.raises(ValueError, match="cannot be merged into itself"):
        server.merge(server)
    with pytest.raises(TypeError, match="only a server of words"):
        server.merge(SMALL)  # type: ignore[arg-type]  # the point of the test
    with pytest.raises(ValueError, match="no whole reports"):
        server.load(good.to_bytes()[:-1])
    with pytest.raises(ValueError, match="add some first"):
        server.estimate()
    assert server.people == 0


def test_reports_that_support_everything_are_noticed_and_make_no_more_work() -> None:
    protocol = HeavyHitters(epsilon=4, length=4, alphabet="abcd", least=0.1)
    honest = reports_of(protocol, ["abc"] * 2000)
    lies = np.zeros((2000, 4), dtype=np.uint32)
    lies[:, 0] = np.arange(2000) % 4  # a hash function that maps all prefixes to the first bucket
    server = server_of(protocol, honest, Reports(protocol.fingerprint, lies))
    found = server.estimate()
    assert found.crowded
    assert "are all clients honest?" in str(found)
    assert len(found) == protocol.kept == 10
    assert found.labels[0] == "abc"
    assert found.projected().frequencies.sum() == pytest.approx(1)


def test_a_report_is_as_long_as_stated() -> None:
    protocol = HeavyHitters(epsilon=2, length=8)
    assert protocol.domain.blocks == 2
    assert protocol.report_bits == 3 + 3 * 31 + 3
    streamed = list(protocol.client().stream(["a", "b", "c"], at_once=2))
    assert [len(part) for part in streamed] == [2, 1]
    assert all(part.data.shape[1] == 5 for part in streamed)


def test_more_people_a_larger_epsilon_and_a_larger_step_lower_the_threshold() -> None:
    base = HeavyHitters(epsilon=1, length=8)
    at = base.threshold(10**6)
    assert base.threshold(10**7) < at < base.threshold(10**6, confidence=0.999)
    assert HeavyHitters(epsilon=2, length=8).threshold(10**6) < at
    assert HeavyHitters(epsilon=1, length=8, step=2).threshold(10**6) < at
    with pytest.raises(ValueError, match="with 50 people no word is sure to be found"):
        base.threshold(50)


def test_a_confidence_next_to_one_is_kept_in_full() -> None:
    protocol = HeavyHitters(epsilon=6, length=3, alphabet="abc", least=0.05, step=3)
    sure = [1 - Fraction(1, 10**digits) for digits in (2, 15, 20, 100)]
    thresholds = [protocol.threshold(10**4, confidence=level) for level in sure]
    assert thresholds == sorted(set(thresholds))
    assert protocol.promises(sure[3]).each == pytest.approx(2e-101)
    server = server_of(protocol, reports_of(protocol, ["abc"] * 6000 + ["b"] * 4000))
    found = [server.estimate(confidence=level) for level in sure]
    widths = [float(lines["abc"].high - lines["abc"].low) for lines in found]
    assert widths == sorted(set(widths))
    assert "with confidence 0.9999999999999999\n" in str(found[3])


def found_between(low: float, high: float) -> Found:
    shares, lows, highs, errors = (np.array([x]) for x in (-0.00001, low, high, 0.1))
    return Found(("a",), 9, 0.95, True, shares, lows, highs, errors, 0.5, 0.1, False)


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.12349, 0.56781, ["12.34 %", "56.79 %"]),
        (0.29, 0.57, ["29.00 %", "57.00 %"]),
        (0.0, 0.000001, ["0.00 %", "0.01 %"]),
        (0.999999, 1.0, ["99.99 %", "100.00 %"]),
        (-0.01, 1.01, ["0.00 %", "100.00 %"]),
    ],
)
def test_a_table_rounds_limits_outwards(low: float, high: float, shown: list[str]) -> None:
    line = str(found_between(low, high)).splitlines()[1]
    assert re.split(r"\s\s+", line) == ["a", "0.00 %", *shown]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"epsilon": 0}, ValueError, "epsilon must be a positive number"),
        ({"least": 0}, ValueError, "least must be a number between 0 and 1"),
        ({"least": 1}, ValueError, "least must be a number between 0 and 1"),
        ({"step": 9}, ValueError, "step must be at most length"),
        ({"step": 4}, ValueError, "a server would look at 531,441,000 prefixes"),
        ({"prime": 91}, ValueError, "prime must be a prime number"),
        ({"prime": 2**31}, ValueError, "prime must be a prime number"),
        ({"prime": "101"}, TypeError, "prime must be a positive whole number"),
        ({"prime": None}, TypeError, "prime must be a positive whole number"),
        ({"length": "8"}, TypeError, "length must be a positive whole number"),
    ],
)
def test_bad_settings_are_refused(
    change: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        HeavyHitters(**{"epsilon": 1, "length": 8} | change)


def test_words_that_do_not_fit_are_refused_unseen_or_reported_as_another() -> None:
    with pytest.raises(ValueError, match="1 of 2 are not") as caught:
        SMALL.client().encode(["ab", "zebra"])
    assert "zebra" not in str(caught.value)
    kind = HeavyHitters(epsilon=3, length=3, alphabet="abc", otherwise="")
    assert len(kind.client().encode(["ab", "zebra"])) == 2
    for value in (None, float("nan"), "\ud800", b"ab", 5, ["\ud800"]):
        assert len(kind.client().encode(value)) == 1
    assert len(kind.client().encode(["ab", 5, None])) == 3
    assert "zebra" not in repr(kind.client()) + repr(kind) + repr(kind.server())
