"""This module finds the words of local memory that can be treated as values (file "L").

Needs a call graph; leaves it untouched. A word qualifies if every access that could touch it, anywhere in the call
graph, is an aligned 32-, 64- or 128-bit load or store at a known absolute offset inside the thread's local memory.
Local addresses are absolute per thread, so one word is one location across all functions, like a register.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.analysis.facts import LiftedAccess
from binalloc.analysis.flow.callgraph import CallGraph
from binalloc.analysis.locations import Location
from binalloc.isa.instruction import NO_REGISTER
from binalloc.isa.interface.places import LOCAL_BASE, REG, WORD
from binalloc.isa.interface.view import Memory
from binalloc.isa.kinds import Access, Space

MAX_WORDS = 4096
"""Words from this number on are never lifted. Sets of locations stay small, and a CUDA stack frame of 16 KB is far
beyond what registers can hold anyway."""


@dataclass
class Lifting:
    """A lifting says which words of local memory are treated as values, and why others are not."""

    mask: int = 0  #: lifted words, as locations
    #: for each function its lifted accesses, by instruction
    accesses: dict[str, dict[int, LiftedAccess]] = field(default_factory=dict)
    #: why words stay in memory, as sentences naming function and word, in code order
    reasons: list[str] = field(default_factory=list)


def lift_local_words(graph: CallGraph) -> Lifting:
    """Return the liftable words of the kernel's local memory, the spill area of an earlier rewrite included.

    A base register counts as absolute if it is the kernel's local stack register and nothing redefines it (hardware
    sets it to 0). One access with another base, or one generic access, keeps all words of its area in memory, since it
    may touch any of them.
    """
    lifting = Lifting(accesses={name: {} for name in graph.functions})
    fixed = _fixed_base(graph)
    info = graph.function(graph.kernel).info
    kept = 0
    for name in graph.functions:
        cfg = graph.cfgs[name]
        for i, v in enumerate(cfg.views):
            m = v.memory
            if m is None or m.space not in (Space.LOCAL, Space.GENERIC) or not cfg.reachable(i):
                continue
            problem = _problem(m, fixed, info.local_bytes, info.spill_local)
            if problem is None:
                first = Location(LOCAL_BASE + m.offset // WORD)
                lifting.accesses[name][i] = LiftedAccess(m.access == Access.STORE, first, m.size // WORD)
                continue
            lifting.reasons.append(f"{name} word {i}: {problem}")
            kept |= _touched(m, fixed, info.local_bytes)
    _settle(lifting, kept)
    return lifting


def _fixed_base(graph: CallGraph) -> int:
    """Return the register known to hold 0 throughout, or NO_REGISTER."""
    register = graph.function(graph.kernel).info.local_stack
    if register == NO_REGISTER:
        return NO_REGISTER
    for name in graph.functions:
        for v in graph.cfgs[name].views:
            if any(d.file == REG and register in d.registers() for d in v.defs):
                return NO_REGISTER
    return register


def _problem(m: Memory, fixed: int, local_bytes: int, spill_bytes: int) -> str | None:
    """Return why an access keeps its words in memory, or None."""
    if m.space == Space.GENERIC:
        return "a generic access may reach local memory"
    if m.base is not None and m.base.index != fixed:
        return f"local address in R{m.base.index}"
    if m.access == Access.ATOMIC:
        return "an atomic access"
    if m.size < WORD or m.offset % m.size:
        return f"{m.size} bytes at offset {m.offset} are not whole aligned words"
    low, high = (local_bytes, local_bytes + spill_bytes) if m.spill else (0, local_bytes)
    if not low <= m.offset <= min(high, WORD * MAX_WORDS) - m.size:
        return f"offset {m.offset} lies outside bytes {low} to {min(high, WORD * MAX_WORDS) - 1}"
    return None


def _touched(m: Memory, fixed: int, local_bytes: int) -> int:
    """Return the locations that an access may touch if it is not lifted."""
    user = ((1 << min(-(-local_bytes // WORD), MAX_WORDS)) - 1) << LOCAL_BASE
    if m.space == Space.GENERIC:
        return user
    if m.base is not None and m.base.index != fixed:
        return ((1 << MAX_WORDS) - 1) << LOCAL_BASE & ~user if m.spill else user
    first, last = m.offset // WORD, (m.offset + m.size - 1) // WORD
    mask = 0
    for word in range(max(first, 0), min(last, MAX_WORDS - 1) + 1):
        mask |= 1 << (LOCAL_BASE + word)
    return mask


def _settle(lifting: Lifting, kept: int) -> None:
    """Drop accesses to words that another access keeps in memory, until no such access is left."""
    changed = True
    while changed:
        changed = False
        for accesses in lifting.accesses.values():
            for i, (_, first, count) in list(accesses.items()):
                words = ((1 << count) - 1) << first
                if words & kept:
                    kept |= words
                    del accesses[i]
                    changed = True
    for accesses in lifting.accesses.values():
        for _, first, count in accesses.values():
            lifting.mask |= ((1 << count) - 1) << first
