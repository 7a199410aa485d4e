"""A merged block does the work of several blocks of the kernel that it was made of (multiplex paper, section 4.1). This
module says how, and gives the launch of a merged kernel that does what a launch of the original does.

A binary's record (`Module.provenance`) says how a kernel was merged, so that launch files of the original run it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.errors import MalformedInput, UsageError
from binalloc.isa.instruction import Module
from binalloc.launch.file import check_against
from binalloc.launch.types import Argument, ArgumentKind, Launch

GRID = "original_grid"
"""Name of the parameter with the original grid's extent along the axis of the merge."""
MERGED = "merged"
"""Key in a provenance record for how a kernel's blocks were merged."""
_MOST = 1024  # threads of a merged block, so blocks in it: no GPU has larger blocks
_MOST_DYNAMIC = 1 << 20  # what a launch file can ask for
Three = tuple[int, int, int]


@dataclass(frozen=True)
class Merge:
    """A merge says how blocks of the original become one."""

    count: int  #: virtual blocks of a merged block
    block: Three  #: threads of the original's block along x, y and z
    axis: int  #: of the grid: 0, 1 or 2
    dynamic: int = 0  #: bytes of dynamic shared memory of the original's launch; for others it was not made

    @property
    def threads(self) -> int:
        """Return the threads of a virtual block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def merged_block(self) -> Three:
        x, y, z = self.block
        return x, y, z * self.count

    def launch(self, original: Launch) -> Launch:
        """Return the merged kernel's launch that does what a launch of the original does."""
        sides = list(original.grid)
        whole = sides[self.axis]
        sides[self.axis] = -(-whole // self.count)
        x, y, z = sides
        extra = Argument(GRID, ArgumentKind.SCALAR, "u32", value=whole)
        arguments = (*original.arguments, extra)
        return replace(original, grid=(x, y, z), block=self.merged_block, arguments=arguments)

    def record(self) -> dict[str, object]:
        """Return what a provenance record says under `MERGED`."""
        of = {"count": self.count, "block": list(self.block), "axis": self.axis}
        return of | ({"dynamic_shared": self.dynamic} if self.dynamic else {})


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


def _read(said: object) -> Merge | None:
    """Return what a record says, None if it is no merge."""
    if not isinstance(said, dict):
        return None
    count, block, axis = said.get("count"), said.get("block"), said.get("axis")
    dynamic = said.get("dynamic_shared", 0)
    if type(count) is not int or type(axis) is not int or not isinstance(block, list) or len(block) != 3:
        return None
    if type(dynamic) is not int or not 0 <= dynamic <= _MOST_DYNAMIC:
        return None
    if not all(type(side) is int and 0 < side <= _MOST for side in block) or axis not in range(3):
        return None
    x, y, z = block
    merge = Merge(count, (x, y, z), axis, dynamic)
    return merge if count > 1 and merge.threads * count <= _MOST else None


def fitting(launch: Launch, module: Module, kernel: str) -> Launch:
    """Return a launch as the kernel of a binary needs it. Where blocks are merged, the original's launch is adapted.

    Raises MalformedInput as `merge_of`, UsageError as `check_against`, and if blocks were merged for another number of
    dynamic bytes.
    """
    merge = merge_of(module, kernel)
    if merge is not None and launch.dynamic_shared != merge.dynamic:
        raise UsageError(
            "the kernel's blocks were merged for other dynamic shared memory", file=launch.path or None,
            place="dynamic_shared", found=f"{launch.dynamic_shared:,} bytes", expected=f"{merge.dynamic:,} bytes",
            remedy="Merge the original again with this launch.",
        )  # fmt: skip
    if merge is not None and launch.block == merge.block and not any(a.name == GRID for a in launch.arguments):
        launch = merge.launch(launch)
    check_against(launch, module.function(kernel).info, module.path or None)
    return launch
