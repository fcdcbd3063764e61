# SPDX-License-Identifier: Apache-2.0
"""What an answer cost, and what is left."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sordino.privacy.currency import Currency, Price


@dataclass(frozen=True, slots=True)
class Charge:
    """The place of an answer in the ledger: its number, price, and what was left after it.

    Guarantee: none needed; it depends on what was spent alone.
    """

    number: int
    people: str
    price: Price
    slack: Fraction
    left: Price
    slack_left: Fraction
    who: str = ""
    head: str = ""  # the hash of the chain at this place

    def to_json(self) -> dict[str, Any]:
        """Return what ``charge_from_json`` reads.

        Guarantee: none needed; public inputs only.
        """
        return {
            "number": self.number,
            "people": self.people,
            "who": self.who,
            "head": self.head,
            "currency": self.price.currency.kind,
            "order": None if self.price.currency.order is None else str(self.price.currency.order),
            "price_nanos": self.price.nanos,
            "left_nanos": self.left.nanos,
            "delta_for_keys": str(self.slack),
            "delta_for_keys_left": str(self.slack_left),
        }


def charge_from_json(data: dict[str, Any]) -> Charge:
    """Read what ``Charge.to_json`` wrote.

    Guarantee: none needed; public inputs only.
    """
    order = None if data["order"] is None else Fraction(data["order"])
    currency = Currency(data["currency"], order)
    return Charge(
        number=int(data["number"]),
        people=str(data["people"]),
        price=Price(currency, int(data["price_nanos"])),
        slack=Fraction(data["delta_for_keys"]),
        left=Price(currency, int(data["left_nanos"])),
        slack_left=Fraction(data["delta_for_keys_left"]),
        who=str(data["who"]),
        head=str(data["head"]),
    )
