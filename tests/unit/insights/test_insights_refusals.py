"""What the evaluator doesn't do exactly is refused by name, line and column, never with a traceback."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stampede.insights import QueryError, check, evaluate
from stampede.insights.expressions.functions.table import UNSUPPORTED
from stampede.insights.language.refusals import UNSUPPORTED_COMMANDS

REFUSED = [
    ("", 1, 1, "the query is empty"),
    ("fields a |", 1, 11, "ends where a command"),
    ("fields a\n| filer b = 1", 2, 3, "did you mean filter"),
    ("pattern @message", 1, 1, "command pattern is not supported"),
    ("fields a | diff", 1, 12, "command diff is not supported"),
    ("SOURCE logGroups()", 1, 1, "command SOURCE is not supported"),
    ("filterIndex a = 1", 1, 1, "use `filter`"),
    ("fields a sort b", 1, 10, "a | is missing before the command sort"),
    ("fields a, ", 1, 11, "the query ends"),
    ('filter a = "x', 1, 12, 'quote " is never closed'),
    ("fields `a", 1, 8, "backtick ` is never closed"),
    ("filter a like /x", 1, 15, "never closed"),
    ("fields /x/", 1, 8, "is allowed only after like"),
    ("fields a-", 1, 10, "the query ends"),
    ("filter a like b", 1, 15, "'b' isn't allowed here"),
    ("filter a in [b]", 1, 14, "takes numbers and quoted text"),
    ("filter a === 1", 1, 10, "write equality with one ="),
    ("parse @message logfmt", 1, 22, "the query ends where `as` is expected"),
    ("parse @message logfmt as a, b", 1, 27, "',' isn't allowed here"),
    ("parse @message json", 1, 16, "the json form of parse is not supported"),
    ("parse @message XML '/event'", 1, 16, "the XML form of parse is not supported"),
    ("parse @message 'a*' as b multi", 1, 26, "multi belongs to a /regular expression/"),
    (r"parse @message /(?<a>\d*)/ multi", 1, 16, "must not match empty text"),
    (r"parse @message /\b(?<a>x*)/ multi", 1, 16, "must not match empty text"),
    ("unnest items into item", 1, 8, "`fields jsonParse(@message) as m | unnest m.items into x`"),
    ("fields split(a, ',') as b | unnest b into c", 1, 36, "not the result of split"),
    ("fields split(a, ',') as b | expand b", 1, 36, "not the result of split"),
    ("fields a as b | expand b", 1, 24, "takes a field with a JSON array"),
    ('json field=a "b[0]" as c', 1, 14, "keys with dots"),
    ("fields jsonParse(a) as b | unnest b into b", 1, 42, "already defined"),
    ("fields jsonParse(a) as b | unnest b into @message", 1, 42, "can't be an alias"),
    ("stats count(*) as n by a | unnest b into c", 1, 35, "b isn't available after stats"),
    ("limit any", 1, 7, "`limit any` is not supported"),
    ("filter a in (fields b)", 1, 13, "sub-queries are not supported"),
    ('parse "a=*, b=*" as x', 1, 7, "2 * but 1 name after"),
    ('parse "a=*"', 1, 7, "1 * but 0 names"),
    ('parse "abc" as x', 1, 7, "has no *"),
    ('parse "a**" as x, y', 1, 7, "side by side"),
    ("parse /a(b)/", 1, 7, "names no field"),
    ("parse /(?<a>b)/ as c", 1, 20, "already named a"),
    ("parse /(a)(b)/ as c", 1, 19, "2 groups but 1 name after"),
    ("parse /ab/ as c", 1, 15, "0 groups but 1 name after"),
    ("parse /(?P<a>b)/", 1, 8, "(?<name>...)"),
    ("parse /(?<a>b)(?<a>c)/", 1, 7, "two groups are named a"),
    ("filter a like /x(?=y)/", 1, 17, "look-ahead"),
    ("filter a like /x(?!y)/", 1, 17, "negative look-ahead"),
    ("filter a like /(?<=x)y/", 1, 16, "look-behind"),
    (r"filter a like /(x)\1/", 1, 19, r"backreference \1"),
    ("filter a like /(x/", 1, 15, "missing )"),
    ("filter a like /[b-a]/", 1, 15, "invalid regular expression"),
    ("filter a like /x++/", 1, 15, "invalid regular expression"),
    (r'filter a = "\d"', 1, 12, r"escape \d"),
    ("filter @message", 1, 8, "not a condition"),
    ("filter a = 1 and 7", 1, 18, "not a condition"),
    ("filter not @timestamp", 1, 12, "not a condition"),
    ("filter a = true", 1, 12, "true is not a value: JSON's true is 1 here, write a = 1"),
    ("filter false != a", 1, 8, "false is not a value: JSON's false is 0 here, write a != 0"),
    ("fields concat(true, 'x')", 1, 15, "true is not a value: JSON's true is 1 here and false 0"),
    ('filter @timestamp > "2025-01-12"', 1, 8, "timestamp can't be compared with text"),
    ("fields abs(a, b)", 1, 8, "abs takes 1 argument, not 2"),
    ("fields strlen()", 1, 8, "strlen takes 1 argument, not 0"),
    ("fields coalesce()", 1, 8, "at least 1 argument"),
    ("fields abss(a)", 1, 8, "did you mean abs"),
    ("fields round(a, b)", 1, 17, "decimal places from 0 to 15"),
    ("fields round(a, -1)", 1, 17, "decimal places from 0 to 15"),
    ("fields haversine(a, b, c, d)", 1, 8, "radius"),
    ("fields queryStartTime()", 1, 8, "no query window"),
    ("fields queryEndTime()", 1, 8, "no query window"),
    ("fields queryTimeRange()", 1, 8, "no query window"),
    ("fields parseDate(a, 'yyyy')", 1, 21, "the format lacks the month"),
    ("fields parseDate(a, b)", 1, 21, "takes its format as text"),
    ("fields parseDate(a, 'YYYY-MM-dd')", 1, 21, "YYYY in the format isn't supported"),
    ("fields parseDate(a, 'yyyy-MM-dd mm')", 1, 21, "skips part of the time"),
    ("fields parseDate(a, 'yyyy-MM-dd yyyy')", 1, 21, "names a part of the date twice"),
    ("fields parseDate(a, 'yyyy-MM-dd[HH]')", 1, 21, "[ is reserved"),
    ('fields parseDate(a, "yyyy-MM-dd\'")', 1, 21, "is never closed"),
    ("fields parseDate(a, 'yyyy-MM-dd', 'Europe/Berlin')", 1, 35, 'only the time zone "UTC"'),
    ("fields parseDate(a, 'yyyy-MM-ddXXX', 'UTC')", 1, 38, "leave the time zone out"),
    ("fields formatDate(a, '%Y')", 1, 19, "formatDate takes a timestamp"),
    ("fields formatDate(@timestamp, '%q')", 1, 31, "%q in the format isn't supported"),
    ("fields formatDate(@timestamp, '50%')", 1, 31, "% in the format isn't supported"),
    ("fields strftime(@timestamp, '%Y', 'CET')", 1, 35, 'only the time zone "UTC"'),
    ("fields isPublicIP(a)", 1, 8, "isIpInSubnet"),
    ("fields isReservedIP(a)", 1, 8, "isIpInSubnet"),
    ("stats rate(a)", 1, 7, "divide a sum"),
    ("stats count_over_time(a) by bin(5m)", 1, 7, "write count(x) and `by bin(5m)`"),
    ("stats sum_over_time(a) by bin(5m)", 1, 7, "write sum(x) and `by bin(5m)`"),
    ("stats count(*) by bin(5m) offset 1h", 1, 27, "`offset` is not supported"),
    ("fields unmask(a)", 1, 8, "in the CloudWatch console"),
    ("stats values(a)", 1, 7, "use count(*)"),
    ("stats collect_values(a)", 1, 7, "use count(*)"),
    ("stats topk(5, a)", 1, 7, "equally frequent"),
    ("stats count_frequent(a)", 1, 7, "sort and limit"),
    ("stats countFrequent(a)", 1, 7, "sort and limit"),
    ("stats histogram(a)", 1, 7, "floor(x / width)"),
    ("fields now(1)", 1, 8, "now takes 0 arguments, not 1"),
    ("fields if(a = 1, 2)", 1, 8, "if takes 3 arguments, not 2"),
    ("fields if('a', 1, 2)", 1, 11, "not a condition"),
    ("fields case(a = 1)", 1, 8, "case takes 2 to 21 arguments, not 1"),
    ("fields strcontains(a, 'b', 1)", 1, 28, "must be true or false"),
    ("fields regexReplace(a, b, 'c')", 1, 24, "its pattern as text"),
    ("fields regexReplace(a, '(?=x)', 'c')", 1, 25, "look-ahead"),
    ("fields regexReplace(a, 'x', '$1')", 1, 29, "isn't documented"),
    ("fields regexReplace(a, '[(](?=x)', 'c')", 1, 28, "look-ahead"),
    (r"filter a = 1 | filter @message like /a\Cb/", 1, 39, "matches a byte"),
    (r"filter a = 1 | filter @message like /[[:alpha:/", 1, 37, "invalid regular expression"),
    ("filter a = 1 | filter @message like /(a{1000}){1000}/", 1, 37, "invalid regular expression"),
    (r"parse @message /[[:alpha:](]\(?<x>/", 1, 16, "names no field"),
    ("fields split(a, '')", 1, 17, "one character or more"),
    ("fields isIpInSubnet(a, '10.0.0.1/8')", 1, 24, "'10.0.0.1/8' is not a subnet"),
    ("fields isIpv4InSubnet(a, '2001:db8::/32')", 1, 26, "is not an IPv4 subnet"),
    ("fields isIpv6InSubnet(a, '10.0.0.0/8')", 1, 26, "is not an IPv6 subnet"),
    ("fields jsonStringify('a')", 1, 22, "takes a map or list"),
    ("fields a[0]", 1, 8, "of a discovered list as a.0"),
    ("fields a as b | fields b[0]", 1, 24, "b is not a map or list"),
    ("fields jsonParse(a)[1.5]", 1, 21, "an index must be a whole number"),
    ("fields abs(a).b", 1, 8, "abs returns no map or list"),
    ("fields jsonParse(a) as j | sort j", 1, 33, "can't be used in sort"),
    ("fields jsonParse(a) as j | stats count(*) by j", 1, 46, "can't be used in stats"),
    ("fields jsonParse(a) as j | stats max(j)", 1, 38, "can't be used in stats"),
    ("fields jsonParse(a) as j | dedup j", 1, 34, "can't be used in dedup"),
    ("fields abs(*)", 1, 8, "only count takes *"),
    ("stats avg(*)", 1, 7, "only count takes *"),
    ("fields 5m", 1, 8, "a period is allowed only in"),
    ("stats count(*) by bin(5 )", 1, 23, "bin takes a period"),
    ("stats count(*) by bin(5parsecs)", 1, 23, "unknown period unit 'parsecs'"),
    ("stats count(*) by bin(5M)", 1, 23, "write units in lower case"),
    ("stats count(*) by bin(a, 5m)", 1, 19, "datefloor(time, 5m)"),
    ("filter @timestamp > now() - 1h", 1, 29, "as a number of milliseconds 1h is 3600000"),
    ("fields 1a", 1, 8, "1a is neither a number nor a name"),
    ("filter @timestamp > 2025-01-12", 1, 26, "01 begins with a zero"),
    ("stats count(*) by bin(1w)", 1, 23, "where a week begins"),
    ("stats count(*) by bin(2mo)", 1, 23, "only one month at a time"),
    ("stats count(*) by bin(0s)", 1, 23, "at least 1"),
    ("fields datefloor(a, 5m)", 1, 18, "takes a timestamp"),
    ("fields @nope", 1, 8, "@nope isn't a discovered field"),
    ("fields a as @message", 1, 13, "can't be an alias"),
    ("fields a as b, c as b", 1, 21, "already defined"),
    ("fields avg(a)", 1, 8, "is allowed only in stats"),
    ("stats a by b", 1, 7, "neither aggregated nor a key"),
    ("stats 1 + 1", 1, 7, "is not an aggregate"),
    ("stats avg(sum(a))", 1, 11, "is allowed only in stats"),
    ("stats count(*), count(*)", 1, 17, "two columns are named count(*)"),
    ("fields `a + b`, a + b", 1, 17, "two columns are named a + b"),
    ("stats count(*) as `max(a)`, max(a)", 1, 29, "two columns are named max(a)"),
    ("stats max(a) as `a + b` by a, b | fields a + b", 1, 42, "two columns are named a + b"),
    ("stats count(*) by bin(5m), bin(1h) | sort @timestamp", 1, 43, "@timestamp isn't available after stats"),
    ("stats count(*) by bin(5m) | filter @timestamp > 5", 1, 36, "@timestamp isn't available after stats"),
    ("stats count(*) as n by bin(5m) | stats max(n) by a", 1, 50, "a isn't available after stats"),
    ("stats sum(a) as a by b | stats max(a) by b | stats min(a)", 1, 56, "keeps only b, max(a)"),
    ("stats count(*) by a, a", 1, 22, "two columns are named a"),
    ("stats pct(a, 101)", 1, 14, "from 0 to 100"),
    ("stats pct(a, b)", 1, 14, "from 0 to 100"),
    ("stats count(*) as n | filter a = 1", 1, 30, "a isn't available after stats, which keeps only n"),
    ("stats count(*) as n | stats max(n) by bin(5m)", 1, 39, "needs @timestamp"),
    ("stats count(*) as n | stats latest(n)", 1, 29, "needs @timestamp"),
    ("stats count(*) as n" + "\n| stats max(n) as n" * 10, 11, 3, "at most 10 stats"),
    ("sort a asc | stats count(*) as n | stats max(n)", 1, 1, "sort must come after the last one"),
    ("stats count(*) as n by a | limit 5 | stats max(n)", 1, 34, "limit must come after the last one"),
    ("dedup a | fields b", 1, 11, "only limit may follow dedup"),
    ("limit 0", 1, 7, "from 1 to 100000"),
    ("limit 1.5", 1, 7, "whole number"),
    ("limit -1", 1, 7, "isn't allowed here"),
    ("fields " + "abs(" * 60 + "a" + ")" * 60, 1, 168, "deeper than 40"),
    ("fields a\0", 1, 9, "U+0000"),
    ("filter a = 1e999", 1, 12, "too large"),
]


# Every command of the reference that isn't evaluated, with what its message must point to.
COMMANDS_REFUSED = {
    "pattern @message": "stats count(*) by",
    "diff": "each period",
    "anomaly": "in the CloudWatch console",
    "unmask @message": "in the CloudWatch console",
    "join a on b": "two queries",
    "lookup t a output b": "outside the query",
    "SOURCE logGroups()": "outside the query",
    "filterIndex a = 1": "use `filter`",
    "addtotals": "without `by`",
    "fillmissing 0": "in the CloudWatch console",
    "filldown a": "result of the query",
    "autoregress a": "result of the query",
    "accum a": "result of the query",
    "sessionize a": "result of the query",
    "appendcols [x]": "two queries",
    "cidrlookup t a": "isIpInSubnet",
    "outlier a": "pct(x, 25)",
    "logcompare 1d": "each period",
    "relevantfields where a": "in the CloudWatch console",
    "countFrequent a": "count(*) as n by",
    "estimate": "strlen(@message)",
    "tail 5": "use `sort`",
}


@pytest.mark.parametrize(("command", "alternative"), COMMANDS_REFUSED.items())
def test_an_unsupported_command_is_named_with_the_nearest_alternative(command, alternative):
    word = command.split()[0]
    with pytest.raises(QueryError) as caught:
        check(f"fields a\n| {command}")
    message = str(caught.value)
    assert message.startswith(f"line 2, column 3: the command {word} is not supported: ")
    assert alternative in message


def test_every_command_refused_by_name_is_tested():
    assert {command.split()[0].lower() for command in COMMANDS_REFUSED} == set(UNSUPPORTED_COMMANDS)


@pytest.mark.parametrize(("query", "line", "column", "words"), REFUSED)
def test_a_refusal_names_construct_line_and_column(query, line, column, words):
    with pytest.raises(QueryError) as caught:
        check(query)
    message = str(caught.value)
    assert words in message
    assert (caught.value.line, caught.value.column) == (line, column), message
    assert message.startswith(f"line {line}, column {column}: ")
    assert "\n" not in message


def test_every_function_refused_by_name_is_tested():
    tested = " ".join(query.lower() for query, *_ in REFUSED)
    assert all(f"{name}(" in tested for name in UNSUPPORTED)


# What a query may hold: query, column of its only line, words.
TOO_MUCH = {
    "parentheses": ("fields a as b | display " + "(" * 4000 + "a" + ")" * 4000, 220, "nested too deeply here"),
    "signs": ("filter " + "not " * 2000 + "a = 1", 800, "nested too deeply here"),
    "a sum": ("fields " + "a + " * 41 + "a as b", 8, "nested deeper than 40 levels; compute part of it in an earlier"),
    "characters": ("filter a = 1 | " * 1500 + "limit 5", 10_001, "at most 10,000 characters, in the service too; this"),
    "filters": ("filter a=1|" * 401 + "limit 5", 4410, "more than 400 steps, each on top of the one before"),
    "aliases": (
        "fields a+1 as b1" + "".join(f",b{i}+1 as b{i + 1}" for i in range(1, 402)),
        5764,
        "more than 400 steps",
    ),
    "a limit": ("fields a | limit " + "9" * 5000, 18, "a whole number of 5000 digits is too large"),
    "an index": ("fields jsonParse(a)[" + "9" * 5000 + "]", 21, "a whole number of 5000 digits is too large"),
    "a period": ("stats count(*) by bin(" + "9" * 5000 + "m)", 23, "a whole number of 5000 digits is too large"),
}


@pytest.mark.parametrize("what", TOO_MUCH)
def test_too_much_of_anything_is_refused_with_its_bound_and_place(what):
    query, column, words = TOO_MUCH[what]
    with pytest.raises(QueryError) as caught:
        check(query)
    assert words in str(caught.value)
    assert (caught.value.line, caught.value.column) == (1, column), str(caught.value)[:200]


@pytest.mark.parametrize(
    ("query", "last"),
    [
        ("fields " + ", ".join(f"a + {i} as b{i}" for i in range(1, 301)), 301),
        ("fields a + 1 as b1, " + ", ".join(f"b{i - 1} + 1 as b{i}" for i in range(2, 101)), 101),
    ],
    ids=["300 aliases of one field", "100 aliases of one another"],
)
def test_many_aliases_are_planned_without_a_stage_for_each(query, last):
    """With a stage for each, planning 500 didn't end."""
    result = evaluate(query, [{"timestamp": 1, "message": '{"a": 1}'}])
    assert list(result.rows[0].values())[-1] == last


def test_a_concat_may_have_as_many_arguments_as_a_query_holds():
    (row,) = evaluate("fields concat(" + "a," * 2000 + "'x') as r", [{"timestamp": 1, "message": '{"a": 1}'}]).rows
    assert row["r"] == "1" * 2000 + "x"


def test_a_refused_query_is_refused_before_the_events_are_looked_at():
    with pytest.raises(QueryError):
        evaluate("fields abs(", "/no/such/file.jsonl")


PIECES = r"""fields display filter parse stats sort limit dedup by as asc desc and or not in like =~ | | | , , ( ) [ ]
    = != < <= + - * / ^ % 5m 10 2.5 'x' "a*b" /x/ /(?<g>y)/ # `q` @message @timestamp a b.c count(*) avg(a) bin(5m)
    abs concat ispresent(a) 1e400 true \ ' " ` é ! == where unnest into expand multi json field= group strcontains(a,b)
    jsonParse(@message)"""
WORDS = PIECES.split()


@given(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join) | st.text(max_size=40))
@example("fields (a = b) = (c = d)")
@example("filter (a = b) like /x/ | stats max(a = b) by (a = 1)")
@example("fields concat(1, 'a', @timestamp, a = 1) as t, strlen(t), t ^ 2 | sort t desc")
@example("stats sortsFirst(a = 1), earliest(@timestamp), latest(a = b), count(a = 1), sum(1 = 1)")
@example("fields coalesce(1, a, 'x', @timestamp), coalesce(a = 1, 2), trim(5), tolower(@duration) | sort a = 1 desc")
@example("fields fromMillis('x'), toMillis(a), dateceil(fromMillis(-5), 1mo), substr(a, -1, -2) | dedup a, @log")
def test_any_text_either_evaluates_or_is_refused(query):
    events = [{"timestamp": 5, "message": '{"a": 1, "b": {"c": "x"}}'}, {"timestamp": 7, "message": "y"}]
    try:
        result = evaluate(query, events)
    except QueryError as error:
        assert error.line >= 1 and error.column >= 1
    else:
        assert all(set(row) <= set(result.columns) for row in result.rows)
        result.as_strings()
