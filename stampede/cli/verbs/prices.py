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
from typing import TYPE_CHECKING, Any

from stampede.cli.arguments import add
from stampede.errors import UsageError
from stampede.phrases import counted
from stampede.progress import say

if TYPE_CHECKING:
    from stampede.planning.cost.prices import Price

SAME = "the same"
# How a row begins that says why a price wasn't found.
NO_PRICE = "no price: "
# Somebody waits, and what isn't answered is asked for another day.
TIMEOUTS = {
    "connect_timeout": 3,
    "read_timeout": 10,
    "retries": {"mode": "standard", "total_max_attempts": 3},
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    region = "AWS region; what isn't stored is shown for us-east-1 (default: %(default)s)"
    parser.add_argument("--region", metavar="NAME", default="us-east-1", help=region)
    update = (
        "ask AWS (pricing:GetProducts), show the differences and store them; untried on an account "
        "(default: no request)"
    )
    parser.add_argument("--update", action="store_true", help=update)
    dry_run = "with --update: show the differences, store nothing (default: store)"
    parser.add_argument("--dry-run", action="store_true", help=dry_run)
    add(parser, "--format")


def run(arguments: argparse.Namespace) -> int:
    """Print the prices on stdout; with --update what was found, and status 1 if a price that was
    asked for wasn't."""
    from stampede.planning.cost import prices
    from stampede.stacks import endpoints
    from stampede.tables import print_rows

    region = arguments.region
    if (unknown := endpoints.unknown_region(region)) is not None:
        raise UsageError(f"--region: {unknown[0]}", unknown[1])
    if arguments.update:
        return _update(region, arguments.format, dry_run=arguments.dry_run)
    by_name = prices.read_prices(region, file=prices.FILE).by_name
    columns = ("usd", "unit", "region", "as_of", "source")
    rows = [
        {"name": name, **{column: getattr(price, column) for column in columns}}
        for name, price in by_name.items()
    ]
    print_rows(rows, arguments.format)
    return 0


def _update(region: str, form: str, *, dry_run: bool) -> int:
    """Print AWS's prices beside the stored ones, and unless `dry_run` store what was found."""
    from stampede.planning.cost import price_list, prices
    from stampede.tables import print_rows

    stored = json.loads(prices.FILE.read_text())
    rows = _compared(stored, region)
    print_rows(rows, form)
    usd_by_name = {row["name"]: row["usd"] for row in rows if row["usd"] is not None}
    different = len(usd_by_name) - sum(row["found"] == SAME for row in rows)
    summary = (
        f"{counted(len(usd_by_name), 'price')} of {region} found, {different} of them different"
    )
    if dry_run or not usd_by_name:
        say(f"{summary}; nothing was written")
    else:
        price_list.write(
            price_list.updated(stored, region, usd_by_name, f"{datetime.now(UTC):%Y-%m}"),
            prices.FILE,
        )
        say(f"{summary}; written to {prices.FILE}")
    return 1 if any(row["found"].startswith(NO_PRICE) for row in rows) else 0


def _compared(stored: Mapping[str, Any], region: str) -> list[dict[str, Any]]:
    """A row for every stored price, with what AWS says of those that it can be asked for."""
    from stampede.planning.cost import price_list, prices
    from stampede.stacks import endpoints
    from stampede.stacks.target import Target, explained

    target = Target("aws", {"region": price_list.API_REGION})
    client = target.client("pricing", **TIMEOUTS)
    if not endpoints.is_aws(url := client.meta.endpoint_url):
        elsewhere = f"--update: {endpoints.shown(url)} isn't AWS, and has no prices of AWS"
        raise UsageError(elsewhere, "unset AWS_ENDPOINT_URL")
    rows = []
    for name, before in prices.read_prices(region, file=prices.FILE).by_name.items():
        usd, found = None, "not requested: there is no filter for it"
        if product := stored["price_list"].get(name):
            try:
                with explained("asking for prices (pricing:GetProducts)", target):
                    usd = price_list.ask(client, region, product)
                found = _difference(before, usd, region)
            except price_list.NoPrice as why:
                found = f"{NO_PRICE}{why}"
        rows.append(
            {
                "name": name,
                "usd_before": before.usd,
                "usd": usd,
                "unit": before.unit,
                "found": found,
            }
        )
    return rows


def _difference(before: Price, usd: float, region: str) -> str:
    """A new price against the stored one, in words."""
    from stampede.planning.cost import price_list

    if price_list.same(before.usd, usd) and before.region == region:
        return SAME
    return (
        f"{100 * (usd / before.usd - 1):+.1f} %"
        if before.usd and before.region == region
        else "new"
    )
