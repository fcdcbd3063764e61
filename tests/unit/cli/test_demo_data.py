# SPDX-License-Identifier: Apache-2.0
from hashlib import sha256

from sordino.cli.demo_data import PERSONS, WARDS, people

DIGEST = "2c805f522d10ee5426649e99a149a065a84648605aa8fece8403e52a0e65e799"


def test_the_persons_are_the_same_on_every_machine() -> None:
    made = repr([tuple(person) for person in people()])
    assert sha256(made.encode()).hexdigest() == DIGEST


def test_every_person_is_plausible() -> None:
    made = people()
    assert len(made) == PERSONS
    assert {person.ward for person in made} == set(WARDS)
    assert all(0 <= person.age <= 95 and 0 <= person.days < 40 for person in made)


def test_some_stays_are_long_enough_to_be_clamped() -> None:
    assert 50 < sum(person.days > 30 for person in people()) < 200
