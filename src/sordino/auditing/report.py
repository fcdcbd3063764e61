# SPDX-License-Identifier: Apache-2.0
"""What an audit found: the loss it proves, the event that proves it, and the verdict.

A list of audits is one HTML page with its pictures inside; every text in it is escaped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.auditing.blackbox.outputs import Floats

if TYPE_CHECKING:
    from sordino.auditing.exact import Verified

Verdict: TypeAlias = Literal["violation", "no violation found"]
Side: TypeAlias = Literal["x", "y"]

Sample: TypeAlias = npt.NDArray[Any]  # numbers, or words for outputs that are none

Mask: TypeAlias = npt.NDArray[np.bool_]

_LONGEST = 200
_FEW = 4


@dataclass(frozen=True)
class Report:
    """What the runs of a mechanism on two inputs prove about its privacy loss.

    ``lower_bound`` is an epsilon that the mechanism is proved to lose, wrong with chance at most
    ``1 - confidence``. The event was chosen on other runs than those that are counted here:
    ``hits`` of ``tested`` fresh runs, first on the input that makes it likelier (``order``).
    An audit stops as soon as it has found a violation, so ``runs`` may be less than ``allowed``.
    That no violation was found proves nothing; the event may not have been looked for.

    ``sample`` holds some outputs of x and of y as numbers (``axis`` names them) or, if they are no
    numbers, as words; ``edges`` and ``inside`` say which numbers belong to the event, where that
    is a set of them, and ``members`` which outputs of the sample do.
    """

    epsilon: float
    delta: float
    lower_bound: float
    confidence: float
    x: Any = field(repr=False)
    y: Any = field(repr=False)
    event: str
    verdict: Verdict
    runs: int
    order: tuple[Side, Side]
    hits: tuple[int, int]
    tested: tuple[int, int]
    seconds: float
    rounds: int = 1
    allowed: int = 0
    axis: str = field(default="the output", repr=False)
    sample: tuple[Sample, Sample] | None = field(default=None, repr=False, compare=False)
    members: tuple[Mask, Mask] | None = field(default=None, repr=False, compare=False)
    edges: Floats | None = field(default=None, repr=False, compare=False)
    inside: Mask | None = field(default=None, repr=False, compare=False)

    @property
    def private(self) -> bool:
        """Whether no violation was found."""
        return self.verdict == "no violation found"

    @property
    def frequencies(self) -> tuple[float, float]:
        """How often the event happened on fresh runs, on the likelier input first."""
        return self.hits[0] / self.tested[0], self.hits[1] / self.tested[1]

    @property
    def mask(self) -> Mask | None:
        """Which of the ranges between the edges belong to the event."""
        return self.inside

    def __str__(self) -> str:
        claim = f"epsilon {self.epsilon:g}" + (f", delta {self.delta:g}" if self.delta else "")
        counts = [
            f"{hits:,} of {tested:,} runs"
            for hits, tested in zip(self.hits, self.tested, strict=True)
        ]
        first, second = self.order
        early = self.runs < self.allowed // 2 * 2 and not self.private
        lines = [
            f"{self.verdict}: promised {claim}; at least epsilon {self.lower_bound:.4g} "
            f"with {100 * self.confidence:.7g} % confidence",
            f"event: {self.event}",
            f"  in {counts[0]} on {first} = {shown(self.of(first))}",
            f"  and in {counts[1]} on {second} = {shown(self.of(second))}",
            f"{self.runs:,} runs in {self.seconds:.2f} s"
            + (f", stopped early: {self.allowed:,} were allowed" if early else ""),
        ]
        if self.private:
            lines.append("that none was found proves nothing; another event may show more")
        return "\n".join(lines)

    def of(self, side: Side) -> Any:
        """Return one of the two inputs by its name."""
        return self.x if side == "x" else self.y

    def plot(self, path: str | PathLike[str] | None = None) -> Any:
        """Draw both histograms with the event shaded; write them to a file if a path is given."""
        from sordino.auditing.plot import plot  # matplotlib is an extra

        return plot(self, path)

    def to_json(self) -> dict[str, Any]:
        """Return what a program needs, in plain types; infinities become None."""
        share, other = self.frequencies
        return {
            "verdict": self.verdict,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "lower_bound": self.lower_bound if math.isfinite(self.lower_bound) else None,
            "confidence": self.confidence,
            "event": self.event,
            "x": shown(self.x),
            "y": shown(self.y),
            "order": list(self.order),
            "hits": list(self.hits),
            "tested": list(self.tested),
            "frequencies": [share, other],
            "runs": self.runs,
            "allowed": self.allowed,
            "rounds": self.rounds,
            "seconds": self.seconds,
        }


def shown(value: object) -> str:
    """Return an input in words, cut short if it is long.

    >>> shown(3), len(shown("a" * 1000))
    ('3', 200)
    >>> shown(list(range(1000)))
    'list of 1,000: [0, 1, 2, ..., 999]'
    """
    text = " ".join(repr(value).split())
    if len(text) > _LONGEST and isinstance(value, (list, tuple)) and len(value) > _FEW:
        some = ", ".join(" ".join(repr(item).split()) for item in value[: _FEW - 1])
        text = f"{type(value).__name__} of {len(value):,}: [{some}, ..., {value[-1]!r}]"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


@dataclass(frozen=True, slots=True)
class Outcome:
    """One line of a list of audits: sampled, verified from the law, replayed, or all of it."""

    name: str
    report: Report | None = None
    verified: Verified | None = None
    findings: tuple[str, ...] | None = None  # of a replay; empty if nothing differed
    described: str = ""  # what it is in full, where the name is short

    @property
    def private(self) -> bool:
        """Tell whether nothing was found that breaks the promise."""
        sampled = self.report is None or self.report.private
        exact = self.verified is None or self.verified.private
        return sampled and exact and not self.findings

    @property
    def verdict(self) -> str:
        """Say what was found, in the words that reports use."""
        if not self.private:
            return "violation"
        return "no violation found" if self.verified is None else "holds"

    @property
    def ways(self) -> str:
        """Say how it was looked at.

        >>> Outcome("SELECT 1", findings=()).ways
        'replayed'
        """
        looked = {
            "sampled": self.report is not None,
            "verified": self.verified is not None,
            "replayed": self.findings is not None,
        }
        return ", ".join(way for way, is_so in looked.items() if is_so)

    @property
    def promised(self) -> str:
        """Write the promised epsilon, and delta if there is one.

        >>> Outcome("nothing").promised
        ''
        """
        one = self.report or self.verified
        if one is None:
            return ""
        return f"{one.epsilon:.4g}" + (f", {one.delta:.3g}" if one.delta else "")

    @property
    def found(self) -> str:
        """Write the lower bound that the runs show."""
        return "" if self.report is None else bounded(self.report.lower_bound)

    @property
    def exact(self) -> str:
        """Write the least epsilon that holds, where the law is known."""
        return "" if self.verified is None else bounded(self.verified.least_epsilon)

    @property
    def words(self) -> str:
        """Say what is behind the verdict: the findings, or the worst event."""
        if self.findings:
            return "; ".join(self.findings)
        if self.verified is not None and not self.verified.private:
            return self.verified.event
        return "" if self.report is None else self.report.event

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "name": self.name,
            "described": self.described or self.name,
            "verdict": self.verdict,
            "sampled": None if self.report is None else self.report.to_json(),
            "verified": None if self.verified is None else self.verified.to_json(),
            "findings": None if self.findings is None else list(self.findings),
        }


def bounded(epsilon: float) -> str:
    """Write an epsilon.

    >>> bounded(0.123456), bounded(float("inf"))
    ('0.1235', 'infinite')
    """
    return f"{epsilon:.4f}" if math.isfinite(epsilon) else "infinite"


_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#26332e;background:#fff}
body{max-width:62em;margin:2em auto;padding:0 1em}
h1{font-size:1.5em;margin:0 0 .3em}
h2{font-size:1.1em;margin:2em 0 .3em}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:1em 0}
th{font-weight:600;text-align:left;border-bottom:1px solid #26332e}
th,td{padding:.25em 1.1em .25em 0;vertical-align:top}
td{border-top:1px solid #e6e6e6}
.n{text-align:right}
.ok{color:#1b7f5c}
.bad{color:#a8324f;font-weight:600}
td.ok,td.bad,.k{white-space:nowrap}
.w{color:#6b6b6b}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1em 1.2em;margin:.3em 0 .8em}
dt{color:#6b6b6b}
dd{margin:0;overflow-wrap:anywhere}
svg{max-width:100%;height:auto}
pre{white-space:pre-wrap;overflow-wrap:anywhere}
"""
_REMARK = "A bound from runs holds with its confidence; that nothing was found proves nothing."
_CHANCE = " A line may leave its band by chance: the verdict counts other runs than are drawn."
_EXACT = (
    " What is exact was computed from the law of the output, for all pairs that were looked at: "
    "no less epsilon would hold."
)
_HEAD = ("what", "looked at", "promised epsilon, delta", "found at least", "exact", "verdict")


def page(title: str, facts: Iterable[tuple[str, str]], outcomes: Sequence[Outcome]) -> str:
    """Return a page that needs no other file."""
    parts = [
        f"<h1>{_text(title)}</h1>",
        _facts(facts),
        _table(outcomes) if len(outcomes) > 1 else "",
        f'<p class="w">{_remark(outcomes)}</p>',
        *(_section(one, place) for place, one in enumerate(outcomes)),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body>{chr(10).join(parts)}</body></html>\n"
    )


def facts_of(report: Report) -> list[tuple[str, str]]:
    """Return what there is to say of a report, name by name."""
    first, other = (shown(report.of(side)) for side in report.order)
    (often, seldom), (runs, others) = report.hits, report.tested
    promised = f"epsilon {report.epsilon:.6g}"
    if report.delta:
        promised += f", delta {report.delta:.3g}"
    sure = f"{100 * report.confidence:.8g} %"
    return [
        ("promised", promised),
        ("found", f"epsilon is at least {report.lower_bound:.4f}, with {sure} confidence"),
        ("worst event", report.event),
        ("likelier", f"{often:,} of {runs:,} runs on {first}"),
        ("against", f"{seldom:,} of {others:,} runs on {other}"),
        ("runs", f"{report.runs:,} in {report.seconds:.1f} seconds, the search included"),
    ]


def _remark(outcomes: Sequence[Outcome]) -> str:
    drawn = any(one.report is not None and one.report.sample is not None for one in outcomes)
    exact = any(one.verified is not None for one in outcomes)
    return _REMARK + (_CHANCE if drawn else "") + (_EXACT if exact else "")


def _section(outcome: Outcome, place: int) -> str:
    said = [f"<h2>{_text(outcome.name)} {_verdict('span', outcome)}</h2>"]
    if outcome.described:
        said.append(f'<p class="w">{_text(outcome.described)}</p>')
    if outcome.report is not None:
        said.append(_facts(facts_of(outcome.report)))
        said.append(_picture(outcome.report, place))
    if outcome.verified is not None:
        said.append(f"<pre>{_text(str(outcome.verified))}</pre>")
    if outcome.findings is not None:
        lines = outcome.findings or ("run on two neighbours with the same draws: nothing differs",)
        said.append("<ul>" + "".join(f"<li>{_text(line)}</li>" for line in lines) + "</ul>")
    return f"<section>{''.join(said)}</section>"


def _table(outcomes: Sequence[Outcome]) -> str:
    head = "".join(f"<th>{name}</th>" for name in _HEAD)
    rows = []
    for one in outcomes:
        cells = [f"<td>{_text(one.name)}</td>"]
        cells += [f'<td class="k">{_text(cell)}</td>' for cell in (one.ways, one.promised)]
        cells += [f'<td class="n">{_text(cell)}</td>' for cell in (one.found, one.exact)]
        rows.append(f"<tr>{''.join(cells)}{_verdict('td', one)}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _verdict(tag: str, outcome: Outcome) -> str:
    kind = "ok" if outcome.private else "bad"
    return f'<{tag} class="{kind}">{_text(outcome.verdict)}</{tag}>'


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    lines = (f"<dt>{_text(name)}</dt><dd>{_text(said)}</dd>" for name, said in facts)
    return f"<dl>{''.join(lines)}</dl>"


def _picture(report: Report, place: int) -> str:
    """Return the picture as SVG, or what is missing to draw it."""
    from sordino.auditing.plot import svg  # numpy is loaded only here

    if report.sample is None:
        return ""
    try:
        drawn = svg(report)
    except ImportError as error:
        return f"<p class='w'>{_text(str(error))}</p>"
    # Pictures on one page must not share names: each would be drawn with the parts of the first.
    return re.sub(r'(id="|href="#|url\(#)', rf"\g<1>p{place}-", drawn)


def _text(text: str) -> str:
    return escape("".join(one if one.isprintable() or one == "\n" else "?" for one in text))
