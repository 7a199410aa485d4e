"""For whom DRAM's commands were, from two logs: that of the commands, and that of the accesses of each instruction.

A command for a line is for one of the instructions that touched the line in the right way: a load, an atomic or a
texture fetch for what is read, a store or an atomic for what is written. Where one instruction alone did, it is known
for whom. So each instruction's counts have bounds, which are mostly one number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

READS = ("LDG", "LD", "LDL", "RED", "ATOMG", "ATOM", "TEX")
WRITES = ("STG", "ST", "STL", "RED", "ATOMG", "ATOM")


class Told(NamedTuple):
    """A command of the log."""

    memory: int
    what: str  #: activate, read or write
    line: int  #: of the request for which it is
    writes: bool  #: whether that request writes


class Touched(NamedTuple):
    """The instructions that touch a line, by what they do there."""

    reading: frozenset[int]
    writing: frozenset[int]


def touched(accesses: Iterable[tuple[int, str, int]]) -> dict[int, Touched]:
    """By line, of accesses: word, name of the opcode, line."""
    reading: dict[int, set[int]] = {}
    writing: dict[int, set[int]] = {}
    for word, name, line in accesses:
        for names, where in ((READS, reading), (WRITES, writing)):
            if name in names:
                where.setdefault(line, set()).add(word)
    return {
        line: Touched(frozenset(reading.get(line, ())), frozenset(writing.get(line, ())))
        for line in reading.keys() | writing.keys()
    }


Counts = Counter[tuple[int, int, str]]


def bounds(told: Iterable[Told], by_line: dict[int, Touched]) -> tuple[Counts, Counts]:
    """The fewest and the most commands by memory, word and what they are."""
    least: Counts = Counter()
    most: Counts = Counter()
    for each in told:
        seen = by_line.get(each.line)
        words = frozenset[int]() if seen is None else seen.writing if each.writes else seen.reading
        for word in words:
            most[each.memory, word, each.what] += 1
            least[each.memory, word, each.what] += len(words) == 1
    return least, most


def owners(told: Iterable[Told], owner: Callable[[int], str]) -> Counter[tuple[int, str, str]]:
    """Commands by memory, owner of their lines and what they are."""
    return Counter((each.memory, owner(each.line), each.what) for each in told)
