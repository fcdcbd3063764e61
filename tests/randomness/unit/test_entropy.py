# SPDX-License-Identifier: Apache-2.0
import os
import threading

import numpy as np
import pytest

from sordino.randomness.entropy import REKEY_AFTER, Keystream, system

DRAWS = 1000


def draw_words() -> list[int]:
    """Half of the words from the scalar buffer, half straight from the cipher."""
    bits = system()
    block = np.empty(DRAWS // 2, dtype=np.uint64)
    bits.fill(block)
    return [bits.integer(64) for _ in range(DRAWS // 2)] + block.tolist()


def in_a_fork() -> list[int]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(writer, "wb") as out:
            out.write(np.array(draw_words(), dtype=np.uint64).tobytes())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as source:
        data = source.read()
    os.waitpid(child, 0)
    return [int(word) for word in np.frombuffer(data, dtype=np.uint64)]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_eight_forked_workers_and_their_parent_draw_no_common_word() -> None:
    words = draw_words()
    for _ in range(8):
        words += in_a_fork()
        words += draw_words()
    # 17,000 honest 64-bit words collide with probability below 1e-11.
    assert len(words) == 17 * DRAWS
    assert len(set(words)) == len(words)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_stream_held_across_a_fork_is_wiped_in_the_child() -> None:
    bits = system()
    bits.integer(64)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        own = bits.integer(64)
        os.write(writer, own.to_bytes(8, "little"))
        os._exit(0)
    in_parent = [bits.integer(64) for _ in range(600)]
    os.waitpid(child, 0)
    in_child = int.from_bytes(os.read(reader, 8), "little")
    os.close(reader)
    os.close(writer)
    assert in_child not in in_parent


def test_eight_threads_draw_no_common_word() -> None:
    found: list[list[int]] = []
    barrier = threading.Barrier(8)

    def work() -> None:
        barrier.wait()
        found.append(draw_words())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    words = [word for part in found for word in part]
    assert len(words) == 8 * DRAWS
    assert len(set(words)) == len(words)


def test_each_thread_has_a_stream_of_its_own() -> None:
    seen = [system()]
    thread = threading.Thread(target=lambda: seen.append(system()))
    thread.start()
    thread.join()
    assert seen[0] is not seen[1]
    assert system() is seen[0]


def test_wiping_forgets_key_and_buffer() -> None:
    stream = Keystream()
    stream.word16()
    assert stream._words
    stream.wipe()
    assert stream._words == []
    assert stream._cipher is None


def test_a_new_key_is_taken_after_its_share_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[bytes] = []
    real = os.urandom

    def counting(count: int) -> bytes:
        keys.append(real(count))
        return keys[-1]

    monkeypatch.setattr(os, "urandom", counting)
    stream = Keystream()
    block = np.empty(REKEY_AFTER // 8, dtype=np.uint64)
    stream.fill(block)
    assert len(keys) == 2
    stream.fill(np.empty(1, dtype=np.uint64))
    assert [len(key) for key in keys] == [32, 16, 32, 16]
    assert len(set(keys)) == 4


def test_arrays_longer_than_a_block_do_not_repeat() -> None:
    block = np.empty(1 << 19, dtype=np.uint64)
    system().fill(block)
    assert np.unique(block).size == block.size


def test_an_empty_array_takes_nothing() -> None:
    system().fill(np.empty(0, dtype=np.uint16))


def test_a_width_that_is_no_multiple_of_sixteen_is_refused() -> None:
    with pytest.raises(ValueError, match="units of 16 bits"):
        Keystream().integer(7)


def test_an_array_that_is_not_contiguous_is_refused() -> None:
    with pytest.raises(ValueError, match="contiguous"):
        Keystream().fill(np.empty((4, 4), dtype=np.uint64).T[::2])


def test_a_wipe_in_the_middle_of_a_refill_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A signal handler may fork between any two steps; wiping there stands for it."""
    stream = Keystream()
    real = os.urandom
    drawn: list[bytes] = []

    def interrupted(count: int) -> bytes:
        drawn.append(real(count))
        if len(drawn) == 2:
            stream.wipe()
        return drawn[-1]

    monkeypatch.setattr(os, "urandom", interrupted)
    stream.word16()
    assert len(drawn) == 4  # the first key was dropped, because the wipe came after it was drawn


def test_words_buffered_before_a_wipe_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Keystream()
    inner = Keystream._draw
    calls = 0

    def interrupted(self: Keystream, view: memoryview) -> None:
        nonlocal calls
        inner(self, view)
        calls += 1
        if calls == 1:
            self.wipe()

    monkeypatch.setattr(Keystream, "_draw", interrupted)
    stream.word16()
    assert calls == 2


def test_a_fork_that_python_does_not_see_is_noticed_by_the_process_number() -> None:
    bits = system()
    bits.integer(64)
    assert isinstance(bits, Keystream)
    bits.process += 1  # as if this were the child
    buffered = list(bits._words)
    assert system() is bits
    assert bits.process == os.getpid()
    assert bits._words == []
    assert buffered
