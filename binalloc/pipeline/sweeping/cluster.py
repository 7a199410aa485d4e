"""This module has the workers of a Dask cluster do the tasks of a sweep. Needs the package `distributed`."""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from binalloc.errors import Hint, UsageError
from binalloc.pipeline.steps.row import LIMIT
from binalloc.pipeline.sweeping.cache import Outcome
from binalloc.pipeline.sweeping.keys import package_digest
from binalloc.pipeline.sweeping.tasks import Task, failed, perform_elsewhere
from binalloc.printable import count

_LOG = logging.getLogger(__name__)
_ADDRESS = re.compile(r"(tcp|tls)://[^\s/]+:[0-9]{1,5}")  # the kinds of addresses that Dask schedulers listen at
_SECONDS = 10
"""Seconds within which the scheduler must answer: enough for a slow network, and not too long to wait for an error."""


class Cluster:
    """This executor is a Dask cluster.

    Its workers must have the same binalloc as this process, and find the files that launches name. If a worker dies,
    the cluster gives its work to another one.
    """

    def __init__(self, address: str) -> None:
        """Connect to the scheduler that listens at `address`, as tcp://host:port.

        Raises UsageError if Dask is not installed, or if no scheduler answers.
        """
        try:
            import distributed
        except ImportError as error:
            raise UsageError(
                "Dask is not installed", place=Hint("{dask}"), remedy="Install binalloc[distributed]."
            ) from error
        if not _ADDRESS.fullmatch(address):
            raise UsageError("no address", place=Hint("{dask}"), found=repr(address), expected="tcp://host:port")
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # this class reports its errors and lost workers
        try:
            self._client: Any = distributed.Client(address, timeout=_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:  # TimeoutError is an OSError
            raise UsageError(
                "no Dask scheduler answers", place=Hint("{dask}"), found=address,
                remedy="Start one with `dask scheduler`, and workers with `dask worker`.",
            ) from error  # fmt: skip
        self._killed: type[Exception] = distributed.KilledWorker
        self._ended: Any = distributed.as_completed(loop=self._client.loop)
        self._going: dict[str, tuple[Any, Task]] = {}
        self._workers = self._there()

    def submit(self, order: int, task: Task) -> None:
        """Hand a task to the cluster; see `Executor`."""
        future = self._client.submit(
            perform_elsewhere, task, package_digest(), key=task.key, priority=-order, pure=False
        )  # fmt: skip
        self._going[task.key] = future, task
        self._ended.add(future)

    def finished(self) -> tuple[Task, Outcome]:
        """Wait for a task to end, and return it; see `Executor`."""
        future = next(self._ended)
        _, task = self._going.pop(future.key)
        self._tell_the_lost()
        try:
            outcome: Outcome = future.result()
        except self._killed:
            return task, failed(LIMIT, "the workers that ran it died, as where memory runs out", passing=True)
        return task, outcome

    def _there(self) -> set[str]:
        """Return the addresses of the workers."""
        return set(self._client.scheduler_info(n_workers=-1)["workers"])

    def _tell_the_lost(self) -> None:
        """Report in the log how many workers are gone since the last call."""
        now = self._there()
        if lost := self._workers - now:
            _LOG.info("%s of the cluster gone: others do the work again", count(len(lost), "worker"))
        self._workers = now

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        with suppress(Exception):  # the scheduler may be gone already
            self._client.cancel([future for future, _ in self._going.values()])
        with suppress(Exception):
            self._client.close(timeout=_SECONDS)
