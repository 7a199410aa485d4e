"""The example project samples/ci through pytest itself, in a process of its own: as it is, with a slowed kernel, with a
wrong one, with baselines that lack or are damaged, under pytest-xdist; and what the plugin costs who does not use it.

The plugin is named and no other is loaded, so it does not matter whether and how the package is installed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT, SAMPLES

FILE = "test_smooth.py"
PACE = f"{FILE}::test_it_is_as_fast_as_it_was"
BASELINE = "binalloc_baselines/test_smooth.test_it_is_as_fast_as_it_was[gtx680].json"
PLUGIN = "binalloc.testing.plugin"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the example project."""
    folder = tmp_path / "ci"
    shutil.copytree(SAMPLES / "ci", folder, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    return folder


def run_pytest(folder: Path, *args: str) -> tuple[int, str]:
    """pytest in that folder, with the plugin of this tree and the engine that needs no compiling."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1",
        "COLUMNS": "400",
    }  # fmt: skip
    environment.pop("PYTEST_ADDOPTS", None)
    environment.pop("PYTEST_XDIST_WORKER", None)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        PLUGIN,
        "-p",
        "no:cacheprovider",
        "--binalloc-engine=python",
        *args,
    ]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert "INTERNALERROR" not in done.stdout, done.stdout
    return done.returncode, done.stdout + done.stderr


def change(folder: Path, old: str, new: str) -> None:
    ptx = folder / "smooth.ptx"
    text = ptx.read_text()
    assert old in text
    ptx.write_text(text.replace(old, new))


LATE = """
import numpy as np

def test_late(binalloc_emulator):
    x = np.zeros(1, "f4")
    result = binalloc_emulator.launch("smooth.ptx", 1, 256, [x, x.copy(), 1])
    binalloc_emulator.check(result)
    assert False
"""


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "binalloc_baselines").iterdir()}


def cycles(folder: Path, machine: str) -> int:
    """Of the baseline."""
    found = json.loads((folder / BASELINE.replace("gtx680", machine)).read_text())["cycles"]
    assert isinstance(found, int)
    return found


def test_it_passes_as_it_is_and_writes_nothing(project: Path) -> None:
    before = files(project)
    code, out = run_pytest(project)
    assert (code, re.findall(r"\d+ passed", out)) == (0, ["6 passed"]), out
    assert "binalloc baselines" not in out
    assert files(project) == before
    assert sorted(p.name for p in project.iterdir()) == sorted(
        p.name for p in (SAMPLES / "ci").iterdir() if p.name not in ("__pycache__", ".pytest_cache")
    )


def test_a_slowed_kernel_fails_with_kernel_counter_value_and_baseline(project: Path) -> None:
    change(project, "bar.sync \t0;", 9 * "bar.sync \t0;\n")
    code, out = run_pytest(project)
    assert (code, re.findall(r"\d failed, \d passed", out)) == (1, ["2 failed, 4 passed"]), out
    for machine, baseline in (("gtx680", "2,903"), ("v100", "2,940")):
        message = (
            rf"smooth on {machine}: cycles 3,\d+, baseline {baseline} \([\d.]+% more\); at most [\d,]+ \(2% more\) "
        )
        assert re.search(rf"Regression: {message}allowed\. Baseline: binalloc_baselines/", out), out
    assert 'binalloc_emulator.check(result, max_slowdown="2%")' in out, "the user's line"
    assert "emulator.py" not in out, "and none of ours"


def test_a_wrong_kernel_fails_with_the_first_element_and_no_baseline_is_kept(project: Path) -> None:
    before = files(project)
    change(project, "0f3F000000", "0f3F400000")
    (project / "test_late.py").write_text(LATE)
    code, out = run_pytest(project, "--binalloc-update")
    assert (code, re.findall(r"\d failed", out)) == (1, ["7 failed"]), out
    message = r"smooth on t4: smooth_param_0\[1\]: 1.25, expected 1.0 \(tolerance; 857 of 1000 elements differ\)"
    assert re.search(f"Regression: {message}", out), out
    assert "0 baselines written, 0 as before" in out
    assert files(project) == before


@pytest.mark.rotates("long")
def test_baselines_are_written_when_asked_for_and_come_out_the_same(project: Path) -> None:
    before = files(project)
    shutil.rmtree(project / "binalloc_baselines")
    code, out = run_pytest(project, PACE)
    assert code == 1
    assert f"smooth on gtx680: no baseline, {BASELINE} is missing. Write it with pytest --binalloc-update, look" in out
    assert not (project / "binalloc_baselines").exists()
    code, out = run_pytest(project, PACE, "--binalloc-update", "-p", "xdist", "-n", "1")
    assert code == 0
    assert f"2 baselines written, 0 as before\n  {BASELINE}\n" in out
    assert files(project) == before, "as they are in the repository"
    (project / BASELINE).write_text("{")
    code, out = run_pytest(project, PACE)
    assert (code, re.findall(r"\d failed, \d passed", out)) == (1, ["1 failed, 1 passed"])
    assert f"MalformedInput: {BASELINE}: the baseline is not JSON" in out
    code, out = run_pytest(project, PACE, "--binalloc-update")
    assert (code, "1 baseline written, 1 as before" in out) == (0, True), out


def test_a_baseline_that_cannot_be_written_fails_its_test(project: Path) -> None:
    shutil.rmtree(project / "binalloc_baselines")
    (project / "binalloc_baselines").write_text("a file")
    code, out = run_pytest(project, PACE, "--binalloc-update")
    assert (code, re.findall(r"\d failed", out)) == (1, ["2 failed"]), out
    assert "binalloc_baselines: cannot make the folder" in out


def test_a_faster_kernel_passes_and_is_told(project: Path) -> None:
    path, now = project / BASELINE, cycles(project, "gtx680")
    path.write_text(path.read_text().replace(f'"cycles": {now}', f'"cycles": {2 * now}'))
    code, out = run_pytest(project, f"{PACE}[gtx680]", "-p", "xdist", "-n", "1")
    assert code == 0
    assert f"faster than its baseline: smooth on gtx680: cycles {now:,}, baseline {2 * now:,}\n" in out


def test_the_plugin_costs_nothing_where_it_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text(
        "import sys\n\n"
        "def test_nothing_of_ours_is_loaded():\n"
        "    loaded = {name.split('.')[0] for name in sys.modules} & {'numpy', 'numba', 'click', 'construct'}\n"
        "    ours = {name for name in sys.modules if name.startswith('binalloc')}\n"
        "    expected = {'binalloc', 'binalloc.version', 'binalloc.testing', 'binalloc.testing.plugin'}\n"
        "    assert (loaded, ours) == (set(), expected)\n"
    )
    code, out = run_pytest(tmp_path)
    assert code == 0, out


def test_the_entry_point_is_the_plugin() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {PLUGIN: PLUGIN}, "-p and the entry point are one plugin"
    told = (ROOT / "binalloc/testing/plugin.py").read_text()
    for option in ("--binalloc-update", "--binalloc-engine"):
        assert f'"{option}"' in told
