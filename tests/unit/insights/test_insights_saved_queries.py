"""Properties of every saved query; for most, tests/data/insights has cases of their rows."""

import json

import pytest

from stampede.checkout import QUERIES, ROOT
from stampede.insights import evaluate
from stampede.insights.commands.compilation import compile_query
from stampede.insights.evaluation import _LONG_SQL
from stampede.insights.events.source import Source
from stampede.insights.language.parsing import parse
from tests.unit.insights.download_log import event, report

FILES = {
    str(path.relative_to(QUERIES)): path.read_text() for path in sorted(QUERIES.rglob("*.cwli"))
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_a_saved_query_opens_with_a_comment_names_its_columns_and_is_short(text):
    assert text.startswith("# ")
    pipeline = compile_query(parse(text), now_s=0)
    statement, outputs = pipeline.sql(Source("events"), fragments=False, first_fields=False)
    assert len(statement) < 0.8 * _LONG_SQL
    assert outputs and all(column.replace("_", "").isalnum() for column, _ in outputs)


def test_billing_is_gb_seconds_at_the_listed_prices_and_the_request():
    prices = json.loads((ROOT / "stampede/planning/cost/prices.json").read_text())["regions"][
        "us-east-1"
    ]
    lines = [event(report("r", billed_ms - 0.5, 512)) for billed_ms in (100, 300)]
    [row] = evaluate(FILES["common/billing.cwli"], lines).rows
    assert (row["billed_s"], row["gb_seconds"]) == pytest.approx((0.4, 0.2))
    for architecture in ("x86_64", "arm64"):
        each = 0.1 * prices[f"lambda_gb_s_{architecture}"]["usd"] + prices["lambda_request"]["usd"]
        assert row[f"usd_per_million_{architecture}"] == pytest.approx(1_000_000 * each)
