"""`make screenshot`: the picture, in docs, of the page that `recommend --html` writes. Needs chromium."""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "samples" / "table1" / "imageDenoising_16x16"
PICTURE = ROOT / "docs" / "images" / "recommend.png"
SIZE = "900,1750"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        asked = [f"samples/table1/{SAMPLE.name}.ptx", "--launch", f"samples/table1/{SAMPLE.name}.toml"]
        asked += ["--machine", "c2075", "--policy", "exhaustive", "--html", str(page)]
        subprocess.run([sys.executable, "-m", "binalloc", "recommend", *asked], check=True, cwd=ROOT)
        PICTURE.parent.mkdir(exist_ok=True)
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=20000"]
        options += [f"--window-size={SIZE}", f"--screenshot={PICTURE}"]
        subprocess.run(["chromium", *options, page.as_uri()], check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
