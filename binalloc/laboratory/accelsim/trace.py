"""A run is written as a folder for Accel-Sim, with the list `kernelslist.g` of one kernel, and the kernel's trace.

The format is the simulator's, as its tracer's program that sorts a trace by blocks leaves it. It has a head, then the
blocks in the order of their numbers, each with the number of lines of every warp, and the lines. The run hands over its
instructions as they are issued. A warp's lines are kept until its block has ended, in a file where they grow long.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.runs.issue_log import Batch, Listener
from binalloc.emulator.state.parts.log import LogColumn, LogKind
from binalloc.errors import Hint, LimitHit
from binalloc.isa.instruction import LANES, Function, Module
from binalloc.laboratory.accelsim.barriers import check_barriers
from binalloc.laboratory.accelsim.folder import NewFolder, Scratch, writing
from binalloc.laboratory.accelsim.limit import DEFAULT_LIMIT
from binalloc.laboratory.accelsim.lines import head, lines
from binalloc.laboratory.accelsim.sass import SassLine, sass_line
from binalloc.launch.types import Launch
from binalloc.printable import count

HELD = 64 << 20
"""Bytes of lines held in memory before they go to the scratch file. It is chosen by hand: more saves writes, and costs
memory."""
LIST, KERNEL = "kernelslist.g", "kernel-1.traceg"
"""The files of the folder: the list of kernels, with the name that the simulator expects, and the trace."""

Place = tuple[int, int]  # first byte in the scratch file, and number of bytes


@dataclass(slots=True)
class _Warp:
    """A _Warp has the lines of a warp so far."""

    count: int = 0  #: number of lines
    aside: list[Place] = field(default_factory=list)  #: places of its first lines in the scratch file
    held: list[bytes] = field(default_factory=list)  #: the later lines, in memory


class AccelsimTrace:
    """An AccelsimTrace writes a run as a trace while the run goes on.

    The caller gives `listener` to the run's log, calls `keep` at the run's end, and `close` in any case. `close`
    without `keep` leaves nothing behind.

    folder: the folder to make, in an existing one; an earlier trace there is replaced. limit: upper limit of the
    trace's bytes. Raises UsageError if the folder cannot be made, Refused for a barrier that the simulator does not
    know, and, while it listens, LimitHit.
    """

    def __init__(
        self, folder: str | Path, module: Module, kernel: Function, launch: Launch, limit: int = DEFAULT_LIMIT
    ) -> None:
        check_barriers(module, kernel, launch)
        self._launch, self._limit = launch, limit
        self._warps = -(-launch.threads_per_block // LANES)
        self._code = {fn.address + i: instr for fn in module.reached(kernel) for i, instr in enumerate(fn.instrs)}
        self._entries: dict[tuple[int, bool], SassLine] = {}
        self._blocks: dict[int, list[_Warp]] = {}
        self._later: dict[int, list[Place]] = {}  # blocks that ended before one of a lower number
        self._next = self._held = self._size = 0
        self._folder = NewFolder(Path(folder), frozenset((LIST, KERNEL)))
        with writing(self._folder.target):
            self._scratch = Scratch(self._folder.path)
            self._out: IO[bytes] = open(self._folder.path / KERNEL, "wb")  # noqa: SIM115  closed by `close`

    def __enter__(self) -> AccelsimTrace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def listener(self) -> Listener:
        """Return the listener for the run's log."""
        return Listener(self._receive, addresses=True, begin=self._begin)

    def keep(self) -> None:
        """Finish the trace, and move the folder to its place. The run must have ended."""
        blocks = math.prod(self._launch.grid)
        assert self._next == blocks, f"{self._next} of {blocks} blocks have ended"
        with writing(self._folder.target):
            self._out.close()
            self._folder.path.joinpath(LIST).write_bytes(f"{KERNEL}\n".encode("ascii"))
        self._folder.keep()

    def close(self) -> None:
        """Close all files, and remove the folder if it was not kept."""
        self._out.close()
        self._scratch.close()
        self._folder.close()

    def _begin(self, device: LaunchedDevice) -> None:
        """Write the head of the trace.

        Registers and shared memory are rounded as the machine allocates them, because the simulator rounds less. Then
        its number of resident blocks agrees, except that it counts registers per SM and not per partition.
        """
        use = device.machine.occupancy(device.need.use)
        registers = use.registers_per_block // (LANES * self._warps)
        with writing(self._folder.target):
            self._out.write(head(device.kernel.name, self._launch, registers, use.shared_per_block))

    def _receive(self, batch: Batch) -> None:
        with writing(self._folder.target):
            self._add(batch.of(LogKind.ISSUE))
            for block in batch.of(LogKind.BLOCK_END).column(LogColumn.BLOCK).tolist():
                self._end(block)
            if self._held > HELD:
                self._put_aside()

    def _add(self, issues: Batch) -> None:
        """Add the lines of instructions to their warps."""
        words, masks, places = (issues.column(c) for c in (LogColumn.PC, LogColumn.MASK, LogColumn.LANES))
        made = lines(words, masks, places, issues.addresses, self._line_of)
        size = sum(map(len, made))
        self._held += size
        self._grow(size)
        blocks, warps = issues.column(LogColumn.BLOCK).tolist(), issues.column(LogColumn.IN_BLOCK).tolist()
        for block, warp, line in zip(blocks, warps, made, strict=True):
            of_block = self._blocks.get(block)
            if of_block is None:
                of_block = self._blocks[block] = [_Warp() for _ in range(self._warps)]
            of_block[warp].count += 1
            of_block[warp].held.append(line)

    def _line_of(self, word: int, mask: int) -> SassLine:
        key = (word, mask != 0)
        found = self._entries.get(key)
        if found is None:
            found = self._entries[key] = sass_line(self._code[word], mask)
        return found

    def _grow(self, size: int) -> None:
        """Count `size` bytes more. Raises LimitHit if the trace gets too long."""
        self._size += size
        if self._size > self._limit:
            blocks = math.prod(self._launch.grid)
            raise LimitHit(
                "the trace is too long",
                file=str(self._folder.target),
                found=f"more than {self._limit:,} bytes when {self._next} of {count(blocks, 'block')} are written",
                expected=f"at most {self._limit:,} bytes",
                remedy=Hint("Trace a smaller launch, or raise the limit ({accelsim_limit})."),
            )

    def _put_aside(self) -> None:
        """Write all lines that are held in memory to the scratch file."""
        for of_block in self._blocks.values():
            for warp in of_block:
                if warp.held:
                    warp.aside.append(self._scratch.put(b"".join(warp.held)))
                    warp.held = []
        self._held = 0

    def _end(self, block: int) -> None:
        """End a block. Write it if all blocks of lower numbers are written, and then those that waited for it."""
        pieces = self._pieces(block, self._blocks.pop(block))
        if block != self._next:
            self._later[block] = [self._scratch.put(p) if isinstance(p, bytes) else p for p in pieces]
            return
        for piece in pieces:
            if isinstance(piece, bytes):
                self._out.write(piece)
            else:
                self._scratch.copy(piece, self._out)
        self._next += 1
        while self._next in self._later:
            for place in self._later.pop(self._next):
                self._scratch.copy(place, self._out)
            self._next += 1

    def _pieces(self, block: int, warps: list[_Warp]) -> Iterator[bytes | Place]:
        """Yield the parts of a block's text, in order."""
        across, down, _ = self._launch.grid
        x, y, z = block % across, block // across % down, block // (across * down)
        yield f"\n#BEGIN_TB\n\nthread block = {x},{y},{z}\n".encode("ascii")
        for number, warp in enumerate(warps):
            yield f"\nwarp = {number}\ninsts = {warp.count}\n".encode("ascii")
            yield from warp.aside
            held = b"".join(warp.held)
            self._held -= len(held)
            yield held
        yield b"\n#END_TB\n"
