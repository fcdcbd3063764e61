# SPDX-License-Identifier: Apache-2.0
"""A keeper that is killed at its first start begins again without help."""

import os
import stat
from pathlib import Path

import pytest

from sordino.keeper import main, quotes
from sordino.keeper.state import State
from tests.keeper.study import study


class Killed(BaseException):
    """The process has ended here."""


def killed(*_: object, **__: object) -> None:
    raise Killed


def test_a_key_is_made_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret.key"
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", killed)
        with pytest.raises(Killed):
            quotes.read_key(path)
    assert not path.exists()
    key = quotes.read_key(path)
    assert key == quotes.read_key(path) == path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_there_is_no_owner_before_their_token_is_in_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with study(tmp_path / "study") as served:
        path = served.folder / "owner.token"
        places: list[tuple[object, str]] = [(main, "_write"), (State, "add")]
        for owner, name in places:
            with monkeypatch.context() as patched:
                patched.setattr(owner, name, killed)
                with pytest.raises(Killed):
                    main._first_owner(served.keeper, path)
            assert served.keeper.people.all() == []
            assert served.keeper.tokens.all() == []
        secret = main._first_owner(served.keeper, path)
        assert secret is not None
        assert path.read_text() == f"{secret}\n"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert served.send("me", secret).status == 200
        assert main._first_owner(served.keeper, path) is None
