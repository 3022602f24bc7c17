"""Reads prices from AWS's Price List Query API (GetProducts) and stores them in prices.json.

The filters (`price_list` in prices.json: service code, usage type, unit) are from documentation:
S3's User Guide, "Understanding your AWS billing and usage reports", and programs that read the
list. They haven't been tried on AWS.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from stampede.errors import RunError
from stampede.planning.cost.prices import FILE, USUAL_REGION

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
        products = [json.loads(text) for page in pages for text in page["PriceList"]]
        matching = [
            entry
            for entry in products
            if usage_type.fullmatch(entry["product"]["attributes"]["usagetype"])
        ]
        if len(matching) != 1:
            raise NoPrice(
                f"{len(matching)} products instead of one" if matching else "no such product"
            )
        offers = list(matching[0]["terms"].get("OnDemand", {}).values())
        if len(offers) != 1:
            raise NoPrice(f"{len(offers)} on-demand offers instead of one")
        return _first_price(offers[0]["priceDimensions"].values(), product["unit"])
    except (KeyError, TypeError, AttributeError, ValueError, InvalidOperation):
        raise NoPrice("the answer doesn't have the documented form") from None


def _first_price(tiers: Iterable[Mapping[str, Any]], unit: str) -> float:
    """The price of the first tier that isn't free, in US dollars for one `unit`."""
    prices_usd = []
    for tier in sorted(tiers, key=lambda tier: Decimal(tier["beginRange"])):
        if tier["unit"] != unit or CURRENCY not in tier["pricePerUnit"]:
            currency = ", ".join(tier["pricePerUnit"])
            raise NoPrice(f"it is in {currency} for {tier['unit']}, not in {CURRENCY} for {unit}")
        prices_usd.append(float(Decimal(tier["pricePerUnit"][CURRENCY])))
    if not prices_usd or not all(0 <= usd < math.inf for usd in prices_usd):
        raise NoPrice("the offer has no price that is an amount of money")
    return next(filter(None, prices_usd), 0.0)


def updated(
    stored: Mapping[str, Any], region: str, found: Mapping[str, float], month: str
) -> dict[str, Any]:
    """The content of prices.json with `found` (US dollars by name) as the prices of `region` in
    `month` (YYYY-MM).

    Earlier prices stay with it, and so do the months from which on they were known.
    """
    new = copy.deepcopy(dict(stored))
    entries = new["regions"].setdefault(region, {})
    for name, usd in found.items():
        product, old = new["price_list"][name], entries.get(name, {})
        before = old.pop("before", [])
        if old.get("usd") is not None and not (before and same(before[-1]["usd"], old["usd"])):
            before.append(old)
        source = f"AWS Price List Query API: {product['service']}, {product['usagetype']}"
        entry = {
            "usd": usd,
            "unit": new["regions"][USUAL_REGION][name]["unit"],
            "as_of": month,
            "source": source,
        }
        entries[name] = entry | ({"before": before} if before else {})
    return new


def same(one: float | None, other: float | None) -> bool:
    """Whether two prices are equal up to rounding."""
    return one == other if one is None or other is None else math.isclose(one, other, rel_tol=1e-9)


def write(content: Mapping[str, Any], file: Path = FILE) -> None:
    """Replace prices.json as a whole. Raises RunError if it can't be written."""
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
