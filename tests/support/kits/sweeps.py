"""Small sweeps, and tasks that go wrong, for workers to find by import."""

from __future__ import annotations

import logging
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from binalloc.emulator.runs.options import RunOptions
from binalloc.errors import MalformedInput
from binalloc.files import read_bytes
from binalloc.isa.sets.files import read_module
from binalloc.launch.file import load_launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.steps.row import Row
from binalloc.pipeline.sweeping.cache import Cache, Outcome
from binalloc.pipeline.sweeping.configuration import ALL, Configuration, Levels, Subject, configurations
from binalloc.pipeline.sweeping.executors import Here
from binalloc.pipeline.sweeping.sweep import Tally, sweep
from binalloc.pipeline.sweeping.tasks import Task
from tests.support.paths import sample_file


def subject(name: str, machine: str = "gtx680", data: bytes | None = None) -> Subject:
    """A sample at its size for tests; data: another binary of its kernel."""
    launch = load_launch(sample_file(f"{name}.toml"), "test")
    data = read_bytes(sample_file(f"{name}.loom")) if data is None else data
    return Subject(f"{name}.loom", data, launch.kernel, launch, load_machine(machine))


def asked_of(
    one: Subject, wanted: Levels = ALL, *, allocators: tuple[str, ...] = ("local", "best"), **others: Any
) -> list[Configuration]:
    """Its configurations, on the engine that needs no compilation unless another is named."""
    given = {"engine": "python"} | others
    schedulers = given.pop("schedulers", ("lrr",))
    return list(configurations(read_module(one.binary), one, wanted, allocators, schedulers, RunOptions(**given)))


class Recorder(Here):
    """Keeps what it was asked to do."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: list[Task] = []

    def submit(self, order: int, task: Task) -> None:
        self.tasks.append(task)
        super().submit(order, task)


def swept(asked: list[Configuration], folder: Path) -> tuple[list[Row], Recorder, Tally]:
    """The rows, what was done for them, and how much."""
    executor, tally = Recorder(), Tally()
    return list(sweep(asked, executor, Cache(folder), tally=tally)), executor, tally


class Notes(logging.Handler):
    """What the library has to say within, whoever else listens."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())

    def __enter__(self) -> list[str]:
        logger = logging.getLogger("binalloc")
        self._level = logger.level
        logger.setLevel(logging.INFO)
        logger.addHandler(self)
        return self.said

    def __exit__(self, *_: object) -> None:
        logger = logging.getLogger("binalloc")
        logger.setLevel(self._level)
        logger.removeHandler(self)


@dataclass(frozen=True)
class Told:
    """A task that comes to what it is told."""

    key: str

    @property
    def name(self) -> str:
        return f"task {self.key}"

    def figures(self) -> Outcome:
        return {"told": self.key}


@dataclass(frozen=True)
class Dies(Told):
    """Kills its process as often as there are files in the folder, of which it removes one."""

    folder: str

    def figures(self) -> Outcome:
        for path in sorted(Path(self.folder).iterdir())[:1]:
            path.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().figures()


@dataclass(frozen=True)
class Fails(Told):
    """Finds a file that is not what it should be, or a defect that no pipe can carry."""

    defect: bool = False

    def figures(self) -> Outcome:
        if self.defect:
            raise _Closed(lambda: None)
        raise MalformedInput("not the array", file="x.npy", found="dust")


class _Closed(Exception):
    """Does not survive pickling."""


@dataclass(frozen=True)
class Waits(Told):
    """Never ends by itself."""

    def figures(self) -> Outcome:
        while True:
            signal.pause()
