# SPDX-License-Identifier: Apache-2.0
"""Run a module of Python confined as a unit of systemd confines it, as far as that goes by itself.

Arguments: the unit, and then what ``python -m`` takes. Applied are: no new privileges, the filter
of system calls of the unit, no memory that is written and then executed, no network, no files
beyond the limit, and no core. What needs systemd is not: its mounts, its users, its cgroups.
"""

from __future__ import annotations

import ctypes
import errno
import resource
import runpy
import subprocess
import sys
from pathlib import Path

_PR_SET_NO_NEW_PRIVS, _PR_SET_MDWE, _REFUSE_GAIN = 38, 65, 1
_CLONE_NEWNET, _CLONE_NEWUSER = 0x40000000, 0x10000000
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


def entries(unit: Path, name: str) -> list[str]:
    """The values of an entry of a unit, in their order."""
    lines = unit.read_text("utf-8").splitlines()
    return [line.partition("=")[2] for line in lines if line.startswith(f"{name}=")]


def calls_of(group: str) -> set[str]:
    """The system calls of a group of systemd's, and of the groups within it."""
    if not group.startswith("@"):
        return {group}
    listed = subprocess.run(
        ["systemd-analyze", "syscall-filter", group],  # noqa: S607
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()[1:]
    names = [line.strip() for line in listed if line.strip() and not line.strip().startswith("#")]
    return {call for name in names for call in calls_of(name)}


def allowed(unit: Path) -> set[str]:
    """The system calls that the filter of a unit lets through."""
    names: set[str] = set()
    for entry in entries(unit, "SystemCallFilter"):
        groups = entry.removeprefix("~").split()
        listed = {call for group in groups for call in calls_of(group)}
        names = names - listed if entry.startswith("~") else names | listed
    # systemd always lets these through, so that a service can be started and ended at all.
    return names | calls_of("@default") | {"execve", "exit", "exit_group", "rt_sigreturn"}


def load_filter(names: set[str]) -> None:
    """Let only these system calls through from now on; others fail with EPERM."""
    library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = [ctypes.c_uint32]
    library.seccomp_rule_add.argtypes = [
        ctypes.c_void_p,
        ctypes.c_uint32,
        ctypes.c_int,
        ctypes.c_uint,
    ]
    library.seccomp_load.argtypes = [ctypes.c_void_p]
    context = library.seccomp_init(_ERRNO | errno.EPERM)
    for name in sorted(names):
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number >= 0 and library.seccomp_rule_add(context, _ALLOW, number, 0):
            raise OSError(f"{name} could not be let through")
    if library.seccomp_load(context):
        raise OSError("the filter could not be loaded")


def confine(unit: Path) -> None:
    """Confine this process as the unit says."""
    names = allowed(unit)  # which needs another process, so it comes first
    system = ctypes.CDLL(None, use_errno=True)
    if entries(unit, "PrivateNetwork") == ["yes"] and system.unshare(_CLONE_NEWNET):
        _check(system.unshare(_CLONE_NEWUSER | _CLONE_NEWNET), "unshare")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = min(int(entries(unit, "LimitNOFILE")[0]), most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    _check(system.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    _check(system.prctl(_PR_SET_MDWE, _REFUSE_GAIN, 0, 0, 0), "memory")
    load_filter(names)


def _check(result: int, what: str) -> None:
    if result:
        raise OSError(ctypes.get_errno(), what)


if __name__ == "__main__":
    confine(Path(sys.argv[1]))
    sys.argv = sys.argv[2:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
