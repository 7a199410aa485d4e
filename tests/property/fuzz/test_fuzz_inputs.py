"""A short run of the fuzzing of every command; `make fuzz-inputs` is the long one. See tests/fuzz/inputs.py."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from binalloc.cli.main import main
from tests.fuzz.commands import COMMANDS
from tests.support.paths import ROOT

COUNT = 400


@pytest.mark.rotates("long")
def test_no_damaged_input_and_no_option_meets_a_defect(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.inputs", "--count", str(COUNT), "--seed", "short", "--keep", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-3000:]
    codes: dict[str, set[int]] = {}
    for command, code in re.findall(r"^([\w-]+): exit (\d)+: \d+$", run.stdout, re.MULTILINE):
        codes.setdefault(command, set()).add(int(code))
    for command in ("asm", "disasm", "inspect", "schedule", "run", "verify", "diff", "machines", "import-ptx"):
        assert 3 in codes[command], command
    assert 0 in codes["disasm"] & codes["asm"] & codes["schedule"], "enough gets through"
    assert codes["run"] & {0, 1, 4, 5}, "some kernels run"
    assert f"{COUNT} cases, 0 failures" in run.stdout


def test_every_command_is_fuzzed() -> None:
    assert set(COMMANDS) == {*main.commands, "anything"}
