"""From a function with its webs to virtual-register code.

Needs: a normalised function (no guarded calls), its webs and the contracts of its callees. Leaves: virtual code in
which every web of a register or lifted local word is a value, operands of pairs and quads share a group, and each call
stands between copies that bring the callee's arguments into, and fetch its results from, the registers its contract
names. Unreachable blocks are left out; one that only a reconvergence point names becomes an EXIT that never executes.
"""

from __future__ import annotations

from collections.abc import Mapping

from binalloc.analysis.locations import Location
from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis
from binalloc.analysis.web import MEMORY, WebNumber
from binalloc.isa.interface.places import PRED, REG
from binalloc.isa.interface.view import Ref, View
from binalloc.isa.kinds import Access, Flow
from binalloc.models.allocation.terms import Register, Value
from binalloc.transform.virtual.code import COPY, ENTRY, INSTR, KEEP, MOVED, Item, Values, VBlock, VCode, VOperand
from binalloc.transform.virtual.contract import Contract


def virtualise(program: ProgramAnalysis, name: str, contracts: Mapping[str, Contract]) -> VCode:
    """Virtual code of function `name`; `contracts` by callee name."""
    return _Virtualising(program, name, contracts).run()


class _Virtualising:
    def __init__(self, program: ProgramAnalysis, name: str, contracts: Mapping[str, Contract]) -> None:
        self.program = program
        self.analysis: FunctionAnalysis = program[name]
        self.webs = self.analysis.webs
        self.contracts = contracts
        self.values = Values()
        self.value_of: dict[WebNumber, Value] = {}
        self.code = VCode(self.analysis.fn, [], self.values)
        self.wanted = self._wanted_arguments()

    def run(self) -> VCode:
        self._values()
        cfg = self.analysis.cfg
        kept = [b for b in range(len(cfg.blocks)) if cfg.rpo_number[b] >= 0 or b in cfg.points.values()]
        number = {b: k + 1 for k, b in enumerate(kept)}
        self.code.blocks.append(VBlock(-1, [self._entry()], (1,)))
        for b in kept:
            block = VBlock(cfg.blocks[b].start)
            if cfg.rpo_number[b] < 0:
                block.items.append(Item(INSTR, self.program.isa.build.stop()))
            else:
                block.succs = tuple(number[s] for s in cfg.succs[b])
                block.taken = number[cfg.taken[b]] if cfg.taken[b] >= 0 else -1
                weight = float(self.analysis.loops.weight[b])
                for i in range(cfg.blocks[b].start, cfg.blocks[b].end):
                    self._instruction(i, cfg.views[i], weight, block.items)
            self.code.blocks.append(block)
        return self.code

    def _wanted_arguments(self) -> set[WebNumber]:
        """Webs of arguments that some caller still needs in place after the call, and that are never rewritten here."""
        name = self.analysis.name
        kept: set[Location] = set()
        for site in self.program.graph.sites_of(name):
            link = self.program[site.caller].webs.calls[site.index]
            survivors = set(link.survivors)
            kept |= {loc for loc, web in link.args if web in survivors}
        return {web for loc, web in self.webs.args if loc in kept and len(self.webs[web].defs) == 1}

    def _values(self) -> None:
        """One value per web outside the predicate file; groups as the analysis found them."""
        values, webs = self.values, self.webs
        groups = [values.group(g.units, align=g.alignment, spillable=True) for g in webs.groups]
        for web in webs:
            if web.file == PRED:
                continue
            group = groups[web.group] if web.group >= 0 else values.group(spillable=True)
            value = values.value(group, web.offset if web.group >= 0 else 0, f"{web.name}.{web.id}")
            self.value_of[web.id] = value
            if web.file == REG:
                self.code.before[value] = Register(web.arch)
            if web.remat >= 0 and self.analysis.cfg.views[web.remat].defs[0].units == 1:
                self.code.constants[value] = self.analysis.fn.instrs[web.remat]

    def _entry(self) -> Item:
        """Arguments, and what a kernel reads without having set it (kept apart, so that it stays what it was)."""
        for loc, web in self.webs.args:
            if web in self.value_of:
                self.code.arguments[loc] = self.value_of[web]
        for loc, web in self.webs.results:
            if web in self.value_of:
                self.code.results[loc] = self.value_of[web]
        undefined = [self.value_of[w.id] for w in self.webs if w.undefined and w.id in self.value_of]
        defined = [*self.code.arguments.values(), *undefined]
        return Item(ENTRY, defs=tuple(VOperand("", (v,)) for v in dict.fromkeys(defined)))

    def _instruction(self, i: int, view: View, weight: float, out: list[Item]) -> None:
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
        if view.control == Flow.RETURN:
            uses += tuple(VOperand("", (v,)) for v in self.code.results.values())
            results = set(self.code.results.values())
            kept = [self.value_of[w] for w in sorted(self.wanted) if w in self.value_of]
            uses += tuple(VOperand(KEEP, (v,)) for v in kept if v not in results)
        instr = self.analysis.fn.instrs[i]
        out.append(Item(kind, instr, i, defs, uses, view.guard, self.analysis.live.facts.changes[i], weight=weight))

    def _operands(
        self, i: int, refs: tuple[Ref, ...], lookup: Mapping[tuple[int, int, int], WebNumber]
    ) -> tuple[VOperand, ...]:
        return tuple(
            VOperand(ref.field, tuple(self.value_of[lookup[i, k, u]] for u in range(ref.units)))
            for k, ref in enumerate(refs)
            if ref.file == REG
        )

    def _lifted(self, i: int, view: View, weight: float, out: list[Item]) -> None:
        """A spill access of the input becomes copies between register and local-word values."""
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
            out.append(
                Item(
                    COPY,
                    defs=(VOperand(MOVED, (target,)),),
                    uses=(VOperand(MOVED, (source,)),),
                    guard=view.guard,
                    weight=weight,
                )
            )

    def _lifted_zero(self, i: int, view: View, weight: float, out: list[Item]) -> None:
        """A store of zero sets its words to zero; a load into nowhere does nothing."""
        u = 0
        while (i, MEMORY, u) in self.webs.web_of_def:
            word = self.value_of[self.webs.web_of_def[i, MEMORY, u]]
            zero, field = self.program.isa.build.zero()
            out.append(Item(INSTR, zero, defs=(VOperand(field, (word,)),), guard=view.guard, weight=weight))
            u += 1

    def _call(self, i: int, weight: float, out: list[Item]) -> None:
        link = self.webs.calls[i]
        contract = self.contracts[link.callee]
        uses: list[VOperand] = []
        for loc, web in link.args:
            if web in self.value_of:
                place = self.values.precoloured(contract.arguments[loc])
                out.append(_copy(place, self.value_of[web], weight))
                uses.append(VOperand("", (place,)))
        after: list[Item] = []
        defs: list[VOperand] = []
        places: dict[Register, Value] = {}  # results that are copies of one another may share a register
        for loc, web in link.results:
            if web not in self.value_of:
                continue
            if loc not in contract.results:  # a callee that never returns leaves nothing, but what was here ends here
                defs.append(VOperand("", (self.value_of[web],)))
            else:
                register = contract.results[loc]
                if register not in places:
                    places[register] = self.values.precoloured(register)
                after.append(_copy(self.value_of[web], places[register], weight))
        defs += [VOperand("", (place,)) for place in places.values()]
        changed = self.analysis.live.facts.changes[i]
        instr = self.analysis.fn.instrs[i]
        out.append(Item(INSTR, instr, i, tuple(defs), tuple(uses), None, changed, callee=link.callee, weight=weight))
        out += after


def _copy(target: Value, source: Value, weight: float) -> Item:
    return Item(COPY, defs=(VOperand(MOVED, (target,)),), uses=(VOperand(MOVED, (source,)),), weight=weight)
