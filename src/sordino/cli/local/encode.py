# SPDX-License-Identifier: Apache-2.0
"""`sordino local encode`: from a column of true answers, of which no message shows a value."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import typer

from sordino.answer.render import printable
from sordino.cli.local.commands import Answers, EncodeRequest
from sordino.cli.local.files import ENDINGS, at_once, bar, check_out, reports_file, unreadable
from sordino.cli.local.protocols import (
    AnyProtocol,
    as_text,
    choose_protocol,
    name_of,
    percentage,
    shape_of,
)
from sordino.cli.terminal import console_for, facts_of
from sordino.local.protocol import Protocol

_MAX_NAMES_SHOWN = 12


def encode(asked: Answers, request: EncodeRequest) -> None:
    """Read the answers, randomize each, write the reports, and say what was done."""
    protocol = choose_protocol(asked, request.protocol)
    check_out(request.out, request.file, force=request.force)
    answers = read_answers(request.file, request.column, protocol, skip=request.skip_missing)
    people = len(answers.values)
    nothing = "nothing was written"
    with (
        bar("encoding", people, as_json=request.as_json, nothing=nothing) as done,
        reports_file(request.out, protocol, people, force=request.force) as write,
    ):
        size = at_once(shape_of(protocol))
        for reports in protocol.client().stream(answers.values, at_once=size):
            write(reports.data)
            done(len(reports))
    if request.as_json:
        record = {
            "file": str(request.out),
            "protocol": name_of(protocol),
            "epsilon": as_text(protocol.epsilon),
            "people": people,
            "left_out": answers.missing,
            "standard_error": protocol.standard_error(people),
            "report_bits": protocol.report_bits,
            "fingerprint": protocol.fingerprint,
        }
        typer.echo(json.dumps(record, indent=2))
        return
    left_out = f"; {answers.missing:,} rows without an answer were left out"
    facts = [
        ("protocol", protocol.words),
        ("epsilon", f"{as_text(protocol.epsilon)} for each report"),
        ("people", f"{people:,}" + left_out * bool(answers.missing)),
        ("expected error", _error(protocol, people)),
        ("reports", f"{request.out}, {_bits(protocol.report_bits)} each"),
        ("keep in mind", "each encoding of the same answers costs the epsilon again"),
    ]
    console_for().print(facts_of(facts))


def _error(protocol: AnyProtocol, people: int) -> str:
    error = protocol.standard_error(people)
    if isinstance(protocol, Protocol):
        wide = percentage(protocol.half_width(people))
        return (
            f"{percentage(error)} percentage points for a category that is rare; intervals of at "
            f"most ± {wide}"
        )
    return f"a standard error of the mean of at most {error:.3g}"


def _bits(count: int) -> str:
    return f"{count:,} bit{'s' * (count != 1)}"


@dataclass(frozen=True, slots=True)
class Column:
    """The answers that are there, ready to be encoded, and how many rows had none."""

    values: Any
    missing: int


def read_answers(path: Path, column: str, protocol: AnyProtocol, *, skip: bool) -> Column:
    """Read a column as texts, whole numbers or numbers, whichever the protocol takes."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"{path} must end in {' or '.join(ENDINGS)}; save the answers as one")
    try:
        raw = _from_csv(path, column) if ending == ".csv" else _from_parquet(path, column)
        return _answers(raw, path, column, protocol, skip=skip)
    except OSError as error:
        raise unreadable(path, error) from None
    except pa.ArrowException:  # its words may show a value
        raise ValueError(
            f"column {column!r} of {path} holds text that is not UTF-8, or what is neither text "
            "nor numbers; write the file again"
        ) from None


def _answers(raw: Any, path: Path, column: str, protocol: AnyProtocol, *, skip: bool) -> Column:
    if not len(raw):
        raise ValueError(f"the file {path} has no rows, so nobody has answered")
    there = _emptied(raw)
    missing = there.null_count
    if missing and not skip:
        raise ValueError(
            f"{missing:,} of {len(there):,} rows have no answer in column {column!r}; leave them "
            "out with --skip-missing, or write 'no answer' there and add that category"
        )
    if missing == len(there):
        raise ValueError(f"no row has an answer in column {column!r}")
    there = there.drop_null()
    if not isinstance(protocol, Protocol):
        return Column(_as_numbers(there, column), missing)
    if isinstance(protocol.domain.labels, range):
        return Column(_as_whole(there, column).to_numpy(), missing)
    return Column(_as_text(there, column), missing)


def _from_csv(path: Path, column: str) -> Any:
    names = _header(path)
    _check_column(path, column, names)
    options = pcsv.ConvertOptions(
        include_columns=[column],
        column_types={column: pa.large_string()},
        null_values=[""],
        strings_can_be_null=True,
    )
    try:
        read = pcsv.read_csv(
            path,
            parse_options=pcsv.ParseOptions(
                newlines_in_values=True,
                ignore_empty_lines=len(names) > 1,  # where one is a row without an answer
            ),
            convert_options=options,
        )
    except (pa.ArrowException, ValueError) as error:  # its words show the row
        if "UTF8" in str(error):
            raise ValueError(f"the file {path} is not UTF-8; save it as CSV UTF-8") from None
        raise ValueError(
            f"the file {path} is no CSV file whose rows all have {len(names)} fields; "
            "save it as CSV UTF-8"
        ) from None
    return read.column(0)


def _header(path: Path) -> list[str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return next(csv.reader(file), [])
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(f"the file {path} is not UTF-8; save it as CSV UTF-8") from None


def _from_parquet(path: Path, column: str) -> Any:
    if not path.exists():
        raise ValueError(f"the file {path} cannot be read: No such file or directory")
    try:
        with pq.ParquetFile(path) as file:
            _check_column(path, column, file.schema_arrow.names)
            return file.read(columns=[column]).column(column)
    except (pa.ArrowException, UnicodeDecodeError):
        raise ValueError(
            f"the file {path} is no Parquet file, or a broken one; write it again"
        ) from None


def _check_column(path: Path, column: str, names: Sequence[str]) -> None:
    if not names:
        raise ValueError(f"the file {path} is empty; it must have a line of names and rows")
    if column not in names and path.suffix.lower() == ".csv":
        raise _without_name(path, column, names)
    if column not in names:
        shown = ", ".join(printable(name) for name in names[:_MAX_NAMES_SHOWN])
        more = ", ..." if len(names) > _MAX_NAMES_SHOWN else ""
        raise ValueError(f"the file {path} has no column {column!r}; its columns are {shown}{more}")
    if Counter(names)[column] > 1:
        raise ValueError(f"the file {path} has several columns {column!r}; rename all but one")


def _without_name(path: Path, column: str, names: Sequence[str]) -> ValueError:
    """Return the error about a CSV file without a column; its first line may be an answer."""
    many = f"{len(names):,} column{'s' * (len(names) != 1)}"
    semicolons = len(names) == 1 and ";" in names[0]
    return ValueError(
        f"the file {path} has no column {column!r}: its first line, which must be a line of names, "
        f"has {many} and not this one"
        + "; columns must be separated by commas, and it holds a semicolon"
        * semicolons
    )


def _emptied(column: Any) -> Any:
    """Return a column in which blank texts and numbers that are none are missing."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if _is_text(column.type):
        trimmed = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
        return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.large_string()), trimmed)
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return column


def _is_text(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _as_text(column: Any, name: str) -> Any:
    kind = column.type
    if _is_number(kind) and not pa.types.is_integer(kind):
        column = _as_whole(column, name)
    elif not (_is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        raise _no_category(name, kind)
    return column.cast(pa.large_string()).combine_chunks()  # in one piece it is looked up fast


def _no_category(name: str, kind: Any) -> ValueError:
    return ValueError(
        f"column {name!r} is of type {kind}, and categories are text, whole numbers or booleans; "
        "name another column"
    )


def _is_number(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _as_whole(column: Any, name: str) -> Any:
    kind = column.type
    if not (_is_text(kind) or _is_number(kind) or pa.types.is_boolean(kind)):
        raise _no_category(name, kind)
    try:
        return column.cast(pa.int64())
    except pa.ArrowException:
        raise ValueError(
            f"column {name!r} must hold whole numbers; list the categories with --categories "
            "a,b,c if they are words"
        ) from None


def _as_numbers(column: Any, name: str) -> Any:
    kind = column.type
    if not (_is_text(kind) or _is_number(kind) or pa.types.is_boolean(kind)):
        raise ValueError(
            f"column {name!r} is of type {kind}, and numbers are wanted; name another column"
        )
    if pa.types.is_integer(kind):
        return column.to_numpy()
    try:
        return column.cast(pa.float64()).to_numpy()
    except pa.ArrowException:
        raise ValueError(f"column {name!r} must hold numbers only; mend the others") from None
