"""Facts about resources and layout: what a rewrite must leave as it is, and what its declared sizes must cover.

Needs the two modules and the reachable functions' `Code`; answers findings and changes nothing.
"""

from __future__ import annotations

from dataclasses import replace

from binalloc.isa.instruction import Function, FunctionInfo, Module
from binalloc.isa.interface import REG
from binalloc.verify.code import Code, text
from binalloc.verify.product import Product
from binalloc.verify.report import Finding

NO_REGISTER = 255
_UNCHANGED = ("kind", "shared_bytes", "block", "max_threads", "params")


def check_module(original: Module, rewritten: Module, old: Function, new: Function) -> list[Finding]:
    """Kernel facts and constants that a rewrite may not change."""
    out = []
    for name in _UNCHANGED:
        before, after = getattr(old.info, name), getattr(new.info, name)
        if before != after:
            out.append(_changed(new.name, f"the kernel's {name}", str(before), str(after)))
    if old.shared != new.shared:
        out.append(_changed(new.name, "the shared variables", str(old.shared), str(new.shared)))
    for bank, data in sorted(original.constants.items()):
        if not rewritten.constants.get(bank, b"").startswith(data):
            out.append(_changed(new.name, f"constant bank {bank}", f"{len(data)} bytes, unchanged", "other bytes"))
    if original.globals != rewritten.globals:
        names = [", ".join(f"{v.name} at {v.address:#x}" for v in m.globals) or "none" for m in (original, rewritten)]
        out.append(_changed(new.name, "the global variables", names[0], names[1]))
    if original.constant_vars != rewritten.constant_vars:
        names = [", ".join(v.name for v in m.constant_vars) or "none" for m in (original, rewritten)]
        out.append(_changed(new.name, "the constant variables", names[0], names[1]))
    if new.info.slot_bytes % 128 or new.info.slot_bytes < 0 or new.info.spill_local < 0:
        out.append(_changed(new.name, "slot_bytes", "a multiple of 128", str(new.info.slot_bytes)))
    for info in (old.info, new.info):
        if not 0 <= info.local_stack <= NO_REGISTER or not 0 <= info.slot_pointer <= NO_REGISTER:
            out.append(Finding("resources", "a register number is out of range", new.name))
    return out


def check_untouched(original: Module, rewritten: Module, checked: set[int]) -> list[Finding]:
    """Functions outside the checked kernel's call graph: those without an instruction map must be as they were.

    checked: identities of the functions the lockstep covers. Functions with a map belong to another kernel's rewrite,
    which its own check answers for. Control codes and addresses may differ.
    """
    out = []
    before = {fn.name: fn for fn in original.functions}
    after = {fn.name for fn in rewritten.functions}
    for fn in original.kernels():
        if fn.name not in after:
            out.append(Finding("kernel", "a kernel of the original is missing", fn.name))
    for fn in rewritten.functions:
        if id(fn) in checked or fn.origin is not None:
            continue
        old = before.get(fn.name)
        if old is None:
            out.append(Finding("map", "a new function has no instruction map", fn.name))
        elif _plain(original, old) != _plain(rewritten, fn):
            out.append(Finding("map", "changed without an instruction map that says how", fn.name))
    return out


def _plain(module: Module, fn: Function) -> tuple[object, ...]:
    """A function apart from control codes and addresses."""
    words = []
    for i, instr in enumerate(fn.instrs):
        f = dict(instr.f)
        callee = None
        if instr.op.control == "call":
            callee = module.callee(fn, i)
            del f["target"]
        words.append((instr.op.code, f, instr.guard, instr.guard_neg, callee.name if callee else ""))
    return words, replace(fn.info, machine=""), fn.shared


def changed_registers(old: FunctionInfo, new: FunctionInfo) -> frozenset[str]:
    """Special registers that read differently in the two programs."""
    return frozenset() if old.slot_bytes == new.slot_bytes else frozenset(("SR_SLOTBASE", "SR_TOTAL_SMEM"))


def check_accesses(codes: list[Code], info: FunctionInfo) -> list[Finding]:
    """Every register named must be among those the kernel reserves."""
    out = []
    seen: set[int] = set()
    for code in codes:
        if id(code) in seen:
            continue
        seen.add(id(code))
        for i, view in enumerate(code.views):
            top = max((r.index + r.units for r in (*view.defs, *view.uses) if r.file == REG), default=0)
            if top > info.registers:
                found = f"R{top - 1}"
                message = "a register lies outside what the kernel reserves"
                out.append(
                    Finding(
                        "resources", message, code.name, i, expected=f"R0..R{info.registers - 1}", found=found,
                        instruction=text(code.fn, i),
                    )
                )  # fmt: skip
                break
    return out


def check_locals(products: list[Product], old: FunctionInfo, new: FunctionInfo) -> list[Finding]:
    """Lifting local words to values is sound only if every access that may touch them is followed symbolically.

    Words whose loads and stores were left out must not be touched by any access that still goes to memory: those at
    fixed addresses are compared, those at computed and generic ones forbid lifting altogether: the local window's place
    is known to everyone, so that any 64-bit address may lie in it.
    """
    lifted = {
        w
        for p in products
        for i in p.silent_locals
        for access in (p.old.locals[i],)
        if access is not None and not access.spill
        for w in access.words
    }
    out = []
    reach = 0  # bytes that accesses left in memory need; all of them where an address is computed
    for product in products:
        for i in sorted(product.matched):
            memory = product.old.views[i].memory
            if memory is None or memory.spill or memory.space not in ("local", "generic"):
                continue
            anywhere = memory.base is not None or memory.space == "generic"
            end = memory.offset + memory.size if memory.space == "local" else 0
            reach = max(reach, old.local_bytes if anywhere else end)
            touched = range(memory.offset // 4, (end + 3) // 4)
            if lifted and (anywhere or not lifted.isdisjoint(touched)):
                out.append(_clash(product, i))
    if not min(reach, old.local_bytes) <= new.local_bytes <= old.local_bytes:
        name = products[-1].new.name if products else ""
        out.append(_changed(name, "local_bytes", str(old.local_bytes), str(new.local_bytes)))
    return out


def _clash(product: Product, i: int) -> Finding:
    return Finding(
        "local",
        "local words became values, but this access may still reach them in memory",
        product.new.name,
        -1,
        product.old.name,
        i,
        text(product.old.fn, i),
    )


def _changed(function: str, what: str, expected: str, found: str) -> Finding:
    return Finding("resources", f"{what} changed", function, -1, expected=expected, found=found)
