# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sordino.auditing.blackbox.features import columns, granularity, score_columns
from sordino.auditing.blackbox.outputs import Outputs, Reader


@given(st.floats(allow_nan=False, allow_infinity=False).filter(bool))
def test_the_granularity_is_the_largest_power_of_two_that_divides(value: float) -> None:
    exponent = int(granularity(np.array([value]))[0])
    quotient = Fraction(value) / Fraction(2) ** exponent
    assert quotient.denominator == 1
    assert quotient.numerator % 2 == 1


def test_what_is_no_finite_number_or_zero_has_no_granularity() -> None:
    assert np.isnan(granularity(np.array([0.0, -0.0, np.nan, np.inf, -np.inf]))).all()


def names(one: Outputs, other: Outputs) -> list[str]:
    return [column.words for column in columns((one, other))]


def test_only_what_there_is_becomes_a_column() -> None:
    reader = Reader()
    number, word = reader.objects([1.0, 2.0]), reader.objects(["a", "b"])
    assert set(names(number, number)) == {"the output"}
    assert "the kind of output" in names(number, word)
    assert "the length of the output" in names(word, reader.objects(["a", "bc"]))
    pair = reader.objects([(1.0, 2.0), (3.0, 4.0)])
    assert "coordinate 1 minus coordinate 2" in names(pair, pair)
    large = reader.objects([2**60, 2**60 + 2])
    assert any("32 binary digits" in name for name in names(large, large))


def test_every_column_has_one_number_for_each_run_of_any_other_outputs() -> None:
    """An event made on some runs is looked for in others, which may have another shape."""
    reader = Reader()
    wide = reader.objects([(1.0, 2**60, 3.0), (4.0, 5.0, 6.0)] * 60)
    others = [
        reader.objects([1.0, None]),
        reader.objects(["a"]),
        reader.objects([(1.0, np.nan, np.inf, 4.0)] * 3),
        wide,
    ]
    for column in [*columns((wide, wide)), *score_columns((wide, wide))]:
        for other in others:
            values = column.of(other)
            assert values.shape == (len(other),)
            assert values.dtype == np.float64


def test_a_score_separates_what_no_single_coordinate_does() -> None:
    generator = np.random.default_rng(2)
    noise = generator.normal(size=(4000, 3))
    direction = np.array([1.0, -1.0, 1.0])
    reader = Reader()
    hidden = noise - np.outer(noise @ direction, direction) / 3  # no noise along the direction
    one, other = reader.array(hidden), reader.array(hidden + 0.05 * direction)
    classifier = list(score_columns((one, other)))[-1]
    assert classifier.words == "the classifier's score"
    assert classifier.of(one).min() > classifier.of(other).max()
