# SPDX-License-Identifier: Apache-2.0
"""Reports and counts as bytes: whole and of the right protocol, or refused."""

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.local import Hashing, Reports, Response, Server, Subset, Unary, joined, read_reports
from tests.local.contract.protocols import EVERY

PROTOCOL = Response(["a", "b", "c"], epsilon=1)


@pytest.mark.parametrize("protocol", EVERY, ids=repr)
def test_reports_survive_as_bytes(protocol: Response) -> None:
    labels = [protocol.labels[0], protocol.labels[-1]] * 20
    reports = protocol.client().encode(labels)
    again = read_reports(reports.to_bytes())
    assert again == reports
    one, other = protocol.server(), protocol.server()
    one.add(reports)
    other.add(again)
    assert one == other
    assert one.people == 40


@given(data=st.data())
def test_damaged_reports_are_refused_or_are_other_reports(data: st.DataObject) -> None:
    whole = PROTOCOL.client().encode(["a", "b"] * 10).to_bytes()
    cut = data.draw(st.integers(0, len(whole) - 1))
    place = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[place] ^= data.draw(st.integers(1, 255))
    for damaged in (whole[:cut], whole + b"x", bytes(changed)):
        server = PROTOCOL.server()
        try:
            server.add(read_reports(damaged))
        except ValueError:
            assert server.people == 0
        else:
            assert server.people == 20
            assert damaged == bytes(changed)


@pytest.mark.parametrize("head", [
    b"[]", b"{}", b"\xff", b"", b"[" * 100_000, b'{"kind": "sordino reports 1"}',
    b'{"kind": "sordino reports 1", "protocol": "x", "number": "|O", "shape": [1]}',
    b'{"kind": "sordino reports 1", "protocol": "x", "number": "|u1", "shape": [-1]}',
    b'{"kind": "sordino reports 1", "protocol": "x", "number": "|u1", "shape": [true]}',
    b'{"kind": "sordino reports 1", "protocol": 7, "number": "|u1", "shape": [1]}',
    b'{"kind": "sordino reports 1", "protocol": "x", "number": "|u1", "shape": 1}',
])  # fmt: skip
def test_bytes_of_others_are_no_reports(head: bytes) -> None:
    with pytest.raises(ValueError, match="no whole reports"):
        read_reports(head + b"\nx")


def test_reports_that_no_client_makes_are_refused_as_a_whole() -> None:
    """What a client of this protocol could not have sent spoils the batch and is not counted."""
    unary, subset = Unary(5, epsilon=1), Subset(8, epsilon=1)
    for protocol, data in (
        (PROTOCOL, np.array([0, 3], dtype=np.uint8)),
        (PROTOCOL, np.array([0, 1], dtype=np.int64)),
        (PROTOCOL, np.array([[0, 1]], dtype=np.uint8)),
        (unary, np.array([[0b11111111]], dtype=np.uint8)),
        (unary, np.array([[1, 1]], dtype=np.uint8)),
        (subset, np.array([[0b11111111]], dtype=np.uint8)),
    ):
        server = protocol.server()
        with pytest.raises(ValueError, match="damaged"):
            server.add(Reports(protocol.fingerprint, data))
        assert server == protocol.server()
    with pytest.raises(TypeError, match="a client encoded"):
        PROTOCOL.server().add(np.array([0, 1]))  # type: ignore[arg-type]


def test_only_reports_of_one_protocol_are_joined() -> None:
    client = PROTOCOL.client()
    assert len(joined([client.encode("a"), client.encode(["b", "c"])])) == 3
    with pytest.raises(ValueError, match="one protocol"):
        joined([client.encode("a"), Response(2, epsilon=1).client().encode(0)])
    with pytest.raises(ValueError, match="no reports"):
        joined([])


@pytest.mark.parametrize("change", [
    {"people": -1}, {"people": 2.0}, {"people": True}, {"counts": [1, 2]}, {"counts": "abc"},
    {"counts": [1, 2, -3]}, {"counts": [1, 2, 4.0]}, {"counts": [99, 0, 0]}, {"kind": "other"},
    {"people": 2**60, "counts": [0, 0, 0]},
])  # fmt: skip
def test_counts_that_are_not_whole_are_refused(change: dict[str, object]) -> None:
    server = PROTOCOL.server()
    server.add(PROTOCOL.client().encode(["a", "b", "c"]))
    state = {**json.loads(server.to_bytes()), **change}
    fresh = PROTOCOL.server()
    with pytest.raises(ValueError, match="no whole counts"):
        fresh.load(json.dumps(state).encode())
    assert fresh == Server(PROTOCOL)


def test_a_fingerprint_tells_protocols_apart() -> None:
    several = [
        Response(3, epsilon=1), Response(3, epsilon=2), Response(4, epsilon=1), PROTOCOL,
        Response(["a", "c", "b"], epsilon=1), Response([0, 2, 1], epsilon=1),
        Response(["0", "1", "2"], epsilon=1), Unary(3, epsilon=1),
        Unary(3, epsilon=1, optimised=False), Subset(3, epsilon=1),
    ]  # fmt: skip
    assert len({protocol.fingerprint for protocol in several}) == len(several)
    assert (
        Response([0, 1, 2], epsilon=1).fingerprint
        != Response(["0", "1", "2"], epsilon=1).fingerprint
    )


def test_a_server_is_not_merged_into_itself() -> None:
    server = PROTOCOL.server()
    server.add(PROTOCOL.client().encode(["a", "b", "c"]))
    with pytest.raises(ValueError, match="count all twice"):
        server.merge(server)
    assert server.people == 3


def test_counts_that_overflow_are_refused() -> None:
    """The sum of these is 2**63 and more, which 64 bits would wrap round."""
    wide = Response(8192, epsilon=1)
    state = json.loads(wide.server().to_bytes())
    state |= {"people": 2**46, "counts": [2**46] * 8192}
    with pytest.raises(ValueError, match="no whole counts"):
        wide.server().load(json.dumps(state).encode())


def test_reports_are_arrays_and_bytes() -> None:
    masked = np.ma.array([0, 1], mask=[False, True], dtype=np.uint8)
    for data in ([0, 1], masked):
        with pytest.raises(TypeError, match="a client encoded"):
            PROTOCOL.server().add(Reports(PROTOCOL.fingerprint, data))  # type: ignore[arg-type]
    for wrong in ("abc", 5, None):
        with pytest.raises(TypeError, match="read from bytes"):
            read_reports(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("protocol", EVERY, ids=repr)
def test_protocols_and_servers_are_copied_and_pickled_also_after_use(protocol: Response) -> None:
    server = protocol.server()
    server.add(protocol.client().encode([protocol.labels[0]] * 5))
    for again in (copy.deepcopy(server), pickle.loads(pickle.dumps(server))):  # noqa: S301
        assert again == server
        again.add(again.protocol.client().encode(protocol.labels[1]))
        assert (again.people, server.people) == (6, 5)


def test_hash_functions_need_a_prime() -> None:
    for wrong in (4, 6, 1_000, 2**31, 3):
        with pytest.raises(ValueError, match="prime"):
            Hashing(4, epsilon=1, prime=wrong)
    for kind in (7.0, "7", True, None):
        with pytest.raises(TypeError, match="prime"):
            Hashing(4, epsilon=1, prime=kind)  # type: ignore[arg-type]
    assert Hashing(4, epsilon=1, prime=7).prime == 7
