# SPDX-License-Identifier: Apache-2.0
"""The canonical bytes of plans and options, by which a paid answer is found again.

docs/identity.md describes the form. The table of records below belongs to it: tags and the order of
fields are written down, so that classes can be renamed and moved while the bytes stay.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction
from hashlib import sha256
from types import NoneType
from typing import Any

from sordino.mechanisms import Gaussian, Laplace
from sordino.mechanisms.keys.selection import KeySelection
from sordino.plan import aggregates, plan
from sordino.plan.ask import Options
from sordino.privacy.loss import Loss, loss_to_json
from sordino.query import tree
from sordino.query.types import Range

VERSION = 2  # of the form; version 1 was the text of Python objects

# Each record: its tag, and its fields in the order in which they are written.
RECORDS: dict[type, tuple[str, tuple[str, ...]]] = {
    Range: ("range", ("low", "high")),
    tree.Field: ("field", ("name", "type", "title", "range", "domain", "other")),
    tree.Literal: ("literal", ("value", "type")),
    tree.Call: ("call", ("operation", "arguments", "type", "range")),
    tree.Scan: ("scan", ("table", "fields")),
    tree.Where: ("where", ("rows", "condition")),
    tree.Derive: ("derive", ("rows", "fields")),
    tree.JoinPublic: ("join_public", ("rows", "table", "fields", "on", "outer")),
    tree.JoinUnit: ("join_unit", ("rows", "other", "on", "outer")),
    tree.UnitMeasure: ("unit_measure", ("kind", "argument", "range")),
    tree.PerUnit: ("per_unit", ("rows", "fields")),
    tree.Window: ("window", ("rows", "fields")),
    tree.Bins: ("bins", ("range", "count")),
    tree.Key: ("key", ("scalar", "title", "domain", "other", "bins")),
    tree.Measure: ("measure", ("kind", "argument", "range", "quantile", "count", "domain")),
    tree.MeasureRef: ("measure_ref", ("index", "type")),
    tree.KeyRef: ("key_ref", ("index", "type")),
    tree.PostCall: ("post_call", ("operation", "arguments", "type")),
    tree.Output: ("output", ("title", "scalar")),
    tree.Ordered: ("ordered", ("scalar", "descending")),
    tree.Post: ("post", ("outputs", "having", "order", "limit")),
    tree.Query: ("query", ("rows", "keys", "measures", "post")),
    plan.Shares: ("shares", ("rows", "groups", "rows_per_group", "alone", "join_rows")),
    plan.RowCount: ("row_count", ("argument",)),
    plan.UnitCount: ("unit_count", ()),
    plan.Total: ("total", ("argument", "low", "high", "exponent", "offset", "power")),
    plan.Cells: ("cells", ("statistics",)),
    plan.Distinct: ("distinct", ("argument", "most")),
    plan.Ranks: ("ranks", ("argument", "low", "high", "exponent", "width")),
    plan.Votes: ("votes", ("argument", "domain")),
    plan.Crowded: ("crowded", ()),
    plan.Bounded: ("bounded", ("rows", "keys", "shares", "parts")),
    Laplace: ("laplace", ("sensitivity", "whole", "epsilon")),
    Gaussian: (
        "gaussian",
        ("sensitivity", "whole", "epsilon", "delta", "rho", "variance", "coordinates"),
    ),
    KeySelection: ("key_selection", ("epsilon", "delta", "groups", "method", "neighbours")),
    plan.Added: ("added", ("part", "column", "mechanism", "step")),
    plan.Ranked: (
        "ranked",
        ("part", "count", "quantile", "toward", "epsilon_value", "epsilon_end", "weight",
         "mechanism"),
    ),
    plan.Chosen: ("chosen", ("part", "many", "epsilon", "weight", "mechanism")),
    aggregates.Direct: ("direct", ("release",)),
    aggregates.Mean: ("mean", ("total", "count", "offset", "low", "high")),
    aggregates.Spread: ("spread", ("total", "square", "count", "low", "high", "root")),
    plan.Plan: (
        "plan",
        ("query", "bounded", "people", "releases", "formulas", "keys", "diagnostics", "loss",
         "slack", "confidence", "epsilon"),
    ),
    Options: ("options", ("nonnegative", "integer", "consistent")),
}  # fmt: skip


def encode(value: object) -> bytes:
    r"""Return the canonical bytes of a value: of a record of the table, or of what it is made of.

    >>> encode((1, "one", Fraction(1, 2), None))
    b'(4:i1;s3:oneq1/2;n'
    >>> encode(Range(Fraction(0), Fraction(9)))
    b'<5:range2:q0/1;q9/1;'
    """
    return _encoded(value, {}, ())


def digest(*values: object) -> str:
    """Return the SHA-256 of the version of the form and of some values, in hexadecimal digits."""
    return sha256(encode((VERSION, *values))).hexdigest()


def field_of(record: object, name: str, parts: tuple[plan.Part, ...]) -> object:
    """Return a field as it is written: of its part, a release says which one of the plan it is."""
    value = getattr(record, name)
    if isinstance(record, plan.Added | plan.Ranked | plan.Chosen) and name == "part":
        return parts.index(value) if value in parts else value
    return value


def _encoded(value: object, held: dict[int, bytes], parts: tuple[plan.Part, ...]) -> bytes:
    """Return the bytes of a value; ``held`` has those of records that stand in it several times.

    ``parts`` are those of the plan that the value stands in.
    """
    form = RECORDS.get(type(value))
    if form is not None:
        if id(value) not in held:
            tag, fields = form
            inner = value.bounded.parts if isinstance(value, plan.Plan) else parts
            items = [_encoded(field_of(value, name, inner), held, inner) for name in fields]
            held[id(value)] = b"".join((b"<", _text(tag), str(len(items)).encode(), b":", *items))
        return held[id(value)]
    if isinstance(value, tuple):
        items = [_encoded(item, held, parts) for item in value]
        return b"".join((b"(", str(len(items)).encode(), b":", *items))
    if isinstance(value, str):
        return b"s" + _text(value)
    atom = _ATOMS.get(type(value))
    if atom is None:
        raise TypeError(f"a {type(value).__name__} has no canonical bytes")
    return atom(value)


def _loss(loss: Loss) -> str:
    return json.dumps(loss_to_json(loss), sort_keys=True, separators=(",", ":"))


# Of what is no record, list or text; the bytes follow from the type itself and not from its bases.
_ATOMS: dict[type, Callable[[Any], bytes]] = {
    NoneType: lambda _: b"n",
    bool: lambda x: b"t" if x else b"f",
    int: lambda x: b"i%d;" % x,
    float: lambda x: b"r" + struct.pack(">d", x),
    Fraction: lambda x: b"q%d/%d;" % (x.numerator, x.denominator),
    datetime: lambda x: b"m" + _text(x.isoformat()),
    date: lambda x: b"d" + _text(x.isoformat()),
    Loss: lambda x: b"l" + _text(_loss(x)),
}


def _text(text: str) -> bytes:
    """Return the length of a text in bytes, and the text; halves of characters are allowed."""
    data = text.encode("utf-8", "surrogatepass")
    return b"%d:%b" % (len(data), data)
