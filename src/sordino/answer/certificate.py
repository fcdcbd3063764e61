# SPDX-License-Identifier: Apache-2.0
"""One page of plain language about an answer: who is protected, how well, and what is left open."""

from __future__ import annotations

import math
import textwrap
from fractions import Fraction
from typing import TYPE_CHECKING

from sordino.answer.numbers import printable
from sordino.privacy.loss import loss_from_json

if TYPE_CHECKING:
    from sordino.answer.answer import Answer

_WIDTH = 88
_SHORT = 12  # characters of a digest
_DELTA = Fraction(1, 10**6)  # at which an epsilon is stated where the loss has no largest one


def certificate(answer: Answer) -> str:
    """Return the page as text.

    Guarantee: none needed; public inputs only.
    """
    facts, charge = answer.facts, answer.charge
    lines = ["PRIVACY CERTIFICATE", ""]
    lines += _wrapped(f"Question: {printable(' '.join(str(facts['question']).split()))}")
    lines += [f"Answer: number {charge.number} of the ledger, {len(answer):,} rows", ""]
    for title, paragraphs in (
        ("Who is protected", _protected(answer)),
        ("What that means", _odds(answer)),
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


def _protected(answer: Answer) -> list[str]:
    facts = answer.facts
    tables = ", ".join(facts["tables"])
    return [
        f"Each unit of {facts['unit']!r}, with all its rows in {tables}. Whether a unit is in the "
        "data or not, with whatever values, hardly changes which answers are likely."
    ]


def _odds(answer: Answer) -> list[str]:
    """Say in odds what somebody can learn who knows everything else."""
    epsilon, delta = _epsilon(answer)
    if not math.isfinite(epsilon):
        return ["No bound in odds can be given for this loss."]
    factor = math.exp(min(epsilon, 700.0))
    after = factor / (1 + factor)
    found = [
        f"Somebody who knows all other units and thinks it as likely as not (odds 1 to 1) that "
        f"one unit is in the data can, after this answer, hold odds of at most {factor:.3g} to 1, "
        f"which is a probability of {after:.1%}. For any other belief before, the odds change by "
        f"at most that factor (epsilon {epsilon:.4g})."
    ]
    if delta:
        found.append(
            f"This holds but for an event of probability at most {float(delta):.2g}, in which "
            "more could be learned."
        )
    found.append(
        "Several answers about the same units add up; the ledger keeps their total within the "
        "budget of the owner."
    )
    return found


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
        found.append(
            f"To discover keys, delta {float(charge.slack):.3g} was charged besides; "
            f"{float(charge.slack_left):.3g} is left."
        )
    return found


def _exactness(answer: Answer) -> list[str]:
    return [
        f"Every number marked ± lies within its half-width of the exact one with a probability "
        f"of at least {float(answer.confidence):.6g}, each by itself. The exact one is what the "
        "question gives after values are clamped and contributions limited as said below."
    ]


def _open(answer: Answer) -> list[str]:
    found = [f"- {printable(note)}" for note in answer.notes]
    found.append(
        "- what is true of everybody: that smokers fall ill more often can be learned about a "
        "smoker who is not in the data"
    )
    return found


def _wrapped(text: str, indent: str = "") -> list[str]:
    rest = indent + ("  " if text.startswith("- ") else "")
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=rest)
