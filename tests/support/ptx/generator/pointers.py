"""Random PTX kernels that reach several shared variables by computed pointers: sums with numbers that nobody knows,
choices, loops that walk a pointer, generic addresses, functions that get one. No access leaves the variables that its
pointer comes from."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from binalloc.launch.contents.init import Distribution, Init, InitKind
from binalloc.launch.types import Argument, ArgumentKind, Launch

LEAST = 8  # words of a variable: an unknown index is below
HEAD = """
.version 8.0
.target sm_75
.address_size 64
.func (.param .b32 result) pick(.param .b64 p, .param .b32 n)
{
.reg .b32 %r<9>;
.reg .b64 %d<9>;
ld.param.u64 %d1, [p];
ld.param.u32 %r1, [n];
mul.wide.u32 %d2, %r1, 4;
add.s64 %d3, %d1, %d2;
ld.shared.u32 %r2, [%d3];
st.param.b32 [result], %r2;
ret;
}
"""


@dataclass
class Pointer:
    """A pointer is a register with a shared address, and how many words lie behind it in all variables it may be in."""

    name: str
    words: int


@dataclass
class Pointers:
    """A random kernel, `k`."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    next: int = 10
    labels: int = 0

    def new(self) -> str:
        self.next += 1
        return f"%r{self.next}"

    def line(self, *texts: str) -> None:
        self.lines += [text + ";" for text in texts]

    def text(self) -> str:
        rng = self.rng
        sizes = {f"v{k}": rng.randrange(LEAST, 24) for k in range(rng.randrange(2, 6))}
        for name, words in sizes.items():
            for k in range(words):
                self.line(f"st.shared.u32 [{name}+{4 * k}], {rng.randrange(1000)}")
        self.line("bar.sync 0", "mov.u32 %r6, 0")
        found: list[Pointer] = []
        for name, words in sizes.items():
            found.append(Pointer(self.new(), words))
            self.line(f"mov.u32 {found[-1].name}, {name}")
        for _ in range(rng.randrange(6, 16)):
            rng.choice((self.offset, self.choice, self.load, self.load, self.walk, self.generic, self.call,
                        self.store))(found)  # fmt: skip
        for pointer in found[: len(sizes)]:
            self.load([pointer])
        variables = "\n".join(f".shared .align 4 .b8 {name}[{4 * words}];" for name, words in sizes.items())
        return HEAD + (
            ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n"
            f"{variables}\n.reg .pred %p<4>;\n.reg .b32 %r<{self.next + 1}>;\n.reg .b64 %d<{self.next + 9}>;\n"
            "ld.param.u64 %d0, [out];\nld.param.u64 %d1, [in];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %d2, %r0, 4;\n"
            "add.s64 %d0, %d0, %d2;\nadd.s64 %d1, %d1, %d2;\nld.global.u32 %r5, [%d1];\n"
            "setp.gt.u32 %p1, %r5, 3;\n" + "\n".join(self.lines) + "\nst.global.u32 [%d0], %r6;\nret;\n}\n"
        )

    # -- statements

    def offset(self, found: list[Pointer]) -> None:
        old = self.rng.choice(found)
        if old.words > LEAST:
            by = self.rng.randrange(1, old.words - LEAST + 1)
            found.append(Pointer(self.new(), old.words - by))
            self.line(f"add.u32 {found[-1].name}, {old.name}, {4 * by}")

    def choice(self, found: list[Pointer]) -> None:
        one, two = self.rng.choice(found), self.rng.choice(found)
        made = Pointer(self.new(), min(one.words, two.words))
        if self.rng.random() < 0.5:
            self.line(f"selp.u32 {made.name}, {one.name}, {two.name}, %p1")
        else:
            self.line(f"mov.u32 {made.name}, {one.name}", f"@%p1 mov.u32 {made.name}, {two.name}")
        found.append(made)

    def _indexed(self, found: list[Pointer]) -> str:
        pointer, at = self.rng.choice(found), self.new()
        self.line(f"mad.lo.u32 {at}, %r5, 4, {pointer.name}")
        return at

    def load(self, found: list[Pointer]) -> None:
        self.line(f"ld.shared.u32 %r7, [{self._indexed(found)}]", "add.u32 %r6, %r6, %r7")

    def store(self, found: list[Pointer]) -> None:
        at = self._indexed(found)
        self.line(self.rng.choice((f"st.shared.u32 [{at}], 77", f"atom.shared.add.u32 %r7, [{at}], 3")))

    def walk(self, found: list[Pointer]) -> None:
        pointer, at, k = self.rng.choice(found), self.new(), self.new()
        self.labels += 1
        self.line(f"mov.u32 {at}, {pointer.name}", f"mov.u32 {k}, 0")
        self.lines.append(f"L{self.labels}:")
        self.line(
            f"ld.shared.u32 %r7, [{at}]", "add.u32 %r6, %r6, %r7", f"add.u32 {at}, {at}, 4", f"add.u32 {k}, {k}, 1",
            f"setp.lt.u32 %p2, {k}, %r5", f"@%p2 bra L{self.labels}",
        )  # fmt: skip

    def generic(self, found: list[Pointer]) -> None:
        self.line(
            f"cvt.u64.u32 %d5, {self._indexed(found)}", "cvta.shared.u64 %d6, %d5", "ld.u32 %r7, [%d6]",
            "add.u32 %r6, %r6, %r7",
        )  # fmt: skip

    def call(self, found: list[Pointer]) -> None:
        pointer, to = self.rng.choice(found), self.new()
        self.line(f"cvt.u64.u32 %d{self.next + 5}, {pointer.name}")
        self.lines.append("{")
        self.line(
            ".param .b64 a", f"st.param.b64 [a], %d{self.next + 5}", ".param .b32 b", "st.param.b32 [b], %r5",
            ".param .b32 c", "call (c), pick, (a, b)", f"ld.param.b32 {to}, [c]",
        )  # fmt: skip
        self.lines.append("}")
        self.line(f"add.u32 %r6, %r6, {to}")


def kernel(seed: int) -> str:
    """A random kernel's text."""
    return Pointers(random.Random(f"pointers {seed}")).text()


def launch(seed: int, blocks: int = 4) -> Launch:
    """Its launch, of a warp for each block, with unknown indexes below `LEAST`."""
    unknown = Init(InitKind.RANDOM, Distribution.INTEGERS, 0, LEAST, seed=seed)
    arguments = (
        Argument("out", ArgumentKind.BUFFER, "u32", (32,)),
        Argument("in", ArgumentKind.BUFFER, "u32", (32,), init=unknown),
    )
    return Launch("k", (blocks, 1, 1), (32, 1, 1), 0, arguments)
