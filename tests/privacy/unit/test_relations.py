# SPDX-License-Identifier: Apache-2.0
import json
import pickle

import pytest

from sordino import Quantiles
from sordino.privacy import losses
from sordino.privacy.loss import Loss, compose, loss_from_json, loss_to_json
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
    assert added.stated == ("add_remove",)
    with pytest.raises(ValueError, match="do not compose"):
        added + replaced


PURE = '{"leaf": "pure", "epsilon": "1/1"}'
RANGE = '{"leaf": "bounded_range", "epsilon": "1/1"}'


def around(base: str, relation: str = "add_remove") -> str:
    return f'{{"leaf": "related", "base": {base}, "neighbours": "{relation}"}}'


def sampled(base: str) -> str:
    return f'{{"leaf": "poisson_subsampled", "base": {base}, "rate": "1/10"}}'


def grouped(base: str) -> str:
    return f'{{"leaf": "grouped", "base": {base}, "size": 2}}'


ONE = losses.pure(epsilon=1)
STATED = ONE.under("add_remove")
SAMPLED = losses.subsampled(STATED, rate=0.1)
RECORDS = [
    (ONE, [PURE]),
    (STATED, [around(PURE)]),
    (ONE + STATED, [PURE, around(PURE)]),
    (
        ONE + losses.concentrated(rho=1) + losses.exponential(epsilon=1).under("add_remove"),
        ['{"leaf": "concentrated", "rho": "1/1"}', PURE, around(RANGE)],
    ),
    (losses.subsampled(ONE, rate=0.1) + ONE, [sampled(PURE), PURE]),
    ((losses.subsampled(ONE, rate=0.1) + ONE).under("add_remove"), [sampled(PURE), around(PURE)]),
    (SAMPLED, [sampled(around(PURE))]),
    (SAMPLED.under("add_remove"), [sampled(around(PURE))]),
    (SAMPLED.group(2), [grouped(sampled(around(PURE)))]),
]


@pytest.mark.parametrize(("loss", "leaves"), RECORDS)
def test_a_relation_is_written_like_this_for_ever(loss: Loss, leaves: list[str]) -> None:
    parts = ", ".join(f'{{"times": 1, "leaf": {leaf}}}' for leaf in leaves)
    text = f'{{"loss": 1, "parts": [{parts}]}}'
    assert json.dumps(loss_to_json(loss)) == text
    again = loss_from_json(json.loads(text))
    assert again == loss
    assert hash(again) == hash(loss)
    assert again.stated == loss.stated


@pytest.mark.parametrize(
    ("leaf", "message"),
    [
        (around(around(PURE, "replace_one")), "holds for replace_one, not for add_remove"),
        (
            around('{"leaf": "shuffled", "epsilon": "1/1", "people": 10000}'),
            "holds for replace_one, not for add_remove",
        ),
        (around(sampled(PURE), "replace_one"), "holds for add_remove, not for replace_one"),
        (sampled(around(PURE, "replace_one")), "Poisson sampling hides .* holds for replace_one"),
        (around(grouped(around(PURE)), "replace_one"), "holds for add_remove, not for replace_one"),
    ],
)
def test_a_record_that_names_two_relations_is_refused(leaf: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        loss_from_json({"loss": 1, "parts": [{"times": 1, "leaf": json.loads(leaf)}]})


def test_a_sample_is_refused_a_base_that_holds_for_another_relation() -> None:
    for sampling, relation, words in (
        ("poisson", "replace_one", "Poisson sampling hides whether a unit is there"),
        ("fixed_size", "add_remove", "a sample of fixed size hides what a unit is"),
    ):
        with pytest.raises(ValueError, match=f"{words}.* holds for {relation}"):
            losses.subsampled(ONE.under(relation), rate=0.1, sampling=sampling)  # type: ignore[arg-type]  # words of a loop


def test_what_was_stated_is_counted_apart_and_kept() -> None:
    mixed = ONE + 2 * STATED
    assert mixed != 3 * ONE
    assert mixed != 3 * STATED
    assert mixed.stated == (None, "add_remove")
    assert (3 * mixed).stated == mixed.group(2).stated == mixed.stated
    assert compose([ONE, STATED, STATED]) == mixed
    assert repr(mixed) == "Loss(Pure(epsilon=1) + 2 * Pure(epsilon=1) under add_remove)"
    assert pickle.loads(pickle.dumps(mixed)) == mixed  # noqa: S301
    with pytest.raises(ValueError, match="do not compose"):
        mixed + losses.shuffled(epsilon=1, people=10_000)
