# SPDX-License-Identifier: Apache-2.0
"""Long bodies, which only the calls about catalogs take, come two at a time."""

import asyncio
from collections.abc import AsyncIterator

import httpx

from sordino.channel.frames import Reply, Request
from sordino.gateway.access import AccessLog, Numbers
from sordino.gateway.app import Gateway
from sordino.gateway.forwarded import Proxies
from sordino.gateway.headers import LOOPBACK, Names
from sordino.gateway.limits import Limits
from sordino.gateway.link import Link

LONG = b'{"text": "' + b"#" * 1_000_000 + b'"}'


class Held(Link):
    """A link on which calls about catalogs wait until they are let go."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()
        self.waiting = 0

    async def call(self, request: Request) -> Reply:
        if request.knocks:
            known = request.credential == "olga"
            return Reply(204, "", b"") if known else Reply(401, "application/json", b"{}")
        if request.call in ("check", "swap"):
            self.waiting += 1
            await self.let_go.wait()
            self.waiting -= 1
        return Reply(200, "application/json", b"{}")


def gateway_on(link: Link) -> Gateway:
    return Gateway(
        link,
        names=Names([*LOOPBACK]),
        log=AccessLog(None),
        numbers=Numbers(),
        proxies=Proxies(),
        limits=Limits(catalog_waits=0.2),
    )


async def flooded() -> tuple[list[int], list[int], int]:
    link = Held()
    headers = {"Content-Type": "application/json", "Authorization": "Bearer olga"}
    transport = httpx.ASGITransport(gateway_on(link))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:

        async def send(path: str) -> int:
            return (await client.post(path, content=LONG, headers=headers)).status_code

        first = [asyncio.create_task(send(path)) for path in ("/v1/catalogs", "/v1/catalogs/check")]
        while link.waiting < 2:
            await asyncio.sleep(0.001)
        others = list(await asyncio.gather(*(send("/v1/catalogs/check") for _ in range(20))))
        usual = (await client.get("/v1/me")).status_code
        link.let_go.set()
        done = list(await asyncio.gather(*first))
        done += await asyncio.gather(*(send("/v1/catalogs") for _ in range(5)))
    return done, others, usual


def test_a_flood_of_long_catalogs_is_turned_away_and_nothing_else_is() -> None:
    done, others, usual = asyncio.run(flooded())
    assert others == [503] * 20
    assert usual == 200
    assert done == [200] * 7


async def held_by_strangers() -> tuple[list[int], int, list[int]]:
    link, go_on = Held(), asyncio.Event()
    link.let_go.set()
    kind = {"Content-Type": "application/json"}
    transport = httpx.ASGITransport(gateway_on(link))

    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await go_on.wait()
        yield b"#" * 2_000_000

    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:

        async def send(token: str, content: bytes | AsyncIterator[bytes]) -> int:
            headers = {**kind, "Authorization": f"Bearer {token}"}
            sent = await client.post("/v1/catalogs/check", content=content, headers=headers)
            return sent.status_code

        strangers = [asyncio.create_task(send("eve", slow())) for _ in range(10)]
        await asyncio.sleep(0.01)
        own = await send("olga", LONG)
        go_on.set()
        told = list(await asyncio.gather(*strangers))
        return told, own, [await send("eve", LONG)]


def test_nobody_without_a_token_of_an_owner_holds_the_turns_of_catalogs() -> None:
    strangers, own, after = asyncio.run(held_by_strangers())
    assert own == 200
    assert strangers == [401] * 10
    assert after == [401]
