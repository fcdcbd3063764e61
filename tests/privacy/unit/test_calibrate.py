# SPDX-License-Identifier: Apache-2.0
import math
from fractions import Fraction

import pytest

from sordino.privacy.search import approach, least, least_double, least_epsilon


@pytest.mark.parametrize("edge", [0, 1, 7, 50, 99, 100])
@pytest.mark.parametrize("near", [None, -5, 0, 6, 50, 100, 1000])
def test_the_least_number_that_fits_is_found_from_anywhere(edge: int, near: int | None) -> None:
    assert least(lambda n: n >= edge, 0, 100, near=near) == edge


def test_the_result_was_tried_even_where_fitting_is_not_monotone() -> None:
    fitting = {n for n in range(200) if (n * n) % 7 in {1, 2} or n > 150}
    for near in range(0, 200, 7):
        found = least(fitting.__contains__, 0, 199, near=near)
        assert found in fitting
        assert found - 1 not in fitting


def test_a_good_start_makes_the_search_short() -> None:
    tried = []

    def fits(n: int) -> bool:
        tried.append(n)
        return n >= 10**18

    assert least(fits, 0, 10**30, near=10**18 + 3) == 10**18
    assert len(tried) < 8


def test_a_range_in_which_nothing_fits_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing in the range fits"):
        least(lambda _: False, 0, 100)


def test_doubles_are_searched_by_what_they_print_as() -> None:
    assert least_double(lambda x: x >= Fraction(3, 10), near=5.0, high=10.0) == 0.3
    assert least_double(lambda x: x >= 0, near=5.0, high=10.0) == 0.0
    assert least_double(lambda x: x >= Fraction(1, 10**300), near=math.nan, high=1.0) == 1e-300


def test_a_smooth_root_is_approached() -> None:
    assert approach(lambda x: 5 - math.exp(x), 1.0, 1.1) == pytest.approx(
        math.log(5), rel=1e-12, abs=0
    )
    assert approach(lambda _: 1.0, 1.0, 2.0) == 2.0


def test_delta_zero_has_no_epsilon() -> None:
    assert least_epsilon(lambda _: 1e-9, delta=Fraction(0), rho=1.0) == math.inf
