# SPDX-License-Identifier: Apache-2.0
"""The demonstration: questions about an invented hospital, answered privately."""

from dataclasses import dataclass
from typing import NamedTuple

import sordino as so
from sordino.cli.demo_data import WARDS, Person

CONFIDENCE = 0.95
LONGEST_STAY = 30

People = tuple[Person, ...]
Mechanism = so.Laplace | so.Gaussian | so.PermuteAndFlip


class Interval(NamedTuple):
    """One private number with its error bar, and the exact number it stands for."""

    label: str
    noisy: float
    low: float
    high: float
    exact: float


class Choice(NamedTuple):
    """A name that was chosen privately, how far behind the best it may be, and the best one."""

    name: str
    gap: float
    exact: str


class Cost(NamedTuple):
    """What answers cost, in both currencies; each column adds up on its own."""

    epsilon: float
    delta: float
    rho: float


@dataclass(frozen=True, slots=True)
class Answer:
    """A question, the Python behind its answer, and what came out."""

    question: str
    remark: str
    short: str
    code: str
    mechanisms: tuple[Mechanism, ...]
    intervals: tuple[Interval, ...] = ()
    choice: Choice | None = None
    delta: float = 0.0

    @property
    def cost(self) -> Cost:
        """Return what the mechanisms behind this answer cost together."""
        return Cost(
            epsilon=sum(one.loss.epsilon(delta=self.delta) for one in self.mechanisms),
            delta=self.delta,
            rho=sum(one.loss.rho for one in self.mechanisms),
        )


def answers(people: People) -> tuple[Answer, ...]:
    """Ask every question of the demonstration once."""
    return (
        count_flu(people),
        count_wards(people),
        average_stay(people),
        count_elders(people),
        choose_ward(people),
    )


def count_flu(people: People) -> Answer:
    """Count the persons with the flu: adding or removing one person moves the count by 1."""
    flu = sum(p.flu for p in people)
    m = so.Laplace(sensitivity=1, epsilon=0.15)
    return Answer(
        question="How many persons had the flu?",
        remark="One person more or less moves a count by 1: that is its sensitivity.",
        short="persons with flu",
        code="""\
flu = sum(p.flu for p in people)
m = so.Laplace(sensitivity=1, epsilon=0.15)
m.release(flu), m.accuracy(confidence=0.95)""",
        mechanisms=(m,),
        intervals=(_around("", m.release(flu), m.accuracy(confidence=CONFIDENCE), flu),),
    )


def count_wards(people: People) -> Answer:
    """Count the persons of each ward: one person is on one ward, so the whole list moves by 1."""
    wards = [sum(p.ward == ward for p in people) for ward in WARDS]
    m = so.Laplace(sensitivity=1, epsilon=0.1)
    radius = m.accuracy(confidence=CONFIDENCE, coordinates=len(WARDS))
    triples = zip(WARDS, m.release(wards).tolist(), wards, strict=True)
    return Answer(
        question="How many persons were on each ward?",
        remark="One person is on one ward, so the whole list moves by 1. "
        "All five error bars hold at once.",
        short="persons on each ward",
        code="""\
wards = [
    sum(p.ward == w for p in people) for w in WARDS
]
m = so.Laplace(sensitivity=1, epsilon=0.1)
m.release(wards)
m.accuracy(confidence=0.95, coordinates=5)""",
        mechanisms=(m,),
        intervals=tuple(_around(ward, noisy, radius, exact) for ward, noisy, exact in triples),
    )


def average_stay(people: People) -> Answer:
    """Divide a private sum by a private count; one person moves the sum by at most 30 days.

    The quotient asked for is that of the stays as they are counted, each up to 30 days.
    """
    days = sum(min(p.days, LONGEST_STAY) for p in people)
    for_total = so.Laplace(sensitivity=30, epsilon=0.3)
    for_count = so.Laplace(sensitivity=1, epsilon=0.1)
    total, count = for_total.release(days), for_count.release(len(people))
    each = 1 - (1 - CONFIDENCE) / 2  # both error bars hold at once with the confidence asked for
    spread, miscount = for_total.accuracy(confidence=each), for_count.accuracy(confidence=each)
    mean = Interval(
        label="",
        noisy=total / max(count, 1),
        low=max(total - spread, 0) / max(count + miscount, 1),
        high=(total + spread) / max(count - miscount, 1),
        exact=days / len(people),
    )
    return Answer(
        question=f"What was the average stay, counting at most {LONGEST_STAY} days each?",
        remark=f"A private sum, which one person moves by at most {LONGEST_STAY}, divided by a "
        "private count. Each keeps to an error bar at 97.5 %, so both do at 95 %; ± is how far "
        "off the quotient can be then.",
        short="average stay",
        code="""\
days = sum(min(p.days, 30) for p in people)
s = so.Laplace(sensitivity=30, epsilon=0.3)
c = so.Laplace(sensitivity=1, epsilon=0.1)
total, count = s.release(days), c.release(len(people))
a, b = (m.accuracy(confidence=0.975) for m in (s, c))
total / count
(total - a) / (count + b), (total + a) / (count - b)""",
        mechanisms=(for_total, for_count),
        intervals=(mean,),
    )


def count_elders(people: People) -> Answer:
    """Count the persons of 65 or over, with Gaussian noise and a small delta."""
    elders = sum(p.age >= 65 for p in people)
    m = so.Gaussian(sensitivity=1, epsilon=0.3, delta=1e-6)
    return Answer(
        question="How many persons were 65 or older?",
        remark=f"Gaussian noise with sigma {float(m.sigma):.1f}: "
        "its tails are thinner, and it costs a small delta too.",
        short="persons of 65 or older",
        code="""\
elders = sum(p.age >= 65 for p in people)
m = so.Gaussian(sensitivity=1, epsilon=0.3, delta=1e-6)
m.release(elders), m.accuracy(confidence=0.95)""",
        mechanisms=(m,),
        intervals=(_around("", m.release(elders), m.accuracy(confidence=CONFIDENCE), elders),),
        delta=1e-6,
    )


def choose_ward(people: People) -> Answer:
    """Choose the ward with the most persons with the flu: the answer is a name, not a number."""
    flu = [sum(p.flu for p in people if p.ward == ward) for ward in WARDS]
    m = so.PermuteAndFlip(sensitivity=1, epsilon=0.05, monotone=True)
    gap = m.accuracy(confidence=CONFIDENCE, candidates=len(WARDS)).gap
    exact = WARDS[flu.index(max(flu))]
    return Answer(
        question="Which ward had the most persons with the flu?",
        remark="The answer is a name out of a public list, and the noise goes into the choice. "
        "One person more or less moves all counts the same way, so they are monotone.",
        short="ward with most flu",
        code="""\
flu = [
    sum(p.flu for p in people if p.ward == w)
    for w in WARDS
]
m = so.PermuteAndFlip(
    sensitivity=1, epsilon=0.05, monotone=True
)
WARDS[m.release(flu)]
m.accuracy(confidence=0.95, candidates=5)""",
        mechanisms=(m,),
        choice=Choice(WARDS[m.release(flu)], gap, exact),
    )


def total_cost(costs: list[Cost]) -> Cost:
    """Add the costs up: a bound that holds whatever was asked, in whatever order."""
    return Cost(*(sum(column) for column in zip(*costs, strict=True)))


def _around(label: str, noisy: float, radius: float, exact: float) -> Interval:
    return Interval(label, noisy, noisy - radius, noisy + radius, exact)
