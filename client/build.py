# SPDX-License-Identifier: Apache-2.0
"""Build the wheel of the light client: the modules that asking a server loads, and no others.

Which they are is found by loading them, so that no list of them can be forgotten.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
SOURCES = HERE.parent / "src"
ROOTS = ("sordino.remote.session", "sordino.answer.render", "sordino.answer.frames")
LOADED = (
    "import sys, sordino\n"
    "from importlib import import_module\n"
    "for name in sys.argv[1:]: import_module(name)\n"
    "sordino.connect\n"
    "for name, module in sys.modules.items():\n"
    "    if name.partition('.')[0] == 'sordino': print(module.__file__)\n"
)


def modules() -> list[Path]:
    """Return the source files that a client loads, relative to the sources."""
    command = [sys.executable, "-c", LOADED, *ROOTS]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return sorted(Path(line).relative_to(SOURCES) for line in told.splitlines())


def build(target: Path) -> Path:
    """Build the wheel into a folder and return it."""
    target.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as name:
        folder = Path(name)
        for file in [*modules(), Path("sordino/py.typed")]:
            (folder / "src" / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCES / file, folder / "src" / file)
        shutil.copy(HERE / "pyproject.toml", folder)
        shutil.copy(HERE.parent / "LICENSE", folder)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
        made = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", name, name]
        subprocess.run([*pip, *made], check=True)
        (wheel,) = folder.glob("*.whl")
        return Path(shutil.copy(wheel, target))


if __name__ == "__main__":
    sys.stdout.write(f"{build(Path(sys.argv[1]))}\n")
