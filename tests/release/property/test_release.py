# SPDX-License-Identifier: Apache-2.0
"""Releases of arrays that hypothesis thinks of, with noise that it thinks of too."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sordino.mechanisms.additive import (
    HIGHEST,
    LOWEST,
    from_grid,
    release_integers,
    release_reals,
    to_grid,
)
from sordino.randomness.samplers import Filled
from sordino.randomness.tables import Integers

small = st.lists(st.integers(-(2**20), 2**20), min_size=30, max_size=30)
noises = st.one_of(small, st.lists(st.integers(LOWEST, HIGHEST), min_size=30, max_size=30))
integer_arrays = hnp.arrays(
    st.one_of(hnp.integer_dtypes(endianness="?"), hnp.unsigned_integer_dtypes(endianness="?")),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)
real_arrays = hnp.arrays(
    hnp.floating_dtypes(sizes=(16, 32, 64)),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
    elements={"allow_nan": False, "allow_infinity": False},
)


class Given:
    """A sampler that hands out the noise it was given."""

    nbytes = 0

    def __init__(self, noise: list[int]) -> None:
        self.noise = noise

    def one(self) -> int:
        return self.noise[0]

    def many(self, size: int) -> Any:
        return np.array(self.noise[:size], dtype=np.int64)

    def fill(self, out: Integers) -> Iterator[Filled]:
        for start in range(0, out.size, 5):
            piece = out[start : start + 5]
            piece[:] = self.noise[start : start + piece.size]
            yield start, piece, {}


@given(integer_arrays, noises)
def test_integers_never_wrap(values: Any, noise: list[int]) -> None:
    released = release_integers(values, Given(noise), sensitivity=1, most=None)
    exact = [int(x) + y for x, y in zip(values.reshape(-1).tolist(), noise, strict=False)]
    assert released.reshape(-1).tolist() == [min(max(x, LOWEST), HIGHEST) for x in exact]
    assert released.shape == values.shape
    assert released.dtype == np.int64


@given(integer_arrays, noises)
def test_transposed_arrays_are_released_in_their_own_order(values: Any, noise: list[int]) -> None:
    straight = release_integers(values.T.copy(), Given(noise), sensitivity=1, most=None)
    assert (release_integers(values.T, Given(noise), sensitivity=1, most=None) == straight).all()


@given(st.integers(), st.integers())
def test_single_integers_of_any_size_are_exact(value: int, noise: int) -> None:
    assert release_integers(value, Given([noise]), sensitivity=1, most=None) == value + noise


@given(real_arrays, noises, st.integers(-900, 900))
def test_reals_land_on_the_grid_and_stay_finite(
    values: Any, noise: list[int], exponent: int
) -> None:
    released = release_reals(values, Given(noise), exponent=exponent, most=30)
    exact = [
        from_grid(to_grid(float(x), exponent) + y, exponent)
        for x, y in zip(values.reshape(-1), noise, strict=False)
    ]
    assert released.reshape(-1).tolist() == exact
    assert np.isfinite(released).all()
    assert released.shape == values.shape
