# SPDX-License-Identifier: Apache-2.0
"""Where a client is: the peer of the connection, or what a proxy that was named says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from ipaddress import IPv4Network as Network

_BEFORE_MAPPED = 96  # bits before an address of version 4 that is written as of version 6
UNIX = "unix"  # stands for whoever can open the gateway's Unix socket


@dataclass(frozen=True, slots=True)
class Proxies:
    """The proxies that are believed, by address or network.

    >>> Proxies.named(["10.0.0.1"]).client_of("10.0.0.1", ["203.0.113.9, 198.51.100.7"])
    '198.51.100.7'
    >>> Proxies.named([]).client_of("10.0.0.1", ["203.0.113.9"])
    '10.0.0.1'
    """

    networks: tuple[Network | IPv6Network, ...] = ()
    unix: bool = False

    @classmethod
    def named(cls, names: Sequence[str]) -> Proxies:
        """Read addresses such as 10.0.0.1 or 10.0.0.0/8, or unix; raises ValueError."""
        networks = tuple(_network(name) for name in names if name != UNIX)
        return cls(networks, UNIX in names)

    def client_of(self, peer: str, forwarded: Sequence[str]) -> str:
        """Return the address of the client.

        ``peer`` is "" for a Unix socket. Of X-Forwarded-For the last address counts that is no
        proxy of ours: what stands before it was written by somebody nobody vouches for.
        """
        client = peer
        steps = [step.strip() for text in forwarded for step in text.split(",")]
        while steps and self._trusts(client):
            address = _address(steps.pop())
            if address is None:
                break
            client = str(address)
        return client

    def _trusts(self, name: str) -> bool:
        if not name:
            return self.unix
        address = _address(name)
        return address is not None and any(address in network for network in self.networks)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address; one of version 4 that is written as of version 6 is of version 4."""
    try:
        address = ip_address(text.strip("[]"))
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _network(text: str) -> Network | IPv6Network:
    """Return a network, likewise; raises ValueError."""
    network = ip_network(text)
    mapped = network.network_address.ipv4_mapped if isinstance(network, IPv6Network) else None
    if mapped is None or network.prefixlen < _BEFORE_MAPPED:
        return network
    return Network((mapped, network.prefixlen - _BEFORE_MAPPED))
