"""The Price List Query API: GetProducts, answered as its documentation says."""

import json

from tests.fakes.loopback import Loopback

PAGE = 2  # products in an answer; the API has up to 100


def product(
    usagetype,
    *tiers,
    region="us-east-1",
    unit="Requests",
    currency="USD",
    service="AmazonS3",
    **attributes,
):
    """A product with its on-demand offer; `tiers` are prices as text, the first from 0 on."""
    dimensions = {
        f"SKU.JRTCKXETXF.{at}": {
            "rateCode": f"SKU.JRTCKXETXF.{at}",
            "unit": unit,
            "beginRange": str(1000 * at),
            "endRange": "Inf" if at == len(tiers) - 1 else str(1000 * (at + 1)),
            "description": "",
            "appliesTo": [],
            "pricePerUnit": {currency: usd},
        }
        for at, usd in enumerate(tiers)
    }
    return {
        "product": {
            "productFamily": "API Request",
            "attributes": {"regionCode": region, "servicecode": service, "usagetype": usagetype}
            | attributes,
            "sku": f"SKU{len(usagetype)}",
        },
        "serviceCode": service,
        "terms": {
            "OnDemand": {
                "SKU.JRTCKXETXF": {
                    "priceDimensions": dimensions,
                    "sku": "SKU",
                    "termAttributes": {},
                }
            }
        },
        "version": "20261120000000",
    }


class FakePriceList(Loopback):
    """The products that there are, texts that are sent as they are, and what was asked for."""

    def __init__(self, products, error=""):
        super().__init__()
        self.products, self.error = list(products), error
        self.requests = []

    def answer(self, request):
        assert request.headers["X-Amz-Target"] == "AWSPriceListService.GetProducts"
        wanted = json.loads(request.body)
        self.requests.append(wanted)
        status, body = 200, self._products(wanted)
        if self.error:
            status, body = 400, {"__type": self.error, "message": "not for you"}
        return status, {"Content-Type": "application/x-amz-json-1.1"}, json.dumps(body).encode()

    def _products(self, wanted):
        matching = [
            product
            for product in self.products
            if isinstance(product, str) or _matches(product, wanted)
        ]
        first = int(wanted.get("NextToken", 0))
        page = matching[first : first + PAGE]
        texts = [product if isinstance(product, str) else json.dumps(product) for product in page]
        more = {"NextToken": str(first + PAGE)} if len(matching) > first + PAGE else {}
        return {"FormatVersion": "aws_v1", "PriceList": texts} | more


def _matches(product, wanted):
    attributes = product["product"]["attributes"]
    if product["serviceCode"] != wanted["ServiceCode"]:
        return False
    matches = {
        "TERM_MATCH": lambda value, text: value == text,
        "CONTAINS": lambda value, text: text in value,
    }
    return all(
        matches[rule["Type"]](attributes.get(rule["Field"], ""), rule["Value"])
        for rule in wanted["Filters"]
    )
