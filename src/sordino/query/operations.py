# SPDX-License-Identifier: Apache-2.0
"""The operations that a question may use on single values: what they take, and what they give.

Each is total: for whatever values, it gives a value or a missing one and never fails. Each is one
row of a table, which the parser, the binder, the engine and whoever names expressions read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import DecimalException
from fractions import Fraction
from typing import Any, TypeAlias

from sordino.query import ranges, values
from sordino.query.tree import Call, Field, Literal, Scalar
from sordino.query.types import Range, Type, Value

Types: TypeAlias = "tuple[Type, ...]"
Takes: TypeAlias = "Callable[[Types], bool]"
Gives: TypeAlias = "Callable[[tuple[Scalar, ...]], Type]"
Ranges: TypeAlias = "Callable[[tuple[Scalar, ...]], Range | None]"

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

    @property
    def takes(self) -> Takes:
        """Tell whether values of some types fit."""
        return self.arguments.fit

    @property
    def wants(self) -> str:
        """What it takes, in words."""
        return self.arguments.words


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
    if not operation.takes(types):
        return f"{name} takes {operation.wants}, not {', '.join(types)}"
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


# The rows. ---------------------------------------------------------------------------------------

_THIS, _PAIR, _MANY = ("this",), ("this", "expression"), ("this", "expressions")
_CAST = {"Cast": ("this", "to"), "TryCast": ("this", "to", "safe")}
_TRUNC = {"DateTrunc": ("this", "unit"), "TimestampTrunc": ("this", "unit")}
_CUT = (Function("date_trunc", (2,), "DATE_TRUNC('month', x)"), Function("datetrunc", (2,)))
_PART = (
    Function("date_part", (2,), "DATE_PART('month', x)", unknown=True),
    Function("datepart", (2,), unknown=True),
)


def _sign(sign: str, node: str) -> Spelling:
    return Spelling(nodes={node: _PAIR}, sign=sign)


def _one(*names: str, node: str) -> Spelling:
    """Return how a function of one value is written."""
    return Spelling(tuple(Function(name, (1,)) for name in names), {node: _THIS})


def _part(*functions: Function, words: tuple[str, ...], spoken: str = "", **nodes: Any) -> Spelling:
    return Spelling((*functions, *_PART), {**nodes, "Extract": _PAIR}, words, spoken=spoken)


def _casts(spoken: str, *words: str, date: bool = False) -> Spelling:
    functions = (Function("date", (1,)),) if date else ()
    nodes = {**_CAST, "Date": _THIS} if date else _CAST
    return Spelling(functions, nodes, words, spoken=f"CAST AS {spoken}")


def _rows() -> list[Operation]:
    number, integer, real = _number, _always(Type.INTEGER), _always(Type.REAL)
    text, truth = _always(Type.TEXT), _always(Type.BOOLEAN)
    v, few = values, Function
    rows = [
        Operation(
            "add",
            2,
            2,
            _NUMBERS,
            number,
            _on(ranges.add),
            lambda left, right: float(left) + float(right),
            _sign("+", "Add"),
        ),
        Operation(
            "sub",
            2,
            2,
            _NUMBERS,
            number,
            _on(ranges.sub),
            lambda left, right: float(left) - float(right),
            _sign("-", "Sub"),
        ),
        Operation("mul", 2, 2, _NUMBERS, number, _on(ranges.mul), v.multiplied, _sign("*", "Mul")),
        Operation("div", 2, 2, _NUMBERS, real, _on(ranges.div), v.divided, _sign("/", "Div")),
        Operation(
            "neg",
            1,
            1,
            _NUMBERS,
            number,
            _on(ranges.neg),
            lambda value: -float(value),
            Spelling(nodes={"Neg": _THIS}, spoken="-"),
        ),
        Operation(
            "abs",
            1,
            1,
            _NUMBERS,
            number,
            _on(ranges.absolute),
            lambda value: abs(float(value)),
            _one("abs", node="Abs"),
        ),
        Operation(
            "floor",
            1,
            1,
            _NUMBERS,
            integer,
            _on(ranges.floor),
            v.floor,
            _one("floor", node="Floor"),
        ),
        Operation(
            "ceil",
            1,
            1,
            _NUMBERS,
            integer,
            _on(ranges.ceil),
            v.ceil,
            _one("ceil", "ceiling", node="Ceil"),
        ),
        Operation(
            "round",
            2,
            2,
            _DIGITS,
            _rounded,
            _round,
            v.rounded,
            Spelling((few("round", (1, 2), "ROUND(x, 2)"),), {"Round": ("this", "decimals")}),
        ),
        Operation(
            "greatest",
            1,
            MANY,
            _EXTREMES,
            number,
            _greatest,
            v.extreme(max),
            Spelling((few("greatest"),), {"Greatest": (*_MANY, "ignore_nulls")}),
            sees_missing=True,
        ),
        Operation(
            "least",
            1,
            MANY,
            _EXTREMES,
            number,
            _least,
            v.extreme(min),
            Spelling((few("least"),), {"Least": (*_MANY, "ignore_nulls")}),
            sees_missing=True,
        ),
        Operation(
            "clamp",
            3,
            3,
            _NUMBERS,
            number,
            _clamp,
            v.clamp,
            Spelling((few("clamp", (3,), "CLAMP(x, 0, 100)", unknown=True),)),
        ),
        Operation(
            "coalesce",
            1,
            MANY,
            _ALIKE,
            _first,
            _hull,
            v.coalesce,
            Spelling(
                (few("coalesce"), few("ifnull", (2,), "COALESCE(x, y)"), few("nvl", (2,))),
                {"Coalesce": _MANY},
            ),
            sees_missing=True,
        ),
        Operation(
            "nullif",
            2,
            2,
            _ALIKE,
            _first,
            _same,
            v.null_if,
            Spelling((few("nullif", (2,), "NULLIF(x, y)"),), {"Nullif": _PAIR}),
            sees_missing=True,
        ),
        Operation(
            "is_null",
            1,
            1,
            _ANY,
            truth,
            _unknown,
            v.is_null,
            Spelling(nodes={"Is": _PAIR}),
            sees_missing=True,
        ),
        Operation(
            "and", 2, 2, _TRUTHS, truth, _unknown, v.both, _sign("AND", "And"), sees_missing=True
        ),
        Operation(
            "or", 2, 2, _TRUTHS, truth, _unknown, v.either, _sign("OR", "Or"), sees_missing=True
        ),
        Operation(
            "not",
            1,
            1,
            _TRUTH,
            truth,
            _unknown,
            lambda value: not value,
            Spelling(nodes={"Not": _THIS}),
        ),
        Operation(
            "in",
            2,
            MANY + 1,
            _ALIKE,
            truth,
            _unknown,
            v.listed,
            Spelling(nodes={"In": _MANY}),
            sees_missing=True,
        ),
        Operation(
            "like",
            2,
            2,
            _TEXT,
            truth,
            _unknown,
            v.like,
            Spelling(nodes={"Like": (*_PAIR, "negate")}),
            template="({0} LIKE {1})",
        ),
        Operation(
            "ilike",
            2,
            2,
            _TEXT,
            truth,
            _unknown,
            lambda text, pattern: v.like(text.lower(), pattern.lower()),
            Spelling(nodes={"ILike": (*_PAIR, "negate")}),
            agreed=v.plain_text,
            template="({0} ILIKE {1})",
        ),
        Operation(
            "case",
            3,
            MANY,
            _BRANCHES,
            _last,
            _values,
            v.branch,
            Spelling(
                (few("if", (2, 3), "IF(condition, x, y)"),),
                {"Case": ("this", "ifs", "default"), "If": ("this", "true", "false")},
            ),
            sees_missing=True,
        ),
        Operation(
            "lower",
            1,
            1,
            _TEXT,
            text,
            _unknown,
            str.lower,
            _one("lower", node="Lower"),
            agreed=v.plain_text,
            template="lower({0})",
        ),
        Operation(
            "upper",
            1,
            1,
            _TEXT,
            text,
            _unknown,
            str.upper,
            _one("upper", node="Upper"),
            agreed=v.plain_text,
            template="upper({0})",
        ),
        Operation(
            "trim",
            1,
            1,
            _TEXT,
            text,
            _unknown,
            lambda text: text.strip(" "),
            _one("trim", node="Trim"),
            agreed=v.plain_text,
            template="trim({0})",
        ),
        Operation(
            "length",
            1,
            1,
            _TEXT,
            integer,
            _within(0, 10_000),
            len,
            _one("length", "len", node="Length"),
            template="length({0})",
        ),
        Operation(
            "substring",
            3,
            3,
            _PIECE,
            text,
            _unknown,
            v.substring,
            Spelling(
                (few("substring"), few("left", (2,), "LEFT(x, 3)")),
                {"Substring": ("this", "start", "length"), "Left": _PAIR},
            ),
        ),
        Operation(
            "to_real",
            1,
            1,
            _TO_NUMBER,
            real,
            _cast,
            v.to_real,
            _casts("DOUBLE", "DOUBLE", "FLOAT", "REAL"),
            agreed=v.number_text,
        ),
        Operation(
            "to_integer",
            1,
            1,
            _TO_NUMBER,
            integer,
            _cast_whole,
            v.to_integer,
            _casts("BIGINT", "TINYINT", "SMALLINT", "INT", "BIGINT"),
            agreed=v.number_text,
        ),
        Operation(
            "to_boolean",
            1,
            1,
            _TO_TRUTH,
            truth,
            _unknown,
            v.to_boolean,
            _casts("BOOLEAN", "BOOLEAN"),
            agreed=v.plain_text,
        ),
        Operation(
            "to_date",
            1,
            1,
            _TO_TIME,
            _always(Type.DATE),
            _cast,
            v.to_date,
            _casts("DATE", "DATE", date=True),
            agreed=v.moment_text,
        ),
        Operation(
            "to_timestamp",
            1,
            1,
            _TO_TIME,
            _always(Type.TIMESTAMP),
            _cast,
            v.to_timestamp,
            _casts("TIMESTAMP", "TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"),
            agreed=v.moment_text,
        ),
        Operation(
            "to_text", 1, 1, _ANY, text, _unknown, v.to_text, _casts("VARCHAR", "TEXT", "VARCHAR")
        ),
        Operation(
            "year",
            1,
            1,
            _TIME,
            integer,
            _same,
            lambda day: day.year,
            _part(few("year", (1,)), words=("year",), Year=_THIS),
            template="year({0})",
        ),
        Operation(
            "quarter",
            1,
            1,
            _TIME,
            integer,
            _within(1, 4),
            v.quarter,
            _part(few("quarter", (1,)), words=("quarter",), Quarter=_THIS),
            template="quarter({0})",
        ),
        Operation(
            "month",
            1,
            1,
            _TIME,
            integer,
            _within(1, 12),
            lambda day: day.month,
            _part(few("month", (1,)), words=("month",), Month=_THIS),
            template="month({0})",
        ),
        Operation(
            "day",
            1,
            1,
            _TIME,
            integer,
            _within(1, 31),
            lambda day: day.day,
            _part(
                few("day", (1,)),
                few("dayofmonth", (1,)),
                words=("day", "dayofmonth"),
                Day=_THIS,
                DayOfMonth=_THIS,
            ),
            template="day({0})",
        ),
        Operation(
            "dow",
            1,
            1,
            _TIME,
            integer,
            _within(0, 6),
            lambda day: day.isoweekday() % 7,
            _part(
                few("dayofweek", (1,)),
                few("dow", (1,), unknown=True),
                words=("dow", "dayofweek"),
                spoken="DAYOFWEEK",
                DayOfWeek=_THIS,
            ),
            template="dayofweek({0})",
        ),
        Operation(
            "hour",
            1,
            1,
            _TIME,
            integer,
            _within(0, 23),
            lambda day: day.hour if isinstance(day, datetime) else 0,
            _part(few("hour", (1,)), words=("hour",), Hour=_THIS),
            template="hour({0})",
        ),
    ]
    compared: list[tuple[str, str, str, values.Rule]] = [
        ("eq", "=", "EQ", lambda left, right: left == right),
        ("neq", "<>", "NEQ", lambda left, right: left != right),
        ("lt", "<", "LT", lambda left, right: left < right),
        ("lte", "<=", "LTE", lambda left, right: left <= right),
        ("gt", ">", "GT", lambda left, right: left > right),
        ("gte", ">=", "GTE", lambda left, right: left >= right),
    ]
    rows += [
        Operation(name, 2, 2, _ALIKE, truth, _unknown, rule, _sign(sign, node))
        for name, sign, node, rule in compared
    ]
    cut: list[tuple[str, values.Rule]] = [
        ("year", v.truncated(to_year=True)),
        ("quarter", v.trunc_quarter),
        ("month", v.truncated(to_month=True)),
        ("day", v.truncated()),
        ("hour", v.trunc_hour),
    ]
    rows += [
        Operation(
            f"trunc_{unit}",
            1,
            1,
            _TIME,
            _first,
            _same,
            rule,
            Spelling(_CUT, _TRUNC, (unit,), spoken="DATE_TRUNC"),
            template=f"date_trunc('{unit}', {{0}})",
        )
        for unit, rule in cut
    ]
    return rows


OPERATIONS = {row.name: row for row in _rows()}
SEE_MISSING = frozenset(row.name for row in OPERATIONS.values() if row.sees_missing)


# What they give for values. ----------------------------------------------------------------------


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
    return values.fitted(result, kind)
