"""This table lists the ways in which each operation may stop a run; `View.faults` and a table of ISA.md are derived
from it.

A fault ends the launch without results. So a rewrite may leave out an instruction that may fault, but never add one: it
may be executed only where the original executes it, and only with the same operands. `Faults` says what decides
whether it faults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from binalloc.isa.kinds import Access, Flow, Space
from binalloc.isa.table.fields import RZ
from binalloc.isa.table.opcodes import FORM_C_CONST, FORM_CONST, OPCODES, TEXTURE_QUERIES, OpSpec

_CONST_FORMS = frozenset((FORM_CONST, FORM_C_CONST))  # forms with a constant operand
_KIND = TEXTURE_QUERIES.index("KIND")  # the query that answers for any handle
_MEMORY = (Space.GLOBAL, Space.SHARED, Space.LOCAL, Space.GENERIC)  # spaces in which an address can be wrong


class Faults(StrEnum):
    """An instruction is classified by the state that decides whether it stops the run. Where several of these apply,
    the last in this order counts."""

    NEVER = "never"  #: it never stops the run
    BANK = "bank"  #: the size of a constant bank decides, known from the binary, and nothing else
    #: the values of its operands alone decide: with the same ones it does the same, all through a launch
    OPERANDS = "operands"
    STATE = "state"  #: memory, other threads or the path to it decide, too


_RANK = {answer: rank for rank, answer in enumerate(Faults)}  # the order in which one answer overrides another


@dataclass(frozen=True)
class Stop:
    """A row of this table is one way in which operations stop a run."""

    when: str  #: the condition, in words
    answer: Faults  #: what decides whether it happens
    why: str  #: the reason for `answer`, in words
    codes: tuple[str, ...]  #: the emulator's codes for it
    of: Callable[[OpSpec], bool]  #: whether an operation can stop in this way at all
    unless: Callable[[Mapping[str, int]], bool] = lambda f: False  #: whether instructions with these fields cannot


def _named(*names: str) -> Callable[[OpSpec], bool]:
    return lambda op: op.name in names


def _flow(*kinds: Flow) -> Callable[[OpSpec], bool]:
    return lambda op: op.control in kinds


STOPS: tuple[Stop, ...] = (
    Stop(
        "bytes of a constant operand `c[bank][offset]` outside of its bank", Faults.BANK,
        "the offset is in the word, the size of the bank in the binary", ("CONST",),
        lambda op: not _CONST_FORMS.isdisjoint(op.forms), lambda f: f.get("form") not in _CONST_FORMS,
    ),
    Stop(
        "LDC without Ra: bytes outside of the bank", Faults.BANK, "likewise", ("CONST",),
        _named("LDC"), lambda f: f["ra"] != RZ,
    ),
    Stop(
        "LDC with Ra: bytes outside of the bank, or at no multiple of their size", Faults.OPERANDS,
        "banks do not change", ("CONST", "MISALIGNED"), _named("LDC"), lambda f: f["ra"] == RZ,
    ),
    Stop(
        "TXQ other than `.KIND`: a handle of neither a texture nor a surface", Faults.OPERANDS,
        "handles do not change during a launch", ("TEXTURE",), _named("TXQ"),
        lambda f: f["tquery"] == _KIND,
    ),
    Stop(
        "SUADDR: a handle of no surface, or of one of another geometry; outside of it with `.TRAP`; a row shorter than "
        "the element with `.CLAMP`", Faults.OPERANDS, "likewise", ("SURFACE",), _named("SUADDR"),
    ),
    Stop(
        "TEX: a handle of no texture, or of one of another geometry; gathering from other than two dimensions",
        Faults.STATE, "a load: it keeps its place among the accesses of its thread", ("TEXTURE",), _named("TEX"),
    ),
    Stop(
        "an access outside of its space's memory, or of live blocks of the heap; with `.SPILL` outside of slots and "
        "spill area, without it inside of them; an address that is no multiple of the size", Faults.STATE,
        "a load or store: it keeps its place among the accesses of its thread",
        ("GLOBAL", "SHARED", "LOCAL", "HEAP", "SPILL", "MISALIGNED"),
        lambda op: op.access is not None and op.space in _MEMORY,
    ),
    Stop(
        "an access to bytes that two blocks share, and that the thread has released; one that waits for ever for the "
        "other block, which has them", Faults.STATE, "other blocks and the path to it", ("RELEASED", "DEADLOCK"),
        lambda op: op.access is not None and op.space in (Space.SHARED, Space.GENERIC),
    ),
    Stop(
        "an atomic operation that its type does not have; a generic one on local memory", Faults.STATE, "likewise",
        ("ATOMIC", "LOCAL_ATOMIC"), lambda op: op.access == Access.ATOMIC,
    ),
    Stop(
        "LDSM: a lane that has to give an address, or to take part, does not execute it", Faults.STATE, "other lanes",
        ("MATRIX",), _named("LDSM.16"),
    ),
    Stop(
        "WARPSYNC: a named lane does not execute it, or names other lanes", Faults.STATE, "other lanes", ("WARPSYNC",),
        _flow(Flow.WARPSYNC),
    ),
    Stop(
        "BAR: lanes of a warp have diverged, arrivals disagree on mode or threads, or an arrival never comes",
        Faults.STATE, "other lanes and warps", ("BAR_DIVERGED", "BAR_COUNT", "BAR_MODE", "DEADLOCK"),
        _flow(Flow.BARRIER),
    ),
    Stop(
        "BRA, CALL, CALL.IND: no room on the reconvergence stack", Faults.STATE, "the path to it", ("STACK",),
        _flow(Flow.BRANCH, Flow.CALL, Flow.CALL_INDIRECT),
    ),
    Stop(
        "BRA: lanes diverge, and it names no reconvergence point", Faults.STATE, "other lanes", ("NO_RECONV",),
        _flow(Flow.BRANCH),
    ),
    Stop(
        "CALL.IND: an address where no function begins", Faults.STATE, "it moves control", ("CALL_TARGET",),
        _flow(Flow.CALL_INDIRECT),
    ),
    Stop("RET: without a call", Faults.STATE, "the path to it", ("RETURN",), _flow(Flow.RETURN)),
    Stop(
        "BAR.ALLOC, BAR.FREE: lanes of a warp have diverged, warps of the block arrive at something else, or never "
        "come", Faults.STATE, "other lanes and warps", ("BAR_DIVERGED", "BAR_MODE", "DEADLOCK"),
        _flow(Flow.ALLOC, Flow.FREE),
    ),
    Stop(
        "BAR.ALLOC: the block holds shared memory already; a size that is 0, another one than before, or more than the "
        "SM has; no block that holds the memory ever frees it", Faults.STATE, "other blocks and the path to it",
        ("ALLOC_NESTED", "ALLOC_SIZE", "ALLOC_ROOM", "DEADLOCK"), _flow(Flow.ALLOC),
    ),
    Stop(
        "BAR.FREE: an address other than the one that the block's BAR.ALLOC gave, or nothing is held", Faults.STATE,
        "the path to it", ("FREE_BASE",), _flow(Flow.FREE),
    ),
)  # fmt: skip

ELSEWHERE = {
    "PC": "execution leaves the function's words",
    **dict.fromkeys(("RAW", "WAW", "WAR"), "a control code is wrong"),
    **dict.fromkeys(("POISON", "RACE", "VARIABLE", "BREAK"), "`run` was asked to look for something, and found it"),
}
"""Other codes that the emulator reports, which belong to no operation in itself."""


@cache
def _stops(code: int) -> tuple[Stop, ...]:
    """Return the ways in which an operation may stop a run."""
    return tuple(stop for stop in STOPS if stop.of(OPCODES[code]))


def stops_by(op: OpSpec) -> set[Faults]:
    """Return what may decide, over all fields of the operation, whether it stops a run."""
    return {stop.answer for stop in _stops(op.code)}


def faults(op: OpSpec, f: Mapping[str, int]) -> Faults:
    """Return what decides whether the instruction with these fields stops the run."""
    found = Faults.NEVER
    for stop in _stops(op.code):
        if _RANK[stop.answer] > _RANK[found] and not stop.unless(f):
            found = stop.answer
    return found
