# SPDX-License-Identifier: Apache-2.0
"""Candidates too many to list: public sets in which every member has a number.

A domain is made of public descriptions only. It numbers its members from 0 and finds a member by
its number and a number by its member, so that a choice need only list the members whose score is
not the default one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import prod
from sys import maxsize
from typing import Any, Protocol, TypeAlias, runtime_checkable

from sordino.mechanisms.mechanism import fill
from sordino.numbers.rational import Integer, is_integer

MOST_LISTED = 1 << 20  # members that are gone through one by one
_LONGEST = 1 << 12  # bits of the number of members


@runtime_checkable
class Domain(Protocol):
    """A public set of candidates, numbered from 0."""

    @property
    def size(self) -> int:
        """How many members there are."""
        ...

    def member(self, number: int) -> Any:
        """Return the member with this number; raise IndexError if there is none."""
        ...

    def number(self, member: Any) -> int | None:
        """Return the number of a member, or None if it is no member."""
        ...


class Numbered:
    """A domain that can be gone through as a list can, if it is not too large for that."""

    __slots__ = ()

    @property
    def size(self) -> int:
        raise NotImplementedError

    def member(self, number: int) -> Any:
        raise NotImplementedError

    def number(self, member: Any) -> int | None:
        raise NotImplementedError

    def __len__(self) -> int:
        if self.size > maxsize:
            raise OverflowError("the domain has more members than len can tell; read its size")
        return self.size

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return iter(members_of(self))

    def __contains__(self, member: object) -> bool:
        return self.number(member) is not None


Part: TypeAlias = "Domain | range | Sequence[Any]"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Integers(Numbered):
    """The whole numbers from ``first`` to ``last``, both included.

    >>> years = Integers(1900, 2026)
    >>> years.size, years.member(0), years.number(2000), years.number(1)
    (127, 1900, 100, None)
    >>> len(years), 2000 in years, 1 in years, list(Integers(3, 5))
    (127, True, False, [3, 4, 5])
    """

    first: int
    last: int

    def __init__(self, first: Integer, last: Integer) -> None:
        for name, value in (("first", first), ("last", last)):
            if not is_integer(value):
                hint = "; a line without end is so.Line, for so.choose_in" if value is None else ""
                kind = type(value).__name__
                raise TypeError(f"{name} must be a whole number, got a value of type {kind}{hint}")
        if last < first:
            raise ValueError(f"last must be at least first, {first}, got {last}")
        fill(self, first=int(first), last=int(last))
        _check_size(self.size)

    def __repr__(self) -> str:
        return f"Integers({self.first}, {self.last})"

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    def member(self, number: int) -> int:
        return self.first + _place(number, self.size)

    def number(self, member: Any) -> int | None:
        if not is_integer(member) or not self.first <= member <= self.last:
            return None
        return int(member) - self.first


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Strings(Numbered):
    """All strings over an alphabet with a length from ``shortest`` to ``longest``.

    They are numbered by length, then in the order of the alphabet.

    >>> words = Strings("ab", longest=3)
    >>> words.size, words.member(0), words.member(3), words.number("bb"), words.number("c")
    (14, 'a', 'ab', 5, None)
    """

    alphabet: str
    longest: int
    shortest: int
    _starts: tuple[int, ...] = field(compare=False)
    _places: dict[str, int] = field(compare=False)

    def __init__(self, alphabet: str, *, longest: Integer, shortest: Integer = 1) -> None:
        if not isinstance(alphabet, str) or not alphabet:
            raise ValueError("alphabet must be a string of at least one character")
        if len(set(alphabet)) != len(alphabet):
            raise ValueError("alphabet must not have the same character twice")
        if not (is_integer(shortest) and is_integer(longest)) or not 0 <= shortest <= longest:
            raise ValueError(
                f"lengths must be whole numbers with 0 <= shortest <= longest, "
                f"got {shortest!r} and {longest!r}"
            )
        if longest * len(alphabet).bit_length() > 2 * _LONGEST:
            raise ValueError(f"longest is too large: the domain may have 2**{_LONGEST} members")
        sizes = [len(alphabet) ** n for n in range(int(shortest), int(longest) + 1)]
        _check_size(sum(sizes))
        fill(
            self,
            alphabet=alphabet,
            longest=int(longest),
            shortest=int(shortest),
            _starts=tuple(accumulate(sizes, initial=0)),
            _places={letter: place for place, letter in enumerate(alphabet)},
        )

    def __repr__(self) -> str:
        shortest = "" if self.shortest == 1 else f", shortest={self.shortest}"
        return f"Strings({self.alphabet!r}, longest={self.longest}{shortest})"

    @property
    def size(self) -> int:
        return self._starts[-1]

    def member(self, number: int) -> str:
        place = _place(number, self.size)
        at = bisect_right(self._starts, place) - 1
        rest, letters = place - self._starts[at], []
        for _ in range(self.shortest + at):
            rest, place = divmod(rest, len(self.alphabet))
            letters.append(self.alphabet[place])
        return "".join(reversed(letters))

    def number(self, member: Any) -> int | None:
        if not isinstance(member, str) or not self.shortest <= len(member) <= self.longest:
            return None
        found = 0
        for letter in member:
            place = self._places.get(letter)
            if place is None:
                return None
            found = found * len(self.alphabet) + place
        return self._starts[len(member) - self.shortest] + found


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Listed(Numbered):
    """The candidates of a list, each of them once."""

    members: tuple[Any, ...]
    _numbers: dict[Any, int] = field(compare=False)

    def __init__(self, members: Iterable[Any]) -> None:
        kept = tuple(members)
        if not kept:
            raise ValueError("there is no candidate to choose: the list is empty")
        try:
            numbers = {member: number for number, member in enumerate(kept)}
        except TypeError:
            raise TypeError("candidates of a domain must be hashable, such as tuples") from None
        if len(numbers) != len(kept):
            raise ValueError(TWICE)
        fill(self, members=kept, _numbers=numbers)

    def __repr__(self) -> str:
        return f"Listed({[*self.members]!r})"

    @property
    def size(self) -> int:
        return len(self.members)

    def member(self, number: int) -> Any:
        return self.members[_place(number, self.size)]

    def number(self, member: Any) -> int | None:
        try:
            return self._numbers.get(member)
        except TypeError:  # not hashable, as all members are
            return None


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Product(Numbered):
    """All tuples with one member from each part; the last part runs fastest.

    A part is a domain, a range or a list.

    >>> cells = Product(Integers(0, 119), ["f", "m"], Strings("0123456789", longest=5, shortest=5))
    >>> cells.size, cells.member(12_356_789), cells.number((61, "m", "56789"))
    (24000000, (61, 'm', '56789'), 12356789)
    """

    parts: tuple[Domain, ...]

    def __init__(self, *parts: Part) -> None:
        if not parts:
            raise ValueError("a product needs at least one part")
        fill(self, parts=tuple(as_domain(part) for part in parts))
        _check_size(self.size)

    def __repr__(self) -> str:
        parts = ([*part.members] if isinstance(part, Listed) else part for part in self.parts)
        return f"Product({', '.join(map(repr, parts))})"

    @property
    def size(self) -> int:
        return prod(part.size for part in self.parts)

    def member(self, number: int) -> tuple[Any, ...]:
        found, rest = [], _place(number, self.size)
        for part in reversed(self.parts):
            rest, place = divmod(rest, part.size)
            found.append(part.member(place))
        return tuple(reversed(found))

    def number(self, member: Any) -> int | None:
        if not isinstance(member, tuple) or len(member) != len(self.parts):
            return None
        found = 0
        for part, piece in zip(self.parts, member, strict=True):
            place = part.number(piece)
            if place is None:
                return None
            found = found * part.size + place
        return found


TWICE = "a candidate is listed twice; every candidate must be there once"


def as_domain(part: Part) -> Domain:
    """Return a domain as it is, and a range or a list as the domain of its members."""
    if isinstance(part, Domain):
        return part
    if isinstance(part, range) and part.step == 1 and part.start < part.stop:
        return Integers(part.start, part.stop - 1)
    if isinstance(part, str):
        raise TypeError("a string is no set of candidates; make it a list, or so.Strings(...)")
    if not isinstance(part, Iterable):
        raise TypeError(
            f"a part must be a domain, a range or a list, got a value of type {type(part).__name__}"
        )
    return Listed(part)


def members_of(domain: Domain) -> list[Any]:
    """Return all members of a domain that is not too large for that, in their order."""
    if domain.size > MOST_LISTED:
        raise ValueError(f"a domain of more than {MOST_LISTED:,} members is not gone through")
    return [domain.member(number) for number in range(domain.size)]


def _place(number: int, size: int) -> int:
    """Check the number of a member."""
    if not is_integer(number):
        raise TypeError(
            f"the number of a member must be whole, got a value of type {type(number).__name__}"
        )
    if not 0 <= number < size:
        raise IndexError("no member has this number; they are numbered from 0 to size - 1")
    return int(number)


def _check_size(size: int) -> None:
    if size.bit_length() > _LONGEST:
        raise ValueError(f"a domain may have 2**{_LONGEST} members, this one has more")
