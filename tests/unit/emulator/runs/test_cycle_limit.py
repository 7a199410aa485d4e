"""An endless loop ends: by a limit that says what it is and how to raise it, or by Ctrl-C; meanwhile a terminal shows
how far the run is, and nothing else does."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from binalloc.cli.main import main
from binalloc.cli.terminal import progress
from binalloc.emulator.host.cycles import DEFAULT_MAX_CYCLES
from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.state.layout import CLOCK_END
from binalloc.errors import LimitHit
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.pipeline import Request
from tests.support.kits.cli import SAMPLES, call, loom, refused, stopped
from tests.support.kits.cli import launch as sample_launch
from tests.support.kits.emulator.small import go, module, op

COUNTING = """
.kernel k
    MOV R0, 0
again:
    IADD3 R0, R0, 1, RZ
    BRA again
.end
"""


@pytest.fixture
def counting(tmp_path: Path) -> list[str]:
    """Arguments of `run` for a loop that counts for ever, and so never comes back to an earlier state."""
    (tmp_path / "k.lasm").write_text(COUNTING)
    (tmp_path / "k.toml").write_text('kernel = "k"\ngrid = 2\nblock = 32\n')
    made, scheduled = str(tmp_path / "k.loom"), str(tmp_path / "scheduled.loom")
    assert call("asm", str(tmp_path / "k.lasm"), "-o", made).code == 0
    assert call("schedule", made, "-o", scheduled).code == 0
    return [scheduled, "--launch", str(tmp_path / "k.toml"), "--engine", "python"]


def test_one_limit_stands_everywhere_where_none_is_given() -> None:
    assert RunOptions().max_cycles == DEFAULT_MAX_CYCLES
    assert Request("k", load_machine("gtx680")).options.max_cycles == DEFAULT_MAX_CYCLES
    for command in ("run", "rewrite", "verify", "demo", "smem-cost"):
        option = next(p for p in main.commands[command].params if p.name == "max_cycles")
        assert option.default == str(DEFAULT_MAX_CYCLES)
        assert "none: no limit" in " ".join(call(command, "--help").out.split())


def test_a_counting_loop_ends_at_the_default_limit(counting: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def almost_there(self: LaunchedDevice, steps: int, limit: int) -> int:
        assert limit == DEFAULT_MAX_CYCLES
        self.put("cycle", limit)
        return step(self, steps, limit)

    step = LaunchedDevice.step
    monkeypatch.setattr(LaunchedDevice, "step", almost_there)
    line = stopped(4, *counting)
    assert f"all within {DEFAULT_MAX_CYCLES:,} cycles" in line
    assert "0 of 2 blocks" in line
    assert "--max-cycles N" in line
    assert "--max-cycles none" in line


def test_the_limit_asked_for_holds_in_every_command_that_emulates(counting: list[str], tmp_path: Path) -> None:
    assert "within 1,000 cycles" in stopped(4, *counting, "--max-cycles", "1000")
    name = loom("callchain")
    options = [*sample_launch("callchain"), "--max-cycles", "50"]
    assert "within 50 cycles" in refused(4, "rewrite", name, *options, "--registers", "12", "-o", str(tmp_path / "o"))
    assert "within 50 cycles" in refused(4, "verify", name, name, *options)
    demo = ["demo", "callchain", "--size", "test", "--engine", "python", "--samples", str(SAMPLES)]
    assert "within 50 cycles" in refused(4, *demo, "--max-cycles", "50")


@pytest.mark.parametrize("value", ["0", "-1", "", "1e6", "None", "9" * 5000])
def test_what_is_no_limit_is_a_usage_error(counting: list[str], value: str) -> None:
    refused(2, "run", *counting, "--max-cycles", value)


def test_no_limit_and_limits_beyond_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    step = LaunchedDevice.step

    def watched(self: LaunchedDevice, steps: int, limit: int) -> int:
        seen.append(limit)
        return step(self, steps, limit)

    monkeypatch.setattr(LaunchedDevice, "step", watched)
    m = module([op("EXIT")])
    for limit in (None, 1 << 63, 10**30, 1000):
        go(m, max_cycles=limit)
    assert seen == [CLOCK_END, CLOCK_END, CLOCK_END, 1000]
    assert call("run", loom("callchain"), *sample_launch("callchain"), "--max-cycles", "none").code == 0


def test_a_run_tells_how_far_it_is(counting: list[str]) -> None:
    told: list[tuple[int, int, int]] = []
    m = module([op("IADD3", rd=0, ra=0, form=1, imm=1, rc=255), op("BRA", target=-2), op("EXIT")])
    with pytest.raises(LimitHit):
        go(m, grid=3, max_cycles=60_000, progress=lambda *now: told.append(now))
    cycles = [c for c, _, _ in told]
    assert len(told) >= 2
    assert cycles == sorted(set(cycles))
    assert {(ended, blocks) for _, ended, blocks in told} == {(0, 3)}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_for_terminals(counting: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, quiet, shown in ((Terminal(), False, True), (Terminal(), True, False), (io.StringIO(), False, False)):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress(quiet) as show:
            show("k: 1,000 cycles")
        assert ("k: 1,000 cycles" in stream.getvalue()) == shown
        assert stream.getvalue().endswith("\r\x1b[K") == shown


def test_interrupting_a_run_before_its_first_cycle(counting: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(LaunchedDevice, "step", interrupted)
    answer = call("run", *counting)
    assert answer.code == 130
    assert answer.out == ""
    assert "interrupted; nothing was written" in answer.err
