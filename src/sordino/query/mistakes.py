# SPDX-License-Identifier: Apache-2.0
"""Everything that is wrong with a catalog, collected instead of told one by one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sordino.errors import CatalogError
from sordino.query.names import about


class Mistakes:
    """What is wrong, in the order in which it was seen."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    @contextmanager
    def caught(self, place: str = "") -> Iterator[None]:
        """Note a mistake, with its place before it, and go on."""
        try:
            if place:
                with about(place):
                    yield
            else:
                yield
        except CatalogError as error:
            if str(error) not in self._texts:
                self._texts.append(str(error))

    def __len__(self) -> int:
        return len(self._texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)
