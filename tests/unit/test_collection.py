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
    class Node:
        circle: Node

    found = weakref.WeakSet[Node]()

    @no_collection()
    def inside() -> list[Node]:
        nodes = [Node() for _ in range(100_000)]
        for node in nodes[::20]:
            node.circle = node
        found.add(nodes[0])
        return nodes

    made, blocks = 0, sys.getallocatedblocks()
    while made < 8 * blocks:
        del inside()[:]
        made += 100_000
    assert len(found) * 100_000 < made
