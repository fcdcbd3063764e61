# SPDX-License-Identifier: Apache-2.0
"""A question as it is asked: SQL with its terms, read and checked once, and what it may cost."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Generic, Self, TypeAlias, TypedDict, TypeVar, Unpack

from sordino.catalog.model import Limits, read_limits
from sordino.errors import MissingBound
from sordino.numbers.rational import (
    Number,
    confidence_level,
    decimal_of,
    positive,
    probability,
)

if TYPE_CHECKING:
    from sordino.answer import Answer
    from sordino.catalog.model import Purse
    from sordino.privacy.budget import Counted

E = TypeVar("E")  # how a respondent explains

MAX_CONFIDENCE = 1 - Fraction(1, 10**9)
MAX_SLACK_BY_DEFAULT = Fraction(1, 10**6)
DISCOVERIES_BY_DEFAULT = 10  # questions that share the delta of a budget if nobody states a delta

_NO_LIMITS = Limits()

StatedWidth: TypeAlias = "Number | str"
Reader: TypeAlias = Callable[[str, object], Fraction]


class Terms(TypedDict, total=False):
    """What may be said besides the SQL; see ``Session.ask``."""

    epsilon: Number | None
    rho: Number | None
    within: StatedWidth | Mapping[str, StatedWidth] | None
    confidence: Number
    delta: Number | None
    rows: int | None
    groups: int | None
    rows_per_group: int | None
    expected_rows: Number | None
    diagnostics: bool
    nonnegative: bool
    integer: bool
    consistent: bool
    fresh: bool


@dataclass(frozen=True, slots=True)
class Options:
    """How noisy counts are shown.

    ``nonnegative`` shows 0 for counts below 0. ``integer`` shows numbers of the type INTEGER as
    whole ones. ``consistent`` makes the counts of all groups whole and not negative in such a way
    that they add up to the total of the noisy counts, which clipping alone would push up.
    """

    nonnegative: bool = False
    integer: bool = True
    consistent: bool = False

    def __post_init__(self) -> None:
        _flag("nonnegative", self.nonnegative)
        _flag("integer", self.integer)
        _flag("consistent", self.consistent)


@dataclass(frozen=True, slots=True)
class Epsilon:
    """A price that is stated in epsilon."""

    amount: Fraction


@dataclass(frozen=True, slots=True)
class Rho:
    """A price that is stated in rho."""

    amount: Fraction


@dataclass(frozen=True, slots=True)
class Percent:
    """A half-width as a part of a public range, with the text that stated it."""

    text: str
    share: Fraction


Width: TypeAlias = Fraction | Percent


@dataclass(frozen=True, slots=True)
class Within:
    """How far off the answer may be: one half-width for every column, or one by column."""

    widths: Width | tuple[tuple[str, Width], ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """A question and its terms, every number exact; made by ``read_ask``.

    Asks are equal if they have the same plan: how numbers are shown, and whether the answer is
    wanted anew, is not compared.
    """

    sql: str
    price: Epsilon | Rho | Within
    confidence: Fraction = Fraction(95, 100)
    delta: Fraction | None = None
    limits: Limits = _NO_LIMITS
    expected_rows: Fraction | None = None
    diagnostics: bool = False
    options: Options = field(default_factory=Options, compare=False)
    fresh: bool = field(default=False, compare=False)


class PriceError(TypeError):
    """There is not exactly one of epsilon, rho and within."""

    def __init__(self) -> None:
        super().__init__(
            "say what the answer may cost, such as epsilon=0.5, or how far off it may be, such as "
            "within=50; one of the two"
        )


def read_ask(sql: str, **terms: Unpack[Terms]) -> Ask:
    """Read a question with its terms, which are those of ``Session.ask``.

    >>> read_ask("SELECT COUNT(*) FROM visits", epsilon=0.5).price
    Epsilon(amount=Fraction(1, 2))

    Raises:
        PriceError: unless there is one of ``epsilon``, ``rho`` and ``within``.
        TypeError: for what is not known, or of the wrong kind.
        ValueError: for numbers out of range.
    """
    check_known(terms)
    if not isinstance(sql, str):
        raise TypeError(f"a question is a text, not {type(sql).__name__}")
    delta, expected_rows = terms.get("delta"), terms.get("expected_rows")
    return Ask(
        sql=sql,
        price=_price(terms),
        confidence=_number(_confidence, "confidence", terms.get("confidence", 0.95)),
        delta=None if delta is None else _number(probability, "delta", delta),
        limits=read_limits(
            rows=terms.get("rows"),
            groups=terms.get("groups"),
            rows_per_group=terms.get("rows_per_group"),
        ),
        expected_rows=None
        if expected_rows is None
        else _number(positive, "expected_rows", expected_rows),
        diagnostics=_flag("diagnostics", terms.get("diagnostics", False)),
        options=Options(
            nonnegative=terms.get("nonnegative", False),
            integer=terms.get("integer", True),
            consistent=terms.get("consistent", False),
        ),
        fresh=_flag("fresh", terms.get("fresh", False)),
    )


class Respondent(ABC, Generic[E]):
    """Whoever answers questions in SQL: a session, one on a server, or invented rows."""

    @abstractmethod
    def answer_ask(self, ask: Ask) -> Answer:
        """Answer what was asked; see ``ask``."""

    @abstractmethod
    def explain_ask(self, ask: Ask) -> E:
        """Say what the answer to an ask would cost; see ``explain``."""

    @abstractmethod
    def close(self) -> None:
        """Answer no more."""

    def ask(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        within: StatedWidth | Mapping[str, StatedWidth] | None = None,
        confidence: Number = 0.95,
        delta: Number | None = None,
        rows: int | None = None,
        groups: int | None = None,
        rows_per_group: int | None = None,
        expected_rows: Number | None = None,
        diagnostics: bool = False,
        nonnegative: bool = False,
        integer: bool = True,
        consistent: bool = False,
        fresh: bool = False,
    ) -> Answer:
        """Answer a question: charge it, compute, add noise, record the answer, return it.

        The same question of the same data again gives the same answer, for nothing; with ``fresh``
        it is paid for again and gets new noise. Whoever asks it at once, in other threads or
        processes, gets that same answer. If it was paid for and failed, asking again is free.

        Say how much it may cost by ``epsilon`` (or ``rho``, where the budget counts that), or how
        far off it may be by ``within``. ``delta`` is for discovering keys. ``rows``, ``groups`` and
        ``rows_per_group`` say how much of one unit counts, in place of the declared limits: less
        of each makes the noise smaller and cuts more off. ``diagnostics`` spends a tenth on saying
        how much was clamped and cut. ``nonnegative``, ``integer`` and ``consistent`` say how
        noisy counts are shown.

        The charge stays whatever happens afterwards, also if the question is interrupted, and is
        taken up by who asks the same of the same data again.
        """
        return self.answer_ask(
            read_ask(
                sql,
                epsilon=epsilon,
                rho=rho,
                within=within,
                confidence=confidence,
                delta=delta,
                rows=rows,
                groups=groups,
                rows_per_group=rows_per_group,
                expected_rows=expected_rows,
                diagnostics=diagnostics,
                nonnegative=nonnegative,
                integer=integer,
                consistent=consistent,
                fresh=fresh,
            )
        )

    def explain(self, sql: str, **terms: Unpack[Terms]) -> E:
        """Say what an answer would cost and how far off it would be; nothing is charged or read.

        The arguments are those of ``ask``; how counts are shown makes no difference here.
        """
        return self.explain_ask(read_ask(sql, **terms))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def check_known(terms: Terms) -> None:
    """Refuse words that mean nothing here."""
    if not terms.keys() <= Terms.__annotations__.keys():
        unknown = min(terms.keys() - Terms.__annotations__.keys())
        known = ", ".join(Terms.__annotations__)
        raise TypeError(f"{unknown!r} is not known here; there are {known}")


def merged(usual: Terms, stated: Terms) -> Terms:
    """Return the terms of one question: those stated for it, and otherwise the usual ones.

    >>> merged({"epsilon": 1, "confidence": 0.9}, {"within": 50})
    {'epsilon': None, 'confidence': 0.9, 'rho': None, 'within': 50}
    """
    check_known(stated)
    if is_priced(stated):
        usual = {**usual, "epsilon": None, "rho": None, "within": None}
    return {**usual, **stated}


def is_priced(terms: Terms) -> bool:
    """Tell whether a price, or how far off an answer may be, was stated."""
    return any(terms.get(name) is not None for name in ("epsilon", "rho", "within"))


def _price(terms: Terms) -> Epsilon | Rho | Within:
    match terms.get("epsilon"), terms.get("rho"), terms.get("within"):
        case epsilon, None, None if epsilon is not None:
            return Epsilon(_number(positive, "epsilon", epsilon))
        case None, rho, None if rho is not None:
            return Rho(_number(positive, "rho", rho))
        case None, None, within if within is not None:
            return Within(_widths(within))
        case _:
            raise PriceError


def _widths(
    within: StatedWidth | Mapping[str, StatedWidth],
) -> Width | tuple[tuple[str, Width], ...]:
    if not isinstance(within, Mapping):
        return _width(within)
    if not all(isinstance(name, str) for name in within):
        raise TypeError("within names columns by their titles, such as {'n': 50}")
    return tuple((name, _width(width)) for name, width in within.items())


def _width(width: StatedWidth) -> Width:
    if not isinstance(width, str):
        return _number(positive, "within", width)
    wrong = ValueError(f"within must be a number or a percentage such as '5%', got {width!r}")
    if not width.endswith("%"):
        raise wrong
    try:
        percent = decimal_of("within", width[:-1])
    except ValueError:
        raise wrong from None
    return Percent(width, positive("within", percent) / 100)


def _number(read: Reader, name: str, value: Number) -> Fraction:
    """Read a number; those read lately are kept, for most questions repeat them."""
    if type(value).__hash__ is None:
        return read(name, value)  # which says what is wrong with it
    return _read_lately(read, name, value)


@lru_cache(maxsize=256, typed=True)  # for 0.1 and the fraction equal to it mean different numbers
def _read_lately(read: Reader, name: str, value: Number) -> Fraction:
    return read(name, value)


def _confidence(name: str, value: object) -> Fraction:
    confidence = confidence_level(value)
    if confidence > MAX_CONFIDENCE:
        raise ValueError(f"{name} must be at most {float(MAX_CONFIDENCE)}")
    return confidence


def _flag(name: str, value: bool) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False")
    return value


@dataclass(frozen=True, slots=True)
class Cost:
    """The most that a plan may lose, in the currency of its budget, and the epsilon stated."""

    amount: Fraction
    counted: Counted
    epsilon: Fraction | None

    @property
    def about(self) -> float:
        """The epsilon of a pure loss of this price, about."""
        if self.counted == "epsilon":
            return float(self.amount)
        twice = 2 * float(self.amount)
        return math.sqrt(twice if self.counted == "rho" else twice / math.pi)


def cost_of(price: Epsilon | Rho, purse: Purse) -> Cost:
    """Return a stated price in the currency of the budget that pays for it.

    In a budget that counts rho, or gdp, an epsilon stands for the largest rho, or square of a mu,
    that is (epsilon, delta)-private, with the delta of the budget.

    >>> from sordino.catalog.model import Purse
    >>> from sordino.privacy.budget import Budget
    >>> purse = Purse(Budget(epsilon=3, delta=1e-6, failures=0))
    >>> cost_of(Epsilon(Fraction(1)), purse).amount
    Fraction(2435597, 100000000)
    """
    from sordino.plan.plan import counted_by  # numpy, which reading a question needs not

    counted = counted_by(purse.budget.currency)
    match price:
        case Rho(amount):
            if counted != "rho":
                raise ValueError(
                    f"this budget counts {counted}; ask with an epsilon instead of a rho"
                )
            return Cost(amount, counted, epsilon=None)
        case Epsilon(amount):
            if counted == "epsilon":
                return Cost(amount, counted, epsilon=amount)
            if not purse.budget.slack:
                raise ValueError("this budget counts rho and has no delta; ask with a rho instead")
            whole = _amount_for(amount, purse.budget.slack, counted)
            return Cost(whole, counted, epsilon=amount)


def slack_for_keys(purse: Purse, delta: Fraction | None) -> Fraction:
    """Return the delta that discovering keys costs: as stated, else a tenth of all, or 1e-6."""
    if not purse.slack:
        raise MissingBound(
            "no_delta",
            "keys must be discovered here, and the budget has no delta for that",
            why="that a key is there at all may tell that one person is",
            hint="declare the keys of the column, or a budget with a delta",
        )
    if delta is not None:
        return delta
    return min(Fraction(purse.slack) / DISCOVERIES_BY_DEFAULT, MAX_SLACK_BY_DEFAULT)


@lru_cache(maxsize=256)
def _amount_for(epsilon: Fraction, delta: Fraction, counted: Counted) -> Fraction:
    from sordino.privacy.budget import Budget  # as above

    return Budget(epsilon=epsilon, delta=delta, failures=0, currency=counted).cap.value
