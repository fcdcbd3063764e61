# SPDX-License-Identifier: Apache-2.0
"""Comparisons of comparisons, which readers of SQL understand in different ways."""

from __future__ import annotations

from sqlglot import exp

from sordino.query.refusals import refusal

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


def check(tree: exp.Select) -> None:
    """Refuse a comparison that is compared as it is, as in ``a = b = c`` and ``a < b < c``."""
    for node in tree.find_all(*_COMPARISONS):
        if isinstance(node.left, _COMPARISONS) or isinstance(node.right, _COMPARISONS):
            raise refusal(
                "construct",
                node,
                "comparisons follow each other without parentheses",
                why="they could be meant in several ways",
                hint="write (a = b) = c, or a < b AND b < c",
            )
