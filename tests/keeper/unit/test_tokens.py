# SPDX-License-Identifier: Apache-2.0
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from argon2.exceptions import VerificationError
from hypothesis import given
from hypothesis import strategies as st

from sordino.catalog.frames import frame_catalog
from sordino.keeper import passwords, quotes
from sordino.keeper.passwords import Guesses, hash_password, is_password
from sordino.keeper.people import cap_of
from sordino.keeper.problems import BROKEN, SEALED, UNUSABLE, Refusal
from sordino.keeper.rates import Rates
from sordino.keeper.state import State, StateError
from sordino.keeper.tokens import Tokens, is_token, new_secret
from tests.keeper.study import Time, told


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    made = State(tmp_path / "keeper.db")
    made.add("INSERT INTO people (name, roles, made) VALUES ('ann', 'analyst', 0)")
    yield made
    made.close()


def test_tokens_differ_and_have_their_form() -> None:
    made = {new_secret() for _ in range(1_000)}
    assert len(made) == 1_000
    assert all(is_token(secret) and len(secret) == 52 for secret in made)


@given(st.integers(0, 51), st.sampled_from("ABCab01_-."))
def test_a_slip_of_the_pen_is_no_token(place: int, letter: str) -> None:
    secret = new_secret()
    slip = secret[:place] + letter + secret[place + 1 :]
    assert is_token(slip) is (slip == secret)


@given(st.text(max_size=60))
def test_a_text_is_no_token(text: str) -> None:
    assert not is_token(text)


def test_a_reservation_never_exceeds_a_cap(state: State) -> None:
    tokens = Tokens(state)
    _, token = tokens.make("ann", ["ask"], seconds=60, cap=10)
    assert [tokens.reserve(token, 4) for _ in range(3)] == [True, True, False]
    tokens.release(token, 4)
    assert tokens.reserve(token, 6)
    assert not tokens.reserve(token, 1)


def test_last_use_is_known_to_the_minute(state: State) -> None:
    tokens = Tokens(state)
    secret, token = tokens.make("ann", ["ask"], seconds=600)
    assert tokens.caller(secret) is not None
    used = tokens.get(token.number)
    assert used is not None
    assert used.used is not None
    assert used.used % 60 == 0


def test_a_key_of_quotes_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    key = quotes.read_key(path)
    assert len(key) == 32
    assert quotes.read_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for mode in (0o640, 0o604, 0o620):
        path.chmod(mode)
        with pytest.raises(StateError, match="read by others"):
            quotes.read_key(path)
    path.chmod(0o600)
    path.write_bytes(b"short")
    with pytest.raises(StateError, match="32 bytes"):
        quotes.read_key(path)


def test_a_key_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(os.urandom(32))
    (tmp_path / "secret.key").symlink_to(tmp_path / "there")
    with pytest.raises(StateError):
        quotes.read_key(tmp_path / "secret.key")


def test_a_password_is_kept_as_argon2id() -> None:
    kept = hash_password("a long password")
    assert kept.startswith("$argon2id$v=19$m=65536,t=3,")
    assert is_password(kept, "a long password")
    assert not is_password(kept, "a long passwore")


def test_an_unknown_name_is_as_much_work_as_a_known_one(monkeypatch: pytest.MonkeyPatch) -> None:
    verified: list[str] = []

    class Counting:
        def verify(self, kept: str, _: str) -> None:
            verified.append(kept)
            raise VerificationError

        def hash(self, _: str) -> str:
            return "nobody's"

    monkeypatch.setattr(passwords, "_hasher", Counting())
    passwords._nobodys.cache_clear()
    try:
        assert not is_password(None, "x")
        assert not is_password("somebody's", "x")
    finally:
        passwords._nobodys.cache_clear()
    assert verified == ["nobody's", "somebody's"]


def test_guesses_are_forgotten_in_time() -> None:
    time = Time()
    guesses = Guesses(time)
    assert [guesses.wait("ann", "a") for _ in range(5)] == [0.0] * 5
    assert guesses.wait("ann", "a") == 900
    time.now += 450
    assert guesses.wait("ann", "a") == 450
    time.now += 450
    assert guesses.wait("ann", "a") == 0
    assert len(guesses._wrong) == 2


def test_whoever_has_an_account_gets_no_more_guesses_at_others_for_it() -> None:
    guesses = Guesses(Time())
    for k in range(20):
        assert guesses.wait(f"n{k}", "a") == 0
        assert guesses.wait("mine", "b") == 0
        guesses.was_right("mine", "b")
    assert guesses.wait("n", "a") > 0
    assert guesses.wait("mine", "a") > 0


@given(st.lists(st.floats(0, 5), max_size=40))
def test_a_rate_is_kept_over_every_span_of_time(pauses: list[float]) -> None:
    time = Time()
    rates, passed = Rates(2, time), []
    for pause in pauses:
        time.now += pause
        if not rates.wait("ann"):
            passed.append(time.now)
    for place, since in enumerate(passed):
        for count, until in enumerate(passed[place:], start=1):
            assert count <= 10 + 2 * (until - since) + 1e-6


def test_what_says_nothing_of_its_cause_is_one_text() -> None:
    assert [reply.status for reply in (SEALED, UNUSABLE, BROKEN)] == [500, 503, 500]
    assert [told(reply)["type"] for reply in (SEALED, UNUSABLE)] == [
        "urn:sordino:sealed-error",
        "urn:sordino:ledger-error",
    ]


def test_a_cap_larger_than_can_be_kept_is_refused() -> None:
    catalog = frame_catalog(pa.table({"a": [1]}), unit="row", epsilon=1)
    assert cap_of(catalog, "9223372036.854775807") == 2**63 - 1
    for cap in ("9223372036.854775808", 1e100, 10**150):
        with pytest.raises(Refusal, match="without one"):
            cap_of(catalog, cap)
