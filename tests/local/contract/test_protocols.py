# SPDX-License-Identifier: Apache-2.0
"""Laws for every local protocol, in exact fractions: privacy, no bias, variance, merging."""

from collections import defaultdict
from fractions import Fraction
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest

from sordino.local import Protocol, Server
from sordino.numbers.balls import ball, exp_neg, is_positive
from tests.local.contract.protocols import EVERY, EXAMPLES, concrete, laws, report_of, support
from tests.support.frequencies import assert_fits
from tests.support.seeded import SeededBits
from tests.support.tape import replay

every = pytest.mark.parametrize("protocol", EVERY, ids=repr)
EPSILONS = (Fraction(0), Fraction(1, 20), Fraction(1, 2), Fraction(9, 10), Fraction(2))


def test_every_protocol_is_enrolled() -> None:
    assert set(EXAMPLES) == concrete(Protocol)
    assert all(EXAMPLES.values())


@every
def test_no_report_is_likelier_by_more_than_the_odds(protocol: Protocol) -> None:
    channel = protocol.channel()
    assert all(min(chances) > 0 for chances in channel.values())
    worst = max(max(chances) / min(chances) for chances in channel.values())
    assert worst <= protocol.odds
    assert is_positive(lambda: ball(protocol.epsilon).exp() - ball(protocol.odds))
    near = protocol.odds * (1 + Fraction(1, 1 << 60))
    assert is_positive(lambda: ball(near) - ball(protocol.epsilon).exp())


@every
def test_the_chances_of_all_reports_add_up_to_one(protocol: Protocol) -> None:
    assert all(sum(law.values()) == 1 for law in laws(protocol))


@every
def test_a_report_supports_a_category_with_the_chances_that_are_stated(protocol: Protocol) -> None:
    for category, law in enumerate(laws(protocol)):
        seen = [Fraction(0)] * len(protocol.domain)
        for report, chance in law.items():
            for other, hit in enumerate(support(protocol, report)):
                assert hit in (0, 1)
                seen[other] += chance * hit
        stated = [protocol.other] * len(protocol.domain)
        stated[category] = protocol.truth
        assert seen == stated


@every
def test_estimates_have_no_bias_and_the_stated_variance(protocol: Protocol) -> None:
    """Two people with each pair of values; the law of the count of supports is enumerated."""
    wide = len(protocol.domain)
    for first, second in product(range(wide), repeat=2):
        for category in {0, first, wide - 1}:
            law = _counted(protocol, (first, second), category)
            values = {
                count: (Fraction(count, 2) - protocol.other) / (protocol.truth - protocol.other)
                for count in law
            }
            mean = sum(chance * values[count] for count, chance in law.items())
            share = Fraction((first == category) + (second == category), 2)
            assert mean == share
            spread = sum(chance * (values[count] - mean) ** 2 for count, chance in law.items())
            assert spread == protocol.variance(share) / 2


def _counted(protocol: Protocol, values: tuple[int, ...], category: int) -> dict[int, Fraction]:
    law = {0: Fraction(1)}
    for value in values:
        hit = _supported(protocol)[value][category]
        grown: dict[int, Fraction] = defaultdict(Fraction)
        for count, chance in law.items():
            grown[count + 1] += chance * hit
            grown[count] += chance * (1 - hit)
        law = dict(grown)
    return law


@cache
def _supported(protocol: Protocol) -> list[list[Fraction]]:
    """Return, for each value, the chance that a report supports each category, by enumeration."""
    return [
        [
            sum((c for r, c in law.items() if support(protocol, r)[other]), Fraction(0))
            for other in range(len(protocol.domain))
        ]
        for law in laws(protocol)
    ]


@every
def test_the_loss_covers_every_pair_of_values(protocol: Protocol) -> None:
    """The hockey-stick divergence of each two laws, against what the loss says."""
    columns = list(laws(protocol))
    for epsilon in EPSILONS:
        least = _below_exp(epsilon)  # so that the divergence is not too small
        worst = max(
            sum(max(chance - least * there[report], Fraction(0)) for report, chance in here.items())
            for here, there in permutations(columns, 2)
        )
        assert worst <= Fraction(protocol.loss.delta(epsilon=epsilon)) + Fraction(1, 10**15)


def _below_exp(epsilon: Fraction) -> Fraction:
    return Fraction(1 << 80, exp_neg(epsilon, 80)[1])


@every
def test_what_is_drawn_has_the_law_of_the_channel(protocol: Protocol) -> None:
    """False-alarm rate 1e-6 for each value, of a seed that is fixed."""
    names = {report: place for place, report in enumerate(protocol.channel())}
    for category, law in enumerate(laws(protocol)):
        with replay(SeededBits(category)):
            drawn = protocol.draw(np.full(40_000, category))
        assert protocol.accepts(drawn)
        seen = [names[report_of(protocol, row)] for row in drawn]
        assert_fits(seen, {names[report]: float(chance) for report, chance in law.items()})


@every
def test_servers_merge_in_any_order_to_the_same_state(protocol: Protocol) -> None:
    client = protocol.client()
    values = np.arange(90) % len(protocol.domain)
    labels = [protocol.labels[value] for value in values]
    parts = [client.encode(labels[:40]), client.encode(labels[40:41]), client.encode(labels[41:])]
    sent = [part.to_bytes() for part in parts]
    whole = protocol.server()
    for part in parts:
        whole.add(part)
    assert [part.to_bytes() for part in parts] == sent
    states = set()
    for order in permutations(range(3)):
        servers = [protocol.server() for _ in parts]
        for server, part in zip(servers, parts, strict=True):
            server.add(part)
        first, *rest = (servers[place] for place in order)
        for server in rest:
            first.merge(server)
        again = protocol.server()
        again.load(first.to_bytes())
        assert first == again == whole
        states.add(first.to_bytes())
    assert states == {whole.to_bytes()}


@every
def test_reports_of_another_configuration_are_refused(protocol: Protocol) -> None:
    for other in EVERY:
        reports = other.client().encode(other.labels[0])
        server = protocol.server()
        if other is protocol:
            server.add(reports)
            continue
        with pytest.raises(ValueError, match="another protocol"):
            server.add(reports)
        with pytest.raises(ValueError, match="another protocol"):
            server.merge(Server(other))
        with pytest.raises(ValueError, match="another protocol"):
            server.load(Server(other).to_bytes())
        assert server == Server(protocol)
