"""Random programs that reach for everything behind the issue ports at once: accesses of all widths and spaces, along
strides, gathered and to one word, past L1 and through it, textures, surfaces, constants, atomics, fences, barriers that
some warps do not live to see, branches around all of it, with random control codes (so hazards are not looked for)."""

from __future__ import annotations

from random import Random
from typing import Any

from binalloc.isa.instruction import Instr, Module
from binalloc.isa.table.opcodes import SPECIAL_REGISTERS
from binalloc.launch.types import Argument, Init, Launch, Texture
from tests.support.kits.emulator.small import address, module, op

WORDS = 1 << 16
"""Of the buffer `x`."""
SHARED_BYTES, LOCAL_BYTES = 8192, 96
BANK, BANK_BYTES = 3, 4096
_RZ, _ODD = 255, 0x9E3779B1
_SR = {name: number for number, name in enumerate(SPECIAL_REGISTERS)}


def crowd_launch(rng: Random, block: int, grid: int) -> Launch:
    """Its buffer, its texture and its surface, of a block and a grid."""
    sides = tuple(rng.choice((1, 3, 40)) for _ in range(2))
    texture = Texture(sides, address=("clamp", rng.choice(("clamp", "border"))), filter=rng.choice(("point", "linear")),
                      levels=max(sides).bit_length())
    arguments = (
        Argument("x", "buffer", "u32", (WORDS,)),
        Argument("t", "texture", "f32", sides, init=Init("random", seed=1), texture=texture),
        Argument("s", "surface", "u32", (64, 64), texture=Texture((64, 64))),
    )
    return Launch("k", (grid, 1, 1), (block, 1, 1), rng.choice((0, 0, 512)), arguments)


def crowd_program(rng: Random, machine: str) -> Module:
    """A loop over 4 to 40 random instructions that each warp runs through one to four times."""
    body = [instr for _ in range(rng.randrange(4, 40)) for instr in _some(rng)]
    head = [
        *address(), op("S2R", rd=1, sreg=_SR["SR_CTAID.X"]), *_pointers(rng),
        op("SHF", rd=12, ra=0, form=1, imm=5, rc=0, dir=1), op("IADD3", rd=12, ra=12, rb=1, rc=_RZ),
        op("LOP3", rd=12, ra=12, form=1, imm=rng.choice((0, 1, 3)), rc=_RZ, lut=0xC0),
        op("ISETP", pd0=1, ra=0, form=1, imm=rng.choice((1, 17, 40, 100)), icmp=1, u32cmp=1),
        op("ISETP", pd0=4, ra=0, form=1, imm=rng.choice((0, 1, 31, 33, 64, 96)), icmp=1, u32cmp=1),
        op("EXIT", guard=(4, bool(rng.randrange(2)))) if rng.randrange(3) == 0 else op("NOP"),
    ]  # fmt: skip
    tail = [
        op("IADD3", rd=12, ra=12, form=1, imm=0xFFFFFFFF, rc=_RZ),
        op("ISETP", pd0=3, ra=12, form=1, imm=0x80000000, icmp=1, u32cmp=1),
        op("BRA", stall=rng.randrange(1, 16), guard=(3, False), target=-(len(body) + 3), diverges=1, reconv=0),
        op("EXIT", stall=rng.randrange(16)),
    ]
    return module(
        [*head, *body, *tail], params={"x": 8, "t": 8, "s": 8}, machine=machine, shared_bytes=SHARED_BYTES,
        local_bytes=LOCAL_BYTES, registers=48, constants={BANK: bytes(range(256)) * (BANK_BYTES // 256)},
    )  # fmt: skip


def _pointers(rng: Random) -> list[Instr]:
    """R16: along a stride; R18: gathered; R20: of local memory; R14: of shared memory; R22: generic, of shared memory;
    R24, R25: coordinates, R26 the texture, R27 a level of it; R40 the surface."""
    return [
        op("IMAD.WIDE", rd=16, ra=0, form=1, imm=rng.choice((0, 4, 8, 12, 16, 32, 128, 132, 256)), rc=2),
        op("IMAD", rd=24, ra=0, form=1, imm=_ODD, rc=_RZ),
        op("SHF", rd=24, ra=24, form=1, imm=20, rc=_RZ, dir=1, hi=1),
        op("LOP3", rd=24, ra=24, form=1, imm=rng.choice((0xFF0, 0xFF8, 0x30, 0)), rc=_RZ, lut=0xC0),
        op("IMAD.WIDE", rd=18, ra=24, form=1, imm=rng.choice((1, 16)), rc=2),
        op("LOP3", rd=20, ra=0, form=1, imm=rng.choice((0, 0, 3)), rc=_RZ, lut=0xC0),
        op("SHF", rd=20, ra=20, form=1, imm=4, rc=_RZ, dir=0),
        op("IMAD", rd=14, ra=0, form=1, imm=rng.choice((0, 4, 8, 16)), rc=_RZ),
        op("LOP3", rd=14, ra=14, form=1, imm=0xFFF, rc=_RZ, lut=0xC0),
        op("S2R", rd=22, sreg=_SR["SR_SHARED_WINDOW"]), op("IADD3", rd=22, ra=22, rb=14, rc=_RZ),
        op("LOP3", rd=25, ra=0, form=1, imm=rng.choice((0, 1, 63)), rc=_RZ, lut=0xC0),
        op("MOV", rd=26, form=2, cbank=0, coff=8), op("MOV", rd=27, form=1, imm=rng.choice((0, 1, 5))),
        op("MOV", rd=40, form=2, cbank=0, coff=16),
    ]  # fmt: skip


def _some(rng: Random) -> list[Instr]:
    """One instruction, or a few that belong together."""
    code: dict[str, Any] = {
        "stall": rng.choice((0, 0, 1, 1, 1, 2, 5, 15)),
        "wait": rng.choice((0, 0, 0, 1 << rng.randrange(6), rng.randrange(64))),
        "guard": rng.choice(((7, False),) * 5 + ((1, False), (1, True), (7, True))),
    }
    data = {"width": rng.choice((0, 1, 2, 3, 4, 4, 4, 5, 6))}
    result = code | {"rd": 4 * rng.randrange(7, 10), "wbar": rng.choice((rng.randrange(6), rng.randrange(6), 7))}
    source = code | {"rb": 4 * rng.randrange(7, 10), "rbar": rng.choice((rng.randrange(6), 7))}
    place = {"ra": rng.choice((4, 16, 16, 18, 18, 2)), "moff": 16 * rng.randrange(5000)}
    if place["ra"] in (4, 16):
        data["width"] = min(data["width"], 4)
    cache = {"cache": rng.choice((0, 0, 0, 1, 2, 3))}
    return _KINDS[rng.choice(list(_KINDS))](rng, code, result | data, source | data, place, cache)


Fields = dict[str, Any]


def _without(fields: Fields, *names: str) -> Fields:
    return {name: value for name, value in fields.items() if name not in names}


def _arithmetic(rng: Random, code: Fields, *_: Fields) -> list[Instr]:
    registers = {"ra": rng.randrange(28, 40), "rb": rng.randrange(28, 40), "rc": rng.randrange(28, 40)}
    flags = {"reuse": rng.randrange(16)}
    return [
        op(rng.choice(("IADD3", "FFMA", "IMAD", "LOP3")), rd=rng.randrange(28, 40), **registers, **code, **flags)
        for _ in range(rng.choice((1, 2, 5)))
    ]


def _global(rng: Random, code: Fields, result: Fields, source: Fields, place: Fields, cache: Fields) -> list[Instr]:
    name = rng.choice(("LDG", "LDG", "LD", "STG", "ST"))
    return [op(name, **(result if name in ("LDG", "LD") else source), **place, **cache)]


def _atomic(rng: Random, code: Fields, result: Fields, source: Fields, place: Fields, cache: Fields) -> list[Instr]:
    name = rng.choice(("RED", "ATOMG", "ATOM"))
    wide = {"atyp": rng.choice((0, 0, 2)) if place["ra"] in (2, 18) else 0, "aop": 0}
    if name == "RED":
        return [op(name, **_without(source, "width"), **place, **wide)]
    more = {"rb": source["rb"], "rc": _RZ}
    return [op(name, **_without(result, "width"), **more, **place, **wide)]


def _shared(rng: Random, code: Fields, result: Fields, source: Fields, *_: Fields) -> list[Instr]:
    width = {"width": rng.choice((result["width"], 4))}
    place = {"ra": rng.choice((14, 14, _RZ)), "moff": 16 * rng.randrange(250)}
    if rng.randrange(5) == 0:
        more = _without(result, "width") | {"rb": source["rb"], "rc": _RZ}
        return [op("ATOMS", **more, **place, aop=0, atyp=0)]
    if place["ra"] == 14:
        width["width"] = min(width["width"], 4)
    if rng.randrange(2):
        return [op("LDS", **result | width, **place)]
    return [op("STS", **source | width, **place)]


def _local(rng: Random, code: Fields, result: Fields, source: Fields, *_: Fields) -> list[Instr]:
    place = {"ra": rng.choice((20, _RZ)), "moff": 16 * rng.randrange(3)}
    return [op("LDL", **result, **place) if rng.randrange(2) else op("STL", **source, **place)]


def _constant(rng: Random, code: Fields, result: Fields, *_: Fields) -> list[Instr]:
    if rng.randrange(2):
        at = 4 * rng.randrange(BANK_BYTES // 4)
        return [op("IADD3", rd=rng.randrange(28, 40), ra=29, form=2, cbank=BANK, coff=at, rc=30, **code)]
    return [op("LDC", **result | {"width": min(result["width"], 4)}, ra=rng.choice((20, _RZ)), cbank=BANK,
               coff=4 * rng.randrange(900))]  # fmt: skip


def _texture(rng: Random, code: Fields, result: Fields, *_: Fields) -> list[Instr]:
    rest = _without(result, "width")
    return [op("TEX", **rest, ra=24, rb=26, rc=_RZ, tdim=1, tcoord=1, tchan=0, tlod=rng.randrange(2))]


def _surface(rng: Random, code: Fields, result: Fields, source: Fields, *_: Fields) -> list[Instr]:
    """An element's address, asked for or used."""
    if rng.randrange(3) == 0:
        return [op("TXQ", **_without(result, "width"), ra=rng.choice((26, 40)), tquery=rng.randrange(9))]
    size, bound = rng.randrange(5), rng.choice((1, 2))
    where = {"rd": 42, "pd0": 2, "ra": 24, "rb": 40, "rc": _RZ, "tdim": 1, "sbound": bound, "ssize": size}
    access, at = {"width": (0, 2, 4, 5, 6)[size], "ra": 42, "guard": (2, False)}, _without(code, "guard")
    found = op("SUADDR", **where, wbar=rng.choice((3, 7)), **at)
    if size > 2:  # x is a multiple of 8 where it is one of anything
        return [found]
    if rng.randrange(2):
        return [found, op("LDG", **_without(result, *access), **access)]
    return [found, op("STG", **_without(source, *access), **access)]


def _slow(rng: Random, code: Fields, result: Fields, *_: Fields) -> list[Instr]:
    rest = _without(result, "width")
    return [
        rng.choice((
            op("MUFU", rb=29, func=0, **rest), op("S2R", sreg=_SR["SR_CLOCKLO"], **rest),
            op("DADD", rd=28, ra=30, rb=32, **code), op("CS2R", rd=33, sreg=_SR["SR_CLOCKLO"], **code),
            op("SHFL", ra=29, shfl=3, limm=1, laneimm=1, cimm=1, clampimm=31, **rest),
        ))
    ]  # fmt: skip


def _order(rng: Random, code: Fields, result: Fields, *_: Fields) -> list[Instr]:
    kind = rng.randrange(4)
    if kind == 0:
        return [op("MEMBAR", scope=rng.randrange(3), wbar=result["wbar"], **code)]
    if kind == 1:
        plain = _without(code, "guard")
        return [op("BRA", guard=(1, bool(rng.randrange(2))), target=1, diverges=1, reconv=1, **plain),
                op("IMAD", rd=30, ra=29, rb=28, rc=31, **code)]  # fmt: skip
    if kind == 2:
        return [op("NOP", **code)]
    return [op("BAR", form=1, imm=0, **_without(code, "guard"))]


_KINDS = {
    "arithmetic": _arithmetic, "global": _global, "more": _global, "atomic": _atomic, "shared": _shared,
    "local": _local, "constant": _constant, "texture": _texture, "surface": _surface, "slow": _slow, "order": _order,
}  # fmt: skip
