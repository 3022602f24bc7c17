"""Percentiles as the service answers them, in plain Python: an oracle for the evaluator."""

import math
from fractions import Fraction

BASE = 1.001


def percentile(numbers, percent):
    """The nearest rank, from 100 distinct values on the lower edge of its bin; 0 for no number."""
    ordered = sorted(numbers)
    if not ordered:
        return 0
    value = ordered[max(1, math.ceil(Fraction(str(percent)) / 100 * len(ordered))) - 1]
    if percent in (0, 100) or len(set(ordered)) < 100 or value == 0:
        return value
    return math.copysign(BASE ** math.floor(math.log(abs(value)) / math.log(BASE)), value)
