"""This module lets a kernel's blocks get their shared memory as they run (multiplex paper, section 5: HW).

Needs a laid-out module; leaves another, in front of allocation. Every access region begins with BAR.ALLOC and ends with
BAR.FREE. Each takes the place of a barrier of the original beside it, as in Figure 8. Accesses to the public part go to
where BAR.ALLOC says; the private part, common bytes, keeps only the room that it needs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.analysis.program import FunctionAnalysis, analyse
from binalloc.analysis.ranges.versions import Version
from binalloc.analysis.shared.memory import SharedMemory, Three, shared_memory
from binalloc.analysis.shared.reach import Reached
from binalloc.analysis.shared.regions import Region
from binalloc.errors import Refused
from binalloc.isa.instruction import Function, Module, Origin
from binalloc.isa.interface.view import ALWAYS
from binalloc.isa.kinds import Flow, Space
from binalloc.transform.multiplex.bounds import put_at_bounds
from binalloc.transform.multiplex.edit import Edit, in_place
from binalloc.transform.multiplex.free import free_predicates, unused_register
from binalloc.transform.multiplex.parts import Parts, divide


@dataclass
class Multiplexed:
    """A multiplexed module lets blocks of one kernel share memory in turns."""

    module: Module
    regions: list[Region]  #: the kernel's access regions, in words of the original
    parts: Parts


def get_as_they_run(module: Module, kernel: str, block: Three) -> Multiplexed:
    """Return the module with a kernel whose blocks get their shared memory as they run.

    block: threads of a block along each axis. Raises Refused if the kernel has no access region, if an address may
    leave shared memory, or if registers do not suffice.
    """
    program = analyse(module, kernel)
    require_plain(module, kernel)
    memory, regions, parts = divide(shared_memory(program, block))
    if parts is None:
        raise Refused("no block waits for shared memory", place=kernel, found="no region that stores to it",
                      expected="at least one access region",
                      remedy="Look at the kernel's view of shared memory.")  # fmt: skip
    _require_known(memory)
    work = _Public(memory, regions, parts)
    fn, index = work.run()
    info = replace(fn.info, shared_bytes=parts.private, registers=max(fn.info.registers, work.next), machine="")
    variables = [
        replace(v, offset=parts.private_address(v.offset))
        for v in fn.shared if v.offset + v.size <= parts.first or parts.high <= v.offset
    ]  # fmt: skip
    made = replace(fn, info=info, shared=variables, origin=Origin(kernel, index))
    return Multiplexed(in_place(module, made, index), regions, parts)


def require_plain(module: Module, kernel: str) -> None:
    """Refuse a kernel that already has slots, or shared memory that its blocks get as they run."""
    fn = module.function(kernel)
    if fn.info.slots:
        raise Refused("the kernel has slots in shared memory already", place=kernel,
                      found=f"{fn.info.slots} slots per thread", expected="none",
                      remedy="Multiplex the kernel first, then rewrite it.")  # fmt: skip
    for word, instr in enumerate(fn.instrs):
        if instr.control in (Flow.ALLOC, Flow.FREE):
            raise Refused("the kernel's blocks get shared memory as they run already", place=f"{kernel}+{word}",
                          found=instr.name, expected="static shared memory")  # fmt: skip


def _require_known(memory: SharedMemory) -> None:
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
                              expected="addresses that only accesses use")  # fmt: skip


class _Public:
    """This pass edits one kernel."""

    def __init__(self, memory: SharedMemory, regions: list[Region], parts: Parts) -> None:
        self.memory, self.regions, self.parts = memory, regions, parts
        self.function: FunctionAnalysis = memory.program.kernel
        self.isa = memory.program.isa
        self.edit = Edit(self.function.fn)
        self.base = unused_register(memory.program)  #: register with what BAR.ALLOC gave
        self.next = self.base + 1
        #: by last begin of a region, basic block and version of an address register: the address in the public part
        self.sums: dict[tuple[int, int, Version], int] = {}

    def run(self) -> tuple[Function, list[int]]:
        build = self.isa.build
        begin, end = build.hold_shared(self.base, self.parts.public), build.free_shared(self.base)
        put_at_bounds(self.edit, self.memory, self.regions, begin, end)
        for access in self.memory.reach.accesses:
            if access.may:
                self._access(access)
        return self.edit.done()

    def _access(self, access: Reached) -> None:
        """Give an access its new address."""
        word, memory = access.place.word, access.memory
        common = self.memory.common.bytes
        if not access.may & ~common:
            base = None if memory.base is None else memory.base.index
            moved = self.parts.moved if access.low >= self.parts.high else 0
            self.edit.replaced[word] = self.isa.readdress(self.function.fn.instrs[word], base, memory.offset - moved)
        elif access.may & common:
            self._either(access)
        else:
            register = self.base if memory.base is None else self._sum(word, memory.base.index)
            offset = memory.offset - self.parts.low
            self.edit.replaced[word] = self.isa.readdress(self.function.fn.instrs[word], register, offset)

    def _sum(self, word: int, index: int) -> int:
        """Return a register with an address register's value plus what BAR.ALLOC gave.

        Accesses of a basic block share it, up to where a region begins: it gets another address.
        """
        operand = self.function.cfg.views[word].address_operand
        assert operand is not None
        web = self.function.webs.web_of_use[word, operand, 0]
        version = self.memory.ranges.functions[self.function.name].versions.before(word, web)
        block = self.function.cfg.block_of[word]
        begun = max((b.word for r in self.regions for b in r.begins if b.word <= word), default=0)
        key = (max(begun, self.function.cfg.blocks[block].start), block, version)
        guard = self.function.cfg.views[word].guard
        if guard is None and key in self.sums:
            return self.sums[key]
        register = self._new()
        self.edit.insert(word, None, [self.isa.build.add(register, index, self.base, guard or ALWAYS)])
        if guard is None:
            self.sums[key] = register
        return register

    def _new(self) -> int:
        """Return a register that nothing uses yet."""
        register = self.next
        self.next += 1
        if register >= self.isa.limits.zero:
            raise Refused("the kernel has too many registers", place=self.function.name,
                          found=f"{register} registers without those for addresses", expected=f"fewer than {register}",
                          remedy="Rewrite it for fewer registers first.")  # fmt: skip
        return register

    def _either(self, access: Reached) -> None:
        """Let an access to either part choose as it runs: the address decides.

        Its register gets what is to be added in the public part, and where that does not hold, in the private one.
        """
        word, memory, build, parts = access.place.word, access.memory, self.isa.build, self.parts
        guard, base = self.function.cfg.views[word].guard, memory.base
        assert base is not None
        if parts.first % memory.size or parts.high % memory.size or guard is not None:
            raise Refused("an access may go to both parts of shared memory", place=f"{self.function.name}+{word}",
                          found=f"{memory.size} bytes" + (" under a guard" if guard else ""),
                          expected="an address that is known to be in one part")  # fmt: skip
        inside, behind = self._free_predicates(word)
        place, added = self._new(), self._new()
        code = [
            build.plus(place, base.index, memory.offset - parts.first),
            build.below(inside, place, parts.high - parts.first),
            build.plus(place, base.index, memory.offset),
            build.below(behind, place, parts.high),
            build.plus(added, self.isa.limits.zero, parts.low - parts.moved),
            build.plus(place, self.isa.limits.zero, parts.low),
            build.copy(added, place, (behind, False)),
            build.copy(added, self.base, (inside, False)),
            build.add(place, base.index, added),
        ]
        self.edit.insert(word, None, code)
        offset = memory.offset - parts.low
        self.edit.replaced[word] = self.isa.readdress(self.function.fn.instrs[word], place, offset)

    def _free_predicates(self, word: int) -> list[int]:
        """Return two predicates that hold nothing at a word."""
        free = free_predicates([self.function.live.before[word], self.function.live.after[word]])
        if len(free) < 2:
            where = f"{self.function.name}+{word}"
            raise Refused("an access to either part of shared memory needs predicates", place=where,
                          found=f"{len(free)} that are free", expected="two")  # fmt: skip
        return free[:2]
