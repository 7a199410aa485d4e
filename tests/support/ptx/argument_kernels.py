"""Random PTX kernels whose arguments are known: what `launch-skeleton` ought to find out, and the kernel's text.

Thread i of the grid, if it is below a bound, reads element i of some buffers, computes with scalars of the same type,
and writes element i of others, through some detours: pointers in registers, over a call, in a struct, by way of shared
memory, chosen by a condition.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
ELEMENTS = {
    "f32": ("f32", "f", "add.f32"), "f64": ("f64", "g", "mul.f64"), "i32": ("s32", "w", "max.s32"),
    "u32": ("u32", "w", "min.u32"), "i64": ("s64", "d", "max.s64"), "u64": ("u64", "d", "min.u64"),
    "i16": ("s16", "h", "max.s16"), "u8": ("u8", "h", "add.u16"),
}  # fmt: skip
"""By element type: PTX type of its loads, class of registers, an operation that tells it."""
BYTES = {"f32": 4, "f64": 8, "i32": 4, "u32": 4, "i64": 8, "u64": 8, "i16": 2, "u8": 1}
LAUNCH_TYPES = ("f32", "f64", "i32", "u32")
"""Of scalars that are computed with."""


@dataclass
class Known:
    """One parameter. kind, dtype: as in launch files; dtype "" where the code cannot tell it. reads, writes: of a
    buffer. bound: it is compared with the thread's number."""

    name: str
    kind: str
    dtype: str = ""
    reads: bool = False
    writes: bool = False
    bound: bool = False


@dataclass
class Kernel:
    """text: PTX of kernel `k`."""

    text: str
    parameters: list[Known] = field(default_factory=list)


def argument_kernel(seed: int) -> Kernel:
    """The kernel of that seed; equal seeds give equal kernels."""
    return _Maker(random.Random(seed)).make()


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.parameters: list[tuple[Known, str]] = []
        self.used = 0
        self.detoured = False

    def make(self) -> Kernel:
        groups = [self.group for _ in range(self.rng.randint(1, 4))]
        unused = self.rng.random() < 0.3
        bound = Known("n", "scalar", self.rng.choice(("i32", "u32")), bound=True)
        self.parameters.append((bound, ".param .u32 n"))
        compare = "setp.ge.s32" if bound.dtype == "i32" else "setp.ge.u32"
        self.lines += [
            "mov.u32 %w0, %ctaid.x; mov.u32 %w1, %ntid.x; mov.u32 %w2, %tid.x;",
            f"mad.lo.s32 %w0, %w0, %w1, %w2; ld.param.u32 %w3, [n]; {compare} %p0, %w0, %w3;",
            "@%p0 bra END;",
        ]
        for group in groups:
            group()
        if unused:
            self.parameters.append((Known("idle", ""), ".param .u64 idle"))
        self.rng.shuffle(self.parameters)
        self.lines.append("END: ret;")
        listed = ", ".join(text for _, text in self.parameters)
        registers = (
            ".reg .pred %p<2>; .reg .b16 %h<99>; .reg .b32 %w<99>; .reg .b64 %d<199>; .reg .f32 %f<99>; "
            ".reg .f64 %g<99>; .shared .align 8 .b8 kept[8192];"
        )
        body = "\n".join(f"    {line}" for line in self.lines)
        text = f"{HEAD}.visible .entry k({listed})\n{{\n    {registers}\n{body}\n}}\n"
        return Kernel(text, [known for known, _ in self.parameters])

    def register(self, letter: str) -> str:
        self.used += 1
        return f"%{letter}{9 + self.used}"

    def pointer(self, name: str, dtype: str, reads: bool, writes: bool) -> str:
        """The address of the thread's element of a new buffer."""
        self.parameters.append((Known(name, "buffer", dtype, reads, writes), f".param .u64 {name}"))
        base, offset, address = (self.register("d") for _ in range(3))
        self.lines.append(f"ld.param.u64 {base}, [{name}]; cvta.to.global.u64 {base}, {base};")
        wide = self.rng.choice(("mul.wide.u32", "mul.wide.s32"))
        self.lines.append(f"{wide} {offset}, %w0, {BYTES[dtype]}; add.s64 {address}, {base}, {offset};")
        return address

    def group(self) -> None:
        """A value read, computed with and written."""
        dtype = self.rng.choice(tuple(ELEMENTS))
        kind, letter, operation = ELEMENTS[dtype]
        number = len(self.parameters)
        same = self.rng.random() < 0.3
        source = self.pointer(f"in{number}", dtype, True, same)
        target = source if same else self.pointer(f"out{number}", dtype, False, True)
        value, other = self.register(letter), self.register(letter)
        self.lines.append(f"ld.global.{kind} {value}, [{source}];")
        if dtype in LAUNCH_TYPES and not self.detoured and self.rng.random() < 0.3:
            self.detour(letter, BYTES[dtype], value)
        if dtype in LAUNCH_TYPES and self.rng.random() < 0.5:
            name = f"x{number}"
            self.parameters.append((Known(name, "scalar", dtype), f".param .{kind} {name}"))
            self.lines.append(f"ld.param.{kind} {other}, [{name}];")
        else:
            few = {"f": "0f3F000000", "g": "0d3FE0000000000000"}.get(letter, str(self.rng.randint(3, 99)))
            self.lines.append(f"mov.{'b' + str(max(2, BYTES[dtype]) * 8) if letter in 'hwd' else kind} {other}, {few};")
        self.lines.append(f"{operation} {value}, {value}, {other};")
        self.lines.append(f"st.global.{kind} [{target}], {value};")

    def detour(self, letter: str, size: int, value: str) -> None:
        """Through shared memory, the thread's own place in it; once, since memory of one variable is of one type."""
        self.detoured = True
        place = self.register("w")
        kind = {"f": "f32", "g": "f64", "w": "b32"}[letter]
        self.lines.append(f"and.b32 {place}, %w2, 1023; shl.b32 {place}, {place}, {3 if size == 8 else 2};")
        base = self.register("w")
        self.lines.append(f"mov.u32 {base}, kept; add.s32 {place}, {base}, {place};")
        self.lines.append(f"st.shared.{kind} [{place}], {value}; ld.shared.{kind} {value}, [{place}];")
