# SPDX-License-Identifier: Apache-2.0
"""Places for questions that are computed: handed on in turn, none lost and none invented."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from random import Random
from threading import Event, Thread

import pytest

from sordino.keeper.turns import Place, Places
from tests.keeper.study import until


def waiting(places: Places) -> int:
    return sum(map(len, places._waiting.values()))


class Crowd:
    """People who wait for places, each in a thread; those who have got one are told in order."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.served: Queue[tuple[str, Place]] = Queue()

    def come(self, *names: str) -> None:
        """Let people come, one after the other, where no place is free."""
        for name in names:
            many = waiting(self.places)
            Thread(target=self._wait, args=(name,), daemon=True).start()
            until(lambda many=many: waiting(self.places) == many + 1)  # type: ignore[misc]

    def _wait(self, name: str) -> None:
        place = self.places.take(name, 30)
        assert place is not None
        self.served.put((name, place))

    def following(self) -> tuple[str, Place]:
        return self.served.get(timeout=30)


def held(places: Places, name: str) -> Place:
    place = places.take(name, 0)
    assert place is not None
    return place


def test_people_take_turns_whoever_asked_first_and_however_much() -> None:
    places = Places(1)
    place, crowd = held(places, "zoe"), Crowd(places)
    crowd.come("ann", "ann", "ann", "ann", "bob", "eve", "bob")
    order = []
    for _ in range(7):
        place.leave()
        name, place = crowd.following()
        order.append(name)
    assert order == ["ann", "bob", "eve", "ann", "bob", "ann", "ann"]
    assert waiting(places) == 0


def test_whoever_has_fewer_places_goes_first() -> None:
    places = Places(3)
    first, second, third = held(places, "ann"), held(places, "ann"), held(places, "bob")
    crowd = Crowd(places)
    crowd.come("ann", "bob", "eve")
    second.leave()
    assert crowd.following()[0] == "eve"  # who has none
    third.leave()
    assert crowd.following()[0] == "bob"  # who has none any more
    first.leave()
    assert crowd.following()[0] == "ann"


def test_who_has_waited_too_long_is_forgotten() -> None:
    places = Places(1)
    place = held(places, "ann")
    assert places.take("bob", 0) is None
    assert places.take("bob", 0.01) is None
    assert places._waiting == {}
    place.leave()
    place.leave()  # which changes nothing
    held(places, "bob").leave()
    assert (places._free, places._held) == (1, Counter())


def test_an_interrupt_loses_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    places = Places(1)
    for is_called in (False, True):
        place = held(places, "ann")

        def interrupted(
            _: Event, __: float, place: Place = place, *, is_called: bool = is_called
        ) -> bool:
            if is_called:
                place.leave()
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(Event, "wait", interrupted)
            with pytest.raises(KeyboardInterrupt):
                places.take("bob", 1)
        place.leave()
        assert (places._free, places._held, places._waiting) == (1, Counter(), {})


def test_no_place_is_lost_or_invented_among_many() -> None:
    many, places, under_way, most = 3, Places(3), Counter[str](), list[int]()

    def ask(number: int) -> bool:
        dice, name = Random(number), "abcde"[number % 5]  # noqa: S311 - no secret
        place = places.take(name, dice.random() / 50)
        if place is None:
            return False
        under_way[str(number)] += 1
        most.append(len(under_way))
        time.sleep(dice.random() / 200)
        del under_way[str(number)]
        place.leave()
        return True

    with ThreadPoolExecutor(24) as threads:
        got = sum(threads.map(ask, range(1_200)))
    assert got > 0
    assert (places._free, places._held, places._waiting) == (many, Counter(), {})
    assert max(most) <= many
