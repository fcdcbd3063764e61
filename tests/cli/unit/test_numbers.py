# SPDX-License-Identifier: Apache-2.0
"""Numbers on the command line are plain decimals, whichever command takes them."""

from collections.abc import Iterator
from typing import Any, get_type_hints

import pytest
import typer
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sordino.cli.main import app
from sordino.numbers.rational import decimal_of, whole_of
from tests.cli.unit.conftest import Run

COUNT = "SELECT COUNT(*) AS n FROM visits"
MEAN = "SELECT AVG(age) AS a FROM visits"
PRICED = ["--epsilon", "0.1"]
ASKED = {
    "epsilon": [COUNT],
    "rho": [COUNT],
    "within": [COUNT],
    "confidence": [COUNT, *PRICED],
    "delta": [COUNT, *PRICED],
    "rows": [COUNT, *PRICED],
    "groups": [COUNT, *PRICED],
    "rows-per-group": [COUNT, *PRICED],
    "expected-rows": [COUNT, *PRICED],
}
CHOSEN = ["visits.csv", "--column", "ward", "--candidates", "north,south", "--neighbours",
          "add_remove"]  # fmt: skip
AUDITED = ["math:sqrt", "--neighbours", "3", "2"]
ENCODED = ["visits.csv", "--column", "age", "--out", "reports.csv"]
RANGE = {"low": ["--high", "100", "--epsilon", "1"], "high": ["--low", "0", "--epsilon", "1"]}
KINDS = ["--categories", "3"]
# What stands beside each option that takes a number; what is not here is found below.
BESIDE: dict[tuple[str, str], list[str]] = {
    **{
        (command, name): words
        for command in ("ask", "explain", "request send")
        for name, words in ASKED.items()
    },
    **{("repl", name): ["--yes"] for name in ("epsilon", "rho", "within")},
    **{("repl", name): ["--yes", *PRICED] for name in ("confidence", "delta")},
    ("history", "last"): [],
    ("log", "last"): [],
    ("journal", "last"): [],
    ("serve", "port"): [],
    ("serve", "workers"): [],
    ("token make", "days"): ["alice"],
    ("account", "delta"): ["laplace(epsilon=0.1)"],
    ("choose", "epsilon"): CHOSEN,
    ("choose", "sensitivity"): [*CHOSEN, "--epsilon", "1", "--scores", "age"],
    ("audit", "epsilon"): AUDITED,
    ("audit", "delta"): [*AUDITED, "--epsilon", "1"],
    ("audit", "confidence"): [*AUDITED, "--epsilon", "1"],
    ("audit", "runs"): [*AUDITED, "--epsilon", "1"],
    ("local encode", "epsilon"): [*ENCODED, *KINDS],
    **{("local encode", name): [*ENCODED, *words] for name, words in RANGE.items()},
    ("local best", "epsilon"): KINDS,
    ("local best", "people"): [*KINDS, "--epsilon", "1"],
    **{("local best", name): words for name, words in RANGE.items()},
    ("local estimate", "confidence"): ["reports.csv"],
    ("local estimate", "most-categories"): ["reports.csv"],
}
NAMES = {name for _, name in BESIDE}
ALWAYS = ["1_0", "\u0660.\u0661", "0.1 ", ""]
BAD = [
    *ALWAYS, "0.1_5", "\u0661\u0660", "\uff11", "0.\uff11", " 0.1", "\t1", "1\n", "+1", "+0.5",
    "inf", "-inf", "Infinity", "nan", "NaN", "0x10", "0b1", "1/3", " ", "-", ".", "e5", "1e",
    "1e+", "1.2.3", "1,5", "1'000", "0.1e1.5", "1d5", "1f", "True", "None", "\u00b2", "\u00bd",
    "0.1\u200b", "\u22121", "1e" + "9" * 20, "1" * 500, "1 0", "--1", "0.5%%",
]  # fmt: skip
SOME = 8  # of the others are tried with one option, and others with the next one


def options(group: typer.Typer, *path: str) -> Iterator[tuple[str, str, Any]]:
    """Yield each command with the names and types of what it takes."""
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        assert isinstance(inner.name, str)
        yield from options(inner.typer_instance, *path, inner.name)
    for one in group.registered_commands:
        assert one.callback is not None
        words = " ".join((*path, one.name or one.callback.__name__))
        for name, hint in get_type_hints(one.callback).items():
            yield words, name.replace("_", "-"), hint


def test_no_option_that_takes_a_number_is_left_out() -> None:
    numbers = (int, int | None, float, float | None)
    taken = {(a, b) for a, b, hint in options(app) if hint in numbers or b in NAMES}
    texts = {("history", "people")}  # an id space, and elsewhere a number
    assert taken - texts == set(BESIDE)


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_plain_number_is_not_read(text: str) -> None:
    for read in (decimal_of, whole_of):
        with pytest.raises(ValueError, match=r"must be a (whole )?number, got .*; write "):
            read("x", text)


@pytest.mark.parametrize("at", range(len(BESIDE)), ids=map(" --".join, BESIDE))
def test_what_is_no_plain_number_is_refused_wherever_it_is_typed(run: Run, at: int) -> None:
    (command, name), beside = list(BESIDE.items())[at]
    for text in (*ALWAYS, *BAD[at % SOME :: SOME]):
        done = run(*command.split(), *beside, f"--{name}={text}", typed="")
        told = text, done.exit_code, done.stdout, done.stderr, done.exception
        assert done.exit_code == 2, told
        assert "must be a number" in done.stderr or "must be a whole number" in done.stderr, told
        assert done.stdout == "", told


def test_a_wrong_number_charges_nothing(run: Run) -> None:
    for text in ALWAYS:
        run("ask", COUNT, f"--epsilon={text}")
    assert "epsilon 1 of epsilon 1 left" in run("budget").stdout


def test_a_confidence_of_0_is_refused_and_not_taken_for_none(run: Run) -> None:
    for command in ("ask", "explain"):
        done = run(command, COUNT, *PRICED, "--confidence", "0")
        assert done.exit_code == 2
        assert "confidence must be a number between 0 and 1, both excluded, got 0" in done.stderr


@pytest.mark.parametrize(
    "text", ["1_0%", "\u0665%", " 5%", "5 %", "+5%", "1/3%", "nan%", "%", "5%%"]
)
def test_percentages_are_plain_numbers_too(run: Run, text: str) -> None:
    done = run("explain", MEAN, f"--within={text}", "--expected-rows", "200")
    assert done.exit_code == 2
    assert "within must be a number" in done.stderr


def test_numbers_of_losses_are_plain(run: Run) -> None:
    for text in ("laplace(epsilon=1_0)", "laplace(epsilon=0x10)", "laplace(epsilon=1) * 1_0"):
        done = run("account", text)
        assert (done.exit_code, "must be a number, got" in done.stderr) == (2, True)
    assert run("account", "laplace(epsilon=1/3) * 3").exit_code == 0


@pytest.mark.parametrize("text", ["0.1", ".1", "1e-1", "1E-1", "00.10", "10e-2"])
def test_one_number_may_be_written_in_several_ways(run: Run, text: str) -> None:
    assert "epsilon 0.9 of epsilon 1" in run("ask", COUNT, f"--epsilon={text}").stdout


def test_what_was_typed_in_a_prompt_is_read_in_the_same_way(run: Run) -> None:
    for text in ("1_0", "\u0660.\u0661", "+1", "1/3"):
        done = run("repl", "--yes", typed=f"\\epsilon {text}\n")
        assert (done.exit_code, "epsilon must be a number" in done.stderr) == (2, True)
    done = run("repl", "--yes", typed="\\history \u0665\n")
    assert (done.exit_code, "\\history takes how many" in done.stderr) == (2, True)


PLAIN = st.from_regex(
    r"-?([0-9]{1,6}(\.[0-9]{0,6})?|\.[0-9]{1,6})([eE][+-]?[0-9]{1,2})?", fullmatch=True
)
ODD = st.text("0123456789.-+eE_ \u0660\u0661\u0662\uff11\u00b2/%xinfa\u00a0\u200b,'", max_size=8)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(PLAIN, ODD))
@example("1e5")
def test_a_number_is_read_if_and_only_if_it_is_plain(text: str) -> None:
    """The grammar once more, by hand, beside the pattern."""
    try:
        found = decimal_of("x", text)
    except ValueError:
        assert not is_plain(text)
        return
    assert is_plain(text)
    assert float(found) == float(text)


@given(st.one_of(st.integers().map(str), ODD))
def test_a_whole_number_is_read_if_and_only_if_it_is_digits(text: str) -> None:
    digits = text.removeprefix("-")
    if digits and set(digits) <= set("0123456789"):
        assert whole_of("x", text) == int(text)
    else:
        with pytest.raises(ValueError, match="must be a whole number"):
            whole_of("x", text)


def is_plain(text: str) -> bool:
    mantissa, e, exponent = text.replace("E", "e").partition("e")
    if e and not _digits(exponent[1:] if exponent[:1] in ("+", "-") else exponent):
        return False
    before, _, after = mantissa.removeprefix("-").partition(".")
    return _digits(before + after)


def _digits(text: str) -> bool:
    return bool(text) and all(character in "0123456789" for character in text)
