# SPDX-License-Identifier: Apache-2.0
"""Scores that one unit moves by different amounts: the generalised exponential mechanism."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from sordino.mechanisms.choose.exponential import Exponential
from sordino.mechanisms.choose.permute_and_flip import PermuteAndFlip
from sordino.mechanisms.choose.scores import each_of, in_row, one_by_one, read_scores
from sordino.mechanisms.mechanism import fill
from sordino.numbers.balls import ball, round_up
from sordino.numbers.rational import Number, confidence_level, covering, positive, written
from sordino.numbers.rounding import reading, up
from sordino.privacy.loss import Loss

Method: TypeAlias = Literal["permute_and_flip", "exponential"]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Generalised:
    """A choice among candidates whose scores have sensitivities of their own.

    With one sensitivity for all, a candidate that hardly moves would get the noise of the one that
    moves most. Here candidates are compared two by two, by the difference of their scores over the
    sum of their sensitivities, after a handicap that makes up for the noise; a candidate's new
    score is its worst comparison, and one unit moves that by 1 at most.

    ``sensitivities`` and scores are in the order of the candidates; sensitivities with names, such
    as a dict, are refused here, and go to ``choose``.

    ``confidence`` sets the handicap. With this confidence the chosen score is at least as large as
    any other score minus 4 ln(candidates / (1 - confidence)) / epsilon of its own sensitivity.

    >>> prices = Generalised(sensitivities=[1, 2, 50], epsilon=1)
    >>> prices.loss.epsilon(delta=0), prices.accuracy()
    (1.0, [16.37737824888841, 32.75475649777682, 818.8689124444204])

    Guarantee:
        Neighbours: any change to the data that moves each score by at most its own sensitivity.
        Loss: that of permute-and-flip, or of the exponential mechanism, on scores of sensitivity 1.
        Numerics: exact; the new scores are fractions, and no float decides an outcome.
        Proof: docs/proofs/choosing.md, theorem 4 (Raskhodnikova and Smith 2016).
    """

    sensitivities: tuple[Fraction, ...]
    epsilon: Fraction
    confidence: Fraction
    mechanism: Method
    handicap: Fraction = field(compare=False)
    _choice: Exponential | PermuteAndFlip = field(compare=False)

    def __init__(
        self,
        *,
        sensitivities: Iterable[Number],
        epsilon: Number,
        confidence: Number = 0.95,
        mechanism: Method = "permute_and_flip",
    ) -> None:
        if mechanism not in ("permute_and_flip", "exponential"):
            raise ValueError(
                f"mechanism must be 'permute_and_flip' or 'exponential', got {mechanism!r}"
            )
        given = in_row("sensitivities", sensitivities)
        lengths = tuple(covering("a sensitivity", length) for length in given)
        if not lengths:
            raise ValueError("there is no candidate to choose: there are no sensitivities")
        price, level = positive("epsilon", epsilon), confidence_level(confidence)
        kind = Exponential if mechanism == "exponential" else PermuteAndFlip
        # Any handicap that does not depend on the data will do.
        exact = round_up(lambda: 2 * ball(len(lengths) / (1 - level)).log() / ball(price))
        fill(
            self,
            sensitivities=lengths,
            epsilon=price,
            confidence=level,
            mechanism=mechanism,
            handicap=Fraction(reading(exact)),
            _choice=kind(sensitivity=1, epsilon=price),
        )

    def __repr__(self) -> str:
        lengths = ", ".join(map(written, self.sensitivities))
        return (
            f"Generalised(sensitivities=[{lengths}], epsilon={written(self.epsilon)}, "
            f"confidence={written(self.confidence)}, mechanism={self.mechanism!r})"
        )

    @property
    def loss(self) -> Loss:
        """What one choice costs."""
        return self._choice.loss

    def release(self, scores: object) -> int:
        """Return the index of a candidate, chosen by the scores."""
        return self._choice.release(self.comparisons(scores))

    def probabilities(self, scores: object) -> Any:
        """Return the probability of each candidate.

        Guarantee: none; the result is as private as the scores.
        """
        return self._choice.probabilities(self.comparisons(scores))

    def comparisons(self, scores: object) -> list[Fraction]:
        """Return the new scores, which one unit moves by at most 1.

        Guarantee: none; the result is as private as the scores.
        """
        given = one_by_one(read_scores(scores))
        if len(given) != len(self.sensitivities):
            raise ValueError(
                f"scores must be one number for {each_of(len(self.sensitivities))}, as many as "
                "there are sensitivities"
            )
        shifted = [
            score - self.handicap * length
            for score, length in zip(given, self.sensitivities, strict=True)
        ]
        # Of the candidates with one sensitivity only the two best can be somebody's worst match.
        tops: dict[Fraction, list[int]] = {}
        for index in sorted(range(len(given)), key=shifted.__getitem__, reverse=True):
            group = tops.setdefault(self.sensitivities[index], [])
            if len(group) < 2:
                group.append(index)
        rivals = [index for group in tops.values() for index in group]
        if len(given) == 1:
            return [Fraction(0)]
        return [
            min(
                (shifted[index] - shifted[rival]) / (length + self.sensitivities[rival])
                for rival in rivals
                if rival != index
            )
            for index, length in enumerate(self.sensitivities)
        ]

    def accuracy(self) -> list[float]:
        """Return, for each candidate, how much better it must be to be certain to be beaten.

        With the mechanism's confidence, the chosen score is at least any candidate's score minus
        the number at its place.
        """
        return [up(2 * self.handicap * length) for length in self.sensitivities]
