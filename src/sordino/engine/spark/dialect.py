# SPDX-License-Identifier: Apache-2.0
"""How Spark spells what its SQL has in its own way, with the settings of ``settings.py``.

In ANSI mode whole numbers never wrap, and what could raise is written with ``try_``. Doubles do not
raise: they become infinite or NaN.
"""

from __future__ import annotations

from sordino.engine.compile.dialect import Dialect
from sordino.query.types import Type

# Infinity and 2 ** 63 are no whole numbers of 64 bits. Spark tells only the first by itself: of the
# second it makes the largest whole number.
_WHOLE = "try_cast(NULLIF(rint({0}), 9223372036854775808D) AS {1})"
_TEXT = "decode(unhex({0}), 'UTF-8')"  # text is bound as digits; see connection.arguments
# A sum of 64 bits could leave them, and decimals take several times as long for each row. So pieces
# of 21 bits are added up, which stay within 64 bits for fewer rows than 2 ** 42, and are joined.
_TOTAL = (
    "(CAST(sum(shiftright(({0}), 42)){1} AS DECIMAL(38, 0)) * 4398046511104 "
    "+ CAST(sum(shiftright(({0}), 21) & 2097151){1} AS DECIMAL(38, 0)) * 2097152 "
    "+ sum(({0}) & 2097151){1})"
)
_BACKSLASH = "chr(92)"
# Patterns of questions know no escape, and those of Spark do.
_PATTERN = f"replace({{1}}, {_BACKSLASH}, concat({_BACKSLASH}, {_BACKSLASH}))"

SPARK = Dialect(
    name="spark",
    types={
        Type.INTEGER: "BIGINT",
        Type.REAL: "DOUBLE",
        Type.TEXT: "STRING",
        Type.BOOLEAN: "BOOLEAN",
        Type.DATE: "DATE",
        Type.TIMESTAMP: "TIMESTAMP_NTZ",
    },
    wide="DECIMAL(38, 0)",
    small=None,
    place="INT",
    try_cast="try_cast({0} AS {1})",
    casts={
        (Type.REAL, Type.INTEGER): _WHOLE,
        # -0.0 is 0.0, and reads like it.
        (Type.REAL, Type.TEXT): "CASE WHEN {0} = 0 THEN '0.0' ELSE CAST({0} AS {1}) END",
    },
    narrowed="CAST({0} AS {1})",
    parameter=":p{0}",
    typed="CAST({0} AS {1})",
    typed_text=_TEXT,
    bytewise="{0}",
    # A list is bound as one text, which takes a tenth of the time of as many values.
    typed_list=f"transform(from_json({_TEXT}, 'array<string>'), x -> try_cast(x AS {{1}}))",
    ends={
        Type.DATE: ("DATE '0001-01-01'", "DATE '9999-12-31'"),
        Type.TIMESTAMP: (
            "TIMESTAMP_NTZ '0001-01-01 00:00:00'",
            "TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'",
        ),
    },
    opaque="{0}",
    same="{0} <=> {1}",
    alike=None,
    by_pairs=False,
    is_nan="isnan({0})",
    add="({0} + {1})",
    sub="({0} - {1})",
    mul="({0} * {1})",
    div="({0} / NULLIF({1}, 0D))",
    is_strict=False,
    round="round({0})",
    hash="xxhash64({0})",
    sliced=None,
    nth_least=None,
    total=_TOTAL,
    near="sum({0}){1}",
    # A step that is computed again, as after the loss of a machine, could number its rows anew.
    numbered=None,
    whole_division="({0} div {1})",
    listed="SELECT c, v FROM (SELECT posexplode({0}) AS (v, c))",
    among=None,
    count_if="count(CASE WHEN {0} THEN 1 END)",
    takes_extremes=True,
    materialized="AS",
    inlined="AS",
    fence="",
    functions={
        "longer": "(octet_length({0}) > {1})",
        "left": "substring({0}, 1, {1})",
        "has_nul": "contains({0}, chr(0))",
        "without_nul": "replace({0}, chr(0), '')",
        "length": "length({0})",
        "lower": "lower({0})",
        "word": "lower(trim({0}))",
        # Spark's own floor is a whole number of 64 bits, which is too small for doubles.
        "floor": "(rint({0}) - CASE WHEN rint({0}) > {0} THEN 1D ELSE 0D END)",
        "ceil": "(rint({0}) + CASE WHEN rint({0}) < {0} THEN 1D ELSE 0D END)",
        "like": f"({{0}} LIKE {_PATTERN})",
        "ilike": f"({{0}} ILIKE {_PATTERN})",
        # Places in text are numbers of 32 bits here.
        "substring": (
            "substring({0}, CAST(LEAST({1}, 2147483647) AS INT), "
            "CAST(LEAST({2}, 2147483647) AS INT))"
        ),
        "dow": "(dayofweek({0}) - 1)",
        "day": "day({0})",
    },
)
