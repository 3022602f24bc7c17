"""Print the prices behind the estimates, or update them from AWS.

An update keeps the earlier prices in the file.

examples:
  stampede prices --region eu-central-1
      what the estimates assume for a region
  stampede prices --update --dry-run
      compare with AWS's current prices, and store nothing
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from stampede.cli.arguments import add, add_flag, add_own
from stampede.errors import UsageError
from stampede.phrases import counted
from stampede.progress import say
from stampede.tables import print_rows

if TYPE_CHECKING:
    from stampede.planning.cost.prices import Price

SAME = "the same"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_own(
        parser,
        "--region",
        "AWS region; missing prices are shown for us-east-1 (default: %(default)s)",
        "NAME",
        default="us-east-1",
    )
    add_flag(
        parser,
        "--update",
        "ask AWS (pricing:GetProducts), show the differences and store them; untried on an account",
    )
    add_flag(parser, "--dry-run", "with --update: only show the differences")
    add(parser, "--format")


def run(arguments: argparse.Namespace) -> int:
    """Print the prices on stdout; with --update those that AWS has, and status 1 if AWS lacks one
    that was requested."""
    from stampede.planning.cost import prices
    from stampede.stacks.endpoints import refuse_unknown_region

    region = arguments.region
    refuse_unknown_region("--region", region)
    stored = prices.read_prices(region, file=prices.FILE).by_name
    if arguments.update:
        return _update(region, stored, arguments.format, dry_run=arguments.dry_run)
    rows = [{"name": name, **asdict(price)} for name, price in stored.items()]
    print_rows(rows, arguments.format)
    return 0


def _update(region: str, stored: Mapping[str, Price], form: str, *, dry_run: bool) -> int:
    """Print AWS's prices next to the `stored` ones, and store them unless `dry_run`."""
    from stampede.planning.cost import price_list, prices

    content = json.loads(prices.FILE.read_text())
    usd_by_name, why_not = _asked(region, content["price_list"])
    rows = []
    for name, before in stored.items():
        usd = usd_by_name.get(name)
        found = why_not.get(name) or _difference(before, usd, region)
        row = {"name": name, "usd_before": before.usd, "usd": usd, "unit": before.unit}
        rows.append(row | {"found": found})
    print_rows(rows, form)
    end = "nothing was written"
    if usd_by_name and not dry_run:
        price_list.store(content, region, usd_by_name, prices.FILE)
        end = f"written to {prices.FILE}"
    different = len(usd_by_name) - sum(row["found"] == SAME for row in rows)
    say(f"{counted(len(usd_by_name), 'price')} of {region} found, {different} different; {end}")
    return 1 if why_not else 0


def _asked(
    region: str, products: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, float], dict[str, str]]:
    """AWS's prices of `products` in US dollars, by name, and why it has none of the others."""
    from stampede.planning.checks.account import PATIENCE
    from stampede.planning.cost import price_list
    from stampede.stacks import endpoints
    from stampede.stacks.target import Target, explained

    target = Target("aws", {"region": price_list.API_REGION})
    client = target.client("pricing", **PATIENCE)
    if not endpoints.is_aws(url := client.meta.endpoint_url):
        raise UsageError(f"--update: {endpoints.shown(url)} isn't AWS", "unset AWS_ENDPOINT_URL")
    usd_by_name, why_not = {}, {}
    for name, product in products.items():
        try:
            with explained("asking for prices (pricing:GetProducts)", target):
                usd_by_name[name] = price_list.ask(client, region, product)
        except price_list.NoPrice as why:
            why_not[name] = f"no price: {why}"
    return usd_by_name, why_not


def _difference(before: Price, usd: float | None, region: str) -> str:
    """How AWS's price differs from the stored one, in words."""
    if usd is None:
        return "not requested: there is no filter for it"
    if before.region != region or not before.usd:
        return "new"
    return (
        SAME
        if math.isclose(before.usd, usd, rel_tol=1e-9)
        else f"{100 * (usd / before.usd - 1):+.1f} %"
    )
