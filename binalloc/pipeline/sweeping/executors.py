"""Who does the tasks of a sweep: this process, or others on this machine. `cluster` has those of Dask."""

from __future__ import annotations

import heapq
import logging
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Protocol, Self

from binalloc.pipeline.steps.row import LIMIT
from binalloc.pipeline.sweeping.cache import Outcome
from binalloc.pipeline.sweeping.tasks import Task, failed, perform
from binalloc.printable import count

_LOG = logging.getLogger(__name__)
TRIES = 2
"""How often a task is begun whose process dies."""


class Executor(Protocol):
    """Does tasks, in whatever order they end. Left by `with`, it ends what is still going on."""

    def submit(self, order: int, task: Task) -> None:
        """Have it done; what is of a lower order begins first."""

    def finished(self) -> tuple[Task, Outcome]:
        """A task that has ended, each once; waits for one. Raises what `tasks.perform` raises. One must be under
        way."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None: ...


class Waiting:
    """Tasks that nobody has begun, the lowest order first."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Task]] = []
        self._number = 0

    def put(self, order: int, task: Task) -> None:
        self._number += 1
        heapq.heappush(self._heap, (order, self._number, task))

    def take(self) -> tuple[int, Task]:
        order, _, task = heapq.heappop(self._heap)
        return order, task

    def __len__(self) -> int:
        return len(self._heap)


class Here:
    """One task after another in this process."""

    def __init__(self) -> None:
        self._waiting = Waiting()

    def submit(self, order: int, task: Task) -> None:
        self._waiting.put(order, task)

    def finished(self) -> tuple[Task, Outcome]:
        _, task = self._waiting.take()
        return task, perform(task)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        pass


@dataclass
class _Worker:
    """A process, our end of the pipe to it, and the task that it has."""

    process: multiprocessing.process.BaseProcess
    pipe: Connection
    order: int
    task: Task


class Processes:
    """Up to `most` processes of this machine, begun when there is work for them, each with one task at a time. prepare:
    called before the first one begins. A task whose process dies is done once more, by another."""

    def __init__(self, most: int, prepare: Callable[[], None] | None = None) -> None:
        self._most, self._prepare = most, prepare
        self._waiting = Waiting()
        self._busy: list[_Worker] = []
        self._idle: list[_Worker] = []
        self._deaths: dict[str, int] = {}

    def submit(self, order: int, task: Task) -> None:
        self._waiting.put(order, task)

    def finished(self) -> tuple[Task, Outcome]:
        while True:
            self._employ()
            ready = wait([worker.pipe for worker in self._busy])
            worker = next(worker for worker in self._busy if worker.pipe in ready)
            self._busy.remove(worker)
            try:
                answer = pickle.loads(worker.pipe.recv_bytes())
            except (EOFError, OSError):
                if (lost := self._lose(worker)) is not None:
                    return worker.task, lost
                continue
            self._idle.append(worker)
            if isinstance(answer, BaseException):
                raise answer
            return worker.task, answer

    def _employ(self) -> None:
        """Give work to all who can have some."""
        while self._waiting and (self._idle or len(self._busy) < self._most):
            order, task = self._waiting.take()
            worker = self._idle.pop() if self._idle else self._begin(order, task)
            worker.order, worker.task = order, task
            self._busy.append(worker)
            with suppress(OSError):  # it is gone: that shows when its answer is read
                worker.pipe.send_bytes(pickle.dumps(task))

    def _begin(self, order: int, task: Task) -> _Worker:
        if self._prepare is not None:
            self._prepare()
            self._prepare = None
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs,), daemon=True)
        usual = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # it begins so, too
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, usual)
        theirs.close()
        return _Worker(process, ours, order, task)

    def _lose(self, worker: _Worker) -> Outcome | None:
        """Its process is dead: the task waits again; its outcome where it has cost enough processes."""
        worker.process.join()
        worker.pipe.close()
        deaths = self._deaths[worker.task.key] = self._deaths.get(worker.task.key, 0) + 1
        how = f"a worker process died ({_ended(worker.process.exitcode)}) at {worker.task.name}"
        if deaths == TRIES:
            _LOG.info("%s, once more: it is left out", how)
            return failed(LIMIT, f"its process died {count(deaths, 'time')}, as where memory runs out", passing=True)
        _LOG.info("%s: another one does it again", how)
        self._waiting.put(worker.order, worker.task)
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for worker in (*self._busy, *self._idle):
            worker.process.terminate()
        for worker in (*self._busy, *self._idle):
            worker.process.join()
            worker.pipe.close()
        self._busy, self._idle = [], []


def _ended(code: int | None) -> str:
    """How a process did, in words."""
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def _work(pipe: Connection) -> None:
    """A worker's life: tasks, one by one, until there are no more. Ctrl-C comes to all processes of a terminal: workers
    leave it to the one that began them, and end with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            task: Task = pickle.loads(pipe.recv_bytes())
        except EOFError:
            return
        answer: Outcome | BaseException
        try:
            answer = perform(task)
        except Exception as error:
            answer = error
        pipe.send_bytes(_pickled(answer))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _pickled(answer: Outcome | BaseException) -> bytes:
    try:
        data = pickle.dumps(answer)
        pickle.loads(data)
    except Exception:
        return pickle.dumps(RuntimeError(f"{type(answer).__name__}: {answer}"))
    return data
