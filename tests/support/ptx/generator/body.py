"""Random PTX programs, by seed: structured control flow, all instruction families, every result stored at the end.

A function has a fixed set of variables per register class, all defined at its start, that statements read and assign;
at the end of the kernel each thread stores them all, so that any wrong value shows. Addresses stay in bounds by
masking; what threads share is read only, or changed only by atomics whose order does not matter, or apart by barriers
at converged places. Results that are not exact (.approx) go to buffers of their own, compared with a tolerance.
"""

from __future__ import annotations

import random

from tests.support.ptx.generator import calls
from tests.support.ptx.generator.forms.forms import FAMILIES, Form
from tests.support.ptx.generator.forms.video_forms import letter_of
from tests.support.ptx.generator.options import BYTES, INPUT_ELEMENTS, MARK, TYPES, Function, Options
from tests.support.ptx.generator.values import random_bits


class Body:
    """Text of one function under construction."""

    def __init__(self, rng: random.Random, options: Options, callees: list[Function], name: str) -> None:
        self.rng, self.options, self.callees, self.name = rng, options, callees, name
        self.lines: list[str] = []
        self.variables: dict[str, list[str]] = {c: [] for c in TYPES}
        self.registers: dict[str, int] = dict.fromkeys(TYPES, 0)
        self.labels = 0
        self.in_kernel = False
        self.approximations: dict[str, list[str]] = {c: [] for c in "fgxy"}
        counts = (
            {"p": 10, "h": 4, "w": 8, "d": 5, "f": 6, "g": 4}
            if name == "kernel"
            else {"p": 4, "h": 3, "w": 5, "d": 3, "f": 4, "g": 3}
        )
        if name == "kernel":
            counts = {c: count if c == "p" else count * options.live for c, count in counts.items()}
        for c, count in counts.items():
            self.variables[c] = [self.register(c) for _ in range(count)]

    # --- registers, operands ------------------------------------------------------------------------------------------

    def register(self, c: str) -> str:
        self.registers[c] += 1
        return f"%{c}{self.registers[c] - 1}"

    def label(self) -> str:
        self.labels += 1
        return f"$L{self.name}_{self.labels}"

    def emit(self, text: str) -> None:
        self.lines.append(f"    {text};")

    def mark(self) -> None:
        """The boundary of a statement: what the reducer takes out as one."""
        self.lines.append(MARK)

    def read(self, c: str) -> str:
        return self.rng.choice(self.variables[c])

    def immediate(self, c: str) -> str:
        bits = random_bits(self.rng, c)
        if c in "fg":
            return f"0{'f' if c == 'f' else 'd'}{bits:0{2 * BYTES[c]}X}"
        signed = bits - (1 << 8 * BYTES[c]) if bits >> (8 * BYTES[c] - 1) and self.rng.random() < 0.7 else bits
        return str(signed) if self.rng.random() < 0.5 else (hex(bits) if c != "h" else str(bits & 0x7FFF))

    def operand(self, c: str, constant: float = 0.15) -> str:
        """A source operand of a class letter (see forms)."""
        if c == "i":
            return str(self.rng.randrange(256))
        if c == "n":
            if self.rng.random() < 0.6:
                return str(self.rng.choice((0, 1, 4, 5, 8, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 255)))
            count = self.register("w")
            self.emit(f"and.b32 {count}, {self.read('w')}, {self.rng.choice((31, 63, 255))}")
            return count
        if c in "uv":
            number = self.register("w")
            self.emit(f"and.b32 {number}, {self.read('w')}, {31 if c == 'u' else 7}")
            if c == "v":
                self.emit(f"sub.s32 {number}, {number}, 4")
            return number
        if c in "HWD":
            low = c.lower()
            odd = self.register(low)
            self.emit(f"or.b{8 * BYTES[low]} {odd}, {self.read(low)}, 1")
            return odd if self.rng.random() < 0.7 else str(self.rng.choice((1, 2, 3, 5, 7, 10, 16, 100, 641, 32767)))
        if c in "FG":
            return self.number(c.lower())
        if c == "p":
            return self.read("p")
        if c in "xyXY":
            return self.half(c)
        return self.immediate(c) if self.rng.random() < constant else self.read(c)

    def half(self, c: str) -> str:
        """A variable, or a register with one or two halves."""
        to = "h" if c in "xy" else "w"
        if self.rng.random() < 0.6:
            return self.read(to)
        bits = random_bits(self.rng, c.lower())
        if to == "w":
            bits |= random_bits(self.rng, c.lower()) << 16
        result = self.register(to)
        self.emit(f"mov.{TYPES[to]} {result}, {bits}")
        return result

    def number(self, c: str) -> str:
        """A float that is not NaN."""
        source, unordered, result, t = self.read(c), self.register("p"), self.register(c), TYPES[c]
        self.emit(f"setp.nan.{t} {unordered}, {source}, {source}")
        one = "0f3F800000" if c == "f" else "0d3FF0000000000000"
        self.emit(f"selp.{t} {result}, {one}, {source}, {unordered}")
        return result

    def guard(self) -> str:
        if self.rng.random() < 0.85:
            return ""
        return f"@{self.rng.choice(('', '!'))}{self.read('p')} "

    # --- statements ---------------------------------------------------------------------------------------------------

    def statement(self, depth: int, converged: bool) -> None:
        r = self.rng.random()
        if self.options.control and depth < 3 and r < 0.13:
            self.branch(depth, converged) if r < 0.08 else self.loop(depth, converged)
        elif self.options.memory and r < 0.33:
            self.rng.choice((self.global_load, self.const_load, self.local_access, self.scratch_access))()
        elif r < 0.36:
            self.carry_chain()
        elif r < 0.40:
            self.rng.choice((self.pack, self.two_predicates, self.special))()
        elif self.callees and r < 0.44:
            calls.call(self)
        elif r < 0.52:
            self.further(converged)
        else:
            self.operation()

    def further(self, converged: bool) -> None:
        """Statements that only a kernel has."""
        self.operation()

    def threads(self) -> int:
        x, y, z = self.options.block
        return x * y * z

    def operation(self) -> None:
        families = self.options.families + (("extra",) if self.options.extra else ())
        form: Form = self.rng.choice(FAMILIES[self.rng.choice(families)])
        op, target, sources = form
        if isinstance(sources, tuple):
            self.video(op, target, sources)
            return
        operands = [self.operand(c) for c in sources]
        if sources and sources[0] in "hwdfg" and not operands[0].startswith("%"):
            operands[0] = self.read(sources[0])
        result = self.read(target) if target != "P" else "|".join(self.rng.sample(self.variables["p"], 2))
        guard = self.guard()
        self.emit(f"{guard}{op} {', '.join([result, *operands])}")

    def video(self, op: str, target: str, sources: tuple[str, ...]) -> None:
        """Registers with the signs and selectors of the form."""
        operands = ["".join((s, self.read(c), part)) for s, c, part in map(letter_of, (target, *sources))]
        self.emit(f"{self.guard()}{op} {', '.join(operands)}")

    def two_predicates(self) -> None:
        first, second = self.rng.sample(self.variables["p"], 2)
        c, t = self.rng.choice((("w", "s32"), ("d", "u64"), ("f", "f32"), ("g", "f64")))
        negation, guard = self.rng.choice(("", "!")), self.guard()
        how = self.rng.choice(("lt", "eq", "ge"))
        if self.rng.random() < 0.5:
            self.emit(f"{guard}setp.{how}.{t} {first}|{second}, {self.read(c)}, {self.operand(c)}")
        else:
            combine = self.rng.choice(("and", "or", "xor"))
            operands = f"{self.read(c)}, {self.operand(c)}, {negation}{self.read('p')}"
            self.emit(f"{guard}setp.{how}.{combine}.{t} {first}|{second}, {operands}")

    def special(self) -> None:
        name = self.rng.choice(("%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ctaid.x", "%nctaid.x", "%laneid"))
        name = self.rng.choice((name, "%lanemask_lt", "%lanemask_le", "%lanemask_ge", "%lanemask_gt", "%lanemask_eq"))
        self.emit(f"mov.u32 {self.read('w')}, {name}")

    def pack(self) -> None:
        kind = self.rng.randrange(4)
        if kind == 0:
            self.emit(f"mov.b64 {self.read('d')}, {{{self.read('w')}, {self.read('w')}}}")
        elif kind == 1:
            low, high = self.rng.sample(self.variables["w"], 2)
            self.emit(f"mov.b64 {{{low}, {high}}}, {self.read('d')}")
        elif kind == 2:
            self.emit(f"mov.b32 {self.read('w')}, {{{self.read('h')}, {self.read('h')}}}")
        else:
            low, high = self.rng.sample(self.variables["h"], 2)
            self.emit(f"mov.b32 {{{low}, {high}}}, {self.read('w')}")

    def carry_chain(self) -> None:
        c = self.rng.choice("wwd")
        t = f"u{8 * BYTES[c]}"
        kind = self.rng.choice(("add", "sub", "mad"))
        limbs = self.rng.randint(2, min(4, len(self.variables[c])))
        targets = self.rng.sample(self.variables[c], limbs)
        if kind == "mad":
            a, b = self.read(c), self.read(c)
            results = [self.register(c) for _ in range(2)]
            self.emit(f"mad.lo.cc.{t} {results[0]}, {a}, {b}, {self.read(c)}")
            self.emit(f"madc.hi{self.rng.choice(('', '.cc'))}.{t} {results[1]}, {a}, {b}, {self.read(c)}")
        else:
            results = [self.register(c) for _ in range(limbs)]
            for k, result in enumerate(results):
                op = kind if k == 0 else kind + "c"
                carry = ".cc" if k < limbs - 1 or self.rng.random() < 0.3 else ""
                self.emit(f"{op}{carry}.{t} {result}, {self.read(c)}, {self.operand(c)}")
        for target, result in zip(targets, results, strict=False):
            self.emit(f"mov.b{t[1:]} {target}, {result}")

    # --- memory -------------------------------------------------------------------------------------------------------

    def index(self, elements: int, size: int) -> str:
        """A 64-bit byte offset below elements * size, a multiple of size."""
        masked, offset = self.register("w"), self.register("d")
        self.emit(f"and.b32 {masked}, {self.read('w')}, {elements - 1}")
        self.emit(f"mul.wide.{self.rng.choice('us')}32 {offset}, {masked}, {size}")
        return offset

    def load_form(self) -> tuple[str, list[str], int]:
        """(type text with vector, destination registers, bytes)."""
        c = self.rng.choice("wwwdffgh")
        if self.rng.random() < 0.25:
            kind = self.rng.choice(("u8", "s8", "u16", "s16"))
            size = int(kind[1:]) // 8
            vector = self.rng.choice((1, 1, 2, 4))
            names = self.rng.sample(self.variables["w"], vector)
            if vector == 1 and self.rng.random() < 0.4:
                names = [self.read("h")]
            if vector == 1 and self.rng.random() < 0.2:
                names = [self.read("d")]
            return (f".v{vector}" if vector > 1 else "") + f".{kind}", names, size * vector
        kind = TYPES[c] if c in "fg" else self.rng.choice("bus") + TYPES[c][1:]
        vector = self.rng.choice((1, 1, 1, 2)) if BYTES[c] == 8 else self.rng.choice((1, 1, 2, 4))
        vector = min(vector, len(self.variables[c]))
        vector = vector if vector in (1, 2, 4) else 2
        names = self.rng.sample(self.variables[c], vector)
        return (f".v{vector}" if vector > 1 else "") + f".{kind}", names, BYTES[c] * vector

    @staticmethod
    def braces(names: list[str]) -> str:
        return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"

    def address(self, base: str, total: int, size: int) -> str:
        """`[register+constant]` inside total bytes from base, aligned to size."""
        offset = self.index(total // 2 // size, size)
        narrow = base == "%mine"
        place = self.register("w" if narrow else "d")
        if narrow:
            low = self.register("w")
            self.emit(f"cvt.u32.u64 {low}, {offset}")
            offset = low
        self.emit(f"add.s{32 if narrow else 64} {place}, {base}, {offset}")
        constant = self.rng.randrange(total // 2 // size) * size
        return f"[{place}+{constant}]" if constant else f"[{place}]"

    def global_load(self) -> None:
        kind, names, size = self.load_form()
        space = self.rng.choice((".global", ".global", ".global.nc", ".volatile.global", "", ".relaxed.gpu.global"))
        base = "%input" if self.in_kernel else "%pointer"
        where = self.address(base, 8 * INPUT_ELEMENTS, size)
        guard = self.guard()
        if space.startswith(".volatile") and "v" in kind and self.rng.random() < 0.5:
            space = ".global"
        self.emit(f"{guard}ld{space}{kind} {self.braces(names)}, {where}")

    def const_load(self) -> None:
        kind, names, size = self.load_form()
        base = self.register("d")
        self.emit(f"mov.u64 {base}, table")
        if self.rng.random() < 0.3:
            self.emit(f"ld.const{kind} {self.braces(names)}, [table+{self.rng.randrange(128 // size) * size}]")
        elif self.rng.random() < 0.3:
            where = self.address("%variable", 128, size)
            self.emit(f"ld.global{kind} {self.braces(names)}, {where}")
        else:
            self.emit(f"ld.const{kind} {self.braces(names)}, {self.address(base, 128, size)}")

    def local_access(self) -> None:
        self.own_access("%depot", ".local", "%depotg", 64)

    def scratch_access(self) -> None:
        """Memory of the thread's own: scratch in global memory, or a part of shared memory."""
        if not self.in_kernel:
            self.local_access()
        elif self.rng.random() < 0.5:
            self.own_access("%scratch", ".global", "%scratchg", 64)
        else:
            self.own_access("%mine", ".shared", "%mineg", 32)

    def own_access(self, base: str, space: str, generic: str, total: int) -> None:
        if self.rng.random() < 0.3:
            base, space = generic, ""
        volatile = self.rng.choice((".volatile", "", "")) if space != ".local" else ""
        if self.rng.random() < 0.5:
            kind, names, size = self.load_form()
            where = self.address(base, total, size)
            self.emit(f"{self.guard()}ld{volatile}{space}{kind} {self.braces(names)}, {where}")
        else:
            kind, names, size = self.store_form()
            where = self.address(base, total, size)
            self.emit(f"{self.guard()}st{volatile}{space}{kind} {where}, {self.braces(names)}")

    def store_form(self) -> tuple[str, list[str], int]:
        if self.rng.random() < 0.25:
            kind = self.rng.choice(("u8", "u16"))
            vector = self.rng.choice((1, 1, 2, 4))
            names = [self.read("w") for _ in range(vector)]
            return (f".v{vector}" if vector > 1 else "") + f".{kind}", names, int(kind[1:]) // 8 * vector
        c = self.rng.choice("wwwdfgh")
        kind = TYPES[c] if c in "fg" else self.rng.choice("bus") + TYPES[c][1:]
        vector = self.rng.choice((1, 1, 1, 2)) if BYTES[c] == 8 else self.rng.choice((1, 1, 2, 4))
        # A float is stored as a number: the bytes of a NaN might be read back as an integer.
        names = [self.number(c) if c in "fg" else self.operand(c, 0.1) for _ in range(vector)]
        return (f".v{vector}" if vector > 1 else "") + f".{kind}", names, BYTES[c] * vector

    # --- control flow -------------------------------------------------------------------------------------------------

    def condition(self) -> str:
        """A fresh predicate (so that nothing in between changes it)."""
        result = self.register("p")
        c, t = self.rng.choice((("w", "s32"), ("w", "u32"), ("d", "s64"), ("f", "f32"), ("g", "f64"), ("h", "u16")))
        how = self.rng.choice(("lt", "ge", "ne", "eq", "gt"))
        if self.rng.random() < 0.4:
            bit = self.register("w")
            self.emit(f"and.b32 {bit}, {self.read('w')}, {1 << self.rng.randrange(4)}")
            self.emit(f"setp.{how}.u32 {result}, {bit}, 0")
        else:
            self.emit(f"setp.{how}.{t} {result}, {self.read(c)}, {self.operand(c, 0.4)}")
        return result

    def uniform_condition(self) -> str:
        result = self.register("p")
        self.emit(f"setp.{self.rng.choice(('lt', 'eq', 'ne'))}.u32 {result}, %uniform, {self.rng.randrange(3)}")
        return result

    def block(self, depth: int, converged: bool, most: int = 5) -> None:
        for _ in range(self.rng.randint(1, most)):
            self.statement(depth + 1, converged)

    def branch(self, depth: int, converged: bool = False) -> None:
        uniform = converged and self.in_kernel and self.rng.random() < 0.3
        p = self.uniform_condition() if uniform else self.condition()
        other, end = self.label(), self.label()
        uni = ".uni" if uniform and self.rng.random() < 0.5 else ""
        self.emit(f"@{self.rng.choice(('', '!'))}{p} bra{uni} {other}")
        self.block(depth, uniform)
        if self.rng.random() < 0.5:
            self.emit(f"bra{self.rng.choice(('', '.uni'))} {end}")
            self.lines.append(f"{other}:")
            self.block(depth, uniform)
        else:
            self.lines.append(f"{other}:")
        self.lines.append(f"{end}:")

    def loop(self, depth: int, converged: bool = False) -> None:
        """At most four rounds; the count differs between lanes, or is a constant; with break and continue."""
        counter, count, p = self.register("w"), self.register("w"), self.register("p")
        head, again, end = self.label(), self.label(), self.label()
        constant = self.rng.random() < 0.4
        if constant:
            self.emit(f"mov.u32 {count}, {self.rng.randint(1, 4)}")
        else:
            self.emit(f"and.b32 {count}, {self.read('w')}, 3")
        uniform = converged and constant
        at_top = not constant or self.rng.random() < 0.4
        self.emit(f"mov.u32 {counter}, 0")
        self.lines.append(f"{head}:")
        if at_top:
            self.emit(f"setp.ge.u32 {p}, {counter}, {count}")
            self.emit(f"@{p} bra {end}")
        self.block(depth, uniform, 4)
        if not uniform and self.rng.random() < 0.5:
            self.emit(f"@{self.condition()} bra {self.rng.choice((again, end))}")
            self.block(depth, False, 3)
        self.lines.append(f"{again}:")
        self.emit(f"add.s32 {counter}, {counter}, 1")
        if at_top:
            self.emit(f"bra {head}")
        else:
            self.emit(f"setp.lt.u32 {p}, {counter}, {count}")
            self.emit(f"@{p} bra {head}")
        self.lines.append(f"{end}:")
