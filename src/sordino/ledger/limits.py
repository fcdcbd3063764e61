# SPDX-License-Identifier: Apache-2.0
"""Limits on record: what the owner states now, against what the ledger holds."""

from __future__ import annotations

from sordino.ledger import rules
from sordino.ledger.chain import Chain
from sordino.ledger.entry import Entry, write_currency
from sordino.ledger.rules import Note
from sordino.ledger.stores.protocol import Pages
from sordino.ledger.terms import NOTHING, Amount, Share, Terms

_CLOSED = (
    "the share of all others, who get nothing now because analysts are named and '*' is not (an "
    'entry [analysts."*"] in the catalog lets everybody ask as before)'
)


def open_space(chain: Chain, pages: Pages, people: str, terms: Terms, note: Note) -> list[Entry]:
    """Begin an id space: its limits, and a share for each analyst that has one."""
    pages.add_space(people, write_currency(terms.budget.currency))
    made = [chain.append(pages, rules.opened(people, terms.caps, note), None)]
    return made + _share_out(chain, pages, made[0], terms, note)


def amend_space(chain: Chain, pages: Pages, last: Entry, terms: Terms, note: Note) -> list[Entry]:
    """Add the entries that make the ledger state the same limits as the terms; maybe none."""
    made = []
    if _limits(last) != _limits(rules.opened(last.people, terms.caps, note)):
        last = chain.append(pages, rules.limited(last, terms.caps, note), last)
        made.append(last)
    return made + _share_out(chain, pages, last, terms, note)


def differences(pages: Pages, last: Entry, terms: Terms) -> list[str]:
    """Say which limits the ledger and the terms state differently."""
    stated = rules.opened(last.people, terms.caps, Note(""))
    found = []
    if (last.cap, last.cap_slack) != (stated.cap, stated.cap_slack):
        found.append(f"{terms.price(last.cap)} on record and {terms.price(stated.cap)} stated")
    if last.most != stated.most:
        found.append("the most for one question")
    if (last.others, last.others_slack) != (stated.others, stated.others_slack):
        closed = last.others is None and terms.caps.others == NOTHING
        found.append(_CLOSED if closed else "the share of all others")
    changed = _changed(pages, last, terms)
    return found + [f"the share of {share.who!r}" for _, share in changed]


def _limits(entry: Entry) -> tuple[int | None, ...]:
    return entry.cap, entry.cap_slack, entry.most, entry.others, entry.others_slack


def _share_out(chain: Chain, pages: Pages, last: Entry, terms: Terms, note: Note) -> list[Entry]:
    made = []
    changed = _changed(pages, last, terms)
    lowered = [
        Share(share.who, share.most, _lower(own, share))
        for own, share in changed
        if _lower(own, share) != _on_record(share.who, own).kept
    ]
    for share in lowered + [share for _, share in changed]:  # what frees something goes first
        own = pages.last_of(last.people, share.who)
        if _on_record(share.who, own) != share:
            last = chain.append(pages, rules.shared(last, own, share, note), last)
            made.append(last)
    return made


def _changed(pages: Pages, last: Entry, terms: Terms) -> list[tuple[Entry | None, Share]]:
    """Return the shares that have changed, with what is on record."""
    stated = {share.who: share for share in terms.shares}
    found = []
    for who in dict.fromkeys([*stated, *pages.analysts(last.people)]):
        share, own = stated.get(who, Share(who, None, NOTHING)), pages.last_of(last.people, who)
        if _on_record(who, own) != share:
            found.append((own, share))
    return found


def _lower(own: Entry | None, share: Share) -> Amount:
    """Return what is kept before and after, whichever is less."""
    before = _on_record(share.who, own).kept
    return Amount(min(before.nanos, share.kept.nanos), min(before.slack, share.kept.slack))


def _on_record(who: str, own: Entry | None) -> Share:
    if own is None:
        return Share(who, None, NOTHING)
    most = None if own.share is None else Amount(own.share, own.share_slack or 0)
    return Share(who, most, Amount(own.kept, own.kept_slack))
