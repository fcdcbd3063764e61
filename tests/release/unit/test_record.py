# SPDX-License-Identifier: Apache-2.0
import json
from datetime import date
from fractions import Fraction

import pytest

from sordino.plan.aggregates import Direct
from sordino.plan.plan import Cells, Chosen, Ranked, Ranks, RowCount, Votes
from sordino.privacy.loss import loss_from_json
from sordino.query.tree import Derive, JoinPublic, JoinUnit, Kind, Measure, Scan, Where, tables_in
from sordino.release import Options, release
from sordino.release.post import facts_of
from tests.release.unit.plans import AGE, DISEASE, RECEIPT, WIDE, added, key, make, sealed

DOMAIN = ("flu", "cold")
AGES, VOTES = Ranks(AGE, 0, 120, 0), Votes(DISEASE, DOMAIN)


def test_a_record_holds_the_loss_the_mechanisms_the_limits_and_the_place_in_the_ledger() -> None:
    plan = make(keys=(key("a"),))
    record = release(plan, sealed({"k0": ["a"], "s0": [5]}), RECEIPT).record()
    assert loss_from_json(record["loss"]) == plan.loss
    assert record["releases"] == [
        {
            "kind": "added noise",
            "mechanism": "Laplace(sensitivity=1, epsilon=0.5)",
            "step": "1",
        }
    ]
    assert record["limits"]["one_row_per_unit"] is True
    assert record["keys"][0]["rule"] == "declared"
    assert record["neighbours"] == "add_remove"
    assert record["unit"] == "people"
    assert record["ledger"]["number"] == RECEIPT.number
    assert record["fingerprint"] == plan.fingerprint


def test_a_record_has_the_day_of_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sordino.release.post.today", lambda: date(2026, 3, 5))
    answer = release(make(), sealed({"s0": [5]}), RECEIPT)
    assert answer.record()["date"] == "2026-03-05"


def test_every_kind_of_release_is_recorded_as_json() -> None:
    plan = make(
        measures=(
            Measure(Kind.COUNT),
            Measure(Kind.QUANTILE, AGE, WIDE, Fraction(1, 3)),
            Measure(Kind.TOP, DISEASE, count=2, domain=DOMAIN),
        ),
        parts=(Cells((RowCount(),)), AGES, VOTES),
        releases=(
            added(0),
            Ranked(AGES, 0, Fraction(1, 3), None, Fraction(1, 2), Fraction(1, 4), 1),
            Chosen(VOTES, 2, Fraction(1), 1),
        ),
        formulas=(Direct(0), Direct(1), Direct(2)),
    )
    facts = facts_of(plan, Options())
    assert json.loads(json.dumps(facts)) == facts
    assert [release["kind"] for release in facts["releases"]] == [
        "added noise", "quantile", "choice",
    ]  # fmt: skip
    assert facts["releases"][1]["quantile"] == "1/3"
    assert facts["releases"][2]["mechanism"].startswith("TopK(k=2")


def test_only_private_tables_are_named() -> None:
    inner = Derive(Where(Scan("visits", ()), DISEASE), ())
    rows = JoinUnit(JoinPublic(inner, "cities", (), ()), Scan("patients", ()))
    assert tables_in(rows) == ("visits", "patients")
