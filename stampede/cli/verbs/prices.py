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

from stampede.cli.arguments import add, add_flag, add_own
from stampede.errors import UsageError
from stampede.phrases import counted
from stampede.progress import say
from stampede.tables import print_rows

if TYPE_CHECKING:
    from stampede.planning.cost.prices import Price

SAME = "the same"
# A row that begins so says why AWS has no price.
NO_PRICE = "no price: "
# Short, because the user waits, and can ask again.
TIMEOUTS = {
    "connect_timeout": 3,
    "read_timeout": 10,
    "retries": {"mode": "standard", "total_max_attempts": 3},
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    region = "AWS region; missing prices are shown for us-east-1 (default: %(default)s)"
    add_own(parser, "--region", region, "NAME", default="us-east-1")
    update = (
        "ask AWS (pricing:GetProducts), show the differences and store them; untried on an account "
        "(default: no request)"
    )
    add_flag(parser, "--update", update)
    add_flag(parser, "--dry-run", "with --update: only show the differences (default: store)")
    add(parser, "--format")


def run(arguments: argparse.Namespace) -> int:
    """Print the prices on stdout; with --update those that AWS has, and status 1 if AWS lacks one
    that was requested."""
    from stampede.planning.cost import prices
    from stampede.stacks import endpoints

    region = arguments.region
    if (unknown := endpoints.unknown_region(region)) is not None:
        raise UsageError(f"--region: {unknown[0]}", unknown[1])
    if arguments.update:
        return _update(region, arguments.format, dry_run=arguments.dry_run)
    columns = ("usd", "unit", "region", "as_of", "source")
    rows = [
        {"name": name, **{column: getattr(price, column) for column in columns}}
        for name, price in prices.read_prices(region, file=prices.FILE).by_name.items()
    ]
    print_rows(rows, arguments.format)
    return 0


def _update(region: str, form: str, *, dry_run: bool) -> int:
    """Print AWS's prices next to the stored ones, and store them unless `dry_run`."""
    from stampede.planning.cost import price_list, prices

    stored = json.loads(prices.FILE.read_text())
    rows = _compared(stored, region)
    print_rows(rows, form)
    usd_by_name = {row["name"]: row["usd"] for row in rows if row["usd"] is not None}
    different = len(usd_by_name) - sum(row["found"] == SAME for row in rows)
    end = "nothing was written"
    if usd_by_name and not dry_run:
        month = f"{datetime.now(UTC):%Y-%m}"
        price_list.write(price_list.updated(stored, region, usd_by_name, month), prices.FILE)
        end = f"written to {prices.FILE}"
    say(f"{counted(len(usd_by_name), 'price')} of {region} found, {different} different; {end}")
    return 1 if any(row["found"].startswith(NO_PRICE) for row in rows) else 0


def _compared(stored: Mapping[str, Any], region: str) -> list[dict[str, Any]]:
    """A row for every stored price, with AWS's price where there is a filter for it."""
    from stampede.planning.cost import price_list, prices
    from stampede.stacks import endpoints
    from stampede.stacks.target import Target, explained

    target = Target("aws", {"region": price_list.API_REGION})
    client = target.client("pricing", **TIMEOUTS)
    if not endpoints.is_aws(url := client.meta.endpoint_url):
        elsewhere = f"--update: {endpoints.shown(url)} isn't AWS"
        raise UsageError(elsewhere, "unset AWS_ENDPOINT_URL")
    rows = []
    for name, before in prices.read_prices(region, file=prices.FILE).by_name.items():
        row = {"name": name, "usd_before": before.usd, "usd": None, "unit": before.unit}
        row["found"] = "not requested: there is no filter for it"
        if product := stored["price_list"].get(name):
            try:
                with explained("asking for prices (pricing:GetProducts)", target):
                    row["usd"] = price_list.ask(client, region, product)
                row["found"] = _difference(before, row["usd"], region)
            except price_list.NoPrice as why:
                row["found"] = f"{NO_PRICE}{why}"
        rows.append(row)
    return rows


def _difference(before: Price, usd: float, region: str) -> str:
    """How a price differs from the stored one, in words."""
    from stampede.planning.cost import price_list

    if before.region != region:
        return "new"
    if price_list.same(before.usd, usd):
        return SAME
    return f"{100 * (usd / before.usd - 1):+.1f} %" if before.usd else "new"
