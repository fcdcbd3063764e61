# SPDX-License-Identifier: Apache-2.0
"""Passwords: argon2id, the same work whether a name is known or not, and a limit on guessing."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import cache
from ipaddress import IPv6Address, IPv6Network, ip_address
from threading import Lock, Semaphore
from time import monotonic

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

_AT_ONCE = 2  # hashes, of 64 MiB each
_GUESSES = 5  # for one account, and as many times more for one address
_OF_ADDRESS = 20
_OF_ONE_LINE = 64  # bits that the addresses of one line have in common
_WAITING = 16  # passwords that are looked at or wait for it
_REST = 900.0  # seconds after which a guess is forgotten

_hasher = PasswordHasher()  # argon2id, 64 MiB, three passes
_room = Semaphore(_AT_ONCE)


def hash_password(password: str) -> str:
    """Return what is kept of a password."""
    with _room:
        return _hasher.hash(password)


def is_password(kept: str | None, password: str) -> bool:
    """Tell whether a password is the one that is kept; it takes as long if none is kept."""
    with _room:
        nobodys = _nobodys()  # whoever comes first waits for it, whether their name is known or not
        try:
            _hasher.verify(nobodys if kept is None else kept, password)
        except (VerificationError, InvalidHashError):
            return False
    return kept is not None


@cache
def _nobodys() -> str:
    """Return the hash of a password that nobody has, at the same cost as those that are kept."""
    return _hasher.hash("nobody has this password")


class Logins:
    """How many passwords are looked at, or wait for it, at once; whoever comes then is busy.

    Anybody may guess, known or not, and each guess is a hash that takes long: without an end of
    those that wait, they would take all connections from those who have a token.
    """

    def __init__(self, most: int = _WAITING) -> None:
        self._room = Semaphore(most)

    @contextmanager
    def one_more(self) -> Iterator[bool]:
        """Be one of them, as a context that has False if there are as many as there may be."""
        joins = self._room.acquire(blocking=False)
        try:
            yield joins
        finally:
            if joins:
                self._room.release()


def network_of(address: str) -> str:
    """Return what counts as one address: of version 6 all that one line is given.

    >>> network_of("203.0.113.9"), network_of("2001:db8:1:2:3:4:5:6"), network_of("")
    ('203.0.113.9', '2001:db8:1:2::/64', '')

    A socket that takes both versions tells those of version 4 as of version 6:

    >>> network_of("::ffff:203.0.113.9")
    '203.0.113.9'
    """
    try:
        found = ip_address(address)
    except ValueError:  # that of a Unix socket has none
        return address
    if not isinstance(found, IPv6Address):
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(IPv6Network((int(found), _OF_ONE_LINE), strict=False))


class Guesses:
    """How many guesses were wrong lately, by account and by address."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._turn = Lock()
        self._wrong: dict[Hashable, list[float]] = {}

    def wait(self, name: str, address: str) -> float:
        """Count a guess, and return for how long none may be made; 0 if this one may."""
        with self._turn:
            now = self._clock()
            self._forget(now)
            place = network_of(address)
            limits = ((("name", name), _GUESSES), (("address", place), _OF_ADDRESS))
            waits = [
                _REST - (now - self._wrong[one][-most])
                for one, most in limits
                if len(self._wrong.get(one, ())) >= most
            ]
            if not waits:
                for one, _ in limits:
                    self._wrong.setdefault(one, []).append(now)
            return max(waits, default=0.0)

    def was_right(self, name: str, address: str) -> None:
        """Forget the guesses of an account whose password was known, and this one of the address.

        Those of the address that were wrong still count: whoever has one account gets no more
        guesses at others for it.
        """
        with self._turn:
            self._wrong.pop(("name", name), None)
            guesses = self._wrong.get(("address", network_of(address)))
            if guesses:
                guesses.pop()

    def _forget(self, now: float) -> None:
        for one, times in list(self._wrong.items()):
            kept = [time for time in times if now - time < _REST]
            if kept:
                self._wrong[one] = kept
            else:
                del self._wrong[one]
