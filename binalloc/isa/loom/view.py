"""The views of Loom's instructions are made here: what they read, write and do. Their operands and branches are also
changed here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from binalloc.isa.instruction import Instr, default_fields
from binalloc.isa.interface.places import PRED, PREDICATES, REG
from binalloc.isa.interface.view import ConstantRead, Memory, Ref, View
from binalloc.isa.kinds import File, Flow, Space
from binalloc.isa.table.faults import Faults, faults
from binalloc.isa.table.fields import FIELDS, PT, RZ
from binalloc.isa.table.opcodes import (
    ATOMIC_BYTES,
    ATOMIC_OPS,
    BAR_MODES,
    BY_NAME,
    CACHE_OPS,
    FORM_C_CONST,
    FORM_CONST,
    MATRIX_ROW_BYTES,
    MATRIX_ROWS,
    OPCODES,
    TEXTURE_DIMENSIONS,
    WIDTH_BYTES,
    Operand,
    operand_fields,
)

_CONST, _TEXTURE = Space.CONST, Space.TEXTURE
_FIXED = frozenset((Faults.NEVER, Faults.BANK))
"""Faults that happen everywhere in a kernel or nowhere: no state decides them."""
_READS_CLOCK = frozenset((22, 23, 30, 31))  # SR_CLOCKLO, SR_CLOCKHI, SR_TIMERLO, SR_TIMERHI: reads differ
_CONVERGENT = frozenset(("SHFL", "VOTE", "MATCH", "WARPSYNC", "LDSM.16"))
"""Operations whose result depends on the lanes that execute them together."""
_FILES = dict.fromkeys(("rd", "ra", "rb", "rc"), (REG, RZ))
_FILES |= dict.fromkeys(("pd0", "pd1", "ps0", "ps1", "ps2"), (PRED, PT))
"""Fields that name a register or a predicate: its file, and the number that stands for a constant there."""
_WRITTEN = frozenset(("rd", "pd"))  # kinds of operands that are written
_ORDERED = frozenset((CACHE_OPS.index("CG"), CACHE_OPS.index("CV")))
"""Cache operations of ordered accesses: volatile and relaxed ones have them (ISA.md, Memory model)."""
_REUSED = {"ra": 0, "b": 1, "c": 2}  # bits of the control code's `reuse`, by operand
_LINK_FIELDS = frozenset(("target", "reconv"))  # fields that hold distances: no part of a signature


def view(instr: Instr) -> View:
    """Return the view of `instr`, which is computed at the first call and kept with it."""
    found: View | None = instr.seen
    if found is None:
        found = instr.seen = _view(instr)
    return found


def _view(instr: Instr) -> View:
    """Compute the view of `instr`."""
    f, op = instr.f, instr.op
    defs: list[Ref] = []
    uses: list[Ref] = []
    flags = (f["limm"] | f["cimm"] << 1) if "limm" in f else 0
    for name, file, constant, units, o, written, operand in _places(op.code, f.get("form", 0), flags):
        index = f[name]
        if index != constant:
            ref = _ref(file, index, units or o.width(f), name, operand)
            (defs if written else uses).append(ref)
    kind = _kind(op.code)
    if "pmask" in f:
        refs = [_ref(PRED, i, 1, "", -1) for i in range(PREDICATES) if f["pmask"] >> i & 1]
        (uses if op.name == "P2R" else defs).extend(refs)
    if kind.drops:
        _drop_unread(instr, uses)
        if op.name == "BAR":
            _drop_unreduced(instr, defs, uses)
    guard = (instr.guard, instr.guard_neg) if instr.guarded else None
    pure = kind.pure and not ("sreg" in f and f["sreg"] in _READS_CLOCK)
    stops = faults(op, f)
    return View(
        tuple(defs),
        tuple(uses),
        guard,
        op.control,
        _memory(instr) if op.access else None,
        op.unit,
        op.variable,
        pure,
        stops,
        pure and not uses and guard is None and stops in _FIXED,
        kind.convergent,
        instr,
        signature,
        op.name == "MOV" and guard is None and len(defs) == len(uses) == 1,
    )


class _Kind(NamedTuple):
    """An opcode has these properties under all modifiers."""

    pure: bool  #: no effect but its results and a fault, unless it reads the clock
    convergent: bool  #: exchanges values between lanes
    drops: bool  #: it may leave an operand unread


@cache
def _kind(code: int) -> _Kind:
    """Return the properties of an opcode."""
    op = OPCODES[code]
    convergent = op.name in _CONVERGENT
    pure = not op.control and (not op.access or op.space == _CONST) and not convergent
    return _Kind(pure, convergent, bool(op.access) or op.name in ("ISETP", "BAR", "SUADDR"))


@cache
def _ref(file: File, index: int, units: int, field: str, operand: int) -> Ref:
    """Return a reference; equal ones are one object, as there are few of them. Loom aligns groups to their width."""
    return Ref(file, index, units, field, operand, units)


@cache
def _places(code: int, form: int, flags: int) -> tuple[tuple[str, File, int, int, Operand, bool, int], ...]:
    """Return the fields of an operation's word that hold a register or a predicate, in the order of operands.

    Each is (field, file, the number that is a constant there, registers or 0 if modifiers decide, operand, whether it
    is written, its bit of `reuse` or -1). flags: immediate flags, limm | cimm << 1.
    """
    op, given = OPCODES[code], {"limm": flags & 1, "cimm": flags >> 1}
    found = ((name, o) for o in op.operands for name in operand_fields(o, form, given))
    return tuple(
        (name, *_FILES[name], _units(o), o, o.kind in _WRITTEN, _REUSED.get(o.name, -1))
        for name, o in found
        if name in _FILES
    )


def _units(o: Operand) -> int:
    """Return the registers of an operand, 0 where modifiers decide."""
    if o.kind == "mem64":
        return 2
    return o.units if isinstance(o.units, int) else 0


def _drop_unread(instr: Instr, uses: list[Ref]) -> None:
    """Remove operands that an opcode has but does not read under its modifiers."""
    f = instr.f
    if "aop" in f and "rc" in f and f["aop"] < len(ATOMIC_OPS) and ATOMIC_OPS[f["aop"]] != "CAS":
        uses[:] = [r for r in uses if r.field != "rc"]
    if "tdim" in f and not third_coordinate(f):
        uses[:] = [r for r in uses if r.field != "rc"]
    if instr.op.name == "ISETP" and not f["ex"]:
        uses[:] = [r for r in uses if r.field != "ps1"]


def third_coordinate(f: Mapping[str, int]) -> bool:
    """Return whether a texture fetch or surface address with fields `f` reads its third coordinate."""
    return f["tdim"] == TEXTURE_DIMENSIONS.index("3D")


def _drop_unreduced(instr: Instr, defs: list[Ref], uses: list[Ref]) -> None:
    """Remove the operands of a barrier that its mode leaves alone. It writes rd only when it counts and pd0 only when
    it combines; without either it reads no predicate."""
    mode = BAR_MODES[instr.f["bar"]] if instr.f["bar"] < len(BAR_MODES) else ""
    written = {"RED.POPC": "rd", "RED.AND": "pd0", "RED.OR": "pd0"}.get(mode)
    defs[:] = [r for r in defs if r.field == written]
    if written is None:
        uses[:] = [r for r in uses if r.field != "ps0"]


def _memory(instr: Instr) -> Memory:
    """Return the memory access of an instruction that has one."""
    f, op = instr.f, instr.op
    givers = 0
    if "width" in f:
        size = WIDTH_BYTES[f["width"]]
    elif "mats" in f:
        size, givers = MATRIX_ROW_BYTES, MATRIX_ROWS * op.operand["rd"].width(f)
    else:
        size = ATOMIC_BYTES[f["atyp"]] if "atyp" in f else 4 * op.operand["rd"].width(f)
    base = None
    if f.get("ra", RZ) != RZ and op.space != _TEXTURE:
        base = _ref(REG, f["ra"], 2 if "mem64" in op.operand else 1, "ra", -1)
    assert op.space is not None
    assert op.access is not None
    return Memory(
        op.space,
        op.access,
        size,
        f.get("moff", f.get("coff", 0)),
        base,
        bool(f.get("spill", 0)),
        f.get("cbank", 0),
        f.get("cache", 0) in _ORDERED,
        givers,
    )


def constant_reads(instr: Instr) -> tuple[ConstantRead, ...]:
    """Return the reads of constant memory by `instr`, as an operand or as a load."""
    f, op = instr.f, instr.op
    if op.access and op.space == _CONST:
        memory = _memory(instr)
        return (ConstantRead(memory.bank, memory.offset, memory.size, memory.base is not None),)
    name = {FORM_CONST: "b", FORM_C_CONST: "c"}.get(f.get("form", 0))
    if name is None:
        return ()
    return (ConstantRead(f["cbank"], f["coff"], 4 * op.operand[name].width(f)),)


def signature(instr: Instr) -> tuple[object, ...]:
    """Return the operation without the places of its operands: opcode, modifiers, immediates, memory offset, and for
    each operand whether it is RZ or PT (these are constants, not places)."""
    f = instr.f
    return (instr.op.name, *[parts[f[name]] for name, parts in _signed(tuple(f))])


class _Parts(dict[int, object]):
    """A field's parts of signatures are kept by the field's value, so that equal parts of many signatures are one
    object."""

    MOST = 1 << 14  #: values kept: bounds the memory for fields of 32 bits, such as immediates; chosen by hand

    def __init__(self, name: str) -> None:
        self.name = name
        self.constant = _FILES[name][1] if name in _FILES else -1

    def __missing__(self, value: int) -> object:
        place = self.constant >= 0
        part = (self.name, ("zero" if value == self.constant else "place") if place else value)
        if len(self) < self.MOST:
            self[value] = part
        return part


@cache
def _parts(name: str) -> _Parts:
    """Return the parts of the field `name`."""
    return _Parts(name)


@cache
def _signed(names: tuple[str, ...]) -> tuple[tuple[str, _Parts], ...]:
    """Return the fields that enter a signature, in its order, each with its parts."""
    return tuple((name, _parts(name)) for name in sorted(names) if name not in _LINK_FIELDS)


_TWINS = {
    "LDS": {Space.SHARED: "LDS", Space.LOCAL: "LDL"}, "LDL": {Space.SHARED: "LDS", Space.LOCAL: "LDL"},
    "STS": {Space.SHARED: "STS", Space.LOCAL: "STL"}, "STL": {Space.SHARED: "STS", Space.LOCAL: "STL"},
}  # fmt: skip
"""Loads and stores that differ in nothing but their memory, by opcode and memory."""
_SHARED_ALONE = ("cache",)  # fields of accesses to shared memory that local ones do not have


def rename(instr: Instr, mapping: dict[str, int]) -> Instr:
    """Return the instruction with register or predicate fields changed: field name -> new number."""
    return Instr(instr.op, {**instr.f, **mapping}, instr.guard, instr.guard_neg, instr.ctrl) if mapping else instr


def links(instr: Instr) -> dict[str, int]:
    """Return the branch offsets within the function, by field: words relative to the next instruction (calls have
    none)."""
    if instr.op.control != Flow.BRANCH:
        return {}
    out = {"target": instr.f["target"]}
    if instr.f["diverges"]:
        out["reconv"] = instr.f["reconv"]
    return out


def relink(instr: Instr, offsets: dict[str, int]) -> Instr:
    """Return the branch with other offsets: field -> words relative to its next instruction."""
    return rename(instr, offsets)


def readdress(instr: Instr, base: int | None, offset: int) -> Instr:
    """Return a memory access at another address. Raises ValueError if the encoding has no room for the offset."""
    field = FIELDS["moff"]
    if not field.minimum <= offset <= field.maximum:
        raise ValueError(f"{offset} is not an offset")
    return rename(instr, {"ra": RZ if base is None else base, "moff": offset})


def in_space(instr: Instr, space: Space) -> Instr | None:
    """Return the same load or store in shared or local memory, None where there is none."""
    name = _TWINS.get(instr.op.name, {}).get(space)
    if name is None:
        return None
    if any(instr.f.get(field) for field in _SHARED_ALONE):
        return None
    op = BY_NAME[name]
    fields = {field: instr.f.get(field, value) for field, value in default_fields(op, instr.f).items()}
    return Instr(op, fields, instr.guard, instr.guard_neg)


def recall(instr: Instr, distance: int) -> Instr:
    """Return the direct call with another distance to its callee: words relative to the next instruction."""
    return rename(instr, {"target": distance})


def alike(one: Instr, other: Instr) -> bool:
    """Return whether two instructions are the same, except for their control codes and the distance of a call."""
    if (one.op.code, one.guard, one.guard_neg) != (other.op.code, other.guard, other.guard_neg):
        return False
    return _but_distance(one) == _but_distance(other)


def _but_distance(instr: Instr) -> dict[str, int]:
    """Return the fields without the distance of a call."""
    return {k: v for k, v in instr.f.items() if k != "target" or instr.op.control != Flow.CALL}
