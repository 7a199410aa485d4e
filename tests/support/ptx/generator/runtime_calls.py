"""Statements of the program generator that call the CUDA runtime: printf of many formats, malloc, free, assert."""

from __future__ import annotations

from tests.support.ptx.generator.body import Body

DECLARATIONS = """.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.extern .func (.param .b64 r) malloc(.param .b64 s);
.extern .func free(.param .b64 p);
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);
"""
FORMATS = (
    ("plain\n", ""), ("%d %u\n", "ww"), ("[%5d|%-6x|%+o]", "www"), ("%lld,%llu;%#llx\n", "ddd"), ("%%%c%%", "c"),
    ("%s and %s\n", "ss"), ("%.3s|%8s|%-4s|\n", "sss"), ("%*d %.*s\n", "*w*s"), ("%a %e\n", "dd"),
    ("%g %.2f %10.3e\n", "ggg"), ("%hhd %hu %hx %d\n", "wwww"), ("%d %lld %d %s %g\n", "wdwsg"), ("%p\n", "z"),
)  # fmt: skip
"""Formats and the classes of their arguments: w and d as registers, * a small word, c a letter, s a text, g a double
that is a number, z zero."""
TEXTS = ("", "a", "warp", "of thirty-two threads")


def module_text() -> str:
    """Declarations of the functions, the formats and the texts."""
    lines = [DECLARATIONS]
    named = [(f"format_{k}", form) for k, (form, _) in enumerate(FORMATS)]
    named += [(f"text_{k}", text) for k, text in enumerate(TEXTS)]
    for name, text in named:
        data = [*text.encode(), 0]
        lines.append(f".global .align 1 .b8 {name}[{len(data)}] = {{{', '.join(map(str, data))}}};\n")
    return "".join(lines)


class RuntimeCalls(Body):
    def statement(self, depth: int, converged: bool) -> None:
        if self.options.runtime and self.rng.random() < 0.2:
            self.rng.choice((self.say, self.say, self.heap))()
        else:
            super().statement(depth, converged)

    def generic(self, name: str) -> str:
        """The generic address of a variable."""
        address = self.register("d")
        self.emit(f"mov.u64 {address}, {name}")
        self.emit(f"cvta.global.u64 {address}, {address}")
        return address

    def say(self) -> None:
        """printf; how many arguments it took goes into a variable."""
        k = self.rng.randrange(len(FORMATS))
        classes = FORMATS[k][1]
        area = f"said_{len(self.lines)}"
        self.emit(f".local .align 8 .b8 {area}[{8 * len(classes) + 8}]")
        at = 0
        for c in classes:
            size = 4 if c in "w*c" else 8
            at = -(-at // size) * size
            self.emit(f"st.local.b{8 * size} [{area}+{at}], {self.said(c)}")
            at += size
        place, form = self.register("d"), self.generic(f"format_{k}")
        self.emit(f"cvta.local.u64 {place}, {self.place_of(area)}")
        target = self.read("w")
        self.emit("{ .param .b64 f")
        self.emit(".param .b64 a")
        self.emit(".param .b32 r")
        self.emit(f"st.param.b64 [f], {form}")
        self.emit(f"st.param.b64 [a], {place}")
        self.emit("call (r), vprintf, (f, a)")
        self.emit(f"ld.param.b32 {target}, [r]")
        self.lines.append("    }")

    def place_of(self, area: str) -> str:
        place = self.register("d")
        self.emit(f"mov.u64 {place}, {area}")
        return place

    def said(self, c: str) -> str:
        """An argument of printf."""
        if c == "s":
            return "0" if self.rng.random() < 0.1 else self.generic(f"text_{self.rng.randrange(len(TEXTS))}")
        if c == "z":
            return "0"
        if c in "wd":
            return self.read(c)
        small = self.register("w")
        self.emit(f"and.b32 {small}, {self.read('w')}, 15")
        if c == "c":
            self.emit(f"add.u32 {small}, {small}, 65")
        if c != "g":
            return small
        number, bits = self.register("g"), self.register("d")
        self.emit(f"cvt.rn.f64.u32 {number}, {small}")
        self.emit(f"mul.rn.f64 {number}, {number}, 0d3FD3333333333333")
        self.emit(f"mov.b64 {bits}, {number}")
        return bits

    def heap(self) -> None:
        """A block of a size that threads disagree on, written, read, and freed by some."""
        size, block, wide = self.register("w"), self.register("d"), self.register("d")
        self.emit(f"and.b32 {size}, {self.read('w')}, {self.rng.choice((0, 31, 255))}")
        self.emit(f"cvt.u64.u32 {wide}, {size}")
        self.emit(f"add.u64 {wide}, {wide}, {self.rng.choice((16, 24, 40))}")
        self.emit("{ .param .b64 s")
        self.emit(".param .b64 r")
        self.emit(f"st.param.b64 [s], {wide}")
        self.emit("call (r), malloc, (s)")
        self.emit(f"ld.param.b64 {block}, [r]")
        self.lines.append("    }")
        self.emit(f"st.u64 [{block}], {self.read('d')}")
        self.emit(f"st.u32 [{block}+12], {self.read('w')}")
        self.asserted(block)
        self.emit(f"ld.u32 {self.read('w')}, [{block}+{self.rng.choice((0, 4, 12))}]")
        keep, p = self.label(), self.condition()
        self.emit(f"@{p} bra {keep}")
        self.emit("{ .param .b64 p")
        self.emit(f"st.param.b64 [p], {block}")
        self.emit("call free, (p)")
        self.lines.append("    }")
        self.lines.append(f"{keep}:")

    def asserted(self, block: str) -> None:
        """An assertion that holds."""
        good, p, text = self.label(), self.register("p"), self.generic("text_2")
        self.emit(f"setp.ne.u64 {p}, {block}, 0")
        self.emit(f"@{p} bra {good}")
        names = "mflns"
        self.emit("{ " + " ".join(f".param .b{32 if c == 'l' else 64} {c};" for c in names).removesuffix(";"))
        for c in names:
            self.emit(f"st.param.b{32 if c == 'l' else 64} [{c}], {7 if c in 'ls' else text}")
        self.emit("call __assertfail, (m, f, l, n, s)")
        self.lines.append("    }")
        self.lines.append(f"{good}:")
