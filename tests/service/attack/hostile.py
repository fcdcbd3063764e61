# SPDX-License-Identifier: Apache-2.0
"""What hostile clients send: bodies that are nearly right, and requests that are nearly HTTP."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

QUESTIONS = (
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
    "SELECT AVG(cost) AS m FROM visits WHERE age >= 65",
    "SELECT COUNT(*) FROM nowhere",
    "SELECT * FROM visits",
    "SELECT COUNT(*) FROM visits WHERE ward = '\0'",
    "SELECT " + "(" * 4_000 + "1" + ")" * 4_000 + " FROM visits",
    "SELECT COUNT(*) FROM visits WHERE " + " AND ".join(["age > 1"] * 800),  # noqa: S608  # for our own parser
    "SELECT SUM(" + "9" * 400 + ") FROM visits",
    "DROP TABLE visits",
    "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
    "SELECT 1; SELECT COUNT(*) FROM visits",
    "\ufeffSELECT COUNT(*) FROM visits",
    "",
)
# Written as they stand into JSON, also where JSON has no such thing.
NUMBERS = (
    "0.1", "1", '"0.1"', '"1e-9"', "1e-9", "NaN", "-NaN", "Infinity", "-Infinity", '"NaN"', '"inf"',
    '"Infinity"', "1" * 400, "0." + "1" * 400, '"' + "9" * 400 + '"', '"' + "9" * 401 + '"',
    '"\u0660.\u0661"', '"\uff11"', '"1_000"', '" 1 "', '"0x1p3"', '"1/3"', '"1e400"', "1e400",
    "1e-400", '"1e-99999999"', '"1e99999999"', '"5%"', '"\u00bd"', "-1", "0", "-0.0", '"-1"', '""',
    "true", "null", "[]", "{}", '"\\u0000"', "9223372036854775808", "18446744073709551616", "1E0",
    '{"n": 5}', '{"n": "1e999999"}', '{"m0": NaN}', '{"n": null}', "2e2", "12.0",
)  # fmt: skip
_ANSWERED = 3  # of the questions above are right ones
_TERMS = (
    "epsilon", "rho", "within", "confidence", "delta", "rows", "groups", "rows_per_group",
    "expected_rows", "diagnostics", "nonnegative", "integer", "consistent", "fresh", "who", "sql",
)  # fmt: skip
TOKENS = tuple(b.encode() for b in ('"', "{", "}", "[", "]", ",", ":", "\\u", "\\ud800", "1e", "-"))


def questions() -> st.SearchStrategy[str]:
    """Return questions as text of JSON: most have something wrong, and some nothing at all."""
    sql = st.sampled_from(QUESTIONS[:_ANSWERED]) | st.sampled_from(QUESTIONS)
    new = st.integers(1, 999_999).map(lambda number: f"{number}e-6")  # is charged anew
    price = new | st.sampled_from(NUMBERS)
    terms = st.lists(st.tuples(st.sampled_from(_TERMS), st.sampled_from(NUMBERS)), max_size=3)
    return st.builds(_question, sql, price, st.just([]) | terms)


def _question(sql: str, price: str, terms: list[tuple[str, str]]) -> str:
    entries = [("sql", json.dumps(sql)), ("epsilon", price), *terms]
    return "{" + ", ".join(f'"{name}": {value}' for name, value in entries) + "}"


def bodies() -> st.SearchStrategy[bytes]:
    """Return bodies: of the right form with wrong values, torn, nested, and of any bytes."""
    purchase = questions().map(lambda text: f'{{"question": {text}}}')
    whole = st.one_of(
        purchase,
        purchase,
        st.lists(questions(), min_size=1, max_size=3).map(
            lambda texts: f'{{"questions": [{", ".join(texts)}]}}'
        ),
        st.text(max_size=60).map(lambda text: json.dumps({"quote": text})),
        st.recursive(
            st.one_of(st.none(), st.booleans(), st.floats(), st.integers(), st.text(max_size=9)),
            lambda inner: st.one_of(
                st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=9), inner, max_size=4)
            ),
            max_leaves=12,
        ).map(json.dumps),
    ).map(lambda text: text.encode("utf-8", "surrogatepass"))
    torn = st.builds(_torn, whole, st.integers(0, 400), st.sampled_from(TOKENS))
    nested = st.builds(
        lambda many, opening: opening * many, st.integers(1, 30_000), st.sampled_from(TOKENS[1:5])
    )
    return st.one_of(whole, whole, torn, nested, st.binary(max_size=300))


def _torn(body: bytes, place: int, token: bytes) -> bytes:
    at = place % (len(body) + 1)
    return body[:at] + token + body[at + place % 3 :]


def targets() -> st.SearchStrategy[str]:
    """Return paths, with tricks of all kinds, as ASCII."""
    parts = st.sampled_from(
        ("v1", "answers", "people:1", "%2f", "..", ".", "%2e%2e", "%00", "%", "%zz", "//", "\\",
         "people", "the-owner", "tokens", "%F0%9F%99%82", "%c0%ae", "V1", "a" * 3_000, "etc", ";",
         "requests", "1", "-1", "9" * 30, "password", "ledger", "heads", "*", "http:", "people:0")
    )  # fmt: skip
    query = st.sampled_from(
        ("", "?", "?format=json", "?format=x", "?format=csv&format=csv", "?a=b", "?from=0",
         "?from=1e9", "?from=%D9%A1", "?count=" + "9" * 40, "?%00=%00", "?receipt=people:1:0")
    )  # fmt: skip
    return st.builds(
        lambda pieces, end: "/" + "/".join(pieces) + end, st.lists(parts, max_size=5), query
    )


def raw_requests() -> st.SearchStrategy[bytes]:
    """Return bytes for a connection: requests that are nearly HTTP, and some that are."""
    methods = st.sampled_from(
        (b"GET", b"POST", b"POST", b"PUT", b"DELETE", b"HEAD", b"OPTIONS", b"get", b"TRACE",
         b"CONNECT", b"PRI", b"G\0T", b"", b"X" * 5_000)
    )  # fmt: skip
    versions = st.sampled_from(
        (b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"HTTP/1.9", b"", b"http/1.1", b"\xff")
    )
    return st.builds(
        _raw,
        st.just(b"POST") | methods,
        st.one_of(
            st.sampled_from((b"/v1/answers", b"/v1/prices", b"/v1/me")),
            st.sampled_from((b"/v1/answers", b"/v1/prices")),
            targets().map(lambda text: text.encode()),
            st.binary(max_size=30),
        ),
        st.just(b"HTTP/1.1") | versions,
        st.just([]) | st.lists(headers(), max_size=5),
        st.just(b"\r\n") | st.sampled_from((b"\r\n", b"\n", b"\r")),
        framings(),
    )


def headers() -> st.SearchStrategy[bytes]:
    names = st.sampled_from(
        (b"Host", b"Content-Length", b"Transfer-Encoding", b"Content-Type", b"Authorization",
         b"Idempotency-Key", b"Sordino-Seen", b"If-None-Match", b"Content-Encoding", b"Accept",
         b"Connection", b"Expect", b"Upgrade", b"X-Forwarded-For", b" Host", b"A b", b"", b"\xff")
    )  # fmt: skip
    values = st.one_of(
        st.sampled_from(
            (
                b"127.0.0.1",
                b"evil.example",
                b"0",
                b"5",
                b"-1",
                b"9" * 40,
                b"chunked",
                b"gzip",
                b"application/json",
                b"text/xml",
                b"chunked, chunked",
                b"close",
                b"100-continue",
                b"h2c",
                b"websocket",
                b"a" * 20_000,
                b"a\rb",
                b"\0",
                b"Bearer x",
                b"5, 5",
                b"+5",
            )
        ),
        st.binary(max_size=20),
    )
    return st.builds(lambda name, value: name + b": " + value, names, values)


def framings() -> st.SearchStrategy[tuple[bytes, bytes]]:
    """Return headers that frame a body, and the body; some lie."""
    body = bodies()
    chunks = st.sampled_from((b"%x", b"0%x", b"%x;a=b", b"-%x", b"0x%x", b"%xg", b"f%x"))
    return st.one_of(
        st.just((b"", b"")),
        body.map(lambda data: (b"Content-Length: %d" % len(data), data)),
        st.builds(
            lambda data, lie: (b"Content-Length: %d" % (len(data) + lie), data),
            body,
            st.sampled_from((-1, 1, 100, 10**6, 10**18)),
        ),
        st.builds(
            lambda data, size: (
                b"Transfer-Encoding: chunked",
                size % len(data) + b"\r\n" + data + b"\r\n0\r\n\r\n",
            ),
            body,
            chunks,
        ),
        body.map(
            lambda data: (
                b"Content-Length: %d\r\nTransfer-Encoding: chunked" % len(data),
                b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data),
            )
        ),
    )


def _raw(  # noqa: PLR0917  # the parts of a request in their order
    method: bytes,
    target: bytes,
    version: bytes,
    listed: list[bytes],
    end: bytes,
    framed: tuple[bytes, bytes],
) -> bytes:
    about, body = framed
    known = [b"Host: 127.0.0.1", b"Content-Type: application/json", b"Authorization: Bearer TOKEN"]
    lines = [b" ".join((method, target, version)), *known, *listed, *([about] if about else [])]
    return end.join(lines) + end + end + body


def any_bytes() -> st.SearchStrategy[bytes]:
    """Return what may come over a connection."""
    return st.one_of(raw_requests(), raw_requests(), raw_requests(), st.binary(max_size=2_000))


def values_of(text: Any) -> str:
    """Return a value of a query or a header as text, whatever a generator made of it."""
    return text if isinstance(text, str) else json.dumps(text)
