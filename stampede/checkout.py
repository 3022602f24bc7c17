"""The folders of this checkout, from which Stampede runs: Terraform reads infra/, functions/ and
queries/ in it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INFRA, FUNCTIONS, QUERIES = ROOT / "infra", ROOT / "functions", ROOT / "queries"
