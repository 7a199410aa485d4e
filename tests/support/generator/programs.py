"""Random valid whole programs: the input of every property test.

    module, launches = generate("wide", seed)

`launches` has one entry per kernel; the first kernel, "kernel" ("k" of an unstructured program), is the one to
rewrite. Structured programs end, read no place without a value (unless asked to), stay in bounds, have no races, name
the immediate post-dominator where they diverge, and store every register, predicate and local word that holds a value
at the end, so that a wrong value anywhere shows in the output. (Lanes of a warp may reach each other's words, as the
memory model that the program says it is of allows it.) In wide ones reconvergence points may lie anywhere, and
some threads may end early.
"""

from __future__ import annotations

import random
import struct
from dataclasses import replace

from binalloc.isa.instruction import Function, Module, Param, SharedVar
from binalloc.isa.source_facts import LOOM
from binalloc.launch.types import Launch
from tests.support.generator.chain import chain
from tests.support.generator.faulting import HANDLES
from tests.support.generator.flow import Body, Summary
from tests.support.generator.holes import leave_out
from tests.support.generator.launches import structured_launch, unstructured_launch
from tests.support.generator.memory import finish, prepare
from tests.support.generator.neighbours import clear_regions
from tests.support.generator.ops import C_CONST, IMM, RZ, SR_TID, Ops
from tests.support.generator.options import (
    ADDRESS_BANK,
    ARRAY_WORDS,
    BANK,
    BANK_BYTES,
    LOCAL_WORDS,
    ODD_BANK,
    ODD_BYTES,
    Options,
    Params,
)
from tests.support.generator.presets import PRESETS
from tests.support.generator.unstructured import unstructured_program
from tests.support.generator.warps import slice_address
from tests.support.programs.builder import Code, module_of

BEFORE = {"matrices": False, "neighbours": "", "faulting": False}
"""Options that leave out what came last: tests that name seeds of the wide programs found them without it."""


def generate(preset: str, seed: int, **options: object) -> tuple[Module, list[Launch]]:
    """The program of that preset and seed, and a launch for each of its kernels; equal arguments give equal results.

    Options given (see `Options`) replace those drawn.
    """
    drawn, rng = PRESETS[preset](seed)
    o = replace(drawn, **options)  # type: ignore[arg-type]
    if not o.structured:
        return unstructured_program(rng, o), [unstructured_launch(seed, o)]
    module = _program(rng, o)
    launch = structured_launch(rng, o)
    if o.holes:
        leave_out(module, random.Random(f"holes {preset} {seed}"), o.holes)
    names = ["kernel", *(f"other{n}" for n in range(1, o.kernels))]
    return module, [replace(launch, kernel=name) for name in names]


def random_program(seed: int, **options: object) -> tuple[Module, Launch]:
    """A structured program and the launch of its kernel "kernel"."""
    module, launches = generate("structured", seed, **options)
    return module, launches[0]


def _program(rng: random.Random, o: Options) -> Module:
    """A structured program: kernel "kernel", others, callees."""
    params = Params()
    if o.shared:
        params.shared = [SharedVar("words", 0, 4 * o.block, 16), SharedVar("pairs", 4 * o.block, 8 * o.block, 16)]
    params.lanes_shared = 12 * o.block if o.shared else 0
    params.dynamic_base = params.lanes_shared + o.regions
    if o.stack:
        params.stack = rng.randrange(o.registers)
    maker = Maker(rng, o, params)
    summaries: list[Summary] = []
    for number in reversed(range(1, o.callees + 1)):
        summaries.append(maker.callee(f"callee{number}", list(reversed(summaries))))
    hidden = [maker.callee("hidden", [])] if o.addresses else []
    head: list[Summary] = []
    if o.chain:
        links, summary = chain(rng, o)
        maker.codes += reversed(links)
        head = [summary]
    first = head + list(reversed(summaries))
    maker.kernel("kernel", first, [])
    for number in range(1, o.kernels):
        maker.kernel(f"other{number}", first, [*summaries, *hidden] if o.addresses else [])
    module = module_of(*maker.in_order())
    module.constants = {BANK: rng.randbytes(BANK_BYTES)}
    if o.ends:
        module.constants[ODD_BANK] = rng.randbytes(ODD_BYTES)
    if params.addressed:
        addresses = [module.function(name).address for name in params.addressed]
        module.constants[ADDRESS_BANK] = struct.pack(f"<{len(addresses)}I", *addresses)
    _info(module, o, params, maker.local)
    return module


class Maker:
    """The functions of one module, callees before callers. local: bytes of local memory given to frames so far."""

    def __init__(self, rng: random.Random, o: Options, params: Params) -> None:
        self.rng, self.o, self.params = rng, o, params
        self.codes: list[Code] = []
        functions = o.callees + o.kernels + o.addresses
        self.local = 0
        if o.arrays:
            params.array = functions * 4 * LOCAL_WORDS
        self.size = max(4, o.size // (o.callees + 1))

    def body(self, name: str, callees: list[Summary], by_address: list[Summary], *, kernel: bool) -> Body:
        rng, o = self.rng, self.o
        code = Code(name, kernel=kernel)
        own = replace(self.params, local_base=self.local, local_bytes=4 * LOCAL_WORDS if o.local else 0)
        if o.stack == "moving":
            own.local_base = -4 * LOCAL_WORDS
        self.local += own.local_bytes
        pool = [r for r in _pool(rng, o, kernel) if r != self.params.stack]
        ops = Ops(rng, code, pool, o, own)
        self.codes.append(code)
        return Body(ops, callees, by_address)

    def callee(self, name: str, callees: list[Summary]) -> Summary:
        return _callee(self.body(name, callees, [], kernel=False), self.size)

    def kernel(self, name: str, callees: list[Summary], by_address: list[Summary]) -> None:
        body = self.body(name, callees, by_address, kernel=True)
        _kernel(body, self.size, self.o, body.ops.params)

    def in_order(self) -> list[Code]:
        """As the file has them: kernels and callers first; with several kernels, in any order."""
        codes = self.codes[::-1]
        if self.o.kernels > 1:
            self.rng.shuffle(codes)
        return codes


def _pool(rng: random.Random, o: Options, kernel: bool) -> list[int]:
    """Registers a function may use: all for the kernel, often a part for a callee."""
    if kernel or o.registers < 12 or rng.random() < 0.4:
        return list(range(o.registers))
    start = 4 * rng.randrange(o.registers // 8)
    return list(range(start, min(o.registers, start + 4 * rng.randrange(2, 6))))


def _callee(body: Body, size: int) -> Summary:
    ops, rng = body.ops, body.rng
    needs = {r for r in ops.pool if rng.random() < min(0.5, 6 / len(ops.pool))} or {ops.pool[0]}
    needs_preds = {p for p in range(7) if rng.random() < 0.2}
    ops.regs, ops.preds = set(needs), set(needs_preds)
    if ops.options.stack:
        ops.regs.add(ops.params.stack)
    ops.move_stack(1)
    barriers = rng.random() < 0.2
    ops.uniform = barriers
    before = ops.options
    if body.callees:
        body.call(body.callees[0])
    body.fill(size, min(before.depth, 2))
    body.leave()
    body.close()
    leaves, leaves_preds = set(ops.regs), set(ops.preds)
    for regs, preds in body.returned:
        leaves &= regs
        leaves_preds &= preds
    called = [c for c in body.callees if c.name in body.called]
    matrices = any(i.op.name == "LDSM.16" for i in body.code.instrs) or any(c.matrices for c in called)
    gathers = any(i.op.control in ("barrier", "warpsync") for i in body.code.instrs) or any(c.barriers for c in called)
    return Summary(
        body.code.name, needs, needs_preds, ops.written, ops.written_preds, leaves, leaves_preds, gathers or matrices,
        ops.exits, matrices,
    )  # fmt: skip


def _kernel(body: Body, size: int, o: Options, params: Params) -> None:
    ops, rng = body.ops, body.rng
    if o.stack:
        ops.regs.add(params.stack)
        ops.move_stack(1)
    start = rng.choice(ops.groups(1)[:-1])
    ops.put("S2R", rd=start, sreg=SR_TID)
    ops.load_input()
    if o.flags:
        ops.put("R2P", ra=ops.src(), pmask=0x7F)
    prepare(ops)
    clear_regions(ops)
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
    body.close()


def _store_all(ops: Ops, o: Options, params: Params) -> None:
    """Store everything that holds a value to the thread's slice of the output. A pair is needed for the address: its
    contents and the predicates go into another register first."""
    pair = ops.rng.choice(ops.groups(2))
    keep = [r for r in sorted(ops.regs) if r not in (pair, pair + 1, params.stack)]
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
    slice_address(ops, pair)
    done: set[int] = set()
    for r in keep:
        if r in done:
            continue
        units = next(u for u in ((4, 2, 1) if o.wide else (1,)) if r % u == 0 and all(r + i in keep for i in range(u)))
        ops.put("STG", ra=pair, rb=r, moff=4 * r, width={1: 4, 2: 5, 4: 6}[units])
        done |= set(range(r, r + units))
    for word in sorted(ops.slots):
        ops.put("LDL", rd=mix, **ops.frame(word), width=4)
        ops.put("STG", ra=pair, rb=mix, moff=4 * o.registers + 4 + 4 * word, width=4)
    finish(ops, pair, mix)


def _info(module: Module, o: Options, params: Params, local: int) -> None:
    for fn in module.functions:
        fn.info.registers = 1 + max((r for f in module for r in _registers(f)), default=0)
        fn.info.local_frame = 4 * LOCAL_WORDS if o.local else 0
        fn.info.memory_model = o.neighbours or LOOM
    if o.arrays:
        local = max(local, params.array + 4 * ARRAY_WORDS)
    for kernel in module.kernels():
        kernel.info.local_bytes = local
        kernel.info.local_stack = params.stack
        kernel.info.registers = max(kernel.info.registers, 1 + params.stack % RZ)
        kernel.info.block = (o.block, 1, 1)
        kernel.info.params = [
            Param("input", params.input, 8),
            Param("output", params.output, 8),
            Param("sums", params.sums, 8),
            Param("scalar", params.scalar, 4),
            Param("wide", params.wide_scalar, 8),
        ]
        kernel.shared = list(params.shared)
        kernel.info.shared_bytes = params.dynamic_base
        if o.neighbours:
            kernel.info.params.append(Param("lanes", params.lanes, 8))
            kernel.shared.append(SharedVar("lanes", params.lanes_shared, o.regions, 16))
        if o.faulting:
            kernel.info.params += [Param(name, params.handles + 4 * k, 4) for k, name in enumerate(HANDLES)]


def _registers(fn: Function) -> set[int]:
    from binalloc.isa.loom.view import view

    return {
        r
        for i in fn.instrs
        for v in (view(i),)
        for ref in (*v.defs, *v.uses)
        if ref.file == "R"
        for r in ref.registers()
    }
