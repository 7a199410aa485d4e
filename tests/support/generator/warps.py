"""Idioms of wide programs about warps and blocks: barriers of every kind, conditions on which all lanes agree, early
ends of threads, matrices that a warp loads together, comparisons with one predicate as both results."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tests.support.generator.memory import IMM, RZ, SR, Kind
from tests.support.generator.options import Options
from tests.support.programs.builder import ALWAYS, Guard

if TYPE_CHECKING:
    from tests.support.generator.ops import Ops

PT = 7


def warp_kinds(ops: Ops, o: Options) -> list[Kind]:
    """(weight, idiom) of what the options ask for."""
    kinds: list[Kind] = []
    if o.barriers:
        kinds.append((4, partial(barrier, ops)))
    if o.leaving:
        kinds.append((1, partial(leave, ops)))
    if o.aliases:
        kinds.append((4, partial(alias, ops)))
    if o.hops:
        kinds += [(2, partial(sees_lanes, ops)), (1, partial(harmless, ops))]
    if o.matrices and o.shared:
        kinds.append((4, partial(matrices, ops)))
    return kinds


def split_condition(ops: Ops) -> Guard | None:
    """A predicate that holds in some lanes only, None where no register is free to make it."""
    r, at, p = ops.rng, ops.dst(), ops.rng.randrange(7)
    if at == RZ:
        return None
    ops.put("S2R", rd=at, sreg=SR["SR_LANEID"])
    if r.random() < 0.5:
        ops.put("LOP3", rd=at, ra=at, form=IMM, imm=r.randrange(1, 32), lut=0xC0, rc=RZ)
        ops.put("ISETP", pd0=p, ra=at, form=IMM, imm=0, icmp=r.choice([2, 4]))
    else:
        ops.put("ISETP", pd0=p, ra=at, form=IMM, imm=r.randrange(1, 32), icmp=r.randrange(1, 7))
    return p, r.random() < 0.5


def uniform_condition(ops: Ops, *, block: bool) -> Guard:
    """A fresh predicate on which all active lanes agree; with `block`, all threads of the block."""
    r, p = ops.rng, ops.rng.randrange(7)
    pick = r.random()
    at = ops.dst()
    if pick < 0.4 or at == RZ:
        ops.put("ISETP", pd0=p, ra=RZ, form=2, cbank=0, coff=ops.params.scalar, icmp=r.randrange(8))
    elif block or pick < 0.6:
        ops.put("S2R", rd=at, sreg=SR["SR_CTAID.X"])
        ops.put("ISETP", pd0=p, ra=at, form=IMM, imm=r.randrange(3), icmp=r.randrange(8))
    elif pick < 0.8 or ops.apart:
        ops.put("S2R", rd=at, sreg=SR["SR_WARPID"])
        ops.put("ISETP", pd0=p, ra=at, form=IMM, imm=r.randrange(2), icmp=r.randrange(8))
    else:
        ops.put("VOTE", rd=r.choice([at, RZ]), pd0=p, vote=r.randrange(3), **ops.psrc("ps0"))
    return p, r.random() < 0.5


def barrier(ops: Ops) -> None:
    """A barrier that all threads of the block come to, of a random kind; or a hand-over from warp 0 to warp 1."""
    r, o = ops.rng, ops.options
    if not ops.uniform:
        return
    pick = r.random()
    if pick < 0.2 and o.block == 64 and not ops.exits:
        _hand_over(ops)
        return
    if pick < 0.25:
        ops.put("WARPSYNC", form=IMM, imm=r.choice([0xFFFFFFFF, r.getrandbits(32)]))
        ops.put("MEMBAR", scope=r.randrange(3))
    guard = uniform_condition(ops, block=True) if r.random() < 0.3 else ALWAYS
    f = {"barid": r.randrange(16), "bar": r.choice([0, 2, 3, 4])} | _count(ops)
    if f["bar"]:  # POPC counts into rd, AND and OR say into pd0
        f |= ({"rd": ops.dst()} if f["bar"] == 2 else {"pd0": ops.pdst()}) | ops.psrc("ps0")
    ops.put("BAR", guard, **f)


def _count(ops: Ops) -> dict[str, int]:
    """How many threads take part: not said, or said by an immediate or a register."""
    pick = ops.rng.random()
    at = ops.dst()
    if pick < 0.5 or ops.exits or at == RZ:
        return {"form": IMM, "imm": 0}
    if pick < 0.75:
        return {"form": IMM, "imm": ops.options.block}
    ops.put("MOV", rd=at, form=IMM, imm=ops.options.block)
    return {"rb": at}


def _hand_over(ops: Ops) -> None:
    """Warp 0 arrives, warp 1 waits for it, then all meet, so that the barrier is free again."""
    at, p, code = ops.dst(), ops.rng.randrange(7), ops.code
    if at == RZ:
        return
    barid = ops.rng.randrange(1, 16)
    ops.put("S2R", rd=at, sreg=SR["SR_WARPID"])
    ops.put("ISETP", pd0=p, ra=at, form=IMM, imm=0, icmp=2)
    first, join = code.new_label(), code.new_label()
    code.bra(first, None, (p, False))
    ops.put("BAR", form=IMM, imm=64, barid=barid)
    code.bra(join)
    code.label(first)
    ops.put("BAR", form=IMM, imm=64, barid=barid, bar=1)
    code.label(join)
    ops.put("BAR", form=IMM, imm=0)


def matrices(ops: Ops) -> None:
    """Each thread writes a word, and its warp loads matrices whose rows are anywhere in what the block wrote. The lanes
    of one warp see each other's words without a barrier, but where the memory model is PTX's."""
    r, o = ops.rng, ops.options
    if not ops.uniform or ops.exits or o.block < 32:
        return
    address, value, row = ops.dst(), ops.src(), ops.src()
    if address in (RZ, value, row):
        return
    var, count = r.choice(ops.params.shared), r.randrange(3)
    units = (1, 2, 4)[count]
    step = r.choice([0, 0, 16])
    ops.put("S2R", rd=address, sreg=SR["SR_TID.X"])
    ops.put("SHF", rd=address, ra=address, form=IMM, imm=2, rc=RZ)
    ops.put("STS", ra=address, rb=value, moff=var.offset, width=4)
    alone = o.block == 32 and o.neighbours != "ptx" and r.random() < 0.6
    if not alone:
        ops.put("BAR", form=IMM, imm=0)
    ops.put("LOP3", rd=address, ra=row, form=IMM, imm=4 * o.block - 16 - 2 * step, lut=0xC0, rc=RZ)
    fields = {"ra": address, "moff": var.offset + step, "mform": r.randrange(2), "mats": count}
    ops.put("LDSM.16", units=units, rd=ops.dst(units), **fields)
    if not alone:
        ops.put("BAR", form=IMM, imm=0)


def leave(ops: Ops) -> None:
    """Some threads store a register and end. Not in a loop: what the body did before would have to bear it too."""
    o = ops.options
    guard = None if ops.in_loop else split_condition(ops)
    pair, value = ops.dst(2), ops.src()
    if guard is None or pair == RZ or value in (pair, pair + 1):
        return
    slice_address(ops, pair)
    moff = 4 * ops.rng.randrange(o.slice_bytes // 4)
    ops.put("STG", guard, ra=pair, rb=value, moff=moff, width=4)
    ops.code.emit("EXIT", guard)
    ops.exits = True


def slice_address(ops: Ops, pair: int) -> None:
    """Into `pair` the address of the thread's slice of the output."""
    o = ops.options
    ops.put("S2R", rd=pair, sreg=SR["SR_TID.X"])
    ops.put("S2R", rd=pair + 1, sreg=SR["SR_CTAID.X"])
    ops.put("LEA", rd=pair, ra=pair + 1, rb=pair, shift=o.block.bit_length() - 1)
    ops.put("MOV", rd=pair + 1, form=IMM, imm=o.slice_bytes)
    ops.put("IMAD.WIDE", units=2, rd=pair, ra=pair, form=4, rc=pair + 1, cbank=0, coff=ops.params.output, u32=1)


def alias(ops: Ops) -> None:
    """Both results into one predicate: the second stands."""
    r, p = ops.rng, ops.rng.randrange(7)
    name = r.choice(["PLOP3", "PLOP3", "ISETP", "FSETP", "IADD3"])
    both = {"pd0": p, "pd1": p}
    if name == "PLOP3":
        ready = sorted(ops.preds)
        f = both | {"lut_b": r.choice([0, 255, r.randrange(256)]), "lut2": r.choice([0, 255, r.randrange(256)])}
        if ready and r.random() < 0.6:
            f |= ops.psrc("ps0") | ops.psrc("ps1") | ops.psrc("ps2")
        ops.put("PLOP3", ops.guard(), **f)
        return
    f = both | {"ra": ops.src()} | ops.flexible(name, 1, 1 if name == "IADD3" else 0)
    if name == "IADD3":
        f["rd"] = ops.dst()
    else:
        f |= {"bop": r.randrange(3)} | ops.psrc("ps0")
        f |= {"icmp": r.randrange(8)} if name == "ISETP" else {"fcmp": r.randrange(16)}
    ops.put(name, ops.guard(), **f)


def sees_lanes(ops: Ops) -> None:
    """An operation whose result tells which lanes are active."""
    r = ops.rng
    pick = r.random()
    if pick < 0.4:
        source = {"ps0": PT, "ps0n": 0} if r.random() < 0.6 else ops.psrc("ps0")
        ops.put("VOTE", rd=ops.dst(), pd0=ops.pdst(True), vote=r.randrange(3), **source)
    elif pick < 0.7:
        units = 2 if ops.options.wide and r.random() < 0.3 else 1
        f = {"rd": ops.dst(), "pd0": ops.pdst(True), "ra": ops.src(units), "match": r.randrange(2), "m64": units - 1}
        ops.put("MATCH", **f)
    else:
        f = {"rd": ops.dst(), "ra": ops.src(), "pd0": ops.pdst(True), "shfl": r.randrange(4)}
        ops.put("SHFL", **f, limm=1, laneimm=r.randrange(32), cimm=1, clampimm=31)


def harmless(ops: Ops) -> None:
    """What a rewriter is free to leave out: copies onto themselves, words without a result, guards that never hold."""
    r = ops.rng
    pick = r.randrange(4)
    if pick == 0:
        own = ops.src()
        ops.put("MOV", rd=own, rb=own)
    elif pick == 1:
        ops.put("NOP")
    elif pick == 2:
        ops.put("IADD3", rd=RZ, ra=ops.src(), form=IMM, imm=ops.imm(), rc=RZ)
    else:
        ops.code.emit("MOV", (PT, True), rd=ops.dst(), form=IMM, imm=ops.imm())
