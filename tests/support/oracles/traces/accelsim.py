"""A reader of traces for Accel-Sim, written from the format as its README and the head of a trace describe it.

A folder has `kernelslist.g`, a line per kernel; a kernel's file has a head of `-key = value`, then blocks between
`#BEGIN_TB` and `#END_TB`, in them warps, and per warp as many lines as `insts` says:

    PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [address_mode addresses] immediate

PC, mask and addresses are hexadecimal. Address modes: 0 one address per active lane; 1 first address and stride, the
active lanes without a gap; 2 first address, and each further active lane's distance from the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

LANES = 32


@dataclass(frozen=True)
class Line:
    """A warp instruction; width: what the line says, read: what the simulator takes from the opcode instead."""

    pc: int
    mask: int
    dests: tuple[int, ...]
    opcode: str
    sources: tuple[int, ...]
    width: int
    read: int
    addresses: dict[int, int]


@dataclass
class Trace:
    """A kernel: its head by key, and per block, in the order of the file, its warps' lines."""

    head: dict[str, str] = field(default_factory=dict)
    blocks: dict[tuple[int, int, int], list[list[Line]]] = field(default_factory=dict)

    @property
    def lines(self) -> list[Line]:
        return [line for warps in self.blocks.values() for warp in warps for line in warp]


def read_folder(folder: Path) -> Trace:
    """The only kernel of a folder."""
    (name,) = (folder / "kernelslist.g").read_text("ascii").split("\n")[:-1]
    assert sorted(p.name for p in folder.iterdir()) == sorted(["kernelslist.g", name])
    return read_kernel((folder / name).read_text("ascii"))


def read_kernel(text: str) -> Trace:
    assert text.endswith("\n")
    trace = Trace()
    rest = iter(text.split("\n"))
    for line in rest:
        if line.startswith("#"):
            break
        if line:
            key, _, value = line.removeprefix("-").partition(" = ")
            assert line.startswith("-")
            assert key not in trace.head
            trace.head[key] = value
    inside = False
    for line in rest:
        if not line:
            continue
        if line == "#BEGIN_TB":
            assert not inside
            inside = True
        elif line == "#END_TB":
            assert inside
            inside = False
        elif line.startswith("thread block = "):
            x, y, z = (int(part) for part in line.removeprefix("thread block = ").split(","))
            assert (x, y, z) not in trace.blocks
            trace.blocks[x, y, z] = warps = []
        else:
            assert inside
            assert line == f"warp = {len(warps)}"
            count = int(next(rest).removeprefix("insts = "))
            warps.append([read_line(next(rest)) for _ in range(count)])
    assert not inside
    return trace


def read_line(text: str) -> Line:
    parts = iter(text.split(" "))
    pc, mask = int(next(parts), 16), int(next(parts), 16)
    dests = _registers(parts)
    opcode = next(parts)
    sources = _registers(parts)
    width = int(next(parts))
    active = [lane for lane in range(LANES) if mask >> lane & 1]
    addresses = _addresses(parts, active) if width else {}
    assert next(parts).isdigit(), "no immediate"
    assert list(parts) == []
    return Line(pc, mask, dests, opcode, sources, width, width_read(opcode), addresses)


def width_read(opcode: str) -> int:
    """Bytes of an access, from the first part of its opcode that is a number of bits, with or without a U; else 4."""
    for part in opcode.split("."):
        found = re.fullmatch(r"U?(\d+)", part)
        if found:
            return int(found[1]) // 8
    return 4


def _registers(parts: Iterator[str]) -> tuple[int, ...]:
    count = int(next(parts))
    return tuple(int(next(parts).removeprefix("R")) for _ in range(count))


def _addresses(parts: Iterator[str], active: list[int]) -> dict[int, int]:
    mode = int(next(parts))
    if mode == 0:
        return {lane: int(next(parts), 16) for lane in active}
    at = int(next(parts), 16)
    if mode == 1:
        stride = int(next(parts))
        assert -(1 << 31) <= stride < 1 << 31
        assert active == list(range(active[0], active[0] + len(active))) if active else True
        return {lane: at + stride * i for i, lane in enumerate(active)}
    assert mode == 2
    found = {}
    for i, lane in enumerate(active):
        at += int(next(parts)) if i else 0
        found[lane] = at
    return found
