"""Pointers that are listed by numbers of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from binalloc.launch.file import parse_launch
from tests.support.kits.launch.launch_files import buffer


def test_a_list_of_numbers_of_elements() -> None:
    """Negative ones are null, the one behind the last is allowed, and lists may nest as the buffer's shape does."""
    other = {"name": "other", "kind": "buffer", "dtype": "f64", "shape": 5}
    for values in ([2, -1, 5, 0], [[2, -7], [5, 0]]):
        for more in ({}, {"kind": "values"}):
            init: Any = {"values": values, "argument": "other"} | more
            data = buffer("ptr", [2, 2], init)
            data["argument"].append(other)
            launch = parse_launch(data)
            found = launch.make_buffers()["x"]
            places = [launch.pointee(int(p)) for p in found.reshape(-1)]
            assert places == [("other", 16), None, ("other", 40), ("other", 0)]
            assert launch.argument("x").pointed() == {"other"}


def test_in_fields_of_structs() -> None:
    node = {"fields": [{"name": "v", "dtype": "u8"}, {"name": "to", "dtype": "ptr", "shape": 2}]}
    init = {"fields": {"to": {"values": [1, -1, 0, 1], "argument": "x"}}}
    launch = parse_launch(buffer("Node", 2, init) | {"types": {"Node": node}})
    found = launch.make_buffers()["x"]["to"]
    assert np.array_equal(found, [[launch.address("x", element=1), 0], [launch.address("x"), launch.address("x", 24)]])
