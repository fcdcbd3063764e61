# SPDX-License-Identifier: Apache-2.0
"""How the commands of the local model fail: always in a sentence, whatever a library says."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sordino.cli.usage import refusals

_TOO_LARGE = "a number is too large or too small to be computed with; take one of usual size"
_NO_MEMORY = "there is not enough memory for this; take fewer categories, or a smaller file"
_FOREIGN = "a file holds what cannot be read; write it again"


@contextmanager
def local_refusals(*, as_json: bool) -> Iterator[None]:
    """Show an error as one message on standard error; the words of libraries are not shown."""
    with refusals(as_json=as_json):
        try:
            yield
        except ArithmeticError:
            raise ValueError(_TOO_LARGE) from None
        except (MemoryError, RecursionError):
            raise ValueError(_NO_MEMORY) from None
        except Exception as error:
            if _is_from_arrow(error):  # its words may show a value
                raise ValueError(_FOREIGN) from None
            raise


def _is_from_arrow(error: Exception) -> bool:
    arrow = sys.modules.get("pyarrow")  # slow to load, and without it there is no such error
    return arrow is not None and isinstance(error, arrow.ArrowException)
