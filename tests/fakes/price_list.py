"""The Price List Query API: GetProducts, answered as its documentation says."""

import json

from tests.fakes.loopback import JsonService

PAGE = 2  # products in an answer; the API has up to 100
MATCHES = {
    "TERM_MATCH": lambda value, text: value == text,
    "CONTAINS": lambda value, text: text in value,
}


def product(usagetype, *tiers, region="us-east-1", unit="Requests", **attributes):
    """A product of S3's with its on-demand offer, as far as it is read; `tiers` are prices as text,
    the first from 0 on."""
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
    """The products that there are; one that is a text is sent as it is, whatever is asked for."""

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
