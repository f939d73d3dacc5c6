"""Makes the picture of README.md: two reports as a browser shows them, that of the demo and that of a broken feature.

    make picture       # docs/images/reports.png; needs Chromium

The first report is what ``clarysage demo`` writes, and the second one is of the example in README.md.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.environments import ROOT

PICTURE = ROOT / "docs" / "images" / "reports.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT = 960, 1108  # of a report, in pixels of its own
SCALE = 0.76
COLOURS = 256  # reports are drawn with few
PAGE = """<!doctype html>
<meta charset="utf-8">
<style>
body {{ margin: 0; padding: 16px; display: flex; gap: 16px; background: #d9dde3; }}
div {{ width: {width}px; height: {height}px; overflow: hidden; background: white; border-radius: 8px; }}
iframe {{ width: {full_width}px; height: {full_height}px; border: 0; }}
iframe {{ transform: scale({scale}); transform-origin: 0 0; }}
</style>
<div><iframe src="{first}"></iframe></div>
<div><iframe src="{second}"></iframe></div>
"""


def main() -> int:
    """Makes the picture; the exit code is 1 where there is no browser."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print(f"none of {', '.join(BROWSERS)} is installed", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        subprocess.run([sys.executable, "-m", "clarysage", "demo", "--folder", folder, "--quiet"], check=True)
        write_monitoring(folder / "monitoring.html")
        photograph(browser, composed(folder, "report.html", "monitoring.html"), PICTURE)
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size:,} bytes")
    return 0


def write_monitoring(path: Path) -> None:
    """Runs the second example of README.md, and writes its result as a page."""
    import clarysage

    code = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)[1]
    names = {"__name__": "__main__", "cs": clarysage}
    exec(compile(code, "README.md", "exec"), names)
    names["monitoring"].report(path)


def composed(folder: Path, first: str, second: str) -> Path:
    """Writes a page with two others side by side."""
    width, height = round(WIDTH * SCALE), round(HEIGHT * SCALE)
    sizes = {"width": width, "height": height, "full_width": WIDTH, "full_height": HEIGHT, "scale": SCALE}
    page = folder / "both.html"
    page.write_text(PAGE.format(first=first, second=second, **sizes), encoding="utf-8")
    return page


def photograph(browser: str, page: Path, picture: Path) -> None:
    """Writes what a browser shows of a page, with few colours, so that the file is small."""
    from PIL import Image

    width, height = 2 * round(WIDTH * SCALE) + 48, round(HEIGHT * SCALE) + 32
    shot = page.with_suffix(".png")
    options = ["--headless", "--hide-scrollbars", f"--window-size={width},{height}", f"--screenshot={shot}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--no-sandbox")  # which Chromium asks for where root starts it
    subprocess.run([browser, *options, page.as_uri()], check=True, capture_output=True)
    with Image.open(shot) as image:
        image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(picture, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
