# SPDX-License-Identifier: Apache-2.0
"""Ways to a server: an address with a token, a profile, or a name and a password."""

from __future__ import annotations

from sordino.errors import ServerError
from sordino.remote import profiles
from sordino.remote.heads import Heads
from sordino.remote.session import RemoteSession
from sordino.remote.wire import WAITING, Wire, checked_url, not_ours

_SCHEME = "://"


def connect(
    server: str | None = None,
    *,
    token: str | None = None,
    profile: str | None = None,
    ca: str | None = None,
    waiting: float = WAITING,
    remember: bool = True,
) -> RemoteSession:
    """Connect to a server that answers questions, and return a session there.

    ``server`` is its address, such as ``"https://study.example"``, or the name of a profile. The
    token comes from whoever owns the data, or from ``sordino login``, which keeps it in a profile;
    then no token is needed here. ``ca`` is a file with the certificate of an authority of one's
    own. ``waiting`` is how many seconds an answer may take. With ``remember=False`` no receipt is
    kept or sent, as suits a demonstration, whose ledger begins anew each time.

    Guarantee: that of the session of the server, which charges before it looks; what is remembered
        here holds its ledger to the newest receipt that was seen.
    """
    wire, heads = _opened(server, token, profile, ca, waiting, remember=remember)
    return RemoteSession(wire, heads)


def wire_to(server: str) -> Wire:
    """Return a wire to a server that has a profile, for calls that are no question."""
    wire, _ = _opened(server, None, None, None, WAITING, remember=True)
    return wire


def _opened(
    server: str | None,
    token: str | None,
    profile: str | None,
    ca: str | None,
    waiting: float,
    *,
    remember: bool,
) -> tuple[Wire, Heads | None]:
    known = _known(server, token, profile)
    url = server if known is None else known.url
    if url is None:
        raise ValueError("name a server, as in so.connect('https://study.example', token=...)")
    secret = token if known is None else known.token
    authority = ca if ca is not None or known is None else known.ca
    if secret is None:
        raise ValueError(
            f"there is no token for {url}: give one as token=, or keep one with 'sordino login'"
        )
    heads = Heads(checked_url(url)) if remember else None
    return Wire(url, secret, ca=authority, heads=heads, waiting=waiting), heads


def _known(server: str | None, token: str | None, name: str | None) -> profiles.Profile | None:
    """Return the profile that is meant, if any is."""
    if server is not None and _SCHEME not in server:
        if name is not None or token is not None:
            raise ValueError(f"{server!r} is the name of a profile, and has its token")
        return profiles.profile(server)
    if name is not None:
        found = profiles.profile(name)
        if token is not None:
            raise ValueError("a profile has a token; leave out token=")
        if server is not None and checked_url(server) != checked_url(found.url):
            raise ValueError(f"the profile {name!r} is for another server: {found.url}")
        return found
    if server is not None and token is None:
        return profiles.profile_of(checked_url(server))
    return None


def login(url: str, name: str, password: str, *, ca: str | None = None) -> str:
    """Return a token of some hours, for a name and a password.

    Guarantee: none is needed; nothing is asked.
    """
    wire = Wire(url, None, ca=ca)
    try:
        found = wire.post("/v1/sessions", {"name": name, "password": password}).json()
    finally:
        wire.close()
    secret = found.get("secret") if isinstance(found, dict) else None
    if not isinstance(secret, str) or not secret:
        raise not_ours()
    return secret


def logout(session: RemoteSession) -> None:
    """End the token of a session; one that has ended already is no error."""
    try:
        session.logout()
    except ServerError as error:
        if error.status != 401:
            raise
