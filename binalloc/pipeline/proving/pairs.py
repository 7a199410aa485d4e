"""This module proves kernels whose blocks share memory two by two, as far as moves and releases go.

Needs an original, and a binary whose record says how a kernel was made. It is made again of the original, and the
checker judges it: neither record nor what makes it is trusted. Leaves the module in front of allocation, against which
the ordinary checker judges the binary. A kernel that releases shared memory without a record is judged as it is.
"""

from __future__ import annotations

import math

from binalloc.analysis.shared.memory import shared_memory_of
from binalloc.emulator.host.pairs import OFF, numbers_of, require_sharing, widest_access
from binalloc.errors import BinallocError, Hint, MalformedInput, UsageError
from binalloc.isa.instruction import Module
from binalloc.isa.kinds import Flow
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.model import Machine
from binalloc.models.sharing.record import SharedRecord, was_shared
from binalloc.pipeline.proving.turns import Three, TurnsProof, each_recorded, for_blocks
from binalloc.pipeline.sharing.plans import Plan, Planner
from binalloc.pipeline.sharing.sharing import JUMP, KEPT, NONE, OPT, POSTDOM, Wish, judged, shared_module
from binalloc.printable import count
from binalloc.verify.report import CheckReport
from binalloc.verify.sharing.check import check_shared


def prove_pairs(old: Module, new: Module, names: list[str], machine: Machine) -> tuple[Module, list[TurnsProof]]:
    """Return the original with the named kernels as their records say, and what is proven of each. Kernels of which
    `old` records the same are left alone. Raises MalformedInput for a record that makes no sense."""
    return each_recorded(old, new, names, was_shared, lambda old, name, record: _prove(old, new, name, record, machine))


def _prove(old: Module, new: Module, name: str, record: SharedRecord, machine: Machine) -> TurnsProof:
    x, y, z = (side or 1 for side in new.function(name).info.block)
    scheme = f"share {record.option}"
    try:
        memory = shared_memory_of(old, name, (x, y, z))
        use = KernelUse.of(new.function(name).info, x * y * z, record.dynamic)  # its slots count as private bytes
        planner = Planner(memory, machine, use)
        plan = _plan(planner, record, name)
        made = shared_module(old, planner, plan, Wish(record.option, record.release, record.edges, record.moved))
        report = judged(old, made, name, (x, y, z), plan, record.dynamic)
    except BinallocError as error:
        text = f"{name}: it cannot be made again of the original: {error}"
        return TurnsProof(name, scheme, (x, y, z), text, None, record.option)
    missing = "" if report.ok else str(report.errors[0])
    again = for_blocks(made, name, new.function(name).info.block)
    return TurnsProof(name, scheme, (x, y, z), missing, again, record.option, report.by_symbol)


def _plan(planner: Planner, record: SharedRecord, name: str) -> Plan:
    """Return the plan of a record. Raises MalformedInput for a layout that is none of the kernel, and for what `share`
    never does."""
    edges = (KEPT, JUMP) if record.release == OPT else (KEPT,)
    if record.release not in (OPT, POSTDOM, NONE) or record.edges not in edges or not record.pairs:
        raise MalformedInput(
            "a record of sharing says what nobody does", place=name,
            found=f"{count(record.pairs, 'pair')}, release {record.release}, edges {record.edges}"[:80],
            expected=f"one pair or more, {OPT}, {POSTDOM} or {NONE}, and {KEPT}, or for {OPT} {JUMP}",
        )  # fmt: skip
    if planner.private_of(record.pairing) % planner.grain:
        raise MalformedInput(
            "a record of sharing does not fit the kernel", place=name, found=f"{record.option}"[:80],
            expected=f"private bytes beside those of slots in multiples of {planner.grain}, the widest access",
        )  # fmt: skip
    if record.distances is None:
        return planner.plan(record.pairing, moved=record.moved)
    try:
        return planner.laid_out(record.pairing, record.distances, record.numbers)
    except ValueError:
        raise MalformedInput(
            "a record of sharing does not fit the kernel", place=name, found=f"distances {list(record.distances)}"[:80],
            expected=f"{count(len(planner.sizes), 'number')}, with which variables stay in the block's memory",
        ) from None  # fmt: skip


def releases_without_record(old: Module, new: Module, names: list[str]) -> list[str]:
    """Return the named kernels of which only the second release shared memory, with no record."""
    return [
        name for name in names
        if was_shared(new, name) is None and _releases(new, name) and not _releases(old, name)
    ]  # fmt: skip


def _releases(module: Module, name: str) -> bool:
    reached = module.reached(module.function(name))
    return any(instr.control == Flow.RELSSP for fn in reached for instr in fn.instrs)


def judge_as_it_is(old: Module, new: Module, name: str, block: Three | None, sharing: str) -> CheckReport | None:
    """Return what can be shown of a kernel whose releases were put in by hand; None if it is not said how many bytes
    are private.

    block: of its launches, None for what its record requires. sharing: the option of runs. Raises UsageError for an
    option that no run of the kernel can have, and for slots of a block of unknown size.
    """
    require_sharing(sharing, OFF)
    if ":" not in sharing:
        return None
    info = new.function(name).info
    size = block or (info.block if any(info.block) else None)
    if size is None and info.slots:
        raise UsageError(
            "the bytes of slots are a matter of the block's size, which is not known", place=name,
            found=f"{count(info.slots, 'slot')} a thread", expected=Hint("a launch file ({launch})"),
        )  # fmt: skip
    use = KernelUse.of(info, math.prod(side or 1 for side in size or (1, 1, 1)))
    pairs, private, slots = numbers_of(sharing)
    own = use.slots if slots is None else slots
    grain = widest_access(new.reached(new.function(name)))
    behind = private - own * use.slot_row
    if pairs < 1 or not 0 <= own <= use.slots or behind < 0 or behind % grain:
        raise UsageError(
            "no such sharing of this kernel", place=Hint("{sharing}"), found=sharing,
            expected=f"one pair or more, at most {count(use.slots, 'private slot')} of "
            f"{count(use.slot_row, 'private byte')} each, and other private bytes in multiples of {grain}",
        )  # fmt: skip
    return check_shared(old, new, name, block, private - own * use.slot_row, slots=slots)
