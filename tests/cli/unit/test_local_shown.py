# SPDX-License-Identifier: Apache-2.0
"""How numbers of the local model are written: limits never closer than they are."""

import json
import math
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.cli.local import estimate
from sordino.cli.local.estimate import percent, percents, rounded, sure
from sordino.cli.local.files import Data, reports_file
from sordino.cli.local.protocols import KINDS, NUMBER_KINDS, AnyProtocol
from tests.cli.unit.survey import run

FORTY_NINES = "0." + "9" * 40
doubles = st.floats(-1e9, 1e9)
shares = st.floats(0, 1)


@pytest.fixture(autouse=True)
def unfolded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are as long as they are."""
    monkeypatch.delenv("COLUMNS", raising=False)


@given(low=doubles, high=doubles, error=st.floats(0, 1e9))
def test_limits_of_a_mean_are_rounded_outwards(low: float, high: float, error: float) -> None:
    ends = Fraction(-(10**9)), Fraction(10**9)
    _, below, above = rounded(0.0, (low, high), ends, error)
    assert Fraction(below) <= Fraction(low)
    assert Fraction(above) >= Fraction(high)
    places = len(below.partition(".")[2])
    assert places == len(above.partition(".")[2])
    step = Fraction(1, 10**places)
    assert Fraction(low) - Fraction(below) < step
    assert Fraction(above) - Fraction(high) < step
    assert not re.match(r"-[0.]+$", below)
    assert not re.match(r"-[0.]+$", above)


@given(low=shares, high=shares)
def test_limits_of_a_frequency_are_rounded_outwards(low: float, high: float) -> None:
    found = re.fullmatch(r"(\d+\.\d\d) % to (\d+\.\d\d) %", percents(low, high))
    assert found is not None
    below, above = map(Fraction, found.groups())
    assert 0 <= 100 * Fraction(low) - below < Fraction(1, 100)
    assert 0 <= above - 100 * Fraction(high) < Fraction(1, 100)


@given(share=st.floats(-10, 10))
def test_a_frequency_is_rounded_to_the_nearest_and_0_has_no_sign(share: float) -> None:
    text = percent(share).removesuffix(" %")
    assert abs(Fraction(text) - 100 * Fraction(share)) <= Fraction(1, 200)
    assert text != "-0.00"


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ((0, 80), ("40", "0", "80")),
        ((0, 1), ("0.5", "0.0", "1.0")),
        ((0, Fraction(1, 20)), ("0.025", "0.000", "0.050")),
        ((-300, 300), ("0", "-300", "300")),
        ((0, Fraction(1, 10**20)), (f"0.{'0' * 20}5", f"0.{'0' * 21}", f"0.{'0' * 19}10")),
    ],
    ids=str,
)
def test_without_an_error_the_range_tells_how_many_places(
    ends: tuple[Fraction, Fraction], shown: tuple[str, str, str]
) -> None:
    low, high = map(Fraction, ends)
    assert rounded(float((low + high) / 2), (float(low), float(high)), (low, high), 0.0) == shown


def test_a_limit_at_the_end_of_the_range_is_that_end() -> None:
    assert float(Fraction(1, 10)) > Fraction(1, 10)
    _, _, high = rounded(0.05, (0.0, 0.1), (Fraction(0), Fraction(1, 10)), 0.01)
    assert high == "0.100"


@pytest.mark.parametrize(
    ("confidence", "shown"),
    [("0.95", "95 %"), ("0.1", "10 %"), ("0.9990", "99.9 %"), ("1e-9", "0.0000001 %")],
)
def test_a_confidence_is_written_with_all_digits(confidence: str, shown: str) -> None:
    assert sure(Decimal(confidence)) == shown


def write(path: Path, protocol: AnyProtocol, data: Data) -> str:
    with reports_file(path, protocol, len(data), force=False) as add:
        add(data)
    return str(path)


@pytest.mark.parametrize("name", ["response", "one-bit"])
def test_a_confidence_that_is_nearly_1_is_never_100_percent(name: str, tmp_path: Path) -> None:
    numbers = name in NUMBER_KINDS
    protocol = NUMBER_KINDS[name](0, 1, epsilon=1) if numbers else KINDS[name](2, epsilon=1)
    path = write(tmp_path / "r.csv", protocol, protocol.client().encode([0, 1, 1]).data)
    shown = run("estimate", path, "--confidence", FORTY_NINES).stdout
    assert f"with 99.{'9' * 38} % confidence" in shown
    found = json.loads(run("estimate", path, "--confidence", FORTY_NINES, "--json").stdout)
    assert found["confidence"] == math.nextafter(1, 0)


def test_the_estimate_prints_limits_that_hold_the_true_ones(tmp_path: Path) -> None:
    protocol = KINDS["response"](7, epsilon=1)
    data = np.repeat(np.arange(7, dtype=np.uint8), [1, 2, 3, 5, 70, 11, 13])
    path = write(tmp_path / "r.parquet", protocol, data)
    lines = json.loads(run("estimate", path, "--json").stdout)["categories"]
    shown = run("estimate", path).stdout
    for line in lines:
        text = re.search(rf"(?m)^{line['label']} .* % +([\d.]+) % to ([\d.]+) %", shown)
        assert text is not None
        assert Fraction(text[1]) <= 100 * Fraction(line["low"])
        assert Fraction(text[2]) >= 100 * Fraction(line["high"])


def test_json_comes_whole_however_many_lines_are_written_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol = KINDS["response"](7, epsilon=1)
    path = write(tmp_path / "r.csv", protocol, np.arange(7, dtype=np.uint8))
    whole = json.loads(run("estimate", path, "--json").stdout)
    assert [line["label"] for line in whole["categories"]] == list(range(7))
    assert set(whole["categories"][0]) == {
        *("label", "frequency", "low", "high", "standard_error", "count")
    }
    for size in (1, 3, 7):
        monkeypatch.setattr(estimate, "_JSON_LINES_AT_ONCE", size)
        assert json.loads(run("estimate", path, "--json").stdout) == whole


def test_a_pipe_gets_the_top_of_a_very_long_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimate, "_MAX_PIPED_LINES", 3)
    protocol = KINDS["response"](7, epsilon=1)
    path = write(tmp_path / "r.csv", protocol, np.array([5, 5, 5, 2, 2, 4], dtype=np.uint8))
    shown = run("estimate", path).stdout
    assert re.findall(r"(?m)^(\d) ", shown)[:3] == ["5", "2", "4"]
    assert "... 4 more, with --json" in shown
