# SPDX-License-Identifier: Apache-2.0
"""A visit: one request, with who sends it and what it meets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from sordino.channel.calls import Call
from sordino.channel.frames import Reply, Request
from sordino.channel.messages import Body, Role
from sordino.keeper.generations import Generation
from sordino.keeper.problems import Refusal, forbidden
from sordino.keeper.tokens import Caller
from sordino.session import Session

if TYPE_CHECKING:
    from sordino.keeper.keeper import Keeper

B = TypeVar("B", bound=Body)

_LARGEST_COUNT = 10_000


@dataclass(frozen=True, slots=True)
class Visit:
    """One request: what was sent, by whom, when it came, and the generation that it meets.

    ``arrived`` is in seconds of a clock that only goes forward.
    """

    keeper: Keeper
    request: Request
    call: Call
    caller: Caller | None
    body: Body | None
    arrived: float
    generation: Generation

    @property
    def by(self) -> Caller:
        """Who asks, of a call that is for nobody else."""
        if self.caller is None:
            raise forbidden()
        return self.caller

    @property
    def session(self) -> Session:
        """The session of who asks."""
        return self.generation.session.of(self.by.who)

    def has_role(self, *roles: Role) -> bool:
        """Tell whether who asks has one of these roles."""
        return bool(self.by.roles & set(roles))

    @property
    def may_audit(self) -> bool:
        """Tell whether who asks may read what is of others: by their role, and with this token."""
        return self.has_role("owner", "auditor") and "audit" in self.by.token.scopes

    @property
    def may_decide(self) -> bool:
        """Tell whether who asks may decide requests: by their role, and with this token."""
        return self.has_role("approver", "owner") and "decide" in self.by.token.scopes

    def read(self, kind: type[B]) -> B:
        """Return the body, which is of the kind that the call takes."""
        if not isinstance(self.body, kind):
            raise TypeError(f"this call takes {kind.__name__}")
        return self.body

    def number(self, name: str, otherwise: int, most: int = _LARGEST_COUNT) -> int:
        """Return a number of the query: from 1, and no larger than may be asked for."""
        text = self.request.query.get(name)
        if text is None:
            return otherwise
        if not (text.isascii() and text.isdigit() and len(text) <= 18 and int(text) >= 1):
            raise Refusal("query", 400, f"{name} must be a whole number from 1")
        return min(int(text), most)


Handler: TypeAlias = Callable[[Visit], Reply]
Desk: TypeAlias = Mapping[str, Handler]
