# SPDX-License-Identifier: Apache-2.0
"""Exact values, kept from every eye but that of the release."""

from __future__ import annotations

from typing import Generic, NoReturn, TypeVar

T = TypeVar("T")


class Sealed(Generic[T]):
    """Exact values that are not to be seen; only ``sordino.release`` opens them.

    >>> Sealed([37])
    <sealed>
    """

    __slots__ = ("__content",)

    def __init__(self, content: T) -> None:
        self.__content = content

    def open(self) -> T:
        """Return the content; noise must be added before any of it is shown."""
        return self.__content

    def __repr__(self) -> str:
        return "<sealed>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("sealed values are not written anywhere")
