"""The discovered fields of two services' lines that aren't JSON: VPC flow logs and Route 53
query logs.

Sources: the fields, CWL_AnalyzeLogData-discoverable-fields; which are numbers, parseVPC and
parseRoute53 of "Built-in processors for AWS vended logs" (CloudWatch Logs user guide), except Route
53's version, which stays as logged, "1.0"; the columns, "Flow log records" (VPC user guide) and
"Public DNS query logging" (Route 53 developer guide). Read in November 2026.

A line is recognised by its whole shape. `-` is a missing value: "not applicable or could not be
computed". startTime and endTime are seconds since 1970, as logged. Custom flow logs have no fields
on the service either: a query that names one is refused if no event has it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from stampede.insights.values import pointer, sql_string

_NUMBER = "(?:0|[1-9][0-9]*|-)"
_ADDRESS = r"(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9a-fA-F]*:[0-9a-fA-F:.]*)"
_WORDS = r"^[\w.:/-]+(?: [\w.:/-]+)+\s*$"
NEEDS_FORMATS = "a line of another format"


@dataclass(frozen=True)
class LineFormat:
    """`shape` matches a whole line with these `columns`; a line in another format of the service
    matches all of `other`."""

    title: str
    columns: str
    numbers: str
    shape: str
    other: tuple[str, ...]

    @property
    def fields(self) -> list[str]:
        """The column names, in order."""
        return self.columns.split()

    def column(self, name: str) -> str:
        """SQL of the JSON text of a field in a line of this shape; NULL for `-`."""
        line = "rtrim(message, ' ' || chr(9) || chr(10) || chr(13))"
        written = f"nullif(split_part({line}, ' ', {self.fields.index(name) + 1}), '-')"
        return written if name in self.numbers.split() else f"CAST(to_json({written}) AS VARCHAR)"

    def is_this(self) -> str:
        """SQL of type boolean: whether a line has the shape."""
        return f"regexp_matches(message, {sql_string(self.shape)})"

    def is_another(self) -> str:
        """SQL of type boolean: whether a line without the shape is in another format."""
        return " AND ".join(
            f"regexp_matches(message, {sql_string(pattern)})" for pattern in self.other
        )

    def others_look_like(self) -> str:
        """What lines in another format look like, and how to read them."""
        return (
            f'{self.title} of another format than the default; name its columns, as in parse "* * '
            '*" as one, two, three'
        )


FORMATS = (
    LineFormat(
        title="VPC flow logs",
        columns=(
            "version accountId interfaceId srcAddr dstAddr srcPort dstPort protocol packets bytes "
            "startTime endTime action logStatus"
        ),
        numbers="version srcPort dstPort protocol packets bytes startTime endTime",
        shape=r"^2 (?:[0-9]+|unknown) (?:eni-[0-9A-Za-z]+|-)"
        rf"(?: (?:{_ADDRESS}|-)){{2}}(?: {_NUMBER}){{5}}"
        r"(?: [0-9]+){2} (?:ACCEPT|REJECT|-) (?:OK|NODATA|SKIPDATA)\s*$",
        # Only words, among them two addresses, and an interface or an action.
        other=(
            _WORDS,
            rf"(?:^| ){_ADDRESS} (?:.* )?{_ADDRESS}(?:\s|$)",
            r"(?:^| )(?:eni-[0-9a-f]{8,17}|ACCEPT|REJECT)(?:\s|$)",
        ),
    ),
    LineFormat(
        title="Route 53 query logs",
        columns=(
            "version queryTimestamp hostZoneId queryName queryType responseCode protocol "
            "edgeLocation resolverIp ednsClientSubnet"
        ),
        numbers="",
        shape=r"^[0-9]+\.[0-9]+ [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z Z[A-Z0-9]+ \S+"
        r" [A-Z0-9]+ [A-Za-z0-9]+ (?:TCP|UDP)"
        rf" [A-Z0-9-]+ {_ADDRESS} (?:{_ADDRESS}/[0-9]+|-)\s*$",
        other=(r"^[0-9]+\.[0-9]+ [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z Z[A-Z0-9]+ \S+ ",),
    ),
)
_BY_POINTER = [{pointer([name]): name for name in known.fields} for known in FORMATS]


def branches(pointers: Sequence[str], refuse_others: bool) -> str:
    """SQL of the WHEN branches that return the list of JSON texts at `pointers` for lines of
    these formats.

    Empty if no pointer is one of their fields. With `refuse_others`, a line in another format fails
    with NEEDS_FORMATS.
    """
    cases = ""
    for known, by_pointer in zip(FORMATS, _BY_POINTER, strict=True):
        names = [by_pointer.get(place) for place in pointers]
        if any(names):
            texts = ", ".join(known.column(name) if name else "NULL" for name in names)
            cases += f" WHEN {known.is_this()} THEN [{texts}]"
            if refuse_others:
                cases += f" WHEN {known.is_another()} THEN error('{NEEDS_FORMATS}')"
    return cases
