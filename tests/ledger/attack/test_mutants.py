# SPDX-License-Identifier: Apache-2.0
"""The tests of the ledger find faults: 89 are put in, and each of them is found.

Each mutant is held to the checks that are aimed at it, and all of them complain. Without a mutant
no check does.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ledger import test_making as making
from tests.ledger.attack.checks import CHECKS, complaint
from tests.ledger.attack.laws import Lab
from tests.ledger.attack.mutants import LEDGER
from tests.support.postgres import Server

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    making.pytestmark,
]

FOUND = {  # by each check; what may get lost is found by looking at the writes
    "power may be lost": (
        "the log is synced now and then",
        "nothing is synced",
        "there is no log written ahead",
    ),
    "answers leave after they are synced": (
        "the log is synced now and then",
        "nothing is synced",
        "there is no log written ahead",
        "an answer is given before it is recorded",
        "a charge is written with its answer",
    ),
    "a disk may fail": (
        "a commit that failed is taken for one that did not",
        "the anchor is written before the commit",
        "an entry that the disk refused is taken for added",
        "the anchor is written before an entry follows",
    ),
    "a worker may end at every point": (
        "an answer is given before it is recorded",
        "a charge is written with its answer",
        "a charge is given back when the engine fails",
    ),
    "the charge stays when the engine fails": (
        "a charge is written with its answer",
        "a charge is given back when the engine fails",
    ),
    "nobody else adds to a file meanwhile": ("a transaction begins without a lock",),
    "nobody else adds to a database meanwhile": ("no row is locked in PostgreSQL",),
    "somebody may be faster": (
        "a charge is checked before the lock is taken",
        "an entry that came too late is taken for added",
    ),
    "two may charge and record in any turns": ("a charge follows the entry of another analyst",),
    "two may charge and record in a file in any turns": (
        "an entry that came too late is taken for added",
    ),
    "limits that others change hold at once": ("limits that others have raised are not noticed",),
    "an answer follows its own charge": (
        "an answer follows a charge that is not its own",
        "an answer follows an answer",
    ),
    "entries in a file that replace others are refused": ("the newest entry is not compared",),
    "an open transaction swallows nothing": (
        "an entry is added to a transaction that was left open",
    ),
    "limits are compared before a charge follows": ("a charge follows before terms are compared",),
    "terms are compared again after an opening was undone": (
        "terms that were compared with what is undone count",
    ),
    "a child loses nothing when its parent closes": ("a connection is kept over a fork",),
    "a file that is exchanged is used no more": ("a file that was exchanged is not noticed",),
    "nothing is changed or deleted": (
        "the file lets rows be changed",
        "the file lets rows be deleted",
    ),
    "no row is put in the place of another": ("the file lets rows be put in the place of others",),
    "no cap is overspent in a file": ("the file lets more be spent than there is",),
    "no sum is forged in a file": (
        "the file lets sums be forged",
        "the file lets sums of an analyst be forged",
    ),
    "a charge in a file changes no limits": ("the file lets a charge change limits",),
    "an answer in a file is paid for": (
        "the file lets an answer be paid for by any charge",
        "the file lets a charge pay for two answers",
    ),
    "a body in a file has its entry": ("the file lets answers be kept that are none",),
    "sums are exact": (
        "sums are added up as floats",
        "one nano too much is granted",
        "the last nano is refused",
    ),
    "a loss is priced in each currency": ("a loss costs the same in every currency",),
    "two copies are noticed": (
        "what others have anchored is not looked for",
        "one of two copies goes on",
    ),
    "names are plain text": ("names are hashed as they print",),
    "prices are rounded up": ("prices are rounded down", "the slack is rounded down"),
    "the delta of a loss is charged beside its price": (
        "the delta of a loss is not charged",
        "the delta of a loss is rounded down",
    ),
    "parts add up to no more than the whole": ("shares are rounded up",),
    "a refusal leaves no trace": ("the slack is not held to its cap",),
    "nothing is refunded": ("a negative slack is a refund",),
    "one question costs at most its part": ("one question may cost all",),
    "analysts spend their share and no more": (
        "the share of an analyst is ignored",
        "whoever has no share has everything",
        "two limits are taken for each other",
    ),
    "what is kept is spent by nobody else": ("what is kept for others is spent",),
    "other data has the same budget": ("other data begins anew",),
    "a renamed table has the budget it had": ("every table has a budget of its own",),
    "a change of limits is on record": (
        "new limits forget what was spent",
        "other limits than those on record are not noticed",
        "a change of limits is not put on record",
    ),
    "the terms of those who come later do not count": ("the cap is what the catalog says",),
    "nothing is charged in another currency": ("currencies are not compared",),
    "a charge pays for one answer": ("a charge pays for two answers",),
    "an answer is found by the same question alone": (
        "the answer of another analyst is given",
        "the answer of other data is given",
    ),
    "a question asked in another way is charged": ("the answer of other options is given",),
    "a changed answer is not given": ("an answer that was changed is given",),
    "the hash covers the price": ("the hash leaves the price out",),
    "the hash covers what came before": ("the hash leaves out what came before",),
    "a changed entry is refused": ("hashes are not compared",),
    "a key must be the right one": ("the key is not used",),
    "an old copy is refused": ("the anchor is never written", "the anchor is never read"),
    "a ledger that lacks a charge refuses its receipt": ("a receipt counts by its number alone",),
    "a session refuses a ledger behind a receipt": ("a receipt is not looked at",),
    "a process misses what it has seen": ("a process forgets what it has seen",),
    "a charge is seen by all": ("a process does not see what others spend",),
    "entries that replace others are refused": (
        "a process knows the newest entry by its number alone",
    ),
    "a row that was not added is noticed": ("a row that was not added is taken for added",),
    "what was planted is found": ("a file may hold more than its design",),
    "a ledger is made on a disk of any size": ("the log of a new file is left to its end",),
    "a question that failed is charged once": ("a charge without an answer is not taken up",),
    "an answer is obtained at its price": ("a charge at another price is taken up",),
    "two who ask at once in two places are charged once": (
        "what is charged for is not looked for under the lock",
        "who was slower gets an answer of their own",
    ),
    "what could not be recorded is kept": ("what could not be recorded is drawn again",),
    "threads that ask the same are charged once": ("everybody flies alone",),
    "who is not named gets nothing": ("who is not named may spend all",),
    "an id space that was renamed is noticed": ("an id space that was renamed begins anew",),
    "a hidden charge is missed": ("what analysts have used need not add up",),
    "forged limits are found": ("verifying adds nothing up",),
}


class _Labs:
    """Gives every check a folder of its own, and a database if it asks for one."""

    def __init__(self, folder: Path, request: pytest.FixtureRequest) -> None:
        self.folder = folder
        self.request = request
        self.made = 0

    def new(self) -> Lab:
        self.made += 1
        folder = self.folder / f"check {self.made}"
        folder.mkdir()
        return Lab(folder, self._database)

    def _database(self) -> str:
        server: Server = self.request.getfixturevalue("postgres")
        return server.database()


@pytest.fixture
def labs(tmp_path: Path, request: pytest.FixtureRequest) -> _Labs:
    return _Labs(tmp_path, request)


@pytest.mark.parametrize("name", CHECKS)
def test_no_check_complains_without_a_mutant(name: str, labs: _Labs) -> None:
    assert complaint(CHECKS[name], labs.new()) is None


@pytest.mark.parametrize("name", LEDGER)
def test_every_mutant_is_found(name: str, labs: _Labs) -> None:
    aimed = [check for check, names in FOUND.items() if name in names]
    assert aimed, f"nobody looks for it that {name}"
    for check in aimed:
        with LEDGER[name]():
            found = complaint(CHECKS[check], labs.new())
        assert found is not None, f"it was not noticed that {name}: {check}"
        print(f"{name}: {check}: {found}")  # noqa: T201  # shown with -rP


def test_every_check_finds_something() -> None:
    assert set(FOUND) == set(CHECKS)
    assert {name for names in FOUND.values() for name in names} == set(LEDGER)
