# SPDX-License-Identifier: Apache-2.0
"""What the owner is told of a failure: what failed and of which kind, and no value of a row.

A database quotes values in what it says of an error, so its words are kept only where they are of
memory, of files, or of an interrupt. A trace would have them too, and is left out.
"""

from __future__ import annotations

import logging

from sordino.errors import SordinoError

_OWNER_LOG = logging.getLogger("sordino.owner")
_OWNER_LOG.addHandler(logging.NullHandler())  # what is logged is for the owner, not for stderr

_SAFE_TO_QUOTE = (SordinoError, MemoryError, OSError)


def tell_owner(
    what: str,
    error: BaseException,
    *,
    public: bool = False,
    charge: str | None = None,
    safe: tuple[type[BaseException], ...] = (),
) -> None:
    """Write a failure to the owner's log; ``public`` if it cannot have met a value of a row.

    ``charge`` says of which charge it is, as in "people:7". ``safe`` are failures of an engine that
    quote no value.
    """
    said = "; what it says is left out, for it may quote a value"
    if public or isinstance(error, (*_SAFE_TO_QUOTE, *safe)):
        said = f": {str(error).splitlines()[0] if str(error) else ''}"
    # The log keeps the text of a record and none of its arguments, which might be values.
    _OWNER_LOG.error(f"{what}: {type(error).__name__}{said}", extra={"charge": charge})
