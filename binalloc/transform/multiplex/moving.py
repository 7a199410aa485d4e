"""Accesses to shared memory get the addresses that their bytes have after a division into parts.

Needs the original's accesses and an edit of the kernel; leaves the edit with other addresses. The original's addresses
are in *stretches*, all bytes of which move by the same. An access to one stretch gets a new base or offset. An access
that may go to several chooses as it runs: its address is compared with the stretches' bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from binalloc.analysis.ranges.versions import Version
from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.shared.reach import Reached
from binalloc.errors import Hint, Refused
from binalloc.isa.instruction import Instr
from binalloc.isa.interface.view import ALWAYS
from binalloc.isa.kinds import Space
from binalloc.transform.multiplex.edit import Edit
from binalloc.transform.multiplex.free import allowed, free_predicates

_PAIRS = 4  # registers for choices are used in rotation, so that neighbours seldom wait; chosen by hand


@dataclass(frozen=True)
class Stretch:
    """A stretch is a range of the original's addresses; its bytes move by a register, if there is one, plus a
    number."""

    first: int
    end: int | None  #: one past the last; None: all that follow
    register: int | None
    number: int

    @property
    def moves(self) -> tuple[int | None, int]:
        return self.register, self.number

    def of(self, bytes_: int) -> int:
        """Return which of some bytes are in it, as a bitset from its first byte on."""
        behind = bytes_ >> self.first
        return behind if self.end is None else behind & (1 << self.end - self.first) - 1


class Moving:
    """This pass gives the accesses of one kernel other addresses."""

    def __init__(
        self, memory: SharedMemory, edit: Edit, stretches: Sequence[Stretch], free: int, *, matters: int,
        usual: Stretch, changes: Iterable[int] = (),
    ) -> None:  # fmt: skip
        """free: first register that nothing uses. matters: the bytes in use, as a bitset; where an access may go only
        counts for these. usual: where an access to none of them goes. changes: words in front of which a register of
        the stretches changes."""
        self.memory, self.edit, self.stretches = memory, edit, stretches
        self.matters, self.usual, self.changes = matters, usual, sorted(changes)
        self.function = memory.program.kernel
        self.isa = memory.program.isa
        self.next = free
        self._pairs: list[tuple[int, int]] = []
        self._chosen = 0  # choices so far
        #: by last change, basic block, version of an address register, and register of a stretch: their sum
        self._sums: dict[tuple[int, int, Version, int], int] = {}

    def run(self) -> None:
        """Give all accesses their new addresses."""
        for access in self.memory.reach.accesses:
            if access.may:
                self._access(access)

    def _access(self, access: Reached) -> None:
        met = [s for s in self.stretches if s.of(access.may & self.matters)] or [self.usual]
        if len({s.moves for s in met}) > 1:
            self._choose(access, [s for s in self.stretches if s.of(access.may)])
            return
        word, memory, to = access.place.word, access.memory, met[0]
        register = None if memory.base is None else memory.base.index
        if to.register is not None:
            register = to.register if register is None else self._sum(word, register, to.register)
        self._readdress(word, register, memory.offset + to.number)

    def _readdress(self, word: int, register: int | None, offset: int) -> None:
        instr = self.edit.replaced.get(word, self.function.fn.instrs[word])
        self.edit.replaced[word] = self.isa.readdress(instr, register, offset)

    def _sum(self, word: int, index: int, added: int) -> int:
        """Return a register with an address register's value plus another's. Accesses of a basic block share it, up to
        where the other one changes."""
        operand = self.function.cfg.views[word].address_operand
        assert operand is not None
        web = self.function.webs.web_of_use[word, operand, 0]
        version = self.memory.ranges.functions[self.function.name].versions.before(word, web)
        block = self.function.cfg.block_of[word]
        changed = max((w for w in self.changes if w <= word), default=0)
        key = max(changed, self.function.cfg.blocks[block].start), block, version, added
        guard = self.function.cfg.views[word].guard
        if guard is None and key in self._sums:
            return self._sums[key]
        register = self._new()
        self.edit.insert(word, None, [self.isa.build.add(register, index, added, guard or ALWAYS)])
        if guard is None:
            self._sums[key] = register
        return register

    def _new(self) -> int:
        """Return a register that nothing uses yet."""
        self.next += 1
        return allowed(self.next - 1, self.memory.program, "addresses")

    def _pair(self) -> tuple[int, int]:
        """Return two registers for a choice; no choice needs them behind its access."""
        if len(self._pairs) < _PAIRS:
            self._pairs.append((self._new(), self._new()))
        self._chosen += 1
        return self._pairs[(self._chosen - 1) % _PAIRS]

    def _choose(self, access: Reached, met: list[Stretch]) -> None:
        """Let an access to several stretches choose as it runs: the lowest bound above its address decides what is
        added to it."""
        self._require_choice(access, met)
        word, memory, build = access.place.word, access.memory, self.isa.build
        assert memory.base is not None
        # all numbers beside registers are the same, and go into the access's offset
        beside = next((s.number for s in met if s.register is not None), 0)
        assert all(s.number == beside for s in met if s.register is not None)
        predicate, (place, added) = self._free_predicate(word), self._pair()
        code = [build.plus(place, memory.base.index, memory.offset), self._amount(added, met[-1], beside)]
        for s in reversed(met[:-1]):
            assert s.end is not None
            chosen = self._amount(added, s, beside)
            code += [build.below(predicate, place, s.end), chosen.replace(guard=(predicate, False))]
        code.append(build.add(place, memory.base.index, added))
        self.edit.insert(word, None, code)
        self._readdress(word, place, memory.offset + beside)

    def _amount(self, target: int, stretch: Stretch, beside: int) -> Instr:
        """Return an instruction: target = what is added in a stretch, without what goes into the offset."""
        build = self.isa.build
        if stretch.register is not None:
            return build.copy(target, stretch.register)
        return build.number(target, stretch.number - beside)

    def _require_choice(self, access: Reached, met: list[Stretch]) -> None:
        """Refuse what cannot be chosen by the address of an access's first byte."""
        size, guard = access.memory.size, self.function.cfg.views[access.place.word].guard
        bounds = [s.end for s in met[:-1]] + [s.first for s in met[1:]]
        found = ""
        if access.memory.base is None:
            found = "bytes of both at one address"
        elif guard is not None:
            found = f"{size} bytes under a guard"
        elif any(bound is not None and bound % size for bound in bounds):
            found = f"{size} bytes, and a bound of the parts that is no multiple"
        if found:
            raise Refused(
                "an access may go to both parts of shared memory", place=f"{self.function.name}+{access.place.word}",
                found=found, expected="an address that is known to be in one part, or that can be compared",
                remedy="Divide shared memory elsewhere.",
            )  # fmt: skip

    def _free_predicate(self, word: int) -> int:
        """Return a predicate that holds nothing at a word."""
        free = free_predicates([self.function.live.before[word], self.function.live.after[word]])
        if not free:
            where = f"{self.function.name}+{word}"
            raise Refused("an access to either part of shared memory needs a predicate", place=where,
                          found="all in use", expected="one that is free",
                          remedy=Hint("Choose {scheme} vtb or hw, in which no part is private."))  # fmt: skip
        return free[0]


def require_known(memory: SharedMemory) -> None:
    """Refuse accesses that another address cannot be given to."""
    isa, kernel = memory.program.isa, memory.program.graph.kernel
    for access in memory.reach.accesses:
        name, word = access.place
        if access.may and name != kernel:
            raise Refused("a function accesses shared memory for the kernel", place=f"{name}+{word}",
                          found=f"a {access.memory.access} in {name}", expected="accesses in the kernel itself",
                          remedy="Inline the function.")  # fmt: skip
        if access.memory.space == Space.GENERIC:
            raise Refused("a generic access may go to shared memory", place=f"{name}+{word}",
                          found="an address of which nothing is known", expected="accesses to one memory",
                          remedy="Say in the source that the pointer is to global memory (__isGlobal).")  # fmt: skip
    for name, f in memory.program.functions.items():
        for word, seen in enumerate(f.cfg.views):
            register = isa.special_register(seen.instr)
            if register is not None and register in (isa.limits.shared_size, isa.limits.shared_window):
                raise Refused("the code asks where its shared memory lies", place=f"{name}+{word}", found=register,
                              expected="addresses that only accesses use",
                              remedy="Leave this kernel as it is.")  # fmt: skip
