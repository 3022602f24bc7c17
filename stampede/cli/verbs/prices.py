"""Print the prices behind the estimates, or update them from AWS.

An update keeps the earlier prices, so that an earlier estimate can be
calculated again.

examples:
  stampede prices --region eu-central-1
      what the estimates assume for a region
  stampede prices --update --dry-run
      compare with AWS's current prices, and store nothing
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from stampede.cli.arguments import add
from stampede.errors import UsageError
from stampede.phrases import counted
from stampede.progress import say

if TYPE_CHECKING:
    from stampede.planning.cost.prices import Price

COLUMNS = ("name", "usd", "unit", "region", "as_of", "source")
# How a row begins that says why a price wasn't found.
NO_PRICE = "no price: "
UPDATE_COLUMNS = ("name", "usd_before", "usd", "unit", "found")
# Somebody waits, and what isn't answered is asked for another day.
TIMEOUTS = {"connect_timeout": 3, "read_timeout": 10, "retries": {"mode": "standard", "total_max_attempts": 3}}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    region = "AWS region; a price that isn't stored for it is shown for us-east-1 (default: us-east-1)"
    parser.add_argument("--region", metavar="NAME", help=region)
    update = (
        "get current prices from AWS's Price List Query API (pricing:GetProducts), show the differences and store "
        "them; its filters haven't been tried on an account (default: no request)"
    )
    parser.add_argument("--update", action="store_true", help=update)
    dry_run = "with --update: show the differences, store nothing (default: store)"
    parser.add_argument("--dry-run", action="store_true", help=dry_run)
    add(parser, "--format")


def run(arguments: argparse.Namespace) -> int:
    """Print the prices on stdout; with --update what was found, and status 1 if a price that was asked for wasn't."""
    from stampede.planning.cost import prices
    from stampede.stacks import endpoints
    from stampede.tables import print_rows

    region = arguments.region or prices.USUAL_REGION
    if (unknown := endpoints.unknown_region(region)) is not None:
        found, way_out = unknown
        raise UsageError(f"--region: {found}", way_out)
    if arguments.dry_run and not arguments.update:
        raise UsageError("--dry-run: without --update nothing is changed anyway; leave it out, or add --update")
    if arguments.update:
        return _update(region, arguments.format, dry_run=arguments.dry_run)
    by_name = prices.read_prices(region, file=prices.FILE).by_name
    rows = [{"name": name, **vars(price)} for name, price in by_name.items()]
    print_rows([_written(row, arguments.format) for row in rows], arguments.format, COLUMNS)
    if elsewhere := sum(price.region != region for price in by_name.values()):
        say(
            f"{elsewhere} of {len(by_name)} prices aren't known for {region}: those of {prices.USUAL_REGION} are "
            f"shown; `stampede prices --update --region {region}` asks AWS for them"
        )
    return 0


def _update(region: str, form: str, *, dry_run: bool) -> int:
    """Print AWS's prices beside the stored ones, and unless `dry_run` store what was found."""
    from stampede.planning.cost import price_list, prices
    from stampede.tables import print_rows

    stored = json.loads(prices.FILE.read_text())
    rows = _found(stored, region)
    print_rows([_written(row, form) for row in rows], form, UPDATE_COLUMNS)
    failures = [row for row in rows if row["found"].startswith(NO_PRICE)]
    for row in failures:
        product = stored["price_list"][row["name"]]
        where = f"({product['service']}, {product['usagetype']}, {region})"
        say(f"{row['name']}: {row['found'].removeprefix(NO_PRICE)} {where}; not changed", style="yellow")
    usd_by_name = {row["name"]: row["usd"] for row in rows if row["usd"] is not None}
    old = stored["regions"].get(region, {})
    changed = sum(not price_list.same(old.get(name, {}).get("usd"), usd) for name, usd in usd_by_name.items())
    words = f"{counted(len(usd_by_name), 'price')} of {region} found, {changed} of them different from the stored ones"
    if dry_run or not usd_by_name:
        say(f"{words}; nothing was written")
    else:
        price_list.write(price_list.updated(stored, region, usd_by_name, f"{datetime.now(UTC):%Y-%m}"), prices.FILE)
        say(f"{words}; written to {prices.FILE}")
    return 1 if failures else 0


def _found(stored: Mapping[str, Any], region: str) -> list[dict[str, Any]]:
    """A row for every stored price, with what AWS says of those that it can be asked for."""
    from botocore.exceptions import BotoCoreError, ClientError

    from stampede.planning.cost import price_list, prices
    from stampede.stacks import endpoints
    from stampede.stacks.target import Target, explain

    target = Target("aws", {"region": price_list.API_REGION})
    client = target.client("pricing", **TIMEOUTS)
    if not endpoints.is_aws(url := client.meta.endpoint_url):
        elsewhere = f"--update: {endpoints.shown(url)} isn't AWS, and has no prices of AWS"
        raise UsageError(elsewhere, "unset AWS_ENDPOINT_URL")
    rows = []
    for name, before in prices.read_prices(region, file=prices.FILE).by_name.items():
        usd, found = None, "not requested: there is no filter for it"
        try:
            if product := stored["price_list"].get(name):
                usd = price_list.ask(client, region, product)
                found = _difference(before, usd, region)
        except price_list.NoPrice as why:
            found = f"{NO_PRICE}{why}"
        except (ClientError, BotoCoreError) as error:
            raise explain(error, "asking for prices (pricing:GetProducts)", target) from None
        rows.append({"name": name, "usd_before": before.usd, "usd": usd, "unit": before.unit, "found": found})
    return rows


def _difference(before: Price, usd: float, region: str) -> str:
    """A new price against the stored one, in words."""
    from stampede.planning.cost import price_list

    if before.usd is None or before.region != region:
        return "new"
    if price_list.same(before.usd, usd):
        return "the same"
    return f"{100 * (usd / before.usd - 1):+.1f} %" if before.usd else "no longer free"


def _written(row: dict[str, Any], form: str) -> dict[str, Any]:
    """The row as its columns have it, with its dollars as decimals, but in JSON, which has numbers."""
    columns = UPDATE_COLUMNS if "found" in row else COLUMNS
    row = {name: row[name] for name in columns}
    if form == "json":
        return row
    unknown = "unknown" if form == "table" and columns == COLUMNS else ""
    return row | {
        name: unknown if row[name] is None else format(Decimal(repr(row[name])).normalize(), "f")
        for name in row
        if name.startswith("usd")
    }
