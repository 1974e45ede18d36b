"""`python -m tests.auditing.picture`: runs the README's vote and takes the picture of its audit.

Writes `docs/audit/page.png`, the head of the page that `gopa audit --html` made. Needs Debian's
package chromium. The vote has a seed, the first one that came to mind: whatever noise it has is
shown, and the README says beside the picture what the exact share is.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PICTURE: Final = ROOT / "docs" / "audit" / "page.png"
SIZE: Final = (860, 692)
SEED: Final = 1
PROGRAM: Final = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def taken(place: Path) -> bytes:
    """The picture, of a session and an audit in this empty directory."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("chromium is not installed")
    program = PROGRAM.findall((ROOT / "README.md").read_text())[0]
    program = program.replace("script=script)", f"script=script, seed={SEED})")
    audit = ["-m", "gopa", "audit", "votes.gopa", "--anchors", "anchors.txt", "--html", "page.html"]
    subprocess.run([sys.executable, "-c", program], cwd=place, check=True)
    subprocess.run([sys.executable, *audit], cwd=place, check=True)
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    flags += [f"--window-size={SIZE[0]},{SIZE[1]}", "--screenshot=page.png"]
    shot = [chromium, *flags, (place / "page.html").as_uri()]
    subprocess.run(shot, cwd=place, check=True, stderr=subprocess.DEVNULL)
    return (place / "page.png").read_bytes()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        PICTURE.write_bytes(taken(Path(folder)))
