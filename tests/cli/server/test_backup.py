# SPDX-License-Identifier: Apache-2.0
"""`sordino backup` and `sordino restore`: copies are whole, and what is wrong is refused."""

import json
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner, Result

from sordino.cli.hospital import write
from sordino.cli.main import app
from tests.support.servers import serving

QUESTION = {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.1"}


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def post(url: str, token: str, path: str, body: dict[str, Any]) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.post(url + path, json=body, headers=headers, timeout=60)


@dataclass
class Kept:
    """A hospital that was served and asked once, its backup, and the owner's token."""

    catalog: Path
    folder: Path
    keys: Path
    told: dict[str, Any]
    owner: str
    receipt: str


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    place = tmp_path_factory.mktemp("kept")
    catalog = write(place / "hospital #1 %3f")
    folder, keys = place / "copies of 100%25 #1?", place / "copies of 100%25 #1?-keys"
    with serving(str(catalog)) as server:
        owner = server.told["owner"]
        answer = post(server.url, owner, "/v1/answers", {"question": QUESTION})
        done = run("backup", folder, "--catalog", catalog, "--json")  # while it runs
        assert done.exit_code == 0, done.stderr
    return Kept(catalog, folder, keys, json.loads(done.stdout), owner, answer.json()["receipt"])


def copied(kept: Kept, place: Path) -> Kept:
    """The same backup in a place of its own, to be damaged."""
    folder, keys = place / "copies", place / "copies-keys"
    shutil.copytree(kept.folder, folder)
    shutil.copytree(kept.keys, keys)
    return Kept(kept.catalog, folder, keys, kept.told, kept.owner, kept.receipt)


def put_back(kept: Kept, place: Path, *more: object) -> Result:
    place.mkdir(exist_ok=True)
    return run("restore", kept.folder, "--catalog", place / "sordino.toml", *more)


def test_a_backup_has_everything_but_the_keys_which_lie_apart(kept: Kept) -> None:
    names = {path.name for path in kept.folder.iterdir()}
    assert names == {"ledger", "keeper.db", "sordino.toml", "backup.json"}
    assert {path.name for path in kept.keys.iterdir()} == {"secret.key"}
    for path in (*kept.folder.iterdir(), *kept.keys.iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in (kept.folder, kept.keys):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    number = kept.receipt.split(":")[1]
    (head,) = kept.told["heads"].values()
    assert int(head.split(":")[1]) == int(number) + 1  # the answer follows its charge
    every = b"".join(path.read_bytes() for path in kept.folder.iterdir())
    assert kept.owner.encode() not in every


def test_what_was_put_back_is_served_with_its_ledger_and_its_tokens(
    kept: Kept, tmp_path: Path
) -> None:
    place = tmp_path / "elsewhere"
    done = put_back(kept, place, "--json")
    assert done.exit_code == 0, done.stderr
    for name in ("visits", "patients", "cities"):
        shutil.copy2(kept.catalog.with_name(f"{name}.parquet"), place)
    with serving(str(place / "sordino.toml")) as server:
        assert server.told["owner"] is None
        again = post(server.url, kept.owner, "/v1/answers", {"question": QUESTION})
        headers = {"Authorization": f"Bearer {kept.owner}"}
        verified = httpx.post(f"{server.url}/v1/ledger/verify", headers=headers, timeout=60)
        assert verified.status_code == 200
    assert again.json()["again"]
    assert again.json()["receipt"] == kept.receipt


def test_a_server_that_is_there_is_not_written_over(kept: Kept, tmp_path: Path) -> None:
    assert put_back(kept, tmp_path).exit_code == 0
    done = put_back(kept, tmp_path)
    assert done.exit_code == 2
    assert "is there already, and may be newer than the backup" in done.stderr
    done = run("backup", kept.folder, "--catalog", kept.catalog)
    assert done.exit_code == 2
    assert "is there already; name a new folder" in done.stderr


@pytest.mark.parametrize("name", ["ledger", "keeper.db", "sordino.toml"])
def test_a_file_that_was_changed_is_refused(kept: Kept, tmp_path: Path, name: str) -> None:
    damaged = copied(kept, tmp_path)
    content = bytearray((damaged.folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (damaged.folder / name).write_bytes(content)
    done = put_back(damaged, tmp_path / "new")
    assert done.exit_code == 2
    assert "is not as it was when the backup was made" in done.stderr
    assert list((tmp_path / "new").iterdir()) == []


def test_a_ledger_without_the_newest_entry_is_refused(kept: Kept, tmp_path: Path) -> None:
    damaged = copied(kept, tmp_path)
    manifest = json.loads((damaged.folder / "backup.json").read_bytes())
    ((people, head),) = manifest["heads"].items()
    _, number, digest = head.split(":")
    manifest["heads"][people] = f"{people}:{int(number) + 1}:{digest}"
    (damaged.folder / "backup.json").write_text(json.dumps(manifest), "utf-8")
    done = put_back(damaged, tmp_path / "new")
    assert done.exit_code == 4
    assert list((tmp_path / "new").iterdir()) == []


def test_a_list_of_other_files_is_refused(kept: Kept, tmp_path: Path) -> None:
    damaged = copied(kept, tmp_path)
    manifest = json.loads((damaged.folder / "backup.json").read_bytes())
    manifest["files"]["../../outside"] = "0" * 64
    (damaged.folder / "backup.json").write_text(json.dumps(manifest), "utf-8")
    done = put_back(damaged, tmp_path / "new")
    assert done.exit_code == 2
    assert "lists other files than a backup has" in done.stderr


def test_a_folder_that_is_no_backup_is_refused(tmp_path: Path) -> None:
    done = run("restore", tmp_path, "--catalog", tmp_path / "sordino.toml")
    assert done.exit_code == 2
    assert "there is no backup in" in done.stderr


def test_nothing_is_copied_before_anything_was_served(tmp_path: Path) -> None:
    catalog = write(tmp_path / "hospital")
    done = run("backup", tmp_path / "copies", "--catalog", catalog)
    assert done.exit_code == 2
    assert "nothing was served" in done.stderr
    assert not (tmp_path / "copies").exists()
