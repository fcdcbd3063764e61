# SPDX-License-Identifier: Apache-2.0
"""The operations that a question may use on single values: what they take, and what they give.

Each is total: for whatever values, it gives a value or a missing one and never fails. Each is one
row of a table, which the parser, the binder, the engine, error bars and whoever names expressions
read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import DecimalException
from fractions import Fraction
from typing import Any, TypeAlias

from sordino.query import ranges, values
from sordino.query.ranges import Uncertain, exactly
from sordino.query.tree import Call, Field, Literal, Scalar
from sordino.query.types import Range, Type, Value, fitted

Types: TypeAlias = "tuple[Type, ...]"
Takes: TypeAlias = "Callable[[Types], bool]"
Gives: TypeAlias = "Callable[[tuple[Scalar, ...]], Type]"
Ranges: TypeAlias = "Callable[[tuple[Scalar, ...]], Range | None]"
Width: TypeAlias = "Callable[[Sequence[float], Sequence[Value]], float | None]"

MANY = 1_000  # arguments that greatest, least, coalesce, case and in take at most


@dataclass(frozen=True, slots=True)
class Function:
    """A name that SQL calls an operation by, and how many values may stand in its parentheses.

    ``takes`` is empty where the parser counts them well enough. ``example`` is what to write
    instead of a wrong number; ``unknown`` are functions that the parser has no node for.
    """

    name: str
    takes: tuple[int, ...] = ()
    example: str = ""
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class Spelling:
    """How an operation is written in SQL.

    ``nodes`` are the parser's classes by name, with the arguments that they may have, in order.
    ``words`` tell apart operations that share a node: parts of a day, or names of types.
    ``sign`` stands between two values, and ``spoken`` is what messages call the operation.
    """

    functions: tuple[Function, ...] = ()
    nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    sign: str = ""
    spoken: str = ""


@dataclass(frozen=True, slots=True)
class Arguments:
    """Which types an operation takes: ``words`` say for messages what ``fit`` checks.

    The hints say what to write for arguments that do not fit, and where one of them is a time.
    """

    words: str
    fit: Takes
    hint: str = "cast the value, as in CAST(x AS DOUBLE)"
    hint_for_times: str = "use a part of it, as in year(x)"


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: what it takes, what it gives, and how it is written.

    A range is a public guess of where values lie; nothing that is proved rests on it. ``value``
    is asked only where all values are there, unless it ``sees_missing``. ``agreed`` tells of text
    whether all engines give the same for it. ``template`` is its SQL, for an engine that has no
    rule of its own, with ``{0}`` and so on for arguments of the types that the operation takes.

    ``behind`` says of noisy values where the exact result lies, and ``width`` how wide its error
    bar is if those of the arguments are so wide, given the arguments that are literals; None where
    that depends on the values.
    """

    name: str
    fewest: int
    most: int
    arguments: Arguments
    gives: Gives
    range: Ranges
    value: values.Rule
    sql: Spelling = Spelling()
    sees_missing: bool = False
    agreed: Callable[[str], bool] | None = None
    template: str = ""
    behind: ranges.Behind | None = None
    width: Width | None = None


def call(name: str, *arguments: Scalar) -> Call:
    """Return the operation on arguments that fit it, with its type and range.

    >>> call("add", Literal(1, Type.INTEGER), Literal(2.5, Type.REAL)).type
    <Type.REAL: 'real'>
    """
    reason = misfit(name, tuple(argument.type for argument in arguments))
    if reason is not None:
        raise TypeError(reason)
    operation = OPERATIONS[name]
    return Call(name, arguments, operation.gives(arguments), operation.range(arguments))


def misfit(name: str, types: Types) -> str | None:
    """Say why arguments of these types do not fit an operation, or return None if they do.

    >>> misfit("lower", (Type.DATE,))
    'lower takes text, not date'
    """
    operation = OPERATIONS[name]
    if not operation.fewest <= len(types) <= operation.most:
        count = str(operation.fewest)
        if operation.most != operation.fewest:
            count += f" to {operation.most}"
        return f"{name} takes {count} values, not {len(types)}"
    if not operation.arguments.fit(types):
        return f"{name} takes {operation.arguments.words}, not {', '.join(types)}"
    return None


def range_of(scalar: Scalar) -> Range | None:
    """Return where the numbers of a scalar are expected to lie; for days and moments, the years."""
    match scalar:
        case Literal(value=value):
            return ranges.of_literal(value)
        case Field(range=known) | Call(range=known):
            return known


# What they take. ---------------------------------------------------------------------------------


def _every(*wanted: Type) -> Takes:
    return lambda types: all(kind in wanted for kind in types)


def _alike(types: Types) -> bool:
    return len(set(types)) == 1


def _branches(types: Types) -> bool:
    """Conditions at even places but the last, and values of one type at the others."""
    if len(types) % 2 == 0:
        return False
    values = {*types[1::2], types[-1]}
    return all(kind is Type.BOOLEAN for kind in types[:-1:2]) and len(values) == 1


def _starts(first: Type, *rest: Type) -> Takes:
    return lambda types: types == (first, *rest)[: len(types)]


def _digits(types: Types) -> bool:
    return types[0].is_number and types[1] is Type.INTEGER


def _anything(types: Types) -> bool:
    return bool(types)


_NUMERIC = _every(Type.INTEGER, Type.REAL)
_COUNTED = _every(Type.INTEGER, Type.REAL, Type.BOOLEAN, Type.TEXT)
_DAY = "cast the value, as in CAST(x AS DATE)"
_WRITTEN_DAY = "days are written as in DATE '2024-05-01'"
_VARCHAR = "cast the value, as in CAST(x AS VARCHAR)"
_COMPARE = "compare it with something, as in x > 0"

_NUMBERS = Arguments("numbers", _NUMERIC)
_EXTREMES = replace(_NUMBERS, hint_for_times="write CASE WHEN x > y THEN x ELSE y END")
_DIGITS = Arguments("a number and digits", _digits)
_ALIKE = Arguments("values of one type", _alike)
_ANY = Arguments("any value", _anything)
_TRUTH = Arguments("a truth value", _every(Type.BOOLEAN), _COMPARE)
_TRUTHS = replace(_TRUTH, words="truth values")
_BRANCHES = Arguments("conditions and values of one type", _branches)
_TEXT = Arguments("text", _every(Type.TEXT), _VARCHAR, _VARCHAR)
_PIECE = Arguments("text, a start and a length", _starts(Type.TEXT, Type.INTEGER, Type.INTEGER))
_TO_NUMBER = Arguments("a number, text or a truth value", _COUNTED)
_TO_TRUTH = Arguments("a number, text or truth", _COUNTED)
_TIME = Arguments("a day or a moment", _every(Type.DATE, Type.TIMESTAMP), _DAY, _DAY)
_TO_TIME = Arguments(
    "a day, a moment or text",
    _every(Type.DATE, Type.TIMESTAMP, Type.TEXT),
    _WRITTEN_DAY,
    _WRITTEN_DAY,
)


# What they give. ---------------------------------------------------------------------------------


def _always(kind: Type) -> Gives:
    return lambda _arguments: kind


def _number(arguments: tuple[Scalar, ...]) -> Type:
    whole = all(argument.type is Type.INTEGER for argument in arguments)
    return Type.INTEGER if whole else Type.REAL


def _rounded(arguments: tuple[Scalar, ...]) -> Type:
    """Without digits after the point a rounded number is whole."""
    return Type.INTEGER if arguments[1] == Literal(0, Type.INTEGER) else Type.REAL


def _first(arguments: tuple[Scalar, ...]) -> Type:
    return arguments[0].type


def _last(arguments: tuple[Scalar, ...]) -> Type:
    return arguments[-1].type


# Where the results lie. --------------------------------------------------------------------------


def _on(rule: Callable[..., Range | None]) -> Ranges:
    """Return a rule on the ranges of all arguments; without one of them there is no range."""

    def applied(arguments: tuple[Scalar, ...]) -> Range | None:
        known = [range_of(argument) for argument in arguments]
        present = [range_ for range_ in known if range_ is not None]
        return ranges.kept(rule(*present)) if len(present) == len(known) else None

    return applied


def _unknown(_arguments: tuple[Scalar, ...]) -> Range | None:
    return None


def _within(low: int, high: int) -> Ranges:
    return lambda _arguments: Range(Fraction(low), Fraction(high))


def _same(arguments: tuple[Scalar, ...]) -> Range | None:
    return range_of(arguments[0])


def _round(arguments: tuple[Scalar, ...]) -> Range | None:
    known, digits = range_of(arguments[0]), arguments[1]
    if known is None or not isinstance(digits, Literal) or not isinstance(digits.value, int):
        return None
    return ranges.rounded(known, digits.value)


def _clamp(arguments: tuple[Scalar, ...]) -> Range | None:
    low, high = range_of(arguments[1]), range_of(arguments[2])
    return None if low is None or high is None else Range(low.low, high.high)


def _hull(arguments: tuple[Scalar, ...]) -> Range | None:
    there = tuple(a for a in arguments if not (isinstance(a, Literal) and a.value is None))
    return _on(ranges.hull)(there) if there else None


def _values(arguments: tuple[Scalar, ...]) -> Range | None:
    return _hull((*arguments[1::2], arguments[-1]))


def _greatest(arguments: tuple[Scalar, ...]) -> Range | None:
    floors = [r.low for a in arguments if isinstance(a, Literal) and (r := range_of(a))]
    known = _hull(arguments)
    return known and Range(max([known.low, *floors]), known.high)


def _least(arguments: tuple[Scalar, ...]) -> Range | None:
    tops = [r.high for a in arguments if isinstance(a, Literal) and (r := range_of(a))]
    known = _hull(arguments)
    return known and Range(known.low, min([known.high, *tops]))


def _cast(arguments: tuple[Scalar, ...]) -> Range | None:
    """A cast between numbers, or between times, keeps the range; a truth value becomes 0 or 1."""
    kind = arguments[0].type
    if kind is Type.BOOLEAN:
        return Range(Fraction(0), Fraction(1))
    return None if kind is Type.TEXT else range_of(arguments[0])


def _cast_whole(arguments: tuple[Scalar, ...]) -> Range | None:
    known = _cast(arguments)
    return known and ranges.rounded(known, 0)


# How wide error bars become. ---------------------------------------------------------------------


def _wide_as_all(sizes: Sequence[float], _: Sequence[Value]) -> float:
    return sum(sizes)


def _wide_as_first(sizes: Sequence[float], _: Sequence[Value]) -> float:
    return sizes[0]


def _wide_as_widest(sizes: Sequence[float], _: Sequence[Value]) -> float:
    return max(sizes)


def _wider_by(step: float) -> Width:
    """Return the rule for rounding by at most a step of the last digit that is kept."""

    def rule(sizes: Sequence[float], literals: Sequence[Value]) -> float:
        digits = literals[1] if len(literals) > 1 and isinstance(literals[1], int) else 0
        return sizes[0] + step * 10.0**-digits

    return rule


def _factor(literal: Value) -> float | None:
    number = isinstance(literal, int | float) and not isinstance(literal, bool)
    return abs(literal) or None if number and isinstance(literal, int | float) else None


def _wide_as_product(sizes: Sequence[float], literals: Sequence[Value]) -> float | None:
    factors = [factor for factor in map(_factor, literals) if factor is not None]
    return max(sizes) * factors[0] if len(factors) == 1 else None


def _wide_as_quotient(sizes: Sequence[float], literals: Sequence[Value]) -> float | None:
    divisor = _factor(literals[1])
    return None if divisor is None else sizes[0] / divisor


# The rows. ---------------------------------------------------------------------------------------

_THIS, _PAIR, _MANY = ("this",), ("this", "expression"), ("this", "expressions")
_CAST = {"Cast": ("this", "to"), "TryCast": ("this", "to", "safe")}
_TRUNC = {"DateTrunc": ("this", "unit"), "TimestampTrunc": ("this", "unit")}
_CUT = (Function("date_trunc", (2,), "DATE_TRUNC('month', x)"), Function("datetrunc", (2,)))
_PART = (
    Function("date_part", (2,), "DATE_PART('month', x)", unknown=True),
    Function("datepart", (2,), unknown=True),
)
_INTEGER, _REAL, _BOOLEAN = map(_always, (Type.INTEGER, Type.REAL, Type.BOOLEAN))


def _sign(sign: str, node: str) -> Spelling:
    return Spelling(nodes={node: _PAIR}, sign=sign)


def _one(*names: str, node: str) -> Spelling:
    """Return how a function of one value is written."""
    return Spelling(tuple(Function(name, (1,)) for name in names), {node: _THIS})


def _arithmetic(
    name: str,
    rule: Callable[..., Range | None],
    value: values.Rule,
    sql: Spelling,
    *,
    takes: int = 1,
    gives: Gives = _number,
    width: Width,
) -> Operation:
    """Return an operation on numbers whose public and noisy intervals follow one rule."""
    behind = ranges.numbers(rule)
    return Operation(
        name, takes, takes, _NUMBERS, gives, _on(rule), value, sql, behind=behind, width=width
    )


def _truth(
    name: str,
    takes: int,
    arguments: Arguments,
    value: values.Rule,
    sql: Spelling,
    *,
    behind: ranges.Behind | None = None,
    most: int | None = None,
    sees_missing: bool = False,
    agreed: Callable[[str], bool] | None = None,
    template: str = "",
) -> Operation:
    """Return an operation that gives a truth value."""
    return Operation(
        name, takes, most or takes, arguments, _BOOLEAN, _unknown, value, sql,
        sees_missing=sees_missing, agreed=agreed, template=template, behind=behind,
    )  # fmt: skip


def _of_text(
    name: str,
    value: values.Rule,
    *names: str,
    node: str,
    gives: Type = Type.TEXT,
    range: Ranges = _unknown,  # noqa: A002  # as the field that it fills
    agreed: Callable[[str], bool] | None = values.plain_text,
) -> Operation:
    """Return a function of one text that engines call by its own name."""
    return Operation(
        name, 1, 1, _TEXT, _always(gives), range, value, _one(*(names or (name,)), node=node),
        agreed=agreed, template=f"{name}({{0}})",
    )  # fmt: skip


def _cast_to(
    kind: Type,
    takes: Arguments,
    range: Ranges,  # noqa: A002  # as the field that it fills
    value: values.Rule,
    *words: str,
    agreed: Callable[[str], bool] | None,
    behind: ranges.Behind | None = None,
    width: Width | None = None,
) -> Operation:
    """Return a cast; the first word is what messages call the type."""
    spoken, *names = words
    day = kind is Type.DATE
    sql = Spelling(
        (Function("date", (1,)),) if day else (),
        {**_CAST, "Date": _THIS} if day else _CAST,
        tuple(names or (spoken,)),
        spoken=f"CAST AS {spoken}",
    )
    return Operation(
        f"to_{kind}", 1, 1, takes, _always(kind), range, value, sql,
        agreed=agreed, behind=behind, width=width,
    )  # fmt: skip


def _part_of_time(
    name: str,
    range: Ranges,  # noqa: A002  # as the field that it fills
    value: values.Rule,
    *functions: Function,
    words: tuple[str, ...] = (),
    spoken: str = "",
    **nodes: tuple[str, ...],
) -> Operation:
    """Return a part of a day or a moment, as a function by its own name and of EXTRACT."""
    called = functions or (Function(name, (1,)),)
    known = nodes or {name.capitalize(): _THIS}
    sql = Spelling((*called, *_PART), {**known, "Extract": _PAIR}, words or (name,), spoken=spoken)
    template = f"{called[0].name}({{0}})"
    return Operation(name, 1, 1, _TIME, _INTEGER, range, value, sql, template=template)


def _cut_time(unit: str, value: values.Rule) -> Operation:
    """Return DATE_TRUNC to a unit."""
    sql = Spelling(_CUT, _TRUNC, (unit,), spoken="DATE_TRUNC")
    template = f"date_trunc('{unit}', {{0}})"
    return Operation(f"trunc_{unit}", 1, 1, _TIME, _first, _same, value, sql, template=template)


def _extreme(name: str, pick: Any, range: Ranges, rule: Any) -> Operation:  # noqa: A002  # as the field
    """Return the largest or the least of several numbers."""
    sql = Spelling((Function(name),), {name.capitalize(): (*_MANY, "ignore_nulls")})
    return Operation(
        name, 1, MANY, _EXTREMES, _number, range, values.extreme(pick), sql,
        sees_missing=True, behind=ranges.numbers(rule), width=_wide_as_widest,
    )  # fmt: skip


_NUMERIC_ROWS = (
    _arithmetic(
        "add", ranges.add, lambda left, right: float(left) + float(right), _sign("+", "Add"),
        takes=2, width=_wide_as_all,
    ),
    _arithmetic(
        "sub", ranges.sub, lambda left, right: float(left) - float(right), _sign("-", "Sub"),
        takes=2, width=_wide_as_all,
    ),
    _arithmetic(
        "mul", ranges.mul, values.multiplied, _sign("*", "Mul"), takes=2, width=_wide_as_product
    ),
    _arithmetic(
        "div", ranges.div, values.divided, _sign("/", "Div"),
        takes=2, gives=_REAL, width=_wide_as_quotient,
    ),
    _arithmetic(
        "neg", ranges.neg, lambda value: -float(value), Spelling(nodes={"Neg": _THIS}, spoken="-"),
        width=_wide_as_first,
    ),
    _arithmetic(
        "abs", ranges.absolute, lambda value: abs(float(value)), _one("abs", node="Abs"),
        width=_wide_as_first,
    ),
    _arithmetic(
        "floor", ranges.floor, values.floor, _one("floor", node="Floor"),
        gives=_INTEGER, width=_wider_by(1.0),
    ),
    _arithmetic(
        "ceil", ranges.ceil, values.ceil, _one("ceil", "ceiling", node="Ceil"),
        gives=_INTEGER, width=_wider_by(1.0),
    ),
    Operation(
        "round", 2, 2, _DIGITS, _rounded, _round, values.rounded,
        Spelling((Function("round", (1, 2), "ROUND(x, 2)"),), {"Round": ("this", "decimals")}),
        behind=ranges.numbers(ranges.rounded_to), width=_wider_by(0.5),
    ),
    _extreme("greatest", max, _greatest, ranges.greatest),
    _extreme("least", min, _least, ranges.least),
    Operation(
        "clamp", 3, 3, _NUMBERS, _number, _clamp, values.clamp,
        Spelling((Function("clamp", (3,), "CLAMP(x, 0, 100)", unknown=True),)),
        behind=ranges.numbers(ranges.clamped), width=_wide_as_first,
    ),
)  # fmt: skip
_LOGIC_ROWS = (
    Operation(
        "coalesce", 1, MANY, _ALIKE, _first, _hull, values.coalesce,
        Spelling(
            (Function("coalesce"), Function("ifnull", (2,), "COALESCE(x, y)"),
             Function("nvl", (2,))),
            {"Coalesce": _MANY},
        ),
        sees_missing=True, behind=ranges.coalesce, width=_wide_as_widest,
    ),
    Operation(
        "nullif", 2, 2, _ALIKE, _first, _same, values.null_if,
        Spelling((Function("nullif", (2,), "NULLIF(x, y)"),), {"Nullif": _PAIR}),
        sees_missing=True, behind=ranges.numbers(ranges.null_if), width=_wide_as_first,
    ),
    Operation(
        "case", 3, MANY, _BRANCHES, _last, _values, values.branch,
        Spelling(
            (Function("if", (2, 3), "IF(condition, x, y)"),),
            {"Case": ("this", "ifs", "default"), "If": ("this", "true", "false")},
        ),
        sees_missing=True, behind=ranges.case,
    ),
    _truth(
        "is_null", 1, _ANY, values.is_null, Spelling(nodes={"Is": _PAIR}),
        behind=ranges.is_null, sees_missing=True,
    ),
    _truth(
        "and", 2, _TRUTHS, values.both, _sign("AND", "And"),
        behind=ranges.logic(lambda left, right: left and right), sees_missing=True,
    ),
    _truth(
        "or", 2, _TRUTHS, values.either, _sign("OR", "Or"),
        behind=ranges.logic(lambda left, right: left or right), sees_missing=True,
    ),
    _truth(
        "not", 1, _TRUTH, lambda value: not value, Spelling(nodes={"Not": _THIS}),
        behind=ranges.logic(lambda value: not value),
    ),
    _truth(
        "in", 2, _ALIKE, values.listed, Spelling(nodes={"In": _MANY}),
        behind=ranges.is_among, most=MANY + 1, sees_missing=True,
    ),
    _truth(
        "eq", 2, _ALIKE, lambda left, right: left == right, _sign("=", "EQ"),
        behind=ranges.compared(ranges.equal),
    ),
    _truth(
        "neq", 2, _ALIKE, lambda left, right: left != right, _sign("<>", "NEQ"),
        behind=ranges.compared(ranges.unequal),
    ),
    _truth(
        "lt", 2, _ALIKE, lambda left, right: left < right, _sign("<", "LT"),
        behind=ranges.compared(ranges.below),
    ),
    _truth(
        "lte", 2, _ALIKE, lambda left, right: left <= right, _sign("<=", "LTE"),
        behind=ranges.compared(ranges.at_most),
    ),
    _truth(
        "gt", 2, _ALIKE, lambda left, right: left > right, _sign(">", "GT"),
        behind=ranges.compared(lambda left, right: ranges.below(right, left)),
    ),
    _truth(
        "gte", 2, _ALIKE, lambda left, right: left >= right, _sign(">=", "GTE"),
        behind=ranges.compared(lambda left, right: ranges.at_most(right, left)),
    ),
)  # fmt: skip
_TEXT_ROWS = (
    _truth(
        "like", 2, _TEXT, values.like, Spelling(nodes={"Like": (*_PAIR, "negate")}),
        template="({0} LIKE {1})",
    ),
    _truth(
        "ilike", 2, _TEXT, lambda text, pattern: values.like(text.lower(), pattern.lower()),
        Spelling(nodes={"ILike": (*_PAIR, "negate")}),
        agreed=values.plain_text, template="({0} ILIKE {1})",
    ),
    _of_text("lower", str.lower, node="Lower"),
    _of_text("upper", str.upper, node="Upper"),
    _of_text("trim", lambda text: text.strip(" "), node="Trim"),
    _of_text(
        "length", len, "length", "len",
        node="Length", gives=Type.INTEGER, range=_within(0, 10_000), agreed=None,
    ),
    Operation(
        "substring", 3, 3, _PIECE, _always(Type.TEXT), _unknown, values.substring,
        Spelling(
            (Function("substring"), Function("left", (2,), "LEFT(x, 3)")),
            {"Substring": ("this", "start", "length"), "Left": _PAIR},
        ),
    ),
)  # fmt: skip
_CAST_ROWS = (
    _cast_to(
        Type.REAL, _TO_NUMBER, _cast, values.to_real, "DOUBLE", "DOUBLE", "FLOAT", "REAL",
        agreed=values.number_text, behind=ranges.numbers(lambda known: known),
        width=_wide_as_first,
    ),
    _cast_to(
        Type.INTEGER, _TO_NUMBER, _cast_whole, values.to_integer,
        "BIGINT", "TINYINT", "SMALLINT", "INT", "BIGINT",
        agreed=values.number_text, behind=ranges.numbers(ranges.cast_whole), width=_wider_by(1.0),
    ),
    _cast_to(
        Type.BOOLEAN, _TO_TRUTH, _unknown, values.to_boolean, "BOOLEAN", agreed=values.plain_text
    ),
    _cast_to(Type.DATE, _TO_TIME, _cast, values.to_date, "DATE", agreed=values.moment_text),
    _cast_to(
        Type.TIMESTAMP, _TO_TIME, _cast, values.to_timestamp,
        "TIMESTAMP", "TIMESTAMP", "TIMESTAMPNTZ", "DATETIME", agreed=values.moment_text,
    ),
    _cast_to(Type.TEXT, _ANY, _unknown, values.to_text, "VARCHAR", "TEXT", "VARCHAR", agreed=None),
)  # fmt: skip
_TIME_ROWS = (
    _part_of_time("year", _same, lambda day: day.year),
    _part_of_time("quarter", _within(1, 4), values.quarter),
    _part_of_time("month", _within(1, 12), lambda day: day.month),
    _part_of_time(
        "day", _within(1, 31), lambda day: day.day, Function("day", (1,)),
        Function("dayofmonth", (1,)), words=("day", "dayofmonth"), Day=_THIS, DayOfMonth=_THIS,
    ),
    _part_of_time(
        "dow", _within(0, 6), lambda day: day.isoweekday() % 7, Function("dayofweek", (1,)),
        Function("dow", (1,), unknown=True), words=("dow", "dayofweek"), spoken="DAYOFWEEK",
        DayOfWeek=_THIS,
    ),
    _part_of_time(
        "hour", _within(0, 23), lambda day: day.hour if isinstance(day, datetime) else 0
    ),
    _cut_time("year", values.truncated(to_year=True)),
    _cut_time("quarter", values.trunc_quarter),
    _cut_time("month", values.truncated(to_month=True)),
    _cut_time("day", values.truncated()),
    _cut_time("hour", values.trunc_hour),
)  # fmt: skip

OPERATIONS = {
    row.name: row for row in (*_NUMERIC_ROWS, *_LOGIC_ROWS, *_TEXT_ROWS, *_CAST_ROWS, *_TIME_ROWS)
}


# What they give for values of a row, and for noisy numbers. ---------------------------------------

SEE_MISSING = frozenset(row.name for row in OPERATIONS.values() if row.sees_missing)


class Doubtful(Exception):
    """An operation meets text on which engines may differ."""


def doubtful(operation: str, given: Sequence[Value]) -> bool:
    """Tell whether engines may differ on what an operation gives for values.

    >>> doubtful("upper", ["flu"]), doubtful("upper", ["stra\u00dfe"])
    (False, True)
    >>> doubtful("to_integer", ["31"]), doubtful("to_integer", ["0x1F"])
    (False, True)
    """
    agreed = OPERATIONS[operation].agreed
    if agreed is None:
        return False
    return not all(agreed(value) for value in given if isinstance(value, str))


def evaluate(scalar: Scalar, row: Mapping[str, Value], *, sure: bool = False) -> Value:
    """Return the value of a scalar on a row, which gives a value for the name of each field.

    With ``sure`` it raises ``Doubtful`` where engines may differ on that value.

    >>> age = Field("f0", Type.INTEGER, "age")
    >>> from sordino.query.operations import call
    >>> evaluate(call("div", age, Literal(0, Type.INTEGER)), {"f0": 37}) is None
    True
    """
    match scalar:
        case Literal(value=value):
            return value
        case Field(name=name):
            return row[name]
        case Call(operation=operation, arguments=arguments, type=kind):
            given = [evaluate(argument, row, sure=sure) for argument in arguments]
            return apply(operation, given, kind, sure=sure)


def apply(operation: str, given: Sequence[Value], kind: Type, *, sure: bool = False) -> Value:
    """Return what an operation gives for values; ``kind`` is the type of its result.

    It never fails for values of the types that the operation takes, but that it raises ``Doubtful``
    if it has to be ``sure`` and engines may differ.
    """
    if sure and doubtful(operation, given):
        raise Doubtful
    row = OPERATIONS[operation]
    if not row.sees_missing and any(value is None for value in given):
        return None
    try:
        result = row.value(*given)
    except (ValueError, OverflowError, ZeroDivisionError, DecimalException):
        return None
    return fitted(result, kind)


def operate(operation: str, given: Sequence[Uncertain], kind: Type) -> Uncertain:
    """Return what an operation gives for noisy values.

    Intervals hold whatever the exact operation gives before it is rounded to a type.
    """
    value = apply(operation, [x.value for x in given], kind)
    if all(x.sure for x in given):
        return exactly(value)
    behind = OPERATIONS[operation].behind
    return Uncertain(value) if behind is None else behind(value, given)
