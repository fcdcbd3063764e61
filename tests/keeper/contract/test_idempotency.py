# SPDX-License-Identifier: Apache-2.0
"""A key makes one request of all that carry it, also across a crash."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from sordino.ledger.ledger import Ledger
from sordino.ledger.verify import verify
from tests.keeper.study import Study, code, study, told


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Study]:
    with study(tmp_path / "study") as made:
        yield made


def test_fresh_noise_needs_a_key_and_a_token_for_it(served: Study) -> None:
    ann = served.person("ann", "analyst")
    plain = served.token("ann", ["ask"])
    assert code(served.ask(plain, fresh=True, key="k")) == "forbidden"
    assert served.ask(ann, fresh=True).status == 428
    assert served.charges == []


def test_a_key_pays_once_for_fresh_noise(served: Study) -> None:
    ann = served.person("ann", "analyst")
    first = told(served.ask(ann, fresh=True, key="one"))
    again = told(served.ask(ann, fresh=True, key="one"))
    other = told(served.ask(ann, fresh=True, key="two"))
    assert first["receipt"] == again["receipt"] != other["receipt"]
    assert (first["again"], again["again"]) == (False, True)
    assert len(served.charges) == 2


def test_a_key_is_for_one_body(served: Study) -> None:
    ann = served.person("ann", "analyst")
    served.ask(ann, key="one")
    reply = served.ask(ann, key="one", epsilon="0.2")
    assert (reply.status, code(reply)) == (422, "key_reused")
    assert len(served.charges) == 1


def test_a_key_is_for_one_person(served: Study) -> None:
    ann, bob = served.person("ann", "analyst"), served.person("bob", "analyst")
    assert served.ask(ann, fresh=True, key="one").status == 200
    assert served.ask(bob, fresh=True, key="one").status == 200
    assert [charge.who for charge in served.charges] == ["ann", "bob"]


def test_a_refused_question_does_not_use_up_its_key(served: Study) -> None:
    ann = served.person("ann", "analyst")
    assert served.ask(ann, key="one", epsilon=5).status == 409
    assert served.ask(ann, key="one", epsilon=1).status == 200


@pytest.mark.parametrize("key", ["", "x" * 201, "é", "a\nb"])
def test_a_key_is_printable_and_short(served: Study, key: str) -> None:
    assert served.ask(served.person("ann", "analyst"), key=key).status == 400


def test_a_key_at_once_is_charged_once(served: Study) -> None:
    ann = served.person("ann", "analyst")
    start = Barrier(12)

    def one(_: int) -> Any:
        start.wait()
        return told(served.ask(ann, fresh=True, key="one"))["receipt"]

    with ThreadPoolExecutor(12) as pool:
        receipts = set(pool.map(one, range(12)))
    assert len(receipts) == len(served.charges) == 1


class Killed(BaseException):
    """The process has ended here."""


def killed(*_: object, **__: object) -> None:
    raise Killed


def test_a_key_finds_its_charge_after_a_crash_before_the_record(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = served.person("ann", "analyst")
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "record", killed)
        with pytest.raises(Killed):
            served.ask(ann, fresh=True, key="one")
    assert len(served.charges) == 1
    served.keeper.generations.now.session._drawn.clear()  # which ends with a process
    served.keeper.generations.now.session._owed.clear()
    served.restart()
    answer = told(served.ask(ann, fresh=True, key="one"))
    assert answer["receipt"].startswith("people:2:")
    assert len(served.charges) == 1
    (verified,) = verify(served.keeper.generations.now.session.ledger)
    assert (verified.charges, verified.answers) == (1, 1)


def test_a_key_charges_after_a_crash_before_the_charge(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = served.person("ann", "analyst")
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "charge", killed)
        with pytest.raises(Killed):
            served.ask(ann, fresh=True, key="one")
    assert served.charges == []
    served.restart()
    assert served.ask(ann, fresh=True, key="one").status == 200
    assert len(served.charges) == 1


def test_a_question_is_written_down_before_it_is_charged(
    served: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = served.person("ann", "analyst")
    seen: list[str] = []
    obtain = Ledger.obtain

    def watched(self: Ledger, *arguments: Any, **terms: Any) -> Any:
        seen.extend(row["state"] for row in served.state.rows("SELECT state FROM questions"))
        return obtain(self, *arguments, **terms)

    monkeypatch.setattr(Ledger, "obtain", watched)
    served.ask(ann)
    assert seen == ["begun"]
    assert [row["state"] for row in served.state.rows("SELECT state FROM questions")] == [
        "answered"
    ]
