# SPDX-License-Identifier: Apache-2.0
"""How SQL is written: what differs between engines, bound values, named steps, and scalars.

Scalars never fail: NaN becomes missing, and what does not fit is missing too. Text is not repeated
without need: where an expression is needed twice and is long, it gets a column of its own in a step
below, so that the statement grows with the question and not faster.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sordino.catalog.values import LONGEST_TEXT
from sordino.query.operations import OPERATIONS
from sordino.query.tree import Call, Field, Literal, Scalar
from sordino.query.types import Type, Value
from sordino.query.values import NO, YES


@dataclass(frozen=True, slots=True)
class Dialect:
    """How an engine spells what its SQL has in its own way.

    Templates have ``{0}``, ``{1}`` and so on for what they are applied to. What is applied to a
    value of a row never fails: where a result does not fit it is missing, or infinite.
    """

    name: str
    types: Mapping[Type, str]
    wide: str  # whole numbers of 38 digits
    small: str | None  # whole numbers up to 2 ** 26, whose sums are of 64 bits, and are faster
    place: str  # whole numbers from 0 to 65,535
    try_cast: str  # {0} as {1}, missing where it does not fit
    casts: Mapping[tuple[Type, Type], str]  # from a type, and to one, where it is spelt otherwise
    narrowed: str  # a count or a sum {0}, which fits, as {1}
    parameter: str  # the {0}-th bound value
    typed: str  # a bound value {0}, or a NULL, as {1}
    typed_text: str  # a bound text {0}, compared byte by byte
    bytewise: str  # text {0} of a source, compared byte by byte
    typed_list: str  # a bound list {0} of {1}
    ends: Mapping[Type, tuple[str, str]]  # the first and the last day, and moment
    opaque: str  # {0}, of which nothing is known: no statistics of a source are used for it
    same: str  # whether {0} and {1} are equal, or both missing
    alike: str | None  # what holds of lists of columns that are the same, and a join is found by
    by_pairs: bool  # rows of one unit and group are added up before they are weighed
    is_nan: str
    add: str  # doubles; what does not fit is infinite, and what is too small is 0
    sub: str
    mul: str
    div: str  # missing where {1} is 0
    is_strict: bool  # plain arithmetic on doubles fails where it does not fit
    round: str  # to a whole number, half away from zero
    hash: str  # of {0}, a list of expressions
    sliced: str | None  # whether the hash {0} is in slice {2} of {1}; None: never split in passes
    nth_least: str | None  # the {1}-th least of {0} in a group, or the largest if there are fewer
    total: str  # the exact sum of {0}, whole numbers of 64 bits, over the window {1}, if any
    near: str  # the same where they are at most NEAR in size, in 64 bits
    numbered: str | None  # a number of its own for each row, where it keeps it for a question
    whole_division: str  # {0} divided by {1}, both positive, rounded down
    listed: str  # rows (c, v): the values of the bound list {0}, and their places from 0
    among: str | None  # whether {0} is in the bound list {1}, where that takes no rows (c, v)
    count_if: str  # rows for which {0} holds, as an aggregate
    takes_extremes: bool  # LEAST and GREATEST take less time than a CASE that compares
    materialized: str
    inlined: str
    fence: str  # ends a SELECT whose columns are computed once, however often they are named
    functions: Mapping[str, str]


def quoted(name: str) -> str:
    """Return a name as SQL has it, whatever characters it has.

    >>> quoted("visits")
    '"visits"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(value: str) -> str:
    """Return a text of the owner's as an SQL literal; an analyst's never gets here."""
    return "'" + value.replace("'", "''") + "'"


# What a statement is written with. ----------------------------------------------------------------

Bound: TypeAlias = "Value | list[Value]"
_PLACES = re.compile(r'"(?:[^"]|"")*"|\$(?P<place>\d+)')
_DIGITS = 2**62  # whole numbers up to here have the type of 64 bits or a smaller one
NEAR = 2**20  # more rows of values up to this than any table has add up within 64 bits
# What stands among bound values for a number that is known when a statement is run.
SALT, PASSES, PASS = "salt", "passes", "pass"


@dataclass(slots=True)
class Writer:
    """A statement while it is written; no value and no name of an analyst gets into its text.

    Whole numbers that we computed do: limits, weights, ends of grids.
    """

    dialect: Dialect
    bound: list[Bound] = field(default_factory=list)
    late: dict[str, int] = field(default_factory=dict)  # where SALT and the like belong
    steps: list[tuple[str, str]] = field(default_factory=list)
    _known: dict[tuple[object, ...], str] = field(default_factory=dict)
    _fields: dict[str, str] = field(default_factory=dict)

    def value(self, value: Value, kind: Type) -> str:
        """Bind a value and return what stands for it, in its type."""
        key = (kind, type(value), repr(value))
        if key not in self._known:
            self._known[key] = self._typed(self._bind(value), kind)
        return self._known[key]

    def values(self, values: Sequence[Value], kind: Type) -> str:
        """Bind a list of values and return a step with them in c, and their places from 0 in v."""
        key = (kind, tuple, tuple(map(repr, values)))
        if key not in self._known:
            bound = self.dialect.listed.format(self._list(values, kind))
            self._known[key] = self.step("listed", bound, keep=True)
        return self._known[key]

    def among(self, text: str, values: Sequence[Value], kind: Type) -> str:
        """Bind a list of values and return whether another value is one of them."""
        if self.dialect.among is None:
            return f"{text} IN {inner(select(['c'], self.values(values, kind)))}"
        key = (kind, list, tuple(map(repr, values)))
        if key not in self._known:
            self._known[key] = self._list(values, kind)
        return self.dialect.among.format(text, self._known[key])

    def _list(self, values: Sequence[Value], kind: Type) -> str:
        return self.dialect.typed_list.format(self._bind(list(values)), self.dialect.types[kind])

    def salt(self) -> str:
        """Return what stands for the salt."""
        return self._late(SALT)

    def of_pass(self, unit: str) -> str:
        """Return whether a unit is one of those of a pass over the data."""
        template = self.dialect.sliced
        if template is None:
            raise ValueError(f"{self.dialect.name} computes everything in one pass")
        hashed = self.dialect.hash.format(f"{self.salt()}, {unit}")
        return template.format(hashed, self._late(PASSES), self._late(PASS))

    def _late(self, name: str) -> str:
        if name not in self.late:
            self.late[name] = len(self.bound)
            self._known[(name,)] = self._typed(self._bind(0), Type.INTEGER)
        return self._known[(name,)]

    def integer(self, value: int) -> str:
        """Return a whole number of the plan as digits: it is ours, and they bind faster.

        What an analyst wrote goes through ``value``.
        """
        if abs(value) > _DIGITS:
            return self.value(value, Type.INTEGER)
        return f"{value:d}" if value >= 0 else f"({value:d})"

    def missing(self, name: str) -> str:
        """Return a missing value of a type of the engine."""
        return self.dialect.typed.format("NULL", name)

    def narrowed(self, text: str, name: str) -> str:
        """Return a count, a sum or the like as a type of the engine, in which it fits."""
        return self.dialect.narrowed.format(text, name)

    def whole(self, text: str) -> str:
        """Return a count, a sum or a part of a day as a whole number of 64 bits, which it fits."""
        return self.narrowed(text, self.dialect.types[Type.INTEGER])

    def convert(self, text: str, held: Type, kind: Type) -> str:
        """Return a value as one of another type, missing where it does not fit."""
        template = self.dialect.casts.get((held, kind), self.dialect.try_cast)
        return template.format(text, self.dialect.types[kind])

    def total(self, text: str, most: int | None = None, *, over: str = "") -> str:
        """Return the exact sum of whole numbers, of which ``most`` is the largest size if known.

        ``over`` is the window, or empty under GROUP BY.
        """
        template = self.dialect.total if most is None or most > NEAR else self.dialect.near
        return template.format(text, over)

    def step(self, name: str, text: str, *, keep: bool = False) -> str:
        """Name a step of the statement; ``keep`` has the engine compute it once."""
        unique = f"{name}{len(self.steps)}"
        how = self.dialect.materialized if keep else self.dialect.inlined
        self.steps.append((f"{unique} {how}", text))
        return unique

    def column(self, name: str) -> str:
        """Return the column in which a field of the question is kept."""
        return self._fields.setdefault(name, f"c{len(self._fields)}")

    def statement(self, last: str) -> tuple[str, tuple[Bound, ...], dict[str, int]]:
        """Return all steps as one statement, its values, and the places of those that come late."""
        named = ",\n".join(f"{head} (\n{text}\n)" for head, text in self.steps)
        text = f"WITH {named}\n{last}" if self.steps else last
        used: dict[int, int] = {}

        def renumbered(found: re.Match[str]) -> str:
            if found["place"] is None:  # a quoted name
                return found[0]
            place = used.setdefault(int(found["place"]) - 1, len(used) + 1)
            return self.dialect.parameter.format(place)

        text = _PLACES.sub(renumbered, text)
        late = {name: used[place] - 1 for name, place in self.late.items() if place in used}
        return text, tuple(self.bound[place] for place in used), late

    def _typed(self, text: str, kind: Type) -> str:
        if kind is Type.TEXT:
            return self.dialect.typed_text.format(text)
        return self.dialect.typed.format(text, self.dialect.types[kind])

    def _bind(self, value: Bound) -> str:
        self.bound.append(value)
        return f"${len(self.bound)}"  # until the statement is written, whatever the engine has


def select(
    columns: Iterable[str],
    source: str,
    *,
    where: Iterable[str] = (),
    by: Iterable[str] = (),
    having: Iterable[str] = (),
    distinct: bool = False,
) -> str:
    """Return a SELECT; conditions are joined by AND, and without columns there is one of NULL.

    >>> select(["u", "count(*) AS n"], "rows", where=["u IS NOT NULL"], by=["u"])
    'SELECT u, count(*) AS n FROM rows WHERE u IS NOT NULL GROUP BY u'
    """
    clauses = ["SELECT DISTINCT" if distinct else "SELECT", ", ".join(columns) or "NULL AS c"]
    clauses += ["FROM", source]
    for word, joint, parts in (
        ("WHERE", " AND ", where),
        ("GROUP BY", ", ", by),
        ("HAVING", " AND ", having),
    ):
        text = joint.join(parts)
        clauses += [word, text] if text else []
    return " ".join(clauses)


def inner(text: str) -> str:
    """Return a SELECT as what another selects from."""
    return f"(\n{text}\n)"


_SHORT = 200  # characters that may be repeated
_SURE_BITS = 1_000  # numbers below 2 ** this are finite, and so are their sums


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
            rows = inner(select(["*", f"{text} AS {name}"], rows) + self.writer.dialect.fence)
        return rows

    def filled(self, template: str, *terms: Term) -> str:
        """Return a template with terms in it; one that it names twice is computed once."""
        texts = [
            (self.once(term) if template.count(f"{{{place}}}") > 1 else term).text
            for place, term in enumerate(terms)
        ]
        return template.format(*texts)

    def convert(self, term: Term, kind: Type) -> str:
        """Return a clean value as one of another type, missing where it does not fit."""
        writer = self.writer
        template = writer.dialect.casts.get((term.type, kind), writer.dialect.try_cast)
        return writer.convert(
            (self.once(term) if template.count("{0}") > 1 else term).text, term.type, kind
        )

    def arithmetic(self, name: str, left: Term, right: Term) -> str:
        """Return a sum, difference, product or quotient of doubles, which never fails."""
        return self.filled(getattr(self.writer.dialect, name), left, right)

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
        text = self.convert(term, Type.REAL)
        return Term(text, Type.REAL, 1 if term.type is Type.BOOLEAN else term.bits)

    def into(self, term: Term, kind: Type) -> Term:
        """Return a clean expression in another type."""
        term = self.clean(term)
        if term.type is kind:
            return term
        if kind is Type.REAL:
            return self.real(term)
        return Term(self.convert(term, kind), kind, 63 if kind is Type.INTEGER else None)

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
        return Term(scope.convert(Term(text, Type.REAL), kind), kind, 63)
    sure = bits is not None and bits <= _SURE_BITS
    return Term(text, kind, bits if sure else None, nan=not sure)


def _arithmetic(name: str, sign: str, grow: Callable[[int, int], int]) -> Rule:
    def rule(scope: Scope, terms: Terms, kind: Type) -> Term:
        left, right = map(scope.real, terms)
        known = left.bits is not None and right.bits is not None
        bits = grow(left.bits or 0, right.bits or 0) if known else None
        if _is_whole(terms) and bits is not None and bits <= _SURE_BITS:  # it fits in any case
            return _fitted(scope, f"({left.text} {sign} {right.text})", kind, bits)
        return _fitted(scope, scope.arithmetic(name, left, right), kind, bits)

    return rule


def _is_whole(terms: Terms) -> bool:
    return all(term.type is Type.INTEGER for term in terms)


def _div(scope: Scope, terms: Terms, kind: Type) -> Term:
    left, right = scope.real(terms[0]), scope.once(scope.real(terms[1]))
    bits = left.bits if terms[1].type is Type.INTEGER else None  # whole numbers but 0 are 1 or more
    if _is_whole(terms):
        return _fitted(scope, f"({left.text} / NULLIF({right.text}, 0))", kind, bits)
    return _fitted(scope, scope.arithmetic("div", left, right), kind, bits)


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
        text = scope.function(name, scope.clean(term).text)
        return _fitted(scope, text, kind, term.bits)

    return rule


def _round(scope: Scope, terms: Terms, kind: Type) -> Term:
    term, digits = scope.clean(scope.real(terms[0])), terms[1].literal if len(terms) > 1 else 0
    bits = None if term.bits is None else term.bits + 1
    if not digits:
        rounded = scope.filled(scope.writer.dialect.round, term)
        fitted = _fitted(scope, rounded, kind, bits)
        return Term(fitted.text, kind, fitted.bits)
    term = scope.once(term)
    scale = Term(scope.writer.value(10.0 ** int(str(digits)), Type.REAL), Type.REAL)
    scaled = Term(scope.arithmetic("mul", term, scale), Type.REAL)
    rounded = scope.filled(scope.writer.dialect.round, scaled)
    back = scope.arithmetic("div", Term(rounded, Type.REAL), scale)
    text = f"CASE WHEN abs({term.text}) < 1e290 THEN {back} ELSE {term.text} END"
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


def short_text(writer: Writer, text: str) -> str:
    """Return text cut where it is too long, and then without NUL.

    The cut comes first, so that it takes no longer for text that is longer.
    """
    longest = writer.integer(LONGEST_TEXT)
    functions = writer.dialect.functions
    long = longer(writer, text, LONGEST_TEXT)
    cut = functions["without_nul"].format(functions["left"].format(text, longest))
    nul, clean = functions["has_nul"].format(text), functions["without_nul"].format(text)
    return f"CASE WHEN {long} THEN {cut} WHEN {nul} THEN {clean} ELSE {text} END"


def longer(writer: Writer, text: str, most: int) -> str:
    """Return whether text has more bytes than any that is read on: it is not walked through."""
    return writer.dialect.functions["longer"].format(text, writer.integer(most))


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
        return Term(scope.writer.whole(text), kind, 63)

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
        if kind is Type.INTEGER:
            return Term(scope.writer.whole(text), kind, 63)
        return Term(scope.writer.convert(text, Type.TIMESTAMP, kind), kind)

    return rule


# Casts. ------------------------------------------------------------------------------------------


def _to_real(scope: Scope, terms: Terms, kind: Type) -> Term:
    (term,) = terms
    if term.type is Type.TEXT:  # which may spell NaN
        return Term(scope.convert(term, kind), kind, nan=True)
    return scope.real(term)


def _to_boolean(scope: Scope, terms: Terms, kind: Type) -> Term:
    term = scope.clean(terms[0])
    if term.type.is_number:
        return Term(f"({term.text} <> 0)", kind)
    if term.type is not Type.TEXT:
        return scope.into(term, kind)
    word = scope.once(Term(scope.function("word", term.text), Type.TEXT)).text
    return Term(f"CASE WHEN {word} IN {YES} THEN TRUE WHEN {word} IN {NO} THEN FALSE END", kind)


def _to_other(scope: Scope, terms: Terms, kind: Type) -> Term:
    return scope.into(terms[0], kind)


def _to_time(scope: Scope, terms: Terms, kind: Type) -> Term:
    term = scope.into(terms[0], kind)
    if terms[0].type.is_time:
        return term
    term = scope.once(term)
    return Term(known_time(scope.writer, term.text, kind), kind)


def known_time(writer: Writer, text: str, kind: Type) -> str:
    """Return a day or a moment, missing if its year is not between 1 and 9999."""
    first, last = writer.dialect.ends[kind]
    return f"CASE WHEN {text} BETWEEN {first} AND {last} THEN {text} END"


_RULES: dict[str, Rule] = {
    "add": _arithmetic("add", "+", lambda left, right: max(left, right) + 1),
    "sub": _arithmetic("sub", "-", lambda left, right: max(left, right) + 1),
    "mul": _arithmetic("mul", "*", lambda left, right: left + right),
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
