"""This module checks resources and layout: what a rewrite must leave unchanged, and what its declared sizes must cover.

Needs the two modules and the reachable functions' `FunctionCode`; returns findings and changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from binalloc.isa.instruction import NO_REGISTER, Function, FunctionInfo, Module
from binalloc.isa.interface.instruction_set import SetLimits
from binalloc.isa.interface.places import REG, SLOT_ROW
from binalloc.isa.interface.view import Ref, View
from binalloc.isa.kinds import Space
from binalloc.isa.source_facts import LOOM, SourceFacts
from binalloc.verify.product import Product
from binalloc.verify.reading.code import FunctionCode, at_fixed_place, text
from binalloc.verify.report import Finding

REGISTER_UNIT = 8
"""Registers may be rounded up to a multiple of this, as machines allocate them."""
_OF_A_CALLEE = ("registers", "machine", "local_frame", "slot_pointer")  # fields of a callee that may change
# fields of a kernel that may not change
_UNCHANGED = ("kind", "shared_bytes", "block", "max_threads", "params", *vars(SourceFacts()))


def check_module(original: Module, rewritten: Module, old: Function, new: Function) -> list[Finding]:
    """Check kernel facts and constants that a rewrite may not change."""
    out = []
    for name in _UNCHANGED:
        before, after = getattr(old.info, name), getattr(new.info, name)
        if before != after:
            words = _apart(before, after) if name == "params" else (str(before), str(after))
            out.append(_changed(new.name, f"the kernel's {name}", *words))
    if old.shared != new.shared:
        out.append(_changed(new.name, "the shared variables", str(old.shared), str(new.shared)))
    if original.memory_model == LOOM != rewritten.memory_model:
        out.append(_changed(new.name, "the memory model", LOOM, rewritten.memory_model))
    out += check_data(original, rewritten)
    if new.info.slot_bytes % SLOT_ROW or new.info.slot_bytes < 0 or new.info.spill_local < 0:
        out.append(_changed(new.name, "slot_bytes", f"a multiple of {SLOT_ROW}", str(new.info.slot_bytes)))
    if new.info.local_stack != NO_REGISTER and old.info.local_stack == NO_REGISTER:
        out.append(_changed(new.name, "the local stack register", "none", f"R{new.info.local_stack}"))
    for info in (old.info, new.info):
        if not 0 <= info.local_stack <= NO_REGISTER or not 0 <= info.slot_pointer <= NO_REGISTER:
            out.append(Finding("resources", "a register number is out of range", new.name))
    return out


def check_data(original: Module, rewritten: Module) -> list[Finding]:
    """Check constants and variables of the module."""
    out = []
    for bank, data in sorted(original.constants.items()):
        found = rewritten.constants.get(bank)
        if found is None or not found.startswith(data):
            words = "no such bank" if found is None else _bytes_apart(data, found)
            out.append(_changed("", f"constant bank {bank}", f"{len(data)} bytes, unchanged", words))
    if original.globals != rewritten.globals:
        out.append(_changed("", "the global variables", *_apart(original.globals, rewritten.globals)))
    if original.constant_vars != rewritten.constant_vars:
        out.append(_changed("", "the constant variables", *_apart(original.constant_vars, rewritten.constant_vars)))
    return out


def _bytes_apart(old: bytes, new: bytes) -> str:
    """Return where bytes that are not the same first differ."""
    at = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(new))
    return f"other bytes from offset {at:#x}" if at < len(new) else f"{len(new)} bytes"


def _apart(old: Sequence[Any], new: Sequence[Any]) -> tuple[str, str]:
    """Return the first pair of declarations that differ, in as many words as distinguish them."""
    for a, b in zip_longest(old, new):
        if a != b:
            return _declared(a, b), _declared(b, a)
    return "", ""


def _declared(item: Any, other: Any) -> str:
    """Return a declaration's name, and the fields in which it differs from `other`."""
    if item is None:
        return "none"
    if other is None:
        return str(item.name)
    parts = []
    for key, value in vars(item).items():
        theirs = getattr(other, key)
        if value != theirs and key != "name":
            shown = f"with {_bytes_apart(theirs, value)}" if isinstance(value, bytes) else f"{key} {value}"
            parts.append(shown)
    return " ".join([str(item.name), *parts])


def check_callee(old: Function, new: Function, views: list[View], kernel: FunctionInfo) -> list[Finding]:
    """Check a function that the kernel calls: only registers may differ, and a local frame may shrink.

    views: of the new function's instructions.
    """
    out = []
    for name, before in vars(old.info).items():
        after = getattr(new.info, name)
        if before != after and name not in _OF_A_CALLEE:
            out.append(_changed(new.name, f"the function's {name}", str(before), str(after)))
    if old.shared != new.shared:
        out.append(_changed(new.name, "the shared variables", str(old.shared), str(new.shared)))
    if not 0 <= new.info.local_frame <= old.info.local_frame:
        found = str(new.info.local_frame)
        out.append(_changed(new.name, "the function's local_frame", f"{old.info.local_frame} at most", found))
    used = max(map(_registers, views), default=0)
    if not used <= new.info.registers <= max(_rounded(used), old.info.registers):
        out.append(_changed(new.name, "the function's registers", str(used), str(new.info.registers)))
    if new.info.slot_pointer not in (NO_REGISTER, kernel.slot_pointer):
        expected = f"none, or the kernel's R{kernel.slot_pointer}"
        out.append(_changed(new.name, "the function's slot_pointer", expected, f"R{new.info.slot_pointer}"))
    return out


def check_reserved(
    codes: list[FunctionCode], rows: int, old: FunctionInfo, new: FunctionInfo, follow: bool
) -> list[Finding]:
    """Check that the kernel reserves no more than it uses: the reserve decides how many blocks run at once.

    rows: slots that are used, and slots that are to be idle. follow: the original has no spill accesses of its own; if
    it has, its slots and spill area must be as they were.
    """
    out = []
    name = codes[-1].name if codes else ""
    used = max((_registers(view) for code in codes for view in code.views), default=0)
    named = [r + 1 for r in (new.local_stack, new.slot_pointer) if r != NO_REGISTER]
    if new.registers > max(_rounded(max([used, *named])), old.registers):
        out.append(_more(name, "registers", used, new.registers))
    if new.slot_bytes // SLOT_ROW > rows:
        out.append(_more(name, "slots", rows, new.slot_bytes // SLOT_ROW))
    if follow:
        spills = [m for c in codes for v in c.views if (m := v.memory) and m.spill and m.space == Space.LOCAL]
        ends = [m.offset + m.size for m in spills]
        end = max(ends, default=new.local_bytes) - new.local_bytes
        if new.spill_local > end:
            out.append(_more(name, "bytes of spill memory", end, new.spill_local))
        return out
    for what in ("slot_bytes", "slot_pointer", "local_bytes", "spill_local"):
        if getattr(old, what) != getattr(new, what):
            out.append(_changed(name, f"the kernel's {what}", str(getattr(old, what)), str(getattr(new, what))))
    return out


def _more(function: str, what: str, used: int, reserved: int) -> Finding:
    message = f"the kernel reserves more {what} than it uses"
    return Finding("resources", message, function, -1, expected=f"{used}", found=f"{reserved}")


def changed_registers(limits: SetLimits, old: FunctionInfo, new: FunctionInfo) -> frozenset[str]:
    """Return the special registers that read differently in the two programs."""
    return frozenset() if old.slot_bytes == new.slot_bytes else frozenset((limits.slot_base, limits.shared_size))


def _rounded(registers: int) -> int:
    return -(-registers // REGISTER_UNIT) * REGISTER_UNIT


def _registers(view: View) -> int:
    """Return one more than the highest register that an instruction names, 0 without any."""
    top = 0
    for refs in (view.defs, view.uses):
        for r in refs:
            if r.file == REG and r.index + r.units > top:
                top = r.index + r.units
    return top


def _misaligned(view: View) -> Ref | None:
    """Return an operand that its instruction cannot name where it is, None without any."""
    for refs in (view.defs, view.uses):
        for r in refs:
            if r.alignment > 1 and r.index % r.alignment:
                return r
    return None


def check_accesses(codes: list[FunctionCode], info: FunctionInfo) -> list[Finding]:
    """Check that every register named is among those that the kernel reserves, and aligned."""
    out = []
    seen: set[int] = set()
    for code in codes:
        if id(code) in seen:
            continue
        seen.add(id(code))
        for i, view in enumerate(code.views):
            askew = _misaligned(view)
            if askew is not None:
                message = "a register operand is not aligned"
                found, expected = f"R{askew.index} for {askew.units} registers", f"a multiple of {askew.alignment}"
                out.append(Finding("resources", message, code.name, i, expected=expected, found=found))
            top = _registers(view)
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
    """Check that every access that may touch lifted local words is followed symbolically; lifting is sound only then.

    If loads and stores of a word were left out, no remaining access may touch it. Accesses at fixed addresses are
    compared. Accesses at computed and generic addresses forbid lifting altogether: the local window's place is known to
    everyone, so that any 64-bit address may lie in it.
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
            if memory is None or memory.spill or memory.space not in (Space.LOCAL, Space.GENERIC):
                continue
            fixed = memory.space == Space.LOCAL and at_fixed_place(memory, product.old.stack)
            end = memory.offset + memory.size if memory.space == Space.LOCAL else 0
            reach = max(reach, end if fixed else old.local_bytes)
            touched = range(memory.offset // 4, (end + 3) // 4)
            if lifted and (not fixed or not lifted.isdisjoint(touched)):
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
        product.old.number(i),
        product.old.text(i),
    )


def _changed(function: str, what: str, expected: str, found: str) -> Finding:
    return Finding("resources", f"{what} changed", function, -1, expected=expected, found=found)
