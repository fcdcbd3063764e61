# SPDX-License-Identifier: Apache-2.0
import pytest

from sordino.privacy import losses
from sordino.privacy.theorems.explain import Explanation, explain_composition


def rows(explanation: Explanation) -> dict[str, float]:
    return {row.theorem: row.epsilon for row in explanation.rows}


def test_x25_a_hundred_equal_losses_by_every_theorem() -> None:
    """X25: basic 10, advanced 6.308, optimal 4.7746."""
    found = rows(explain_composition(100 * losses.pure(epsilon=0.1), delta=1e-6))
    assert found["basic"] == 10
    assert found["advanced"] == pytest.approx(6.308230950513408, rel=1e-12)
    assert found["optimal, equal losses"] == pytest.approx(4.774567588107986, rel=1e-12)
    assert found["zCDP"] == pytest.approx(5.219075238261732, rel=1e-9)
    assert found["loss distribution"] == pytest.approx(4.774567588107986, rel=1e-7)


def test_different_pure_losses_have_their_own_theorem() -> None:
    mixed = [20 * losses.pure(epsilon=0.1), 30 * losses.pure(epsilon=0.05)]
    explanation = explain_composition(mixed, delta=1e-6)
    found = rows(explanation)
    assert found["optimal, different losses"] == pytest.approx(found["loss distribution"], rel=1e-3)
    assert explanation.uses == 50
    assert "advanced" not in found


def test_losses_without_a_largest_one_get_a_share_of_delta() -> None:
    explanation = explain_composition(10 * losses.gaussian(sigma=10), delta=1e-6)
    each = losses.gaussian(sigma=10).epsilon(delta=1e-7)
    assert rows(explanation)["basic"] == pytest.approx(10 * each)
    assert explanation.epsilon <= explanation.bracket.upper


def test_the_text_names_the_theorem_that_is_used() -> None:
    text = str(explain_composition(5 * losses.gaussian(sigma=10), delta=1e-6))
    assert text.count("<- used") == 1
    assert "certain:" in text


def test_there_must_be_something_to_explain() -> None:
    with pytest.raises(ValueError, match="nothing to compose"):
        explain_composition([], delta=1e-6)
    with pytest.raises(ValueError, match="delta must be"):
        explain_composition(losses.pure(epsilon=1), delta=0)
    with pytest.raises(TypeError, match="compose takes losses, not int"):
        explain_composition([3], delta=0.1)  # type: ignore[list-item]  # wrong on purpose
