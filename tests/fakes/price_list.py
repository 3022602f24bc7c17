"""The Price List Query API: GetProducts, as documented."""

import json

from tests.fakes.loopback import JsonService

PAGE = 2  # products per answer; up to 100 in the API
MATCHES = {
    "TERM_MATCH": lambda value, text: value == text,
    "CONTAINS": lambda value, text: text in value,
}


def product(usagetype, *tiers, region="us-east-1", unit="Requests", **attributes):
    """A product of S3 with its on-demand offer, reduced to the fields that are read; `tiers` are
    prices as text, the first from 0 on."""
    dimensions = {
        f"SKU.{at}": {"unit": unit, "beginRange": str(1000 * at), "pricePerUnit": {"USD": usd}}
        for at, usd in enumerate(tiers)
    }
    attributes |= {"regionCode": region, "usagetype": usagetype}
    return {
        "product": {"attributes": attributes},
        "serviceCode": "AmazonS3",
        "terms": {"OnDemand": {"SKU": {"priceDimensions": dimensions}}},
    }


class FakePriceList(JsonService):
    """Returns the matching products; a product that is text is always returned, unchanged."""

    def __init__(self, products, error=""):
        super().__init__({"GetProducts": [error] if error else []})
        self.products = products

    def GetProducts(self, wanted):
        texts = [
            product if isinstance(product, str) else json.dumps(product)
            for product in self.products
            if isinstance(product, str) or _matches(product, wanted)
        ]
        first = int(wanted.get("NextToken", 0))
        last = first + PAGE
        more = {"NextToken": str(last)} if len(texts) > last else {}
        return {"FormatVersion": "aws_v1", "PriceList": texts[first:last]} | more


def _matches(product, wanted):
    attributes = product["product"]["attributes"]
    return product["serviceCode"] == wanted["ServiceCode"] and all(
        MATCHES[rule["Type"]](attributes.get(rule["Field"], ""), rule["Value"])
        for rule in wanted["Filters"]
    )
