# SPDX-License-Identifier: Apache-2.0
"""Where a client is: only proxies that were named are believed, and only about their own peers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.gateway.forwarded import Proxies

NETWORK = ["10.0.0.0/8", "fd00::1"]


@pytest.mark.parametrize(
    ("named", "peer", "forwarded", "client"),
    [
        ([], "10.0.0.1", ["203.0.113.9"], "10.0.0.1"),
        (NETWORK, "192.0.2.1", ["203.0.113.9"], "192.0.2.1"),
        (NETWORK, "10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        (NETWORK, "10.0.0.1", ["1.1.1.1, 203.0.113.9, 10.9.9.9"], "203.0.113.9"),
        (NETWORK, "10.0.0.1", ["1.1.1.1", "203.0.113.9"], "203.0.113.9"),
        (NETWORK, "10.0.0.1", ["nonsense"], "10.0.0.1"),
        (NETWORK, "10.0.0.1", [], "10.0.0.1"),
        (NETWORK, "fd00::1", ["2001:db8::7"], "2001:db8::7"),
        (NETWORK, "::ffff:10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        (["::ffff:10.0.0.1"], "10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        (["::ffff:10.0.0.0/104"], "::ffff:10.9.0.1", ["203.0.113.9"], "203.0.113.9"),
        (["::ffff:10.0.0.0/104"], "192.0.2.1", ["203.0.113.9"], "192.0.2.1"),
        (["fe80::1"], "fe80::1%eth0", ["203.0.113.9"], "203.0.113.9"),
        (["unix"], "", ["203.0.113.9"], "203.0.113.9"),
        ([], "", ["203.0.113.9"], ""),
    ],
)
def test_the_client_is_the_last_address_that_is_no_proxy(
    named: list[str], peer: str, forwarded: list[str], client: str
) -> None:
    assert Proxies.named(named).client_of(peer, forwarded) == client


@given(forwarded=st.lists(st.text(max_size=40), max_size=5))
def test_what_a_stranger_writes_changes_nothing(forwarded: list[str]) -> None:
    assert Proxies.named(NETWORK).client_of("192.0.2.1", forwarded) == "192.0.2.1"


@given(written=st.text(max_size=60))
def test_what_a_client_writes_before_the_proxys_own_word_changes_nothing(written: str) -> None:
    seen = [f"{written}, 203.0.113.9"]
    assert Proxies.named(NETWORK).client_of("10.0.0.1", seen) == "203.0.113.9"


def test_a_proxy_that_is_no_address_is_refused() -> None:
    with pytest.raises(ValueError, match="does not appear to be"):
        Proxies.named(["proxy.example"])
