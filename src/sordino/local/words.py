# SPDX-License-Identifier: Apache-2.0
"""Words over a public alphabet: as symbols, and as numbers that tell all prefixes apart.

The letters are the symbols 1, 2, 3, ...; a word that is shorter than the longest is filled up
with the symbol 0, which marks its end. The first symbols of a word, as many as one number below
the prime can hold, are its first block, the next its second, and so on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set, Sized
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.local.response import number_of
from sordino.numbers.rational import Integer, positive_whole

LONGEST = 64  # letters of a word
MOST_LETTERS = 4095
_ONE = (str, bytes, bytearray, memoryview, Mapping, Set)  # one value, although it has parts
_NO_WORD = "\ud800"  # no letter of any alphabet
_TEXT = "words must be a text or a column of texts"

Symbols = npt.NDArray[Any]
Numbers = npt.NDArray[np.int64]


class Words:
    """All words of at most so many letters of an alphabet, the empty one included.

    >>> words = Words("abc", length=4)
    >>> words.symbols(["cab", "a"]).tolist()
    [[3, 1, 2, 0], [1, 0, 0, 0]]
    >>> words.text([3, 1, 2, 0])
    'cab'
    """

    def __init__(
        self,
        alphabet: str,
        *,
        length: Integer,
        prime: Integer = (1 << 31) - 1,
        otherwise: str | None = None,
    ) -> None:
        if not isinstance(alphabet, str):
            raise TypeError("alphabet must be a text of all letters that words may have")
        if not 1 <= len(alphabet) <= MOST_LETTERS or len(set(alphabet)) < len(alphabet):
            raise ValueError(f"alphabet must be 1 to {MOST_LETTERS} letters, all different")
        if any("\ud800" <= letter <= "\udfff" for letter in alphabet):
            raise ValueError("alphabet must be letters; halves of surrogate pairs are none")
        self.alphabet = alphabet
        self.length = positive_whole("length", length)
        if self.length > LONGEST:
            raise ValueError(f"length must be at most {LONGEST} letters, got {self.length}")
        self.base = len(alphabet) + 1
        self.prime = positive_whole("prime", prime)
        if self.base > self.prime:
            raise ValueError("prime must be above the number of letters")
        self.in_block = 1  # symbols
        while self.base ** (self.in_block + 1) <= self.prime:
            self.in_block += 1
        self.blocks = -(-self.length // self.in_block)
        self.otherwise = otherwise
        self._instead: Symbols | None = None
        if otherwise is not None:
            if not isinstance(otherwise, str):
                raise TypeError("otherwise must be a word, or None")
            self._instead = self._checked([otherwise], "otherwise is no word")[0]

    def symbols(self, values: object) -> Symbols:
        """Return the symbols of a word, or of each word of a column, one row for each.

        What is no text is no word. With ``otherwise``, all words take the same steps, whether they
        fit or not; how long these take is not hidden.
        """
        return self._checked(_listed(values), "some values are no words")

    def numbers(self, symbols: Symbols) -> Numbers:
        """Return the number of each block, one row for each row of symbols."""
        found = np.zeros((len(symbols), self.blocks), dtype=np.int64)
        for place in range(symbols.shape[1]):
            block, weight = self.weight(place)
            found[:, block] += symbols[:, place] * np.int64(weight)
        return found

    def weight(self, place: int) -> tuple[int, int]:
        """Return the block that a place belongs to, and by how much its symbol counts there."""
        block, within = divmod(place, self.in_block)
        return block, self.base**within

    def text(self, symbols: Sequence[int]) -> str:
        """Return the word that has these symbols."""
        return "".join(self.alphabet[symbol - 1] for symbol in symbols if symbol)

    def _checked(self, values: list[Any], wrong: str) -> Symbols:
        """Return the symbols of values; where there is no word, another one, or a complaint."""
        most = self.length + 1  # letters; with so many a text is too long already
        texts = [value[:most] if isinstance(value, str) else _NO_WORD for value in values]
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        letters = "".join(texts).encode("utf-32-le", "surrogatepass")
        points = np.frombuffer(letters, dtype="<u4")
        symbols = np.zeros((len(texts), most), dtype=number_of(self.base))
        there = np.arange(most) < lengths[:, None]
        symbols[there] = self._table[np.minimum(points, self._table.size - 1)]
        unfit = (lengths == most) | ((symbols == 0) & there).any(axis=1)
        if self._instead is not None:
            return np.where(unfit[:, None], self._instead, symbols[:, : self.length])
        if unfit.any():
            raise ValueError(
                f"{wrong}: words are texts of at most {self.length} letters, all of the public "
                f"alphabet; {int(unfit.sum())} of {unfit.size} are not, the first at place "
                f"{int(np.argmax(unfit))}; name a word to report instead as otherwise"
            )
        return symbols[:, : self.length]

    @cached_property
    def _table(self) -> Symbols:
        """The symbol of each code point; 0 for those that are no letters."""
        points = np.array([ord(letter) for letter in self.alphabet])
        table = np.zeros(int(points.max()) + 2, dtype=number_of(self.base))
        table[points] = np.arange(1, self.base)
        return table


def _listed(values: object) -> list[Any]:
    """Return the values of a column, or the one value that is none, as a list."""
    import pyarrow as pa  # slow to load

    shape = getattr(values, "shape", None)
    if isinstance(shape, tuple) and len(shape) > 1:
        raise TypeError(_TEXT)
    if isinstance(values, np.ndarray | np.generic):
        return values.reshape(-1).tolist()
    if isinstance(values, pa.Scalar):
        values = pa.repeat(values, 1)
    if isinstance(values, _ONE) or not isinstance(values, Iterable):
        return [values]
    if isinstance(values, list | tuple) or not isinstance(values, Sized):
        return list(values)  # what is not sized can be gone through but once
    try:
        return _from_arrow(pa.array(values, from_pandas=True))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return list(values)


def _from_arrow(column: Any) -> list[Any]:
    """Return the texts of a column; bytes that are no text become one that is no word."""
    import pyarrow as pa  # slow to load

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    if not any(is_kind(column.type) for is_kind in kinds):
        return [None] * len(column)
    found = column.cast(pa.large_binary()).to_numpy(zero_copy_only=False).tolist()
    return [None if value is None else value.decode("utf-8", "surrogateescape") for value in found]
