"""The figures of a cell, against values by hand and against NumPy."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stampede.runs.spread import quantile, spread


def test_quartiles_of_four_values_by_hand():
    # h = (4 - 1) x 0.25 = 0.75: three quarters of the way from 1 to 2.
    assert quantile([1.0, 2.0, 3.0, 10.0], 0.25) == 1.75
    assert quantile([1.0, 2.0, 3.0, 10.0], 0.5) == 2.5
    assert quantile([1.0, 2.0, 3.0, 10.0], 0.75) == 4.75


def test_a_spread_takes_its_values_in_any_order():
    figures = spread([3.0, 1.0, 10.0, 2.0])
    assert (figures.count, figures.min_s, figures.avg_s, figures.max_s) == (4, 1.0, 4.0, 10.0)


def test_a_single_value_is_every_figure():
    figures = spread([0.25])
    assert {figures.min_s, figures.p25_s, figures.median_s, figures.avg_s, figures.p75_s, figures.max_s} == {0.25}


def test_the_mean_of_many_values_loses_no_digits():
    assert spread([1e16, 1.0, -1e16]).avg_s == pytest.approx(1 / 3, rel=1e-15)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60), st.floats(0, 1))
def test_quantiles_agree_with_numpy(values, share):
    ordered = sorted(values)
    assert quantile(ordered, share) == pytest.approx(float(numpy.quantile(ordered, share)), rel=1e-9, abs=1e-9)


def test_no_values_are_refused():
    with pytest.raises(ValueError, match="at least one value"):
        spread([])


def test_a_share_outside_0_to_1_is_refused():
    with pytest.raises(ValueError, match="share=25"):
        quantile([1.0], 25)
