# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
from pathlib import Path

from sordino.catalog.model import Catalog
from sordino.engine.duckdb.connection import Database, largest_spill, own_prefix, remove_stale
from sordino.engine.duckdb.sources import Sources


def test_folders_of_processes_that_are_gone_are_removed_and_no_others(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    mine = own_prefix()
    where = mine.split("-")[1]
    names = [f"{mine}a", f"sordino-{where}-{gone.pid}", f"sordino-ffffffff-{gone.pid}-a", "other"]
    names += ["sordino-demo", f"sordino-{where}-{os.getppid()}-a"]
    stale = f"sordino-{where}-{gone.pid}-a"
    for name in (*names, stale):
        (tmp_path / name / "spill").mkdir(parents=True)
    (tmp_path / f"sordino-{where}-{gone.pid}-link").symlink_to(tmp_path / "other")
    remove_stale(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*names, f"sordino-{where}-{gone.pid}-link"}
    assert (tmp_path / "other" / "spill").is_dir()


def test_a_database_spills_no_more_than_it_may(tmp_path: Path) -> None:
    assert 0 < int(largest_spill(tmp_path).removesuffix("B")) <= 50 * 10**9
    for limit, shown in (("1GB", "953.6 MiB"), (None, None)):
        database = Database(
            Sources(Catalog(()), (), {}, {}, {}, {}),
            threads=1,
            memory_limit=None,
            spill_limit=limit,
        )
        with database.connection() as connection:
            question = "SELECT current_setting('max_temp_directory_size')"
            ((found,),) = connection.execute(question).fetchall()
        database.close()
        assert found == shown if shown else found.endswith("iB")
