"""Python's garbage collector, held back."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import pytest

from binalloc.collection import no_collection
from tests.support.paths import ROOT


def test_the_collector_does_not_look_within_and_looks_as_before_afterwards() -> None:
    @no_collection()
    def inside() -> bool:
        with no_collection():
            pass
        return gc.isenabled()

    threshold = gc.get_threshold()
    assert not inside()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), no_collection():
        raise ZeroDivisionError
    assert gc.isenabled()
    assert gc.get_threshold() == threshold
    assert not gc.get_freeze_count()
    gc.disable()
    try:
        assert not inside()
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.rotates("long")
@pytest.mark.parametrize("kept", [0, 1_500_000])
def test_circles_do_not_pile_up_in_a_process_that_goes_on(kept: int) -> None:
    """In a process of its own, in which nothing is alive that other tests have left."""
    code = f"from tests.unit.test_collection import {pile_up.__name__} as run; run({kept})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def pile_up(kept: int) -> None:
    """However much else is alive: what is taken at any time stays below a few times of what is needed."""

    class Nodes(list[object]):
        """A list that can be watched."""

    @no_collection()
    def inside() -> weakref.ref[Nodes]:
        nodes = Nodes([[] for _ in range(100_000)])
        nodes.append(nodes)
        return weakref.ref(nodes)

    alive: list[list[object]] = [[] for _ in range(kept)]
    gc.collect()
    most = 3 * max(sys.getallocatedblocks(), 2_000_000)
    watched: list[weakref.ref[Nodes]] = []
    while len(watched) * 100_000 < 2 * most:
        watched.append(inside())
        assert sys.getallocatedblocks() < most
    assert sum(ref() is not None for ref in watched) * 100_000 < most
    assert len(alive) == kept
