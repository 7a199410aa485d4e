"""Python's garbage collector, held back."""

from __future__ import annotations

import gc
import sys
import weakref

import pytest

from binalloc.collection import no_collection


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


def test_what_waits_in_circles_is_freed_when_much_has_been_made_again() -> None:
    class Nodes(list[object]):
        """A list that can be watched."""

    found: list[weakref.ref[Nodes]] = []

    @no_collection()
    def inside() -> list[Nodes]:
        made = [Nodes() for _ in range(100_000)]
        for nodes in made[::20]:
            nodes.append(nodes)
        found.append(weakref.ref(made[0]))
        return made

    made, blocks = 0, sys.getallocatedblocks()
    while made < 8 * blocks:
        del inside()[:]
        made += 100_000
    assert sum(ref() is not None for ref in found) * 100_000 < made
