"""Special registers: lanes of a gang in rows of 32."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tests.support.ptx.interpreter.arithmetic.plans import Unsupported

if TYPE_CHECKING:
    from tests.support.ptx.interpreter.interpreter import Gang

Array = NDArray[Any]


def special(gang: Gang, name: str) -> Array:
    """A special register as uint64 per lane."""
    grid, (bx, by, _) = gang.launch.grid, gang.launch.block
    thread = gang.thread.astype(np.uint64)
    lane = thread % 32
    one = np.uint64(1)
    tid = {"x": thread % bx, "y": thread // bx % by, "z": thread // (bx * by)}
    threads = bx * by * gang.launch.block[2]
    base, _, part = name[1:].partition(".")
    index = {"x": 0, "y": 1, "z": 2}.get(part, 0)
    below = (one << lane) - one
    values: dict[str, Any] = {
        "ntid": gang.launch.block[index],
        "ctaid": gang.block[index],
        "nctaid": grid[index],
        "laneid": lane,
        "warpid": thread // 32,
        "nwarpid": -(-threads // 32),
        "smid": 0,
        "nsmid": 1,
        "gridid": 0,
        "lanemask_eq": one << lane,
        "lanemask_lt": below,
        "lanemask_le": below | one << lane,
        "lanemask_gt": 0xFFFFFFFF ^ (below | one << lane),
        "lanemask_ge": 0xFFFFFFFF ^ below,
        "dynamic_smem_size": gang.launch.dynamic_shared,
        "total_smem_size": gang.launch.dynamic_shared + gang.launch.shared_bytes,
        "clock": 0,
        "clock64": 0,
        "globaltimer": 0,
    }
    if base == "tid":
        return tid[part]
    if base not in values:
        raise Unsupported(f"special register {name}")
    return np.broadcast_to(np.asarray(values[base], dtype=np.uint64), (gang.size,)).copy()
