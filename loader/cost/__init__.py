"""What a sweep costs and how long it takes, estimated from its plan before anything is spent.

`demand` turns the plan into numbers, `durations` says how long they take, `prices` what AWS asks, `bill` has its lines,
and `estimates` says it all in words.
"""

from loader.cost.bill import Item
from loader.cost.estimates import Estimate, check_budget, estimate

__all__ = ["Estimate", "Item", "check_budget", "estimate"]
