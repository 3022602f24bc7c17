"""The pictures of docs/: `make pictures FOLDERS="results/A results/B"` rebuilds each run's report
and photographs its first screen, to docs/pictures/<experiment>.png."""

import base64
import io
import json
import sys
import tempfile
from pathlib import Path

from PIL import Image

from stampede import report
from tests.browser.chromium import Chromium, program
from tests.drawn import run_folders

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
WIDTH, HEIGHT = 1200, 800
COLOURS = 256  # enough for text and flat areas, at a third of the bytes


def main(folders: list[Path]) -> int:
    """Photograph the report of each run."""
    with tempfile.TemporaryDirectory() as profile, Chromium(program(), Path(profile)) as browser:
        for folder in folders:
            report.build(folder)
            experiment = json.loads((folder / "run.json").read_text())["experiment"]
            browser.open((folder / "report.html").resolve().as_uri(), WIDTH, HEIGHT)
            _store(browser.send("Page.captureScreenshot"), PICTURES / f"{experiment}.png")
    return 0


def _store(shot: dict[str, str], path: Path) -> None:
    picture = (
        Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB").quantize(COLOURS)
    )
    picture.save(path, optimize=True)
    print(
        f"{path.relative_to(PICTURES.parents[1])}: {picture.width} x {picture.height}, "
        f"{path.stat().st_size:,} bytes"
    )


if __name__ == "__main__":
    sys.exit(main(run_folders(sys.argv[1:])))
