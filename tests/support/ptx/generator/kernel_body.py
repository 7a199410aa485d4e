"""Statements of the program generator that only a kernel has: warps, barriers, atomics, .approx, parameters."""

from __future__ import annotations

from typing import Any

from tests.support.ptx.generator.forms.forms import APPROXIMATE
from tests.support.ptx.generator.forms.half_forms import APPROXIMATE as HALVES_APPROXIMATE
from tests.support.ptx.generator.options import APPROXIMATIONS, BYTES, INPUT_ELEMENTS, TYPES
from tests.support.ptx.generator.runtime_calls import RuntimeCalls


class KernelBody(RuntimeCalls):
    def further(self, converged: bool) -> None:
        choices: list[Any] = [self.operation, self.parameter_load, self.line, self.stir]
        if self.options.extra:
            choices.append(self.switch)
        if self.options.approximate:
            choices += [self.approximation] * 4 + [self.half_approximation]
        if self.options.atomics:
            choices += [self.shared_count, self.own_atomic, self.half_atomic]
        if converged and self.options.warps:
            choices += [self.shuffle, self.vote, self.match]
        if converged and self.options.barriers:
            choices += [self.exchange, self.barrier_reduction, self.matrices]
        if self.options.barriers:
            choices += [self.fence]
        self.rng.choice(choices)()

    def line(self) -> None:
        self.lines.append(f"    .loc 1 {self.rng.randrange(1, 500)} {self.rng.randrange(1, 80)}")

    def stir(self) -> None:
        """Something of the thread's number into two variables, so that lanes stay different."""
        wide, value = self.register("d"), self.register("w")
        self.emit(f"mad.lo.s32 {value}, %global, {2 * self.rng.randrange(1 << 30) + 1}, {self.rng.randrange(1 << 20)}")
        self.emit(f"mul.wide.u32 {wide}, {value}, {2 * self.rng.randrange(1 << 30) + 1}")
        target = self.read("w")
        self.emit(f"xor.b32 {target}, {target}, {value}")
        target = self.read("d")
        self.emit(f"xor.b64 {target}, {target}, {wide}")

    def parameter_load(self) -> None:
        """A byte or word of the struct parameter, at an offset that is not a constant."""
        size = self.rng.choice((1, 4))
        base, place, offset = self.register("d"), self.register("d"), self.index(8 // size, size)
        self.emit(f"mov.b64 {base}, box")
        self.emit(f"add.s64 {place}, {base}, {offset}")
        kind = self.rng.choice(("u8", "s8") if size == 1 else ("u32", "b32"))
        self.emit(f"ld.param.{kind} {self.read('w')}, [{place}+{self.rng.choice((0, 4))}]")

    def switch(self) -> None:
        """brx.idx to one of four places, two of them the same."""
        index, end, table = self.register("w"), self.label(), self.label()
        places = [self.label() for _ in range(3)]
        self.emit(f"and.b32 {index}, {self.read('w')}, 3")
        targets = ", ".join([*places, places[0]])
        self.lines.append(f"{table}: .branchtargets {targets};")
        self.emit(f"brx.idx {index}, {table}")
        for place in places:
            self.lines.append(f"{place}:")
            self.block(2, False, 2)
            self.emit(f"bra.uni {end}")
        self.lines.append(f"{end}:")

    def fence(self) -> None:
        self.emit(self.rng.choice(("membar.cta", "membar.gl", "membar.sys", "nanosleep.u32 20", "fence.acq_rel.gpu")))

    def shuffle(self) -> None:
        mode = self.rng.choice(("up", "down", "bfly", "idx"))
        segment = self.rng.choice((0, 0, 0x10, 0x18, 0x1C, 0x1E)) << 8
        control = segment | (0 if mode == "up" else 31)
        control = segment | self.rng.randrange(32) if self.rng.random() < 0.2 else control
        offset = str(self.rng.randrange(32)) if self.rng.random() < 0.6 else self.read("w")
        source = self.read("w") if self.rng.random() < 0.7 else self.number("f")
        target = self.read("w")
        target += f"|{self.read('p')}" if self.rng.random() < 0.6 else ""
        self.emit(f"shfl.sync.{mode}.b32 {target}, {source}, {offset}, {control}, -1")

    def vote(self) -> None:
        mode = self.rng.choice(("ballot.b32", "ballot.b32", "any.pred", "all.pred", "uni.pred"))
        target = self.read("w") if mode == "ballot.b32" else self.read("p")
        self.emit(f"vote.sync.{mode} {target}, {self.rng.choice(('', '!'))}{self.read('p')}, -1")

    def match(self) -> None:
        c, t = self.rng.choice((("w", "b32"), ("d", "b64")))
        kind, few, target = self.rng.randrange(3), self.register(c), self.read("w")
        self.emit(f"and.{t} {few}, {self.read(c)}, {self.rng.choice((1, 3, 7, 0))}")
        if kind == 0:
            self.emit(f"activemask.b32 {target}")
        elif kind == 1:
            self.emit(f"match.any.sync.{t} {target}, {few}, -1")
        else:
            target += f"|{self.read('p')}" if self.rng.random() < 0.6 else ""
            self.emit(f"match.all.sync.{t} {target}, {few}, -1")
        if self.rng.random() < 0.3:
            self.emit("bar.warp.sync -1")

    def exchange(self) -> None:
        """Each thread puts a word in shared memory and takes another thread's after a barrier."""
        c = self.rng.choice("wd")
        size = BYTES[c]
        at = self.register("w")
        self.emit(f"st.shared.b{8 * size} [%slot], {self.read(c)}")
        self.emit(self.rng.choice(("bar.sync 0", "barrier.sync 0", "bar.sync 1", f"bar.sync 2, {self.threads()}")))
        self.emit(f"xor.b32 {at}, %slot, {8 * self.rng.randrange(1, 32)}")
        self.emit(f"ld.shared.b{8 * size} {self.read(c)}, [{at}]")
        self.emit("bar.sync 0")

    def matrices(self) -> None:
        """Each thread puts a word in shared memory, and its warp loads matrices from rows anywhere there."""
        at, base, value, last = self.register("w"), self.register("w"), self.read("d"), self.threads() % 32 or 32
        count = self.rng.choice([n for n in (1, 2, 4) if 8 * n <= last or n == 1])
        turned, space = self.rng.choice(("", ".trans")), self.rng.choice((".shared", ".shared::cta", ""))
        self.emit(f"st.shared.b64 [%slot], {value}")
        self.emit("bar.sync 0")
        self.emit(f"and.b32 {at}, {self.read('w')}, 0xf0")
        self.emit(f"mov.u32 {base}, shared_slots")
        self.emit(f"add.u32 {at}, {at}, {base}")
        if not space:
            wide = self.register("d")
            self.emit(f"cvt.u64.u32 {wide}, {at}")
            self.emit(f"cvta.shared.u64 {wide}, {wide}")
            at = wide
        loaded = [self.register("w") for _ in range(count)]
        if last >= 8:
            text = ", ".join(loaded)
            self.emit(f"ldmatrix.sync.aligned.m8n8.x{count}{turned}{space}.b16 {{{text}}}, [{at}]")
            for one in loaded:
                target = self.read("w")
                self.emit(f"xor.b32 {target}, {target}, {one}")
        self.emit("bar.sync 0")

    def barrier_reduction(self) -> None:
        kind = self.rng.choice(("popc.u32", "and.pred", "or.pred"))
        target = self.read("w") if kind == "popc.u32" else self.read("p")
        self.emit(f"bar.red.{kind} {target}, 0, {self.rng.choice(('', '!'))}{self.read('p')}")

    COUNTERS = (
        "add.u32", "min.s32", "max.s32", "min.u32", "max.u32", "and.b32", "or.b32", "xor.b32",
        "add.u64", "min.s64", "max.s64", "min.u64", "max.u64", "and.b64", "or.b64", "xor.b64",
    )  # fmt: skip

    def shared_count(self) -> None:
        """An atomic whose order does not matter and whose result is not wanted."""
        number = self.rng.randrange(len(self.COUNTERS))
        name = self.COUNTERS[number]
        c = "d" if name.endswith("64") else "w"
        base, space = self.rng.choice((("%counters", ".global"), ("%countersg", ""), ("%counts", ".shared")))
        where, value = f"[{base}+{8 * number}]", self.operand(c)
        if self.rng.random() < 0.6:
            self.emit(f"{self.guard()}red{space}.{name} {where}, {value}")
        else:
            self.emit(f"{self.guard()}atom{space}.{name} {self.register(c)}, {where}, {value}")

    def own_atomic(self) -> None:
        """An atomic on memory of the thread's own; its result is used."""
        base, space = self.rng.choice((("%scratch", ".global"), ("%scratchg", ""), ("%mine", ".shared")))
        c = self.rng.choice("wwd")
        t = f"{8 * BYTES[c]}"
        names = [f"{op}.{k}{t}" for op in ("min", "max") for k in "us"] + [f"{op}.b{t}" for op in ("and", "or", "xor")]
        names += [f"add.u{t}", f"exch.b{t}", f"cas.b{t}"] + (["inc.u32", "dec.u32", "add.s32"] if c == "w" else [])
        name = self.rng.choice(names)
        values = [self.read(c)] + ([self.operand(c)] if name.startswith("cas") else [])
        order = self.rng.choice(("", "", ".relaxed.gpu", ".acq_rel.cta"))
        where = f"[{base}+{8 * self.rng.randrange(4)}]"
        self.emit(f"{self.guard()}atom{order}{space}.{name} {self.read(c)}, {where}, {', '.join(values)}")

    def half_atomic(self) -> None:
        """An addition to halves of the thread's own."""
        base, space = self.rng.choice((("%scratch", ".global"), ("%scratchg", ""), ("%mine", ".shared")))
        t, c = self.rng.choice((("f16", "x"), ("bf16", "y"), ("f16x2", "X"), ("bf16x2", "Y")))
        size = 2 if c in "xy" else 4
        order = self.rng.choice(("", "", ".relaxed.gpu", ".release.cta"))
        where = f"[{base}+{size * self.rng.randrange(32 // size)}], {self.half(c)}"
        if self.rng.random() < 0.3:
            self.emit(f"{self.guard()}red{order}{space}.add.noftz.{t} {where}")
        else:
            self.emit(f"{self.guard()}atom{order}{space}.add.noftz.{t} {self.read('hw'[size // 4])}, {where}")

    def approximation(self) -> None:
        """An inexact operation on tame operands, its result stored at once."""
        op, target, sources = self.rng.choice(APPROXIMATE)
        if len(self.approximations[target]) == APPROXIMATIONS:
            return
        operands = [self.tame(c) for c in sources]
        result = self.register(target)
        self.emit(f"{op} {', '.join([result, *operands])}")
        self.keep_approximation(target, TYPES[target], result)

    def half_approximation(self) -> None:
        """One of halves, its results stored as f32."""
        op = self.rng.choice(HALVES_APPROXIMATE)
        t = op.split(".")[-1]
        c, packed, single = "y" if t[0] == "b" else "x", t.endswith("x2"), t.removesuffix("x2")
        if len(self.approximations[c]) >= APPROXIMATIONS - 1:
            return
        source, result = (self.register("w" if packed else "h") for _ in range(2))
        operands = [self.tame("f") for _ in range(1 + packed)]
        self.emit(f"cvt.rn.{t}.f32 {source}, {', '.join(operands)}")
        self.emit(f"{op} {result}, {source}")
        halves = [result]
        if packed:
            halves = [self.register("h"), self.register("h")]
            self.emit(f"mov.b32 {{{halves[0]}, {halves[1]}}}, {result}")
        for half in halves:
            wide = self.register("f")
            self.emit(f"cvt.f32.{single} {wide}, {half}")
            self.keep_approximation(c, "f32", wide)

    def tame(self, c: str) -> str:
        """A float between 0.25 and 3."""
        at, place, value = self.register("w"), self.register("d"), self.register(c)
        self.emit(f"and.b32 {at}, {self.read('w')}, {INPUT_ELEMENTS - 1}")
        self.emit(f"mul.wide.u32 {place}, {at}, {BYTES[c]}")
        self.emit(f"add.s64 {place}, %tame{c}, {place}")
        self.emit(f"ld.global.{TYPES[c]} {value}, [{place}]")
        return value

    def keep_approximation(self, c: str, t: str, result: str) -> None:
        """Store an inexact result in the next place of its buffer."""
        slots = self.approximations[c]
        self.emit(f"st.global.{t} [%approx{c}+{len(slots) * int(t[1:]) // 8}], {result}")
        slots.append(result)
