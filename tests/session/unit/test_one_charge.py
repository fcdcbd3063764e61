# SPDX-License-Identifier: Apache-2.0
"""A charge buys one answer: whoever asks the same again, or at once, is not charged a second time.

And nobody ever sees two answers that one charge has paid for.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Thread
from time import sleep
from typing import Any

import pytest

import sordino as so
from sordino.answer.answer import to_bytes
from sordino.engine.duckdb.engine import DuckdbEngine
from sordino.errors import LedgerError, SealedError
from sordino.ledger.history import entries
from sordino.ledger.ledger import Ledger
from sordino.ledger.verify import verify
from sordino.release import release
from sordino.session import session as sessions
from sordino.session.session import Flights
from tests.session.unit.clinic import SQL, charges, clinic, rows, spent, write_rows

MANY = 8


def fail(*_: Any, **__: Any) -> Any:
    raise SealedError


def in_threads(work: Callable[[], object], many: int = MANY) -> list[object]:
    """Do something in many threads at once, and return what came of it: a value or an error."""
    barrier, found = Barrier(many), []

    def one() -> None:
        barrier.wait()
        try:
            found.append(work())
        except Exception as error:
            found.append(error)

    threads = [Thread(target=one) for _ in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def slowed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let the engine take its time, and count how often it is asked."""
    run, asked = DuckdbEngine.run, []

    def slowly(*about: Any, **more: Any) -> Any:
        asked.append(1)
        sleep(0.1)
        return run(*about, **more)

    monkeypatch.setattr(DuckdbEngine, "run", slowly)
    return asked


# Taking a charge up again. ----------------------------------------------------------------------


def test_a_question_that_failed_is_charged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with so.open(clinic(tmp_path)) as data:
        with monkeypatch.context() as patch:
            patch.setattr(DuckdbEngine, "run", fail)
            for _ in range(3):
                with pytest.raises(SealedError):
                    data.ask(SQL, epsilon=1)
        assert (charges(data), spent(data)) == (1, 1)
        answer = data.ask(SQL, epsilon=1)
        assert (answer.again, answer.charge.number) == (False, 2)
        assert (charges(data), spent(data)) == (1, 1)


def test_a_file_that_cannot_be_read_is_charged_once(tmp_path: Path) -> None:
    path = clinic(tmp_path)
    with so.open(path) as data:
        file = tmp_path / "visits.parquet"
        whole, stamp = file.read_bytes(), file.stat().st_mtime_ns
        file.write_bytes(bytes(len(whole) // 2) + whole[len(whole) // 2 :])
        os.utime(file, ns=(stamp, stamp))
        for _ in range(3):
            with pytest.raises(SealedError):
                data.ask("SELECT SUM(cost) FROM visits", epsilon=1)
        assert (charges(data), spent(data)) == (1, 1)
        write_rows(file)  # other data is another question
        data.ask("SELECT SUM(cost) FROM visits", epsilon=1)
        assert (charges(data), spent(data)) == (2, 2)


def test_a_charge_is_taken_up_by_the_same_question_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with so.open(clinic(tmp_path)) as data:
        with monkeypatch.context() as patch:
            patch.setattr(DuckdbEngine, "run", fail)
            with pytest.raises(SealedError):
                data.ask(SQL, epsilon=1)
        data.ask(SQL, epsilon=2)
        assert charges(data) == 2
        data.ask(SQL, epsilon=1, confidence=0.9)
        assert charges(data) == 3
        data.ask(SQL, epsilon=1, fresh=True)
        assert charges(data) == 4
    with so.open(tmp_path / "sordino.toml", who="bob") as data:
        data.ask(SQL, epsilon=1)
        assert charges(data) == 5


def test_an_answer_that_could_not_be_recorded_is_not_drawn_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with so.open(clinic(tmp_path)) as data:
        tried: list[bytes] = []

        def full(_: Ledger, receipt: object, body: bytes) -> None:
            del receipt
            tried.append(body)
            raise LedgerError("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "record", full)
            for _ in range(2):
                with pytest.raises(LedgerError, match="full"):
                    data.ask(SQL, epsilon=1)
        monkeypatch.setattr(DuckdbEngine, "run", fail)
        answer = data.ask(SQL, epsilon=1)
        assert [to_bytes(answer)] * 2 == tried
        assert charges(data) == 1


def test_nothing_is_charged_until_what_was_drawn_is_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with so.open(clinic(tmp_path)) as data:
        drawn: list[int] = []

        def drawing(plan: Any, sealed: Any, receipt: Any, options: Any) -> so.Answer:
            drawn.append(receipt.number)
            return release(plan, sealed, receipt, options)

        monkeypatch.setattr(sessions, "release", drawing)
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "record", fail)
            for number in range(20):
                with pytest.raises(SealedError):
                    data.ask(SQL, epsilon=1 + number)
        assert (charges(data), len(data._drawn)) == (1, 1)
        data.ask(SQL, epsilon=7)
        assert (charges(data), data._drawn, data._owed) == (2, {}, {})
        assert data.ask(SQL, epsilon=1).again
        assert len(drawn) == len(set(drawn)) == 2


def test_an_interrupt_before_the_record_leads_to_no_second_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with so.open(clinic(tmp_path)) as data:
        with monkeypatch.context() as patch:

            def interrupted(_: object) -> bytes:
                raise KeyboardInterrupt

            patch.setattr(sessions, "to_bytes", interrupted)
            with pytest.raises(KeyboardInterrupt):
                data.ask(SQL, epsilon=1)
        (kept,) = data._drawn.values()
        monkeypatch.setattr(DuckdbEngine, "run", fail)
        assert to_bytes(data.ask(SQL, epsilon=1)) == to_bytes(kept)


def test_what_another_process_has_recorded_meanwhile_is_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = clinic(tmp_path)
    with so.open(path) as data, so.open(path) as other:
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "record", fail)
            with pytest.raises(SealedError):
                data.ask(SQL, epsilon=1)
        answer = other.ask(SQL, epsilon=1)
        assert to_bytes(data.ask(SQL, epsilon=1)) == to_bytes(answer)
        assert (charges(data), data._drawn, data._owed) == (1, {}, {})


HANDLER = """
import os, signal, sys
import sordino as so
from sordino.engine.duckdb.engine import DuckdbEngine

with so.open(sys.argv[1]) as data:
    run, said = DuckdbEngine.run, []

    def asking(*_):
        try:
            data.ask(sys.argv[2], epsilon=1)
        except RuntimeError as error:
            said.append(str(error))

    def interrupted(*about, **more):
        signal.raise_signal(signal.SIGUSR1)
        return run(*about, **more)

    signal.signal(signal.SIGUSR1, asking)
    DuckdbEngine.run = interrupted
    answer = data.ask(sys.argv[2], epsilon=1)
    assert data.ask(sys.argv[2], epsilon=1).again
    print(answer.charge.number, said)
"""


def test_a_handler_that_asks_the_question_that_it_interrupts_does_not_wait_for_itself(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", HANDLER, str(clinic(tmp_path)), SQL]
    done = subprocess.run(command, capture_output=True, check=False, timeout=120, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 ['this thread is asking a question already")


KILLED = """
import os, signal, sys
import sordino as so
from sordino.ledger.ledger import Ledger
Ledger.record = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
with so.open(sys.argv[1]) as data:
    data.ask(sys.argv[2], epsilon=1)
"""


def test_a_charge_whose_process_was_killed_is_taken_up(tmp_path: Path) -> None:
    path = clinic(tmp_path)
    for _ in range(2):
        command = [sys.executable, "-c", KILLED, str(path), SQL]
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr
    with so.open(path) as data:
        answer = data.ask(SQL, epsilon=1)
        assert (charges(data), answer.charge.number, answer.again) == (1, 2, False)
        verify(data.ledger)


def test_of_two_who_take_up_one_charge_both_get_the_one_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, run, open_others = clinic(tmp_path), DuckdbEngine.run, Ledger._open_others
    with so.open(path) as one, so.open(path) as two:
        looked, together = Barrier(2), Barrier(2)

        def opened(*about: Any) -> None:
            looked.wait(60)  # both have found no charge before either has made one
            open_others(*about)

        def both(*about: Any, **more: Any) -> Any:
            found = run(*about, **more)
            together.wait(60)  # both have looked before either has recorded
            return found

        monkeypatch.setattr(Ledger, "_open_others", opened)
        monkeypatch.setattr(DuckdbEngine, "run", both)
        answers: list[so.Answer] = []
        threads = [
            Thread(target=lambda data=data: answers.append(data.ask(SQL, epsilon=1)))
            for data in (one, two)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({to_bytes(answer) for answer in answers}) == 1
        assert sorted(answer.again for answer in answers) == [False, True]
        assert [entry.kind for entry in entries(one.ledger)] == ["open", "charge", "answer"]


def test_what_a_newer_version_has_recorded_is_paid_for_again_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with so.open(clinic(tmp_path)) as data:
        data.ask(SQL, epsilon=1)
        monkeypatch.setattr(sessions, "is_readable", lambda body: b'"number":2' not in body)
        with monkeypatch.context() as patch:
            patch.setattr(DuckdbEngine, "run", fail)
            for _ in range(2):
                with pytest.raises(SealedError):
                    data.ask(SQL, epsilon=1)
        assert data.ask(SQL, epsilon=1).charge.number == 4
        assert charges(data) == 2


# At once. ---------------------------------------------------------------------------------------


def test_threads_that_ask_the_same_are_charged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = slowed(monkeypatch)
    with so.open(clinic(tmp_path)) as data:
        found = in_threads(lambda: data.ask(SQL, epsilon=1))
        answers = [answer for answer in found if isinstance(answer, so.Answer)]
        assert len({to_bytes(answer) for answer in answers}) == 1
        assert sorted(answer.again for answer in answers) == [False] + [True] * (MANY - 1)
        assert (charges(data), spent(data), len(slow)) == (1, 1, 1)


def test_threads_that_ask_for_new_noise_are_charged_each(tmp_path: Path) -> None:
    with so.open(clinic(tmp_path)) as data:
        found = in_threads(lambda: data.ask(SQL, epsilon=1, fresh=True), 4)
        numbers = {answer.charge.number for answer in found if isinstance(answer, so.Answer)}
        assert (charges(data), len(numbers)) == (4, 4)


def test_threads_that_wait_for_one_who_fails_try_themselves_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with so.open(clinic(tmp_path)) as data:
        run, left = DuckdbEngine.run, [fail, fail]

        def at_first(*about: Any, **more: Any) -> Any:
            return (left.pop() if left else run)(*about, **more)

        monkeypatch.setattr(DuckdbEngine, "run", at_first)
        found = in_threads(lambda: data.ask(SQL, epsilon=1))
        assert sum(isinstance(one, SealedError) for one in found) == 2
        answers = [to_bytes(one) for one in found if isinstance(one, so.Answer)]
        assert (len(answers), len(set(answers))) == (MANY - 2, 1)
        assert charges(data) == 1


def test_an_interrupt_leaves_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    with so.open(clinic(tmp_path)) as data:
        with monkeypatch.context() as patch:
            patch.setattr(DuckdbEngine, "run", interrupted)
            with pytest.raises(KeyboardInterrupt):
                data.ask(SQL, epsilon=1)
        assert not data._flights._flights
        assert len(in_threads(lambda: data.ask(SQL, epsilon=1), 2)) == 2
        assert charges(data) == 1


def test_a_flight_is_forgotten_when_it_has_landed_and_is_not_joined_after_a_fork() -> None:
    flights = Flights()
    question = flights.of("question")
    with question.turn, flights.of("another").turn:
        assert flights.of("question") is question
        flights._process -= 1  # as in a child, whose parent goes on with the question
        assert flights.of("question") is not question
    assert not flights._flights


@pytest.mark.parametrize("step", ["prepare", "load", "run"])
@pytest.mark.parametrize("use", ["ask", "plan", "explain", "answer", "stored", "budget", "close"])
def test_a_handler_may_not_use_the_session_that_it_interrupts(
    step: str, use: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals: list[str] = []
    with so.open(clinic(tmp_path)) as data:
        plan = data.plan(SQL, epsilon=2)
        uses: dict[str, Callable[[], object]] = {
            "ask": lambda: data.ask(SQL, epsilon=2),
            "plan": lambda: data.plan(SQL, epsilon=3),
            "explain": lambda: data.explain(SQL, epsilon=3),
            "answer": lambda: data.answer(plan),
            "stored": lambda: data.stored(plan),
            "budget": lambda: data.budget,
            "close": data.close,
        }
        original = getattr(DuckdbEngine, step)

        def interrupted(*args: Any, **kwargs: Any) -> Any:
            with pytest.raises(RuntimeError, match="asking a question already") as refused:
                uses[use]()  # as a handler of a signal would
            refusals.append(str(refused.value))
            return original(*args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(DuckdbEngine, step, interrupted)
            data.ask(SQL, epsilon=1)
        assert refusals
        data.ask(SQL, epsilon=1)
        assert charges(data) == 1


ASKING = """
import sys, time
import sordino as so
from sordino.answer.answer import to_bytes
with so.open(sys.argv[1]) as data:
    plan = data.plan(sys.argv[2], epsilon=1)
    print("ready", flush=True)
    sys.stdin.readline()
    print(to_bytes(data.answer(plan)).hex())
"""


def test_processes_that_ask_the_same_at_once_are_charged_once(tmp_path: Path) -> None:
    path = clinic(tmp_path)
    with so.open(path):
        pass
    started = [
        subprocess.Popen(
            [sys.executable, "-c", ASKING, str(path), SQL],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(MANY)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=60)[0] for process in started]
    assert len(set(answers)) == 1
    assert answers[0].strip()
    with so.open(path) as data:
        assert [entry.kind for entry in entries(data.ledger)] == ["open", "charge", "answer"]


def test_rows_in_memory_are_charged_once_too(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = slowed(monkeypatch)
    with so.table(rows(), unit="person", epsilon=10) as data:
        sql = "SELECT COUNT(*) FROM data"
        found = in_threads(lambda: data.ask(sql, epsilon=1))
        assert len({to_bytes(one) for one in found if isinstance(one, so.Answer)}) == 1
        assert (charges(data), len(slow)) == (1, 1)
