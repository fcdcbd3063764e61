# SPDX-License-Identifier: Apache-2.0
"""Requests that are wrong in some way: each is refused in its form, and none of them is charged.

They go through a gateway to a keeper with a ledger of its own, which is looked at after each.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote, urlencode

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.core.result import Ok

from sordino.channel.calls import BY_NAME
from sordino.gateway.openapi import contents, statuses
from tests.service.attack.hostile import NUMBERS, QUESTIONS, bodies, targets, values_of
from tests.support.services import ROLES, Heard, HeldKeeper, Service, clinic

SCHEMA = schemathesis.openapi.from_dict(contents())
OPERATIONS = {
    one.definition.raw["operationId"]: one
    for one in (result.ok() for result in SCHEMA.get_all_operations() if isinstance(result, Ok))
}
OF_EACH, BODIES, TARGETS = 15, 700, 200
LONG, LONG_OF_EACH = 50_000, 40  # requests of a soak, and of each operation in a round of it
Test = Callable[..., None]
KEYS = {"type", "title", "status", "detail", "code", "why", "hint", "span", "arguments"}
POSTS = sorted(call.name for call in BY_NAME.values() if call.body is not None)


class Judge:
    """Sends requests, and says what is wrong with how they were answered."""

    def __init__(self, keeper: HeldKeeper, service: Service) -> None:
        self.keeper, self.service = keeper, service
        self.sent = self.refused = 0
        self.statuses: Counter[int] = Counter()

    def judge(self, method: str, target: str, role: str | None = "owner", **sent: Any) -> Heard:
        before = self._charged
        token = None if role is None else self._token(role)
        heard = self.service.send(method, target, token=token, **sent)
        self.sent += 1
        self.statuses[heard.status] += 1
        about = f"{method} {target[:200]} {str(sent)[:1_000]}: {heard.status} {heard.body[:500]!r}"
        assert 200 <= heard.status < 500, about
        if heard.status < 300:
            assert heard.body != b"null", about
            return heard
        self.refused += 1
        assert self._charged == before, f"a refused request was charged: {about}"
        if heard.status >= 400:
            assert heard.media == "application/problem+json", about
            problem = json.loads(heard.body)
            assert problem.keys() == KEYS, about
            assert problem["status"] == heard.status, about
        return heard

    @property
    def charges(self) -> int:
        return sum(head[1] for head in self.keeper.heads)

    @property
    def _charged(self) -> object:
        state = self.keeper.keeper.state
        return self.keeper.heads, tuple(state.row("SELECT sum(spent) FROM tokens") or ())

    def _token(self, role: str) -> str:
        """Return a token of a role; some requests end tokens, and people, as they may."""
        secret = self.keeper.tokens[role]
        if self.keeper.keeper.tokens.caller(secret) is None:
            secret = self.keeper.enter(f"the-{role}", [role])  # type: ignore[list-item]
        return secret


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with TemporaryDirectory(prefix="sordino-") as name:
        folder = Path(name)
        catalog = clinic(folder, epsilon="100000")
        with HeldKeeper(catalog) as keeper, Service(keeper.socket, folder / "access.log") as one:
            yield Judge(keeper, one)


def many(examples: int, draw: int) -> Callable[[Test], Test]:
    """Return what runs a test on so many examples, which differ from one draw to the next."""
    stated = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),
    )
    return lambda test: seed(draw)(stated(test))


def send_case(judge: Judge, name: str, case: Case[Any], role: str) -> None:
    """Send what schemathesis has made of an operation, as raw as it is."""
    target = case.path
    for entry, value in (case.path_parameters or {}).items():
        target = target.replace(
            "{" + entry + "}", quote(values_of(value), safe="", errors="replace")
        )
    if case.query:
        query = {k: values_of(v) for k, v in case.query.items()}
        target += "?" + urlencode(query, errors="replace")
    headers = [
        (key, values_of(value))
        for key, value in (case.headers or {}).items()
        if key.lower() not in ("authorization", "user-agent", "content-type")
    ]
    body = None
    if not isinstance(case.body, schemathesis.core.NotSet):
        raw = case.body
        body = raw if isinstance(raw, bytes) else json.dumps(raw, default=str).encode()
    heard = judge.judge(case.method.upper(), target, role, body=body, headers=headers)
    call = BY_NAME.get(name)
    known = [200] if call is None else statuses(call)
    assert heard.status in known or heard.status in (404, 405), (name, heard)


def send_described(
    judge: Judge, name: str, mode: GenerationMode, examples: int, draw: int = 0
) -> None:
    try:
        cases = OPERATIONS[name].as_strategy(mode)

        @many(examples, draw)
        @given(case=cases, role=st.sampled_from(ROLES))
        def send(case: Case[Any], role: str) -> None:
            send_case(judge, name, case, role)

        send()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE  # nothing of it can be wrong
        assert name in ("healthz", "openapi", "ready")


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_what_the_document_describes_and_what_it_excludes_is_answered_in_form(
    judge: Judge, name: str, mode: GenerationMode
) -> None:
    send_described(judge, name, mode, OF_EACH)


def send_bodies(judge: Judge, examples: int, draw: int = 0) -> None:
    calls = st.one_of(st.sampled_from(("ask", "prices", "rehearse")), st.sampled_from(POSTS))

    @many(examples, draw)
    @given(
        name=calls,
        body=bodies(),
        role=st.just("analyst") | st.sampled_from((*ROLES, None)),
        pieces=st.integers(1, 4),
        key=st.none() | st.sampled_from(("k", "\0", "a" * 300, "\u00e9", "k 1", "")),
    )
    def send(name: str, body: bytes, role: str | None, pieces: int, key: str | None) -> None:
        call = BY_NAME[name]
        target = call.path.replace("{", "").replace("}", "")
        headers = [] if key is None else [("Idempotency-Key", key)]
        judge.judge(call.method, target, role, body=body, pieces=pieces, headers=headers)

    send()


def test_raw_bodies_are_answered_in_form(judge: Judge) -> None:
    refused, charges = judge.refused, judge.charges
    send_bodies(judge, BODIES)
    assert BODIES / 2 < judge.refused - refused < BODIES
    assert judge.charges > charges  # else no refused one could have been seen to be charged


def send_targets(judge: Judge, examples: int, draw: int = 0) -> None:
    @many(examples, draw)
    @given(
        target=targets(),
        method=st.sampled_from(("GET", "POST", "DELETE", "HEAD", "PUT", "OPTIONS", "TRACE", "X")),
        role=st.sampled_from((*ROLES, None)),
    )
    def send(target: str, method: str, role: str | None) -> None:
        heard = judge.judge(method, target, role)
        if ".." in target or "%2e" in target or "\\" in target:
            assert heard.status in (400, 404, 405), (target, heard)

    send()


def test_tricks_with_paths_and_queries_lead_nowhere(judge: Judge) -> None:
    send_targets(judge, TARGETS)


@pytest.mark.soak
def test_fifty_thousand_requests_that_are_wrong_in_some_way_are_answered_in_form(
    judge: Judge,
) -> None:
    """Count what is sent: of some operations there are only few different requests."""
    sent, charges = judge.sent, judge.charges
    seen: Counter[str] = Counter()
    for draw in count(1):
        for what, send in (
            ("described", partial(_send_all_described, judge)),
            ("raw bodies", partial(send_bodies, judge, BODIES)),
            ("targets", partial(send_targets, judge, TARGETS)),
        ):
            before = judge.sent
            send(draw)
            seen[what] += judge.sent - before
        if judge.sent - sent >= LONG:
            break
    seen_statuses = {str(status): many for status, many in judge.statuses.items()}
    told = {**seen, **seen_statuses, "charges": judge.charges - charges}
    sys.stdout.write(f"\n{json.dumps(told)}\n")
    assert sum(seen.values()) == judge.sent - sent >= LONG
    assert judge.charges - charges >= 50  # some were right, or nothing would ever be charged
    assert judge.statuses[409] + judge.statuses[422] >= 100  # and some are wrong in their sense


def _send_all_described(judge: Judge, draw: int) -> None:
    for name in sorted(OPERATIONS):
        for mode in GenerationMode:
            send_described(judge, name, mode, LONG_OF_EACH, draw)


def question(sql: str, **terms: str) -> bytes:
    """Return the body of a purchase; the terms are written into it as they stand."""
    entries = "".join(f', "{name}": {value}' for name, value in terms.items())
    return f'{{"question": {{"sql": {json.dumps(sql)}{entries}}}}}'.encode()


@pytest.mark.parametrize(
    "number",
    [
        "NaN", "-Infinity", "Infinity", '"NaN"', '"inf"', "1" * 400, '"' + "9" * 401 + '"', "1e400",
        '"\u0660.\u0661"', '"\uff11"', '"1_000"', '" 1"', '"1/3"', '"0x1"', '"1e99999999"', "-1",
        "0", '"-0.0"', '""', "true", "[]", "{}", "1e-400", '"1e-99999999"', '"0.1\\u0000"',
    ],
)  # fmt: skip
@pytest.mark.parametrize("term", ["epsilon", "within", "confidence", "delta", "rows"])
def test_a_number_that_is_none_is_refused(judge: Judge, term: str, number: str) -> None:
    terms = {"epsilon": "0.1", term: number} if term != "within" else {term: number}
    heard = judge.judge("POST", "/v1/answers", "analyst", body=question(QUESTIONS[0], **terms))
    assert heard.status in (400, 409, 422), heard


def test_the_same_numbers_are_read_as_they_are_where_they_are_right(judge: Judge) -> None:
    for number in ("0.1", '"0.1"', "1e-1", '"1E-1"', '"0.10"'):
        body = question(QUESTIONS[0], epsilon=number)
        heard = judge.judge("POST", "/v1/answers", "analyst", body=body)
        assert heard.status == 200, heard
        assert json.loads(heard.body)["price"] == "epsilon 0.1", heard.body


def nested(many: int) -> bytes:
    return b'{"questions":' + b"[" * many + b"]" * many + b"}"


@pytest.mark.parametrize(
    ("body", "statuses"),
    [
        (nested(5_000_000), (413,)),  # ten million bytes
        (nested(32_000), (400,)),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, (400,)),
        (b'{"questions": [' + b",".join([b"{}"] * 20_000) + b"]}", (400,)),
        (b"[" * 65_536, (400,)),
        (b" " * 65_536, (400,)),
        (b" " * 65_537, (413,)),
        (b"\xef\xbb\xbf{}", (400,)),
        (b'{"questions": [], "questions": []}', (400,)),
        (json.dumps({"questions": []}).encode("utf-16"), (400,)),
        (b'{"questions": [{"sql": "\xff", "epsilon": 1}]}', (400,)),
        (b'{"questions": [{"sql": "\\ud800", "epsilon": 1}]}', (400,)),
        (b"", (400,)),
        (b"null", (400,)),
    ],
    ids=range(14),
)
@pytest.mark.parametrize("pieces", [1, 7])
def test_a_body_that_is_none_is_refused(
    judge: Judge, body: bytes, statuses: Sequence[int], pieces: int
) -> None:
    heard = judge.judge("POST", "/v1/prices", "analyst", body=body, pieces=pieces)
    assert heard.status in statuses, heard


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([("Content-Type", "text/plain")], 415),
        ([("Content-Type", "application/json"), ("Content-Encoding", "gzip")], 415),
        ([("Content-Type", "application/x-www-form-urlencoded")], 415),
        ([("Content-Type", "")], 400),
        ([("Content-Length", "5"), ("Transfer-Encoding", "chunked")], 400),
        ([("Authorization", "Bearer x")], 400),  # the second one of them
        ([("Idempotency-Key", "a"), ("Idempotency-Key", "b")], 400),
        ([("Idempotency-Key", "a" * 201)], 400),
        ([("Sordino-Seen", "\u0660")], 400),
        ([("Sordino-Seen", "nothing")], 400),
        ([("Host", "127.0.0.1")], 421),  # the second one of them
    ],
)
def test_wrong_headers_are_refused(
    judge: Judge, headers: list[tuple[str, str]], status: int
) -> None:
    body = question(QUESTIONS[0], epsilon="0.2")
    heard = judge.judge("POST", "/v1/answers", "analyst", body=body, headers=headers)
    assert heard.status == status, heard


def test_the_numbers_above_are_all_sent_as_raw_bodies_too() -> None:
    assert len(set(NUMBERS)) == len(NUMBERS)
