"""A `run` that is stopped (--max-cycles, --break, Ctrl-C) gives all that was asked for of it as far as it has come; one
that had ended is not called partial."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from binalloc.emulator.runs import run as driver
from binalloc.laboratory.accelsim.trace import AccelsimTrace
from tests.support.kits.cli import call, launch, loom
from tests.support.oracles.traces.trace_events import violations
from tests.support.paths import ROOT
from tests.unit.emulator.runs.test_partial import INTERRUPTED

RUN = ["run", loom("callchain"), *launch("callchain", "python")]
SLOTS = 8  # of a cycle: four schedulers, two each


def looks(folder: Path) -> list[str]:
    series, trace = str(folder / "s.json"), str(folder / "t.json")
    return ["--annotate", "--watch", "in:64", "--series", series, "--every", "100", "--trace", trace]


def require_all(found: Any, folder: Path, *, begun: int = 0) -> None:
    """Every part is there, and speaks of the same cycles. begun: issues of the cycle that is not over."""
    stats, annotation = found["stats"], found["annotation"]
    assert found["partial"] is True
    assert stats["issue_slots"] == stats["warp_instructions"] == sum(stats["units"].values())
    slots = stats["issue_slots"] + sum(stats["stalls"].values())
    assert 0 <= slots - found["cycles"] * SLOTS <= begun
    rows = [row for fn in annotation["functions"] for row in fn["instructions"]]
    assert annotation["slots"] == slots
    assert sum(row["issues"] for row in rows) == stats["warp_instructions"] > 0
    assert sum(row["thread_instructions"] for row in rows) == stats["thread_instructions"]
    series = json.loads((folder / "s.json").read_text())
    assert (series["partial"], series["cycles"]) == (True, found["cycles"])
    assert found["series"]["intervals"] == len(series["intervals"]) == -(-found["cycles"] // 100)
    for name in ("warp_instructions", "cycles", "request_bytes"):
        assert sum(row[name] for row in series["intervals"]) == stats[name]
    trace = json.loads((folder / "t.json").read_text())
    assert violations((folder / "t.json").read_bytes()) == []
    assert len([event for event in trace["traceEvents"] if event["ph"] != "M"]) == found["trace"]["events"]
    assert found["trace"]["instructions"] == stats["warp_instructions"]
    assert found["watch"]["total"] == 4
    assert "saved" not in found
    assert "reference" not in found


def test_a_limit_of_cycles(tmp_path: Path) -> None:
    run = [*RUN, *looks(tmp_path), "--save", str(tmp_path / "saved"), "--reference", "--max-cycles", "700"]
    answer = call(*run, "--json")
    assert answer.code == answer.json["error"]["exit_code"] == 4
    assert answer.json["cycles"] == 700
    require_all(answer.json, tmp_path)
    assert answer.err.count("\n") == 1
    text = call(*run)
    assert text.out.startswith("PARTIAL, 0 of 3 blocks ended: ")
    for part in ("* hottest", "Series: ", "watch in+0:64: 4 accesses", "trace "):
        assert part in text.out
    assert not (tmp_path / "saved").exists()


@pytest.mark.parametrize("place", ["callchain+20", "C+3"])
def test_a_break(tmp_path: Path, place: str) -> None:
    """Counters of both engines are the same."""
    run = [*RUN, *looks(tmp_path), "--save", str(tmp_path / "saved"), "--break", place]
    answer = call(*run, "--json")
    assert answer.code == 6
    found = answer.json
    assert found["cycles"] == found["break"]["cycle"]
    require_all(found, tmp_path, begun=SLOTS)
    compiled = call(*run, "--engine", "numba", "--json").json
    assert compiled | {"engine": "python"} == found
    text = call(*run).out
    for part in ("stopped in cycle", "Until then 0 of 3 blocks ended; --json has", "* hottest", "Series: ", "trace "):
        assert part in text
    assert not (tmp_path / "saved").exists()


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c(tmp_path: Path, as_json: bool) -> None:
    script = INTERRUPTED.format(name="SIGINT").replace("seen == 200", "seen == 600")
    options = [*looks(tmp_path), "--save", str(tmp_path / "saved"), *["--json"] * as_json]
    ended = subprocess.run(
        [sys.executable, "-c", script, *RUN, *options], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert ended.returncode == 130
    written = f"; written: {tmp_path / 't.json'}, {tmp_path / 's.json'}\n"
    assert ended.stderr.endswith(f"0 of 3 blocks ended{written}")
    assert not (tmp_path / "saved").exists()
    assert json.loads((tmp_path / "t.json").read_text())["otherData"]["ended"] == "stopped: interrupted"
    if as_json:
        found = json.loads(ended.stdout)
        assert found["error"]["exit_code"] == 130
        require_all(found, tmp_path)
    else:
        assert ended.stdout.startswith("PARTIAL")
        assert "* hottest" in ended.stdout


def test_a_trace_for_accel_sim_that_gets_too_long_with_the_last_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last lines come when the run has ended. Whoever else listens has heard of it all."""
    monkeypatch.setitem(driver.QUANTUM, "python", 1 << 30)
    options = ["--accelsim-trace", str(tmp_path / "folder"), "--watch", "in:64"]
    grow, sizes = AccelsimTrace._grow, [0]

    def count(self: AccelsimTrace, size: int) -> None:
        sizes.append(sizes[-1] + size)
        grow(self, size)

    def too_long(self: AccelsimTrace, size: int) -> None:
        self._limit = sizes[-1] - 1
        grow(self, size)

    monkeypatch.setattr(AccelsimTrace, "_grow", count)
    whole = call(*RUN, *options, "--json").json
    shutil.rmtree(tmp_path / "folder")
    monkeypatch.setattr(AccelsimTrace, "_grow", too_long)
    seldom = ["--trace", str(tmp_path / "t.json"), "--trace-counters", "1000000"]
    answer = call(*RUN, *options, *seldom, "--json")
    assert answer.code == 4
    found = answer.json
    assert found["partial"] is False
    assert found["stats"] == whole["stats"]
    assert found["blocks_ended"] == found["blocks"]
    assert found["watch"]["total"] == 4
    assert json.loads((tmp_path / "t.json").read_text())["otherData"]["ended"] == "the grid ended"
    assert not (tmp_path / "folder").exists()
    text = call(*RUN, *options)
    assert text.code == 4
    assert text.out.startswith("callchain on gtx680: ")


def test_a_skewed_run_that_reaches_the_limit(tmp_path: Path) -> None:
    """The run without delays has ended; its report is whole."""
    whole = call(*RUN, "--json").json
    limit = ["--max-cycles", str(whole["cycles"])]
    assert call(*RUN, *limit, "--json").json == whole
    answer = call(*RUN, *limit, "--skews", "8", "--save", str(tmp_path / "saved"), "--json")
    assert answer.code == 4
    found = answer.json
    error = found.pop("error")
    assert error["message"].startswith("with blocks that start a little later ")
    assert found.pop("saved")
    assert found == whole
    text = call(*RUN, *limit, "--skews", "8")
    assert text.code == 4
    assert text.out.startswith("callchain on gtx680: ")


def test_which_version_was_stopped(tmp_path: Path) -> None:
    """A command that runs several says which of them did not end, one that runs one does not."""
    sample, path = [loom("nbody"), *launch("nbody")], str(tmp_path / "rewritten.loom")
    rewrite = ["rewrite", *sample, "--registers", "32", "--slots", "0", "-o", path]
    found = call(*rewrite, "--json").json
    cycles = found["original"]["cycles"]
    assert cycles < found["rewritten"]["cycles"], "so that a limit can lie between them"
    rewritten = f"{found['rewritten']['registers']} registers and 0 slots by best"
    for limit, version in ((cycles - 1, "the original"), (cycles, rewritten)):
        answer = call(*rewrite, "--max-cycles", str(limit), "--json")
        assert (answer.code, answer.json["partial"], answer.json["version"]) == (4, True, version)
        assert answer.json["error"]["message"] == f"the kernel did not end within the cycle limit ({version})"
        assert f" cycle limit ({version}); found " in answer.err
    verify = ["verify", sample[0], path, *sample[1:], "--max-cycles", str(cycles), "--json"]
    assert call(*verify).json["version"] == "the rewritten"
    answer = call(*RUN, "--max-cycles", "100", "--json")
    assert answer.json["partial"] is True
    assert "version" not in answer.json
    assert answer.json["error"]["message"] == "the kernel did not end within the cycle limit"


def test_an_interrupt_of_a_skewed_run_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from binalloc.emulator.host.figures import skew

    def interrupted(*_: object) -> tuple[int, ...]:
        raise KeyboardInterrupt

    monkeypatch.setattr(skew, "skewed_cycles", interrupted)
    monkeypatch.setattr("binalloc.pipeline.running.run.skewed_cycles", interrupted)
    answer = call(*RUN, "--skews", "8", "--json")
    assert answer.code == 130
    assert answer.json["partial"] is False
    assert answer.err.endswith("interrupted when callchain had ended; nothing was written\n")


@pytest.mark.parametrize("suffix", ["json", "csv"])
def test_a_break_in_front_of_everything(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"s.{suffix}"
    run = [*RUN, "--annotate", "--series", str(path), "--break", "callchain"]
    answer = call(*run, "--json")
    assert (answer.code, call(*run).code) == (6, 6)
    found = answer.json
    assert (found["cycles"], found["series"]["intervals"], found["annotation"]["slots"]) == (0, 0, 0)
    assert found["stats"]["warp_instructions"] == 0
    assert path.read_text().startswith("start,cycles,ipc," if suffix == "csv" else "{")
