"""How the reference spells functions, and what other languages call them.

Function names ignore case; messages use the reference's spelling.
"""

import difflib
import re
from collections.abc import Iterable

_SPELLINGS = """
    countDistinct sortsFirst sortsLast toNumber toInt toLong toDouble isNumeric messageSize
    regexReplace startsWith endsWith hexToAscii hexToDec decToHex fromMillis toMillis parseDate
    formatDate jsonParse jsonStringify jsonArraySize jsonArrayContains isValidIp isValidIpV4
    isValidIpV6 isIpInSubnet isIpv4InSubnet isIpv6InSubnet isPrivateIP isPublicIP isReservedIP
    ipv4ToNumber queryStartTime queryEndTime queryTimeRange
"""
_SPELLED = {name.lower(): name for name in _SPELLINGS.split()}

# Names from other query languages, and guesses: what to write here -> names.
_ELSEWHERE = {
    "avg(x)": "average mean",
    "pct(x, 95)": "percentiles quantile perc pctl",
    "count_distinct(x)": "distinct dcount uniq unique distinct_count distinctcount cardinality",
    "sum(if(condition, 1, 0))": "countif count_if sumif",
    "stddev(x)": "stdev std stddev_pop",
    "variance(x)": "var var_pop variance_pop",
    "sqrt(variance(x) * count(x) / (count(x) - 1))": "stddev_samp",
    "variance(x) * count(x) / (count(x) - 1)": "var_samp variance_samp",
    "earliest(x)": "first first_value",
    "latest(x)": "last last_value",
    "max(x) - min(x)": "range",
    "strlen(x)": "length len size char_length",
    "tolower(x)": "lower lcase lowercase",
    "toupper(x)": "upper ucase uppercase",
    "strcontains(x, text)": "contains instr indexof position includes",
    "substr(x, 0, 5)": "substring mid left",
    "regexReplace(x, pattern, text)": "regexp_replace regex_replace replaceall replace_regex",
    "`parse x /(?<name>...)/`": "regexp_extract regex_extract extract rex",
    "`x like /expression/`": "match matches regexp_like regex",
    "ispresent(x)": "exists isnotnull notnull isset defined",
    "not ispresent(x)": "isnull isna missing ismissing",
    "coalesce(x, y)": "ifnull nvl",
    "if(condition, value, other)": "iff iif",
    "case(condition, value, other)": "switch",
    "x ^ y": "pow power",
    "x % y": "mod modulo",
    "log(x)": "ln",
    "log(x) / log(10)": "log10",
    "log(x) / log(2)": "log2",
    "ceil(x)": "ceiling",
    "toLong(x)": "trunc truncate bigint",
    "toInt(x)": "int integer cast",
    "toDouble(x)": "float double",
    "toNumber(x)": "number tonum num",
    "datefloor(time, 1h)": (
        "date_trunc datetrunc date_bin bucket timeslice time_bucket truncate_time"
    ),
    "fromMillis(x)": "from_unixtime fromunixtime epoch todate to_timestamp",
    "toMillis(x)": "unix_timestamp tounixtime to_unixtime",
    "jsonParse(x)": "parse_json parsejson json_parse fromjson todynamic json",
    "jsonStringify(x)": "tojson to_json json_format",
    "isIpInSubnet(ip, subnet)": "ipinsubnet cidrmatch cidr_match",
}
_WRITTEN = {name: written for written, names in _ELSEWHERE.items() for name in names.split()}


def spelled(function: str) -> str:
    """The reference's spelling of a function name in lower case."""
    return _SPELLED.get(function, function)


def proposal(function: str, known: Iterable[str]) -> str | None:
    """What an unknown function, in lower case, probably means; None if nothing is similar."""
    if function in _WRITTEN:
        return _WRITTEN[function]
    if percent := re.fullmatch(r"p(?:ct|erc)?_?(\d\d?)", function):
        return f"pct(x, {int(percent.group(1))})"
    close = difflib.get_close_matches(function, list(known), n=1, cutoff=0.7)
    return spelled(close[0]) if close else None
