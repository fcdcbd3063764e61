# SPDX-License-Identifier: Apache-2.0
"""The canonical bytes of plans: written down, different for different plans, and unchanged."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sordino as so
from sordino.plan import plan
from sordino.plan.encoding import RECORDS, digest, encode
from sordino.plan.plan import Plan
from sordino.privacy.loss import Loss
from sordino.query import tree
from sordino.query.tree import Kind, Measure
from sordino.release import Options
from sordino.session.first_identity import first_identity
from sordino.session.session import asked_of
from tests.fixtures.answered.make import PAID, SHOWN, lay_out
from tests.plan.unit.questions import AGE, catalog, plan_question, question

GOLDEN = Path(__file__).parents[2] / "fixtures" / "identities.json"
PAGE = Path(__file__).parents[3] / "docs" / "identity.md"
PURCHASES: list[dict[str, Any]] = json.loads(PAID.read_text("utf-8"))
LEFT_OUT = {(tree.Query, "sql"), (plan.Plan, "fingerprint"), (plan.Plan, "by_id")}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[so.Session]:
    folder = tmp_path_factory.mktemp("identities")
    lay_out(folder)
    with so.open(folder / "sordino.toml", who="ann", ledger="memory") as opened:
        yield opened


def planned(session: so.Session, purchase: dict[str, Any]) -> tuple[Plan, Options]:
    terms = purchase["terms"]
    asked = session.plan(purchase["sql"], **{k: v for k, v in terms.items() if k not in SHOWN})
    return asked, Options(**{k: v for k, v in terms.items() if k in SHOWN})


def test_identities_are_those_that_are_written_down(session: so.Session) -> None:
    golden = json.loads(GOLDEN.read_text("utf-8"))
    assert len(golden) == len(PURCHASES)
    found = []
    for purchase in PURCHASES:
        asked, options = planned(session, purchase)
        found.append({"fingerprint": asked.fingerprint, "identity": asked_of(asked, options)})
    assert found == golden


def test_the_first_identity_of_a_question_is_the_digest_of_its_text(session: so.Session) -> None:
    for purchase in PURCHASES:
        asked, options = planned(session, purchase)
        shown = (options.nonnegative, options.integer, options.consistent)
        text = f"{purchase['fingerprint']} {shown}"
        assert first_identity(asked, options) == sha256(text.encode()).hexdigest()


def test_what_version_1_did_not_know_has_no_first_identity(session: so.Session) -> None:
    asked, options = planned(session, PURCHASES[0])
    newer: Any = object()
    assert first_identity(replace(asked, keys=newer), options) is None


def test_every_field_of_a_record_is_written_but_for_those_that_are_left_out() -> None:
    for kind, (_, written) in RECORDS.items():
        if is_dataclass(kind) and kind.__module__.startswith(("sordino.plan", "sordino.query")):
            names = [field.name for field in fields(kind) if (kind, field.name) not in LEFT_OUT]
            assert list(written) == names, kind


def test_tags_are_different_and_on_the_page() -> None:
    page = PAGE.read_text("utf-8")
    tags = [tag for tag, _ in RECORDS.values()]
    assert len(set(tags)) == len(tags)
    for tag, names in RECORDS.values():
        assert f"| `{tag}` | {', '.join(names)} |" in page


def test_all_kinds_of_rows_parts_and_formulas_can_be_written() -> None:
    for module in (tree, plan):
        kinds = {x for x in vars(module).values() if isinstance(x, type) and is_dataclass(x)}
        ours = {kind for kind in kinds if kind.__module__ == module.__name__}
        assert ours <= RECORDS.keys()


def changes(value: Any) -> Iterator[Any]:
    """Yield the value with one thing in it changed, for every thing in it."""
    if isinstance(value, tuple):
        yield (*value, None)
        for at, item in enumerate(value):
            yield from ((*value[:at], other, *value[at + 1 :]) for other in changes(item))
    elif isinstance(value, so.Laplace):
        yield so.Laplace(sensitivity=value.sensitivity.numerator, epsilon=value.epsilon * 2)
        yield so.Laplace(sensitivity=value.sensitivity.numerator + 1, epsilon=value.epsilon)
    elif type(value) in RECORDS:
        for name in RECORDS[type(value)][1]:
            for other in changes(getattr(value, name)):
                yield replace(value, **{name: other})
    elif type(value) in OTHERS:
        yield OTHERS[type(value)](value)


OTHERS: dict[type, Callable[[Any], Any]] = {
    str: lambda text: text + "x",
    bool: lambda truth: not truth,
    int: lambda whole: whole + 1,
    Fraction: lambda number: number + 1,
    Loss: lambda loss: 2 * loss,
    type(None): lambda _: "something",
}


def test_plans_that_differ_anywhere_have_different_bytes() -> None:
    measures = [Measure(Kind.COUNT), Measure(Kind.AVG, AGE, AGE.range)]
    measures.append(Measure(Kind.QUANTILE, AGE, AGE.range, quantile=Fraction(1, 2)))
    asked = plan_question(question(measures), catalog(), epsilon=1, diagnostics=True)
    others = list(changes(asked))
    assert len(others) > 100
    assert len({encode(asked), *map(encode, others)}) == len(others) + 1


ATOMS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.fractions(),
    st.dates(), st.datetimes(),
)  # fmt: skip
TREES = st.recursive(ATOMS, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=12)


def exact(value: Any) -> Any:
    """Return a value with its types, so that 1, 1.0, True and Fraction(1) are different."""
    if isinstance(value, tuple):
        return tuple(map(exact, value))
    return type(value).__name__, repr(value)


@given(one=TREES, other=TREES)
def test_equal_bytes_are_of_equal_values(one: Any, other: Any) -> None:
    assert (encode(one) == encode(other)) == (exact(one) == exact(other))


@given(items=st.lists(TREES, max_size=4), more=st.lists(TREES, max_size=4))
def test_no_bytes_begin_with_those_of_another_value(items: list[Any], more: list[Any]) -> None:
    one, other = encode(tuple(items)), encode(tuple(more))
    assert one == other or not one.startswith(other)


def test_the_form_of_atoms() -> None:
    values = (None, True, False, -7, 0.5, Fraction(1, 3), "é", date(2024, 1, 2))
    assert encode(values) == (
        b"(8:ntfi-7;r\x3f\xe0\x00\x00\x00\x00\x00\x00q1/3;s2:\xc3\xa9d10:2024-01-02"
    )
    assert encode(datetime(2024, 1, 2, 3)) == b"m19:2024-01-02T03:00:00"
    with pytest.raises(TypeError, match="a list has no canonical bytes"):
        encode([1])
    assert len(digest("a")) == 64
