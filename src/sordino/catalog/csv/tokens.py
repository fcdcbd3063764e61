# SPDX-License-Identifier: Apache-2.0
"""Where the rows of a CSV file and their cells lie: whole arrays of positions, no loop over cells.

A byte is inside of a quoted cell if an odd number of quotes stands before it. In a well-formed file
that is so whatever the cells hold, because a quote within a quoted cell is written twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Places: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Bytes: TypeAlias = NDArray[np.uint8]

PIECE = 1 << 22  # bytes of a long row that are looked at at once
_LF, _CR = 10, 13
REASONS = (  # why a line is not well-formed
    "a quote stands in the middle of a value",
    "a quoted value goes on after its closing quote",
    "a quoted value does not end",
)
_OPENING, _CLOSING, _UNENDED = range(len(REASONS))


@dataclass(frozen=True, slots=True)
class Rows:
    """The whole rows at the beginning of a block of bytes.

    Cell i has the bytes from ``ends[2 * i]`` to ``ends[2 * i + 1]``, without its quotes, and is
    ``doubled`` if quotes in it are still written twice. A row has ``many`` cells, the ``first`` of
    which is given, and begins in one of ``lines``. ``width`` is how many cells every row has, and 0
    if they differ or one was left out. ``used`` bytes of the block are done with, in ``passed``
    lines; what comes after them is the beginning of another row. ``bad`` are the lines that are not
    well-formed, each for one of ``reasons``. Lines count from 0.
    """

    ends: Places
    doubled: Flags | None
    first: Places
    many: Places
    width: int
    lines: Places
    used: int
    passed: int
    bad: Places
    reasons: Places


@dataclass(frozen=True, slots=True)
class _Quotes:
    """Which marks are quotes, and which marks stand inside of a quoted cell.

    A quote counts as inside if it opens a cell, or is the second of two. ``joined`` are the marks
    that another mark follows at once, ``after`` those that follow one at once, and ``repeated``
    those that follow a quote at once. Which marks were left out does not matter for them.
    """

    are: Flags
    inside: Flags
    joined: Flags
    after: Flags
    repeated: Flags

    @property
    def second(self) -> Places:
        """The quotes that are the second of two, and belong to a value."""
        return np.flatnonzero(self.are & self.inside & self.repeated)


@dataclass(frozen=True, slots=True)
class _Marks:
    """The separators, line feeds and quotes of a block, in the order of their places."""

    data: Bytes
    places: Places
    feeds: Flags
    quotes: _Quotes | None  # None if there are none
    by_line: bool

    @property
    def borders(self) -> Flags:
        """The marks that end a cell."""
        if self.quotes is None:
            return np.ones(len(self.places), bool)
        outside = ~(self.quotes.are | self.quotes.inside)
        return outside | self.feeds if self.by_line else outside


def rows_of(
    block: bytes, separator: str, quote: str, *, by_line: bool, last: bool, most: int | None = None
) -> Rows:
    """Find the rows of a block that begins with a row; the ``last`` block must end with a line.

    With ``by_line`` every line is a row, and those that are not well-formed are left out. Without
    it quoted cells may hold line feeds, and a bad line leaves the others without a meaning. Cells
    after the first ``most`` of a row may be given as one.
    """
    marks = _marked(block, separator, quote, by_line=by_line, most=most)
    data, borders = marks.data, marks.borders
    closing = np.flatnonzero(marks.feeds[borders])  # the last cell of each row
    stops = marks.places[borders][: closing[-1] + 1 if len(closing) else 0]
    used = int(stops[-1]) + 1 if len(stops) else 0
    bad, reasons = _bad_lines(marks, len(data) if last else used)

    begins, first = _after(stops), _after(closing)
    many = closing - first + 1
    final = stops[closing]
    lines, passed = _lines(marks, final)
    stops[closing] = final - ((final > begins[closing]) & (data[final - 1] == _CR))
    filled = (many > 1) | (stops[first] > begins[first])
    doubled = None
    if marks.quotes is not None:
        doubled = _doubled(marks.quotes, borders, len(stops))
        quoted = (stops > begins) & (data[begins] == ord(quote))
        begins += quoted
        stops = np.maximum(stops - quoted, begins)  # a bad line may have a quote and no more
    if by_line:
        filled[bad] = False
    ends = np.empty(2 * len(begins), np.int64)
    ends[0::2], ends[1::2] = begins, stops
    width = int(many[0]) if len(many) and (many == many[0]).all() else 0
    if not filled.all():
        first, many, lines, width = first[filled], many[filled], lines[filled], 0
    return Rows(ends, doubled, first, many, width, lines, used, passed, bad, reasons)


def _after(places: Places) -> Places:
    """Return where things begin of which each one ends at a place, and the first begins at 0."""
    begins = np.zeros(len(places), np.int64)
    begins[1:] = places[:-1] + 1
    return begins


def _marked(block: bytes, separator: str, quote: str, *, by_line: bool, most: int | None) -> _Marks:
    data = np.frombuffer(block, np.uint8)
    quoting = bool(quote) and quote.encode() in block
    if most is not None and len(data) > 2 * PIECE:
        if quoting:
            return _first_marks(data, separator, quote, by_line=by_line, most=most)
        places = _first_places(data, separator, most)
        return _Marks(data, places, data[places] == _LF, None, by_line)
    signs = _signs(data, separator)
    if quoting:
        signs |= data == ord(quote)
    places = np.flatnonzero(signs)
    kinds = data[places]
    feeds = kinds == _LF
    if not quoting:
        return _Marks(data, places, feeds, None, by_line)
    quotes = kinds == ord(quote)
    odd, _ = _inside(quotes, feeds, before=False, by_line=by_line)
    joined = np.zeros(len(places), bool)
    joined[:-1] = places[1:] - places[:-1] == 1
    after = np.zeros(len(places), bool)
    after[1:] = joined[:-1]
    repeated = after.copy()
    repeated[1:] &= quotes[:-1]
    return _Marks(data, places, feeds, _Quotes(quotes, odd, joined, after, repeated), by_line)


def _inside(quotes: Flags, feeds: Flags, *, before: bool, by_line: bool) -> tuple[Flags, bool]:
    """Tell which marks have an odd number of quotes up to them, and whether the next would.

    ``before`` tells it of those before the first one. If lines stand for themselves, quotes are
    counted from the beginning of each.
    """
    odd = np.logical_xor.accumulate(quotes)
    if not by_line:
        odd ^= before
        return odd, bool(odd[-1]) if len(odd) else before
    starts = np.concatenate([np.array([before]), odd[feeds]])
    last = bool(odd[-1] ^ starts[-1]) if len(odd) else before
    return odd ^ starts[np.cumsum(feeds) - feeds], last


def _signs(data: Bytes, separator: str) -> Flags:
    signs: Flags = data == ord(separator)
    signs |= data == _LF
    return signs


def _first_places(data: Bytes, separator: str, most: int) -> Places:
    """Return where line feeds are, and the first separators of each row, piece by piece.

    A block is this long where a row is, and the places of all its separators would take many times
    the memory that the row takes.
    """
    kept = []
    seen = 0  # separators of the row in which a piece begins
    for start in range(0, len(data), PIECE):
        piece = data[start : start + PIECE]
        places = np.flatnonzero(_signs(piece, separator))
        feeds = piece[places] == _LF
        order = np.arange(len(places))
        feed = np.full(len(places) + 1, -1 - seen)  # the last one before each mark
        feed[1:][feeds] = order[feeds]
        feed = np.maximum.accumulate(feed)
        kept.append(start + places[feeds | (order - feed[:-1] <= most)])
        seen = len(places) - 1 - int(feed[-1])
    return np.concatenate(kept)


def _first_marks(data: Bytes, separator: str, quote: str, *, by_line: bool, most: int) -> _Marks:
    """Return marks as above, where there are quotes, and leave out what no row can use.

    That is separators inside of quotes, those after the first of a row, and, of quotes that stand
    two and two within a cell, all after the first two.
    """
    found: list[tuple[Places, Flags]] = []
    odd, seen = False, 0  # whether a piece begins inside of quotes, and separators of its row
    step = max(PIECE // 4, 1)  # more is known of each mark than above
    for start in range(0, len(data), step):
        piece = data[start : start + step]
        signs = _signs(piece, separator)
        signs |= piece == ord(quote)
        places = np.flatnonzero(signs)
        if not len(places):
            continue
        kinds = piece[places]
        feeds, quotes = kinds == _LF, kinds == ord(quote)
        inside, odd = _inside(quotes, feeds, before=odd, by_line=by_line)
        ends = feeds if by_line else feeds & ~inside
        between = ~(feeds | quotes | inside)
        order = seen + np.cumsum(between)
        ended = np.maximum.accumulate(np.where(ends, order, 0))  # those of rows before
        seen = int(order[-1] - ended[-1])
        kept = feeds | quotes | (between & (order - ended <= most))
        places, inside, quotes = start + places[kept], inside[kept], quotes[kept]
        second = quotes & inside & (places > 0) & (data[places - 1] == ord(quote))
        again = np.zeros(len(places), bool)
        again[2:] = second[2:] & second[:-2]
        again[:-1] |= again[1:]
        found.append((places[~again], inside[~again]))
    places, inside = (np.concatenate(parts) for parts in zip(*found, strict=True))
    kinds = data[places]
    sides = [data[np.clip(places + side, 0, len(data) - 1)] for side in (-1, 1)]
    before, behind = (_signs(side, separator) | (side == ord(quote)) for side in sides)
    before &= places > 0
    behind &= places < len(data) - 1
    repeated = before & (sides[0] == ord(quote))
    quoted = _Quotes(kinds == ord(quote), inside, behind, before, repeated)
    return _Marks(data, places, kinds == _LF, quoted, by_line)


def _lines(marks: _Marks, final: Places) -> tuple[Places, int]:
    """Return the line in which each row begins, and how many lines all of them have."""
    feeds = marks.places[marks.feeds]
    if not len(final) or len(feeds) == len(final) or feeds[len(final) - 1] == final[-1]:
        return np.arange(len(final)), len(final)
    passed = np.searchsorted(feeds, final) + 1  # quoted cells hold line feeds
    return np.concatenate([np.zeros(1, np.int64), passed[:-1]]), int(passed[-1])


def _doubled(quotes: _Quotes, borders: Flags, cells: int) -> Flags | None:
    """Tell which cells have quotes that are written twice, or None if there are none."""
    second = quotes.second
    if not len(second):
        return None
    flags = np.zeros(cells + 1, bool)  # the last one is for rows that are not whole yet
    flags[np.minimum(np.searchsorted(np.flatnonzero(borders), second), cells)] = True
    return flags[:-1]


def _bad_lines(marks: _Marks, end: int) -> tuple[Places, Places]:
    """Return the lines before an end that are not well-formed, and the first reason of each.

    If lines do not stand for themselves, a fault is told as soon as it is certain, also in a row
    that is not whole yet: what follows a stray quote must not be kept in memory to the end.
    """
    data, places, quotes = marks.data, marks.places, marks.quotes
    if quotes is None:
        return places[:0], places[:0]
    if not marks.by_line:
        end = max(end, len(data) - 2)  # by then the two bytes after each mark are there
    alone = quotes.are & quotes.inside & ~quotes.after & (places > 0)
    loose = places[quotes.are & ~quotes.inside & ~quotes.joined]
    near, far = (np.minimum(loose + step, len(data) - 1) for step in (1, 2))
    loose = loose[(data[near] != _CR) | (data[far] != _LF)]
    found = [(places[alone], _OPENING), (loose, _CLOSING)]
    if marks.by_line:
        found.append((places[marks.feeds & quotes.inside], _UNENDED))
    elif end == len(data) and quotes.inside[-1]:
        opening = np.setdiff1d(np.flatnonzero(quotes.are & quotes.inside), quotes.second)
        found.append((places[opening[-1:]], _UNENDED))
    where = np.concatenate([faults for faults, _ in found])
    if not len(where):
        return where, where
    reasons = np.concatenate([np.full(len(faults), reason) for faults, reason in found])
    order = np.argsort(where, kind="stable")
    order = order[where[order] < end]
    lines = np.searchsorted(places[marks.feeds], where[order])
    bad, firsts = np.unique(lines, return_index=True)
    return bad, reasons[order][firsts]
