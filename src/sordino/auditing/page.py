# SPDX-License-Identifier: Apache-2.0
"""Audits as one HTML page with its pictures inside; every text in it is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from sordino.auditing.report import Outcome, shown

if TYPE_CHECKING:
    from sordino.auditing.report import Report

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
