"""Random well-formed instructions and modules for the ISA's tests, up to the extremes of every field."""

from __future__ import annotations

import random
from dataclasses import replace

from binalloc.errors import BinallocError
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.instruction import (
    DYNAMIC,
    ConstantVar,
    Control,
    Function,
    FunctionInfo,
    GlobalVar,
    Instr,
    Module,
    Origin,
    Param,
    SharedVar,
    make,
)
from binalloc.isa.kinds import Space
from binalloc.isa.source_facts import MEMORY_MODELS, MOST, SourceFacts
from binalloc.isa.table.fields import FIELDS, RZ
from binalloc.isa.table.opcodes import MODIFIERS, OPCODES, WIDTH_BYTES
from binalloc.isa.table.rules import Shape, shape
from binalloc.isa.validate import fill_resources


def shapes() -> list[Shape]:
    """Every shape of the ISA, in opcode order."""
    out = []
    for code in sorted(OPCODES):
        op = OPCODES[code]
        flags = range(4) if "lane" in op.operand else range(1)
        out += [shape(code, form, flag) for form in op.forms for flag in flags]
    return out


_PLAIN = [s for s in shapes() if s.op.control not in ("branch", "call", "return", "exit")]


def random_control(rng: random.Random) -> Control:
    scoreboards = (0, 1, 2, 3, 4, 5, 7)
    return Control(
        rng.randrange(16), rng.randrange(2), rng.choice(scoreboards), rng.choice(scoreboards), rng.randrange(64),
        rng.randrange(16),
    )  # fmt: skip


def random_instr(rng: random.Random, s: Shape, registers: int = 255) -> Instr:
    """A well-formed instruction of shape `s` with random fields, often at their extremes."""
    f: dict[str, int] = {}
    for name in s.fields:
        field = FIELDS[name]
        if name == "form":
            f[name] = s.form
        elif name in ("limm", "cimm"):
            f[name] = s.flags >> (name == "cimm") & 1
        elif name == "sreg" or name in MODIFIERS:
            f[name] = rng.randrange(dict(s.limits).get(name, field.maximum + 1))
        elif name in ("rd", "ra", "rb", "rc"):
            f[name] = rng.choice((0, RZ, rng.randrange(registers)))
        else:
            f[name] = rng.choice((field.minimum, field.maximum, rng.randint(field.minimum, field.maximum)))
    for name, width in s.registers:
        units = width if isinstance(width, int) else width[1][f[width[0]]]
        if f[name] != RZ:
            f[name] = min(f[name], registers - units) // units * units
    if s.const_units:
        units = s.const_units if isinstance(s.const_units, int) else s.const_units[1][f[s.const_units[0]]]
        f["coff"] = f["coff"] // (4 * units) * 4 * units
    elif "cmem" in s.op.operand and f["ra"] == RZ:
        f["coff"] = f["coff"] // WIDTH_BYTES[f["width"]] * WIDTH_BYTES[f["width"]]
    if f.get("diverges") == 0:
        f["reconv"] = 0
    return Instr(s.op, f, rng.randrange(8), rng.random() < 0.5, random_control(rng))


def random_module(rng: random.Random) -> Module:
    """A valid module with every feature of the container: calls, labels, parameters, shared variables, banks, maps."""
    module = Module()
    names = [f"f{i}$x.y" for i in range(rng.randrange(1, 4))]
    for k, name in enumerate(names):
        module.functions.append(_random_function(rng, name, k == 0 or rng.random() < 0.4))
    module.layout()
    callees = [fn for fn in module.functions if not fn.info.is_kernel]
    for fn in module.functions:
        for i in range(len(fn.instrs) - 1):
            if callees and rng.random() < 0.1:
                callee = rng.choice(callees)
                fn.instrs[i] = make("CALL", target=callee.address - fn.address - i - 1, ctrl=random_control(rng))
    fill_resources(module, module.functions, [])
    for fn in module.functions:
        info = fn.info
        info.registers = rng.randint(info.registers, 255)
        if info.registers:
            info.local_stack = rng.choice((255, rng.randrange(info.registers)))
            if info.slot_bytes:
                info.slot_pointer = rng.choice((255, rng.randrange(info.registers)))
        if info.is_kernel:
            info.shared_bytes = max(f.info.shared_bytes for f in module.functions)
    for bank in rng.sample(range(1, 32), rng.randrange(3)):
        module.constants[bank] = rng.randbytes(rng.randrange(70))
    for bank, held in module.constants.items():
        if len(held) > 4:
            module.constant_vars.append(ConstantVar(f"c.{bank}", bank, 0, 3))
            module.constant_vars.append(ConstantVar(f"d.{bank}", bank, 3, len(held) - 3))
    end = 0
    for i in range(rng.choice((0, 0, 1, 3))):
        align = rng.choice((1, 4, 16, 256))
        offset = -(-(end + rng.randrange(3)) // align) * align
        size = rng.choice((1, 4, 8, 60, 1 << 20))
        data = rng.randbytes(rng.randrange(min(size, 50) + 1)).rstrip(b"\0")
        module.globals.append(GlobalVar(f"g.{i}", offset, size, align, data))
        end = offset + size
    rng.shuffle(module.globals)
    if rng.random() < 0.5:
        module.provenance.append({"tool": "x // # ; é\n", "options": {"R": 3, "list": [1, 2.5, None]}})
        module.provenance.append({})
    for fn in module.functions:
        _touch(rng, module, fn)
    return module


def _touch(rng: random.Random, module: Module, fn: Function) -> None:
    """Say of some accesses which variables they touch."""
    names = sorted({v.name for f in ([fn] if fn.info.is_kernel else module.functions) for v in f.shared} | {DYNAMIC})
    for word, instr in enumerate(fn.instrs):
        shared = instr.op.space in (Space.SHARED, Space.GENERIC) and not instr.f.get("spill")
        if shared and rng.random() < 0.5:
            fn.touches[word] = tuple(sorted(rng.sample(names, rng.randint(1, min(3, len(names))))))


def _random_function(rng: random.Random, name: str, kernel: bool) -> Function:
    n = rng.randrange(1, 30)
    instrs = [random_instr(rng, rng.choice(_PLAIN)) for _ in range(n - 1)]
    instrs.append(make(rng.choice(("EXIT", "RET")), ctrl=random_control(rng)))
    for i in range(n - 1):
        if rng.random() < 0.2:
            diverges = rng.randrange(2)
            to = rng.randrange(n) - i - 1
            reconv = rng.randrange(n) - i - 1 if diverges else 0
            guard = (rng.randrange(8), rng.random() < 0.5)
            instrs[i] = make("BRA", guard=guard, target=to, diverges=diverges, reconv=reconv)
    info = FunctionInfo(
        kind="kernel" if kernel else "function",
        local_frame=4 * rng.randrange(20),
        local_bytes=4 * rng.randrange(20),
        spill_local=4 * rng.randrange(20),
        slot_bytes=128 * rng.randrange(4),
        block=rng.choice(((0, 0, 0), (32, 1, 1), (16, 8, 2))),
        max_threads=rng.choice((0, 256, 1024)),
        machine=rng.choice(("", "gtx680", "a machine // \"quoted\" é")),
    )
    if rng.random() < 0.5:
        info = replace(info, **vars(random_source_facts(rng)))
    fn = Function(name, instrs, info)
    offset = 0
    for i in range(rng.randrange(4)):
        size = rng.randrange(1, 40)
        offset += rng.randrange(3)
        info.params.append(Param(f"p{i}", offset, size))
        offset += size
    offset = 0
    for i in range(rng.randrange(3)):
        align = rng.choice((1, 4, 16))
        offset = -(-offset // align) * align
        fn.shared.append(SharedVar(f"v{i}", offset, rng.randrange(1, 50), align))
        offset += fn.shared[-1].size
    info.shared_bytes = offset + rng.randrange(3)
    fn.labels = {i: f"lab.{i}" for i in sorted(rng.sample(range(n), rng.randrange(min(n, 4))))}
    fn.lines = {i: (rng.choice(("a.cu", 'b "x".cu')), rng.randrange(1 << 31)) for i in range(n) if rng.random() < 0.2}
    if rng.random() < 0.5:
        fn.origin = Origin("orig", [rng.choice((-1, i, rng.randrange(1 << 20))) for i in range(n)])
    return fn


def random_source_facts(rng: random.Random) -> SourceFacts:
    """Facts of the source, each left out as often as not, up to the greatest a record holds."""
    return SourceFacts(
        memory_model=rng.choice(MEMORY_MODELS),
        target=rng.choice(("", "sm_80", "sm_90a", "no // \"name\" é", "t" * 255)),
        max_registers=rng.choice((0, 24, 255, MOST)),
        min_blocks=rng.choice((0, 1, 8, MOST)),
        smem_spilling=rng.random() < 0.5,
    )


def fuzz_container(files: list[bytes], count: int, seed: int) -> int:
    """Read `count` corruptions of `files`; returns how many were refused.

    Whatever is accepted must survive writing and reading. Anything raised but BinallocError passes through.
    """
    rng = random.Random(seed)
    refused = 0
    for _ in range(count):
        data = corrupt(rng, rng.choice(files))
        try:
            module = read_module(data, "fuzzed.loom")
        except BinallocError:
            refused += 1
        else:
            again = read_module(write_module(module), "fuzzed.loom")
            assert again == module
    return refused


def smash_words(rng: random.Random, data: bytes, words: int, bits: int) -> bytes:
    """`data` with bits flipped in its first code words alone, among the lowest `bits` of each, so that most of it still
    reads and the passes get to see it."""
    out = bytearray(data)
    starts = range(64, min(len(data) - 15, 64 + 16 * words), 16)
    for _ in range(rng.choice((1, 1, 2, 4))):
        bit = rng.randrange(bits)
        out[rng.choice(starts) + bit // 8] ^= 1 << bit % 8
    return bytes(out)


def corrupt(rng: random.Random, data: bytes) -> bytes:
    """`data` truncated, with bits flipped, bytes replaced by telling values, or a stretch moved, doubled or zeroed."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        kind = rng.randrange(7)
        at = rng.randrange(len(out)) if out else 0
        if kind <= 1 and out:
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del out[at:]
        elif kind == 3 and out:
            size = rng.choice((1, 2, 4, 8))
            value = rng.choice((0, 1, 255, (1 << 31) - 1, 1 << 31, (1 << 63) - 1, (1 << 64) - 1, len(out)))
            out[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        elif kind == 4:
            size = rng.randrange(1, 64)
            out[at : at + size] = bytes(len(out[at : at + size]))
        elif kind == 5:
            out[at:at] = out[at : at + rng.randrange(1, 64)]
        else:
            to = rng.randrange(len(out)) if out else 0
            size = rng.randrange(1, 64)
            piece = out[at : at + size]
            out[to : to + len(piece)] = piece
    return bytes(out)
