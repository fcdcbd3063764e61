# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share, and how numbers that were typed are read."""

import inspect
import sys
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast, get_type_hints

import typer

if TYPE_CHECKING:
    from decimal import Decimal

    from sordino.plan.ask import Ask

CATALOG = Path("sordino.toml")
OWNER = "owner"
SURE = "0.95"
_STANDARD_INPUT = "-"
_PRICES = ("epsilon", "rho", "within")
_TYPED = "typed"  # where a field keeps how it is typed


def typed_secret(what: str) -> str:
    """Read a token or a password: unseen in a terminal, or a line of standard input.

    A prompt that hides what is typed would warn of an echo where there is no terminal.
    """
    if sys.stdin.isatty():
        return cast("str", typer.prompt(what, hide_input=True, err=True))
    line = sys.stdin.readline().rstrip("\r\n")
    if not line:
        raise ValueError(f"a {what} is read from standard input, and nothing came")
    return line


def whole(*, least: int | None = None, most: int | None = None) -> Callable[[str | int], int]:
    """Return a reader for an option that takes a whole number in plain digits.

    Python itself would take 1_0 for ten.
    """

    def read(text: str | int) -> int:
        if isinstance(text, int):  # what holds if nothing was typed
            return text
        from sordino.numbers.rational import whole_of  # numpy is loaded only here

        try:
            number = whole_of("it", text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        if least is not None and number < least:
            raise typer.BadParameter(f"it must be at least {least}, got {number}")
        if most is not None and number > most:
            raise typer.BadParameter(f"it must be at most {most}, got {number}")
        return number

    return read


AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON, for programs; errors are JSON too.")
]
Force: TypeAlias = Annotated[bool, typer.Option("--force", help="Write over a file that exists.")]
Plot: TypeAlias = Annotated[
    Path | None, typer.Option(help="Also draw it into this file (.png, .svg, .pdf).")
]
CatalogFile: TypeAlias = Annotated[
    Path, typer.Option("--catalog", help="The file that declares the tables and the budget.")
]
ServerName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--server",
        envvar="SORDINO_SERVER",
        help="Ask this server instead: its address, or its name after 'sordino login'.",
    ),
]
Who: TypeAlias = Annotated[str, typer.Option(help="Who asks, and whose share is charged.")]
Sql: TypeAlias = Annotated[
    str, typer.Argument(help="The question in SQL, or - to read it from standard input.")
]
Receipt: TypeAlias = Annotated[
    str | None,
    typer.Option(help="The receipt of an earlier answer; a ledger that lacks it is refused."),
]


# Records of options: what a command takes is said once, and handed on as one value. --------------


def option(said: str, *names: str, default: Any = MISSING, **how: Any) -> Any:
    """Return the field of an option, under its own name or these; without a default it is needed.

    ``said`` is its line of the help.
    """
    return field(default=default, metadata={_TYPED: typer.Option(*names, help=said, **how)})


def argument(said: str, *, default: Any = MISSING) -> Any:
    """Return the field of an argument, which is typed without a name; see ``option``."""
    return field(default=default, metadata={_TYPED: typer.Argument(help=said)})


def count(
    said: str, *, default: int | None, least: int | None = None, most: int | None = None
) -> Any:
    """Return the field of an option that takes a whole number; see ``option``."""
    return option(said, default=default, parser=whole(least=least, most=most), metavar="<int>")


def takes_records(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take every field of its records as an option, in place of the record."""
    hints = get_type_hints(command, include_extras=True)
    records: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        hint = hints[parameter.name]
        if is_dataclass(hint):
            records[parameter.name] = hint
            parameters += _parameters_of(hint)
        else:
            parameters.append(parameter.replace(annotation=hint))

    @wraps(command)
    def with_records(**typed: Any) -> None:
        made = {
            name: record(**{one.name: typed.pop(one.name) for one in fields(record)})
            for name, record in records.items()
        }
        command(**made, **typed)

    with_records.__annotations__ = {one.name: one.annotation for one in parameters}
    vars(with_records)["__signature__"] = inspect.Signature(parameters)
    return with_records


def _parameters_of(record: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(record, include_extras=True)
    parameters = []
    for one in fields(record):
        hint, default = hints[one.name], one.default
        if _TYPED in one.metadata:  # else the hint itself says how it is typed
            hint = Annotated[hint, one.metadata[_TYPED]]
        default = inspect.Parameter.empty if default is MISSING else default
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(one.name, kind, default=default, annotation=hint))
    return parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What an answer may cost and how sure it is to be, as it was typed: numbers are texts."""

    epsilon: str | None = option("What the answer may cost.", default=None)
    rho: str | None = option("The same, where the budget counts rho.", default=None)
    within: str | None = option(
        "How far off the answer may be, such as 50 or 5%, instead of what it costs.", default=None
    )
    confidence: str = option("How sure error bars are to be.", default=SURE)
    delta: str | None = option("What discovering keys may cost besides.", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed(Price):
    """The terms of a question as they were typed: numbers are still texts."""

    rows: int | None = count("How many rows of one unit count.", default=None)
    groups: int | None = count("How many groups of one unit count.", default=None)
    rows_per_group: int | None = count(
        "How many rows of one unit count in each group.", default=None
    )
    expected_rows: str | None = option(
        "A public guess at the rows of a group, for error bars.", default=None
    )
    diagnostics: bool = option(
        "Spend a tenth on saying how much is cut off.", "--diagnostics", default=False
    )

    @property
    def priced(self) -> bool:
        """Whether a price, or how far off an answer may be, was typed."""
        return any(getattr(self, name) is not None for name in _PRICES)

    def changed(self, name: str, text: str) -> "Typed":
        """Return the same terms with one changed; a price takes the place of another one."""
        forgotten: dict[str, Any] = dict.fromkeys(_PRICES) if name in _PRICES else {}
        return replace(self, **{**forgotten, name: text})

    def read(
        self,
        sql: str,
        *,
        nonnegative: bool = False,
        consistent: bool = False,
        fresh: bool = False,
    ) -> "Ask":
        """Read what is asked; raises ValueError for what is no number, or out of range."""
        from sordino.numbers.rational import decimal_of  # numpy is loaded only here
        from sordino.plan.ask import PriceError, read_ask

        try:
            return read_ask(
                sql,
                epsilon=_number("epsilon", self.epsilon),
                rho=_number("rho", self.rho),
                within=_width(self.within),
                confidence=decimal_of("confidence", self.confidence),
                delta=_number("delta", self.delta),
                rows=self.rows,
                groups=self.groups,
                rows_per_group=self.rows_per_group,
                expected_rows=_number("expected rows", self.expected_rows),
                diagnostics=self.diagnostics,
                nonnegative=nonnegative,
                consistent=consistent,
                fresh=fresh,
            )
        except PriceError:
            raise ValueError(
                "say what the answer may cost, such as --epsilon 0.5, or how far off it may be, "
                "such as --within 50; one of the two"
            ) from None


def read_sql(ask: "Ask") -> "Ask":
    """Return what is asked, the SQL from standard input if a dash was typed for it."""
    return replace(ask, sql=sys.stdin.read()) if ask.sql == _STANDARD_INPUT else ask


def _number(name: str, text: str | None) -> "Decimal | None":
    from sordino.numbers.rational import decimal_of  # numpy is loaded only here

    return None if text is None else decimal_of(name, text)


def _width(text: str | None) -> "Decimal | str | None":
    if text is None or not text.endswith("%"):
        return _number("within", text)
    _number("within", text[:-1])
    return text
