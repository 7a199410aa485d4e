"""The instruction interface agrees with what the emulator really reads and writes, for every opcode and form.

Each instruction runs alone on random warp states. Every place the interface lists as used must have an effect in some
state; everything it does not list, changed all at once, must have none. Registers and predicates that change must be
listed as defined, and every listed one must change in some state.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from binalloc.emulator.state.layout import GLOBAL_BASE
from binalloc.isa.instruction import Instr, make
from binalloc.isa.interface.view import Faults
from binalloc.isa.loom.view import view
from binalloc.isa.table.opcodes import ATOMIC_OPS, OPCODES, TEXTURE_QUERIES, OpSpec
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.single_step import CALLEE, HELD, MEMORY_BYTES, SIDE, SingleStep, WarpState

STATES = 12
PLACES = {
    "rd": 8,
    "ra": 16,
    "rb": 20,
    "rc": 24,
    "pd0": 1,
    "pd1": 2,
    "ps0": 3,
    "ps1": 4,
    "ps2": 5,
    "pmask": 0b0101011,
    "imm": 3,
    "coff": 16,
    "cbank": 1,
    "moff": 16,
    "lut": 0x96,
    "lut_b": 0x96,
    "lut2": 0x69,
    "icmp": 1,
    "fcmp": 3,
    "x": 1,
    "ex": 1,
    "shift": 3,
    "func": 0,
    "shfl": 2,
    "vote": 1,
    "sreg": 12,
    "target": 1,
    "diverges": 1,
    "reconv": 2,
    "wrap": 1,
    "prmt": 0,
    "hi": 1,
}
SILENT = ("WARPSYNC", "NOP", "MEMBAR", "RELSSP")
"""Sources or guards without an effect that one converged warp could show."""


def variants(op: OpSpec) -> Iterator[dict[str, int]]:
    """Modifier values under which an opcode reads or writes other places."""
    axes: dict[str, tuple[int, ...]] = {}
    for name, values in (
        ("width", range(7)),
        ("ityp", range(8)),
        ("ftyp", range(2)),
        ("ftyp_d", range(2)),
        ("ftyp_s", range(2)),
        ("atyp", range(8)),
        ("srw", range(2)),
        ("ex", range(2)),
        ("tdim", range(3)),
        ("bar", range(5)),
        ("m64", range(2)),
        ("match", range(2)),
        ("tcoord", range(2)),
        ("tchan", range(3)),
        ("tlod", range(2)),
        ("toff", range(2)),
        ("tquery", range(len(TEXTURE_QUERIES))),
        ("sbound", range(3)),
        ("sunit", range(2)),
        ("tlay", range(2) if op.name == "SUADDR" else range(1)),
    ):
        if name in op.modifiers:
            axes[name] = tuple(values)
    if "aop" in op.modifiers:
        axes["aop"] = (ATOMIC_OPS.index("EXCH"), ATOMIC_OPS.index("CAS"))
        if op.name == "RED":
            axes["aop"] = (ATOMIC_OPS.index("ADD"),)
    if op.name == "SHFL":
        axes |= {"limm": (0, 1), "cimm": (0, 1)}
    for values in product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def cases(op: OpSpec) -> Iterator[Instr]:
    for form in op.forms:
        for chosen in variants(op):
            given = {**chosen, "form": form} if op.has_form else chosen
            names = set(op.fields_for(form, given))
            fields = {k: v for k, v in PLACES.items() if k in names} | {k: v for k, v in given.items() if k in names}
            if "imm" in names:
                fields["imm"] = 0x5410 if op.name == "PRMT" else 0x40400000 if op.group.startswith("float") else 3
            if op.name in ("BAR", "BAR.ALLOC"):  # a thread count that the launch has, or a size
                fields |= {k: v for k, v in (("imm", 32), ("coff", 32)) if k in names}
            if op.name == "CALL":
                fields["target"] = CALLEE - 1
            yield make(op.name, guard=(6, False), **fields)


def state(rng: np.random.Generator, instr: Instr, small: bool) -> WarpState:
    """Random registers (small integers or bit patterns), with the operand that is an address made a good one."""
    high = (2 if instr.op.access == "atomic" else 4) if small else 1 << 32
    registers = rng.integers(0, high, (255, 32), dtype=np.uint32)
    if not small and instr.op.group in ("float32", "conversion"):
        registers = rng.normal(0, 100, (255, 32)).astype(np.float32).view(np.uint32)
    if instr.op.group == "float64" or instr.f.get("ftyp") or instr.f.get("ftyp_s"):
        values = rng.normal(0, 100, (127, 32)) if not small else rng.integers(0, 4, (127, 32)) + 0.5
        if small and instr.name == "F2H":
            values = 1 + values * 2.0**-10
        # in the middle between two results, the low word counts
        registers[1::2] = (values.astype(np.float64).view(np.uint64) >> 32).astype(np.uint32)
    if small and instr.name in ("ISETP", "DSETP") and instr.form:  # ties with the immediate or constant
        tie = instr.f["imm"] if instr.form == 1 else 0x40490FDB
        registers[17 if instr.name == "DSETP" else 16, ::2] = tie
        if instr.name == "DSETP" and instr.form == 2:
            registers[16, ::2] = tie + rng.integers(0, 2, 16, dtype=np.uint32)
    lanes = np.arange(32, dtype=np.uint32) * 16
    if instr.name == "TXQ":
        registers[16] = rng.integers(1, 10, 32)
    elif instr.name == "SUADDR":
        registers[16:18], registers[24] = rng.integers(0, SIDE, (2, 32)), rng.integers(0, SIDE, 32)
        registers[20] = instr.f["tdim"] + 4 + 3 * instr.f["tlay"]
    elif instr.op.space == "texture":
        texels = rng.uniform(0, SIDE, (3, 32)).astype(np.float32)
        for place, values in zip((16, 17, 24), texels, strict=True):
            registers[place] = values.astype(np.uint32) if instr.f["tcoord"] else values.view(np.uint32)
        registers[20] = instr.f["tdim"] + 1
        if instr.f["tlod"]:
            level = rng.uniform(-0.5, 2.5, 32).astype(np.float32)
            registers[21] = np.abs(level).astype(np.uint32) if instr.f["tcoord"] else level.view(np.uint32)
        if instr.f["toff"]:
            registers[20] |= rng.integers(0, 1 << 12, 32, dtype=np.uint32) << 20
    elif instr.op.access:
        registers[16] = lanes + {"global": GLOBAL_BASE, "generic": GLOBAL_BASE}.get(instr.op.space, 0)
        registers[17] = 0
        if instr.op.space == "local":
            registers[16] = lanes % 64
        if instr.op.space == "const":
            registers[16] = lanes % 64
    if instr.name == "MATCH" and small:
        registers[16:18] = 5  # else lanes that all agree would never be seen
    if instr.name in ("BAR", "BAR.ALLOC"):
        registers[20] = registers[24] = 32
    if instr.name == "BAR.FREE":
        registers[16] = HELD
    if instr.name == "CALL.IND":
        registers[16] = CALLEE
    predicates = [int(v) for v in rng.integers(0, 1 << 32, 7)]
    if instr.name in ("BAR", "BAR.ALLOC", "BAR.FREE"):
        predicates[6] = 0xFFFFFFFF
        predicates[3] = 0xFFFFFFFF if small else 0
    if instr.name == "LDSM.16":
        predicates[6] = 0xFFFFFFFF  # the whole warp, or a fault
    words = MEMORY_BYTES // 4
    memory = rng.integers(0, high, (3, words), dtype=np.uint32)
    local = rng.integers(0, high, (64, 32), dtype=np.uint32)
    return WarpState(registers, predicates, memory[0], memory[1], local)


class Watch:
    """What a case was seen to read and write, over all its states."""

    def __init__(self, instr: Instr) -> None:
        self.instr = instr
        v = view(instr)
        self.used = {("R", r) for u in v.uses if u.file == "R" for r in u.registers()}
        self.used |= {("P", u.index) for u in v.uses if u.file == "P"} | {("P", 6)}
        self.defined = {("R", r) for d in v.defs if d.file == "R" for r in d.registers()}
        self.defined |= {("P", d.index) for d in v.defs if d.file == "P"}
        self.seen_used: set[tuple[str, int]] = set()
        self.seen_defined: set[tuple[str, int]] = set()
        machine = load_machine("gtx680")
        words = np.full(64, 0x40490FDB, np.uint32)
        words[8] = 32
        constants = words.tobytes()
        self.step = lambda before: SingleStep(instr, machine, constants).run(before)

    def outcome(self, before: WarpState, after: WarpState, but: tuple[str, int] | None) -> list[bytes]:
        """All an instruction can change, with the changed source itself left out where it is only a source."""
        registers = after.registers.copy()
        predicates = list(after.predicates)
        if but and but not in self.defined:
            if but[0] == "R":
                registers[but[1]] = 0
            else:
                predicates[but[1]] = 0
        fixed = (after.pc, after.depth, after.active, after.fault, *predicates)
        return [
            registers.tobytes(),
            repr(fixed).encode(),
            after.global_.tobytes(),
            after.shared.tobytes(),
            after.local.tobytes(),
        ]

    def writes(self, before: WarpState, after: WarpState) -> None:
        changed = {("R", int(r)) for r in np.flatnonzero((before.registers != after.registers).any(axis=1))}
        changed |= {("P", p) for p in range(7) if before.predicates[p] != after.predicates[p]}
        assert changed <= self.defined, (self.instr, changed - self.defined)
        self.seen_defined |= changed

    def reads(self, rng: np.random.Generator, before: WarpState, after: WarpState) -> None:
        for place in sorted(self.used - self.seen_used):
            other = perturbed(rng, before, {place})
            if self.outcome(before, after, place) != self.outcome(other, self.step(other), place):
                self.seen_used.add(place)

    def ignores(self, rng: np.random.Generator, before: WarpState, after: WarpState) -> None:
        """Everything unlisted, changed at once, changes nothing else."""
        everything = {("R", r) for r in range(255)} | {("P", p) for p in range(7)}
        other = perturbed(rng, before, everything - self.used)
        got = self.step(other)
        lanes = np.array([before.predicates[6] >> t & 1 for t in range(32)], bool)
        for r in range(255):
            keep = ~lanes if ("R", r) in self.defined else np.ones(32, bool)
            assert (got.registers[r][keep] == other.registers[r][keep]).all(), (self.instr, r)
            if ("R", r) in self.defined:
                assert (got.registers[r][lanes] == after.registers[r][lanes]).all(), (self.instr, r)
        for p in range(7):
            mask = before.predicates[6] if ("P", p) in self.defined else 0
            assert (got.predicates[p] ^ after.predicates[p]) & mask == 0, (self.instr, p)
            assert (got.predicates[p] ^ other.predicates[p]) & ~mask == 0, (self.instr, p)
        same = (got.pc, got.depth, got.active, got.fault) == (after.pc, after.depth, after.active, after.fault)
        assert same, self.instr
        for name in ("global_", "shared", "local"):
            assert (getattr(got, name) == getattr(after, name)).all(), (self.instr, name)


def perturbed(rng: np.random.Generator, before: WarpState, places: set[tuple[str, int]]) -> WarpState:
    """The state with other contents in `places`."""
    registers, predicates = before.registers.copy(), list(before.predicates)
    for file, i in sorted(places):
        if file == "R":
            registers[i] ^= rng.integers(1, 4, 32, dtype=np.uint32) if rng.random() < 0.5 else rng.integers(
                1, 1 << 32, 32, dtype=np.uint32)  # fmt: skip
        else:
            predicates[i] ^= int(rng.integers(1, 1 << 32))
    return WarpState(registers, predicates, before.global_, before.shared, before.local)


@pytest.mark.parametrize("name", [op.name for op in OPCODES.values()])
def test_reads_and_writes_are_those_of_the_interface(name: str) -> None:
    op = next(o for o in OPCODES.values() if o.name == name)
    for number, instr in enumerate(cases(op)):
        watch = Watch(instr)
        for i in range(STATES):
            rng = np.random.default_rng([op.code, number, i])
            before = state(rng, instr, small=i % 2 == 0)
            after = watch.step(before)
            assert after.fault == 0 or op.control, (instr, after.fault)
            watch.writes(before, after)
            watch.reads(rng, before, after)
            if i < 2:
                watch.ignores(rng, before, after)
            if watch.seen_used == watch.used and watch.seen_defined == watch.defined and i >= 1:
                break
        assert name in SILENT or watch.seen_used == watch.used, (instr, watch.used - watch.seen_used)
        assert watch.seen_defined == watch.defined, (instr, watch.defined - watch.seen_defined)


@pytest.mark.parametrize("name", [op.name for op in OPCODES.values()])
def test_what_is_said_never_to_fault_never_does(name: str) -> None:
    """Whatever registers hold. What hangs on operands alone is seen to fault, and does with the same ones again."""
    op = next(o for o in OPCODES.values() if o.name == name)
    machine, seen = load_machine("gtx680"), dict[Faults, bool]()
    for number, instr in enumerate(cases(op)):
        faults = view(instr).faults
        if faults == Faults.STATE:
            continue
        rng = np.random.default_rng([op.code, number])
        before = state(rng, instr, small=False)
        before.registers[:] = rng.integers(0, 1 << 32, (255, 32), dtype=np.uint32)
        before.predicates[6] |= 1
        found = SingleStep(instr, machine).run(before).fault
        seen[faults] = seen.get(faults, False) or found != 0
        if faults == Faults.OPERANDS:
            assert SingleStep(instr, machine).run(before).fault == found, instr
        else:
            assert found == 0, (instr, found)
    assert seen.get(Faults.OPERANDS, True), name
