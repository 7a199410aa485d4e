"""A merged block does the work of several blocks of the kernel that it was made of (multiplex paper, section 4.1). This
module says how, and gives the launch of a merged kernel that does what a launch of the original does.

A binary's record (`Module.provenance`) says how a kernel was merged, so that launch files of the original run it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.errors import MalformedInput
from binalloc.isa.instruction import FunctionInfo, Module
from binalloc.isa.interface.places import LANES
from binalloc.launch.file import check_against
from binalloc.launch.schema import BLOCK_LIMITS
from binalloc.launch.types import Argument, ArgumentKind, Launch

GRID = "original_grid"
"""Name of the parameter with the original grid's extent along the axis of the merge."""
MERGED = "merged"
"""Key in a provenance record for how a kernel's blocks were merged."""
DYNAMIC = "dynamic_shared"
"""Key in a provenance record for the bytes of dynamic shared memory with which a kernel was multiplexed."""
_Z = 2  # the axis along which virtual blocks are stacked
_MOST = 1024  # threads of a merged block, so blocks in it: no GPU has larger blocks
Three = tuple[int, int, int]


@dataclass(frozen=True)
class Merge:
    """A merge says how blocks of the original become one."""

    count: int  #: virtual blocks of a merged block
    block: Three  #: threads of the original's block along x, y and z
    axis: int  #: of the grid: 0, 1 or 2

    @property
    def threads(self) -> int:
        """Return the threads of a virtual block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def stacked(self) -> bool:
        """Return whether virtual blocks are stacked along z: they are of whole warps, and the merged block is not too
        deep. Else the merged block has one dimension, and each virtual block is padded to whole warps."""
        return self.threads % LANES == 0 and self.block[_Z] * self.count <= BLOCK_LIMITS[_Z]

    @property
    def padded(self) -> int:
        """Return the threads of a virtual block, those with which it is padded among them."""
        return -(-self.threads // LANES) * LANES

    @property
    def merged_block(self) -> Three:
        x, y, z = self.block
        return (x, y, z * self.count) if self.stacked else (self.padded * self.count, 1, 1)

    def launch(self, original: Launch) -> Launch:
        """Return the merged kernel's launch that does what a launch of the original does."""
        sides = list(original.grid)
        whole = sides[self.axis]
        sides[self.axis] = -(-whole // self.count)
        x, y, z = sides
        extra = Argument(GRID, ArgumentKind.SCALAR, "u32", value=whole)
        arguments = (*original.arguments, extra)
        return replace(original, grid=(x, y, z), block=self.merged_block, arguments=arguments)

    def original(self, info: FunctionInfo) -> FunctionInfo:
        """Return a merged kernel's record as its launches see it: without the parameter that merging added, and for the
        original's blocks."""
        block = self.block if any(info.block) else info.block
        return replace(info, params=info.params[:-1], block=block, max_threads=info.max_threads // self.count)

    def record(self) -> dict[str, object]:
        """Return what a provenance record says under `MERGED`."""
        return {"count": self.count, "block": list(self.block), "axis": self.axis}


def merge_of(module: Module, kernel: str) -> Merge | None:
    """Return how the blocks of a kernel were merged, by the binary's record; None if they were not.

    Raises MalformedInput if the record is none, or contradicts the kernel.
    """
    found = [record for record in module.provenance if record.get("kernel") == kernel and MERGED in record]
    if not found:
        return None
    said = found[-1][MERGED]
    merge = _read(said)
    info = module.function(kernel).info
    if merge is None:
        raise MalformedInput(
            "the record does not say how blocks were merged", file=module.path or None, place=f"provenance of {kernel}",
            found=str(said)[:80], expected="count, block and axis",
        )  # fmt: skip
    last = info.params[-1] if info.params else None
    if last is None or (last.name, last.size) != (GRID, 4):
        raise MalformedInput(
            "the record says that blocks were merged, but the kernel lacks a parameter", file=module.path or None,
            place=f"kernel {kernel}", found="no parameters" if last is None else f"{last.name}, {last.size} bytes",
            expected=f"{GRID}, 4 bytes, as the last one",
        )  # fmt: skip
    if any(info.block) and info.block != merge.merged_block:
        raise MalformedInput(
            "the record says how blocks were merged, but the kernel is for others", file=module.path or None,
            place=f"kernel {kernel}", found=f"blocks of {info.block}", expected=str(merge.merged_block),
        )  # fmt: skip
    return merge


def record_for(module: Module, kernel: str, arguments: int) -> FunctionInfo:
    """Return a kernel's record for a launch with so many arguments. If blocks are merged, and it has as many as the
    original, the record is the original's. Raises MalformedInput as `merge_of`."""
    merge, info = merge_of(module, kernel), module.function(kernel).info
    return info if merge is None or arguments != len(info.params) - 1 else merge.original(info)


def _read(said: object) -> Merge | None:
    """Return what a record says, None if it is no merge."""
    if not isinstance(said, dict):
        return None
    count, block, axis = said.get("count"), said.get("block"), said.get("axis")
    if type(count) is not int or type(axis) is not int or not isinstance(block, list) or len(block) != 3:
        return None
    if not all(type(side) is int and 0 < side <= _MOST for side in block) or axis not in range(3):
        return None
    x, y, z = block
    merge = Merge(count, (x, y, z), axis)
    return merge if count > 1 and merge.padded * count <= _MOST else None


def fitting(launch: Launch, module: Module, kernel: str) -> Launch:
    """Return a launch as the kernel of a binary needs it. Where blocks are merged, the original's launch is adapted.

    Raises MalformedInput as `merge_of` and for other dynamic shared memory than the kernel was multiplexed for,
    UsageError as `check_against`.
    """
    merge = merge_of(module, kernel)
    _require_dynamic(launch, module, kernel, merged=merge is not None)
    if merge is not None and launch.block not in (merge.block, merge.merged_block):
        raise MalformedInput(
            "the record says that other blocks were merged than the launch has", file=module.path or None,
            place=f"provenance of {kernel}", found=f"blocks of {launch.block}", expected=str(merge.block),
        )  # fmt: skip
    if merge is not None and launch.block == merge.block and not any(a.name == GRID for a in launch.arguments):
        launch = merge.launch(launch)
    check_against(launch, module.function(kernel).info, module.path or None)
    return launch


def dynamic_of(module: Module, kernel: str) -> int | None:
    """Return the bytes of dynamic shared memory for which a kernel was multiplexed, by the binary's record; None if it
    does not say. Raises MalformedInput if it says something else."""
    found = [record[DYNAMIC] for record in module.provenance if record.get("kernel") == kernel and DYNAMIC in record]
    said = found[-1] if found else None
    if said is not None and (type(said) is not int or said < 0):
        raise MalformedInput(
            "the record does not say with which dynamic shared memory the kernel was multiplexed",
            file=module.path or None, place=f"provenance of {kernel}", found=str(said)[:80], expected="bytes",
        )  # fmt: skip
    return said if isinstance(said, int) else None


def _require_dynamic(launch: Launch, module: Module, kernel: str, *, merged: bool) -> None:
    """Refuse a launch with other dynamic shared memory than the kernel was multiplexed for: no proof is of it. merged:
    its blocks were merged; where the record does not say for how many bytes, it was for none."""
    said = dynamic_of(module, kernel)
    if said is None and not merged:
        return
    if launch.dynamic_shared != (said or 0):
        raise MalformedInput(
            "the record says that the kernel was multiplexed for other dynamic shared memory than the launch adds",
            file=module.path or None, place=f"kernel {kernel}", found=f"{launch.dynamic_shared:,} bytes",
            expected=f"{said or 0:,} bytes", remedy="Multiplex the original again with this launch.",
        )  # fmt: skip
