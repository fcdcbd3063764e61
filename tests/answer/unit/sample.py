# SPDX-License-Identifier: Apache-2.0
"""An answer made by hand, with a column of every kind."""

from datetime import date
from fractions import Fraction

from sordino.answer import Answer, Column
from sordino.answer.answer import Facts
from sordino.ledger.entry import Receipt
from sordino.privacy import losses
from sordino.privacy.currency import PURE, Price
from sordino.privacy.loss import loss_to_json
from sordino.query.types import Type

SURE = Fraction(95, 100)
FACTS: Facts = {
    "software": {"name": "sordino", "version": "0"},
    "question": "SELECT disease, COUNT(*) FROM visits GROUP BY disease",
    "fingerprint": "ab" * 32,
    "tables": ["visits"],
    "unit": "people",
    "neighbours": "add_remove",
    "protects": "one unit with all its rows, added or removed",
    "epsilon": "1/2",
    "delta_for_keys": "0",
    "loss": loss_to_json(losses.pure(epsilon=Fraction(1, 2))),
    "releases": [],
    "keys": [],
    "key_selection": None,
    "limits": {},
    "post_processing": {},
}
CHARGE = Receipt(
    number=3,
    people="people",
    price=Price(PURE, 500_000_000),
    slack=Fraction(0),
    left=Price(PURE, 1_500_000_000),
    slack_left=Fraction(1, 10**6),
    who="ann",
    head="cd" * 32,
)


def answer(*columns: Column, notes: tuple[str, ...] = ("limits are not covered",)) -> Answer:
    return Answer(columns, notes, SURE, CHARGE, FACTS)


KEYS = Column("disease", Type.TEXT, "key", ("flu", "a<b>\x1b[31m", None))
DAYS = Column("day", Type.DATE, "key", (date(2024, 1, 1), date(2024, 2, 1), None))
COUNTS = Column(
    "n", Type.INTEGER, "measure", (1204, -3, 0), (1173.0, -34.0, -31.0), (1235.0, 28.0, 31.0), SURE
)
MEANS = Column(
    "cost", Type.REAL, "measure", (10.5, 2.25, None), (10.0, 1.0, None), (11.5, 3.0, None), SURE
)
MODES = Column("often", Type.TEXT, "measure", ("x", "y", "x"), confidence=SURE, gap=4.5)
LISTS = Column(
    "top", Type.TEXT, "measure", (("x", "y"), ("y", "x"), ("x", "z")),
    confidence=SURE, gap=9.0, listed=True,
)  # fmt: skip
FULL = answer(KEYS, DAYS, COUNTS, MEANS, MODES, LISTS)
