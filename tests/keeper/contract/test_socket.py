# SPDX-License-Identifier: Apache-2.0
"""The keeper's socket: frames in strict turn, and an end that waits for what is under way."""

import errno
import logging
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep

import pytest

from sordino.channel.frames import HEADER, LARGEST_REPLY, Reply, Request, length, pack, unpack_reply
from sordino.keeper import socket as sockets
from sordino.keeper.socket import Door, Notice


def echo(request: Request) -> Reply:
    return Reply(200, "text/plain", request.call.encode())


@contextmanager
def opened(path: Path, **terms: object) -> Iterator[Door]:
    door = Door(path, terms.get("reply", echo))  # type: ignore[arg-type]
    door.listen()
    Thread(target=door.serve, daemon=True).start()
    try:
        yield door
    finally:
        door.close(5)


def connected(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(20)
    made.connect(str(path))
    return made


def reply(connection: socket.socket) -> Reply:
    size = length(connection.recv(HEADER.size, socket.MSG_WAITALL), LARGEST_REPLY)
    return unpack_reply(connection.recv(size, socket.MSG_WAITALL))


def until(condition: Callable[[], bool]) -> None:
    due = monotonic() + 20
    while not condition():
        assert monotonic() < due
        sleep(0.001)


def hung_up(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_requests_are_replied_to_in_turn(tmp_path: Path) -> None:
    with opened(tmp_path / "s"), connected(tmp_path / "s") as connection:
        connection.sendall(pack(Request("one", "1")) + pack(Request("two", "2")))
        assert [reply(connection).body, reply(connection).body] == [b"one", b"two"]


def test_a_frame_may_come_byte_by_byte(tmp_path: Path) -> None:
    with opened(tmp_path / "s"), connected(tmp_path / "s") as connection:
        for byte in pack(Request("one", "1")):
            connection.sendall(bytes([byte]))
        assert reply(connection).body == b"one"


def test_few_large_frames_are_held_at_once_and_small_ones_pass(tmp_path: Path) -> None:
    large = pack(Request("swap", "1", body=b"#" * 1_000_000))
    with opened(tmp_path / "s") as door, ExitStack() as ends:
        lines = [ends.enter_context(connected(tmp_path / "s")) for _ in range(6)]
        for line in lines[:4]:
            line.sendall(large[:-1])
        until(lambda: door._large._value == 0)
        lines[4].settimeout(0.3)
        with pytest.raises(TimeoutError):  # what is not read stays where it is
            lines[4].sendall(large)
        lines[5].sendall(pack(Request("one", "2")))
        assert reply(lines[5]).body == b"one"
        for line in lines[:4]:
            line.sendall(large[-1:])
            assert reply(line).body == b"swap"
        until(lambda: door._large._value in (3, 4))


def test_the_socket_is_for_its_owner_alone(tmp_path: Path) -> None:
    with opened(tmp_path / "s"):
        assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o600
    assert not (tmp_path / "s").exists()


def test_what_a_killed_keeper_has_left_is_taken_away(tmp_path: Path) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / "s"))
    left.close()
    with opened(tmp_path / "s"), connected(tmp_path / "s") as connection:
        connection.sendall(pack(Request("one", "1")))
        assert reply(connection).body == b"one"


def test_a_file_in_its_place_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("mine")
    with pytest.raises(OSError, match="in use"):
        Door(tmp_path / "s", echo).listen()
    assert (tmp_path / "s").read_text() == "mine"


def test_there_are_so_many_connections_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "MOST_CONNECTIONS", 3)
    with opened(tmp_path / "s"):
        held = [connected(tmp_path / "s") for _ in range(3)]
        for connection in held:
            connection.sendall(pack(Request("one", "1")))
            assert reply(connection).body == b"one"
        with connected(tmp_path / "s") as one_more:
            assert hung_up(one_more)
        held.pop().close()
        for _ in range(200):
            # Whoever comes before the place is free is hung up on, maybe while still sending.
            with connected(tmp_path / "s") as next_one, suppress(ConnectionError):
                next_one.sendall(pack(Request("one", "1")))
                if next_one.recv(1):
                    break
            sleep(0.01)
        else:
            pytest.fail("a place that was left is not taken")
        for connection in held:
            connection.close()


def test_who_sends_half_a_frame_is_hung_up_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "_SLOW", 0.05)
    with opened(tmp_path / "s"), connected(tmp_path / "s") as connection:
        connection.sendall(pack(Request("one", "1"))[:-1])
        assert hung_up(connection)


def test_an_idle_connection_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "_IDLE", 0.05)
    with opened(tmp_path / "s"), connected(tmp_path / "s") as connection:
        assert hung_up(connection)


def test_what_is_under_way_is_done_before_the_end(tmp_path: Path) -> None:
    began, go_on, done = Event(), Event(), Event()

    def slow(_: Request) -> Reply:
        began.set()
        go_on.wait(20)
        done.set()
        return Reply(200, "text/plain", b"done")

    door = Door(tmp_path / "s", slow)
    door.listen()
    Thread(target=door.serve, daemon=True).start()
    with connected(tmp_path / "s") as connection:
        connection.sendall(pack(Request("one", "1")))
        assert began.wait(20)
        ended: list[bool] = []
        ending = Thread(target=lambda: ended.append(door.close(20)))
        ending.start()
        go_on.set()
        ending.join(20)
        assert ended == [True]
        assert done.is_set()
        assert reply(connection).body == b"done"


def test_a_request_is_done_also_if_whoever_sent_it_goes_away(tmp_path: Path) -> None:
    gone, done = Event(), Event()

    def slow(_: Request) -> Reply:
        gone.wait(20)
        done.set()
        return Reply(200, "text/plain", b"x" * 10_000_000)

    with opened(tmp_path / "s", reply=slow):
        connection = connected(tmp_path / "s")
        connection.sendall(pack(Request("one", "1")))
        connection.close()
        gone.set()
        assert done.wait(20)


def test_a_notice_is_told_and_ends(tmp_path: Path) -> None:
    notice = Notice(tmp_path / "s", lambda: "seven\n")
    with connected(tmp_path / "s") as connection:
        assert connection.makefile("rb").read() == b"seven\n"
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o600
    notice.close()
    assert not (tmp_path / "s").exists()


def test_a_door_goes_on_where_no_thread_can_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "s"):
        sleep(0.1)
        with monkeypatch.context() as patched:

            def fail(_: Thread) -> None:
                raise RuntimeError("can't start new thread")

            patched.setattr(Thread, "start", fail)
            for _ in range(3):
                with connected(tmp_path / "s") as connection:
                    assert hung_up(connection)
        with connected(tmp_path / "s") as connection:
            connection.sendall(pack(Request("one", "1")))
            assert reply(connection).body == b"one"


class Exhausted:
    """A listener for which there are too few files, until there are enough."""

    def __init__(self, listener: socket.socket) -> None:
        self.listener = listener
        self.accepts = 0
        self.is_short = True

    def accept(self) -> tuple[socket.socket, object]:
        if self.is_short:
            self.accepts += 1
            raise OSError(errno.EMFILE, "too many open files")
        return self.listener.accept()

    def shutdown(self, how: int) -> None:
        self.listener.shutdown(how)

    def close(self) -> None:
        self.listener.close()


def test_a_door_waits_where_there_are_too_few_files(tmp_path: Path) -> None:
    door = Door(tmp_path / "s", echo)
    door.listen()
    assert door._listener is not None
    listener = Exhausted(door._listener)
    door._listener = listener  # type: ignore[assignment]
    Thread(target=door.serve, daemon=True).start()
    sleep(0.5)
    assert 1 <= listener.accepts <= 10
    listener.is_short = False
    with connected(tmp_path / "s") as connection:
        connection.sendall(pack(Request("one", "1")))
        assert reply(connection).body == b"one"
    assert door.close(5)


def test_a_notice_that_cannot_be_told_is_logged_and_the_next_one_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[int] = []

    def text() -> str:
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("canary")
        return "seven\n"

    log = logging.getLogger("sordino.keeper")
    log.addHandler(caplog.handler)
    notice = Notice(tmp_path / "s", text)
    try:
        with connected(tmp_path / "s") as connection:
            assert connection.makefile("rb").read() == b""
        with connected(tmp_path / "s") as connection:
            assert connection.makefile("rb").read() == b"seven\n"
    finally:
        notice.close()
        log.removeHandler(caplog.handler)
    assert "ValueError" in caplog.text
    assert "canary" not in caplog.text
