# SPDX-License-Identifier: Apache-2.0
"""Words over a public alphabet: as symbols, and as numbers that tell all prefixes apart.

The letters are the symbols 1, 2, 3, ...; a word that is shorter than the longest is filled up
with the symbol 0, which marks its end. The first symbols of a word, as many as one number below
the prime can hold, are its first block, the next its second, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.exact.rational import Integer, positive_whole
from sordino.local.response import number_of

LONGEST = 64  # letters of a word
MOST_LETTERS = 4095

Symbols = npt.NDArray[Any]
Numbers = npt.NDArray[np.int64]


class Words:
    """All words of at most so many letters of an alphabet, the empty one included.

    >>> words = Words("abc", length=4)
    >>> words.symbols(["cab", "a"]).tolist()
    [[3, 1, 2, 0], [1, 0, 0, 0]]
    >>> words.text([3, 1, 2, 0])
    'cab'

    Guarantee: none needed; public inputs only.
    """

    def __init__(
        self,
        alphabet: str,
        *,
        length: Integer,
        prime: int = (1 << 31) - 1,
        otherwise: str | None = None,
    ) -> None:
        if not isinstance(alphabet, str):
            raise TypeError("alphabet must be a text of all letters that words may have")
        if not 1 <= len(alphabet) <= MOST_LETTERS or len(set(alphabet)) < len(alphabet):
            raise ValueError(f"alphabet must be 1 to {MOST_LETTERS} letters, all different")
        self.alphabet = alphabet
        self.length = positive_whole("length", length)
        if self.length > LONGEST:
            raise ValueError(f"length must be at most {LONGEST} letters, got {self.length}")
        self.base = len(alphabet) + 1
        if self.base > prime:
            raise ValueError("prime must be above the number of letters")
        self.in_block = 1  # symbols
        while self.base ** (self.in_block + 1) <= prime:
            self.in_block += 1
        self.blocks = -(-self.length // self.in_block)
        self.otherwise = otherwise
        self._instead: Symbols | None = None
        if otherwise is not None:
            if not isinstance(otherwise, str):
                raise TypeError("otherwise must be a word, or None")
            self._instead = self._checked(self._column([otherwise]), "otherwise is no word")[0]

    def symbols(self, values: object) -> Symbols:
        """Return the symbols of a word, or of each word of a column, one row for each.

        Guarantee: none needed; it stays on the device of the person.
        """
        column = self._column([values] if isinstance(values, str) else values)
        return self._checked(column, "some values are no words")

    def numbers(self, symbols: Symbols) -> Numbers:
        """Return the number of each block, one row for each row of symbols.

        Guarantee: none needed; it stays on the device of the person.
        """
        found = np.zeros((len(symbols), self.blocks), dtype=np.int64)
        for place in range(symbols.shape[1]):
            block, weight = self.weight(place)
            found[:, block] += symbols[:, place] * np.int64(weight)
        return found

    def weight(self, place: int) -> tuple[int, int]:
        """Return the block that a place belongs to, and by how much its symbol counts there.

        Guarantee: none needed; public inputs only.
        """
        block, within = divmod(place, self.in_block)
        return block, self.base**within

    def text(self, symbols: Sequence[int]) -> str:
        """Return the word that has these symbols.

        Guarantee: none needed; public inputs only.
        """
        return "".join(self.alphabet[symbol - 1] for symbol in symbols if symbol)

    def _column(self, values: object) -> Any:
        import pyarrow as pa  # slow to load

        try:
            column = pa.array(values, from_pandas=True)
            if isinstance(column, pa.ChunkedArray):
                column = column.combine_chunks()
            if pa.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            if not len(column) or pa.types.is_null(column.type):
                return column.cast(pa.string())
        except (pa.ArrowException, TypeError, ValueError):
            raise TypeError(_TEXT) from None
        if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
            raise TypeError(_TEXT)
        return column

    def _checked(self, column: Any, wrong: str) -> Symbols:
        """Return the symbols of a column; where there is no word, another one, or a complaint."""
        import pyarrow.compute as pc  # slow to load

        lengths = pc.utf8_length(column).fill_null(LONGEST + 1).to_numpy(zero_copy_only=False)
        unfit = lengths > self.length
        kept = column.filter(pc.invert(_booleans(unfit))) if unfit.any() else column
        points = np.frombuffer("".join(kept.to_pylist()).encode("utf-32-le"), dtype="<u4")
        symbols = np.zeros((len(column), self.length), dtype=number_of(self.base))
        there = np.arange(self.length) < np.where(unfit, 0, lengths)[:, None]
        symbols[there] = self._table[np.minimum(points, self._table.size - 1)]
        unfit |= ((symbols == 0) & there).any(axis=1)
        if not unfit.any():
            return symbols
        if self._instead is None:
            raise ValueError(
                f"{wrong}: words have at most {self.length} letters, all of the public alphabet; "
                f"{int(unfit.sum())} of {unfit.size} do not, the first at place "
                f"{int(np.argmax(unfit))}; name a word to report instead as otherwise"
            )
        symbols[unfit] = self._instead
        return symbols

    @cached_property
    def _table(self) -> Symbols:
        """The symbol of each code point; 0 for those that are no letters."""
        points = np.array([ord(letter) for letter in self.alphabet])
        table = np.zeros(int(points.max()) + 2, dtype=number_of(self.base))
        table[points] = np.arange(1, self.base)
        return table


def _booleans(mask: npt.NDArray[np.bool_]) -> Any:
    import pyarrow as pa  # slow to load

    return pa.array(mask)


_TEXT = "words must be a text or a column of texts"
