"""`stampede prices`: prints the prices that estimates rest on, and brings them up to date from AWS's own list.

What was before an update stays beside it, so that a bill of another day can be reckoned again.
"""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from stampede.errors import UsageError
from stampede.phrases import counted
from stampede.planning.cost import price_list, prices
from stampede.progress import say
from stampede.stacks import endpoints, regions
from stampede.stacks import target as targets
from stampede.stacks.target import Target
from stampede.tables import print_rows

COLUMNS = ("name", "usd", "unit", "region", "as_of", "source")
UPDATE_COLUMNS = ("name", "usd_before", "usd", "unit", "found")
# Somebody waits, and what isn't answered is asked for another day.
TIMEOUTS = {"connect_timeout": 3, "read_timeout": 10, "retries": {"mode": "standard", "total_max_attempts": 3}}


def run(arguments: argparse.Namespace) -> int:
    """Print the prices on stdout; with --update what was found, and status 1 if a price that was asked for wasn't."""
    region = arguments.region or prices.USUAL_REGION
    if (unknown := regions.unknown(region)) is not None:
        found, way_out = unknown
        raise UsageError(f"--region: {found}", way_out)
    if arguments.dry_run and not arguments.update:
        raise UsageError("--dry-run: without --update nothing is changed anyway; leave it out, or add --update")
    if arguments.update:
        return _update(region, arguments.format, dry_run=arguments.dry_run)
    known = prices.read_prices(region, file=prices.FILE).by_name
    rows = []
    for name, price in known.items():
        values = {"name": name, **vars(price)}
        rows.append(_written({column: values[column] for column in COLUMNS}, arguments.format))
    print_rows(rows, arguments.format, COLUMNS)
    if elsewhere := sum(price.region != region for price in known.values()):
        say(
            f"{elsewhere} of {len(known)} prices aren't known for {region}: those of {prices.USUAL_REGION} are shown; "
            f"`stampede prices --update --region {region}` asks AWS for them"
        )
    return 0


def _update(region: str, form: str, *, dry_run: bool) -> int:
    stored = json.loads(prices.FILE.read_text())
    known = prices.read_prices(region, file=prices.FILE)
    target = Target("aws", {"region": price_list.API_REGION})
    client = target.client("pricing", **TIMEOUTS)
    if not endpoints.is_aws(client.meta.endpoint_url):
        raise UsageError(
            f"--update: {endpoints.shown(client.meta.endpoint_url)} isn't AWS, and has no prices of AWS; "
            "unset AWS_ENDPOINT_URL"
        )
    usd_by_name: dict[str, float] = {}
    rows, failures = [], []
    for name, before in known.by_name.items():
        row: dict[str, Any] = {"name": name, "usd_before": before.usd, "usd": None, "unit": before.unit}
        if (product := stored["price_list"].get(name)) is None:
            rows.append(row | {"found": "not requested: there is no filter for it"})
            continue
        try:
            usd = usd_by_name[name] = price_list.ask(client, region, product)
        except price_list.NoPrice as why:
            failures.append(f"{name}: {why} ({product['service']}, {product['usagetype']}, {region}); not changed")
            rows.append(row | {"found": f"no price: {why}"})
        except (ClientError, BotoCoreError) as error:
            raise targets.explain(error, "asking for prices (pricing:GetProducts)", target) from None
        else:
            rows.append(row | {"usd": usd, "found": _difference(before, usd, region)})
    print_rows([_written(row, form) for row in rows], form, UPDATE_COLUMNS)
    for line in failures:
        say(line, style="yellow")
    old = stored["regions"].get(region, {})
    changed = sum(not price_list.same(old.get(name, {}).get("usd"), usd) for name, usd in usd_by_name.items())
    words = f"{counted(len(usd_by_name), 'price')} of {region} found, {changed} of them different from the stored ones"
    if dry_run or not usd_by_name:
        say(f"{words}; nothing was written")
    else:
        price_list.write(price_list.updated(stored, region, usd_by_name, f"{datetime.now(UTC):%Y-%m}"), prices.FILE)
        say(f"{words}; written to {prices.FILE}")
    return 1 if failures else 0


def _difference(before: prices.Price, usd: float, region: str) -> str:
    """A new price against the stored one, in words."""
    if before.usd is None or before.region != region:
        return "new"
    if price_list.same(before.usd, usd):
        return "the same"
    return f"{100 * (usd / before.usd - 1):+.1f} %" if before.usd else "no longer free"


def _written(row: dict[str, Any], form: str) -> dict[str, Any]:
    """The row with its dollars as decimals, but in JSON, which has numbers."""
    if form == "json":
        return row
    unknown = "unknown" if form == "table" and "usd_before" not in row else ""
    return row | {
        name: unknown if row[name] is None else format(Decimal(repr(row[name])).normalize(), "f")
        for name in ("usd_before", "usd")
        if name in row
    }
