# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin, in a small project of its own.

All coins come from seeded generators, so what is found is the same each time. The project runs in a
process of its own: in this one, libraries that it loads first would be unloaded with it.
"""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sordino as so
from sordino.auditing import batched
from sordino.auditing.assertion import MIN_RUNS
from sordino.auditing.blackbox import auditor

pytest_plugins = ["pytester"]

PROJECT = """
import numpy as np
from sordino.auditing import batched

rng = np.random.default_rng(3)


def coin(chance):
    @batched
    def answer(bit, runs):
        return np.where(rng.random(runs) < chance, bit, 1 - bit)
    return answer


def test_careful(assert_private):
    print("runs:", assert_private(coin(0.75), epsilon=1.1).runs)


def test_hasty(assert_private):
    assert_private(coin(0.95), epsilon=1.1)
"""


def coin(chance: float) -> Callable[..., Any]:
    rng = np.random.default_rng(5)

    @batched
    def answer(bit: int, runs: int) -> Any:
        return np.where(rng.random(runs) < chance, bit, 1 - bit)

    return answer


def test_a_broken_mechanism_fails_with_the_words_of_the_report(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PROJECT)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-rP", "--audit-runs", "20000")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["*AssertionError: violation*", "runs: 20000"])
    done.stdout.no_fnmatch_line("*__tracebackhide__*")


def test_the_number_of_runs_can_be_set_for_a_project(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PROJECT)
    pytester.makeini("[pytest]\naudit_runs = 4000\n")
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-rP", "-k", "careful")
    done.stdout.fnmatch_lines(["runs: 4000"])


def test_a_number_of_runs_that_is_none_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PROJECT)
    least = "must be a whole number of at least 400, got"
    for said in ("many", "399", ""):
        done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--audit-runs", said)
        assert done.ret == pytest.ExitCode.USAGE_ERROR
        assert done.stderr.lines[0] == f"ERROR: --audit-runs {least} {said!r}"
    pytester.makeini("[pytest]\naudit_runs = zzz\n")
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert done.stderr.lines[0] == f"ERROR: the setting audit_runs {least} 'zzz'"
    assert MIN_RUNS == auditor.MIN_RUNS


def test_the_plugin_loads_nothing_heavy() -> None:
    script = "import sordino.auditing.pytest_plugin, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded & {"numpy", "scipy", "matplotlib", "pyarrow", "duckdb", "rich", "typer"} == set()


def test_a_private_mechanism_passes_and_its_report_is_returned() -> None:
    report = so.assert_private(coin(0.75), 0, 1, epsilon=1.1, runs=20_000)
    assert report.private
    assert report.runs <= 20_000


def test_a_broken_mechanism_is_an_assertion_that_fails() -> None:
    with pytest.raises(AssertionError, match="violation"):
        so.assert_private(coin(0.95), 0, 1, epsilon=1, runs=20_000)


def test_the_neighbours_that_a_mechanism_names_are_used() -> None:
    def leaky(data: str) -> int:
        return len(data)

    leaky.neighbours = ("one", "three")  # type: ignore[attr-defined] # functions carry anything
    with pytest.raises(AssertionError):
        so.assert_private(leaky, runs=4_000)
    assert so.assert_private(leaky, "one", "two", runs=4_000).private


def test_without_neighbours_it_is_0_and_1() -> None:
    report = so.assert_private(coin(0.75), epsilon=1.1, runs=4_000)
    assert {report.x, report.y} == {0, 1}


def test_one_neighbour_alone_or_three_of_them_are_refused() -> None:
    with pytest.raises(TypeError, match="give both x and y, or neither"):
        so.assert_private(coin(0.75), 0)
    mechanism = coin(0.75)
    mechanism.neighbours = (0, 1, 2)  # type: ignore[attr-defined] # functions carry anything
    with pytest.raises(TypeError, match="are no pair; give x and y"):
        so.assert_private(mechanism)


def test_an_argument_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"^assert_private\(\) takes no 'eps'; it takes epsilon, "):
        so.assert_private(coin(0.75), eps=1)
    with pytest.raises(ValueError, match=r"^assert_private\(\): runs must be a whole number"):
        so.assert_private(coin(0.75), runs=1)


def test_a_mechanism_that_cannot_take_0_and_1_is_told_that_they_were_tried() -> None:
    def total(values: list[int]) -> int:
        return sum(values)

    with pytest.raises(ValueError, match="no neighbours were given, so 0 and 1 were tried: give"):
        so.assert_private(total, epsilon=1, runs=4_000)
    with pytest.raises(ValueError, match="not iterable") as caught:
        so.assert_private(total, 3, 4, epsilon=1, runs=4_000)
    assert "were tried" not in str(caught.value)


def test_the_frames_of_the_auditor_are_not_shown(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "def test_total(assert_private):\n    assert_private(lambda data: sum(data), epsilon=1)\n"
    )
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--audit-runs", "400")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*0 and 1 were tried: give two inputs"])
    done.stdout.no_fnmatch_line("*auditor.py*")


def test_pairs_can_be_searched_in_a_test() -> None:
    report = so.assert_private(
        coin(0.75), search=True, universe=[(0, 1), (1, 0)], epsilon=1.1, runs=8_000
    )
    assert report.private
