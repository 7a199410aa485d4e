"""A sweep that was killed goes on: no row is lost, nothing is done twice, and damage in the cache is found."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from binalloc.errors import UsageError
from binalloc.pipeline.sweeping.cache import Cache
from binalloc.pipeline.sweeping.executors import Here, Processes
from binalloc.pipeline.sweeping.sweep import sweep
from binalloc.pipeline.sweeping.tasks import failed
from binalloc.report.sweep import csv_bytes
from tests.support.kits.sweeps import Notes, Recorder, Told, asked_of, subject, swept
from tests.support.paths import ROOT

KILLED = """
import os, signal, sys
from pathlib import Path
from binalloc.pipeline.sweeping import cache
from tests.support.kits.sweeps import asked_of, subject, swept

before, after, put = int(sys.argv[2]), sys.argv[3] == "after", cache.Cache.put
def kill_at(self, key, outcome):
    global before
    if before == 0 and not after:
        os.kill(os.getpid(), signal.SIGKILL)
    put(self, key, outcome)
    if before == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    before -= 1
cache.Cache.put = kill_at
swept(asked_of(subject("callchain"), (3, 7, 8)), Path(sys.argv[1]))
"""


def kept(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.json")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Path, int]:
    """The table of an undisturbed sweep, its cache, and how many tasks it had."""
    folder = tmp_path_factory.mktemp("whole")
    rows, _, tally = swept(asked_of(subject("callchain"), (3, 7, 8)), folder)
    assert (tally.cached, tally.rows) == (0, len(rows))
    return csv_bytes(rows), folder, tally.done


@pytest.mark.rotates("long")
@pytest.mark.parametrize(("number", "when"), [(0, "before"), (2, "after"), (3, "before")])
def test_after_a_kill_what_was_finished_is_taken_from_the_cache(
    tmp_path: Path, whole: tuple[bytes, Path, int], number: int, when: str
) -> None:
    table, folder, tasks = whole
    line = [sys.executable, "-c", KILLED, str(tmp_path), str(number), when]
    assert subprocess.run(line, cwd=ROOT, check=False, capture_output=True).returncode == -9
    finished = kept(tmp_path)
    assert len(finished) == number + (when == "after")
    rows, executor, tally = swept(asked_of(subject("callchain"), (3, 7, 8)), tmp_path)
    assert csv_bytes(rows) == table
    assert (tally.cached, tally.done) == (len(finished), tasks - len(finished))
    assert not {task.key for task in executor.tasks} & {f"{path.parent}{path.stem}" for path in finished}
    assert kept(tmp_path) == kept(folder)


def test_a_second_sweep_does_nothing_and_has_the_same_bytes(whole: tuple[bytes, Path, int]) -> None:
    table, folder, tasks = whole
    rows, executor, tally = swept(asked_of(subject("callchain"), (3, 7, 8)), folder)
    assert (executor.tasks, tally.done, tally.cached) == ([], 0, tasks)
    assert csv_bytes(rows) == table
    fewer, executor, _ = swept(asked_of(subject("callchain"), (7, 8)), folder)
    assert executor.tasks == []
    assert fewer == [row for row in rows if row.blocks != 3]


def test_processes_come_to_the_same_bytes(tmp_path: Path, whole: tuple[bytes, Path, int]) -> None:
    table, folder, _ = whole
    with Processes(2) as executor:
        rows = list(sweep(asked_of(subject("callchain"), (3, 7, 8)), executor, Cache(tmp_path)))
    assert csv_bytes(rows) == table
    assert kept(tmp_path) == kept(folder)


class Backwards(Recorder):
    """Ends what came last first."""

    def submit(self, order: int, task: object) -> None:
        super().submit(-order, task)  # type: ignore[arg-type]


def test_rows_come_in_order_whatever_ends_first(tmp_path: Path, whole: tuple[bytes, Path, int]) -> None:
    asked = asked_of(subject("callchain"), (3, 7, 8))
    assert csv_bytes(list(sweep(asked, Backwards(), Cache(tmp_path)))) == whole[0]


def with_checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def changed(data: bytes, **fields: object) -> bytes:
    return with_checksum(json.dumps(json.loads(data.partition(b"\n")[2]) | fields).encode())


DAMAGE = {
    "truncated": lambda data: data[:-7],
    "empty": lambda data: b"",
    "one bit": lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
    "another version": lambda data: changed(data, schema_version=2),
    "another run": lambda data: changed(data, key="0" * 64),
    "no outcome": lambda data: changed(data, outcome=[]),
    "no JSON": lambda data: with_checksum(b"{"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_set_aside_told_of_and_done_again(tmp_path: Path, damage: str) -> None:
    cache, task = Cache(tmp_path), Told("ab" * 32)
    outcome = Here.finished(_with(task))[1]
    cache.put(task.key, outcome)
    (path,) = tmp_path.rglob("*.json")
    good = path.read_bytes()
    assert cache.get(task.key) == outcome
    path.write_bytes(DAMAGE[damage](good))
    with Notes() as said:
        assert cache.get(task.key) is None
        assert cache.get(task.key) is None
    assert len(said) == 1
    assert str(path) in said[0]
    assert "is damaged" in said[0]
    assert not path.exists()
    assert path.with_suffix(".damaged").read_bytes() == DAMAGE[damage](good)
    cache.put(task.key, outcome)
    assert path.read_bytes() == good


def _with(task: Told) -> Here:
    executor = Here()
    executor.submit(0, task)
    return executor


@pytest.mark.rotates("long")
def test_damage_changes_no_row(tmp_path: Path, whole: tuple[bytes, Path, int]) -> None:
    asked = asked_of(subject("callchain"), (3, 7, 8))
    swept(asked, tmp_path)
    damaged = sorted(tmp_path.rglob("*.json"))[::2]
    for path in damaged:
        path.write_bytes(path.read_bytes()[:50])
    rows, _, tally = swept(asked, tmp_path)
    assert csv_bytes(rows) == whole[0]
    assert tally.done == len(damaged) == len(list(tmp_path.rglob("*.damaged")))


def test_what_may_pass_is_not_kept(tmp_path: Path) -> None:
    class Short(Here):
        def finished(self):  # type: ignore[no-untyped-def]
            return self._waiting.take()[1], failed("limit", "out of memory", passing=True)

    asked = asked_of(subject("callchain"), (8,))
    rows = list(sweep(asked, Short(), Cache(tmp_path)))
    assert {(row.status, row.reason) for row in rows} == {("limit", "out of memory")}
    assert kept(tmp_path) == {}


def test_a_cache_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot make the folder"):
        Cache(tmp_path / "file")
