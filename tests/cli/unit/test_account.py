# SPDX-License-Identifier: Apache-2.0
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sordino.cli.account import ExpressionError, read_losses
from sordino.cli.main import app
from sordino.privacy import losses

MIX = "laplace(epsilon=0.1) * 50 + gaussian(sigma=20) * 200 + exponential(epsilon=0.02) * 200"


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["account", *arguments])
    return result.exit_code, result.output


def test_a_sum_is_read_term_by_term() -> None:
    assert read_losses(MIX) == [
        (losses.laplace(epsilon=0.1), 50),
        (losses.gaussian(sigma=20), 200),
        (losses.exponential(epsilon=0.02), 200),
    ]


def test_fractions_products_and_nested_losses_are_read() -> None:
    ((loss, times),) = read_losses("3 * subsampled(gaussian(sigma=1), rate=1/100) * 2")
    assert times == 6
    assert loss == losses.subsampled(losses.gaussian(sigma=1), rate=0.01)


def test_shuffled_reports_are_read_and_accounted_for() -> None:
    ((one, _), (other, times)) = read_losses(
        "shuffled(epsilon=1, people=1000) + shuffled_response(epsilon=1/2, people=100) * 3"
    )
    assert one == losses.shuffled(epsilon=1, people=1000)
    assert (other, times) == (losses.shuffled_response(epsilon=0.5, people=100), 3)
    code, output = run("shuffled(epsilon=1, people=1000) * 2", "--json")
    assert code == 0
    assert 0.1 < json.loads(output)["epsilon"] < 0.25
    code, output = run("shuffled(epsilon=1)")
    assert code == 2
    assert "people" in output


def test_long_decimals_are_read_as_typed() -> None:
    ((loss, _),) = read_losses("pure(epsilon=0.1000000000000000000001)")
    assert loss.pure is not None
    assert loss.pure > losses.pure(epsilon=0.1).pure  # type: ignore[operator]  # both are pure


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lapalce(epsilon=1)", "there is no loss called lapalce; did you mean laplace"),
        ("laplace(epsilon=1) * 1.5", "a whole number of times"),
        ("laplace(epsilon=1) * 0", "at least once"),
        ("laplace(epsilon=1) - pure(epsilon=1)", "a loss looks like"),
        ("laplace(epsilon=-1)", "a value is a number"),
        ("laplace(epsilon=0)", "epsilon must be a positive number, got 0"),
        ("laplace(sigma=1)", "unexpected keyword argument 'sigma'"),
        ("laplace(", "this is not a sum"),
        ("", "this is not a sum"),
        ("laplace(epsilon=__import__('os'))", "a value is a number"),
        ("laplace(**{'epsilon': 1})", "written name=value"),
        ("pure(epsilon=1/0)", "a value is a number"),
        ("pure(epsilon=1e-1000000)", "epsilon must be a"),
        ("(" * 500 + ")" * 500, "this is not a sum"),
        ("x.y(epsilon=1)", "a loss looks like"),
    ],
)
def test_what_is_no_sum_of_losses_is_pointed_at(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        read_losses(text)
    assert message in str(caught.value)
    assert str(caught.value).endswith("^")


def test_the_table_shows_the_total_the_bracket_and_the_theorems() -> None:
    code, output = run(MIX, "--delta", "1e-6")
    assert code == 0
    for word in ("450 uses", "basic", "zCDP", "Rényi", "loss distribution", "<- used", "Certain:"):
        assert word in output
    assert "epsilon 4.868" in output


def test_json_has_the_same_numbers() -> None:
    code, output = run("pure(epsilon=0.1) * 100", "--json")
    record = json.loads(output)
    assert code == 0
    assert record["uses"] == 100
    assert record["epsilon"] == pytest.approx(4.774567588)
    assert record["bracket"][0] <= record["bracket"][1]
    assert {row["theorem"] for row in record["theorems"]} >= {"basic", "advanced", "zCDP"}


def test_a_conditional_theorem_is_shown_and_not_used() -> None:
    _, output = run("exponential(epsilon=0.1) * 100", "--json")
    record = json.loads(output)
    by_name = {row["theorem"]: row["epsilon"] for row in record["theorems"]}
    assert by_name["bounded range"] < record["epsilon"]
    assert record["theorem"] != "bounded range"


def test_a_plot_is_written(tmp_path: Path) -> None:
    target = tmp_path / "out.png"
    code, output = run("pure(epsilon=0.1) * 20", "--plot", str(target))
    assert code == 0
    assert target.read_bytes().startswith(b"\x89PNG")
    assert "Drawn:" in output


def test_a_plot_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    code, output = run("pure(epsilon=0.1) * 2", "--plot", str(tmp_path / "no" / "out.png"))
    assert code == 2
    assert "the plot could not be written" in output


@pytest.mark.parametrize("delta", ["0", "1", "-1", "nan", "x", "1e-1000000"])
def test_a_bad_delta_is_one_sentence(delta: str) -> None:
    code, output = run("pure(epsilon=1)", "--delta", delta)
    assert code == 2
    assert "delta must be" in output
    assert "Traceback" not in output


def test_a_bad_sum_is_one_sentence() -> None:
    code, output = run("nonsense(epsilon=1)")
    assert code == 2
    assert output.startswith("sordino: there is no loss called nonsense; known are approximate")
