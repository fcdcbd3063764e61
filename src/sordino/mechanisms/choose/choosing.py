# SPDX-License-Identifier: Apache-2.0
"""Choosing one candidate, in one line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from sordino.mechanisms.choose.candidates import Slate, read_slate
from sordino.mechanisms.choose.exponential import Exponential, PermuteAndFlip
from sordino.mechanisms.choose.noisy_max import Noise, NoisyMax
from sordino.mechanisms.choose.scores import (
    each_of,
    in_order,
    in_row,
    one_by_one,
    read_scores,
)
from sordino.mechanisms.mechanism import fill
from sordino.numbers.balls import ball, round_up
from sordino.numbers.rational import (
    Integer,
    Number,
    confidence_level,
    covering,
    positive,
    positive_whole,
    reading,
    up,
    written,
)
from sordino.privacy.loss import Loss

Name: TypeAlias = Literal["permute_and_flip", "exponential", "noisy_max"]
_NAMES = ("permute_and_flip", "exponential", "noisy_max")
Method: TypeAlias = Literal["permute_and_flip", "exponential"]


def choose(
    candidates: Any,
    scores: Any = None,
    *,
    epsilon: Number,
    sensitivity: Number | Iterable[Number] | Mapping[Any, Number] = 1,
    monotone: bool = False,
    spread: Number | None = None,
    mechanism: Name | None = None,
    noise: Noise | None = None,
    base: object = None,
    domain_size: Integer | None = None,
    default_score: Number = 0,
    uses: Integer = 1,
    public_domain: bool = False,
) -> Any:
    """Return a candidate with a high score, at the price of epsilon.

    ``candidates`` are public: a list that was fixed without looking at the data, or a domain too
    large to list (``Integers``, ``Strings``, ``Product``, a range). ``scores`` are private: a row
    of numbers in the order of the candidates, a function of the candidate, or counts by candidate
    (a mapping or a Series with labels), where a candidate that is missing has ``default_score``.
    With ``domain_size=n`` the candidates are the whole numbers below n, and those with scores are
    listed, in a row or by name; which are listed may come from the data.

    ``sensitivity`` is how far one unit can move any score, or one number for each candidate: a list
    in their order, or by name, in a dict or a Series with labels. A Series whose labels could be
    names as well as places is refused, here and for scores.
    For counts, state ``monotone=True`` if your neighbours differ by one unit more or less
    (add_remove): then the choice is as accurate as with twice the epsilon. If a unit may be
    replaced by another one (replace_one), it must stay False.

    ``mechanism`` is permute-and-flip for a single choice; if there are going to be many, say so
    with ``uses``, and it is the exponential mechanism, whose losses compose better.
    ``noise="laplace"`` (or gumbel, exponential) goes with ``mechanism="noisy_max"``, and ``base``,
    a public weight for each candidate, in their order or by name, with the exponential mechanism.

    >>> choose(["Mon", "Tue", "Wed"], [3, 500, 2], epsilon=1)
    'Tue'
    >>> counts = {"flu": 900, "measles": 2}
    >>> choose(["flu", "measles", "mumps"], counts, epsilon=1, monotone=True)
    'flu'
    >>> choose(counts, counts, epsilon=1)
    Traceback (most recent call last):
    ValueError: the candidates come from the same object as the scores, so who is in the data \
decides which candidates there are, and no noise hides that. List the candidates without looking \
at the data, or state public_domain=True if this list is public knowledge

    Guarantee:
        Neighbours: any change to the data that moves no score by more than ``sensitivity`` and no
            two scores apart by more than ``spread``, while the candidates stay the same.
        Loss: epsilon, pure, as of the mechanism used.
        Numerics: exact; no float decides an outcome.
        Proof: docs/proofs/choosing.md.
    """
    kind = _kind(mechanism, noise, base, positive_whole("uses", uses))
    each = isinstance(sensitivity, Iterable) and not isinstance(sensitivity, str | bytes)
    by_order = each or base is not None or kind == "noisy_max"
    slate = read_slate(
        candidates,
        scores,
        domain_size=domain_size,
        default_score=default_score,
        public_domain=public_domain,
        listed=by_order,
    )
    if slate.names is None and by_order:
        raise ValueError(
            "base, a list of sensitivities and noisy_max go by the order of the candidates; "
            "list the candidates"
        )
    if each and slate.names is not None:
        if monotone or spread is not None:
            raise ValueError("a list of sensitivities goes without monotone and without spread")
        if base is not None or kind == "noisy_max":
            raise ValueError(
                "a list of sensitivities goes without base, and with permute_and_flip or "
                "exponential"
            )
        lengths = in_order("sensitivity", sensitivity, slate.names)
        choice = Generalised(sensitivities=lengths, epsilon=epsilon, mechanism=kind)
        index = choice.release(slate.scores)
    else:
        terms: dict[str, Any] = {
            "sensitivity": sensitivity,
            "epsilon": epsilon,
            "monotone": monotone,
            "spread": spread,
        }
        index = _choose_alike(slate, terms, kind, noise=noise, base=base, default=default_score)
    return slate.candidate(index)


def _choose_alike(
    slate: Slate,
    terms: dict[str, Any],
    kind: Name,
    *,
    noise: Noise | None,
    base: object,
    default: Number,
) -> int:
    """Choose among candidates that have one sensitivity."""
    if kind == "noisy_max":
        return NoisyMax(**terms, noise=noise or "laplace").release(slate.scores)
    others: dict[str, Any] = {"others": slate.others, "default_score": default}
    if kind == "permute_and_flip":
        return PermuteAndFlip(**terms).release(slate.scores, **others)
    if base is not None and slate.names is not None:
        base = in_order("base", base, slate.names)
    return Exponential(**terms).release(slate.scores, base=base, **others)


def _kind(mechanism: Name | None, noise: Noise | None, base: object, uses: int) -> Name:
    if mechanism is None:
        if noise is not None and base is not None:
            raise ValueError("base goes with mechanism='exponential', and noise with 'noisy_max'")
        if noise is not None:
            return "noisy_max"
        return "permute_and_flip" if uses == 1 and base is None else "exponential"
    if mechanism not in _NAMES:
        raise ValueError(f"mechanism must be one of {', '.join(_NAMES)}, got {mechanism!r}")
    if noise is not None and mechanism != "noisy_max":
        raise ValueError("noise goes with mechanism='noisy_max'")
    if base is not None and mechanism != "exponential":
        raise ValueError("base goes with mechanism='exponential'")
    return mechanism


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
