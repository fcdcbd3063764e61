# SPDX-License-Identifier: Apache-2.0
import json
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest

from sordino.auditing import Report, audit, batched


@batched
def halves(data: int, runs: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return data + np.arange(runs) / runs


@pytest.fixture(scope="module")
def report() -> Report:
    return audit(halves, 0, 1, epsilon=0.5, delta=0.01)


def test_a_report_says_in_words_what_was_found(report: Report) -> None:
    first, event, one, other, last = str(report).splitlines()
    assert first.startswith("violation: promised epsilon 0.5, delta 0.01; at least epsilon ")
    assert first.endswith(" with 99.9 % confidence")
    assert event == f"event: {report.event}"
    assert one == "  in 2,930 of 2,930 runs on x = 0"
    assert other == "  and in 0 of 2,930 runs on y = 1"
    assert last.endswith(" s, stopped early: 1,000,000 were allowed")


def test_a_report_says_that_finding_nothing_proves_nothing() -> None:
    *_, runs, last = str(audit(lambda _data: 7, 0, 1, runs=1_000)).splitlines()
    assert runs.startswith("1,000 runs in ")
    assert "stopped" not in runs
    assert "proves nothing" in last


def test_a_report_is_json_without_loss_of_the_figures(report: Report) -> None:
    back = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert back["verdict"] == "violation"
    assert back["lower_bound"] == report.lower_bound
    assert back["hits"] == list(report.hits)
    assert back["frequencies"] == [1.0, 0.0]
    assert (back["x"], back["y"]) == ("0", "1")


def test_a_report_of_a_large_input_stays_short() -> None:
    report = audit(len, list(range(10_000)), list(range(9_999)))
    assert len(str(report)) < 1000
    assert report.to_json()["x"] == "list of 10,000: [0, 1, 2, ..., 9999]"


def test_the_sample_and_the_edges_show_the_event(report: Report) -> None:
    assert report.sample is not None
    assert report.edges is not None
    assert report.mask is not None
    assert report.edges[0] == -np.inf
    assert report.edges[-1] == np.inf
    shares = []
    for values in report.sample:
        places = np.searchsorted(report.edges, values, side="right") - 1
        shares.append(report.mask[places].mean())
    assert report.order == ("x", "y")
    assert shares == [1.0, 0.0]


def test_the_sample_of_outputs_that_are_no_numbers_is_words() -> None:
    report = audit(lambda data: "yes" if data else "no", 0, 1)
    assert report.sample is not None
    assert [set(side.tolist()) for side in report.sample] == [{"'no'"}, {"'yes'"}]
    assert report.edges is None
    kinds = audit(lambda data: 1 / data, 0, 1).sample
    assert kinds is not None
    assert [set(side.tolist()) for side in kinds] == [{"error ZeroDivisionError"}, {"float"}]


def test_a_report_draws_itself(report: Report, tmp_path: Path) -> None:
    target = tmp_path / "report.png"
    report.plot(target)
    assert target.read_bytes().startswith(b"\x89PNG")


def test_a_report_cannot_be_changed(report: Report) -> None:
    with pytest.raises(FrozenInstanceError):
        report.epsilon = 9.0  # type: ignore[misc]  # the point of the test
