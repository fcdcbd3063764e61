# SPDX-License-Identifier: Apache-2.0
"""One page of plain language about an answer: who is protected, how well, and what is left open."""

from __future__ import annotations

import math
import textwrap
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING

from sordino.answer.answer import notes_by_kind
from sordino.answer.render import MARK, printable
from sordino.plan.words import person_of, several
from sordino.privacy.loss import loss_from_json

if TYPE_CHECKING:
    from sordino.answer.answer import Answer

_WIDTH = 88
_SHORT = 12  # characters of a digest
_DELTA = Fraction(1, 10**6)  # at which an epsilon is stated where the loss has no largest one
_NAMES = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"))


def certificate(answer: Answer) -> str:
    """Return the page as text."""
    facts, charge = answer.facts, answer.charge
    lines = ["PRIVACY CERTIFICATE", ""]
    if answer.rehearsed:
        lines = [f"{MARK}: THIS CERTIFIES NOTHING", "", *lines]
    lines += _wrapped(f"Question: {printable(' '.join(str(facts['question']).split()))}")
    lines += [f"Answer: number {charge.number} of the ledger, {several(len(answer), 'row')}"]
    if "date" in facts:
        lines.append(f"Date: {_day(facts['date'])} (UTC)")
    lines.append("")
    for title, paragraphs in (
        ("Who is protected", _protected(answer)),
        ("What that means", _promise(answer)),
        ("What it cost", _cost(answer)),
        ("How exact it is", _exactness(answer)),
        ("What is not covered", _open(answer)),
    ):
        lines.append(title)
        for paragraph in paragraphs:
            lines += _wrapped(paragraph, "  ")
        lines.append("")
    lines.append(f"sordino {facts['software']['version']}, plan {facts['fingerprint'][:_SHORT]}")
    return "\n".join(lines)


def chance(probability: Fraction) -> str:
    """Write a small probability as people say it, rounded up.

    >>> chance(Fraction(1, 10**7)), chance(Fraction(2, 10**6)), chance(Fraction(1, 4))
    ('1 in 10 million', '1 in 500,000', '1 in 4')
    """
    many = math.floor(1 / probability)
    digits = 10 ** max(len(str(many)) - 3, 0)
    many = many // digits * digits  # three digits, and never fewer than it happens
    for size, name in _NAMES:
        if size <= many < 1000 * size:
            return f"1 in {many / size:g} {name}"
    return f"1 in {many:,}" if many < _NAMES[0][0] else f"1 in {many:.2e}"


def _protected(answer: Answer) -> list[str]:
    facts = answer.facts
    person, tables = person_of(facts["unit"]), ", ".join(facts["tables"])
    return [
        f"Each {person}, with all rows that belong to that {person} in {tables}. Whether one "
        f"{person} is in the data or not, with whatever values, hardly changes which answers are "
        "likely."
    ]


def _promise(answer: Answer) -> list[str]:
    """Say what somebody can learn who knows everything else."""
    epsilon, delta = _epsilon(answer)
    person = person_of(answer.facts["unit"])
    if not math.isfinite(epsilon):
        return ["No bound in plain numbers can be given for this loss."]
    factor = math.exp(min(epsilon, 700.0))
    found = [_with_delta(factor, delta, person) if delta else _odds(factor, person)]
    stated = f"delta {float(delta):.2g}" if delta else "delta 0"
    found[0] += f" In the words of the field: epsilon {epsilon:.4g}, {stated}."
    found.append(
        f"Several answers about the same {person} add up; the ledger keeps their total within the "
        "budget of the owner."
    )
    return found


def _with_delta(factor: float, delta: Fraction, person: str) -> str:
    return (
        f"Take any conclusion that somebody might draw from this answer, such as 'this {person} is "
        f"in the data'. Whether the {person} is in the data or not, the chance that it is drawn "
        f"changes by at most a factor of {_up(factor)}, plus at most {chance(delta)}."
    )


def _odds(factor: float, person: str) -> str:
    after = factor / (1 + factor)
    return (
        f"Take any conclusion that somebody might draw from this answer: whether one {person} is "
        f"in the data or not, the chance that it is drawn changes by at most a factor of "
        f"{_up(factor)}. Somebody who knows everybody else, and thinks it as likely as not that "
        f"the {person} is in the data, is afterwards sure with at most {after:.1%}."
    )


def _up(factor: float) -> str:
    """Write a factor with three digits, rounded up."""
    if factor >= 1e6:
        return f"{factor * 1.005:.2e}"
    step = 10.0 ** (math.floor(math.log10(factor)) - 2)
    return f"{math.ceil(factor / step - 1e-9) * step:,.6g}"


def _epsilon(answer: Answer) -> tuple[float, Fraction]:
    loss = loss_from_json(answer.facts["loss"])
    slack = Fraction(answer.facts["delta_for_keys"])
    if loss.pure is not None and answer.price.currency.kind == "epsilon":
        return loss.epsilon(delta=0), slack
    return loss.epsilon(delta=_DELTA), slack + _DELTA


def _cost(answer: Answer) -> list[str]:
    charge = answer.charge
    found = [
        f"Charged before any data was touched: {charge.price}. Left afterwards: {charge.left}."
    ]
    if charge.slack:
        left = chance(charge.slack_left) if charge.slack_left else "nothing"
        keys = Fraction(answer.facts["delta_for_keys"])
        use = "To find out which groups there are" if keys else "For noise that may fail"
        found.append(
            f"{use}, a chance of {chance(charge.slack)} (delta) was "
            f"charged besides; {left} is left."
        )
    return found


def _exactness(answer: Answer) -> list[str]:
    found = [
        f"Every number marked ± lies within that distance of the exact one, and every number "
        f"shown with a range has the exact one in it, with a probability of at least "
        f"{100 * float(answer.confidence):.6g}%, each by itself. The exact one is what the "
        "question gives after values are clamped and contributions limited as said below."
    ]
    exactness, _ = notes_by_kind(answer.notes)
    return found + [f"- {printable(note)}" for note in exactness]


def _open(answer: Answer) -> list[str]:
    _, uncovered = notes_by_kind(answer.notes)
    found = [f"- {printable(note)}" for note in uncovered]
    found.append(
        "- what is true of everybody: that smokers fall ill more often can be learned about a "
        "smoker who is not in the data"
    )
    return found


def _day(text: str) -> str:
    day = date.fromisoformat(text)
    return f"{day.day} {day:%B} {day.year}"


def _wrapped(text: str, indent: str = "") -> list[str]:
    rest = indent + ("  " if text.startswith("- ") else "")
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=rest)
