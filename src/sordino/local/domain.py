# SPDX-License-Identifier: Apache-2.0
"""What people can hold: one of some public categories, or a word over a public alphabet.

Categories have labels and the codes 0, 1, 2, ... The letters of words are the symbols 1, 2, 3, ...;
a word that is shorter than the longest is filled up with the symbol 0, which marks its end. The
first symbols of a word, as many as one number below the prime can hold, are its first block, the
next its second, and so on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set, Sized
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.local.randomizer import number_of
from sordino.numbers.rational import Integer, is_integer, positive_whole

Label: TypeAlias = "str | int | bool"
Codes: TypeAlias = npt.NDArray[np.int64]

MOST_CATEGORIES = 1 << 24
_SCALARS = (str, bytes, bool, int, float, np.generic)
_LABELS_SHOWN = 10
_SHAPE = "values must be a single value or a column of values"
_MIXED = "values must be a column of one kind: text, whole numbers or booleans"
_KINDS = {str: "text", int: "whole numbers", bool: "booleans"}
MAX_LENGTH = 64
MAX_LETTERS = 4095
# Each of these is one value, although it has parts.
_WHOLE_VALUES = (str, bytes, bytearray, memoryview, Mapping, Set)
_NO_WORD = "\ud800"  # It is no letter of any alphabet.
_TEXT = "words must be a text or a column of texts"

Symbols = npt.NDArray[Any]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Domain:
    """Distinct labels, all of one kind; a number k stands for the labels 0 to k - 1."""

    labels: tuple[Label, ...] | range

    def __len__(self) -> int:
        return len(self.labels)

    def codes(self, values: object) -> tuple[Codes, bool]:
        """Return the code of each value, and whether a single value was given."""
        if isinstance(values, Set | Mapping):
            raise TypeError(_SHAPE)
        single = isinstance(values, _SCALARS) or values is None
        column = np.asarray([values]) if single else values
        if isinstance(self.labels, range):
            found = self._numbers(column)
        else:
            found = self._looked_up([values] if single else column)
        return found, single

    def _numbers(self, values: object) -> Codes:
        try:
            array = np.asarray(values)
        except ValueError:  # lists of different lengths
            raise ValueError(_SHAPE) from None
        if array.ndim != 1:
            raise ValueError(_SHAPE)
        if isinstance(values, np.ma.MaskedArray) and values.mask.any():
            self._refuse(np.ma.getmaskarray(values))
        if array.size == 0:
            return np.empty(0, dtype=np.int64)
        if array.dtype.kind not in "iu":
            raise TypeError(
                f"the categories are the whole numbers from 0 to {len(self) - 1}, and values of "
                "another kind were given; give whole numbers without gaps"
            )
        low, high = int(array.min()), int(array.max())
        if low < 0 or high >= len(self):
            self._refuse((array < 0) | (array >= len(self)))
        return array.astype(np.int64, copy=False)

    def check(self, codes: Codes) -> Codes:
        """Return codes, if they are still those of categories: their array may be another's too."""
        if codes.size and not 0 <= int(codes.min()) <= int(codes.max()) < len(self):
            raise ValueError("the values were changed while they were encoded; leave them alone")
        return codes

    def _looked_up(self, values: object) -> Codes:
        import pyarrow as pa  # slow to load
        import pyarrow.compute as pc

        try:
            column: Any = values if _is_arrow(values) else pa.array(values, from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError, KeyError):
            raise TypeError(_MIXED) from None
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if not len(column):
            return np.empty(0, dtype=np.int64)
        if not self._fits(column.type):
            raise TypeError(
                f"the categories are {_KINDS[type(self.labels[0])]}, and values of another kind "
                "were given; give values of that kind"
            )
        if pa.types.is_integer(column.type):
            column = _in_64_bits(column)
        elif pa.types.is_large_string(column.type):
            column = column.cast(pa.string())
        places = pc.index_in(column, value_set=self._set)
        unknown = places.is_null().to_numpy(zero_copy_only=False)
        if unknown.any():
            self._refuse(unknown)
        codes: Codes = places.to_numpy(zero_copy_only=False).astype(np.int64)
        return codes

    def _fits(self, kind: Any) -> bool:
        import pyarrow as pa  # slow to load

        first = self.labels[0]
        if isinstance(first, bool):
            return bool(pa.types.is_boolean(kind))
        if isinstance(first, int):
            return bool(pa.types.is_integer(kind))
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))

    @cached_property
    def _set(self) -> Any:
        import pyarrow as pa  # slow to load

        return pa.array(list(self.labels))

    def _refuse(self, unknown: npt.NDArray[np.bool_]) -> None:
        """Complain about values that are no category, without showing one."""
        many, first = int(unknown.sum()), int(np.argmax(unknown))
        shown = ", ".join(repr(label) for label in list(self.labels[:_LABELS_SHOWN]))
        more = ", ..." if len(self) > _LABELS_SHOWN else ""
        raise ValueError(
            f"{many:,} of {unknown.size:,} values are none of the {len(self):,} categories ({shown}"
            f"{more}), the first is number {first + 1:,}; mend them, or add a category for them"
        )


def _in_64_bits(column: Any) -> Any:
    """Return whole numbers as int64; those that do not fit, which are no labels, are missing."""
    import pyarrow as pa  # slow to load
    import pyarrow.compute as pc

    if column.type == pa.uint64():
        large = pc.greater(column, pa.scalar((1 << 63) - 1, pa.uint64()))
        column = pc.if_else(large, pa.scalar(None, pa.uint64()), column)
    return column.cast(pa.int64())


def _is_arrow(values: object) -> bool:
    import pyarrow as pa  # slow to load

    return isinstance(values, pa.Array | pa.ChunkedArray)


def read_domain(categories: object) -> Domain:
    """Read what the categories are: their labels, or how many there are.

    >>> len(read_domain(3)), read_domain(["no", "yes"]).labels
    (3, ('no', 'yes'))
    """
    if is_integer(categories):
        labels: tuple[Label, ...] | range = range(int(categories))
    elif isinstance(categories, range):
        labels = categories if categories == range(len(categories)) else tuple(categories)
    elif isinstance(categories, Set | Mapping):
        raise TypeError("categories must be a list, which has an order that all sides share")
    elif isinstance(categories, Iterable) and not isinstance(categories, str | bytes):
        labels = tuple(_label(label) for label in categories)
    else:
        raise TypeError("categories must be a list of labels, or how many there are")
    if len(labels) < 2:
        raise ValueError(
            f"there must be at least 2 categories, got {max(len(labels), 0)}: one answer alone "
            "tells nothing"
        )
    if len(labels) > MOST_CATEGORIES:
        raise ValueError(
            f"there may be at most {MOST_CATEGORIES:,} categories; for more, look for the most "
            "frequent ones with HeavyHitters"
        )
    if isinstance(labels, tuple):
        if len({type(label) for label in labels}) > 1:
            raise TypeError("categories must all be of one kind: text, whole numbers or booleans")
        if len(set(labels)) < len(labels):
            raise ValueError("categories must be distinct")
    return Domain(labels)


def _label(label: object) -> Label:
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, str) and not _is_text(label):
        raise ValueError("categories must be whole text, without halves of characters")
    if isinstance(label, bool | str):
        return label
    if is_integer(label) and -(1 << 63) <= label < 1 << 63:
        return int(label)
    raise TypeError("categories must be text, whole numbers of 64 bits, or booleans")


def _is_text(label: str) -> bool:
    try:
        label.encode()
    except UnicodeEncodeError:
        return False
    return True


class WordDomain:
    """All words of at most so many letters of an alphabet, the empty one included.

    >>> words = WordDomain("abc", length=4)
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
        if not 1 <= len(alphabet) <= MAX_LETTERS or len(set(alphabet)) < len(alphabet):
            raise ValueError(f"alphabet must be 1 to {MAX_LETTERS} letters, all different")
        if any("\ud800" <= letter <= "\udfff" for letter in alphabet):
            raise ValueError("alphabet must be letters; halves of surrogate pairs are none")
        self.alphabet = alphabet
        self.length = positive_whole("length", length)
        if self.length > MAX_LENGTH:
            raise ValueError(f"length must be at most {MAX_LENGTH} letters, got {self.length}")
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
    if isinstance(values, _WHOLE_VALUES) or not isinstance(values, Iterable):
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
