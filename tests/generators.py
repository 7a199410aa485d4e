"""Random valid whole programs: the input of every property test.

`random_program(seed, **options)` gives a module and a launch. Programs end, read no place without a value (unless
asked to), stay in bounds, have no races, name the immediate post-dominator where they diverge, and store every
register, predicate and local word that holds a value at the end, so that a wrong value anywhere shows in the output.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, fields, replace

from binalloc.emulator.launch_types import Argument, Init, Launch
from binalloc.isa.instruction import Function, Module, Param, SharedVar
from binalloc.models.machine import load_machine
from binalloc.models.machine_model import Machine
from tests.generator_ops import BANK, BANK_BYTES, C_CONST, IMM, INPUT_BYTES, RZ, SR_CTAID, SR_TID, Ops, Options, Params
from tests.program_builder import ALWAYS, Code, module_of

LOCAL_WORDS = 8


@dataclass
class Summary:
    """What a caller must know of a callee: values it needs, what it may change, what it leaves defined."""

    name: str
    needs: set[int]
    needs_preds: set[int]
    written: set[int]
    written_preds: set[int]
    leaves: set[int]
    leaves_preds: set[int]
    barriers: bool


class Body:
    """One function: structured control flow around `Ops`."""

    def __init__(self, ops: Ops, callees: list[Summary]) -> None:
        self.ops = ops
        self.rng = ops.rng
        self.code = ops.code
        self.callees = callees
        self.called: set[str] = set()
        self.returned: list[tuple[set[int], set[int]]] = []
        self.is_callee = not ops.code.kernel

    def fill(self, size: int, depth: int) -> None:
        """About `size` instructions."""
        end = len(self.code.instrs) + size
        while len(self.code.instrs) < end:
            pick = self.rng.random()
            left = end - len(self.code.instrs)
            if pick < 0.07 and self.callees:
                self.call(self.rng.choice(self.callees))
            elif pick < 0.13 and depth and left > 4:
                self.branch(left // 2, depth - 1)
            elif pick < 0.18 and depth and left > 6:
                self.loop(left // 2, depth - 1)
            elif pick < 0.19 and self.is_callee and self.ops.preds and self.ops.options.guards:
                self.code.emit("RET", (self.rng.choice(sorted(self.ops.preds)), self.rng.random() < 0.5))
                self.returned.append((set(self.ops.regs), set(self.ops.preds)))
                self.ops.uniform = False
            else:
                self.ops.any()

    def call(self, callee: Summary) -> None:
        ops = self.ops
        if callee.written & ops.protected or (callee.barriers and not ops.uniform):
            return
        missing = callee.needs - ops.regs
        if missing & ops.protected or not missing <= set(ops.pool):
            return
        for r in sorted(missing):
            ops.put("MOV", rd=r, form=IMM, imm=ops.imm())
        for p in sorted(callee.needs_preds - ops.preds):
            ops.put("ISETP", pd0=p, ra=ops.src(), form=IMM, imm=ops.imm(), icmp=self.rng.randrange(8))
        guard = ALWAYS if callee.barriers else ops.guard()
        self.code.call(callee.name, guard)
        self.called.add(callee.name)
        ops.written |= callee.written
        ops.written_preds |= callee.written_preds
        if guard == ALWAYS:
            ops.regs |= callee.leaves
            ops.preds |= callee.leaves_preds

    def condition(self) -> tuple[int, bool]:
        """A predicate to branch on, in use or made for it."""
        ops = self.ops
        if not ops.preds or self.rng.random() < 0.6:
            p = self.rng.randrange(7)
            ops.put("ISETP", pd0=p, ra=ops.src(), form=IMM, imm=ops.imm(), icmp=self.rng.randrange(8), u32cmp=1)
            return p, self.rng.random() < 0.5
        return self.rng.choice(sorted(ops.preds)), self.rng.random() < 0.5

    def branch(self, size: int, depth: int) -> None:
        """if, or if and else, with the join as reconvergence point."""
        ops, code = self.ops, self.code
        other, join = code.new_label(), code.new_label()
        two = self.rng.random() < 0.6
        guard = self.condition()
        uniform, ops.uniform = ops.uniform, False
        code.bra(other if two else join, join, guard)
        before = set(ops.regs), set(ops.preds), set(ops.slots)
        self.fill(size // (2 if two else 1), depth)
        after = set(ops.regs), set(ops.preds), set(ops.slots)
        ops.regs, ops.preds, ops.slots = (set(x) for x in before)
        if two:
            code.bra(join)
            code.label(other)
            self.fill(size // 2, depth)
        code.label(join)
        ops.regs &= after[0]
        ops.preds &= after[1]
        ops.slots &= after[2]
        ops.uniform = uniform and not self.returned

    def loop(self, size: int, depth: int) -> None:
        """A counted loop, its count the same for all or different per thread, with a divergent way out or without."""
        ops, code, r = self.ops, self.code, self.rng
        free = list(ops.groups(1))
        if len(free) < 4:
            return
        counter = r.choice(free)
        divergent = r.random() < 0.5
        if divergent:
            ops.put("LOP3", rd=counter, ra=ops.src(), form=IMM, imm=r.choice([1, 3]), lut=0xC0, rc=RZ)
            ops.put("IADD3", rd=counter, ra=counter, form=IMM, imm=1, rc=RZ)
        else:
            ops.put("MOV", rd=counter, form=IMM, imm=r.randrange(1, 4))
        ops.protected.add(counter)
        top, out = code.new_label(), code.new_label()
        way_out = r.random() < 0.4
        uniform = ops.uniform
        ops.uniform = uniform and not divergent and not way_out
        code.label(top)
        leaving = None
        self.fill(size // 2, depth)
        if way_out:
            code.bra(out, out, self.condition())
            leaving = set(ops.regs), set(ops.preds), set(ops.slots)
            self.fill(size // 2, depth)
        ops.put("IADD3", rd=counter, ra=counter, form=IMM, imm=0xFFFFFFFF, rc=RZ)
        p = r.randrange(7)
        ops.put("ISETP", pd0=p, ra=counter, form=IMM, imm=0, icmp=4)
        code.bra(top, out, (p, False))
        code.label(out)
        if leaving is not None:
            ops.regs &= leaving[0]
            ops.preds &= leaving[1]
            ops.slots &= leaving[2]
        ops.protected.discard(counter)
        ops.uniform = uniform and not self.returned


def random_program(seed: int, **options: object) -> tuple[Module, Launch]:
    """A valid program and a launch for it; equal arguments give equal results. Options: see `Options`.

    Options not given are drawn from the seed, so that a range of seeds covers small and large programs.
    """
    rng = random.Random(f"program {seed}")
    unknown = set(options) - {f.name for f in fields(Options)}
    assert not unknown, unknown
    drawn = Options(
        size=rng.choice([10, 20, 40, 40, 80, 80, 160, 300]),
        registers=rng.choice([4, 5, 8, 8, 12, 16, 16, 24, 32, 48, 63, 63, 128, 254, 255]),
        depth=rng.choice([0, 1, 2, 2, 3]),
        callees=rng.choice([0, 1, 2, 3, 3]),
        block=rng.choice([32, 32, 64]),
    )
    return _program(rng, replace(drawn, **options))


def _program(rng: random.Random, o: Options) -> tuple[Module, Launch]:
    params = Params()
    if o.shared:
        params.shared = [SharedVar("words", 0, 4 * o.block, 16), SharedVar("pairs", 4 * o.block, 8 * o.block, 16)]
    summaries: list[Summary] = []
    codes: list[Code] = []
    local = 0
    for number in reversed(range(o.callees + 1)):
        kernel = number == 0
        code = Code("kernel" if kernel else f"callee{number}", kernel=kernel)
        own = replace(params, local_base=local, local_bytes=4 * LOCAL_WORDS if o.local else 0)
        local += own.local_bytes
        ops = Ops(rng, code, _pool(rng, o, kernel), o, own)
        body = Body(ops, list(reversed(summaries)))
        size = max(4, o.size // (o.callees + 1))
        if kernel:
            _kernel(body, size, o, own)
        else:
            summaries.append(_callee(body, size))
        codes.append(code)
    codes.reverse()
    module = module_of(*codes)
    module.constants = {BANK: rng.randbytes(BANK_BYTES)}
    slice_bytes = _slice(o)
    _info(module, o, params, local)
    return module, _launch(rng, o, slice_bytes)


def _pool(rng: random.Random, o: Options, kernel: bool) -> list[int]:
    """Registers a function may use: all for the kernel, often a part for a callee."""
    if kernel or o.registers < 12 or rng.random() < 0.4:
        return list(range(o.registers))
    start = 4 * rng.randrange(o.registers // 8)
    return list(range(start, min(o.registers, start + 4 * rng.randrange(2, 6))))


def _slice(o: Options) -> int:
    """Bytes of output per thread: all registers, one word of predicates, the kernel's local words."""
    return -(-(4 * o.registers + 4 + 4 * LOCAL_WORDS) // 16) * 16


def _callee(body: Body, size: int) -> Summary:
    ops, rng = body.ops, body.rng
    needs = {r for r in ops.pool if rng.random() < min(0.5, 6 / len(ops.pool))} or {ops.pool[0]}
    needs_preds = {p for p in range(7) if rng.random() < 0.2}
    ops.regs, ops.preds = set(needs), set(needs_preds)
    barriers = rng.random() < 0.2
    ops.uniform = barriers
    before = ops.options
    if body.callees:
        body.call(body.callees[0])
    body.fill(size, min(before.depth, 2))
    body.code.emit("RET")
    leaves, leaves_preds = set(ops.regs), set(ops.preds)
    for regs, preds in body.returned:
        leaves &= regs
        leaves_preds &= preds
    has_barrier = any(i.op.control == "barrier" for i in body.code.instrs) or any(
        c.barriers for c in body.callees if c.name in body.called
    )
    return Summary(
        body.code.name, needs, needs_preds, ops.written, ops.written_preds, leaves, leaves_preds, has_barrier
    )


def _kernel(body: Body, size: int, o: Options, params: Params) -> None:
    ops, rng = body.ops, body.rng
    start = rng.choice(ops.groups(1)[:-1])
    ops.put("S2R", rd=start, sreg=SR_TID)
    ops.load_input()
    if o.registers > 12:
        for r in rng.sample(ops.pool, min(len(ops.pool), max(4, size // 4))):
            ops.put("MOV", rd=r, form=IMM, imm=ops.imm())
    if body.callees:
        body.call(body.callees[0])
    body.fill(size, o.depth)
    for callee in body.callees:
        if callee.name not in body.called:
            body.call(callee)
    _store_all(ops, o, params)
    body.code.emit("EXIT")


def _store_all(ops: Ops, o: Options, params: Params) -> None:
    """Store everything that holds a value to the thread's slice of the output. A pair is needed for the address: its
    contents and the predicates go into another register first."""
    pair = ops.rng.choice(ops.groups(2))
    keep = [r for r in sorted(ops.regs) if r not in (pair, pair + 1)]
    if not keep:
        keep = [next(r for r in ops.groups(1) if r not in (pair, pair + 1))]
        ops.put("MOV", rd=keep[0], form=IMM, imm=1)
    mix = ops.rng.choice(keep)
    for r in (pair, pair + 1):
        if r in ops.regs:
            ops.put("IMAD", rd=mix, ra=mix, form=C_CONST, rc=mix, cbank=BANK, coff=4)
            ops.put("LOP3", rd=mix, ra=mix, rb=r, rc=RZ, lut=0x3C)
    mask = sum(1 << p for p in ops.preds)
    ops.put("P2R", rd=pair, ra=RZ, pmask=mask)
    ops.put("LEA", rd=mix, ra=mix, rb=pair, shift=3)
    ops.put("S2R", rd=pair, sreg=SR_TID)
    ops.put("S2R", rd=pair + 1, sreg=SR_CTAID)
    ops.put("LEA", rd=pair, ra=pair + 1, rb=pair, shift=o.block.bit_length() - 1)
    ops.put("MOV", rd=pair + 1, form=IMM, imm=_slice(o))
    ops.put("IMAD.WIDE", units=2, rd=pair, ra=pair, form=C_CONST, rc=pair + 1, cbank=0, coff=params.output, u32=1)
    done: set[int] = set()
    for r in keep:
        if r in done:
            continue
        units = next(u for u in ((4, 2, 1) if o.wide else (1,)) if r % u == 0 and all(r + i in keep for i in range(u)))
        ops.put("STG", ra=pair, rb=r, moff=4 * r, width={1: 4, 2: 5, 4: 6}[units])
        done |= set(range(r, r + units))
    for word in sorted(ops.slots):
        ops.put("LDL", rd=mix, moff=params.local_base + 4 * word, width=4)
        ops.put("STG", ra=pair, rb=mix, moff=4 * o.registers + 4 + 4 * word, width=4)


def _info(module: Module, o: Options, params: Params, local: int) -> None:
    for fn in module.functions:
        fn.info.registers = 1 + max((r for f in module for r in _registers(f)), default=0)
        fn.info.local_frame = 4 * LOCAL_WORDS if o.local else 0
    kernel = module.functions[0]
    kernel.info.local_bytes = local
    kernel.info.block = (o.block, 1, 1)
    kernel.info.params = [
        Param("input", params.input, 8),
        Param("output", params.output, 8),
        Param("sums", params.sums, 8),
        Param("scalar", params.scalar, 4),
        Param("wide", params.wide_scalar, 8),
    ]
    if o.shared:
        kernel.shared = list(params.shared)
        kernel.info.shared_bytes = 12 * o.block


def _registers(fn: Function) -> set[int]:
    from binalloc.isa.interface import view

    return {
        r
        for i in fn.instrs
        for v in (view(i),)
        for ref in (*v.defs, *v.uses)
        if ref.file == "R"
        for r in ref.registers()
    }


def _launch(rng: random.Random, o: Options, slice_bytes: int) -> Launch:
    words = INPUT_BYTES // 4 + 8
    init = Init("random", "integers", low=0, high=1 << 32, seed=rng.randrange(1 << 30))
    arguments = (
        Argument("input", "buffer", "u32", (words,), init=init),
        Argument("output", "buffer", "u32", (o.grid * o.block * slice_bytes // 4,)),
        Argument("sums", "buffer", "u32", (16,)),
        Argument("scalar", "scalar", "u32", value=rng.getrandbits(32)),
        Argument("wide", "scalar", "u64", value=rng.getrandbits(63)),
    )
    return Launch("kernel", (o.grid, 1, 1), (o.block, 1, 1), arguments=arguments)


def roomy_machine(name: str = "gtx680") -> Machine:
    """The machine with 255 registers per thread allowed."""
    m = load_machine(name)
    return replace(m, sm=replace(m.sm, registers_per_thread=255))
