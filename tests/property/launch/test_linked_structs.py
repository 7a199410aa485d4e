"""Kernels over linked structs: what they leave is what walking the same lists in Python leaves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import binalloc
from binalloc.emulator.runs.run import run
from binalloc.isa.instruction import Module
from binalloc.launch.file import compare, parse_launch
from binalloc.models.machines.reader import load_machine
from tests.support.ptx.walked import NODE, NODE_TYPE, WALK


@pytest.fixture(scope="module")
def walk() -> Module:
    return binalloc.import_ptx(WALK, machine="gtx680").module


@st.composite
def lists(draw: st.DrawFn) -> tuple[list[int | None], list[int], list[int | None]]:
    """Next nodes, the values of nodes, and heads. Each node's next one is behind it in a random order: lists end."""
    n = draw(st.integers(1, 12))
    order = draw(st.permutations(range(n)))
    following: list[int | None] = [None] * n
    for place, node in enumerate(order):
        later = draw(st.one_of(st.none(), st.integers(place + 1, n - 1))) if place + 1 < n else None
        following[node] = None if later is None else order[later]
    values = draw(st.lists(st.integers(-1000, 1000), min_size=n, max_size=n))
    heads = draw(st.lists(st.one_of(st.none(), st.integers(0, n - 1)), min_size=1, max_size=8))
    return following, values, heads


def pointer(to: int | None, buffers: int) -> object:
    """To a node of one of so many buffers, which have the nodes in turn."""
    if to is None:
        return 0
    name, place = f"nodes{to % buffers}", to // buffers
    return {"argument": name, "element": place} if to % 3 else {"argument": name, "at": NODE * place}


@settings(max_examples=25)
@given(lists(), st.integers(1, 3))
def test_a_kernel_walks_lists_through_several_buffers(walk: Module, given_: Any, buffers: int) -> None:
    following, values, heads = given_
    nodes = [
        {"value": value, "tag": [1, -2, 3], "next": pointer(to, buffers)}
        for value, to in zip(values, following, strict=True)
    ]
    arguments: list[dict[str, Any]] = []
    for k in range(min(buffers, len(nodes))):
        own = nodes[k::buffers]
        init = {"values": own}
        arguments.append({"name": f"nodes{k}", "kind": "buffer", "dtype": "Node", "shape": len(own), "init": init,
                          "parameter": False})  # fmt: skip
    starts = {"values": [pointer(head, buffers) for head in heads]}
    arguments += [
        {"name": "heads", "kind": "buffer", "dtype": "ptr", "shape": len(heads), "init": starts},
        {"name": "sums", "kind": "buffer", "dtype": "f32", "shape": len(heads)},
        {"name": "ends", "kind": "buffer", "dtype": "ptr", "shape": len(heads)},
        {"name": "n", "kind": "scalar", "dtype": "u32", "value": len(heads)},
    ]
    table = {"kernel": "walk", "grid": 1, "block": 32, "argument": arguments, "types": {"Node": NODE_TYPE}}
    launch = parse_launch(table)
    found = run(walk, "walk", launch, load_machine("gtx680"), engine="python", check=True)
    sums, ends = [], []
    for head in heads:
        total, at, last = 0, head, None
        while at is not None:
            total, last, at = total + values[at], at, following[at]
        sums.append(total)
        ends.append(None if last is None else (f"nodes{last % buffers}", NODE * (last // buffers)))
    assert found.buffers["sums"].tolist() == sums
    assert [launch.pointee(int(at)) for at in found.buffers["ends"]] == ends
    before = launch.make_buffers()
    assert not compare(launch, {k: v for k, v in before.items() if k.startswith("nodes")}, found.buffers)
