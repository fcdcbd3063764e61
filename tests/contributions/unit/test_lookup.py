# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.contributions import columns as lookup
from sordino.contributions.columns import factorise, places_of

EVERY_WORD = st.integers(0, 2**64 - 1)


def check(codes: npt.NDArray[np.uint64] | npt.NDArray[np.int64]) -> None:
    distinct, places = factorise(codes)
    expected, inverse = np.unique(codes, return_inverse=True)
    np.testing.assert_array_equal(distinct, expected)
    np.testing.assert_array_equal(places, inverse)


@given(
    st.lists(EVERY_WORD, max_size=300).flatmap(lambda few: st.lists(st.sampled_from(few or [7])))
)
def test_every_code_is_found_at_its_place(codes: list[int]) -> None:
    check(np.array(codes, dtype=np.uint64))


@pytest.mark.parametrize("shift", [0, 20, 40, 44, 60])
def test_regular_codes_and_signs_are_found_too(shift: int) -> None:
    codes = np.tile(np.arange(3_000, dtype=np.uint64) << np.uint64(shift), 3)
    check(codes)
    check(codes.view(np.int64))


def test_more_codes_than_a_block_holds_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "_BLOCK", 7)
    check(np.random.default_rng(1).integers(-50, 50, 1_000))


def test_codes_whose_hashes_are_alike_are_found_by_sorting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lookup, "_slots", lambda codes, *_: np.zeros(codes.size, dtype=np.intp))
    codes = np.arange(100, dtype=np.uint64)
    assert places_of(codes, codes) is None
    check(codes[::-1].copy())
