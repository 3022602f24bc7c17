"""A loopback stand-in for the Price List Query API: GetProducts, answered as its documentation says."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGE = 2  # products in an answer; the API has up to 100


def product(usagetype, *tiers, region="us-east-1", unit="Requests", currency="USD", service="AmazonS3", **attributes):
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
            "attributes": {"regionCode": region, "servicecode": service, "usagetype": usagetype} | attributes,
            "sku": f"SKU{len(usagetype)}",
        },
        "serviceCode": service,
        "terms": {"OnDemand": {"SKU.JRTCKXETXF": {"priceDimensions": dimensions, "sku": "SKU", "termAttributes": {}}}},
        "version": "20261120000000",
    }


class PriceList:
    """The products that there are, texts that are sent as they are, and what was asked for."""

    def __init__(self, products, error=""):
        self.products, self.error = list(products), error
        self.asked = []

    def answer(self, request):
        self.asked.append(request)
        if self.error:
            return 400, {"__type": self.error, "message": "not for you"}
        there = [one for one in self.products if isinstance(one, str) or _matches(one, request)]
        first = int(request.get("NextToken", 0))
        texts = [one if isinstance(one, str) else json.dumps(one) for one in there[first : first + PAGE]]
        more = {"NextToken": str(first + PAGE)} if len(there) > first + PAGE else {}
        return 200, {"FormatVersion": "aws_v1", "PriceList": texts} | more


def _matches(one, request):
    attributes = one["product"]["attributes"]
    if one["serviceCode"] != request["ServiceCode"]:
        return False
    has = {"TERM_MATCH": lambda value, wanted: value == wanted, "CONTAINS": lambda value, wanted: wanted in value}
    return all(has[each["Type"]](attributes.get(each["Field"], ""), each["Value"]) for each in request["Filters"])


@contextmanager
def serving(price_list):
    """Gives the URL at which it answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            assert self.headers["X-Amz-Target"] == "AWSPriceListService.GetProducts"
            status, body = price_list.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
