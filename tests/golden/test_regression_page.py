"""docs/regression.md shows what there is: the baseline of the example, real refusals, methods and options by name."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import numpy as np
import pytest

from binalloc import UsageError, launch_kernel
from binalloc.testing.emulator import Emulator
from tests.support.kits.cli import call, loom
from tests.support.paths import ROOT, SAMPLES, sample_file

PAGE = (ROOT / "docs/regression.md").read_text()
JSON_PAGE = (ROOT / "binalloc/report/JSON.md").read_text()


def test_the_baseline_is_the_examples() -> None:
    (shown,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    path = SAMPLES / "ci/binalloc_baselines/test_smooth.test_it_is_as_fast_as_it_was[v100].json"
    assert shown == path.read_text()
    (table,) = re.findall(r"^### baseline of a test\n(.*?)^### ", JSON_PAGE, re.DOTALL | re.MULTILINE)
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(json.loads(shown))


def test_the_refusals_are_those_that_are_printed(tmp_path: Path) -> None:
    x = np.zeros(4096, "f4")
    with pytest.raises(UsageError) as refusal:
        launch_kernel(SAMPLES / "ci/smooth.ptx", 16, 256, [x.copy(), x, np.int64(4096)])
    assert f"    {refusal.value}\n" in PAGE
    few = f"{tmp_path}/few.loom"
    budget = ("--registers", "6", "--slots", "0", "--launch", str(sample_file("callchain.toml")), "--no-emulate")
    assert call("rewrite", loom("callchain"), *budget, "-o", few).code == 0
    told = call("verify", loom("callchain"), few, "--max-local-bytes", "0").out.splitlines()[-1]
    assert f"    {told}\n" in PAGE


def test_methods_and_options_are_called_so() -> None:
    rows = dict(re.findall(r"^\| `(\w+)\((.*?)\)` \|", PAGE, re.MULTILINE))
    methods = {name for name, _ in inspect.getmembers(Emulator, inspect.isfunction) if not name.startswith("_")}
    assert set(rows) == methods - {"write_baselines"}
    for name in ("expect", "check"):
        options = set(inspect.signature(getattr(Emulator, name)).parameters) - {"self", "result", "name"}
        assert options <= set(re.findall(r"\b(?:max|min)_\w+", PAGE)), name
