"""What users get wrong, where the message points, and that the way out which it names is one."""

import pytest

from queries.insights import QueryError, check

# What was written, the column that the message points to, some of its words, and the query that follows its advice.
SLIPS = [
    ("# only a comment", 17, "the query is empty", "fields a # only a comment"),
    ("| fields a", 1, "a command is missing before |", "fields a"),
    ("fields a | | sort a", 12, "a command is missing before |", "fields a | sort a"),
    ("fields a || sort a", 10, "two | stand side by side", "fields a | sort a"),
    ("fields a; sort a", 9, "separated by |", "fields a | sort a"),
    ("fields a // why", 10, "begins with #", "fields a # why"),
    ("fields a /* why */", 10, "begins with #", "fields a # why"),
    ("fields a -- why me", 10, "begins with #", "fields a # why me"),
    ("select a", 1, "write `fields`", "fields a"),
    ("fields a | order by b", 12, "write `sort`", "fields a | sort b"),
    ("fields a | group by b", 12, "`stats ... by ...`", "stats count(*) by b"),
    ("fields a | take 5", 12, "write `limit`", "fields a | limit 5"),
    ("fields a | FITLER b = 1", 12, "did you mean filter?", "fields a | filter b = 1"),
    ("fields a order by b", 10, "write `| sort field`", "fields a | sort b"),
    ("sort a descending", 8, "write desc", "sort a desc"),
    ("sort a asc desc", 12, "expected a comma or |", "sort a asc"),
    ("limit 5, 10", 8, "limit takes one number", "limit 5"),
    ("limit 5 rows", 9, "'rows' can't stand here; expected |", "limit 5"),
    ("fields *", 8, "name the fields", "fields @timestamp, @message"),
    ("fields a b", 10, "expected an operator or `as` or a comma", "fields a, b"),
    ("fields a, | sort a", 11, "expected a field or value", "fields a | sort a"),
    ("fields a as b c", 15, "takes backticks", "fields a as `b c`"),
    ('fields a as "b c"', 13, "an alias has no quotes", "fields a as `b c`"),
    ("fields größe", 10, "takes backticks", "fields `größe`"),
    ("fields strlen a", 8, "as in strlen(a)", "fields strlen(a)"),
    ("fields a['b']", 9, "a key takes a dot", "fields a.b"),
    ("fields case when a = 1 then 2 end", 13, "if(condition, value, other)", "fields if(a = 1, 2, 3)"),
    ("fields a > 1 ? 2 : 3", 14, "if(condition, value, other)", "fields if(a > 1, 2, 3)"),
    ("filter a == 1", 11, "written with one =", "filter a = 1"),
    ("filter a <> 1", 10, "write !=", "filter a != 1"),
    ("filter a => 1", 10, "write <= or >=", "filter a >= 1"),
    ("filter a not = 1", 10, "put `not` before the whole comparison", "filter not a = 1"),
    ("filter a && b", 10, "write `and`", "filter a = 1 and b = 1"),
    ("filter a = 1 || b = 1", 14, "write `or`", "filter a = 1 or b = 1"),
    ("filter !ispresent(a)", 8, "write `not`", "filter not ispresent(a)"),
    ("filter a !~ /x/", 10, "write `not like`", "filter a not like /x/"),
    ("filter a ~ /x/", 10, "write `like` or =~", "filter a =~ /x/"),
    ("filter a is null", 10, "`not ispresent(field)`", "filter not ispresent(a)"),
    ("filter a = null", 12, "`not ispresent(field)`", "filter not ispresent(a)"),
    ("filter a = True", 12, "write a = 1", "filter a = 1"),
    ('filter a contains "x"', 10, 'write `like "text"`', 'filter a like "x"'),
    ("filter a between 5 and 6", 10, "`x >= 5 and x <= 6`", "filter a >= 5 and a <= 6"),
    ("filter a = 1,000", 12, "no commas", "filter a = 1000"),
    ("filter a = 0x1F", 12, "hexToDec", "filter a = hexToDec('0x1f')"),
    ("filter a = “x”", 12, "straight", 'filter a = "x"'),
    ("filter a = 'it's'", 16, "has ended", "filter a = 'it\\'s'"),
    ("filter a = 'it''s'", 16, "has ended", "filter a = 'it\\'s'"),
    ("filter a = 'x", 12, "quote ' is never closed", "filter a = 'x'"),
    ('filter a in ("x", "y")', 13, "in brackets", 'filter a in ["x", "y"]'),
    ('filter a in "x"', 13, "in brackets", 'filter a in ["x"]'),
    ("filter a in []", 14, "is empty", "filter a in [1]"),
    ("filter a in [1 2]", 16, "commas between them", "filter a in [1, 2]"),
    ("filter a in [1, 2", 18, "ends where ] or a comma is needed", "filter a in [1, 2]"),
    ("filter (a = 1", 14, "the query ends where", "filter (a = 1)"),
    ("filter a = 1)", 13, "')' can't stand here", "filter a = 1"),
    ("filter a like /x/i", 18, "as in /(?i)error/", "filter a like /(?i)x/"),
    ("filter a like /x/y/", 18, "write \\/ for a slash", "filter a like /x\\/y/"),
    ("filter a like //", 15, "is empty", "filter a like /x/"),
    ('filter strcontains(a, "x")', 8, "strcontains(...) = 1", 'filter strcontains(a, "x") = 1'),
    ("filter a like 'x' or like 'y'", 22, "names its field again", "filter a like 'x' or a like 'y'"),
    ("sort a dsc", 8, "write desc", "sort a desc"),
    ("dedup a b", 9, "expected a comma or |", "dedup a, b"),
    ("stats max(a) by max(b)", 17, "not after `by`", "stats max(a) by b"),
    ("fields formatDate(@timestamp, 'yyyy')", 31, "as in %Y-%m-%d", "fields formatDate(@timestamp, '%Y')"),
    ("stats avg(a by b", 13, "expected ) or a comma", "stats avg(a) by b"),
    ("stats avg a by b", 7, "as in avg(a)", "stats avg(a) by b"),
    ("stats count by b", 7, "as in count(*)", "stats count(*) by b"),
    ("stats count(*), by b", 15, "no comma before `by`", "stats count(*) by b"),
    ("stats count(*) group by b", 16, "write `by`", "stats count(*) by b"),
    ("stats count(*) as n by b having n > 1", 26, "`| filter ...`", "stats count(*) as n by b | filter n > 1"),
    ("stats count(distinct a)", 13, "count_distinct(field)", "stats count_distinct(a)"),
    ("stats count(*) by *", 19, "name the fields", "stats count(*) by a"),
    ("stats count(*) by bin(5 m)", 23, "without a space", "stats count(*) by bin(5m)"),
    ('stats count(*) by bin("5m")', 23, "without quotes", "stats count(*) by bin(5m)"),
    ("stats count(*) by bin(1.5h)", 23, "as in 90m", "stats count(*) by bin(45m)"),
    ("stats percentile(a, 95)", 7, "did you mean pct(x, 95)?", "stats pct(a, 95)"),
    ("stats p99(a)", 7, "did you mean pct(x, 99)?", "stats pct(a, 99)"),
    ("stats mean(a)", 7, "did you mean avg(x)?", "stats avg(a)"),
    ("fields lower(a)", 8, "did you mean tolower(x)?", "fields tolower(a)"),
    ("fields isnumerc(a)", 8, "did you mean isNumeric?", "fields isNumeric(a)"),
    ("fields frobnicate(a)", 8, "docs/insights.md lists", "fields abs(a)"),
    ("fields jsonarraysize(a, b)", 8, "jsonArraySize takes 1 argument, not 2", "fields jsonArraySize(a)"),
    ("parse @message as a", 16, "the pattern is missing", "parse @message 'x*' as a"),
    ("parse @message regex /(?<a>x)/", 16, "between slashes", "parse @message /(?<a>x)/"),
    ("parse tolower(@message) 'x*' as a", 7, "compute it", "fields tolower(@message) as m | parse m 'x*' as a"),
]


@pytest.mark.parametrize(("wrong", "column", "words", "right"), SLIPS)
def test_a_slip_is_pointed_at_and_the_way_out_is_one(wrong, column, words, right):
    with pytest.raises(QueryError) as caught:
        check(wrong)
    message = str(caught.value)
    assert words in message
    assert caught.value.column == column, message
    assert "\n" not in message and len(message) < 200
    check(right)


def test_the_place_is_counted_in_a_query_of_many_lines():
    with pytest.raises(QueryError) as caught:
        check("# " + "x" * 500 + "\nfields a\n| filter a = 1\n    and b == 2")
    assert (caught.value.line, caught.value.column) == (4, 12)
