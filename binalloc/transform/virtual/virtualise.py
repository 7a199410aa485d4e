"""This module translates a function with its webs to virtual-register code.

It needs a normalised function (no guarded calls), its webs and the contracts of its callees. It leaves virtual code in
which every web of a register or lifted local word is a value. Each call there names the registers of its arguments and
results by the callee's contract. Unreachable blocks are left out, except for one named by a reconvergence point: that
becomes an EXIT and never executes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from binalloc.analysis.facts import changed_predicates, refs_mask
from binalloc.analysis.flow.cfg import NO_BLOCK
from binalloc.analysis.locations import Location
from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis
from binalloc.analysis.web import MEMORY, WebNumber
from binalloc.bitset import mask_from
from binalloc.isa.interface.banks import bank_bytes
from binalloc.isa.interface.places import PRED, REG
from binalloc.isa.interface.view import Ref, View
from binalloc.isa.kinds import Access, Flow
from binalloc.isa.sets.table import may_fault
from binalloc.isa.source_facts import PTX
from binalloc.models.allocation.terms import Register, Value
from binalloc.transform.virtual.code import (
    ARRIVE,
    COPY,
    ENTRY,
    INSTR,
    KEEP,
    MOVED,
    PASS,
    RELOAD,
    Item,
    VBlock,
    VCode,
    VOperand,
    copy_item,
)
from binalloc.transform.virtual.contract import Contract


def virtualise(
    program: ProgramAnalysis,
    name: str,
    contracts: Mapping[str, Contract],
    unwritten: Collection[WebNumber] = (),
    stored: Collection[Location] = (),
) -> VCode:
    """Return the virtual code of function `name`. contracts: by name of the callee. unwritten: webs that may be read
    without having been written (`unwritten.py`). stored: arguments that callers leave in memory, some of
    `may_be_stored`."""
    made = _Virtualising(program, name, contracts, stored)
    code = made.run()
    if not code.function.info.is_kernel:
        code.predicates = changed_predicates(program[name].summary.may_def)
    code.unwritten = frozenset(made.value_of[web] for web in unwritten if web in made.value_of)
    return code


def may_be_stored(program: ProgramAnalysis, name: str) -> list[Location]:
    """List the arguments that may be passed in memory. The kernel's stack register is none of them, since nobody calls
    the kernel."""
    if name == program.graph.kernel:
        return []
    webs = program[name].webs
    return [loc for loc, web in webs.args if webs[web].file != PRED]


def never_written(program: ProgramAnalysis, name: str) -> list[Location]:
    """List the arguments of `may_be_stored` that the function never writes. Memory holds them as long as it runs."""
    webs = program[name].webs
    web_of = dict(webs.args)
    return [loc for loc in may_be_stored(program, name) if len(webs[web_of[loc]].defs) == 1]


class _Virtualising:
    """This pass translates one function."""

    def __init__(
        self,
        program: ProgramAnalysis,
        name: str,
        contracts: Mapping[str, Contract],
        stored: Collection[Location],
    ) -> None:
        self.program, self.stored = program, frozenset(stored)
        self.analysis: FunctionAnalysis = program[name]
        self.webs = self.analysis.webs
        self.contracts = contracts
        self.value_of: dict[WebNumber, Value] = {}
        lanes = None if program.module.memory_model == PTX else self.analysis.addresses
        banks = bank_bytes(program.module.constants, program.kernel.fn.info.params)
        self.code = VCode(self.analysis.fn, [], lanes=lanes, banks=banks)
        self.wanted = self._wanted_arguments()

    def run(self) -> VCode:
        self._values()
        cfg = self.analysis.cfg
        kept = [b for b in range(len(cfg.blocks)) if cfg.rpo_number[b] >= 0 or b in cfg.points.values()]
        number = {b: k + 1 for k, b in enumerate(kept)}
        self.code.blocks.append(VBlock(-1, [self._entry(), *self._arriving()], (1,)))
        for b in kept:
            block = VBlock(cfg.blocks[b].start)
            if cfg.rpo_number[b] < 0:
                block.items.append(Item(INSTR, self.program.isa.build.stop()))
            else:
                block.succs = tuple(number[s] for s in cfg.succs[b])
                block.taken = number[cfg.taken[b]] if cfg.taken[b] >= 0 else -1
                block.weight = weight = float(self.analysis.loops.weight[b])
                block.loop = self.analysis.loops.loop_of[b]
                meeting = cfg.points.get(cfg.blocks[b].end - 1, NO_BLOCK)
                block.meeting = number[meeting] if meeting >= 0 else -1
                for i in range(cfg.blocks[b].start, cfg.blocks[b].end):
                    self._instruction(i, cfg.views[i], weight, block.items)
            self.code.blocks.append(block)
        return self.code

    def _wanted_arguments(self) -> set[WebNumber]:
        """Return the webs of arguments that some caller still needs in place after the call, if this function never
        rewrites them."""
        name = self.analysis.name
        kept: set[Location] = set()
        for site in self.program.graph.sites_of(name):
            link = self.program[site.caller].webs.calls[site.index]
            survivors = set(link.survivors)
            kept |= {loc for loc, web in link.args if web in survivors}
        kept -= self.stored
        return {web for loc, web in self.webs.args if loc in kept and len(self.webs[web].defs) == 1}

    def _values(self) -> None:
        """Create one value per web outside of the predicate file."""
        for web in self.webs:
            if web.file == PRED:
                continue
            value = self.code.value(f"{web.name}.{web.id}")
            self.value_of[web.id] = value
            if web.file == REG:
                self.code.before[value] = Register(web.arch)
            if web.remat >= 0 and self.analysis.cfg.views[web.remat].defs[0].units == 1:
                instr = self.analysis.fn.instrs[web.remat]
                if not may_fault(instr, self.code.banks):
                    self.code.constants[value] = instr

    def _entry(self) -> Item:
        """Return the item that defines the arguments. It also defines values read by a kernel without having been set,
        so that they are kept apart and do not change."""
        arguments = [
            VOperand("", (self.value_of[web],), location=loc)
            for loc, web in self.webs.args
            if web in self.value_of and loc not in self.stored
        ]
        known = {o.values[0] for o in arguments} | {self.value_of[w] for loc, w in self.webs.args if loc in self.stored}
        undefined = [self.value_of[w.id] for w in self.webs if w.undefined and w.id in self.value_of]
        rest = [VOperand("", (v,)) for v in dict.fromkeys(undefined) if v not in known]
        return Item(ENTRY, defs=(*arguments, *rest))

    def _arriving(self) -> list[Item]:
        """Return the items for arguments that callers left in memory. Such a value and its memory value have one
        number. A web that is written later begins as a copy of it."""
        arriving: list[Item] = []
        loading: list[Item] = []
        for loc, web in self.webs.args:
            if loc not in self.stored:
                continue
            v = own = self.value_of[web]
            if len(self.webs[web].defs) > 1:
                v = self.code.value(f"{self.code.names[own]}^")
            self.code.arrives[loc] = self.code.held[v] = v
            arriving.append(Item(ARRIVE, memory=v))
            loading.append(Item(RELOAD, defs=(VOperand(MOVED, (v,)),), memory=v))
            if v != own:
                loading.append(copy_item(own, v, 1.0))
        return [*arriving, *loading]

    def _instruction(self, i: int, view: View, weight: float, out: list[Item]) -> None:
        """Add the items of instruction i to `out`."""
        if view.control == Flow.CALL:
            self._call(i, weight, out)
            return
        lifted = (i, MEMORY, 0) in self.webs.web_of_def or (i, MEMORY, 0) in self.webs.web_of_use
        if lifted:
            self._lifted(i, view, weight, out)
            return
        defs = self._operands(i, view.defs, self.webs.web_of_def)
        uses = self._operands(i, view.uses, self.webs.web_of_use)
        kind = COPY if view.copy else INSTR
        read = refs_mask(view.uses)
        if view.control == Flow.RETURN:
            uses += self._returned()
            read |= mask_from(loc for loc, web in self.webs.results if web not in self.value_of)
        instr = self.analysis.fn.instrs[i]
        changed = self.analysis.live.facts.changes[i]
        out.append(
            Item(
                kind, instr, i, defs, uses, view.guard, changed, weight=weight, predicate_uses=changed_predicates(read)
            )
        )

    def _returned(self) -> tuple[VOperand, ...]:
        """Return the results, and the arguments that callers use after the call."""
        results = [(loc, self.value_of[web]) for loc, web in self.webs.results if web in self.value_of]
        returned = {v for _, v in results}
        kept = [self.value_of[w] for w in sorted(self.wanted) if w in self.value_of]
        return (
            *(VOperand("", (v,), location=loc) for loc, v in results),
            *(VOperand(KEEP, (v,)) for v in kept if v not in returned),
        )

    def _operands(
        self, i: int, refs: tuple[Ref, ...], lookup: Mapping[tuple[int, int, int], WebNumber]
    ) -> tuple[VOperand, ...]:
        """Return the register operands of instruction i as values."""
        found: list[VOperand] = []
        value_of = self.value_of
        for k, ref in enumerate(refs):
            if ref.file != REG:
                continue
            if ref.units == 1:
                found.append(VOperand(ref.field, (value_of[lookup[i, k, 0]],)))
            else:
                found.append(VOperand(ref.field, tuple([value_of[lookup[i, k, u]] for u in range(ref.units)])))
        return tuple(found)

    def _lifted(self, i: int, view: View, weight: float, out: list[Item]) -> None:
        """Turn a spill access of the input into copies between register and local-word values."""
        assert view.memory is not None
        load = view.memory.access == Access.LOAD
        refs, lookup = (view.defs, self.webs.web_of_def) if load else (view.uses, self.webs.web_of_use)
        memory = self.webs.web_of_use if load else self.webs.web_of_def
        data = view.memory.data(refs)
        if not data:
            self._lifted_zero(i, view, weight, out)
            return
        k = refs.index(data[0])
        for u in range(refs[k].units):
            register, word = self.value_of[lookup[i, k, u]], self.value_of[memory[i, MEMORY, u]]
            target, source = (register, word) if load else (word, register)
            item = copy_item(target, source, weight, view.guard)
            item.part = i if refs[k].units > 1 else -1
            out.append(item)

    def _lifted_zero(self, i: int, view: View, weight: float, out: list[Item]) -> None:
        """Set the words to zero for a store of zero. A load into no register does nothing."""
        u = 0
        while (i, MEMORY, u) in self.webs.web_of_def:
            word = self.value_of[self.webs.web_of_def[i, MEMORY, u]]
            zero, field = self.program.isa.build.zero()
            out.append(Item(INSTR, zero, defs=(VOperand(field, (word,)),), guard=view.guard, weight=weight))
            u += 1

    def _call(self, i: int, weight: float, out: list[Item]) -> None:
        """Add the items of call i to `out`: arguments passed in memory, the call, and copies of results that share a
        register."""
        link = self.webs.calls[i]
        contract = self.contracts[link.callee]
        given = [(loc, self.value_of[web]) for loc, web in link.args if web in self.value_of]
        uses = tuple(VOperand("", (v,), contract.arguments[loc]) for loc, v in given if loc not in contract.stored)
        out += [
            Item(PASS, uses=(VOperand(MOVED, (v,)),), weight=weight, passes=loc)
            for loc, v in given
            if loc in contract.stored
        ]
        after: list[Item] = []
        defs: list[VOperand] = []
        first: dict[Register, Value] = {}  # results that are copies of one another may share a register
        for loc, web in link.results:
            if web not in self.value_of:
                continue
            value = self.value_of[web]
            if loc not in contract.results:  # a callee that never returns has no results, but old values end here
                defs.append(VOperand("", (value,)))
            elif (register := contract.results[loc]) in first:
                after.append(copy_item(value, first[register], weight))
            else:
                first[register] = value
                defs.append(VOperand("", (value,), register))
        changed = self.analysis.live.facts.changes[i]
        read = changed_predicates(mask_from(loc for loc, web in link.args if web not in self.value_of))
        instr = self.analysis.fn.instrs[i]
        call = Item(INSTR, instr, i, tuple(defs), uses, None, changed, weight=weight, predicate_uses=read)
        call.callee = link.callee
        out += [call, *after]
