# SPDX-License-Identifier: Apache-2.0
"""What is counted, in the text form of Prometheus: public events, and nothing of the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from threading import Lock

_Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Counts of replies, by call and status."""

    def __init__(self) -> None:
        self._turn = Lock()
        self._replies: Counter[_Labels] = Counter()

    def count(self, call: str, status: int) -> None:
        """Count one reply; ``call`` is one that there is, so that there are few counts."""
        with self._turn:
            self._replies[("call", call), ("status", str(status))] += 1

    def text(self, gauges: Mapping[str, float]) -> str:
        """Return all counts, and ``gauges`` beside them."""
        with self._turn:
            replies = sorted(self._replies.items())
        lines = ["# TYPE sordino_replies_total counter"]
        lines += [f"sordino_replies_total{_written(labels)} {n}" for labels, n in replies]
        for name, value in gauges.items():
            lines += [f"# TYPE sordino_{name} gauge", f"sordino_{name} {value}"]
        return "\n".join(lines) + "\n"


def _written(labels: Iterable[tuple[str, str]]) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels) + "}"
