"""Every form of an expression, with {} for each argument: the functions of the tables, and
the operators.

New functions are included automatically, unless they need a particular text or number.
"""

from stampede.insights.expressions.aggregates import AGGREGATES
from stampede.insights.expressions.functions.function import Function
from stampede.insights.expressions.functions.table import FUNCTIONS
from stampede.insights.language.names import spelled

_WITH_LITERALS = {
    "formatdate": ["formatDate({}, '%F %T')", "formatDate({}, '%H', 'UTC')"],
    "parsedate": ["parseDate({}, 'yyyy-MM-dd')", "parseDate({}, 'yyyy-MM-dd', 'UTC')"],
    "regexreplace": ["regexReplace({}, '[0-9]+(?<n>x)?', '-')"],
    "round": ["round({})", "round({}, 2)"],
    "split": ["split({}, ',')"],
    "strftime": ["strftime({}, '%F %T')"],
}
_ARITHMETIC = [f"({{}} {operator} {{}})" for operator in ("+", "-", "*", "/", "%", "^")]
_CONDITIONS = [
    f"({{}} {operator} {{}})" for operator in ("=", "!=", "<", "<=", ">", ">=", "and", "or")
]
_SPECIAL = [
    *(
        "(-{})",
        "(not {})",
        "({} like /x/)",
        "({} not like 'x')",
        "({} =~ /(?i)[0-9]+/)",
        "({} in [1, '10', 'x'])",
    ),
    *(
        "if({}, {}, {})",
        "if({} = 1, {}, {})",
        "case({}, {}, {}, {})",
        "case({} > 1, {}, {} < 'a', {}, 'no')",
    ),
    *("datefloor({}, 5m)", "datefloor({}, 1mo)", "dateceil({}, 300s)", "dateceil({}, 1q)"),
    *("jsonParse({})[0]", "jsonParse({}).l", "split({}, 'a')[1]"),
]


def _calls(name: str, function: Function) -> list[str]:
    """The function with its minimum and maximum number of arguments; three if unlimited."""
    if name in _WITH_LITERALS:
        return _WITH_LITERALS[name]
    counts = sorted({function.least, function.most or 3})
    flagged = [
        ["true" if place == function.flag else "{}" for place in range(count)] for count in counts
    ]
    return [f"{spelled(name)}({', '.join(arguments)})" for arguments in flagged]


FORMS = [
    call for name, function in FUNCTIONS.items() for call in _calls(name, function)
] + _ARITHMETIC
FORMS += _CONDITIONS + _SPECIAL
AGGREGATE_FORMS = [f"{spelled(name)}({{}})" for name in AGGREGATES] + [
    "median({})",
    "pct({}, 90)",
    "percentile({}, 50)",
]


def filled(form: str, *arguments: str) -> str:
    """The expression of a form; if there are fewer arguments than places, they repeat."""
    count = form.count("{}")
    return form.format(*[arguments[place % len(arguments)] for place in range(count)])
