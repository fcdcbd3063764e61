# SPDX-License-Identifier: Apache-2.0
"""Every call, by everybody: who may make it is written here a second time, and nothing else may."""

from collections.abc import Iterator
from typing import get_args

import pytest

from sordino.channel.calls import CALLS
from sordino.channel.messages import Role, Scope
from sordino.keeper.tokens import scopes_of
from tests.keeper.study import Study, code, study

ROLES: tuple[Role, ...] = get_args(Role)
SCOPES: tuple[Scope, ...] = get_args(Scope)
READERS = "analyst approver owner auditor"
EVERYBODY = "analyst approver owner auditor operator"

# Which roles may make a call, and which scope their token needs for it.
ALLOWED = {
    "me": (EVERYBODY, None),
    "catalog": (READERS, "price"),
    "prices": (READERS, "price"),
    "ask": ("analyst owner", "ask"),
    "answer": ("analyst owner auditor", None),
    "rehearse": (READERS, "rehearse"),
    "budget": (READERS, None),
    "history": (READERS, None),
    "ledger": ("owner auditor", "audit"),
    "heads": (EVERYBODY, None),
    "verify": ("owner auditor", "audit"),
    "unanswered": ("owner auditor", "audit"),
    "requests": (READERS, None),
    "petition": ("analyst owner", "ask"),
    "request": (READERS, None),
    "vote": ("approver owner", "decide"),
    "withdraw": ("analyst owner", "ask"),
    "people": ("owner", "own"),
    "person": ("owner", "own"),
    "dismiss": ("owner", "own"),
    "password": (EVERYBODY, None),
    "tokens": (EVERYBODY, None),
    "token": (EVERYBODY, None),
    "revoke": (EVERYBODY, None),
    "logout": (EVERYBODY, None),
    "check": ("owner", "own"),
    "swap": ("owner", "own"),
    "journal": ("owner auditor", "audit"),
    "health": ("owner operator", "operate"),
}
OPEN = {"login", "ready"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    with study(tmp_path_factory.mktemp("study"), server='slot = "off"') as made:
        for role in ROLES:
            made.person(role, role)
        yield made


def test_the_table_has_all_calls() -> None:
    assert {call.name for call in CALLS} == ALLOWED.keys() | OPEN


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_a_call_is_made_by_the_right_role_with_the_right_scope(
    served: Study, name: str, role: Role
) -> None:
    roles, needed = ALLOWED[name]
    for scopes in [(), *((scope,) for scope in SCOPES), scopes_of([role]), SCOPES]:
        reply = served.send(name, served.token(role, scopes))
        may = role in roles.split() and (needed is None or needed in scopes)
        is_refused = reply.status == 403 and code(reply) == "forbidden"
        # A call that may be made has no body here, and is refused for that alone, if it needs one.
        assert is_refused is not may, (name, role, scopes, reply)


@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_nobody_is_known_without_a_good_token(served: Study, name: str) -> None:
    good = served.token("owner", SCOPES)
    wrong = [None, "", "sd_", good[:-1], good[:-1] + ("A" if good[-1] != "A" else "B"), f"{good} "]
    replies = {served.send(name, credential).body for credential in wrong}
    assert len(replies) == 1
    assert served.send(name, None).status == 401


@pytest.mark.parametrize("name", sorted(OPEN))
def test_some_calls_are_for_everybody(served: Study, name: str) -> None:
    assert served.send(name).status in (200, 400)


def test_a_call_that_there_is_not_is_not_there(served: Study) -> None:
    assert served.send("shutdown", served.token("owner", SCOPES)).status == 404


def test_who_asks_is_never_in_the_body(served: Study) -> None:
    body = {"question": {"sql": "SELECT COUNT(*) FROM visits", "epsilon": 1}, "who": "owner"}
    assert served.send("ask", served.token("analyst", SCOPES), body).status == 400
