# SPDX-License-Identifier: Apache-2.0
"""What budgets count in: pure epsilon, rho, one Rényi order, or the square of the mu of GDP."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_UP, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, cast

from sordino.numbers.rational import (
    Number,
    is_integer,
    positive,
    reading,
    up,
    up_as_printed,
    written,
)

if TYPE_CHECKING:
    from sordino.privacy.leaf import Leaf, Relation
    from sordino.privacy.loss import Loss

Kind: TypeAlias = Literal["epsilon", "rho", "renyi", "gdp"]

NANO = 10**9  # this many nano-units are one
ATTO = 10**18  # deltas are counted in so many parts of 1
LARGEST_ORDER = 10**6
_ROOTS = Context(prec=40)
_PURE_TO_MU = Decimal("1.2534")  # the root of pi / 2: mu over epsilon, for small ones
_ROUND_DOWN, _ROUND_UP = Context(prec=4, rounding=ROUND_DOWN), Context(prec=4, rounding=ROUND_UP)
_NONE = Fraction(0)
_LOW_ORDER = 1.25  # a divergence that is finite here has a currency that needs no failures
_TAIL = 1e-300
_LEAST_PURE = Fraction(1, 10**12)  # a pure loss that stands for none at all


class Priceable(Protocol):
    """What a price is made from: every loss has it."""

    @property
    def neighbours(self) -> Relation | None:
        """The relation the loss holds for, or None."""
        ...

    @property
    def pure(self) -> Fraction | None:
        """The largest loss, or None."""
        ...

    @property
    def rho(self) -> float:
        """The rho of zCDP, or infinity."""
        ...

    def renyi(self, *, order: float) -> float:
        """Return the Rényi divergence of an order, or infinity."""
        ...


@dataclass(frozen=True, slots=True)
class Currency:
    """How losses are counted: in epsilon, in rho, in the divergence of one Rényi order, or in gdp.

    What gdp counts is the square of the mu of Gaussian differential privacy.

    >>> from sordino.privacy.concentrated import Concentrated
    >>> str(ZCDP.price(Concentrated(rho=Fraction(1, 10))))
    'rho 0.1'
    >>> PURE.price(Concentrated(rho=Fraction(1, 10)))
    Traceback (most recent call last):
    ValueError: this loss has no finite epsilon, so a budget that counts epsilon cannot pay for \
it; a budget that counts rho would do, such as Budget(epsilon=1, delta=1e-6)

    A loss that is unbounded with some probability is priced as what it is otherwise, and that
    probability is the delta of its price.

    Guarantee:
        Neighbours: those of the losses that are counted.
        Loss: in each currency the losses of several answers add up, also when each question and
            its parameters were chosen after seeing the answers before it. So do the deltas.
        Numerics: exact fractions; a float is read as the decimal it prints as.
        Proof: docs/proofs/budgets.md, theorems 1, 6 and 8 to 11.
    """

    kind: Kind
    order: Fraction | None = None

    def __post_init__(self) -> None:
        if self.kind not in {"epsilon", "rho", "renyi", "gdp"}:
            raise ValueError("the kind of a currency must be 'epsilon', 'rho', 'renyi' or 'gdp'")
        if (self.kind == "renyi") != isinstance(self.order, Fraction):
            raise ValueError("a currency has an order, a Fraction, if and only if it is 'renyi'")
        if self.order is not None and not 1 < self.order <= LARGEST_ORDER:
            got = written(self.order)
            raise ValueError(f"order must be a number above 1 and at most 10**6, got {got}")

    def __str__(self) -> str:
        return self.kind if self.order is None else f"renyi of order {written(self.order)}"

    def price(self, loss: Priceable) -> Price:
        """Return what a loss costs: its exact value, rounded up to whole nano-units."""
        price = self.price_if_finite(loss)
        if price is not None:
            return price
        raise ValueError(
            f"this loss has no finite {self}, so a budget that counts {self.kind} "
            f"cannot pay for it; {_what_would_do(loss)}"
        )

    def price_if_finite(self, loss: Priceable) -> Price | None:
        """Return what a loss costs, or None if its value in this currency is infinite."""
        value, failures = self._counted(_checked(loss))
        split = without_failures(loss) if value is None else None
        if split is not None:
            value, more = self._counted(split[0])
            failures = split[1] + more
        return None if value is None else Price(self, _nanos_up(value), _attos_up(failures))

    def _counted(self, loss: Priceable) -> tuple[Fraction | None, Fraction]:
        """Return the value of a loss, or None if it is infinite, and how often it fails."""
        if self.kind == "gdp":
            from sordino.privacy.normal_pairs import squared_mu  # numpy, which a price needs not

            return squared_mu(loss) or (None, Fraction(0))
        return _finite(self._stated(loss)), Fraction(0)

    def epsilon(self, value: Fraction, *, delta: Fraction) -> float:
        """Return the epsilon that this much of the currency guarantees at delta."""
        if value == 0:
            return 0.0
        if self.kind == "epsilon":
            return up_as_printed(value)
        if delta == 0:
            return math.inf
        from sordino.privacy.concentrated import epsilon_from_renyi, epsilon_from_rho
        from sordino.privacy.gaussian import ContinuousGaussian  # as above

        if self.kind == "gdp":
            pair = ContinuousGaussian(variance=Fraction(1), squared_sensitivity=value)
            return pair.epsilon(delta=delta)
        if self.order is None:
            return epsilon_from_rho(rho=value, delta=delta)
        return epsilon_from_renyi(renyi=value, order=self.order, delta=delta)

    def keeps(self, value: Fraction, *, epsilon: Fraction, delta: Fraction) -> bool:
        """Tell whether this much of the currency is certain to be (epsilon, delta)-private."""
        if self.kind == "gdp":  # without a search for epsilon
            from sordino.privacy.gaussian import continuous_delta  # as above

            return reading(continuous_delta(ratio=value, epsilon=epsilon)) <= delta
        return reading(self.epsilon(value, delta=delta)) <= epsilon

    def what_fits(self, nanos: int) -> str:
        """Say which losses cost at most so many nano-units, in words that help to ask again."""
        if nanos == 0:
            return "the budget is used up, and only what costs nothing would fit"
        most = f"{Price(self, nanos)} or less would fit"
        if self.kind == "epsilon":
            return most
        if self.kind == "gdp":
            root = _ROOTS.sqrt(_ROOTS.divide(nanos, NANO))
            epsilon = _ROUND_DOWN.divide(root, _PURE_TO_MU)
        else:
            order = 1 if self.order is None else self.order
            root = _ROOTS.sqrt(_ROOTS.divide(2 * nanos * order.denominator, order.numerator * NANO))
            epsilon = _ROUND_DOWN.plus(root)
        sigma = _ROUND_UP.divide(1, root)
        return (
            f"{most}, such as a pure loss of epsilon {float(epsilon):g} "
            f"or Gaussian noise of sigma {float(sigma):g} times the sensitivity"
        )

    def _stated(self, loss: Priceable) -> Fraction | float:
        if self.order is not None:
            return loss.renyi(order=_at_least(self.order))
        if self.kind == "rho":
            return loss.rho
        pure = loss.pure
        return math.inf if pure is None else pure


PURE = Currency("epsilon")
ZCDP = Currency("rho")
GDP = Currency("gdp")


def one_order(order: Number) -> Currency:
    """Return the currency of one Rényi order above 1.

    >>> str(one_order(8))
    'renyi of order 8'
    """
    return Currency("renyi", positive("order", order))


@dataclass(frozen=True, slots=True)
class Price:
    """An amount of a currency, in whole nano-units, so that prices add up without any error.

    >>> str(Price(PURE, 250_000_000) + Price(PURE, 1))
    'epsilon 0.250000001'

    Beside it stands the delta of losses that fail, in parts of 10**18; it adds up by itself.

    >>> str(Price(PURE, 250_000_000, 10**11) + Price(PURE, 250_000_000))
    'epsilon 0.5 and delta 1e-07'

    The price of a sum is at most the sum of the prices, so that it never pays to ask for things
    one by one: rounding up once costs no more than rounding up twice.

    Guarantee:
        Neighbours: those of the loss it is the price of.
        Loss: never less than the loss it is the price of.
        Numerics: integers.
        Proof: docs/proofs/budgets.md, theorem 2.
    """

    currency: Currency
    nanos: int
    attos: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.currency, Currency):
            raise TypeError("the currency of a price must be a Currency")
        if not is_integer(self.nanos):
            raise TypeError("the nano-units of a price must be a whole number")
        if not is_integer(self.attos):
            raise TypeError("the delta of a price must be a whole number of parts of 10**18")
        if self.nanos < 0 or self.attos < 0:
            raise ValueError("a price must not be negative, because nothing is ever refunded")

    def __str__(self) -> str:
        units, rest = divmod(self.nanos, NANO)
        amount = f"{units}.{rest:09d}".rstrip("0").rstrip(".")
        order = self.currency.order
        text = f"{self.currency.kind} {amount}" + (f" of order {written(order)}" if order else "")
        return f"{text} and delta {written(self.delta)}" if self.attos else text

    @property
    def value(self) -> Fraction:
        """The amount in whole units, exactly."""
        return Fraction(self.nanos, NANO)

    @property
    def delta(self) -> Fraction:
        """The probability of failures, exactly."""
        return Fraction(self.attos, ATTO)

    def __add__(self, other: Price) -> Price:
        self._check(other)
        return Price(self.currency, self.nanos + other.nanos, self.attos + other.attos)

    def __le__(self, other: Price) -> bool:
        self._check(other)
        return self.nanos <= other.nanos and self.attos <= other.attos

    def __lt__(self, other: Price) -> bool:
        return self <= other and self != other

    def _check(self, other: Price) -> None:
        if not isinstance(other, Price):
            raise TypeError(f"a price goes with another price, not with {type(other).__name__}")
        if other.currency != self.currency:
            raise ValueError(f"prices in {self.currency} and in {other.currency} do not add up")


_WORDS = re.compile(
    r"(epsilon|rho|gdp|renyi) (\d+)(?:\.(\d{1,9}))?(?: of order (\S+))?(?: and delta (\S+))?"
)


def read_price(text: str) -> Price:
    """Read what ``str`` of a price wrote.

    >>> price = Price(one_order(1.5), 250_000_001, 10**11)
    >>> read_price(str(price)) == price
    True
    """
    found = _WORDS.fullmatch(text.replace("Fraction(", "").replace(", ", "/").replace(")", ""))
    if found is None:
        raise ValueError(f"a price is written as 'epsilon 0.5', got {text[:60]!r}")
    kind, units, rest, order, delta = found.groups()
    currency = Currency(cast("Kind", kind), None if order is None else Fraction(order))
    nanos = int(units) * NANO + int((rest or "").ljust(9, "0"))
    return Price(currency, nanos, 0 if delta is None else _attos_up(Fraction(delta)))


def _at_least(order: Fraction) -> float:
    """Return a double that is no less than an order, whether read as it is or as it prints."""
    return max(up(order), up_as_printed(order))


def _checked(loss: Priceable) -> Priceable:
    stated = hasattr(type(loss), "neighbours") or hasattr(loss, "neighbours")
    is_one = stated and callable(getattr(loss, "renyi", None))
    if is_one and not isinstance(loss, type):
        return loss
    advice = "; give its loss" if hasattr(loss, "loss") else ""
    raise TypeError(f"only a loss has a price, not a value of type {type(loss).__name__}{advice}")


def _finite(value: Fraction | float) -> Fraction | None:
    """Return the fraction that a stated loss is, or None if it is infinite."""
    if isinstance(value, Fraction) and value.numerator >= 0:
        return value
    exact = reading(float(value)) if isinstance(value, float) else value
    if not exact >= 0:
        raise ValueError(f"a loss must be a number that is not negative, got {value!r}")
    return None if exact == math.inf else Fraction(exact)


def _nanos_up(value: Fraction) -> int:
    """Return a value in nano-units, rounded up."""
    return -(-int(value.numerator) * NANO // int(value.denominator))


def _attos_up(delta: Fraction) -> int:
    """Return a delta in parts of 10**18, rounded up."""
    return -(-int(delta.numerator) * ATTO // int(delta.denominator))


def _what_would_do(loss: Priceable) -> str:
    split = without_failures(loss)
    if split is not None:
        return _what_would_do(split[0])
    if math.isfinite(loss.rho):
        return "a budget that counts rho would do, such as Budget(epsilon=1, delta=1e-6)"
    if loss.pure is not None:
        return "a budget that counts epsilon would do, such as Budget(epsilon=1)"
    for order in (32, 8, 2, 1.25):
        if math.isfinite(loss.renyi(order=order)):
            return f"a budget in one order would do, such as Budget(renyi=1, order={order})"
    return "no other currency would do, because with some probability the loss is unbounded"


def without_failures(loss: object) -> tuple[Loss, Fraction] | None:
    """Return what a loss is unless it fails, and the probability that it fails; None if it cannot.

    >>> from sordino.privacy.pure import Approximate
    >>> leaf = Approximate(epsilon=Fraction(1), delta=Fraction(1, 1000))
    >>> without_failures(leaf)
    (Loss(Pure(epsilon=1)), Fraction(1, 1000))

    Guarantee:
        Neighbours: those of the loss.
        Loss: the laws for two neighbours are P = (1 - d) P' + d P'' and Q = (1 - d) Q' + d Q'',
            where d is at most the probability and P' and Q' lose at most the loss returned.
        Numerics: exact for losses stated by epsilon and delta; else doubles that were rounded up.
        Proof: docs/proofs/budgets.md, theorem 6.
    """
    from sordino.privacy.loss import Loss  # as above

    if isinstance(loss, Loss):
        uses, stated = loss.parts, loss.stated
    elif hasattr(loss, "reach"):  # a leaf by itself
        uses, stated = ((cast("Leaf", loss), 1),), ()
    else:
        return None
    parts, failures = [], _NONE
    for leaf, times in uses:
        rest, failing = _split(leaf)
        parts.append((rest, times))
        failures += times * failing
    return (Loss(tuple(parts), stated), failures) if failures else None


def _split(leaf: Leaf) -> tuple[Leaf, Fraction]:
    """Return what a leaf is unless it fails, and the probability that it fails."""
    from sordino.privacy.pure import Approximate, Pure  # as above

    if isinstance(leaf, Approximate):
        return Pure(epsilon=leaf.bound), leaf.slack
    if leaf.pure is not None or math.isfinite(leaf.renyi(order=_LOW_ORDER)):
        return leaf, _NONE
    far = max(map(abs, leaf.reach(_TAIL)))
    if not math.isfinite(far):
        return leaf, _NONE
    bound = max(Fraction(far), _LEAST_PURE)
    failing = Fraction(reading(leaf.delta(epsilon=bound)))
    return (Pure(epsilon=bound), failing) if failing < 1 else (leaf, _NONE)
