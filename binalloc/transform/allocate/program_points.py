"""Register pressure of virtual code: live values and capacity at each program point, and what spilling would relieve.

Point 2k lies before item k (its operands included), point 2k+1 after it (its definitions included); behind those come
the points across each call, where only registers that the callee leaves alone count.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from binalloc.bitset import bits
from binalloc.models.allocation.pressure import Candidate
from binalloc.models.allocation.terms import Value
from binalloc.transform.virtual.code import COPY, VCode, mask_of
from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.live_values import LiveValues


def point_masks(
    code: VCode, live: LiveValues, available: int, contracts: Mapping[str, Contract]
) -> tuple[list[int], NDArray[np.int64]]:
    """Live values and register capacity at the points before (2k) and after (2k+1) item k, then across each call.

    An argument that its callee leaves alone shares the register of the value it is a copy of: it is left out while
    that value is live.
    """
    items = code.items()
    whole = available.bit_count()
    points: list[int] = []
    across: list[int] = []
    limits: list[int] = []
    sharing = _shared_arguments(code, contracts)
    for item, before, after in zip(items, live.live_before, live.live_after, strict=True):
        defined = mask_of(item.defs)
        for mask in (before | mask_of(item.uses), after | defined):
            for argument, source in sharing:
                if mask >> argument & mask >> source & 1:
                    mask &= ~(1 << argument)
            points.append(mask)
        if item.callee:
            across.append(after & ~defined)
            limits.append((available & ~contracts[item.callee].clobbers).bit_count())
    capacity = np.array([whole] * len(points) + limits, np.int64)
    return points + across, capacity


def _shared_arguments(code: VCode, contracts: Mapping[str, Contract]) -> list[tuple[Value, Value]]:
    """(argument value, value it was copied from) for arguments whose register the callee does not overwrite."""
    out = []
    for block in code.blocks:
        copies: list[tuple[Value, Value]] = []
        for item in block.items:
            if item.kind == COPY and item.defs[0].values[0] in code.values.fixed:
                copies.append((item.defs[0].values[0], item.uses[0].values[0]))
            elif item.callee:
                clobbers = contracts[item.callee].clobbers
                out += [pair for pair in copies if not clobbers >> code.values.fixed[pair[0]] & 1]
                copies = []
    return out


def spill_candidates(code: VCode, points: list[int], over: NDArray[np.bool_]) -> list[Candidate]:
    """Groups that may be spilled and are live at a point over capacity, with the points each would relieve."""
    items = code.items()
    accessed: dict[int, int] = {}
    cost: dict[int, float] = {}
    for k, item in enumerate(items):
        clobbers_guard = item.guard is not None and bool(item.predicate_defs >> item.guard[0] & 1)
        for operands, point in ((item.uses, 2 * k), (item.defs, 2 * k + 1)):
            for operand in operands:
                for v in operand.values:
                    mask = 1 << point | (1 << 2 * k if clobbers_guard else 0)
                    accessed[v] = accessed.get(v, 0) | mask
                    cost[v] = cost.get(v, 0.0) + item.weight * access_cost(code, v, point & 1)
    wanted = 0
    for point in np.flatnonzero(over).tolist():
        wanted |= points[point]
    groups = sorted({code.values.group_of[v] for v in bits(wanted)})
    groups = [g for g in groups if code.values.spillable[g]]
    live_at = live_points(points, [v for g in groups for v, _ in code.values.members[g]])
    out = []
    for g in groups:
        members = code.values.members[g]
        relieved = tuple(live_at[v] & ~accessed.get(v, 0) for v, _ in members)
        out.append(Candidate(g, relieved, sum(cost.get(v, 0.0) for v, _ in members)))
    return out


def access_cost(code: VCode, value: int, is_def: int) -> float:
    """Relative cost of one access to a spilled value: recomputing is cheaper than reloading, and needs no store."""
    if value in code.constants:
        return 0.0 if is_def else 0.5
    return 1.0


def live_points(points: list[int], values: list[int]) -> dict[int, int]:
    """Per value the bitset of points at which it is live."""
    out = dict.fromkeys(values, 0)
    if not values:
        return out
    width = (max(values) // 8) + 1
    clip = (1 << 8 * width) - 1
    columns = np.array(values)
    step = 4096
    for start in range(0, len(points), step):
        rows = b"".join((m & clip).to_bytes(width, "little") for m in points[start : start + step])
        matrix = np.unpackbits(np.frombuffer(rows, np.uint8).reshape(-1, width), axis=1, bitorder="little")
        packed = np.packbits(np.ascontiguousarray(matrix[:, columns].T), axis=1, bitorder="little")
        for v, row in zip(values, packed, strict=True):
            out[v] |= int.from_bytes(row.tobytes(), "little") << start
    return out
