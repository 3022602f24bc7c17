"""What a sweep costs and how long it takes, estimated from its plan before anything is spent.

`foresee` asks the model about the floods of a plan, `durations` adds the time around them,
`prices` has AWS's prices, `bill` the lines of the bill, and `estimates` puts it all into words.
"""

from stampede.planning.cost.bill import Item
from stampede.planning.cost.estimates import Estimate, check_budget, estimate

__all__ = ["Estimate", "Item", "check_budget", "estimate"]
