"""What a sweep costs and how long it takes, estimated from its plan before anything is spent.

`foreseen` asks the model how the floods of a plan will go, `durations` adds what stands around
them, `prices` says what AWS asks, `bill` has its lines, and `estimates` says it all in words.
"""

from stampede.planning.cost.bill import Item
from stampede.planning.cost.estimates import Estimate, check_budget, estimate

__all__ = ["Estimate", "Item", "check_budget", "estimate"]
