"""Numbers for reading: seconds, speeds, shares, intervals, dollars. A missing one is a dash."""

import math
import re
from collections.abc import Mapping, Sequence

NOTHING = "–"
Interval = Mapping[str, float]


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`, or, if a part has a comma, `a, x; b; and c`; no parts give an
    empty text."""
    if len(parts) > 2 and any(", " in part for part in parts):
        return "; and ".join(["; ".join(parts[:-1]), parts[-1]])
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 message`, `2,000 messages`; `many` is an irregular plural."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def capitalised(text: str) -> str:
    """`text` with a capital first letter."""
    return f"{text[:1].upper()}{text[1:]}"


def some(parts: Sequence[str], most: int) -> str:
    """The first `most` parts, and how many more there are: `a, b and 7 more`, or, if a part has a
    comma, `a, b; c, d; 7 more`."""
    shown = list(parts[:most])
    if len(parts) > most:
        shown.append(f"{len(parts) - most} more")
    return "; ".join(shown) if any(", " in part for part in shown) else listed(shown)


def significant(value: float) -> str:
    """Three significant digits, with thousands separators: `0.012`, `0.200`, `19.0`, `2,320`."""
    if value >= 0.1:
        return f"{value:,.0f}" if value >= 99.95 else f"{value:#.3g}"
    return f"{value:.3g}" if value >= 1e-4 else "0"


def ratios(interval: Interval) -> str:
    """The interval of a ratio, rounded outwards, so that an end beyond a limit never reads as equal
    to it: `1.02 to 1.05`, `1.009 to 1.05`."""
    low, high = interval["low"], interval["high"]
    digits = 3 if 1 < low < 1.01 or 0.99 < high < 1 else 2
    return f"{rounded_down(low, digits)} to {rounded_up(high, digits)}"


def rounded_down(value: float, digits: int) -> str:
    """`value` rounded down to so many decimals."""
    # The tolerance keeps 1.1 from becoming 1.09 because it is 1.0999999999999999.
    return f"{math.floor(value * 10**digits + 1e-9) / 10**digits:,.{digits}f}"


def rounded_up(value: float, digits: int) -> str:
    """`value` rounded up to so many decimals."""
    return f"{math.ceil(value * 10**digits - 1e-9) / 10**digits:,.{digits}f}"


def percent(value: float | None) -> str:
    """A share of 0 to 1 for a column of percentages, `100` or `0` only if exactly so: `97.2`."""
    if value is None:
        return NOTHING
    return f"{value * 100:.0f}" if value in (0, 1) else f"{min(max(value * 100, 0.1), 99.9):.1f}"


def dollars(usd: float | None) -> str:
    """US dollars: two decimals from one dollar on, four below."""
    if usd is None:
        return "price unknown"
    return (
        f"{usd:,.2f}" if usd >= 1 or usd == 0 else f"{usd:.4f}" if usd >= 0.0001 else "under 0.0001"
    )


def quantity(value: float) -> str:
    """A quantity with thousands separators and no needless decimals."""
    return f"{value:,.0f}" if value >= 100 or float(value).is_integer() else f"{value:,.4g}"


def size_words(size_bytes: int) -> str:
    """A size in binary units, with at most four digits: `64 MiB`, `1 GiB`."""
    return _in_units(size_bytes, {"GiB": 1024**3, "MiB": 1024**2, "KiB": 1024}, 4)


def decimal_size(size_bytes: float, digits: int = 3) -> str:
    """A size in decimal units, with at most so many digits: `45.3 KB`, `100 MB`."""
    rounded = float(f"{size_bytes:.{digits}g}")
    return _in_units(rounded, {"GB": 1e9, "MB": 1e6, "KB": 1e3}, digits)


def _in_units(size_bytes: float, units: Mapping[str, float], digits: int) -> str:
    for unit, factor in units.items():
        if size_bytes >= factor:
            return f"{float(f'{size_bytes / factor:.{digits}g}'):g} {unit}"
    return f"{size_bytes:g} bytes"


def duration(value_s: float) -> str:
    """A time span: `4 min 38 s`, `1 h 12 min`."""
    whole_s = round(value_s)
    if whole_s >= 3600:
        return f"{whole_s // 3600} h {whole_s % 3600 // 60} min"
    return f"{whole_s // 60} min {whole_s % 60} s" if whole_s >= 60 else f"{whole_s} s"


def minutes(value_s: float) -> str:
    """A time span to the minute: `41 min`, and above 90 minutes `6 h 20 min`."""
    whole = max(0, round(value_s / 60))
    return f"{whole} min" if whole <= 90 else f"{whole // 60} h {whole % 60} min"


def unbroken(text: str) -> str:
    """`text` with no-break spaces within `N = 10`, `9 of 10`, `3.1 ×`, `64 MiB`, `97 %`, `1 s`."""
    joined = re.sub(r"\bN = (?=\d)", "N\u00a0=\u00a0", text)
    joined = re.sub(r"(?<=\d) of (?=\d)", "\u00a0of\u00a0", joined)
    return re.sub(r"(?<=\d) (?=×|%|s\b|[KMG]i?B\b|\w+/s\b)", "\u00a0", joined)
