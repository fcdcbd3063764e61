# SPDX-License-Identifier: Apache-2.0
"""Profiles: servers by a short name, each with its address and a token, for one's own eyes."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sordino.remote.heads import write_private

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class Profile:
    """A server; ``ca`` is a file with the authority that vouches for its certificate."""

    name: str
    url: str
    token: str = field(repr=False)
    ca: str | None = None


def profiles_path() -> Path:
    """Return where profiles are kept."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "sordino" / "servers.toml"


def profiles() -> dict[str, Profile]:
    """Return all profiles by name; a file that others can read is refused, for it has tokens."""
    path = profiles_path()
    try:
        held = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ValueError(
            f"the profiles in {str(path)!r} cannot be read: {error.strerror}"
        ) from None
    with os.fdopen(held, "rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if mode & _OTHERS:
            raise ValueError(
                f"others can read the tokens in {str(path)!r}; say 'chmod 600 {path}', and have "
                "the tokens replaced if somebody may have read them"
            )
        try:
            found = tomllib.loads(file.read().decode("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            found = {"servers": None}
    servers = found.get("servers", {})
    if not isinstance(servers, dict):
        raise ValueError(f"{str(path)!r} is no file of profiles; each is a section [servers.NAME]")
    return {name: _profile(path, name, entries) for name, entries in servers.items()}


def profile(name: str) -> Profile:
    """Return the profile of a name."""
    known = profiles()
    if name not in known:
        names = ", ".join(sorted(known)) or "none"
        raise ValueError(
            f"there is no profile {name!r} in {str(profiles_path())!r}, which has {names}; make "
            "one with 'sordino login'"
        )
    return known[name]


def profile_of(url: str) -> Profile | None:
    """Return the one profile that has an address; None if there is none."""
    same = [one for one in profiles().values() if one.url.rstrip("/") == url.rstrip("/")]
    if len(same) > 1:
        names = ", ".join(sorted(one.name for one in same))
        raise ValueError(f"several profiles are for this server; name one of {names}")
    return same[0] if same else None


def keep(made: Profile) -> Path:
    """Add a profile, or put it in the place of the one with its name; return the file."""
    if not _NAME.fullmatch(made.name):
        raise ValueError(
            "the name of a profile has letters, digits, dots, dashes and underscores, "
            f"at most 64, got {made.name!r}"
        )
    known = {**profiles(), made.name: made}
    path = profiles_path()
    write_private(path, "\n".join(map(_section, known.values())))
    return path


def _section(one: Profile) -> str:
    ca = "" if one.ca is None else f"ca = {_quoted(one.ca)}\n"
    head = f"[servers.{_quoted(one.name)}]\nurl = {_quoted(one.url)}\n"
    return f"{head}token = {_quoted(one.token)}\n{ca}"


def _quoted(text: str) -> str:
    """Write a text as TOML does."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    shown = (x if x.isprintable() else f"\\U{ord(x):08x}" for x in plain)
    return f'"{"".join(shown)}"'


def _profile(path: Path, name: str, entries: Any) -> Profile:
    known = {"url", "token", "ca"}
    if not isinstance(entries, dict) or not all(isinstance(v, str) for v in entries.values()):
        raise ValueError(f"the profile {name!r} in {str(path)!r} must have texts: url, token, ca")
    if not {"url", "token"} <= entries.keys() <= known:
        raise ValueError(f"the profile {name!r} in {str(path)!r} must have url, token and maybe ca")
    return Profile(name, entries["url"], entries["token"], entries.get("ca"))
