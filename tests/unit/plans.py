"""Plans and cells for the tests of planning, the experiments and the model."""

from experiments import EXPERIMENTS
from stampede.planning.plan import complete, make_plan, with_derived
from stampede.variable_rules import RULES


def plan(settings="", experiment="download", target="aws", each=None, **options):
    """The plan of settings such as "memory_size=512 concurrency_value=1,2"."""
    chosen = EXPERIMENTS[experiment]
    each = each or chosen.messages_per_concurrency
    return make_plan(chosen, target, settings.split(), messages_per_concurrency=each, **options)


def values(experiment, **changes):
    """Variables and work-order keys of a cell of the default AWS matrix, with unchecked changes."""
    chosen = EXPERIMENTS[experiment]
    matrix = chosen.matrices["aws"]
    own = {name: among[0] for name, among in matrix.swept.items()} | dict(matrix.fixed) | changes
    defaults = {name: rule.default for name, rule in RULES.items()}
    return complete(chosen, defaults | with_derived(chosen, "aws", own))
