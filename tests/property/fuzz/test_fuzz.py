"""20,000 random corruptions of the samples: no traceback, no hang, no memory above 1 GiB. See tests/fuzz.
`make test` tries an eighth of them.

Another seed: `python -m tests.fuzz.corruptions --seed 7`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

from tests.support.kits.suite import rotation
from tests.support.paths import ROOT

COUNT = 20_000


def cases() -> tuple[int, int]:
    """The first case, and the first that is left out again."""
    parts = rotation.EIGHTH
    now = rotation.part(parts)
    return (0, COUNT) if now is None else (now * COUNT // parts, (now + 1) * COUNT // parts)


def test_corrupted_samples_give_one_error_or_another_valid_program() -> None:
    first, end = cases()
    run = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.corruptions", "--first", str(first), "--count", str(end), "--seed", "1"],
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    print(run.stdout)
    assert run.returncode == 0, run.stderr[-3000:]
    numbers = {key: int(n) for key, n in re.findall(r"^(.*): (\d+)$", run.stdout, re.MULTILINE)}
    assert numbers["refused by the reader"] + numbers["still read"] == end - first
    assert numbers["still read"] > (end - first) // 20  # enough reaches the passes behind the reader
    assert numbers["steps done"] > (end - first) // 20
    for kind in ("asm", "launch", "machine"):
        assert numbers[f"{kind} refused"] > (end - first) // 200
