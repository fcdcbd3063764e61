# SPDX-License-Identifier: Apache-2.0
"""Exact values, kept from every eye but that of the release."""

from __future__ import annotations

from typing import Generic, NoReturn, TypeVar

T = TypeVar("T")


class Key:
    """What opens sealed values. There is one, and whoever takes it first keeps it."""

    __slots__ = ()


_KEY = Key()
_untaken = [_KEY]


def take_key() -> Key:
    """Return the key, once; ``sordino.release`` takes it when it is imported."""
    if not _untaken:
        raise RuntimeError("the key to sealed values has been taken")
    return _untaken.pop()


class Sealed(Generic[T]):
    """Exact values that are not to be seen; only ``sordino.release`` opens them.

    >>> Sealed([37])
    <sealed>
    """

    __slots__ = ("__content",)

    def __init__(self, content: T) -> None:
        self.__content = content

    def open(self, key: Key) -> T:
        """Return the content; noise must be added before any of it is shown."""
        if key is not _KEY:
            raise TypeError("sealed values are opened by the release alone")
        return self.__content

    def __repr__(self) -> str:
        return "<sealed>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("sealed values are not written anywhere")
