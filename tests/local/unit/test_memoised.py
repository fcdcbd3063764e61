# SPDX-License-Identifier: Apache-2.0
"""Reports that are kept and sent again lose no more than they are said to."""

import copy
import itertools
import json
import math
import pickle
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino.local import Hadamard, Hashing, Protocol, Response, Subset, Unary
from sordino.local.memoised import Memoised, MemoisedClient, odds_between
from tests.support.seeded import SeededBits
from tests.support.tape import replay

LABELS = ["no", "yes", "unsure"]
PROTOCOLS = [
    Response(LABELS, epsilon=1),
    Unary(LABELS, epsilon=1),
    Hashing(LABELS, epsilon=1),
    Hadamard(LABELS, epsilon=1),
    Subset(LABELS, epsilon=1),
]
KEPT = Response(LABELS, epsilon=3)
TWICE = Memoised(KEPT, epsilon_each=1)
Channel = dict[int, tuple[Fraction, ...]]


def response(odds: Fraction, categories: int) -> Channel:
    codes, whole = range(categories), odds + categories - 1
    return {y: tuple((odds if x == y else Fraction(1)) / whole for x in codes) for y in codes}


def followed(first: Channel, second: Channel) -> Channel:
    codes = range(len(first))
    return {
        z: tuple(sum((first[y][x] * second[z][y] for y in codes), Fraction(0)) for x in codes)
        for z in codes
    }


@pytest.mark.parametrize("categories", [2, 3, 10])
@pytest.mark.parametrize(("epsilon", "each"), [(2, 1), (1, Fraction(1, 100)), (5, 4.999)])
def test_two_responses_are_exactly_one_with_the_stated_epsilon(
    categories: int, epsilon: Any, each: Any
) -> None:
    question = Memoised(Response(categories, epsilon=epsilon), epsilon_each=each)
    assert question.again is not None
    assert question.again > 1
    both = followed(question.protocol.channel(), response(question.again, categories))
    assert both == question.sent.channel() == Response(categories, epsilon=each).channel()
    r, s, k = question.protocol.odds, question.again, categories
    assert (r * s + k - 1) / (r + s + k - 2) == question.sent.odds


@pytest.mark.parametrize("categories", [2, 4])
def test_all_reports_of_a_value_that_never_changes_lose_epsilon_and_no_more(
    categories: int,
) -> None:
    question = Memoised(Response(categories, epsilon=1), epsilon_each=Fraction(1, 2))
    assert question.again is not None
    first, second = question.protocol.channel(), response(question.again, categories)
    for reports in (1, 2, 4):
        for seen in itertools.product(range(categories), repeat=reports):
            chances = [
                sum(
                    first[kept][x] * math.prod(second[z][kept] for z in seen)
                    for kept in range(categories)
                )
                for x in range(categories)
            ]
            worst = max(chances) / min(chances)
            assert worst <= question.protocol.odds
            assert worst <= question.sent.odds**reports


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
def test_a_value_that_is_true_again_sends_the_same_report(protocol: Protocol) -> None:
    client = Memoised(protocol).client(people=200)
    one, other = ["no"] * 200, ["yes"] * 100 + ["no"] * 100
    first, second = client.encode(one), client.encode(other)
    assert client.encode(one) == first
    assert client.encode(other) == second
    assert np.array_equal(first.data[100:], second.data[100:])
    assert not np.array_equal(first.data[:100], second.data[:100])
    assert first.protocol == protocol.fingerprint
    server = Memoised(protocol).server()
    server.add(first)
    assert server.estimate()["no"].high > 0.5


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
def test_a_memory_that_was_stored_sends_the_same_reports(protocol: Protocol) -> None:
    question = Memoised(protocol)
    client = question.client(people=50)
    empty = question.client(people=50, memory=client.to_bytes())
    assert empty.to_bytes() == client.to_bytes()
    first, second = client.encode(["no"] * 50), client.encode(["yes", "no"] * 25)
    again = question.client(people=50, memory=client.to_bytes())
    assert again.encode(["yes", "no"] * 25) == second
    assert again.encode(["no"] * 50) == first
    assert again.to_bytes() == client.to_bytes()
    assert again.encode(["unsure"] * 50).protocol == first.protocol
    assert len(again.to_bytes()) > len(client.to_bytes())


def test_losses_grow_with_the_number_of_values_and_not_of_reports() -> None:
    client = TWICE.client()
    for _ in range(30):
        client.encode("yes")
    assert client.loss(values=1) == KEPT.loss
    assert client.loss(values=2) == KEPT.loss * 2
    assert client.loss(values=2).epsilon(delta=0) == 6
    assert client.loss(values=99) == KEPT.loss * 3  # there are but three categories
    assert client.loss_each == Response(LABELS, epsilon=1).loss
    assert Memoised(KEPT).client().loss_each == KEPT.loss


def test_histories_that_change_at_the_same_times_lose_a_kept_report_for_each_value() -> None:
    codes, channel = range(3), KEPT.channel()
    for kept in itertools.product(codes, repeat=2):  # what is sent while the first value is true
        chances = [
            channel[kept[0]][first] * channel[kept[1]][second]
            for first, second in itertools.permutations(codes, 2)
        ]
        assert max(chances) / min(chances) <= KEPT.odds**2


def drawn(client: MemoisedClient, values: list[str], rounds: int) -> list[Any]:
    return [client.encode(values).data for _ in range(rounds)]


def test_repeated_reports_differ_but_lean_to_the_kept_one() -> None:
    with replay(SeededBits(5)):
        client = TWICE.client(people=2000)
        rounds = np.array(drawn(client, ["yes"] * 2000, 60))
    kept = client._kept[1]
    agreeing = (rounds == kept).mean()
    assert TWICE.again is not None
    expected = float(TWICE.again / (TWICE.again + 2))
    assert abs(agreeing - expected) < 5 * (expected * (1 - expected) / rounds.size) ** 0.5
    assert (rounds != rounds[0]).any(axis=0).mean() > 0.99


def test_estimates_of_every_round_are_unbiased() -> None:
    truth = ["no"] * 6000 + ["yes"] * 3000 + ["unsure"] * 1000
    with replay(SeededBits(6)):
        client = TWICE.client(people=len(truth))
        for _ in range(3):
            whole, half = TWICE.server(), TWICE.server()
            reports = client.encode(truth)
            whole.add(reports)
            half.add(type(reports)(reports.protocol, reports.data[:5000]))
            rest = TWICE.server()
            rest.add(type(reports)(reports.protocol, reports.data[5000:]))
            half.merge(rest)
            assert half == whole
            for line in whole.estimate():
                share = truth.count(str(line.label)) / len(truth)
                assert abs(line.frequency - share) < 5.5 * line.standard_error  # 1 in 2e7


def test_the_second_response_moves_evenly() -> None:
    with replay(SeededBits(7)):
        client = TWICE.client(people=30_000)
        sent = client.encode(["yes"] * 30_000).data.astype(np.int64)
    moved = (sent - client._kept[1]) % 3
    seen = Counter(moved.tolist())
    assert TWICE.again is not None
    chance = float(1 / (TWICE.again + 2))
    for step in (1, 2):
        assert abs(seen[step] - 30_000 * chance) < 5.5 * (30_000 * chance) ** 0.5


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
def test_threads_that_share_a_client_draw_one_report_for_each_value(protocol: Protocol) -> None:
    workers, rounds = 4, 6
    start = threading.Barrier(workers)

    def work(client: MemoisedClient) -> list[bytes]:
        start.wait()
        return [client.encode([label] * 20).to_bytes() for label in LABELS]

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(workers) as pool:
            for _ in range(rounds):
                client = Memoised(protocol).client(people=20)
                seen = list(pool.map(work, [client] * workers))
                assert all(reports == seen[0] for reports in seen)
                again = Memoised(protocol).client(people=20, memory=client.to_bytes())
                assert [again.encode([label] * 20).to_bytes() for label in LABELS] == seen[0]
    finally:
        sys.setswitchinterval(before)


def test_a_client_is_not_copied() -> None:
    client = TWICE.client()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"cannot be copied or pickled.* store to_bytes\(\)"):
            attempt(client)


def test_values_that_have_a_report_take_as_many_coins_as_new_ones() -> None:
    class Counted(SeededBits):
        drawn = 0

        def fill(self, out: Any) -> None:
            Counted.drawn += out.nbytes
            super().fill(out)

    client, used = Memoised(Unary(LABELS, epsilon=1)).client(people=64), []
    for _ in range(3):
        before = Counted.drawn
        with replay(Counted(9)):
            client.encode(["yes"] * 64)
        used.append(Counted.drawn - before)
    assert used == [used[0]] * 3
    assert used[0] > 0


def test_values_are_refused_unseen() -> None:
    client = TWICE.client(people=2)
    with pytest.raises(ValueError, match="none of the 3 categories") as caught:
        client.encode(["yes", "perhaps"])
    assert "perhaps" not in str(caught.value)
    with pytest.raises(ValueError, match="serves 2 people, and 1 values were given"):
        client.encode("yes")
    assert repr(client) == repr(TWICE.client())
    assert "yes" not in repr(client)


@pytest.mark.parametrize(
    ("protocol", "each", "error", "message"),
    [
        ("Response", None, TypeError, "protocol must be one for categories"),
        (Unary(3, epsilon=1), 0.5, TypeError, "epsilon_each is for Response only"),
        (KEPT, 3, ValueError, "epsilon_each must be below .* 3, got 3"),
        (KEPT, 4, ValueError, "epsilon_each must be below"),
        (KEPT, 0, ValueError, "epsilon must be a positive number"),
    ],
)
def test_bad_settings_are_refused(
    protocol: Any, each: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Memoised(protocol, epsilon_each=each)


def broken() -> list[bytes]:
    client = TWICE.client(people=2)
    client.encode(["no", "yes"])
    good = client.to_bytes()
    line, _, rest = good.partition(b"\n")
    header = json.loads(line)
    changed = [
        {"kind": "memory"},
        {"keys": [0]},
        {"keys": [4, 0]},
        {"keys": [0, 0]},
        {"keys": [-1, 4]},
        {"keys": [0, 6]},
        {"keys": [0, 10**30]},
        {"keys": [0, 4.0]},
        {"keys": [False, 4]},
        {"keys": "04"},
    ]
    other = Memoised(Response(LABELS, epsilon=2)).client(people=2)
    other.encode(["no", "yes"])
    return [
        b"",
        b"null\n",
        b"[" * 100_000,
        good[:-1],
        good + b"x",
        line + b"\n" + rest[:-1] + b"\x03",
        other.to_bytes(),
        *(json.dumps(header | change).encode() + b"\n" + rest for change in changed),
    ]


@pytest.mark.parametrize("memory", broken(), ids=range(17))
def test_a_broken_memory_is_refused(memory: bytes) -> None:
    with pytest.raises(ValueError, match="no whole memory of this protocol"):
        TWICE.client(people=2, memory=memory)


def test_a_memory_of_other_people_is_refused() -> None:
    with pytest.raises(ValueError, match="another number of people"):
        TWICE.client(people=3, memory=TWICE.client(people=2).to_bytes())
    with pytest.raises(ValueError, match="at most"):
        TWICE.client(people=2**40)


def test_the_odds_of_the_second_response_by_hand() -> None:
    assert odds_between(Fraction(3), Fraction(2), 2) == 5  # (3 * 5 + 1) / (3 + 5) = 2
    assert odds_between(Fraction(4), Fraction(2), 4) == Fraction(9, 2)
