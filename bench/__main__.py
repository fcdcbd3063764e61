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
    ledger,
    local,
    medians,
    noise,
    questions,
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
    if os.environ.get("ENGINES"):  # which start servers
        from bench import engines

        parts = (*parts, engines)
    wanted = set(sys.argv[1:])
    known = {part.__name__.removeprefix("bench.") for part in parts}
    if not wanted <= known:
        console.print(f"there is no {', '.join(sorted(wanted - known))}; there are {sorted(known)}")
        return 2
    missed = sum(
        part.run(console)
        for part in parts
        if not wanted or part.__name__.removeprefix("bench.") in wanted
    )
    if missed:
        console.print(f"[bold red]{missed} figure(s) below what is asked[/]")
        return 1
    console.print("[bold green]every figure is reached[/]")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
