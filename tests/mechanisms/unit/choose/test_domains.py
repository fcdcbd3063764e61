# SPDX-License-Identifier: Apache-2.0
"""Public sets of candidates: every member has one number, and every number one member."""

import copy
import pickle
import string
from typing import Any

import numpy as np
import pytest

from sordino.mechanisms.choose import Integers, Product, Strings
from sordino.mechanisms.choose.domains import Domain, Listed, as_domain

SMALL: list[Domain] = [
    Integers(-3, 4),
    Integers(7, 7),
    Strings("ab", longest=3),
    Strings("ab", longest=3, shortest=0),
    Strings("xyz", longest=2, shortest=2),
    Strings("a", longest=5, shortest=3),
    Listed(["x", "y", ("z", 1)]),
    Product(["f", "m"], Integers(0, 2)),
    Product(range(3), Strings("ab", longest=2), Product([True, False], ["only"])),
]
WRONG_NUMBER: Any = 2.0
WRONG_WORD: Any = ["a"]
LARGE: list[Domain] = [
    Integers(-(10**40), 10**40),
    Strings(string.ascii_lowercase, longest=60),
    Strings("01", longest=4000, shortest=0),
    Product(Integers(0, 10**9), Strings(string.digits, longest=30, shortest=30), range(7)),
]


@pytest.mark.parametrize("domain", SMALL, ids=repr)
def test_members_and_numbers_of_a_small_domain_correspond(domain: Domain) -> None:
    members = [domain.member(number) for number in range(domain.size)]
    assert len(set(members)) == domain.size
    assert [domain.number(member) for member in members] == list(range(domain.size))


@pytest.mark.parametrize("domain", LARGE, ids=lambda domain: type(domain).__name__)
def test_members_and_numbers_of_a_huge_domain_correspond(domain: Domain) -> None:
    rng = np.random.default_rng(5)
    ends = [0, 1, domain.size // 2, domain.size - 2, domain.size - 1]
    within = [int.from_bytes(rng.bytes(600), "little") % domain.size for _ in range(50)]
    for number in (*ends, *within):
        assert domain.number(domain.member(number)) == number


def test_strings_are_ordered_by_length_then_by_the_alphabet() -> None:
    words = Strings("ba", longest=2, shortest=0)
    assert [words.member(number) for number in range(7)] == ["", "b", "a", "bb", "ba", "ab", "aa"]
    assert Strings("abc", longest=9).size == sum(3**n for n in range(1, 10))


def test_a_product_runs_through_its_last_part_first() -> None:
    cells = Product(["f", "m"], Integers(1, 3))
    assert [cells.member(n) for n in (0, 1, 3)] == [("f", 1), ("f", 2), ("m", 1)]


@pytest.mark.parametrize(
    ("domain", "stranger"),
    [
        (Integers(0, 9), 10),
        (Integers(0, 9), -1),
        (Integers(0, 9), 1.0),
        (Integers(0, 1), True),
        (Integers(0, 9), "1"),
        (Strings("ab", longest=2), "abc"),
        (Strings("ab", longest=2), ""),
        (Strings("ab", longest=2), "ac"),
        (Strings("ab", longest=2), 1),
        (Listed(["a"]), "b"),
        (Listed(["a"]), ["a"]),
        (Product(["a"], ["b"]), ("a",)),
        (Product(["a"], ["b"]), ["a", "b"]),
        (Product(["a"], ["b"]), ("a", "a")),
    ],
    ids=str,
)
def test_strangers_have_no_number(domain: Any, stranger: Any) -> None:
    assert domain.number(stranger) is None
    assert stranger not in domain


@pytest.mark.parametrize("domain", [*SMALL, *LARGE], ids=lambda domain: repr(domain)[:60])
def test_numbers_that_no_member_has_are_refused(domain: Domain) -> None:
    for number in (-1, domain.size, domain.size + 1, 10**2000):
        with pytest.raises(IndexError, match=r"^no member has this number"):
            domain.member(number)
    for wrong in (0.0, "0", None, True):
        with pytest.raises(TypeError, match=r"^the number of a member must be whole, got a value"):
            domain.member(wrong)  # type: ignore[arg-type]  # refused
    assert domain.member(np.int64(0)) == domain.member(0)  # type: ignore[arg-type]  # a number


@pytest.mark.parametrize("domain", SMALL, ids=repr)
def test_a_small_domain_is_a_collection(domain: Any) -> None:
    members = [domain.member(number) for number in range(domain.size)]
    assert list(domain) == members
    assert len(domain) == domain.size
    assert all(member in domain for member in members)
    assert domain


@pytest.mark.parametrize("domain", LARGE, ids=lambda domain: type(domain).__name__)
def test_a_huge_domain_is_not_gone_through(domain: Any) -> None:
    assert domain
    assert domain.member(5) in domain
    with pytest.raises(ValueError, match=r"^a domain of more than 1,048,576 members is not gone"):
        iter(domain)
    with pytest.raises(OverflowError, match=r"than len can tell; read its size"):
        len(domain)


def test_lists_in_a_product_are_written_as_lists() -> None:
    text = "Product([1, 2], Integers(0, 4), ['a'])"
    assert repr(Product([1, 2], range(5), ("a",))) == text


def test_numbers_of_numpy_are_numbers() -> None:
    assert Integers(np.int64(0), np.int32(9)) == Integers(0, 9)
    assert Integers(0, 9).number(np.int8(3)) == 3
    assert type(Integers(0, 9).number(np.int8(3))) is int


@pytest.mark.parametrize("domain", [*SMALL, *LARGE], ids=lambda domain: repr(domain)[:60])
def test_a_domain_is_a_value(domain: Domain) -> None:
    names = {"Integers": Integers, "Strings": Strings, "Product": Product, "Listed": Listed}
    same = eval(repr(domain), names)  # noqa: S307 - the text is ours
    assert same == domain == copy.deepcopy(domain)
    assert pickle.loads(pickle.dumps(domain)) == domain  # noqa: S301
    assert hash(same) == hash(domain)
    assert isinstance(domain, Domain)


def test_ranges_and_lists_become_domains() -> None:
    assert as_domain(range(2, 5)) == Integers(2, 4)
    assert as_domain(range(0, 6, 2)) == Listed([0, 2, 4])
    assert as_domain(["a", "b"]) == Listed(["a", "b"])
    assert as_domain(Integers(0, 1)) == Integers(0, 1)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Integers(3, 2), ValueError, "last must be at least first, 3, got 2"),
        (
            lambda: Integers(0, WRONG_NUMBER),
            TypeError,
            "last must be a whole number, got a value of type f",
        ),
        (lambda: Integers(True, 2), TypeError, "first must be a whole number, got a value of type"),
        (lambda: Integers(0, 1 << 5000), ValueError, r"a domain may have 2\*\*4096 members"),
        (lambda: Strings("", longest=2), ValueError, "alphabet must be a string of at least one"),
        (
            lambda: Strings(WRONG_WORD, longest=2),
            ValueError,
            "alphabet must be a string of at least",
        ),
        (lambda: Strings("aba", longest=2), ValueError, "alphabet must not have the same"),
        (lambda: Strings("ab", longest=0), ValueError, "lengths must be whole numbers with 0 <="),
        (
            lambda: Strings("ab", longest=WRONG_NUMBER),
            ValueError,
            "lengths must be whole numbers with 0 <=",
        ),
        (lambda: Strings("ab", longest=10**9), ValueError, "longest is too large: the domain may"),
        (lambda: Strings("ab", longest=4096), ValueError, r"a domain may have 2\*\*4096 members"),
        (lambda: Listed([]), ValueError, "there is no candidate to choose: the list is empty"),
        (lambda: Listed(["a", "a"]), ValueError, "a candidate is listed twice; every candidate"),
        (Product, ValueError, "a product needs at least one part"),
        (lambda: Product("ab"), TypeError, "a string is no set of candidates; make it a list"),
        (
            lambda: Product(WRONG_NUMBER),
            TypeError,
            "a part must be a domain, a range or a list, got a value",
        ),
        (lambda: Product([["a"]]), TypeError, "candidates of a domain must be hashable, such as"),
        (lambda: as_domain(range(0)), ValueError, "there is no candidate to choose: the list is"),
        (
            lambda: Product(*[Integers(0, 1 << 999)] * 5),
            ValueError,
            r"a domain may have 2\*\*4096 members, this one has more",
        ),
    ],
)
def test_domains_that_make_no_sense_are_refused(
    make: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{message}"):
        make()
