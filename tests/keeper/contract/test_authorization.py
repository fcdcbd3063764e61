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


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """Somebody has an answer, and a request that waits."""
    server = 'slot = "off"\napprove_above = 0.2'
    with study(tmp_path_factory.mktemp("study"), server=server) as made:
        for role in ROLES:
            made.person(role, role)
        zoe = made.person("zoe", "analyst")
        assert made.ask(zoe).status == 200
        assert made.ask(zoe, epsilon="0.5").status == 202
        yield made


# Which roles may read what is somebody else's, and which scopes of their token let them.
OF_OTHERS = {
    "value": ("owner", {"audit"}),
    "certificate": ("owner auditor", {"audit"}),
    "budget": ("owner auditor", {"audit"}),
    "history": ("owner auditor", {"audit"}),
    "requests": ("approver owner auditor", {"audit", "decide"}),
    "request": ("approver owner auditor", {"audit", "decide"}),
}


def of_zoe(served: Study, what: str, credential: str) -> bool:
    """Tell whether something of somebody else is shown."""
    match what:
        case "value" | "certificate":
            query = {"format": "json" if what == "value" else "certificate"}
            path = {"answer": "people:2"}
            return served.send("answer", credential, path=path, query=query).status == 200
        case "request":
            return served.send("request", credential, path={"request": "1"}).status == 200
        case _:
            return b"zoe" in served.send(what, credential).body


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("what", sorted(OF_OTHERS))
def test_what_is_of_others_needs_role_and_scope(asked: Study, what: str, role: Role) -> None:
    roles, needed = OF_OTHERS[what]
    for scope in SCOPES:
        # An auditor decides nothing, and an approver audits nothing, whatever the token says.
        may = role in roles.split() and scope in needed & scopes_of([role])
        assert of_zoe(asked, what, asked.token(role, [scope])) is may, (what, role, scope)


def test_what_is_ones_own_needs_no_scope(asked: Study) -> None:
    for what in OF_OTHERS:
        assert of_zoe(asked, what, asked.token("zoe", [])), what
