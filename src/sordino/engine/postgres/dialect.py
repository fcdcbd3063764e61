# SPDX-License-Identifier: Apache-2.0
"""How PostgreSQL spells what its SQL has in its own way.

It has no cast that gives a missing value, and arithmetic on doubles that raises where the result
does not fit, or is too small. So everything here is guarded: a CASE looks at what goes in, and only
what surely gives a result is carried out. PostgreSQL may compute what depends on constants alone
before it looks at any row; each guard therefore stands on the values that it is for and on no
other, so that what a constant makes impossible is left out with its guard.
"""

from __future__ import annotations

from sordino.engine.compile.dialect import Dialect
from sordino.query.types import Type

OLDEST = 140_000  # of servers: infinite numbers of any length came with version 14


def _double(value: float) -> str:
    return f"float8 '{value!r}'"


_BEYOND = _double(1.7976931348623157e308)  # infinite and NaN are larger than this
_UP, _DOWN = _double(2.0**540), _double(2.0**-540)


def _either(template: str) -> str:
    """Return a condition that holds for one of two values at least."""
    return f"{template.format('{0}')} OR {template.format('{1}')}"


def _both(template: str) -> str:
    return f"{template.format('{0}')} AND {template.format('{1}')}"


_BETWEEN = f"abs({{}}) BETWEEN {_double(1e-150)} AND {_double(1e150)}"
_ODD = _either(f"abs({{}}) > {_BEYOND}")
_ZERO = _either("{} = 0")


def _sum(sign: str) -> str:
    """Return a sum or difference: only two numbers above 1e290 can have one that does not fit."""
    plain, half = f"({{0}} {sign} {{1}})", f"({{0}} * 0.5 {sign} {{1}} * 0.5)"
    return (
        f"CASE WHEN {_both(f'abs({{}}) <= {_double(8e307)}')} THEN {plain} "
        f"WHEN {_ODD} THEN {plain} WHEN {_either(f'abs({{}}) < {_double(1e290)}')} THEN {plain} "
        f"WHEN {half} >= {_double(2.0**1023)} THEN float8 'Infinity' "
        f"WHEN {half} <= {_double(-(2.0**1023))} THEN float8 '-Infinity' ELSE {plain} END"
    )


def _too_large(scaled: str, plain: str, end: float) -> str:
    """Return a result, or an infinite one where that of smaller numbers shows it does not fit."""
    return (
        f"CASE WHEN {scaled} >= {_double(end)} THEN float8 'Infinity' "
        f"WHEN {scaled} <= {_double(-end)} THEN float8 '-Infinity' ELSE {plain} END"
    )


def _too_small(scaled: str, plain: str) -> str:
    """Return a result, or 0 where that of larger numbers, by 2 ** 1080, shows that it is too small.

    Half of the least double is 2 ** -1075, and so 2 ** 5 here.
    """
    return f"CASE WHEN abs({scaled}) > 32 THEN {plain} ELSE 0 END"


def _product() -> str:
    plain = "({0} * {1})"
    small, large = (
        f"(({{0}} * {_DOWN}) * ({{1}} * {_DOWN}))",
        f"(({{0}} * {_UP}) * ({{1}} * {_UP}))",
    )
    return (
        f"CASE WHEN {_both(_BETWEEN)} THEN {plain} WHEN {_ZERO} OR {_ODD} THEN {plain} "
        f"WHEN {_both(f'abs({{}}) > {_double(1e-120)}')} "
        f"THEN {_too_large(small, plain, 2.0**-56)} "
        f"WHEN {_both(f'abs({{}}) < {_double(1e100)}')} THEN {_too_small(large, plain)} "
        f"ELSE {plain} END"
    )


def _quotient() -> str:
    plain = "({0} / {1})"
    return (
        f"CASE WHEN {_both(_BETWEEN)} THEN {plain} WHEN {{1}} = 0 THEN NULL "
        f"WHEN {{0}} = 0 OR {_ODD} THEN {plain} "
        "WHEN abs({1}) <= 1 AND abs({0}) >= 1 "
        f"THEN {_too_large(f'(({{0}} * {_DOWN}) / ({{1}} * {_UP}))', plain, 2.0**-56)} "
        f"WHEN abs({{1}}) < {_double(1e-300)} "
        f"THEN {_too_large(f'({{0}} / ({{1}} * {_UP}))', plain, 2.0**484)} "
        f"WHEN abs({{0}}) < {_double(1e-15)} AND abs({{1}}) > 1 "
        f"THEN {_too_small(f'(({{0}} * {_UP}) / ({{1}} * {_DOWN}))', plain)} ELSE {plain} END"
    )


# Text that is a number, a day or a moment. --------------------------------------------------------

LONGEST_NUMBER = 1_000  # bytes of text that may be a number
SHORT_WHOLE = "'^ *[+-]?[0-9]{1,18} *$'"
WHOLE = "'^ *[+-]?[0-9]+ *$'"
_SHORT_REAL = "'^ *[+-]?[0-9]{1,15}([.][0-9]{1,15})? *$'"
# More digits of an exponent than four would be too many for numbers of any length, too.
_REAL = "'^ *[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?0*[0-9]{1,4})? *$'"
_DAY = (
    "(?!0000)([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
    "|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
    "|([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)"
)
_HOUR = "[ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?"
DAY, MOMENT = f"'^{_DAY}$'", f"'^{_DAY}{_HOUR}$'"
ZONED = f"'^{_DAY}{_HOUR}(Z|[+-](0[0-9]|1[0-5])(:?[0-5][0-9])?)$'"
_DAY_OR_MOMENT = f"'^ *{_DAY}({_HOUR})? *$'"
_ANY = "CAST({0} AS numeric)"


def _within(pattern: str) -> str:
    """Return a pattern as it stands within a template."""
    return pattern.replace("{", "{{").replace("}", "}}")


LONG = f"octet_length({{0}}) > {LONGEST_NUMBER}"
LEAST, LARGEST = -(2**63), 2**63 - 1


def read_real(beyond: str) -> str:
    """Return text as a double; what is larger than all of them becomes what is stated."""
    return (
        f"CASE WHEN {LONG} THEN NULL "
        f"WHEN {{0}} ~ {_within(_SHORT_REAL)} THEN CAST({{0}} AS float8) "
        f"WHEN {{0}} ~ {_within(_REAL)} THEN {double_of(_ANY, beyond, 'CAST({0} AS float8)')} END"
    )


def double_of(number: str, beyond: str, cast: str | None = None) -> str:
    """Return a number of any length as a double; NaN and what is too large become ``beyond``."""
    cast = cast or f"CAST({number} AS float8)"
    return (
        f"CASE WHEN abs({number}) > 1.7976931348623158079e308 THEN {beyond} "
        f"WHEN abs({number}) < 2.48e-324 THEN 0 ELSE {cast} END"
    )


READ_WHOLE = (
    f"CASE WHEN {LONG} THEN NULL WHEN {{0}} ~ {_within(SHORT_WHOLE)} THEN CAST({{0}} AS bigint) "
    f"WHEN {{0}} ~ {_within(_REAL)} THEN CASE WHEN {_ANY} > {LEAST}.5 AND {_ANY} < {LARGEST}.5 "
    f"THEN CAST({_ANY} AS bigint) END END"
)
_WHOLE_OF_REAL = (  # rounded to the nearest, ties to even
    f"CASE WHEN {{0}} >= {_double(-(2.0**63))} AND {{0}} < {_double(2.0**63)} "
    "THEN CAST({0} AS bigint) END"
)
_TEXT_OF_REAL = (
    "(CASE WHEN {0} = 0 THEN '0.0' "
    f"WHEN abs({{0}}) < {_double(1e15)} AND {{0}} = trunc({{0}}) "
    "THEN CAST(CAST({0} AS bigint) AS text) || '.0' "
    "ELSE replace(replace(CAST({0} AS text), 'Infinity', 'inf'), 'e+', 'e') END COLLATE \"C\")"
)
_TEXT = '(CAST({0} AS text) COLLATE "C")'
_DAY_OF_TEXT = (
    f"CASE WHEN {{0}} ~ {_within(_DAY_OR_MOMENT)} THEN CAST(left(trim({{0}}), 10) AS date) END"
)
_MOMENT_OF_TEXT = f"CASE WHEN {{0}} ~ {_within(_DAY_OR_MOMENT)} THEN CAST({{0}} AS timestamp) END"
_SPACES = "[\\s\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"

POSTGRES = Dialect(
    name="postgres",
    types={
        Type.INTEGER: "bigint",
        Type.REAL: "float8",
        Type.TEXT: "text",
        Type.BOOLEAN: "boolean",
        Type.DATE: "date",
        Type.TIMESTAMP: "timestamp",
    },
    wide="numeric(38, 0)",
    small="integer",
    place="integer",
    try_cast="CAST({0} AS {1})",  # of types between which it does not fail
    casts={
        **{(kind, Type.TEXT): _TEXT for kind in Type},
        (Type.REAL, Type.TEXT): _TEXT_OF_REAL,
        (Type.REAL, Type.INTEGER): _WHOLE_OF_REAL,
        (Type.TEXT, Type.INTEGER): READ_WHOLE,
        (Type.TEXT, Type.REAL): read_real("NULL"),
        (Type.TEXT, Type.DATE): _DAY_OF_TEXT,
        (Type.TEXT, Type.TIMESTAMP): _MOMENT_OF_TEXT,
        (Type.BOOLEAN, Type.INTEGER): "CAST(CAST({0} AS integer) AS bigint)",
        (Type.BOOLEAN, Type.REAL): "CAST(CAST({0} AS integer) AS float8)",
    },
    narrowed="CAST({0} AS {1})",
    parameter="${0}",
    typed="CAST({0} AS {1})",
    typed_text=_TEXT,
    bytewise='({0} COLLATE "C")',
    typed_list="CAST({0} AS {1}[])",
    ends={
        Type.DATE: ("DATE '0001-01-01'", "DATE '9999-12-31'"),
        Type.TIMESTAMP: ("TIMESTAMP '0001-01-01'", "TIMESTAMP '9999-12-31 23:59:59.999999'"),
    },
    opaque="{0}",
    same="{0} IS NOT DISTINCT FROM {1}",
    # It joins by no condition that holds for missing values, and by this one it does.
    alike="hash_record_extended(ROW({0}), 0) = hash_record_extended(ROW({1}), 0)",
    by_pairs=True,
    is_nan="{0} = float8 'NaN'",
    add=_sum("+"),
    sub=_sum("-"),
    mul=_product(),
    div=_quotient(),
    is_strict=True,
    round=(
        "CASE WHEN abs({0} - trunc({0})) >= 0.5 THEN trunc({0}) + sign({0}) ELSE trunc({0}) END"
    ),
    # That of a record adds the hashes of its columns up; the second one mixes them.
    hash="hashint8extended(hash_record_extended(ROW({0}), 0), 0)",
    sliced=None,
    nth_least=None,
    total="sum({0}){1}",
    near="sum({0}){1}",
    numbered="row_number() OVER ()",
    whole_division="({0} / {1})",
    listed="SELECT c, v - 1 AS v FROM unnest({0}) WITH ORDINALITY AS l(c, v)",
    among="{0} = ANY({1})",
    count_if="count(*) FILTER (WHERE {0})",
    takes_extremes=False,
    materialized="AS MATERIALIZED",
    inlined="AS NOT MATERIALIZED",
    fence=" OFFSET 0",
    functions={
        "longer": "(octet_length({0}) > {1})",
        "left": "left({0}, {1})",
        "has_nul": "FALSE",  # no text of PostgreSQL has one
        "without_nul": "{0}",
        "length": "length({0})",
        "lower": "lower({0})",
        "word": "lower(trim({0}))",
        "written": "lower(CAST({0} AS text))",
        "squeezed": f"lower(regexp_replace({{0}}, '{_SPACES}', '', 'g'))",
        "floor": "floor({0})",
        "ceil": "ceil({0})",
        "substring": (
            "substring({0}, CAST(LEAST({1}, 2147483647) AS integer), "
            "CAST(LEAST({2}, 2147483647) AS integer))"
        ),
        "like": "({0} LIKE {1} ESCAPE '')",
        "ilike": "({0} ILIKE {1} ESCAPE '')",
        **{
            part: f"extract({part} FROM {{0}})"
            for part in ("year", "quarter", "month", "day", "dow", "hour")
        },
    },
)
