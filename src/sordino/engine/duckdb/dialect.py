# SPDX-License-Identifier: Apache-2.0
"""How DuckDB spells what its SQL has in its own way."""

from __future__ import annotations

from sordino.engine.compile.dialect import Dialect
from sordino.query.types import Type

DUCKDB = Dialect(
    name="duckdb",
    types={
        Type.INTEGER: "BIGINT",
        Type.REAL: "DOUBLE",
        Type.TEXT: "VARCHAR",
        Type.BOOLEAN: "BOOLEAN",
        Type.DATE: "DATE",
        Type.TIMESTAMP: "TIMESTAMP",
    },
    wide="DECIMAL(38, 0)",
    small=None,
    place="USMALLINT",
    try_cast="TRY_CAST({0} AS {1})",
    casts={
        # -0.0 is 0.0, and reads like it.
        (Type.REAL, Type.TEXT): "CASE WHEN {0} = 0 THEN '0.0' ELSE TRY_CAST({0} AS {1}) END",
    },
    narrowed="TRY_CAST({0} AS {1})",
    parameter="${0}",
    typed="TRY_CAST({0} AS {1})",
    typed_text="TRY_CAST({0} AS VARCHAR)",
    bytewise="{0}",
    typed_list="TRY_CAST({0} AS {1}[])",
    ends={
        Type.DATE: ("DATE '0001-01-01'", "DATE '9999-12-31'"),
        Type.TIMESTAMP: (
            "TIMESTAMP '0001-01-01'",
            "TIMESTAMP '9999-12-31 23:59:59.999999'",
        ),
    },
    opaque="TRY({0})",
    same="{0} IS NOT DISTINCT FROM {1}",
    alike=None,
    by_pairs=False,
    is_nan="isnan({0})",
    add="({0} + {1})",
    sub="({0} - {1})",
    mul="({0} * {1})",
    div="({0} / NULLIF({1}, 0))",
    is_strict=False,
    round="round({0})",
    hash="hash(hash({0}))",
    sliced="({0} % CAST({1} AS UBIGINT) = CAST({2} AS UBIGINT))",  # in 64 bits; signs need more
    nth_least="list_max(min({0}, {1}))",
    total="sum({0}){1}",
    near="sum({0}){1}",
    numbered="row_number() OVER ()",
    whole_division="({0} // {1})",
    listed="SELECT unnest({0}) AS c, generate_subscripts({0}, 1) - 1 AS v",
    among=None,
    count_if="count(CASE WHEN {0} THEN 1 END)",
    takes_extremes=True,
    materialized="AS MATERIALIZED",
    inlined="AS NOT MATERIALIZED",
    fence="",
    functions={
        "zoned": "TRY(make_timestamp(epoch_us({0})))",  # a moment with a zone, in UTC
        "from_ns": (  # nanoseconds, with or without a zone, cut off toward the past
            "make_timestamp(epoch_ns({0}) // 1000 - CAST(epoch_ns({0}) % 1000 < 0 AS BIGINT))"
        ),
        "matches": "regexp_full_match({0}, {1})",
        "is_finite": "isfinite({0})",
        "longer": "(strlen({0}) > {1})",  # bytes
        "left": "left({0}, {1})",  # characters
        "has_nul": "contains({0}, chr(0))",
        "without_nul": "replace({0}, chr(0), '')",
        "length": "length({0})",
        "lower": "lower({0})",
        "word": "lower(trim({0}))",
        "written": "TRY_CAST({0} AS VARCHAR)",  # as text, where NaN is 'nan'
        "squeezed": r"lower(regexp_replace({0}, '[\s\p{{Z}}]', '', 'g'))",  # no spaces, no capitals
        "floor": "floor({0})",
        "ceil": "ceil({0})",
        "substring": "substring({0}, {1}, {2})",
        "year": "year({0})",
    },
)
