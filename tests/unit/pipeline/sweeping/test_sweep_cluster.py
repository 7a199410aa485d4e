"""A sweep on a Dask cluster of this machine, of which a worker is killed half-way."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from binalloc.errors import UsageError
from binalloc.pipeline.sweeping.cache import Cache
from binalloc.pipeline.sweeping.sweep import sweep
from tests.support.kits.sweeps import asked_of, subject, swept

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install binalloc[distributed]")


def test_a_killed_worker_changes_no_row(tmp_path: Path) -> None:
    from binalloc.pipeline.sweeping.cluster import Cluster

    asked = asked_of(subject("callchain"), (3, 7, 8))
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster,
        Cluster(cluster.scheduler_address) as executor,
    ):
        coming = sweep(asked, executor, Cache(tmp_path / "there"))
        rows = [next(coming)]
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        rows += coming
    assert rows == swept(asked, tmp_path / "here")[0]


def test_workers_with_another_binalloc_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from binalloc.pipeline.sweeping import cluster as room

    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        monkeypatch.setattr(room, "package_digest", lambda: "another")
        with room.Cluster(cluster.scheduler_address) as executor, pytest.raises(UsageError, match="another binalloc"):
            list(sweep(asked_of(subject("callchain"), (8,)), executor, Cache(tmp_path)))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tcp://127.0.0.1", "", "here"])
def test_nobody_there_is_one_error(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    from binalloc.pipeline.sweeping import cluster as room

    monkeypatch.setattr(room, "_SECONDS", 1)
    with pytest.raises(UsageError, match=r"no Dask scheduler answers|no address"):
        room.Cluster(address)
