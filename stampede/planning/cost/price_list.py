"""Prices as AWS's Price List Query API answers them (GetProducts), and how they are kept in prices.json.

The filters (`price_list` in prices.json: service code, usage type, unit) were made from documentation: S3's User Guide,
"Understanding your AWS billing and usage reports", and sources that had read the list. Nobody has tried them on AWS.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from stampede.errors import RunError
from stampede.planning.cost.prices import FILE, USUAL_REGION

# The API has its endpoints in few regions; this one knows the prices of all.
API_REGION = "us-east-1"
ON_DEMAND, CURRENCY = "OnDemand", "USD"
# What a usage type has before its name: APN1-, EU-, or a region's own name; in us-east-1 often nothing.
PLACE = r"(?:[A-Z]{2,4}[0-9]?-|[a-z]{2}(?:-[a-z]+)+-[0-9]-)?"


class NoPrice(Exception):
    """The answer has no price that can be taken; the message says why."""


def ask(client: Any, region: str, product: Mapping[str, Any]) -> float:
    """US dollars for one unit of `product`, an entry of `price_list`, in `region`: one or more calls of GetProducts.

    Of prices by tiers it is the first that isn't free. Raises NoPrice, and what boto3 raises.
    """
    known = {"regionCode": region, **product.get("also", {})}
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in known.items()]
    filters.append({"Type": "CONTAINS", "Field": "usagetype", "Value": product["usagetype"]})
    pages = client.get_paginator("get_products").paginate(ServiceCode=product["service"], Filters=filters)
    try:
        products = [json.loads(text) for page in pages for text in page["PriceList"]]
        usage_type = re.compile(PLACE + re.escape(product["usagetype"]))
        matching = [entry for entry in products if usage_type.fullmatch(entry["product"]["attributes"]["usagetype"])]
        if len(matching) != 1:
            skus = ", ".join(str(entry["product"].get("sku")) for entry in matching[:3])
            raise NoPrice(f"{len(matching)} products instead of one ({skus})" if matching else "no such product")
        return _first_price(matching[0]["terms"].get(ON_DEMAND, {}), product["unit"])
    except (KeyError, TypeError, AttributeError, ValueError, InvalidOperation):
        raise NoPrice("the answer doesn't have the documented form") from None


def updated(stored: Mapping[str, Any], region: str, found: Mapping[str, float], month: str) -> dict[str, Any]:
    """The content of prices.json with `found` (US dollars by name) as the prices of `region` in `month` (YYYY-MM).

    What a price was before stays with it, and so does the month from which on it is known to be what it is.
    """
    new = copy.deepcopy(dict(stored))
    entries = new["regions"].setdefault(region, {})
    for name, usd in found.items():
        product, old = new["price_list"][name], entries.get(name, {})
        entries[name] = {
            "usd": usd,
            "unit": new["regions"][USUAL_REGION][name]["unit"],
            "as_of": month,
            "source": f"AWS Price List Query API: {product['service']}, {product['usagetype']}",
        }
        before = old.get("before", [])
        if old.get("usd") is not None and not (before and same(before[-1]["usd"], old["usd"])):
            before = [*before, {key: value for key, value in old.items() if key != "before"}]
        if before:
            entries[name]["before"] = before
    return new


def same(one: float | None, other: float | None) -> bool:
    """Whether two prices are the same, but for how they are written."""
    return one == other if one is None or other is None else math.isclose(one, other, rel_tol=1e-9)


def write(content: Mapping[str, Any], file: Path = FILE) -> None:
    """Replace prices.json as a whole. Raises RunError where it can't be written."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    text = re.sub(r'("usd": )([0-9][^,\n]*)', lambda price: price[1] + format(Decimal(price[2]), "f"), text)
    try:
        beside = file.with_suffix(".new")
        beside.write_text(text + "\n")
        beside.replace(file)
    except OSError as error:
        raise RunError(f"{file}: can't be written ({error.strerror}); nothing was changed") from None


def _first_price(offers: Mapping[str, Any], unit: str) -> float:
    """The price of the one on-demand offer, in US dollars for one `unit`."""
    if len(offers) != 1:
        raise NoPrice(f"{len(offers) or 'no'} on-demand offers instead of one")
    [offer] = offers.values()
    tiers = sorted(offer["priceDimensions"].values(), key=lambda tier: Decimal(tier["beginRange"]))
    if not tiers:
        raise NoPrice("the offer has no price")
    if wrong := next((tier for tier in tiers if tier["unit"] != unit), None):
        raise NoPrice(f"its unit is {wrong['unit']}, not {unit}")
    if wrong := next((tier for tier in tiers if CURRENCY not in tier["pricePerUnit"]), None):
        raise NoPrice(f"it is in {', '.join(wrong['pricePerUnit']) or 'no currency'}, not in {CURRENCY}")
    prices_usd = [float(Decimal(tier["pricePerUnit"][CURRENCY])) for tier in tiers]
    if any(not math.isfinite(usd) or usd < 0 for usd in prices_usd):
        raise NoPrice("it isn't an amount of money")
    return next((usd for usd in prices_usd if usd), 0.0)
