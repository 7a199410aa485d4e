"""Words of shared memory that belong to one thread alone for a while wait in its local memory here.

Needs a laid-out module; leaves another, in front of allocation. (Beyond the multiplex paper: the samples histogram and
marching cubes have arrays in which no two threads meet, so their blocks need not wait for each other.) While a variable
is owned (`analysis.shared.ownership`), accesses go to local memory, row by row. Behind the barrier in front of such a
phase each thread loads its own words, and in front of the barrier behind it stores them, for whoever reads them later.
In between, the block needs no shared memory for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from binalloc.analysis.ranges.versions import Kind, Version
from binalloc.analysis.shared.memory import SharedMemory, Three, shared_memory_of
from binalloc.analysis.shared.ownership import Owned, Ownership, ownership
from binalloc.analysis.shared.phases import Phases
from binalloc.analysis.shared.reach import Reached
from binalloc.analysis.shared.variables import bytes_of
from binalloc.errors import Refused
from binalloc.isa.instruction import Instr, Module, Origin
from binalloc.isa.interface.view import ALWAYS
from binalloc.isa.kinds import Flow, Space
from binalloc.transform.multiplex.edit import Edit, in_place
from binalloc.transform.multiplex.free import allowed, unused_register

_BATCH = 16
"""Words that are loaded before the first of them is stored, so that their latencies overlap. Chosen by hand: as many
registers are in use at once."""
_ALIGNED = 4  # bytes of local memory come in words


@dataclass(frozen=True)
class OwnWords:
    """A module has the own words of a kernel's threads in local memory."""

    module: Module
    parts: tuple[tuple[int, int, int, int, int], ...]  #: of each variable first byte, end, stride, width, local byte


def with_own_words(module: Module, kernel: str, block: Three) -> OwnWords:
    """Return the module with words of which each belongs to one thread for a while in local memory meanwhile.

    block: threads of a block along each axis. Raises Refused if there are none, or they cannot be copied.
    """
    memory = shared_memory_of(module, kernel, block)
    found = ownership(memory)
    if found is None:
        raise Refused("no thread has words of shared memory to itself", place=kernel,
                      found="no array whose accesses between two barriers are to columns of one thread each",
                      expected="one at least", remedy="Look at the kernel's view of shared memory.")  # fmt: skip
    work = _OwnWords(memory, found)
    for owned in found.owned:
        work.move(owned)
    fn, index = work.edit.done()
    info = replace(
        fn.info, registers=max(fn.info.registers, work.next), local_bytes=work.local_bytes, machine=""
    )  # fmt: skip
    made = replace(fn, info=info, origin=Origin(kernel, index))
    return OwnWords(in_place(module, made, index), tuple(work.parts))


class _OwnWords:
    """This pass edits one kernel."""

    def __init__(self, memory: SharedMemory, found: Ownership) -> None:
        self.memory, self.found = memory, found
        self.function, self.isa = memory.program.kernel, memory.program.isa
        self.edit = Edit(self.function.fn)
        self.next = unused_register(memory.program)
        self.local_bytes = self.function.fn.info.local_bytes
        self.parts: list[tuple[int, int, int, int, int]] = []
        self.batch: list[int] = []  #: registers of copies
        self.rows: dict[tuple[int, Version], tuple[int, int, int]] = {}

    def move(self, owned: Owned) -> None:
        """Move the words of a variable."""
        local = self.local_bytes + -self.local_bytes % _ALIGNED
        first = owned.variable.offset
        self.parts.append((first, first + owned.variable.size, owned.stride, owned.width, local))
        self.local_bytes = local + owned.bytes + -owned.bytes % _ALIGNED
        self._copy(owned, local)
        self.rows = {}
        for access in self.memory.reach.accesses:
            if access.place.word in owned.columns:
                self._access(owned, local, access)

    # -- accesses

    def _access(self, owned: Owned, local: int, access: Reached) -> None:
        """Let an access go to local memory."""
        word, first = access.place.word, owned.variable.offset
        to = local + owned.columns[word]
        value = self.memory.ranges.address(*access.place)
        register: int | None = None
        if value.known:
            rows = (np.asarray(value.base) - first - owned.begins) // owned.stride
            same = not np.ptp(rows)
        if value.known and same:
            to += owned.width * int(rows[0])
        else:
            register, to = self._row(owned, access, to)
        instr = self.isa.in_space(self.function.fn.instrs[word], Space.LOCAL)
        assert instr is not None
        self.edit.replaced[word] = self._at(instr, register, to)

    def _at(self, instr: Instr, register: int | None, offset: int) -> Instr:
        try:
            return self.isa.readdress(instr, register, offset)
        except ValueError as error:
            raise Refused("local memory is too far away for an access", place=self.function.name,
                          found=f"byte {offset}", expected="an offset for which there is room") from error  # fmt: skip

    def _row(self, owned: Owned, access: Reached, to: int) -> tuple[int, int]:
        """Return a register with the place of a row, and the offset of a byte in it. Accesses of a basic block with the
        same address register share it."""
        word, memory, build = access.place.word, access.memory, self.isa.build
        operand = self.function.cfg.views[word].address_operand
        assert operand is not None
        assert memory.base is not None
        web = self.function.webs.web_of_use[word, operand, 0]
        version = self.memory.ranges.functions[self.function.name].versions.before(word, web)
        key, column = (int(self.function.cfg.block_of[word]), version), owned.columns[word]
        if key in self.rows:
            register, offset, other = self.rows[key]
            return register, to + (memory.offset - offset - column + other) // owned.stride * owned.width
        register = self._new()
        shift = owned.stride.bit_length() - 1
        code = [build.plus(register, memory.base.index, memory.offset - owned.variable.offset),
                build.shift_right(register, register, shift)]  # fmt: skip
        if owned.width > 1:
            code.append(build.multiply_add(register, register, owned.width, self.isa.limits.zero))
        self.edit.insert(word, None, code)
        self.rows[key] = register, memory.offset, column
        return register, to

    def _new(self) -> int:
        """Return a register that nothing uses yet."""
        self.next += 1
        return allowed(self.next - 1, self.memory.program, "own words")

    # -- copies

    def _copy(self, owned: Owned, local: int) -> None:
        """Copy words where phases in which they are owned begin and end."""
        phases = self.found.phases
        others = [
            a for a in self.memory.reach.accesses
            if a.may & bytes_of(owned.variable) and a.place.word not in owned.columns
        ]  # fmt: skip
        into = [b for b, k in phases.behind.items() if k in owned.phases and phases.before[b] not in owned.phases]
        out = [b for b, k in phases.before.items() if k in owned.phases and phases.behind[b] not in owned.phases]
        written, read = any(a.writes for a in others), any(a.reads for a in others)
        if read:
            self._require_no_end(owned, phases)
        if (written or read) and self._comes_back(out, into):  # to what it has left behind
            written = read = True
        into, out = into if written else [], out if read else []
        if not into and not out:
            return
        home, number = self._home(owned, [*into, *out])
        for barrier in into:
            self.edit.behind(barrier, list(self._copies(owned, local, home, number, Space.SHARED)))
        for barrier in out:
            self.edit.insert(barrier, None, list(self._copies(owned, local, home, number, Space.LOCAL)))

    def _comes_back(self, out: list[int], into: list[int]) -> bool:
        """Return whether a thread may come from a barrier at which ownership ends to one at which it begins."""
        phases = self.found.phases
        work, seen = [phases.behind[b] for b in out], set[int]()
        while work:
            k = work.pop()
            if k not in seen:
                seen.add(k)
                work += [phases.behind[b] for b in phases.before if phases.before[b] == k]
        return any(phases.before[b] in seen for b in into)

    def _require_no_end(self, owned: Owned, phases: Phases) -> None:
        """Refuse threads that end while they own what others read later."""
        for k in sorted(owned.phases):
            for word in sorted(phases.words[k]):
                if self.function.cfg.views[word].control == Flow.EXIT:
                    raise Refused("a thread may end with words that others read later", place=self.function.name,
                                  found=f"an EXIT at word {word}", expected="none before the next barrier")  # fmt: skip

    def _home(self, owned: Owned, barriers: list[int]) -> tuple[int, int]:
        """Return a register with where the thread's column begins, and the number that is to be added to it."""
        cfg, tree = self.function.cfg, self.function.dominators()
        found = self.memory.ranges.functions[self.function.name]
        for version in sorted(found.values, key=lambda v: (v.place, v.ref, v.unit)):
            value = found.values[version]
            if version.kind is not Kind.DEF or not value.known or not isinstance(value.base, np.ndarray):
                continue
            number = int(owned.begins[0] - value.base[0])
            if not np.array_equal(value.base + number, owned.begins) or cfg.views[version.place].control:
                continue
            ways = ((cfg.block_of[version.place], cfg.block_of[b], b) for b in barriers)
            if all(tree.dominates(home, at) and (home != at or version.place < b) for home, at, b in ways):
                ref = cfg.views[version.place].defs[version.ref]
                register = self._new()
                self.edit.behind(version.place, [self.isa.build.copy(register, ref.index + version.unit, ALWAYS)])
                return register, number
        raise Refused("no register holds where a thread's own words begin", place=self.function.name,
                      found=f"columns of {owned.variable.name}",
                      expected="one with the first byte of a column, but for a number")  # fmt: skip

    def _copies(self, owned: Owned, local: int, home: int, number: int, source: Space) -> Iterator[Instr]:
        """Yield the words that copy a thread's own words. source: from where."""
        while len(self.batch) < _BATCH:
            self.batch.append(self._new())
        build, unit = self.isa.build, owned.unit
        places = [
            (owned.variable.offset + owned.stride * row + k + number, local + owned.width * row + k)
            for row in range(owned.rows) for k in range(0, owned.width, unit)
        ]  # fmt: skip
        for first in range(0, len(places), _BATCH):
            some = list(zip(self.batch, places[first : first + _BATCH], strict=False))
            for register, (shared, own) in some:
                at = (home, shared) if source == Space.SHARED else (None, own)
                yield build.load(register, source, unit, *at)
            for register, (shared, own) in some:
                at, target = ((None, own), Space.LOCAL) if source == Space.SHARED else ((home, shared), Space.SHARED)
                yield build.store(register, target, unit, *at)
