# SPDX-License-Identifier: Apache-2.0
"""Files that commands write: checked before the work, so that none is done in vain."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

PICTURES = (".png", ".svg", ".pdf")


def check_ending(option: str, path: Path, endings: tuple[str, ...]) -> None:
    """Refuse a file of another kind."""
    if path.suffix.lower() not in endings:
        raise ValueError(
            f"{option} must name a file that ends in {' or '.join(endings)}, got {path}"
        )


def check_target(option: str, path: Path, endings: tuple[str, ...], *, force: bool) -> None:
    """Refuse a file that could not be written, or that is there already, before the work is done.

    >>> check_target("--out", Path("reports.txt"), (".csv", ".parquet"), force=False)
    Traceback (most recent call last):
    ValueError: --out must name a file that ends in .csv or .parquet, got reports.txt
    """
    check_ending(option, path, endings)
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


def check_picture(path: Path | None, *, force: bool) -> None:
    """Refuse a picture that could not be drawn, before the work is done."""
    if path is not None:
        check_target("--plot", path, PICTURES, force=force)


def draw(path: Path | None, picture: Callable[[Path], Any]) -> None:
    """Draw a picture if one is wanted."""
    if path is None:
        return
    try:
        picture(path)
    except ImportError as error:  # matplotlib is an extra
        raise ValueError(str(error)) from None
    except OSError as error:
        raise unwritable("--plot", error) from None
