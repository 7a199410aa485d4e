"""Straight-line half of the random program generator: one valid random instruction (or short idiom) at a time.

What it keeps true: only places that hold a value on every path are read (unless the option asks for uninitialised
reads), protected places (loop counters) are never written, addresses are in bounds and aligned, and no result depends
on the order in which warps run.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from binalloc.isa.table.opcodes import BY_NAME, SPECIAL_REGISTERS
from tests.support.generator.faulting import faulting_kinds
from tests.support.generator.memory import memory_kinds
from tests.support.generator.neighbours import neighbour_kinds
from tests.support.generator.options import BANK, BANK_BYTES, INPUT_BYTES, LOCAL_WORDS, Options, Params
from tests.support.generator.warps import warp_kinds
from tests.support.programs.builder import ALWAYS, Code, Guard

RZ, PT = 255, 7
IMM, CONST, C_IMM, C_CONST = 1, 2, 3, 4
EXTREMES = (0, 1, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0x7F800000, 0x3F800000, 31, 32)
SIGNS = ("nega", "negb", "negc", "absa", "absb", "absc")
SPECIALS = tuple(
    SPECIAL_REGISTERS.index(n)
    for n in ("SR_TID.X", "SR_NTID.X", "SR_CTAID.X", "SR_NCTAID.X", "SR_LANEID", "SR_WARPID", "SR_LTMASK", "SR_TID.Y")
)
SR_TID = SPECIAL_REGISTERS.index("SR_TID.X")


class Ops:
    """Emits random instructions into `code`. `regs`, `preds`, `slots`: places that hold a value on every path.

    uniform: all threads of the block that have not ended come here together. apart: lanes may stay apart until they
    end or return, and meet at any word. exits: some threads may have ended.
    """

    def __init__(self, rng: random.Random, code: Code, pool: list[int], options: Options, params: Params) -> None:
        self.rng = rng
        self.code = code
        self.pool = pool
        self.options = options
        self.params = params
        self.regs: set[int] = set()
        self.preds: set[int] = set()
        self.slots: set[int] = set()
        self.protected: set[int] = set()
        self.written: set[int] = set()
        self.written_preds: set[int] = set()
        self.uniform = True
        self.apart = False
        self.exits = False
        self.in_loop = 0
        self.kinds: list[tuple[int, Callable[[], None]]] = [
            (10, self.integer),
            (3, self.compare),
            (2, self.logic),
            (2, self.special),
            (2, self.warp),
            (3, self.load_input),
            (2, self.constant),
        ]
        if options.floats:
            self.kinds += [(4, self.f32), *([(2, self.half)] if options.halves else [])]
        if options.wide:
            self.kinds += [(3, self.wide_integer), (2, self.carry)]
            if options.floats:
                self.kinds.append((3, self.f64))
        if options.local:
            self.kinds.append((3, self.local))
        if options.shared:
            self.kinds.append((1, self.exchange))
        if options.atomics:
            self.kinds.append((1, self.reduce))
        self.kinds += memory_kinds(self, options) + warp_kinds(self, options) + neighbour_kinds(self, options)
        self.kinds += faulting_kinds(self, options)

    # -- operands

    def groups(self, units: int) -> list[int]:
        """First registers of aligned groups that may be written."""
        ok = set(self.pool) - self.protected
        return [r for r in sorted(ok) if r % units == 0 and all(r + i in ok for i in range(units))]

    def dst(self, units: int = 1) -> int:
        """A register group to write; RZ where there is none, and now and then. The top of the file is favoured."""
        groups = self.groups(units)
        if not groups or self.rng.random() < 0.02:
            return RZ
        return groups[-1] if self.rng.random() < (0.1 if units == 1 else 0.3) else self.rng.choice(groups)

    def src(self, units: int = 1) -> int:
        ready = [
            r
            for r in sorted(self.regs)
            if r % units == 0 and r + units <= RZ and all(r + i in self.regs for i in range(units))
        ]
        if self.options.uninitialised and self.rng.random() < 0.05 and self.groups(units):
            return self.rng.choice(self.groups(units))
        if not ready or self.rng.random() < 0.04:
            return RZ
        return self.rng.choice(ready)

    def pdst(self, optional: bool = False) -> int:
        return PT if optional and self.rng.random() < 0.6 else self.rng.randrange(7)

    def psrc(self, name: str) -> dict[str, int]:
        """Fields of a predicate source."""
        choices = [PT, *sorted(self.preds)]
        return {name: self.rng.choice(choices), name + "n": self.rng.randrange(2)}

    def imm(self) -> int:
        r = self.rng
        pick = r.random()
        return r.choice(EXTREMES) if pick < 0.3 else r.randrange(64) if pick < 0.7 else r.getrandbits(32)

    def const(self, units: int) -> dict[str, int]:
        step = 4 * units
        if self.rng.random() < 0.3:
            return {"cbank": 0, "coff": self.params.scalar if units == 1 else self.params.wide_scalar}
        return {"cbank": BANK, "coff": step * self.rng.randrange(BANK_BYTES // step)}

    def flexible(self, name: str, b: int = 1, c: int = 0) -> dict[str, int]:
        """form and fields of operands b (and c, if `c` units) of opcode `name`."""
        form = self.rng.choice(BY_NAME[name].forms)
        out = {"form": form}
        if form == IMM:
            out["imm"] = self.imm()
        elif form == CONST:
            out |= self.const(b)
        elif form in (C_IMM, C_CONST):
            out["rc"] = self.src(b)
            out |= {"imm": self.imm()} if form == C_IMM else self.const(c)
        else:
            out["rb"] = self.src(b)
        if c and form not in (C_IMM, C_CONST):
            out["rc"] = self.src(c)
        return out

    def signs(self, name: str, form: int) -> dict[str, int]:
        """Random sign modifiers among those opcode `name` has in `form`."""
        have = BY_NAME[name].fields_for(form, {})
        return {s: 1 for s in SIGNS if s in have and self.rng.random() < 0.2}

    def guard(self) -> Guard:
        if self.preds and self.rng.random() < self.options.guards:
            return self.rng.choice(sorted(self.preds)), self.rng.random() < 0.5
        return ALWAYS

    # -- emission

    def put(self, name: str, guard: Guard = ALWAYS, *, units: int = 1, **fields: int) -> None:
        """Emit and record what is now defined. `units`: width of rd."""
        self.code.emit(name, guard, **fields)
        defs = set()
        if fields.get("rd", RZ) != RZ:
            defs = set(range(fields["rd"], fields["rd"] + units))
        preds = {fields[p] for p in ("pd0", "pd1") if fields.get(p, PT) != PT}
        if name == "R2P":
            preds = {i for i in range(7) if fields["pmask"] >> i & 1}
        self.written |= defs
        self.written_preds |= preds
        if guard == ALWAYS:
            self.regs |= defs
            self.preds |= preds

    def any(self) -> None:
        """One random instruction or idiom."""
        weights = [w for w, _ in self.kinds]
        self.rng.choices([k for _, k in self.kinds], weights)[0]()

    # -- kinds

    def integer(self) -> None:
        r = self.rng
        name = r.choice(
            ["IADD3", "IADD3", "IMAD", "IMAD.HI", "LEA", "LEA.HI", "SHF", "LOP3", "IMNMX", "PRMT", "SEL", "MOV", "MOV",
             "IABS", "POPC", "FLO", "BREV"]
        )  # fmt: skip
        f: dict[str, int] = {"rd": self.dst()}
        three = name in ("IADD3", "IMAD", "IMAD.HI", "LEA.HI", "SHF", "LOP3", "PRMT")
        f |= self.flexible(name, 1, 1 if three else 0)
        if "ra" in BY_NAME[name].operand:
            f["ra"] = self.src()
        f |= self.signs(name, f["form"])
        if name == "IADD3" and r.random() < 0.3:
            f |= {"pd0": self.pdst(), "x": r.randrange(2)}
            if f["x"]:
                f |= self.psrc("ps0") | self.psrc("ps1")
        elif name in ("IMAD", "IMAD.HI", "FLO"):
            f["u32"] = r.randrange(2)
        elif name in ("LEA", "LEA.HI"):
            f |= {"shift": r.randrange(32), "pd0": self.pdst(True)}
        elif name == "SHF":
            f |= {"dir": r.randrange(2), "stype": r.randrange(4), "hi": r.randrange(2), "wrap": r.randrange(2)}
        elif name == "LOP3":
            f |= {"lut": r.randrange(256), "pd0": self.pdst(True)}
        elif name == "PRMT":
            f["prmt"] = r.randrange(7)
        elif name in ("IMNMX", "SEL"):
            f |= self.psrc("ps0")
            if name == "IMNMX":
                f["u32"] = r.randrange(2)
        self.put(name, self.guard(), **f)

    def compare(self) -> None:
        r = self.rng
        names = ["ISETP", "ISETP"] + ["FSETP"] * self.options.floats
        if self.options.wide and self.options.floats:
            names.append("DSETP")
        name = r.choice(names)
        units = 2 if name == "DSETP" else 1
        f = {"pd0": self.pdst(), "pd1": self.pdst(True), "ra": self.src(units), "bop": r.randrange(3)}
        if f["pd0"] == f["pd1"]:
            f["pd1"] = PT
        f |= self.flexible(name, units) | self.psrc("ps0")
        f |= self.signs(name, f["form"])
        if name == "ISETP":
            f |= {"icmp": r.randrange(8), "u32cmp": r.randrange(2), "ex": int(r.random() < 0.2)}
            if f["ex"]:
                f |= self.psrc("ps1")
        else:
            f["fcmp"] = r.randrange(16)
        self.put(name, self.guard(), **f)

    def logic(self) -> None:
        r = self.rng
        kind = r.randrange(3)
        if kind == 0:
            pd0, pd1 = r.sample(range(8), 2)
            sources = self.psrc("ps0") | self.psrc("ps1") | self.psrc("ps2")
            self.put("PLOP3", self.guard(), pd0=pd0, pd1=pd1, lut_b=r.randrange(256), lut2=r.randrange(256), **sources)
        elif kind == 1:
            mask = sum(1 << p for p in self.preds if r.random() < 0.7)
            self.put("P2R", self.guard(), rd=self.dst(), ra=self.src(), pmask=mask)
        else:
            self.put("R2P", self.guard(), ra=self.src(), pmask=r.choice([0x7F, r.randrange(128)]))

    def special(self) -> None:
        self.put(self.rng.choice(["S2R", "CS2R"]), self.guard(), rd=self.dst(), sreg=self.rng.choice(SPECIALS))

    def warp(self) -> None:
        r = self.rng
        if r.random() < 0.4:
            self.put("VOTE", rd=self.dst(), pd0=self.pdst(True), vote=r.randrange(3), **self.psrc("ps0"))
            return
        f = {"rd": self.dst(), "ra": self.src(), "pd0": self.pdst(True), "shfl": r.randrange(4)}
        f |= {"limm": 1, "laneimm": r.randrange(32)} if r.random() < 0.6 else {"rb": self.src()}
        f |= {"cimm": 1, "clampimm": r.choice([31, 0, 0x101F, 0x1C1F])} if r.random() < 0.8 else {"rc": self.src()}
        self.put("SHFL", **f)

    def f32(self) -> None:
        r = self.rng
        name = r.choice(["FADD", "FMUL", "FFMA", "FFMA", "FMNMX", "MUFU", "I2F", "F2I", "FRND"])
        f: dict[str, int] = {"rd": self.dst()} | self.flexible(name, 1, 1 if name == "FFMA" else 0)
        if "ra" in BY_NAME[name].operand:
            f["ra"] = self.src()
        f |= self.signs(name, f["form"])
        if name in ("FADD", "FMUL", "FFMA"):
            f |= {"rnd": r.randrange(4), "sat": int(r.random() < 0.1)}
        elif name == "FMNMX":
            f |= self.psrc("ps0")
        elif name == "MUFU":
            f["func"] = r.randrange(7)
        elif name in ("I2F", "F2I"):
            f |= {"ityp": r.randrange(6), "rnd2": r.randrange(4)}
        self.put(name, self.guard(), **f)

    def f64(self) -> None:
        r = self.rng
        name = r.choice(["DADD", "DMUL", "DFMA", "DMNMX", "F2F", "I2F"])
        f: dict[str, int] = {"rd": self.dst(2)}
        if name == "F2F":
            f |= self.flexible(name, 1) | {"ftyp_d": 1}
        elif name == "I2F":
            units = r.choice([1, 2])
            f |= self.flexible(name, units) | {"ftyp": 1, "ityp": 2 + 2 * units + r.randrange(2)}
        else:
            f |= self.flexible(name, 2, 2 if name == "DFMA" else 0) | {"ra": self.src(2)}
            f |= self.psrc("ps0") if name == "DMNMX" else {}
        f |= self.signs(name, f["form"])
        self.put(name, self.guard(), units=2, **f)

    def half(self) -> None:
        """f16 and bf16: whatever the modifiers are."""
        r = self.rng
        name = r.choice(["HADD2", "HMUL2", "HFMA2", "HMNMX2", "HSETP2", "F2H", "F2H2", "H2F", "I2H"])
        spec = BY_NAME[name]
        f: dict[str, int] = {m: int(r.random() < 0.25) for m in ("ftz", "sat", "sat2", "relu") if m in spec.modifiers}
        f |= {m: r.randrange(2) for m in ("hfmt", "hnan", "xsign", "hsel") if m in spec.modifiers}
        wide = int(self.options.wide and r.random() < 0.4)
        if name == "HSETP2":
            f |= {"pd0": self.pdst(), "pd1": self.pdst(), "fcmp": r.randrange(16), "bop": r.randrange(3)}
            if f["pd0"] == f["pd1"]:
                f["pd1"] = PT
        else:
            f["rd"] = self.dst()
        if "rnd2" in spec.modifiers:
            f["rnd2"] = r.randrange(4)
        if name == "F2H":
            f["ftyp"] = wide
        elif name == "I2H":
            f["ityp"] = 6 * wide + r.randrange(2 if wide else 6)
        f |= self.flexible(name, 1 + (wide if name in ("F2H", "I2H") else 0), int(name == "HFMA2"))
        if "ra" in spec.operand:
            f["ra"] = self.src()
        if "ps0" in spec.operand:
            f |= self.psrc("ps0")
        self.put(name, self.guard(), **f | self.signs(name, f["form"]))

    def wide_integer(self) -> None:
        f = {"rd": self.dst(2), "ra": self.src(), "u32": self.rng.randrange(2)}
        f |= self.flexible("IMAD.WIDE", 1, 2)
        self.put("IMAD.WIDE", self.guard(), units=2, **f | self.signs("IMAD.WIDE", f["form"]))

    def carry(self) -> None:
        """A 64-bit addition: low words with a carry out, high words with the carry in."""
        d, a, b = self.dst(2), self.src(2), self.src(2)
        if RZ in (d, a, b):
            return
        carry = self.pdst()
        self.put("IADD3", rd=d, pd0=carry, ra=a, rb=b)
        if {a + 1, b + 1} <= self.regs:
            self.put("IADD3", rd=d + 1, ra=a + 1, rb=b + 1, x=1, ps0=carry, ps0n=0)

    def constant(self) -> None:
        width = self.rng.choice([0, 1, 2, 3, 4, 4, 5, 6])
        units, size = {5: (2, 8), 6: (4, 16)}.get(width, (1, 1 << width // 2))
        offset = size * self.rng.randrange(BANK_BYTES // size)
        self.put("LDC", self.guard(), units=units, rd=self.dst(units), cbank=BANK, coff=offset, width=width)

    def address(self, parameter: int, size: int, bytes_: int) -> int:
        """A register pair that points at a random, aligned place of a buffer; RZ where no pair is free."""
        value = self.src()
        pair = self.dst(2)
        if pair == RZ:
            return RZ
        self.put("LOP3", rd=pair, ra=value, form=IMM, imm=(bytes_ - 1) & -size, lut=0xC0, rc=RZ)
        self.put("MOV", rd=pair + 1, form=IMM, imm=1)
        self.put("IMAD.WIDE", units=2, rd=pair, ra=pair, form=C_CONST, rc=pair + 1, cbank=0, coff=parameter, u32=1)
        return pair

    def load_input(self) -> None:
        width = self.rng.choice([0, 1, 2, 3, 4, 4, 4, 5, 6] if self.options.wide else [4])
        units, size = {5: (2, 8), 6: (4, 16)}.get(width, (1, 1 << width // 2))
        pair = self.address(self.params.input, 16, INPUT_BYTES)
        if pair != RZ:
            offset = self.rng.choice([0, size if size < 16 else 0])
            self.put("LDG", self.guard(), units=units, rd=self.dst(units), ra=pair, moff=offset, width=width)

    def reduce(self) -> None:
        """An integer addition to a global word: commutes, so the order of warps does not matter."""
        value = self.src()
        pair = self.address(self.params.sums, 4, 64)
        if pair != RZ and value not in (pair, pair + 1):
            self.put("RED", self.guard(), ra=pair, rb=value)

    def frame(self, word: int) -> dict[str, int]:
        """The fields that address a word of the function's frame."""
        at = {"moff": self.params.local_base + 4 * word}
        kind = self.options.stack
        if kind == "moving" or (kind == "fixed" and self.rng.random() < 0.6):
            at["ra"] = self.params.stack
        return at

    def move_stack(self, way: int, guard: Guard = ALWAYS) -> None:
        """Take the function's frame (way 1) or give it back (way -1) where the stack register moves."""
        if self.options.stack == "moving":
            step, stack = 4 * LOCAL_WORDS * way & 0xFFFFFFFF, self.params.stack
            self.code.emit("IADD3", guard, rd=stack, ra=stack, form=IMM, imm=step, rc=RZ)

    def local(self) -> None:
        r = self.rng
        if not self.params.local_bytes:
            return
        width = r.choice([4, 4, 5, 6] if self.options.wide else [4])
        units = {4: 1, 5: 2, 6: 4}[width]
        word = units * r.randrange(self.params.local_bytes // 4 // units)
        at = self.frame(word)
        words = set(range(word, word + units))
        if words <= self.slots and r.random() < 0.6:
            self.put("LDL", self.guard(), units=units, rd=self.dst(units), **at, width=width)
            return
        guard = self.guard()
        self.put("STL", guard, **at, rb=self.src(units), width=width)
        if guard == ALWAYS:
            self.slots |= words

    def exchange(self) -> None:
        """Each thread writes its shared word, all meet, each reads another's, all meet: only where the block is one."""
        if not self.uniform or self.exits:
            return
        var = self.rng.choice(self.params.shared)
        unit = var.size // self.options.block
        width = {4: 4, 8: 5}[unit]
        address, value = self.dst(), self.src(unit // 4)
        if address == RZ or value <= address < value + unit // 4:
            return
        for shift in (0, self.rng.randrange(self.options.block)):
            self.put("S2R", rd=address, sreg=SR_TID)
            self.put("IADD3", rd=address, ra=address, form=IMM, imm=shift, rc=RZ)
            self.put("LOP3", rd=address, ra=address, form=IMM, imm=self.options.block - 1, lut=0xC0, rc=RZ)
            self.put("SHF", rd=address, ra=address, form=IMM, imm=unit.bit_length() - 1, rc=RZ)
            if value is not None:
                self.put("STS", ra=address, rb=value, moff=var.offset, width=width)
                value = None
            else:
                self.put("LDS", units=unit // 4, rd=self.dst(unit // 4), ra=address, moff=var.offset, width=width)
            self.put("BAR", form=IMM, imm=0)
