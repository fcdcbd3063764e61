# SPDX-License-Identifier: Apache-2.0
"""Everything that can be held against a ledger, in small and quick forms.

Most of it are the tests of the ledger themselves, called as they are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from sordino.errors import SordinoError
from sordino.ledger.ledger import Ledger
from sordino.ledger.stores.sqlite import store as sqlite
from tests.ledger import test_making as making
from tests.ledger.attack import laws as own
from tests.ledger.attack.laws import Lab, place_of
from tests.ledger.contract import test_following as following
from tests.ledger.contract import test_ledger_limits as limits
from tests.ledger.contract import test_ledger_tables as tables
from tests.ledger.contract import test_ledgers as laws
from tests.ledger.contract.ledgers import Place, allowed, charge, shares
from tests.ledger.unit import test_amend as amendments
from tests.ledger.unit import test_chain as chains
from tests.ledger.unit import test_entry as entries
from tests.ledger.unit import test_following as statements
from tests.ledger.unit import test_ledger as ledgers
from tests.ledger.unit import test_misuse as misuses
from tests.ledger.unit import test_sqlite as files
from tests.ledger.unit import test_verify as verifying
from tests.ledger.unit.samples import in_memory
from tests.session.contract import test_asking as sessions
from tests.session.contract import test_asking_again as stored
from tests.session.contract.doors import failing
from tests.session.unit import test_data_versions as versions
from tests.session.unit import test_one_charge as buying
from tests.session.unit import test_opening as openings

COMPLAINTS = (AssertionError, pytest.fail.Exception, SordinoError)
Check = Callable[[Lab], None]


def complaint(check: Check, lab: Lab) -> str | None:
    """Run a check; return what it complains about. What is no complaint is a fault of the mutant.

    Files that a check has left open, because it was ended by a complaint, are closed.
    """
    before = set(sqlite.stores())
    try:
        check(lab)
    except COMPLAINTS as found:
        return f"{type(found).__name__}: {found}".splitlines()[0]
    finally:
        for store in set(sqlite.stores()) - before:
            store.close()
    return None


# The tests, as they are. -------------------------------------------------------------------------


def _law(test: Callable[..., None], *, kind: str = "memory", keyed: bool = False) -> Check:
    """Hold one kind of ledger to a law of all kinds, and verify it afterwards."""

    def check(lab: Lab) -> None:
        with place_of(lab, kind, keyed=keyed) as place:
            test(place, **_folder(test, lab))
            place.check()

    return check


def _of_tables(test: Callable[[Place, Ledger], None]) -> Check:
    """Try to write to a file with all kinds of entries past its ledger."""

    def check(lab: Lab) -> None:
        with place_of(lab, "sqlite") as place:
            analysts = shares(ann=("0.5", "0.25"), bob=(None, "0.1"), others=("0.4", 0))
            ledger = place.ledger(allowed(1, slack="1e-6", question="0.2", analysts=analysts))
            for who, slack in (("eve", "0"), ("ann", "1e-7")):
                paid = charge(ledger, "0.1", who=who, slack=slack, plan="first")
                ledger.record(paid, b"answer")
            charge(ledger, "0.1", who="ann", slack="1e-7", plan="open")
            test(place, ledger)

    return check


def _test(test: Callable[..., None], *before: object, **more: object) -> Check:
    """Call a test, in a folder if it wants one, with what it patches put back."""

    def check(lab: Lab) -> None:
        with pytest.MonkeyPatch.context() as patch:
            known = inspect.signature(test).parameters
            own = {"monkeypatch": patch} if "monkeypatch" in known else {}
            test(*before, **more, **own, **_folder(test, lab))

    return check


def _of_memory(test: Callable[[Ledger], None]) -> Check:
    return lambda _: test(in_memory())


def _folder(test: Callable[..., None], lab: Lab) -> dict[str, Path]:
    return {"tmp_path": lab.folder} if "tmp_path" in inspect.signature(test).parameters else {}


CHECKS: dict[str, Check] = {
    "power may be lost": own.power_may_be_lost,
    "answers leave after they are synced": own.answers_leave_after_they_are_synced,
    "a disk may fail": own.a_disk_may_fail,
    "a worker may end at every point": own.a_worker_may_end_at_every_point,
    "somebody may be faster": own.somebody_may_be_faster,
    "nobody else adds to a file meanwhile": partial(own.nobody_else_adds_meanwhile, kind="sqlite"),
    "nobody else adds to a database meanwhile": partial(
        own.nobody_else_adds_meanwhile, kind="postgres"
    ),
    "a loss is priced in each currency": _law(
        laws.test_a_loss_is_priced_in_the_currency_of_each_id_space
    ),
    "two copies are noticed": _test(
        misuses.test_two_copies_that_are_spent_at_once_are_noticed_by_their_anchor, 3, 2
    ),
    "names are plain text": _law(
        partial(laws.test_a_kind_of_text_is_kept_and_hashed_as_plain_text, name=laws.Name.ANN),
        kind="sqlite",
    ),
    "two may charge and record in any turns": _law(
        following.test_two_ledgers_may_charge_and_record_in_any_turns
    ),
    "two may charge and record in a file in any turns": _law(
        following.test_two_ledgers_may_charge_and_record_in_any_turns, kind="sqlite"
    ),
    "limits that others change hold at once": _law(
        following.test_limits_that_another_one_changes_hold_at_once
    ),
    "an answer follows its own charge": _law(
        following.test_a_charge_that_was_just_made_pays_for_one_answer
    ),
    "entries in a file that replace others are refused": _test(
        statements.test_entries_in_a_file_that_replace_those_seen_are_refused
    ),
    "an open transaction swallows nothing": _test(
        statements.test_a_transaction_that_an_interrupt_left_open_does_not_swallow_an_entry
    ),
    "limits are compared before a charge follows": _test(
        statements.test_limits_are_compared_although_the_newest_entry_is_known
    ),
    "terms are compared again after an opening was undone": _test(
        statements.test_terms_are_compared_again_after_an_opening_that_was_undone
    ),
    "a child loses nothing when its parent closes": own.a_child_loses_nothing,
    "a file that is exchanged is used no more": _test(
        files.test_a_file_that_is_moved_or_exchanged_while_open_is_used_no_more
    ),
    "nothing is changed or deleted": _test(
        files.test_nothing_can_be_changed_removed_or_replaced_by_sql, table="entries"
    ),
    "no row is put in the place of another": _of_tables(own.no_row_is_put_in_the_place_of_another),
    "no cap is overspent in a file": _law(
        tables.test_the_whole_cap_is_not_overspent, kind="sqlite"
    ),
    "no sum is forged in a file": _of_tables(tables.test_no_sum_is_forged),
    "a charge in a file changes no limits": _of_tables(
        tables.test_only_entries_of_their_own_change_limits
    ),
    "an answer in a file is paid for": _of_tables(
        tables.test_an_answer_is_paid_for_once_and_by_its_own_charge
    ),
    "a body in a file has its entry": _of_tables(tables.test_a_body_has_its_entry),
    "sums are exact": own.sums_are_exact,
    "prices are rounded up": _of_memory(ledgers.test_prices_are_rounded_up_and_add_up_exactly),
    "parts add up to no more than the whole": own.parts_add_up_to_no_more_than_the_whole,
    "the delta of a loss is charged beside its price": _law(
        laws.test_the_delta_of_a_loss_is_charged_beside_its_price
    ),
    "a refusal leaves no trace": _law(laws.test_a_refusal_leaves_no_trace),
    "nothing is refunded": _law(laws.test_nothing_is_refunded),
    "one question costs at most its part": _law(limits.test_one_question_costs_at_most_its_part),
    "analysts spend their share and no more": _law(
        limits.test_analysts_spend_their_share_and_no_more
    ),
    "what is kept is spent by nobody else": _law(
        limits.test_what_is_kept_for_an_analyst_is_spent_by_nobody_else
    ),
    "other data has the same budget": own.other_data_has_the_same_budget,
    "a renamed table has the budget it had": _test(
        versions.test_a_table_that_was_renamed_has_the_budget_it_had
    ),
    "a change of limits is on record": _law(
        limits.test_a_change_of_limits_is_on_record_with_who_and_why
    ),
    "the terms of those who come later do not count": _test(
        ledgers.test_the_terms_of_those_who_open_later_do_not_count
    ),
    "nothing is charged in another currency": _law(
        laws.test_nothing_is_charged_in_another_currency
    ),
    "a charge pays for one answer": _law(laws.test_a_charge_pays_for_one_answer),
    "an answer is found by the same question alone": _law(
        laws.test_a_stored_answer_is_found_by_the_same_question_alone, kind="sqlite"
    ),
    "a question asked in another way is charged": _test(
        stored.test_a_question_asked_in_another_way_is_charged,
        other={"nonnegative": True},
        door=lambda session: session,
    ),
    "a changed answer is not given": own.a_changed_answer_is_not_given,
    "the charge stays when the engine fails": _test(
        sessions.test_the_charge_stays_when_the_engine_fails, broken=failing
    ),
    "the hash covers the price": _test(entries.test_the_hash_covers_every_field, "price"),
    "the hash covers what came before": _test(
        entries.test_the_hash_covers_what_came_before_and_not_itself
    ),
    "a changed entry is refused": own.a_changed_entry_is_refused,
    "a key must be the right one": _law(
        laws.test_a_key_is_needed_and_must_be_the_right_one, keyed=True
    ),
    "an old copy is refused": _law(
        laws.test_an_old_copy_is_refused_by_anchor_and_receipt, kind="sqlite"
    ),
    "a ledger that lacks a charge refuses its receipt": _law(
        laws.test_a_ledger_that_lacks_a_charge_refuses_its_receipt
    ),
    "a session refuses a ledger behind a receipt": _test(
        openings.test_a_ledger_behind_a_receipt_is_refused
    ),
    "a process misses what it has seen": _test(
        chains.test_a_process_misses_entries_that_it_has_seen
    ),
    "a charge is seen by all": _law(
        laws.test_a_charge_is_seen_by_whoever_opens_the_ledger, kind="sqlite"
    ),
    "entries that replace others are refused": own.entries_that_replace_others_are_refused,
    "a row that was not added is noticed": _test(
        verifying.test_a_row_that_was_not_added_is_noticed_at_once, kind="charge"
    ),
    "what was planted is found": own.what_was_planted_is_found,
    "a ledger is made on a disk of any size": _test(
        making.test_a_disk_of_any_size_holds_a_whole_ledger_or_none
    ),
    "a question that failed is charged once": _test(
        buying.test_a_question_that_failed_is_charged_once
    ),
    "an answer is obtained at its price": _law(laws.test_a_charge_is_taken_up_at_its_price_alone),
    "two who ask at once in two places are charged once": _test(
        buying.test_of_two_who_take_up_one_charge_both_get_the_one_answer
    ),
    "what could not be recorded is kept": _test(
        buying.test_an_answer_that_could_not_be_recorded_is_not_drawn_again
    ),
    "threads that ask the same are charged once": _test(
        buying.test_threads_that_ask_the_same_are_charged_once
    ),
    "who is not named gets nothing": _law(
        limits.test_who_is_not_named_gets_nothing_unless_everybody_may_ask
    ),
    "an id space that was renamed is noticed": _test(
        amendments.test_a_new_id_space_is_opened_by_an_amendment
    ),
    "a hidden charge is missed": own.a_hidden_charge_is_missed,
    "forged limits are found": own.forged_limits_are_found,
}
