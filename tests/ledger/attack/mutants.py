# SPDX-License-Identifier: Apache-2.0
"""Mutants of the ledger: what is spent gets lost, is counted wrong, or is given back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any
from unittest import mock

from sordino.ledger import entry, rules, verify
from sordino.ledger import ledger as ledger_module
from sordino.ledger.chain import Chain
from sordino.ledger.entry import Receipt
from sordino.ledger.ledger import Ledger
from sordino.ledger.rules import Amount
from sordino.ledger.stores.memory import MemoryStore
from sordino.ledger.stores.postgres import PostgresPages
from sordino.ledger.stores.sqlite import files as sqlite_file
from sordino.ledger.stores.sqlite import store as sqlite
from sordino.ledger.stores.sqlite.store import SqliteStore
from sordino.privacy import currency
from sordino.session import opening, session
from sordino.session.session import Flights, Session
from tests.support.rewrite import Mutant, mutant, rewritten


def _stating(name: str, old: str, new: str, *, module: ModuleType = sqlite_file) -> Mutant:
    """Let a constant read otherwise; a tuple of statements is changed in all of them."""

    @contextmanager
    def changed() -> Iterator[None]:
        value = getattr(module, name)
        if isinstance(value, str):
            other: object = value.replace(old, new)
        else:
            other = tuple(each.replace(old, new) for each in value)
        assert other != value, f"{name} no longer says {old!r}; rewrite the mutant"
        with mock.patch.object(module, name, other):
            yield

    return changed


def _all(*mutants: Mutant) -> Mutant:
    """Put several faults in at once: what one layer misses, another one would find."""

    @contextmanager
    def together() -> Iterator[None]:
        with ExitStack() as stack:
            for mutant in mutants:
                stack.enter_context(mutant())
            yield

    return together


def _triggers(old: str, new: str) -> Mutant:
    """Make files whose triggers read otherwise, and do not mind."""

    @contextmanager
    def changed() -> Iterator[None]:
        stated = SqliteStore.__init__.__kwdefaults__ or {}
        schema = tuple(each.replace(old, new) for each in stated["schema"])
        assert schema != stated["schema"], f"no trigger says {old!r}; rewrite the mutant"
        with mock.patch.dict(stated, schema=schema):
            yield

    return changed


def _setting(old: str, new: str) -> Mutant:
    return _stating("_SETTINGS", f"synchronous = {old}", f"synchronous = {new}")


@contextmanager
def _paid_with_the_answer() -> Iterator[None]:
    """Write a charge down together with its answer, which would need but one sync."""
    charge, record = Ledger.charge, Ledger.record
    waiting: dict[Ledger, Callable[[], Receipt]] = {}

    def later(ledger: Ledger, *what: Any, readable: Any = None, **more: Any) -> Receipt:
        del readable
        waiting[ledger] = lambda: charge(ledger, *what, **more)
        return charge(Ledger(MemoryStore(), ledger.terms), *what, **more)

    def both(ledger: Ledger, receipt: Receipt, body: bytes) -> None:
        del receipt
        record(ledger, waiting.pop(ledger)(), body)

    with mock.patch.multiple(Ledger, charge=later, obtain=later, record=both):
        yield


@contextmanager
def _refunded() -> Iterator[None]:
    """Give a charge back when the engine fails."""
    late = "except SordinoError:  # a refusal that comes so late could tell something of rows\n"
    careful = (
        "except BaseException:\n"
        "                refund(self._ledger, receipt)\n"
        "                raise\n"
        f"            {late}"
    )
    with (
        mock.patch.object(session, "refund", _refund, create=True),
        rewritten(Session._carry_out, late, careful),
    ):
        yield


def _refund(ledger: Ledger, receipt: Receipt) -> None:
    """Take the last entry away, with all that would hinder it put out of the way."""
    store: Any = ledger.store
    store = getattr(store, "_store", store)
    if isinstance(store, MemoryStore):
        store._cut(receipt.people, receipt.number - 1, len(store._bodies))
    else:
        with store.write(receipt.people):
            store._connection.execute("DROP TRIGGER entries_deletes")
            store._connection.execute("DELETE FROM entries WHERE hash = ?", (receipt.head,))
            store._connection.execute(
                next(sql for sql in sqlite.TRIGGERS if "TRIGGER entries_deletes" in sql)
            )
    anchor = ledger.chain._anchor
    if anchor is not None:
        anchor.path.unlink(missing_ok=True)
        anchor.close()
    ledger.chain._seen.clear()
    ledger.chain._own.clear()


_FITS, _NEXT = rules._check_fits, rules._next
_WRITTEN = """\
            last = self.chain.last(pages, people) or self._open(pages, people, terms)
            draft = self._charged(pages, last, wanted, terms, note)
"""
_CHECKED_EARLY = """\
            last = self.chain.last(pages, people) or self._open(pages, people, terms)
            found = self.chain.own(pages, last, wanted.who)
            mine = rules.own_of(found)
            more = mine._replace(
                used=mine.used + wanted.price, used_slack=mine.used_slack + wanted.slack
            )
            draft = rules._next(last, "charge", note, wanted, more, before=mine)
"""

KEEPING: dict[str, Mutant] = {
    "the log is synced now and then": _setting("FULL", "NORMAL"),
    "nothing is synced": _setting("FULL", "OFF"),
    "there is no log written ahead": _all(
        mutant(sqlite_file.make_file, "journal_mode = WAL", "journal_mode = DELETE"),
        mutant(sqlite_file._check_log, 'if mode != "wal":', "if False:"),
    ),
    "a commit that failed is taken for one that did not": mutant(
        SqliteStore.end,
        'self._connection.execute("COMMIT")',
        'with __import__("contextlib").suppress(Exception): self._connection.execute("COMMIT")',
    ),
    "an answer is given before it is recorded": mutant(
        Session._record,
        "self._ledger.record(receipt, to_bytes(answer))",
        "late, self._late = getattr(self, '_late', ()), (receipt, to_bytes(answer))\n"
        "        if late: self._ledger.record(*late)",
    ),
    "a charge is written with its answer": _paid_with_the_answer,
    "a charge is given back when the engine fails": _refunded,
    "a transaction begins without a lock": mutant(SqliteStore.write, "_WRITE", "'BEGIN'"),
    "no row is locked in PostgreSQL": mutant(
        PostgresPages.lock, "if self._one(_LOCK, people) is None:", "if False:"
    ),
    "a charge is checked before the lock is taken": mutant(
        Ledger._charge_anew, _WRITTEN, _CHECKED_EARLY
    ),
    "a row that was not added is taken for added": mutant(
        sqlite_file.check_added, "driver.added(done) != 1", "driver.added(done) > 1"
    ),
    "a file may hold more than its design": mutant(
        sqlite_file.check_schema, "if there != meant:", "if not there >= meant:"
    ),
    "the log of a new file is left to its end": mutant(
        sqlite_file.make_file,
        'connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()',
        "(0, 0, 0)",
    ),
    "a connection is kept over a fork": _all(
        mutant(SqliteStore.hold, "self.part()", "pass"),
        mutant(sqlite.check_not_inherited, "if any(", "if False and any("),
    ),
    "a file that was exchanged is not noticed": mutant(
        SqliteStore._check_file, "if not same:", "if False:"
    ),
}

FOLLOWING: dict[str, Mutant] = {
    "the newest entry is not compared": _stating(
        "FOLLOW", "CASE WHEN (", "CASE WHEN TRUE OR (", module=sqlite
    ),
    "an entry that came too late is taken for added": mutant(
        SqliteStore.follow, "return False", "return True"
    ),
    "an entry that the disk refused is taken for added": mutant(
        SqliteStore.follow, "self._explain(error)", "return True"
    ),
    "an entry is added to a transaction that was left open": mutant(
        SqliteStore._prepare, "if self._connection.in_transaction:", "if False:"
    ),
    "the anchor is written before an entry follows": mutant(
        Chain.follow,
        "entry = hashed(draft, last.hash, self.digest)",
        "entry = hashed(draft, last.hash, self.digest); self.saw(entry, store)",
    ),
    "a charge follows the entry of another analyst": mutant(
        Ledger._charge_at_once, "last.who != wanted.who or ", ""
    ),
    "a charge follows before terms are compared": mutant(
        Ledger._charge_at_once, " or people not in self._compared", ""
    ),
    "terms that were compared with what is undone count": mutant(
        Ledger._charged,
        "own = self.chain.own(pages, last, wanted.who)",
        "self._compared.add(last.people)\n        own = self.chain.own(pages, last, wanted.who)",
    ),
    "limits that others have raised are not noticed": mutant(
        Ledger._charge_at_once, "except BudgetError:", "except ZeroDivisionError:"
    ),
    "an answer follows a charge that is not its own": mutant(
        Ledger._record_at_once,
        "(last.number, last.hash) != (receipt.number, receipt.head)",
        "False",
    ),
    "an answer follows an answer": mutant(
        Ledger._record_at_once, 'if last.kind != "charge":', "if False:"
    ),
}

_ALLOWED = "entries BEGIN SELECT 1; END"
_REFUSED = "entries BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"
FILING: dict[str, Mutant] = {
    "the file lets rows be changed": _triggers(f"UPDATE ON {_REFUSED}", f"UPDATE ON {_ALLOWED}"),
    "the file lets rows be deleted": _triggers(f"DELETE ON {_REFUSED}", f"DELETE ON {_ALLOWED}"),
    "the file lets rows be put in the place of others": _triggers(
        "WHEN EXISTS (SELECT 1 FROM entries WHERE id = new.id)", "WHEN FALSE"
    ),
    "the file lets more be spent than there is": _triggers(
        "new.spent + new.held - max(0, new.kept - new.used) > new.cap", "FALSE"
    ),
    "the file lets sums be forged": _triggers(
        "WHEN new.spent != p.spent + new.price", "WHEN FALSE"
    ),
    "the file lets sums of an analyst be forged": _triggers(
        "OR new.used != coalesce(o.used, 0) + new.price", ""
    ),
    "the file lets a charge change limits": _triggers("WHEN NOT (new.", "WHEN FALSE AND NOT (new."),
    "the file lets an answer be paid for by any charge": _triggers(
        "AND c.who = new.who AND c.plan = new.plan AND c.data = new.data", ""
    ),
    "the file lets a charge pay for two answers": _triggers(
        "OR EXISTS (SELECT 1 FROM entries WHERE plan = new.plan",
        "OR EXISTS (SELECT 1 FROM entries WHERE FALSE AND plan = new.plan",
    ),
    "the file lets answers be kept that are none": _triggers(
        "CHECK ((typeof(bytes) = 'blob') = (kind = 'answer'))", "CHECK (TRUE)"
    ),
}

COUNTING: dict[str, Mutant] = {
    "sums are added up as floats": mutant(
        _NEXT, "last.spent + price,", "int((last.spent / 1e9 + price / 1e9) * 1e9),"
    ),
    "prices are rounded down": mutant(
        currency._nanos_up,
        "-(-int(value.numerator) * NANO // int(value.denominator))",
        "max(1, int(value.numerator) * NANO // int(value.denominator))",
    ),
    "a loss costs the same in every currency": mutant(
        Ledger.__init__, "self._terms(people).budget", "next(iter(self.terms.values())).budget"
    ),
    "the delta of a loss is not charged": mutant(Ledger._wanted, " + price.attos", ""),
    "the delta of a loss is rounded down": mutant(
        currency._attos_up,
        "-(-int(delta.numerator) * ATTO // int(delta.denominator))",
        "int(delta.numerator) * ATTO // int(delta.denominator)",
    ),
    "the slack is rounded down": mutant(rules.slack_up, "math.ceil", "math.floor"),
    "shares are rounded up": mutant(Amount.part, "math.floor", "math.ceil"),
    "one nano too much is granted": mutant(
        _FITS, "if wanted.price > left.nanos:", "if wanted.price > left.nanos + 1:"
    ),
    "the last nano is refused": mutant(
        _FITS, "if wanted.price > left.nanos:", "if wanted.price >= left.nanos:"
    ),
    "the slack is not held to its cap": mutant(_FITS, "if wanted.slack > left.slack:", "if False:"),
    "a negative slack is a refund": mutant(_FITS, " or wanted.slack < 0", ""),
    "one question may cost all": mutant(_FITS, "if last.most is not None and", "if False and"),
    "the share of an analyst is ignored": mutant(
        rules._least, "if share is not None and", "if False and"
    ),
    "whoever has no share has everything": mutant(
        rules.room, "share, share_slack = last.others, last.others_slack", "pass"
    ),
    "two limits are taken for each other": mutant(
        _NEXT,
        "last.others,\n        last.others_slack,",
        "last.others_slack,\n        last.others,",
    ),
    "what is kept for others is spent": mutant(
        rules.room, "last.cap - last.spent - last.held", "last.cap - last.spent"
    ),
    "other data begins anew": mutant(
        _NEXT,
        "last.spent + price,",
        "price + (last.spent if last.data in ('', data) else 0),",
    ),
    "every table has a budget of its own": _all(
        mutant(
            Session._answered,
            "plan.people, plan.loss,",
            "' '.join(sorted(tables_of(plan, self.catalog))), plan.loss,",
        ),
        mutant(
            Ledger._terms,
            "return self.terms[people]",
            "return self.terms.get(people) or next(iter(self.terms.values()))",
        ),
    ),
    "new limits forget what was spent": mutant(rules.limited, "spent=last.spent,", "spent=0,"),
    "the cap is what the catalog says": mutant(
        Ledger._charged,
        "own = self.chain.own(pages, last, wanted.who)",
        "own = self.chain.own(pages, last, wanted.who)\n"
        "        last = last._replace(cap=terms.caps.cap.nanos)",
    ),
    "other limits than those on record are not noticed": mutant(
        Ledger._check_limits, "if found:", "if False:"
    ),
    "a change of limits is not put on record": mutant(
        ledger_module.amend_space, "if last.limits !=", "if False and last.limits !="
    ),
    "currencies are not compared": mutant(
        Ledger._check_currency, "if counted not in", "if False and counted not in"
    ),
}

_LOOKED = """made = self._made(pages, people, wanted, readable)
                if made is not None:  # somebody else was faster
"""
_NOT_LOOKED = """made = None
                if made is not None:
"""

BUYING: dict[str, Mutant] = {
    "a charge without an answer is not taken up": mutant(
        Ledger._made, "if charge is None or", "if True or"
    ),
    "a charge at another price is taken up": mutant(
        Ledger._made,
        " or (charge.price, charge.price_slack) != (price, slack)",
        "",
    ),
    "what is charged for is not looked for under the lock": _all(
        mutant(Ledger._charge_anew, _LOOKED, _NOT_LOOKED),
        mutant(Ledger._charge_at_once, "if last is None or", "if True or"),
    ),
    "who was slower gets an answer of their own": mutant(
        Session._record, "return _again(recorded)", "return answer"
    ),
    "what could not be recorded is drawn again": mutant(
        Session._carry_out,
        "self._drawn.setdefault(receipt.head, release(plan, sealed, receipt, options))",
        "release(plan, sealed, receipt, options)",
    ),
    "everybody flies alone": mutant(Flights.of, "return flight", "return Flight()"),
    "who is not named may spend all": mutant(rules._terms, "NOTHING if closed else None", "None"),
    "an id space that was renamed begins anew": mutant(
        Ledger._check_new, "if last is not None and last.spent:", "if False:"
    ),
}

BELIEVING: dict[str, Mutant] = {
    "a charge pays for two answers": _all(
        mutant(Ledger.record, " or paid", ""),
        mutant(MemoryStore.append, "if (entry.people, entry.charge) in self._bodies:", "if False:"),
    ),
    "the answer of another analyst is given": _stating(
        "ASKED", "who = ?", "(who = ? OR TRUE)", module=sqlite
    ),
    "the answer of other data is given": _stating(
        "ASKED", "data = ?", "(data = ? OR TRUE)", module=sqlite
    ),
    "the answer of other options is given": mutant(
        session.asked_of, '"answer", plan.fingerprint, options', '"answer", plan.fingerprint'
    ),
    "an answer that was changed is given": mutant(
        Ledger._body, "if not isinstance(body, bytes) or", "if False and"
    ),
    "the hash leaves the price out": mutant(
        entry.hash_of, "*entry[:-1]", "*entry._replace(price=0)[:-1]"
    ),
    "the hash leaves out what came before": mutant(entry.hash_of, "(before, *", "('', *"),
    "hashes are not compared": mutant(Chain.check_hash, "if not fits:", "if False:"),
    "the key is not used": mutant(entry.digest_with, "if key is None:", "if True:"),
    "the anchor is never written": mutant(Chain.saw, "if self._anchor is not None:", "if False:"),
    "the anchor is never read": mutant(
        Chain.__init__, "{} if anchor is None else anchor.all()", "{}"
    ),
    "what others have anchored is not looked for": mutant(
        Chain.saw, "if newer is not None:", "if False:"
    ),
    "one of two copies goes on": mutant(
        Chain.ready, "if self._lacking is not None:", "if False:"
    ),
    "names are hashed as they print": _all(
        mutant(entry.plain, "text if type(text) is str else str.__str__(text)", "text"),
        mutant(entry.check_plain, "if not _TYPES.issuperset(map(type, entry)):", "if False:"),
    ),
    "the anchor is written before the commit": mutant(
        Ledger._charge_anew,
        "entry = self.chain.append(pages, draft, last)",
        "entry = self.chain.append(pages, draft, last); self.chain.saw(entry, self.store)",
    ),
    "a receipt counts by its number alone": mutant(Chain.check, " or found.hash != seen.head", ""),
    "a receipt is not looked at": mutant(
        opening.open_session, "None if receipt is None else read_seen(receipt)", "None"
    ),
    "a process forgets what it has seen": mutant(
        Chain.last, "if known is not None:", "if False:"
    ),
    "a process does not see what others spend": mutant(
        Chain.last, "pages.head(people) == (known.number, known.hash)", "True"
    ),
    "a process knows the newest entry by its number alone": mutant(
        Chain.last,
        "pages.head(people) == (known.number, known.hash)",
        "(pages.head(people) or (0,))[0] == known.number",
    ),
    "what analysts have used need not add up": mutant(
        Ledger._check_used, "if used != (last.spent, last.spent_slack):", "if False:"
    ),
    "verifying adds nothing up": mutant(verify._Walk.step, "if follows != entry:", "if False:"),
}  # fmt: skip

LEDGER: dict[str, Mutant] = {
    **KEEPING,
    **FOLLOWING,
    **FILING,
    **COUNTING,
    **BUYING,
    **BELIEVING,
}
