# SPDX-License-Identifier: Apache-2.0
"""A session on a Spark Connect server: statements with bound values, a deadline, and an interrupt.

The client writes what it is told of a failure to standard error, values of rows and all; it is kept
from doing so.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import sys
import threading
import warnings
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from time import monotonic
from typing import TYPE_CHECKING, Any

from sordino.engine.compile.dialect import Bound
from sordino.engine.protocol import Progress
from sordino.engine.spark.settings import settle
from sordino.errors import CatalogError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

TOKEN = "SPARK_CONNECT_TOKEN"  # noqa: S105  # the variable that a token is taken from
_USER = "sordino"
_STOPPING = 1.0  # seconds between two interrupts of a statement
_PATIENCE = 15.0  # seconds in which a statement that was interrupted has to end
_SILENCE = 20_000  # milliseconds of silence after which a server is asked whether it is there
_RETRIES: dict[str, Any] = {
    "max_retries": 3,
    "initial_backoff": 50,
    "max_backoff": 500,
    "backoff_multiplier": 2.0,
}


class DeadlinePassed(Exception):
    """A question took longer than it may."""


def arguments(bound: Sequence[Bound]) -> dict[str, object]:
    """Return bound values by the names that a statement has for them.

    Spark writes what is bound into the statement before it reads it, so text goes there as digits.

    >>> arguments([37, "flu", ["a", None]])
    {'p1': 37, 'p2': '666C75', 'p3': '5B2261222C206E756C6C5D'}
    """
    return {f"p{place + 1}": _argument(value) for place, value in enumerate(bound)}


def _argument(value: Bound) -> object:
    if isinstance(value, list):
        return _digits(json.dumps([None if item is None else _word(item) for item in value]))
    if isinstance(value, str):
        return _digits(value)
    return value.isoformat() if isinstance(value, date) else value


def _digits(text: str) -> str:
    return text.encode().hex().upper()


def _word(value: object) -> str:
    """Return a value of a list as Spark reads it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date) else str(value)


class Connection:
    """A session of our own on a server, with the settings that statements rest on.

    It may be shared by threads. ``is_usable`` tells whether the server still has it.
    """

    def __init__(self, address: str) -> None:
        self._process = os.getpid()
        self._watching = threading.Lock()
        self.is_broken = False
        self.session = _opened(address)
        # A session that is left to the end of the process would keep it from ending.
        self._cleanup = weakref.finalize(self, _stop, self.session, self._process)
        try:
            settle(self.session)
        except CatalogError:
            self.close()
            raise
        except Exception as error:
            self.close()
            raise CatalogError(_unopened(error)) from None

    @property
    def is_usable(self) -> bool:
        """Tell whether the server is there and has the session, with its settings."""
        if self.is_broken or self._process != os.getpid():
            return False
        try:
            return self.session.conf.get("spark.sql.ansi.enabled") == "true"
        except Exception:
            return False

    def rows(self, sql: str, bound: Sequence[Bound] = ()) -> pa.Table:
        """Return the rows of a SELECT."""
        return self.selected(sql, bound).toArrow()

    def selected(self, sql: str, bound: Sequence[Bound] = ()) -> DataFrame:
        """Return a SELECT that is not carried out yet.

        The client's own way to make one asks the server first, and again for its rows.
        """
        from pyspark.sql.connect.dataframe import DataFrame as Selected
        from pyspark.sql.connect.functions.builtin import lit
        from pyspark.sql.connect.plan import SQL

        named = {name: lit(value) for name, value in arguments(bound).items()}
        return Selected(SQL(sql, [], named, []), self.session)

    def answer(
        self, sql: str, bound: Sequence[Bound], progress: Progress | None, due: float | None
    ) -> pa.Table:
        """Return the rows of a SELECT; the keyboard can interrupt it, and so can time."""
        tag = f"sordino-{secrets.token_hex(16)}"
        outcome: list[Any] = []
        done = threading.Event()

        def work() -> None:
            try:
                self.session.addTag(tag)  # of this thread alone
                outcome.append(self.rows(sql, bound))
            except BaseException as error:
                outcome.append(error)
            finally:
                done.set()

        with self._told(progress):
            threading.Thread(target=work, daemon=True).start()
            try:
                if not done.wait(None if due is None else max(0.0, due - monotonic())):
                    raise DeadlinePassed
            except BaseException:
                self._stop(tag, done)
                raise
        (result,) = outcome
        if isinstance(result, BaseException):
            raise result
        return result

    def _stop(self, tag: str, done: threading.Event) -> None:
        """End a statement; a session on which it goes on is not used again."""
        until = monotonic() + _PATIENCE
        while not done.is_set() and monotonic() < until:
            with suppress(Exception):
                self.session.interruptTag(tag)
            done.wait(_STOPPING)
        if not done.is_set():
            self.is_broken = True

    @contextmanager
    def _told(self, progress: Progress | None) -> Iterator[None]:
        """Tell how much is done, to one question at a time."""
        if progress is None or not self._watching.acquire(blocking=False):
            yield
            return

        def tell(stages: Any, **_: Any) -> None:
            tasks = sum(stage.num_tasks for stage in stages or ())
            if tasks:
                ended = sum(stage.num_completed_tasks for stage in stages)
                progress(min(ended / tasks, 1.0))

        handler: Any = tell  # a function will do
        try:
            self.session.registerProgressHandler(handler)
            yield
            progress(1.0)
        finally:
            self.session.removeProgressHandler(handler)
            self._watching.release()

    def view(self, name: str, frame: DataFrame) -> None:
        """Give rows a name in this session."""
        frame.createOrReplaceTempView(name)

    def close(self) -> None:
        """Let go of the session, unless it is that of another process."""
        self._cleanup()


def _stop(session: SparkSession, process: int) -> None:
    if process == os.getpid():
        with suppress(Exception):
            session.stop()


@contextmanager
def _named_program() -> Iterator[None]:
    """Give the program a file while the client is loaded.

    The client takes a program without one, as of ``python -c``, for doctests of Spark itself, and
    ends the process.
    """
    program = sys.modules["__main__"]
    if hasattr(program, "__file__"):
        yield
        return
    program.__file__ = ""
    try:
        yield
    finally:
        del program.__file__


def _opened(address: str) -> SparkSession:
    _silence()
    try:
        with _named_program(), warnings.catch_warnings():  # of pandas, which is not used
            warnings.simplefilter("ignore", FutureWarning)
            from pyspark.sql.connect.client import DefaultChannelBuilder
            from pyspark.sql.connect.client.retries import DefaultPolicy
            from pyspark.sql.connect.session import SparkSession
    except ImportError:
        raise CatalogError(
            "a table that Spark reads needs pyspark-client, which is not installed; "
            "pip install 'sordino[spark]'"
        ) from None
    try:
        builder = DefaultChannelBuilder(address)
    except Exception as error:
        raise CatalogError(f"{address!r} is no address of a Spark Connect server") from error
    if os.environ.get(TOKEN):
        builder.set("token", os.environ[TOKEN])
    builder.setChannelOption("grpc.keepalive_time_ms", _SILENCE)
    builder.setChannelOption("grpc.keepalive_timeout_ms", _SILENCE)
    builder.setChannelOption("grpc.enable_http_proxy", 0)
    session = SparkSession(connection=builder, userId=_USER)
    session.client.set_retry_policies([DefaultPolicy(**_RETRIES)])
    return session


def _silence() -> None:
    """Keep the client from writing to standard error what a server says of rows."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).disabled = True


def _unopened(error: Exception) -> str:
    """Say why a server cannot be asked; nothing private was read."""
    said = str(error).partition("\n")[0]
    return f"the Spark server cannot be asked: {type(error).__name__}: {said}"


def options(session: SparkSession) -> Mapping[str, str]:
    """Return the settings that a session has been given."""
    held: Mapping[str, str] = session.conf.getAll
    return held
