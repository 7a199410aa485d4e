"""This module finds the block size that a kernel's code assumes: `ctaid * n + tid`, with a constant n, is made for
blocks of n threads.

Needs the analysis of a kernel. A value is followed as a sum of thread and block numbers times constants, as far as each
register has one definition; other terms do not matter. Where thread number t and block number c along one axis enter a
sum as `a * t + a * n * c`, the block has n threads along that axis. A thread may have several elements that are a whole
number of blocks apart (`c * 1024 + t + k * 256`); the block is then as large as their distance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import gcd
from typing import NamedTuple

from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis
from binalloc.analysis.web import WebNumber
from binalloc.isa.interface.places import LANES, REG
from binalloc.isa.interface.view import Ref

AXES = 3  # x, y and z
_BIG = 1 << 31  # the sign bit of a 32-bit immediate

Sum = tuple[int, ...]
"""Factors of thread numbers x, y, z and block numbers x, y, z."""
_NOTHING: Sum = (0,) * (2 * AXES)
"""The sum without any of them."""


class _Def(NamedTuple):
    """A definition is a sum, or reads a thread or block number."""

    parts: tuple[tuple[WebNumber, int], ...]  #: (web, factor) pairs
    constant: int  #: known constant that is added
    axis: int = -1  #: axis of the thread or block number that the instruction reads, -1 for none


def block_sides(program: ProgramAnalysis) -> tuple[int, int, int]:
    """Return for each axis how many threads the code assumes; 0 where it assumes none.

    Of several numbers the most frequent one is taken, then the least.
    """
    defs = _definitions(program, program.kernel)
    written = Counter(web for web, _ in defs)
    apart: dict[WebNumber, int] = {}
    for _, found in defs:
        for part, factor in found.parts if len(found.parts) == 1 else ():
            if abs(factor) == 1 and abs(found.constant) >= LANES:
                apart[part] = gcd(apart.get(part, 0), abs(found.constant))
    votes: list[Counter[int]] = [Counter() for _ in range(AXES)]
    known: dict[WebNumber, Sum] = {}
    for web, found in defs:
        total = _sum(found, known)
        if written[web] == 1:
            known[web] = total
        implied = {axis for part, _ in found.parts for axis, _ in _sides(known.get(part, _NOTHING))}
        for axis, n in _sides(total):
            split = gcd(n, apart.get(web, 0))
            if axis not in implied:
                votes[axis][split if split >= LANES else n] += 1
    x, y, z = (min(v.items(), key=lambda item: (-item[1], item[0]))[0] if v else 0 for v in votes)
    return x, y, z


def _sides(total: Sum) -> Iterator[tuple[int, int]]:
    """Yield (axis, block size) for each axis along which a sum implies a size."""
    for axis in range(AXES):
        thread, block = total[axis], total[AXES + axis]
        if thread and block % thread == 0 and block // thread > 1:
            yield axis, block // thread


def _definitions(program: ProgramAnalysis, f: FunctionAnalysis) -> list[tuple[WebNumber, _Def]]:
    """Return the sums that instructions write, with the written webs, in the order of the code."""
    isa, found = program.isa, list[tuple[WebNumber, _Def]]()
    for i, seen in enumerate(f.cfg.views):
        at = next((k for k, ref in enumerate(seen.defs) if ref.file == REG), None)
        if at is None or not f.cfg.reachable(i):
            continue
        web = f.webs.web_of_def[i, at, 0]
        place = isa.limits.places.get(isa.special_register(seen.instr) or "", -1)
        parts, constant = list[tuple[WebNumber, int]](), 0
        for taken in isa.roles(seen.instr).taken if seen.memory is None and seen.guard is None else ():
            if isinstance(taken.what, int):
                constant += taken.times * (taken.what - (2 * _BIG if taken.what & _BIG else 0))
            elif isinstance(taken.what, Ref) and taken.times:
                parts.append((f.webs.web_of_use[i, seen.uses.index(taken.what), 0], taken.times))
        found.append((web, _Def(tuple(parts), constant, place)))
    return found


def _sum(found: _Def, known: dict[WebNumber, Sum]) -> Sum:
    """Return the sum of a definition; unknown parts are left out."""
    if found.axis >= 0:
        return tuple(int(axis == found.axis) for axis in range(2 * AXES))
    total = _NOTHING
    for web, factor in found.parts:
        if web in known:
            total = tuple(t + factor * part for t, part in zip(total, known[web], strict=True))
    return total
