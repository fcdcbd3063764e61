# SPDX-License-Identifier: Apache-2.0
"""What the house tests look at: the files of the checkout and the modules of the package."""

import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType

import sordino

SCRIPT = Path(sys.executable).with_name("sordino")
ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
OWN_CODE = sorted(
    path for folder in ("src", "tests", "bench") for path in (ROOT / folder).rglob("*.py")
)
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def own_files() -> list[Path]:
    """Every file that git tracks or would add; every file under src, tests and docs without git."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0:
        found = [ROOT / line for line in listed.stdout.splitlines()]
    else:
        found = [path for name in ("src", "tests", "docs") for path in (ROOT / name).rglob("*.*")]
    return [path for path in found if path.is_file() and "__pycache__" not in path.parts]


def modules(prefix: str = "sordino") -> list[ModuleType]:
    root = importlib.import_module(prefix)
    names = [info.name for info in pkgutil.walk_packages(root.__path__, f"{prefix}.")]
    return [root, *(importlib.import_module(name) for name in names)]


def public(prefix: str) -> Iterator[type | FunctionType]:
    """Yield every class and function with a public name, once, where it is defined."""
    for module in modules(prefix):
        for name, thing in vars(module).items():
            here = getattr(thing, "__module__", None) == module.__name__
            if here and not name.startswith("_") and isinstance(thing, type | FunctionType):
                yield thing


def signatures(thing: type | FunctionType) -> Iterator[tuple[str, inspect.Signature]]:
    """Yield the signature of a function, or of each public method and the constructor."""
    if isinstance(thing, FunctionType):
        yield thing.__qualname__, inspect.signature(thing)
        return
    for name, member in vars(thing).items():
        function = getattr(member, "__func__", member)
        if isinstance(function, FunctionType) and (name == "__init__" or not name.startswith("_")):
            yield function.__qualname__, inspect.signature(function)


assert sordino.__file__ is not None
assert Path(sordino.__file__).is_relative_to(ROOT), "the tests must run against this checkout"
