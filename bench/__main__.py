# SPDX-License-Identifier: Apache-2.0
"""Run every benchmark, or those that are named, and print the machine and the tables."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

from rich.console import Console

from bench import (
    accounting,
    asks,
    audit,
    bounding,
    choose,
    choose_utility,
    compositions,
    engines,
    ledger,
    local,
    medians,
    noise,
    questions,
    scale,
    service,
    smooth,
    sources,
    start,
)


def processor() -> str:
    """Name the processor as the kernel does, or as Python does where there is no kernel file."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if "model name" in line), "unknown")


def main() -> int:
    console = Console(width=None if sys.stdout.isatty() else 130)
    versions = " ".join(f"{name} {version(name)}" for name in ("numpy", "cryptography", "duckdb"))
    console.print(f"{processor()}, Python {platform.python_version()}, {versions}\n")
    parts: tuple[ModuleType, ...] = (
        noise,
        choose,
        choose_utility,
        smooth,
        medians,
        bounding,
        accounting,
        compositions,
        ledger,
        asks,
        local,
        questions,
        sources,
        service,
        audit,
        start,
    )
    large = (engines, scale)  # servers, minutes and gigabytes: run if named, or with ENGINES=1
    offered = {part.__name__.removeprefix("bench."): part for part in (*parts, *large)}
    usual = (*parts, *(large if os.environ.get("ENGINES") else ()))
    wanted = set(sys.argv[1:])
    if not wanted <= offered.keys():
        console.print(
            f"there is no {', '.join(sorted(wanted - offered.keys()))}; there are {sorted(offered)}"
        )
        return 2
    asked = [part for name, part in offered.items() if name in wanted] if wanted else usual
    missed = sum(part.run(console) for part in asked)
    if missed:
        console.print(f"[bold red]{missed} figure(s) below what is asked[/]")
        return 1
    console.print("[bold green]every figure is reached[/]")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
