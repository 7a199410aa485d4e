"""Pages as a browser has them: headless Chromium, without a network, from the command line."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_ANSWER = re.compile(r'<pre id="answer">(.*?)</pre>', re.DOTALL)
_WAIT = """
<script type="module">
const drawn = () => document.documentElement.dataset.drawn;
while (!drawn()) await new Promise((go) => setTimeout(go, 20));
const found = await (async () => { QUESTION })();
const out = document.createElement("pre");
out.id = "answer";
out.textContent = btoa(JSON.stringify({drawn: drawn(), found}));
document.body.append(out);
</script>
"""


@dataclass(frozen=True)
class Seen:
    """drawn: whether all charts were. found: what the question's script returned. console: its lines."""

    drawn: bool
    found: Any
    console: list[str]


def browser() -> str:
    """The program; the test is skipped where there is none."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium here: `apt-get install chromium` brings it")
    return found


def look_at(page: bytes, question: str, folder: Path, width: int = 1000, dark: bool = False) -> Seen:
    """What `question`, the body of an asynchronous function in JavaScript, finds in the page once it is drawn."""
    asked = folder / "asked.html"
    before, end, after = page.rpartition(b"</body>")
    asked.write_bytes(before + _WAIT.replace("QUESTION", question).encode() + end + after)
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr"]
    options += [f"--user-data-dir={folder / 'profile'}", f"--window-size={width},1200", "--virtual-time-budget=60000"]
    options += ["--blink-settings=preferredColorScheme=0"] if dark else []
    ran = subprocess.run([browser(), *options, "--dump-dom", asked.as_uri()], capture_output=True, text=True,
                         check=True, timeout=300)  # fmt: skip
    answer = _ANSWER.search(ran.stdout)
    console = [line for line in ran.stderr.splitlines() if ":CONSOLE" in line]
    assert answer is not None, (console, ran.stderr[-2000:])
    told = json.loads(base64.b64decode(answer[1]))
    return Seen(told["drawn"] == "yes", told["found"], console)
