# SPDX-License-Identifier: Apache-2.0
"""The identity that paid answers had in version 1: the text that Python gave of a plan.

Ledgers keep such answers for ever. The names of classes and fields as they were then stand in the
tables here and do not follow the classes, which may be renamed. What came later is in no table: it
cannot have been paid for in version 1.
"""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from fractions import Fraction
from hashlib import sha256
from types import NoneType
from typing import Any

from sordino.mechanisms import Gaussian, Laplace
from sordino.mechanisms.keys.selection import KeySelection
from sordino.numbers.rational import written
from sordino.plan import aggregates, plan
from sordino.plan.ask import Options
from sordino.plan.encoding import field_of
from sordino.privacy.loss import Loss, loss_to_json
from sordino.query import tree
from sordino.query.types import Range, Type

_RECORDS: dict[type, tuple[str, tuple[str, ...]]] = {
    Range: ("Range", ("low", "high")),
    tree.Field: ("Field", ("name", "type", "title", "range", "domain", "other")),
    tree.Literal: ("Literal", ("value", "type")),
    tree.Call: ("Call", ("operation", "arguments", "type", "range")),
    tree.Scan: ("Scan", ("table", "fields")),
    tree.Where: ("Where", ("rows", "condition")),
    tree.Derive: ("Derive", ("rows", "fields")),
    tree.JoinPublic: ("JoinPublic", ("rows", "table", "fields", "on", "outer")),
    tree.JoinUnit: ("JoinUnit", ("rows", "other", "on", "outer")),
    tree.UnitMeasure: ("UnitMeasure", ("kind", "argument", "range")),
    tree.PerUnit: ("PerUnit", ("rows", "fields")),
    tree.Window: ("Window", ("rows", "fields")),
    tree.Bins: ("Bins", ("range", "count")),
    tree.Key: ("Key", ("scalar", "title", "domain", "other", "bins")),
    tree.Measure: ("Measure", ("kind", "argument", "range", "quantile", "count", "domain")),
    tree.MeasureRef: ("MeasureRef", ("index", "type")),
    tree.KeyRef: ("KeyRef", ("index", "type")),
    tree.PostCall: ("PostCall", ("operation", "arguments", "type")),
    tree.Output: ("Output", ("title", "scalar")),
    tree.Ordered: ("Ordered", ("scalar", "descending")),
    tree.Post: ("Post", ("outputs", "having", "order", "limit")),
    tree.Query: ("Query", ("rows", "keys", "measures", "post", "sql")),
    plan.Shares: ("Shares", ("rows", "groups", "rows_per_group", "alone", "join_rows")),
    plan.RowCount: ("RowCount", ("argument",)),
    plan.UnitCount: ("UnitCount", ()),
    plan.Total: ("Total", ("argument", "low", "high", "exponent", "offset", "power")),
    plan.Cells: ("Cells", ("statistics",)),
    plan.Distinct: ("Distinct", ("argument", "most")),
    plan.Ranks: ("Ranks", ("argument", "low", "high", "exponent", "width")),
    plan.Votes: ("Votes", ("argument", "domain")),
    plan.Crowded: ("Crowded", ()),
    plan.Bounded: ("Bounded", ("rows", "keys", "shares", "parts")),
    plan.Added: ("Added", ("part", "column", "mechanism", "step")),
    plan.Ranked: (
        "Ranked",
        ("part", "count", "quantile", "toward", "epsilon_value", "epsilon_end", "weight",
         "mechanism"),
    ),
    plan.Chosen: ("Chosen", ("part", "many", "epsilon", "weight", "mechanism")),
    aggregates.Direct: ("Direct", ("release",)),
    aggregates.Mean: ("Mean", ("total", "count", "offset", "low", "high")),
    aggregates.Spread: ("Spread", ("total", "square", "count", "low", "high", "root")),
    plan.Plan: (
        "Plan",
        ("query", "bounded", "people", "releases", "formulas", "keys", "diagnostics", "loss",
         "slack", "confidence", "epsilon", "fingerprint"),
    ),
}  # fmt: skip
_KINDS: dict[type, str] = {Type: "Type", tree.Kind: "Kind", tree.UnitKind: "UnitKind"}
# Python's own values, and mechanisms, which are written as a user would type them.
_WRITTEN = (NoneType, bool, int, float, str, Fraction, date, Laplace, Gaussian, KeySelection)
_EMPTY = {(tree.Query, "sql"), (plan.Plan, "fingerprint")}  # which an identity does not cover
_LEAVES = {
    "pure": ("Pure", ("epsilon",), written),
    "bounded_range": ("BoundedRange", ("epsilon",), written),
    "discrete_laplace": ("DiscreteLaplace", ("eta", "shift"), repr),
    "discrete_gaussian": (
        "DiscreteGaussian", ("variance", "squared_sensitivity", "coordinates"), repr,
    ),
}  # fmt: skip


class _NewerError(Exception):
    """Something is in a plan that version 1 did not have."""


def first_identity(asked: plan.Plan, options: Options) -> str | None:
    """Return what an answer was found by in version 1; None if it knew no such question."""
    try:
        text = _text(asked, {}, asked.bounded.parts)
    except _NewerError:
        return None
    fingerprint = sha256(f"plan 1\n{text}".encode()).hexdigest()
    shown = options.nonnegative, options.integer, options.consistent
    return sha256(f"{fingerprint} {shown}".encode()).hexdigest()


def _text(value: object, held: dict[int, str], inside: tuple[plan.Part, ...]) -> str:
    """Return the text of a value; ``held`` has that of records that stand in it several times."""
    kind = type(value)
    if kind in _RECORDS:
        if id(value) not in held:
            name, fields = _RECORDS[kind]
            parts = []
            for field in fields:
                empty = (kind, field) in _EMPTY
                text = _text("" if empty else field_of(value, field, inside), held, inside)
                parts.append(f"{field}={text}")
            held[id(value)] = f"{name}({', '.join(parts)})"
        return held[id(value)]
    if isinstance(value, tuple):
        items = [_text(item, held, inside) for item in value]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    if isinstance(value, StrEnum):
        return f"<{_KINDS[kind]}.{value.value.upper()}: {value.value!r}>"
    if isinstance(value, Loss):
        return _loss(loss_to_json(value))
    if isinstance(value, _WRITTEN):
        return repr(value)
    raise _NewerError


def _loss(record: dict[str, Any]) -> str:
    """Return the text of a loss: its leaves in the order of their texts."""
    parts = sorted((_leaf(part["leaf"]), part["times"]) for part in record["parts"])
    return f"Loss({' + '.join(f'{n} * {leaf}' if n > 1 else leaf for leaf, n in parts)})"


def _leaf(record: dict[str, Any]) -> str:
    """Return the text of a leaf, which said for itself that units are added or removed."""
    base = record["base"] if record["leaf"] == "related" else record
    if base["leaf"] not in _LEAVES:
        raise _NewerError
    name, fields, show = _LEAVES[base["leaf"]]
    shown = (f"{field}={show(_number(base[field]))}" for field in fields)
    return f"Related({name}({', '.join(shown)}), 'add_remove')"


def _number(value: Any) -> Any:
    return Fraction(value) if isinstance(value, str) else value
