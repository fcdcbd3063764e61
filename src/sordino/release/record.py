# SPDX-License-Identifier: Apache-2.0
"""The public facts about a release: what was asked, and how it was made private."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any, assert_never

from sordino import __version__
from sordino.answer.answer import Facts
from sordino.plan.ask import Options
from sordino.plan.bounded import is_discovered
from sordino.plan.plan import Added, Chosen, Plan, Ranked, Release
from sordino.privacy.loss import loss_to_json
from sordino.query.tree import tables_in


def facts_of(plan: Plan, options: Options) -> Facts:
    """Return the facts as JSON values, always in the same order."""
    shares = plan.bounded.shares
    return {
        "software": {"name": "sordino", "version": __version__},
        "date": today().isoformat(),
        "question": plan.query.sql,
        "fingerprint": plan.fingerprint,
        "tables": sorted(tables_in(plan.query.rows)),
        "unit": plan.people,
        "neighbours": "add_remove",
        "protects": "one unit with all its rows, added or removed",
        "epsilon": None if plan.epsilon is None else str(plan.epsilon),
        "delta_for_keys": str(plan.slack),
        "loss": loss_to_json(plan.loss),
        "releases": [_release(release) for release in plan.releases],
        "keys": [
            {
                "title": key.title,
                "type": key.type.value,
                "rule": "discovered" if is_discovered(key) else "declared",
                "other": key.other is not None,
            }
            for key in plan.query.keys
        ],
        "key_selection": None if plan.keys is None else repr(plan.keys),
        "limits": {
            "one_row_per_unit": shares.alone,
            "rows": shares.rows,
            "groups": shares.groups,
            "rows_per_group": shares.rows_per_group,
        },
        "post_processing": asdict(options),
    }


def today() -> date:
    """Return the day on which an answer is released, in UTC."""
    return datetime.now(UTC).date()


def _release(release: Release) -> dict[str, Any]:
    match release:
        case Added():
            return {
                "kind": "added noise",
                "mechanism": repr(release.mechanism),
                "step": str(release.step),
            }
        case Ranked():
            return {
                "kind": "quantile",
                "mechanism": release.mechanism,
                "quantile": _written(release.quantile),
                "toward": release.toward,
                "buckets": release.part.buckets,
                "epsilon": str(release.epsilon_value),
                "epsilon_of_each_end": str(release.epsilon_end),
                "most_weight_of_a_unit": release.weight,
            }
        case Chosen():
            return {
                "kind": "choice",
                "mechanism": repr(release.rule),
                "candidates": len(release.part.domain),
            }
        case _:
            assert_never(release)


def _written(x: Fraction | None) -> str | None:
    return None if x is None else str(x)
