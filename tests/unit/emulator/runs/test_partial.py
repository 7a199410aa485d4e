"""A run that is stopped by a limit, Ctrl-C or SIGTERM leaves what it had done by then, whole to the cycle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binalloc.cli.main import main
from binalloc.emulator.host.interrupts import whole_cycles
from binalloc.emulator.runs import run as driver
from binalloc.emulator.runs.run import Result
from binalloc.errors import Interrupted, LimitHit
from binalloc.isa.sets.files import load
from binalloc.launch.file import load_launch
from binalloc.models.machines.reader import load_machine
from tests.support.kits.cli import call, launch, loom
from tests.support.kits.emulator.small import go, module, op
from tests.support.paths import ROOT, sample_file

FOREVER = module([op("IADD3", rd=0, ra=0, form=1, imm=1, rc=255), op("BRA", target=-2), op("EXIT")])


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[Any]:
    """SIGINT as a terminal's process has it: a job in the background is started with it ignored."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield signal.default_int_handler
    signal.signal(signal.SIGINT, usual)


def sample(engine: str = "python", **options: Any) -> Result:
    made = load(loom("callchain"))
    found = load_launch(sample_file("callchain.toml"), "test")
    return driver.run(made, "callchain", found, load_machine("gtx680"), engine=engine, **options)


def until(cycles: int, **options: Any) -> Result:
    with pytest.raises(LimitHit) as caught:
        sample(max_cycles=cycles, **options)
    partial = caught.value.partial
    assert isinstance(partial, Result)
    assert partial.partial
    return partial


def slots(result: Result) -> int:
    return int(result.stats["issue_slots"]) + sum(result.stats["stalls"].values())


@pytest.mark.rotates("long")
def test_every_slot_up_to_the_limit_is_an_issue_or_a_stall_in_both_engines_and_modes() -> None:
    whole = sample(sms=2)
    assert not whole.partial
    assert whole.blocks_ended == whole.blocks
    last = -1
    for limit in (1, 17, 100, 333, 1000, whole.cycles - 1):
        modes = [(engine, reference) for engine in ("python", "numba") for reference in (False, True)]
        found = [until(limit, engine=engine, reference=reference, sms=2) for engine, reference in modes]
        for one in found:
            assert one.cycles == limit
            assert slots(one) == limit * 8 * 2
            assert one.stats == found[0].stats
            assert all(np.array_equal(one.buffers[name], found[0].buffers[name]) for name in one.buffers)
        assert found[0].stats["warp_instructions"] >= last
        last = found[0].stats["warp_instructions"]


def test_the_limit_that_is_just_enough_is_none() -> None:
    whole = sample()
    assert sample(max_cycles=whole.cycles).stats == whole.stats


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_ctrl_c_in_a_library(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "REPORT_QUANTA", 1)
    with pytest.raises(KeyboardInterrupt) as caught:
        go(FOREVER, engine=engine, grid=3, progress=lambda *_: os.kill(os.getpid(), signal.SIGINT))
    assert isinstance(caught.value, Interrupted)
    partial = caught.value.partial
    assert isinstance(partial, Result)
    assert (partial.partial, partial.blocks, partial.blocks_ended) == (True, 3, 0)
    assert slots(partial) == partial.cycles * 8 > 0


def test_a_signal_waits_for_the_end_of_the_cycle_and_the_second_does_not(interruptible: Any) -> None:
    seen: list[int] = []

    def interrupted(times: int) -> None:
        with whole_cycles():
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)
            seen.append(times)

    for times in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            interrupted(times)
    assert seen == [1]
    assert signal.getsignal(signal.SIGINT) is interruptible


INTERRUPTED = """
import os, signal, sys
from binalloc.emulator.host.engines.engine import Engine
from binalloc.emulator.sm import device_loop
from binalloc.emulator.sm.issue import begin_cycle
from binalloc.cli.main import main

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is started with it ignored
seen = 0

def begin(g, *rest):  # the signal comes in the middle of a cycle
    global seen
    seen += 1
    if seen == 200:
        os.kill(os.getpid(), signal.{name})
    begin_cycle(g, *rest)

device_loop.begin_cycle = begin
main(sys.argv[1:])
"""


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
@pytest.mark.parametrize("as_json", [False, True])
def test_a_signal_to_the_process_prints_what_is_known_and_writes_nothing(
    name: str, code: int, as_json: bool, tmp_path: Path
) -> None:
    args = ["run", loom("callchain"), *launch("callchain", "python"), "--save", str(tmp_path / "saved")]
    script = INTERRUPTED.format(name=name)
    ended = subprocess.run(
        [sys.executable, "-c", script, *args, *["--json"] * as_json],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert ended.returncode == code, ended.stderr
    assert ended.stderr.startswith("\nbinalloc: error: interrupted in callchain at cycle ")  # behind the terminal's ^C
    assert ended.stderr.endswith("blocks ended; nothing was written\n")
    assert ended.stderr.count("\n") == 2
    assert list(tmp_path.iterdir()) == []
    if as_json:
        found = json.loads(ended.stdout)
        stats = found["stats"]
        assert found["partial"] is True
        assert found["error"]["exit_code"] == code
        assert stats["issue_slots"] + sum(stats["stalls"].values()) == found["cycles"] * 8
    else:
        assert ended.stdout.startswith("PARTIAL, ")
        assert "issue slots" in ended.stdout


@pytest.mark.parametrize("command", ["rewrite", "verify"])
def test_other_commands_that_emulate_say_how_far_they_were(command: str, tmp_path: Path) -> None:
    name = loom("callchain")
    args = [command, name, *([name] if command == "verify" else ["-o", str(tmp_path / "out.loom")])]
    script = INTERRUPTED.format(name="SIGINT")
    ended = subprocess.run(
        [sys.executable, "-c", script, *args, *launch("callchain", "python"), "--json"],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert ended.returncode == 130
    assert "at cycle" in ended.stderr
    found = json.loads(ended.stdout)
    assert found["partial"] is True
    assert found["kernel"] == "callchain"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.rotates("long")
def test_demo_prints_the_samples_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    from binalloc.laboratory.demo import run

    record = run._record

    def interrupted(stem: Path, *rest: Any) -> run.Record:
        if stem.name != "callchain":
            raise KeyboardInterrupt
        return record(stem, *rest)

    monkeypatch.setattr(run, "_record", interrupted)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    args = ["demo", "callchain", "matmul", "--size", "test", "--engine", "python", "--samples", str(ROOT / "samples")]
    answer = call(*args)
    assert answer.code == 130
    assert answer.out.startswith("PARTIAL")
    assert "callchain" in answer.out
    assert "matmul" not in answer.out
    found = call(*args, "--json")
    assert (found.code, found.json["partial"]) == (130, True)
    assert [one["sample"] for one in found.json["rows"]] == ["callchain"]


def test_whoever_emulates_takes_one_set_of_options() -> None:
    shared = {"engine", "max_cycles", "scheduler"}
    several = {"schedulers": "scheduler"}  # who asks for several of them says so in the option's name
    for name, command in main.commands.items():
        taken = shared & {several.get(str(param.name), param.name) for param in command.params}
        assert taken in (shared, set()), name


@pytest.mark.parametrize("scheduler", ["gto", "oldest"])
def test_verify_runs_with_the_scheduler_asked_for(scheduler: str) -> None:
    name, run = loom("callchain"), launch("callchain", "python")
    found = call("verify", name, name, *run, "--scheduler", scheduler, "--json").json
    alone = call("run", name, *run, "--scheduler", scheduler, "--json").json
    assert found["scheduler"] == scheduler
    assert found["cycles"] == {"original": alone["cycles"], "rewritten": alone["cycles"]}
    assert "not one of" in call("verify", name, name, *run, "--scheduler", "nobody").err
