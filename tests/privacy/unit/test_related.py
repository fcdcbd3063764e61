# SPDX-License-Identifier: Apache-2.0
import json

import pytest

from sordino import Quantiles
from sordino.privacy import losses
from sordino.privacy.loss import loss_from_json, loss_to_json
from sordino.privacy.related import Related
from sordino.privacy.theorems.explain import explain_composition


def test_losses_stated_for_different_relations_do_not_compose() -> None:
    added = losses.exponential(epsilon=1).under("add_remove")
    replaced = losses.pure(epsilon=1).under("replace_one")
    assert added.neighbours == "add_remove"
    assert (added + losses.pure(epsilon=1)).neighbours == "add_remove"
    with pytest.raises(ValueError, match="do not compose"):
        added + replaced
    with pytest.raises(ValueError, match="holds for add_remove, not for replace_one"):
        added.under("replace_one")
    with pytest.raises(ValueError, match="neighbours must be"):
        losses.pure(epsilon=1).under("both")  # type: ignore[arg-type]  # wrong


def test_a_stated_loss_is_the_same_in_every_reading() -> None:
    for loss in (losses.exponential(epsilon=1), losses.concentrated(rho=0.1)):
        same = loss.under("replace_one")
        for times in (1, 7):
            assert (times * same).delta(epsilon=0.7) == (times * loss).delta(epsilon=0.7)
            assert (times * same).epsilon(delta=1e-6) == (times * loss).epsilon(delta=1e-6)
            assert (times * same).rho == (times * loss).rho
        assert same.under("replace_one") == same
        assert same.group(3).rho == loss.group(3).rho


def test_a_relation_survives_json_and_explanations() -> None:
    loss = 3 * losses.exponential(epsilon=1).under("add_remove")
    written = json.loads(json.dumps(loss_to_json(loss)))
    assert loss_from_json(written) == loss
    written["parts"][0]["leaf"]["neighbours"] = "both"
    with pytest.raises(ValueError, match="neighbours must be one of add_remove, replace_one"):
        loss_from_json(written)
    names = [row.theorem for row in explain_composition(loss, delta=1e-6).rows]
    assert "bounded range" in names


def test_quantiles_of_different_relations_do_not_compose() -> None:
    added, replaced = (
        Quantiles([0.5], range=(0, 9), epsilon=1, neighbours=relation).loss
        for relation in ("add_remove", "replace_one")
    )
    assert isinstance(added.parts[0][0], Related)
    with pytest.raises(ValueError, match="do not compose"):
        added + replaced
