"""Hostile programs and launches in the compiled engine: faults and refusals, never a crash. See tests/fuzz/run.py."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.support.paths import ROOT


def fuzz_run(*options: str, **environment: str) -> dict[str, int]:
    """What a run in a process of its own counted."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.run", "--seed", "1", *options],
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stderr[-3000:]
    expected = "yes" if environment.get("BINALLOC_BOUNDSCHECK") else "no"
    assert f"indices checked: {expected}" in done.stdout
    return {key: int(n) for key, n in re.findall(r"^(.*): (\d+)$", done.stdout, re.MULTILINE)}


@pytest.mark.rotates("long")
def test_hostile_programs_in_the_engine_that_users_run() -> None:
    seen = fuzz_run("--count", "400", BINALLOC_BOUNDSCHECK="")
    assert seen["ended"] >= 20
    assert seen["the same in both engines"] >= 5
    assert seen["KernelFault: global memory access out of bounds"] >= 20


@pytest.mark.full
def test_hostile_programs_where_every_index_is_checked() -> None:
    seen = fuzz_run("--count", "5000", "--modes", BINALLOC_BOUNDSCHECK="1")
    assert seen["runs"] >= 3000
    assert sum(n for key, n in seen.items() if key.startswith("Refused")) * 20 < seen["runs"], "nearly all do run"
