"""The processes of a sweep: they may die, tasks may fail, and none is left behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from binalloc.errors import MalformedInput
from binalloc.pipeline.sweeping.executors import Processes
from tests.support.kits.sweeps import Dies, Fails, Notes, Told, Waits
from tests.support.paths import ROOT

ORPHANS = """
import os, signal, sys
from binalloc.pipeline.sweeping.executors import Processes
from tests.support.kits.sweeps import Told, Waits

if __name__ == "__main__":
    with Processes(2) as executor:
        executor.submit(0, Waits("waits"))
        executor.submit(1, Told("told"))
        print(executor.finished()[0].key, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def lives(folder: Path, number: int) -> str:
    for k in range(number):
        (folder / str(k)).touch()
    return str(folder)


def test_the_work_of_a_process_that_dies_is_done_once_more(tmp_path: Path) -> None:
    prepared = []
    with Notes() as said, Processes(2, lambda: prepared.append(1)) as executor:
        executor.submit(0, Dies("dies", lives(tmp_path, 1)))
        for k in range(3):
            executor.submit(k, Told(f"told {k}"))
        answers = dict(executor.finished() for _ in range(4))
    assert {task.key: outcome["told"] for task, outcome in answers.items()} == {
        name: name for name in ("dies", "told 0", "told 1", "told 2")
    }
    assert said == ["a worker process died (signal 9) at task dies: another one does it again"]
    assert prepared == [1]


def test_work_that_costs_two_processes_is_left_out(tmp_path: Path) -> None:
    with Notes() as said, Processes(1) as executor:
        executor.submit(0, Dies("dies", lives(tmp_path, 9)))
        executor.submit(1, Told("told"))
        (first, lost), (second, outcome) = executor.finished(), executor.finished()
    assert (first.key, lost["status"], lost["passing"]) == ("dies", "limit", True)
    assert lost["reason"] == "its process died 2 times, as where memory runs out"
    assert (second.key, outcome["told"]) == ("told", "told")
    assert len(said) == 2
    assert len(list(tmp_path.iterdir())) == 7


def test_errors_come_back_as_they_are_or_say_what_they_were() -> None:
    with Processes(1) as executor:
        executor.submit(0, Fails("fails"))
        with pytest.raises(MalformedInput, match=r"x\.npy: not the array; found dust"):
            executor.finished()
        executor.submit(0, Fails("defect", defect=True))
        with pytest.raises(RuntimeError, match="_Closed: <function"):
            executor.finished()
        executor.submit(0, Told("told"))
        assert executor.finished()[1]["told"] == "told"


def test_left_by_an_interruption_no_process_stays() -> None:
    processes = []

    def interrupted() -> None:
        with Processes(2) as executor:
            executor.submit(0, Waits("waits"))
            executor.submit(1, Told("told"))
            assert executor.finished()[0].key == "told"
            processes.extend(worker.process for worker in (*executor._busy, *executor._idle))
            assert [process.is_alive() for process in processes] == [True, True]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [process.is_alive() for process in processes] == [False, False]


def test_processes_end_with_the_one_that_began_them() -> None:
    """Their standard output is this pipe, too: it ends when the last of them has."""
    run = subprocess.run(
        [sys.executable, "-c", ORPHANS], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (run.returncode, run.stdout) == (-9, "told\n")
