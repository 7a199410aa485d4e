"""This module lowers branches, the ends of threads and functions, barriers, fences, and hints about time.

It needs the context's labels (blocks) and `ends` (labels behind which a kernel's thread only ends). A conditional
branch becomes a guarded BRA without a reconvergence point: allocation adds it.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Guard, Imm, Source, imm, low_bits
from binalloc.frontend.ir import RZ
from binalloc.frontend.lower.context.context import Context, Fields, Handler
from binalloc.frontend.lower.context.modifiers import Modifiers
from binalloc.frontend.lower.memory import address
from binalloc.frontend.lower.memory.memory import SCOPES
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import Instruction
from binalloc.isa.instruction import LANES

BARRIERS = 16  # PTX numbers the barriers of a block from 0 to 15


def branch(ctx: Context, ins: Instruction) -> None:
    """Lower bra."""
    m = ctx.modifiers()
    uniform = m.has("uni")
    m.done()
    (target,) = ctx.operands(1)
    label = target.name if isinstance(target, ast.Symbol) else ""
    if label not in ctx.labels:
        ctx.refuse("branch to what is no label", expected="a label of this function")
    _jump(ctx, label, ctx.guard, uniform)


def _jump(ctx: Context, label: str, guard: Guard | None, uniform: bool) -> None:
    """Branch to a label. Where only the thread's end follows, end the lanes at once, so that later barriers see live
    lanes only."""
    if label in ctx.ends:
        end(ctx, "EXIT", guard)
    else:
        ctx.b.branch(ctx.labels[label], guard, uniform=uniform and guard is not None)


def end(ctx: Context, name: str, guard: Guard | None) -> None:
    """Emit EXIT or RET. Without a guard it ends the block."""
    ctx.b.emit(name, guard=guard)
    if guard is None:
        ctx.b.start(ctx.b.label())
    elif name == "RET":
        ctx.converged = (None, set())  # lanes have left the block without ending: WARPSYNC must check again


def indexed_branch(ctx: Context, ins: Instruction) -> None:
    """Lower brx.idx to a chain of comparisons and branches."""
    m = ctx.modifiers()
    if not m.has("idx"):
        ctx.refuse("brx without .idx", expected="brx.idx index, list")
    uniform = m.has("uni")
    m.done()
    index, name = ctx.operands(2)
    targets = ctx.function.branch_targets.get(name.name, ()) if isinstance(name, ast.Symbol) else ()
    if not targets:
        ctx.refuse("no list of branch targets", expected="the label of a .branchtargets directive")
    unit = ctx.b.unit(ctx.word(index, "u32"))
    skip = -1
    if ctx.guard is not None:
        skip = ctx.b.label()
        ctx.b.branch(skip, (ctx.guard[0], not ctx.guard[1]), uniform=uniform)
    for k, label in enumerate(targets[:-1]):
        equal = ctx.b.predicate()
        ctx.b.emit("ISETP", pd0=equal, a=unit, b=Imm(k), icmp="EQ", u32cmp="U32")
        _jump(ctx, label, (equal, False), uniform)
    _jump(ctx, targets[-1], None, False)  # an index beyond the list is undefined
    if skip >= 0:
        ctx.b.start(skip)


def leave(ctx: Context, ins: Instruction) -> None:
    """Lower ret and exit. In a kernel both are EXIT."""
    m = ctx.modifiers()
    m.has("uni")
    m.done()
    ctx.operands(0)
    end(ctx, "EXIT" if ins.op == "exit" or ctx.function.is_entry else "RET", ctx.guard)


def trap(ctx: Context, ins: Instruction) -> None:
    """Lower trap, and brkpt: there is no debugger that would continue."""
    ctx.modifiers().done()
    ctx.operands(0)
    fault(ctx)


def fault(ctx: Context) -> None:
    """Stop the kernel with an error: a store to generic address 0, where no memory is, faults."""
    ctx.b.emit("ST", ra=RZ, moff=0, rb=RZ, width="32", guard=ctx.guard)
    end(ctx, "EXIT", ctx.guard)


def nothing(ctx: Context, ins: Instruction) -> None:
    """Lower an instruction without effect to NOP. No value depends on nanosleep and pmevent. A launch begins when the
    one before has ended, so that griddepcontrol has nothing to wait for."""
    if ins.op == "griddepcontrol":
        m = ctx.modifiers()
        if not m.take("wait", "launch_dependents"):
            m.refuse("griddepcontrol without an action", expected=".wait or .launch_dependents")
        m.done()
        ctx.operands(0)
    if ins.op == "nanosleep":
        m = ctx.modifiers()
        m.type("u32")
        m.done()
        ctx.word(ctx.operands(1)[0], "u32")
    ctx.b.emit("NOP", guard=ctx.guard)


# ---------------------------------------------------------------------------------------------------------------------
# Barriers and fences.


def constant(ctx: Context, operand: ast.Operand) -> int | None:
    """Return the value of an integer operand that is known here: an immediate, or a register with only this value."""
    if isinstance(operand, ast.Integer):
        return low_bits(operand.value, 32)
    if isinstance(operand, ast.Register):
        known = ctx.scan.constants.get(operand.name)
        return known if known is None else low_bits(known, 32)
    return None


def barrier(ctx: Context, ins: Instruction) -> None:
    """Lower bar and barrier: {.cta}.sync, .arrive, .red.popc/.and/.or, {.aligned}, bar.warp.sync."""
    m = ctx.modifiers()
    m.has("cta")
    if ins.op == "bar" and m.has("warp"):
        m.has("sync")
        m.done()
        member_mask(ctx, ctx.operands(1)[0], anew=True)
        return
    kind = m.take("sync", "arrive", "red")
    m.has("aligned")
    combine = m.take("popc", "and", "or") if kind == "red" else ""
    if not kind or (kind == "red") != bool(combine):
        ctx.refuse("not a barrier that is supported", expected=".sync, .arrive, .red.popc, .red.and or .red.or")
    fields: Fields = {"bar": {"sync": "SYNC", "arrive": "ARV", "red": f"RED.{combine.upper()}"}[kind]}
    operands = list(ins.operands)
    rd: int | None = None
    if kind == "red":
        m.type(*(("u32",) if combine == "popc" else ("pred",)))
        ctx.operands(3, 4)
        if combine == "popc":
            rd = ctx.dest(operands.pop(0), "u32")
        else:
            fields["pd0"] = ctx.dest_predicate(operands.pop(0))
        fields["ps0"], fields["ps0n"] = ctx.predicate(operands.pop())
    else:
        ctx.operands(2) if kind == "arrive" else ctx.operands(1, 2)
    m.done()
    _barrier_nodes(ctx, operands[0], _threads(ctx, operands[1:]), rd, fields)


def _threads(ctx: Context, operands: list[ast.Operand]) -> Source:
    """Return the number of threads that take part; zero for all."""
    if not operands:
        return RZ
    known = constant(ctx, operands[0])
    if known is None:
        return ctx.word(operands[0], "u32")
    if known < 0 or known % LANES:
        ctx.refuse(f"a barrier of {known} threads", expected=f"a multiple of {LANES}")
    return imm(known) if known else RZ


def _barrier_nodes(ctx: Context, number: ast.Operand, threads: Source, rd: int | None, fields: Fields) -> None:
    known = constant(ctx, number)
    if known is not None:
        if not 0 <= known < BARRIERS:
            ctx.refuse(f"barrier {known}", expected=f"0..{BARRIERS - 1}")
        ctx.b.emit("BAR", rd=rd, barid=known, b=threads, guard=ctx.guard, **fields)
        return
    unit = ctx.b.unit(ctx.word(number, "u32"))
    after = ctx.b.label()
    if ctx.guard is not None:
        ctx.b.branch(after, (ctx.guard[0], not ctx.guard[1]))
    for k in range(BARRIERS):  # one BAR for each number, which is a field of the instruction; all lanes agree on it
        equal, following = ctx.b.predicate(), ctx.b.label()
        ctx.b.emit("ISETP", pd0=equal, a=unit, b=Imm(k), icmp="EQ", u32cmp="U32")
        ctx.b.branch(following, (equal, True), uniform=True)
        ctx.b.emit("BAR", rd=rd, barid=k, b=threads, **fields)
        ctx.b.branch(after)
        ctx.b.start(following)
    ctx.b.emit("ST", ra=RZ, moff=0, rb=RZ, width="32")  # no such barrier: the access faults
    ctx.b.start(after)


def member_mask(ctx: Context, operand: ast.Operand, *, anew: bool = False) -> Source:
    """Return the mask of the lanes that take part in a warp operation, and emit its check.

    The check is a WARPSYNC. It faults where a named lane that has not ended is elsewhere. One check per block is
    enough, since lanes leave a block only by ending. anew: check again, because the WARPSYNC also has to order memory
    accesses.
    """
    known = constant(ctx, operand)
    mask = imm(known) if known is not None else ctx.word(operand, "b32")
    key: object = mask
    if ctx.converged[0] is not ctx.b.block:
        ctx.converged = (ctx.b.block, set())
    single = known is not None or (isinstance(operand, ast.Register) and ctx.scan.definitions.get(operand.name) == 1)
    if single and not anew and (key, ctx.guard) in ctx.converged[1]:
        return mask
    ctx.b.emit("WARPSYNC", b=mask, guard=ctx.guard)
    if single and ctx.guard is None:
        ctx.converged[1].add((key, None))
    return mask


_PROXIES = ("alias", "async", "async::generic", "tensormap::generic")  # suffixes of fence.proxy
_RESTRICTED = ("sync_restrict::shared::cta", "sync_restrict::shared::cluster")
"""Suffixes that restrict a fence to some accesses."""


def fence(ctx: Context, ins: Instruction) -> None:
    """Lower membar and fence: they order the thread's memory accesses as seen in a scope.

    There is nothing to order between proxies, as all accesses take the same path. So a `fence.proxy` is a fence where
    it names a scope, else nothing. A fence restricted to some accesses orders all of them.
    """
    m = ctx.modifiers()
    if m.has("proxy"):
        _proxy_fence(ctx, m)
        return
    m.take("sc", "acq_rel", "acquire", "release")
    m.take("mbarrier_init", *_RESTRICTED)
    scope = m.take(*SCOPES)
    if not scope:
        ctx.refuse("a fence without a scope", expected=".cta, .gpu (.gl) or .sys")
    m.done()
    ctx.operands(0)
    ctx.b.emit("MEMBAR", scope=SCOPES[scope], guard=ctx.guard)


def _proxy_fence(ctx: Context, m: Modifiers) -> None:
    """Lower fence.proxy: .alias, .async and .async.space, or .tensormap::generic and .async::generic with .acquire or
    .release."""
    kind = m.take(*_PROXIES)
    if kind == "async":
        m.take("global", "shared::cta", "shared::cluster")
    order = m.take("acquire", "release")
    m.take(*_RESTRICTED)
    scope = m.take(*SCOPES)
    m.done()
    if not kind or bool(scope) != bool(order) or bool(scope) != kind.endswith("::generic"):
        m.refuse("not a fence between proxies", expected=".alias, .async, or .tensormap::generic with order and scope")
    ranged = kind == "tensormap::generic" and order == "acquire"
    operands = ctx.operands(2 if ranged else 0)
    if ranged:
        address.wide(ctx, operands[0], "generic")
        ctx.word(operands[1], "u32")
    if scope:
        ctx.b.emit("MEMBAR", scope=SCOPES[scope], guard=ctx.guard)
    else:
        ctx.b.emit("NOP", guard=ctx.guard)


EFFECTS: dict[str, Handler] = {
    "bra": branch,
    "brx": indexed_branch,
    "ret": leave,
    "exit": leave,
    "trap": trap,
    "brkpt": trap,
    "griddepcontrol": nothing,
    "nanosleep": nothing,
    "pmevent": nothing,
    "bar": barrier,
    "barrier": barrier,
    "membar": fence,
    "fence": fence,
}
PURE: dict[str, Handler] = {}
