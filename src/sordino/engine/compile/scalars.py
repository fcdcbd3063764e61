# SPDX-License-Identifier: Apache-2.0
"""Scalars as SQL that never fails: NaN becomes missing, and what does not fit is missing too.

Text is not repeated without need: where an expression is needed twice and is long, it gets a
column of its own in a step below, so that the statement grows with the question and not faster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sordino.engine.compile.dialect import Writer, inner, select
from sordino.query.operations import OPERATIONS
from sordino.query.tree import Call, Field, Literal, Scalar
from sordino.query.types import Type, Value
from sordino.query.values import NO, YES

_SHORT = 200  # characters that may be repeated
_SURE_BITS = 1_000  # numbers below 2 ** this are finite, and so are their sums
_FIRST_DAY, _LAST_DAY = "DATE '0001-01-01'", "DATE '9999-12-31'"
_FIRST_MOMENT, _LAST_MOMENT = "TIMESTAMP '0001-01-01'", "TIMESTAMP '9999-12-31 23:59:59.999999'"


@dataclass(frozen=True, slots=True)
class Term:
    """An expression; if ``bits`` is not None it is a number below 2 ** bits in size.

    With ``nan`` it may be NaN, which stands for missing: arithmetic may go on with it, and nothing
    else may.
    """

    text: str
    type: Type
    bits: int | None = None
    nan: bool = False
    literal: Value = None


@dataclass(slots=True)
class Scope:
    """Where scalars are written: the columns of rows, and columns added below for long texts."""

    writer: Writer
    columns: Mapping[str, str]  # of fields, by name
    added: list[tuple[str, str]] = field(default_factory=list)

    def once(self, term: Term) -> Term:
        """Return the same value in a text that may be repeated."""
        if len(term.text) <= _SHORT:
            return term
        name = f"x{len(self.added)}"
        self.added.append((name, term.text))
        return Term(name, term.type, term.bits, term.nan)

    def source(self, rows: str) -> str:
        """Return what to select from: the rows with the added columns."""
        for name, text in self.added:
            rows = inner(select(["*", f"{text} AS {name}"], rows))
        return rows

    def scalar(self, scalar: Scalar) -> Term:
        """Return a scalar as an expression that is never NaN."""
        return self.clean(self.raw(scalar))

    def raw(self, scalar: Scalar) -> Term:
        """Return a scalar as an expression; arithmetic may give NaN where it is missing."""
        match scalar:
            case Literal(value=value, type=kind):
                text = self.writer.value(value, kind)
                return Term(text, kind, _literal_bits(value), literal=value)
            case Field(name=name, type=kind):
                return Term(self.columns[name], kind, 63 if kind is Type.INTEGER else None)
            case Call(operation=operation, arguments=arguments, type=kind):
                rule = _RULES.get(operation) or _named(operation)
                return rule(self, tuple(map(self.raw, arguments)), kind)

    def clean(self, term: Term) -> Term:
        """Return an expression in which NaN is missing."""
        if not term.nan:
            return term
        term = self.once(term)
        test = self.writer.dialect.is_nan.format(term.text)
        return Term(f"CASE WHEN {test} THEN NULL ELSE {term.text} END", term.type, term.bits)

    def real(self, term: Term) -> Term:
        """Return a number as a double."""
        if term.type is Type.REAL:
            return term
        if term.literal is not None and isinstance(term.literal, int):
            text = self.writer.value(float(term.literal), Type.REAL)
            return Term(text, Type.REAL, term.bits, literal=float(term.literal))
        text = self.writer.as_type(term.text, Type.REAL)
        return Term(text, Type.REAL, 1 if term.type is Type.BOOLEAN else term.bits)

    def into(self, term: Term, kind: Type) -> Term:
        """Return a clean expression in another type."""
        term = self.clean(term)
        if term.type is kind:
            return term
        if kind is Type.REAL:
            return self.real(term)
        if term.type is Type.REAL and kind is Type.TEXT:  # -0.0 is 0.0, and reads like it
            term = self.once(term)
            text = self.writer.as_type(term.text, kind)
            return Term(f"CASE WHEN {term.text} = 0 THEN '0.0' ELSE {text} END", kind)
        return Term(
            self.writer.as_type(term.text, kind), kind, 63 if kind is Type.INTEGER else None
        )

    def function(self, name: str, *texts: str) -> str:
        """Return a function that the dialect spells."""
        own = self.writer.dialect.functions.get(name)
        return (own or OPERATIONS[name].template).format(*texts)


def _literal_bits(value: Value) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value in _INFINITE:
        return None
    return int(abs(value)).bit_length()


_INFINITE = (float("inf"), float("-inf"))
Terms: TypeAlias = "tuple[Term, ...]"
Rule: TypeAlias = "Callable[[Scope, Terms, Type], Term]"


# Numbers. ----------------------------------------------------------------------------------------


def _fitted(scope: Scope, text: str, kind: Type, bits: int | None) -> Term:
    """Return a double as a result: back in 64 bits if it is an integer."""
    if kind is Type.INTEGER:
        return Term(scope.writer.as_type(text, kind), kind, 63)
    sure = bits is not None and bits <= _SURE_BITS
    return Term(text, kind, bits if sure else None, nan=not sure)


def _arithmetic(sign: str, grow: Callable[[int, int], int]) -> Rule:
    def rule(scope: Scope, terms: Terms, kind: Type) -> Term:
        left, right = map(scope.real, terms)
        known = left.bits is not None and right.bits is not None
        bits = grow(left.bits or 0, right.bits or 0) if known else None
        return _fitted(scope, f"({left.text} {sign} {right.text})", kind, bits)

    return rule


def _div(scope: Scope, terms: Terms, kind: Type) -> Term:
    left, right = scope.real(terms[0]), scope.once(scope.real(terms[1]))
    bits = left.bits if terms[1].type is Type.INTEGER else None  # whole numbers but 0 are 1 or more
    return _fitted(scope, f"({left.text} / NULLIF({right.text}, 0))", kind, bits)


def _sign(template: str) -> Rule:
    def rule(scope: Scope, terms: Terms, kind: Type) -> Term:
        term = scope.real(terms[0])
        whole = _fitted(scope, template.format(term.text), kind, term.bits)
        return whole if kind is Type.INTEGER else Term(whole.text, kind, term.bits, term.nan)

    return rule


def _toward(name: str) -> Rule:
    def rule(scope: Scope, terms: Terms, kind: Type) -> Term:
        (term,) = terms
        if term.type is Type.INTEGER:
            return scope.into(term, kind)
        text = f"{name}({scope.clean(term).text})"
        return _fitted(scope, text, kind, term.bits)

    return rule


def _round(scope: Scope, terms: Terms, kind: Type) -> Term:
    term, digits = scope.clean(scope.real(terms[0])), terms[1].literal if len(terms) > 1 else 0
    bits = None if term.bits is None else term.bits + 1
    if not digits:
        rounded = scope.writer.dialect.round.format(term.text)
        fitted = _fitted(scope, rounded, kind, bits)
        return Term(fitted.text, kind, fitted.bits)
    term = scope.once(term)
    scale = scope.writer.value(10.0 ** int(str(digits)), Type.REAL)
    rounded = scope.writer.dialect.round.format(f"{term.text} * {scale}")
    text = f"CASE WHEN abs({term.text}) < 1e290 THEN {rounded} / {scale} ELSE {term.text} END"
    return Term(scope.into(Term(text, Type.REAL), kind).text, kind, bits)


def _extreme(name: str) -> Rule:
    def rule(scope: Scope, terms: Terms, kind: Type) -> Term:
        parts = [scope.into(term, kind) for term in terms]
        known = [term.bits for term in parts if term.bits is not None]
        bits = max(known) if len(known) == len(parts) else None
        text = parts[0].text
        for term in parts[1:]:  # by pairs: DuckDB 2.0 fails on one column that is named three times
            text = f"{name}({text}, {term.text})"
        return Term(text, kind, bits)

    return rule


def _clamp(scope: Scope, terms: Terms, kind: Type) -> Term:
    value, low, high = (scope.once(scope.into(term, kind)) for term in terms)
    ends = [term.literal for term in terms[1:]]
    numbers = [end for end in ends if isinstance(end, int | float)]
    if len(numbers) == 2 and numbers[0] <= numbers[1]:
        bits = max(low.bits or 0, high.bits or 0)
        return Term(clamped(scope.writer, value.text, low.text, high.text), kind, bits)
    missing = " OR ".join(f"{term.text} IS NULL" for term in (value, low, high))
    text = f"LEAST(GREATEST({value.text}, {low.text}), {high.text})"
    return Term(f"CASE WHEN {missing} THEN NULL ELSE {text} END", kind)


def clamped(writer: Writer, value: str, low: str, high: str) -> str:
    """Return a value between two ends; LEAST and GREATEST would hide a missing one.

    Most values lie between the ends, and for them one test is enough. The tests are opaque: what a
    file says of its values may be wrong, and must not make them needless.
    """
    tested = writer.dialect.opaque.format(value)
    return (
        f"CASE WHEN {tested} BETWEEN {low} AND {high} THEN {value} "
        f"WHEN {tested} < {low} THEN {low} WHEN {tested} > {high} THEN {high} END"
    )


def kept_between(value: str, low: str, high: str, *, missing: bool) -> str:
    """Return a value between two ends that are near, where rows are added up as they are read.

    A ``missing`` value stays so; else it becomes the low end, without a test of every row.

    Both functions are carried out, whatever a file says of its values; only what follows may rest
    on that, and sums of numbers between near ends are right in every type that it could choose.
    """
    between = f"LEAST({high}, GREATEST({low}, {value}))"  # both pass over what is missing
    return f"CASE WHEN {value} IS NULL THEN NULL ELSE {between} END" if missing else between


# Missing values, and logic. ----------------------------------------------------------------------


def _coalesce(scope: Scope, terms: Terms, kind: Type) -> Term:
    parts = [scope.into(term, kind) for term in terms]
    return Term(f"COALESCE({', '.join(term.text for term in parts)})", kind, _widest(parts))


def _widest(terms: list[Term]) -> int | None:
    known = [term.bits for term in terms if term.bits is not None]
    return max(known) if known and len(known) == len(terms) else None


def _nullif(scope: Scope, terms: Terms, kind: Type) -> Term:
    left, right = _alike(scope, *terms)
    left = scope.once(left)
    text = f"CASE WHEN {left.text} = {right.text} THEN NULL ELSE {left.text} END"
    return scope.into(Term(text, left.type, left.bits), kind)


def _is_null(scope: Scope, terms: Terms, kind: Type) -> Term:
    return Term(f"({scope.clean(terms[0]).text} IS NULL)", kind)


def _logic(template: str) -> Rule:
    def rule(scope: Scope, terms: Terms, kind: Type) -> Term:
        texts = [scope.into(term, Type.BOOLEAN).text for term in terms]
        return Term(template.format(*texts), kind)

    return rule


def common(left: Type, right: Type) -> Type:
    """Return the type in which two values are compared, so that nothing is converted unasked."""
    kinds = {left, right}
    if len(kinds) == 1:
        return left
    if kinds <= {Type.INTEGER, Type.REAL, Type.BOOLEAN}:
        return Type.REAL
    return Type.TIMESTAMP if kinds == {Type.DATE, Type.TIMESTAMP} else Type.TEXT


def _alike(scope: Scope, *terms: Term) -> list[Term]:
    """Return clean expressions of one type."""
    kind = terms[0].type
    for term in terms[1:]:
        kind = common(kind, term.type)
    return [scope.into(term, kind) for term in terms]


def _compared(sign: str) -> Rule:
    def rule(scope: Scope, terms: Terms, kind: Type) -> Term:
        left, right = _alike(scope, *terms)
        return Term(f"({left.text} {sign} {right.text})", kind)

    return rule


def _in(scope: Scope, terms: Terms, kind: Type) -> Term:
    value, *choices = _alike(scope, *terms)
    return Term(f"({value.text} IN ({', '.join(term.text for term in choices)}))", kind)


def _case(scope: Scope, terms: Terms, kind: Type) -> Term:
    values = [scope.into(term, kind) for term in (*terms[1::2], terms[-1])]
    tests = [scope.into(term, Type.BOOLEAN).text for term in terms[:-1:2]]
    pairs = zip(tests, values, strict=False)  # the last value has no test
    branches = " ".join(f"WHEN {test} THEN {value.text}" for test, value in pairs)
    return Term(f"CASE {branches} ELSE {values[-1].text} END", kind, _widest(values))


# Text and time. ----------------------------------------------------------------------------------


def _named(name: str) -> Rule:
    def rule(scope: Scope, terms: Terms, kind: Type) -> Term:
        texts = [scope.clean(term).text for term in terms]
        text = scope.function(name, *texts)
        if kind is not Type.INTEGER:
            return Term(text, kind, nan=kind is Type.REAL)
        return Term(scope.writer.as_type(text, kind), kind, 63)

    return rule


def _substring(scope: Scope, terms: Terms, kind: Type) -> Term:
    """Cut as the standard has it: characters before the first one are counted, but not there."""
    start, length = (int(str(term.literal)) for term in terms[1:])
    first = min(max(start, 1), 2**31)
    many = min(max(start + length - first, 0), 2**31)
    ends = (scope.writer.value(end, Type.INTEGER) for end in (first, many))
    return Term(scope.function("substring", scope.clean(terms[0]).text, *ends), kind)


def _time(name: str) -> Rule:
    def rule(scope: Scope, terms: Terms, kind: Type) -> Term:
        text = scope.function(name, scope.into(terms[0], Type.TIMESTAMP).text)
        return Term(scope.writer.as_type(text, kind), kind, 63 if kind is Type.INTEGER else None)

    return rule


# Casts. ------------------------------------------------------------------------------------------


def _to_real(scope: Scope, terms: Terms, kind: Type) -> Term:
    (term,) = terms
    if term.type is Type.TEXT:  # which may spell NaN
        return Term(scope.writer.as_type(term.text, kind), kind, nan=True)
    return scope.real(term)


def _to_boolean(scope: Scope, terms: Terms, kind: Type) -> Term:
    term = scope.clean(terms[0])
    if term.type.is_number:
        return Term(f"({term.text} <> 0)", kind)
    if term.type is not Type.TEXT:
        return scope.into(term, kind)
    word = scope.once(Term(f"lower(trim({term.text}))", Type.TEXT)).text
    return Term(f"CASE WHEN {word} IN {YES} THEN TRUE WHEN {word} IN {NO} THEN FALSE END", kind)


def _to_other(scope: Scope, terms: Terms, kind: Type) -> Term:
    return scope.into(terms[0], kind)


def _to_time(scope: Scope, terms: Terms, kind: Type) -> Term:
    term = scope.into(terms[0], kind)
    if terms[0].type.is_time:
        return term
    term = scope.once(term)
    return Term(known_time(term.text, kind), kind)


def known_time(text: str, kind: Type) -> str:
    """Return a day or a moment, missing if its year is not between 1 and 9999."""
    first, last = (_FIRST_DAY, _LAST_DAY) if kind is Type.DATE else (_FIRST_MOMENT, _LAST_MOMENT)
    return f"CASE WHEN {text} BETWEEN {first} AND {last} THEN {text} END"


_RULES: dict[str, Rule] = {
    "add": _arithmetic("+", lambda left, right: max(left, right) + 1),
    "sub": _arithmetic("-", lambda left, right: max(left, right) + 1),
    "mul": _arithmetic("*", lambda left, right: left + right),
    "div": _div,
    "neg": _sign("(- {0})"),
    "abs": _sign("abs({0})"),
    "floor": _toward("floor"),
    "ceil": _toward("ceil"),
    "round": _round,
    "greatest": _extreme("GREATEST"),
    "least": _extreme("LEAST"),
    "clamp": _clamp,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "is_null": _is_null,
    "and": _logic("({0} AND {1})"),
    "or": _logic("({0} OR {1})"),
    "not": _logic("(NOT {0})"),
    "eq": _compared("="),
    "neq": _compared("<>"),
    "lt": _compared("<"),
    "lte": _compared("<="),
    "gt": _compared(">"),
    "gte": _compared(">="),
    "in": _in,
    "case": _case,
    "substring": _substring,
    "to_real": _to_real,
    "to_integer": _to_other,
    "to_boolean": _to_boolean,
    "to_date": _to_time,
    "to_timestamp": _to_time,
    "to_text": _to_other,
}
_RULES |= {name: _time(name) for name in ("year", "quarter", "month", "day", "dow", "hour")}
_RULES |= {
    f"trunc_{part}": _time(f"trunc_{part}") for part in ("year", "quarter", "month", "day", "hour")
}
