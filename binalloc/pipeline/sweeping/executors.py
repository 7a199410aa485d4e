"""Executors do the tasks of a sweep: in this process, or in others on this machine. `cluster` has the one for Dask."""

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
"""Times that a task is begun if its process dies: once more, since the cause may pass, as where memory runs out."""


class Executor(Protocol):
    """An executor does tasks, which may end in any order. At the end of its `with` block it stops running tasks."""

    def submit(self, order: int, task: Task) -> None:
        """Take a task to do. Tasks of lower order begin first."""

    def finished(self) -> tuple[Task, Outcome]:
        """Wait for a task to end, and return it with its outcome, each task once.

        A task must have been submitted that was not returned yet. Raises what `tasks.perform` raises.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None: ...


class WaitingTasks:
    """This queue has the tasks that are not begun, the lowest order first; equal orders keep their sequence."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Task]] = []
        self._number = 0

    def put(self, order: int, task: Task) -> None:
        """Add a task."""
        self._number += 1
        heapq.heappush(self._heap, (order, self._number, task))

    def take(self) -> tuple[int, Task]:
        """Remove the task of lowest order, and return it with its order."""
        order, _, task = heapq.heappop(self._heap)
        return order, task

    def __len__(self) -> int:
        return len(self._heap)


class Here:
    """This executor does one task after another in this process."""

    def __init__(self) -> None:
        self._waiting = WaitingTasks()

    def submit(self, order: int, task: Task) -> None:
        """Take a task to do; see `Executor`."""
        self._waiting.put(order, task)

    def finished(self) -> tuple[Task, Outcome]:
        """Do the next task, and return it with its outcome; see `Executor`."""
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
    """A worker is a process that does tasks, one at a time."""

    process: multiprocessing.process.BaseProcess
    pipe: Connection  #: our end of the pipe to the process
    order: int  #: order of its task
    task: Task  #: its last task


class Processes:
    """This executor does tasks in processes of this machine, which begin when there is work for them.

    If a process dies, its task is done once more, by another process.
    """

    def __init__(self, most: int, prepare: Callable[[], None] | None = None) -> None:
        """Use up to `most` processes. prepare: is called before the first one begins."""
        self._most, self._prepare = most, prepare
        self._waiting = WaitingTasks()
        self._busy: list[_Worker] = []
        self._idle: list[_Worker] = []
        self._deaths: dict[str, int] = {}

    def submit(self, order: int, task: Task) -> None:
        """Take a task to do; see `Executor`."""
        self._waiting.put(order, task)

    def finished(self) -> tuple[Task, Outcome]:
        """Wait for a task to end, and return it with its outcome; see `Executor`."""
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
        """Give waiting tasks to idle workers, and to new ones as long as there are fewer than the most."""
        while self._waiting and (self._idle or len(self._busy) < self._most):
            order, task = self._waiting.take()
            worker = self._idle.pop() if self._idle else self._begin(order, task)
            worker.order, worker.task = order, task
            self._busy.append(worker)
            with suppress(OSError):  # the process is dead: this is noticed when its answer is read
                worker.pipe.send_bytes(pickle.dumps(task))

    def _begin(self, order: int, task: Task) -> _Worker:
        """Start a process, and return its worker. The process ignores Ctrl-C from its start."""
        if self._prepare is not None:
            self._prepare()
            self._prepare = None
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs,), daemon=True)
        usual = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # the new process inherits the mask
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, usual)
        theirs.close()
        return _Worker(process, ours, order, task)

    def _lose(self, worker: _Worker) -> Outcome | None:
        """Put the task of a dead process back into the queue; after `TRIES` deaths return its outcome, a failure."""
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
    """Return how a process ended, in words. code: its exit code."""
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def _work(pipe: Connection) -> None:
    """Do tasks from a pipe, one by one, until it is closed. This is the main function of a worker process.

    Ctrl-C reaches all processes of a terminal. Workers ignore it, and end when their parent ends, however it ends.
    """
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
    """Wait for the parent process to end, then end this process at once."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _pickled(answer: Outcome | BaseException) -> bytes:
    """Pickle an answer; an error that does not survive this becomes a RuntimeError with its text."""
    try:
        data = pickle.dumps(answer)
        pickle.loads(data)
    except Exception:
        return pickle.dumps(RuntimeError(f"{type(answer).__name__}: {answer}"))
    return data
