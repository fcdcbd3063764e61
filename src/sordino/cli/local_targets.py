# SPDX-License-Identifier: Apache-2.0
"""Files that the commands of the local model write: what stands in the way is said beforehand."""

from __future__ import annotations

from pathlib import Path


def check_target(option: str, path: Path, endings: tuple[str, ...], *, force: bool) -> None:
    """Refuse a file that could not be written, or that is there already, before the work is done.

    >>> check_target("--out", Path("reports.txt"), (".csv", ".parquet"), force=False)
    Traceback (most recent call last):
    ValueError: --out must name a file that ends in .csv or .parquet, got reports.txt
    """
    if path.suffix.lower() not in endings:
        raise ValueError(
            f"{option} must name a file that ends in {' or '.join(endings)}, got {path}"
        )
    try:
        if not path.parent.is_dir():
            raise ValueError(f"{path} cannot be written: there is no folder {path.parent}")
        path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise unwritable(option, error) from None
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file to write")
    if not force:
        raise exists(path)


def exists(path: Path) -> ValueError:
    """Return the error about a file that would be written over."""
    return ValueError(f"{path} is there already; add --force to write over it")


def unwritable(option: str, error: OSError) -> ValueError:
    """Return the error about a file that cannot be written."""
    return ValueError(f"the file of {option} cannot be written: {error.strerror or error}")
