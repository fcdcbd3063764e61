# SPDX-License-Identifier: Apache-2.0
"""An engine that fails in one way, for sessions that are to be seen failing."""

from collections.abc import Iterable
from typing import Any


class Interrupted:
    """An engine that never gets to an answer."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def run(self, *_: object, **__: object) -> Any:
        raise self.error

    def prepare(self, _bounded: object) -> None:
        """There is nothing that it refuses."""

    def load(self, _bounded: object) -> None:
        """There is nothing to read."""

    def version(self, tables: Iterable[str]) -> str:
        return " ".join(tables)

    def close(self) -> None:
        """There is nothing to let go of."""
