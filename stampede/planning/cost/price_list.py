"""Reads prices from AWS's Price List Query API (GetProducts) and stores them in prices.json.

The filters (`price_list` in prices.json: service code, usage type, unit) are from documentation:
S3's User Guide, "Understanding your AWS billing and usage reports", and programs that read the
list. They haven't been tried on AWS.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from stampede.errors import RunError
from stampede.planning.cost.prices import USUAL_REGION

# The API has endpoints in few regions; each knows the prices of all regions.
API_REGION = "us-east-1"
CURRENCY = "USD"
# The prefix of a usage type: APN1-, EU-, or a region's name; in us-east-1 often nothing.
PLACE = r"(?:[A-Z]{2,4}[0-9]?-|[a-z]{2}(?:-[a-z]+)+-[0-9]-)?"


class NoPrice(Exception):
    """The answer has no usable price; the message says why."""


def ask(client: Any, region: str, product: Mapping[str, Any]) -> float:
    """US dollars for one unit of `product`, an entry of `price_list`, in `region`, from one or more
    calls of GetProducts.

    Of several tiers it is the first that isn't free. Raises NoPrice, and what boto3 raises.
    """
    fields = {"regionCode": region, **product.get("also", {})}
    filters = [
        {"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in fields.items()
    ]
    filters.append({"Type": "CONTAINS", "Field": "usagetype", "Value": product["usagetype"]})
    usage_type = re.compile(PLACE + re.escape(product["usagetype"]))
    pages = client.get_paginator("get_products").paginate(
        ServiceCode=product["service"], Filters=filters
    )
    try:
        entries = [json.loads(text) for page in pages for text in page["PriceList"]]
        tiers = [
            tier
            for entry in entries
            if usage_type.fullmatch(entry["product"]["attributes"]["usagetype"])
            for offer in entry["terms"]["OnDemand"].values()
            for tier in offer["priceDimensions"].values()
        ]
        return _first_price(tiers, product["unit"])
    except (LookupError, TypeError, AttributeError, ValueError):
        raise NoPrice("the answer doesn't have the documented form") from None


def _first_price(tiers: Sequence[Mapping[str, Any]], unit: str) -> float:
    """The price of the first tier that isn't free, in US dollars for one `unit`."""
    if not tiers:
        raise NoPrice("no such product")
    if (firsts := sum(float(tier["beginRange"]) == 0 for tier in tiers)) != 1:
        raise NoPrice(f"{firsts} products instead of one")
    units = {f"{' or '.join(tier['pricePerUnit'])} for {tier['unit']}" for tier in tiers}
    if units != {f"{CURRENCY} for {unit}"}:
        raise NoPrice(f"it is in {', '.join(sorted(units))}, not in {CURRENCY} for {unit}")
    in_order = sorted(tiers, key=lambda tier: float(tier["beginRange"]))
    prices_usd = [float(tier["pricePerUnit"][CURRENCY]) for tier in in_order]
    if not all(0 <= usd < math.inf for usd in prices_usd):
        raise NoPrice("the offer has no price that is an amount of money")
    return next(filter(None, prices_usd), 0.0)


def store(content: dict[str, Any], region: str, found: Mapping[str, float], file: Path) -> None:
    """Replace prices.json, whose `content` was read from `file`, with `found` (US dollars by name)
    as this month's prices of `region`. Earlier prices stay, with the months from which on they were
    known. Raises RunError if it can't be written."""
    entries = content["regions"].setdefault(region, {})
    for name, usd in found.items():
        product, old = content["price_list"][name], entries.get(name, {})
        before = old.pop("before", [])
        if old.get("usd") is not None:
            before.append(old)
        entries[name] = {
            "usd": usd,
            "unit": content["regions"][USUAL_REGION][name]["unit"],
            "as_of": f"{datetime.now(UTC):%Y-%m}",
            "source": f"AWS Price List Query API: {product['service']}, {product['usagetype']}",
            **({"before": before} if before else {}),
        }
    text = json.dumps(content, indent=2, ensure_ascii=False)
    text = re.sub(
        r'("usd": )([0-9][^,\n]*)', lambda price: price[1] + format(Decimal(price[2]), "f"), text
    )
    try:
        beside = file.with_suffix(".new")
        beside.write_text(text + "\n")
        beside.replace(file)
    except OSError as error:
        raise RunError(
            f"{file}: can't be written ({error.strerror}); nothing was changed"
        ) from None
