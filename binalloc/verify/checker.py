"""The symbolic checker proves that a rewritten kernel does what the original does.

    report = check(original, rewritten, "kernel")

**What is proven.** Thread by thread, the rewritten kernel executes the original's operations with the same operand
values, under the same guards, taking the same branches and reconverging at the same points. The order is the
original's, or differs from it inside basic blocks where words commute. Between the operations it only moves values:
copies, spills and reloads of its own words, exchanges, recomputed values, shifts of the slot pointer. Pure operations
may be left out, repeated, or moved elsewhere; one that may fault only if the original has executed it with the same
operands. So global, shared and user local memory see the same accesses, and no fault is added (ISA.md, "Faults"). Reads
of values that the original never wrote are undefined and may read anything, each time anew, also in copies; but a
predicate that has guarded something keeps its value. They are listed in the report's notes.

**Names** (`naming.py`, `webs.py`). The original's values are its webs, as the checker finds them: registers that it
used for one value after another forbid nothing.

**Order** (`order.py`). Each block of the original is put into the order that the instruction map proposes, if it does
the same in that order; everything else follows the original in the resulting order.

**Lattice** (`lattice.py`). A fact says "this place of the rewritten program holds the current content of that original
value". Places are registers in 32-bit units, predicates, slot rows relative to the function's entry slot pointer and
words of local memory. Facts are unconditional or under an original predicate. Constants, the slot pointer and results
of pure operations are further values. The meet (`meet.py`) is intersection of what the facts imply.

**Transfer** (`transfer.py`). An original definition empties the column of its value, a rewritten one the row. Copies
copy rows or columns. A matched operation checks its operands and relates its results. A pure operation that stands
alone gives the value computed from its operands (`remade.py`). Guards split and meet; a guard that nothing wrote is
whatever the rewritten program first uses for it (`unwritten.py`).

**Lockstep** (`product.py`). The instruction map (`Function.origin`) is a hint: it proposes which new instruction stands
for which original one. The lockstep graph follows both programs from their entries and accepts the proposal only if
operations, control flow and reconvergence agree on every path.

**Calls** (`calls.py`, `call_boundary.py`). Pairs of functions are analysed per entry state; callers keep what neither
callee touches. A function may say that calls were inlined before it was rewritten. The checker then inlines those calls
in the original itself, where that changes nothing (`inlined.py`).

**Resources** (`resources.py`). Register count, slot and spill bytes cover every access, and no more than that is
reserved; everything else about the kernel (parameters, shared and local layout, launch bounds, constants) is unchanged.
The reconvergence stack suffices where the original's does (`depth.py`).

**Surroundings** (`surroundings.py`). Other kernels are unchanged, and functions that an indirect call may enter keep
their addresses.

**What is not.** The order in which lanes of a warp, or warps, come to an access: where a branch was inverted its sides
change places. The order in which a thread's own accesses become visible to others where nothing orders them
(`order.py`). Control codes: `hazards` is their proof. Spill accesses that the original itself has (it was rewritten
before) are accesses like any other, and none may be added.

This package shares no code with allocator and rewriter but the list of a mask's bits (`bitset`) and the control of
Python's garbage collector (`collection`); it is built on the instruction interface. `check` raises nothing: what it
cannot prove, or cannot make sense of, is an error in the report.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from binalloc.call_stack import with_room
from binalloc.collection import no_collection
from binalloc.isa.instruction import NO_REGISTER, Function, Module, Origin
from binalloc.isa.interface.banks import bank_bytes
from binalloc.isa.interface.places import REG, SLOT_ROW, STACK_ENTRIES
from binalloc.isa.interface.view import View
from binalloc.isa.kinds import Flow
from binalloc.isa.sets.table import set_of, view
from binalloc.verify.calls import ContextResult, Contexts, ProofSetting, collect
from binalloc.verify.depth import SHALLOW, Depth, depth, may_overflow
from binalloc.verify.original import OriginalFunction
from binalloc.verify.product import Pair, Product
from binalloc.verify.reading.code import FunctionCode, FunctionCodes, Malformed, text
from binalloc.verify.reading.footprint import footprint
from binalloc.verify.reading.inlined import NotInlined, with_inlined
from binalloc.verify.reading.names import Names, reg_key
from binalloc.verify.reading.naming import NamedFunction, NamedOriginal, TooMuch, Unfollowed, require_followable
from binalloc.verify.reading.order import find_order, find_places, loaded_words
from binalloc.verify.report import CheckReport, Finding
from binalloc.verify.resources import (
    changed_registers,
    check_accesses,
    check_callee,
    check_locals,
    check_module,
    check_reserved,
)
from binalloc.verify.surroundings import check_surroundings
from binalloc.verify.values.lattice import State

STEPS_PER_WORD = 300  # of the analysis; chosen by hand: it bounds the time on hostile code


@with_room
@no_collection()
def check(
    original: Module,
    rewritten: Module,
    kernel: str,
    also: Collection[str] = (),
    maps: Mapping[str, Origin] | None = None,
    idle_slots: int = 0,
) -> CheckReport:
    """Prove `rewritten`'s kernel equivalent to `original`'s, and the rest of the module unchanged but for the kernels
    `also`, which have their own checks. maps: instruction maps by name, in place of the functions' own. idle_slots:
    slots that may be reserved beyond those used, to limit the blocks that run at once. Never raises; unproven
    obligations are in `errors`."""
    checker = _Checker(original, rewritten, kernel, also, maps or {}, idle_slots)
    try:
        checker.run()
    except TooMuch as e:
        checker.fail("limit", str(e))
    except Unfollowed as e:
        checker.fail("call", str(e))
    except Malformed as e:
        checker.fail("malformed", str(e))
    except RecursionError:
        checker.fail("limit", "the call graph is too deep to follow")
    except Exception as e:
        checker.fail("internal", f"the checker could not make sense of the binaries: {type(e).__name__}: {e}")
    return checker.report()


class _Checker:
    def __init__(
        self,
        original: Module,
        rewritten: Module,
        kernel: str,
        also: Collection[str],
        maps: Mapping[str, Origin],
        idle_slots: int,
    ) -> None:
        self.original, self.rewritten, self.kernel, self.also, self.maps = original, rewritten, kernel, also, maps
        self.idle_slots = idle_slots
        self.follow = True
        self.errors: dict[Finding, None] = {}
        self.notes: list[Finding] = []
        self.stats: dict[str, int] = {}
        self.names = Names()
        self.pairs: dict[tuple[int, int], Pair] = {}
        self.order: list[Pair] = []

    def fail(self, kind: str, message: str, function: str = "", expected: str = "", found: str = "") -> None:
        self.errors[Finding(kind, message, function or self.kernel, expected=expected, found=found)] = None

    def report(self) -> CheckReport:
        errors = sorted(self.errors, key=lambda e: (e.function, e.index, e.kind, e.message, e.operand))
        return CheckReport(not errors, errors[: CheckReport.LIMIT], self.notes, self.stats)

    def run(self) -> None:
        old, new = _function(self.original, self.kernel), _function(self.rewritten, self.kernel)
        if old is None or new is None:
            self.fail("kernel", f"no kernel {self.kernel} in the {'original' if old is None else 'rewritten binary'}")
            return
        for finding in check_module(self.original, self.rewritten, old, new):
            self.errors[finding] = None
        for finding in check_surroundings(self.original, self.rewritten, self.kernel, self.also):
            self.errors[finding] = None
        if not self._inline(old, new):
            return
        old = self.original.function(self.kernel)
        views = [v for fn in self.original.reached(old) for v in _views(fn)]
        self.follow = not _spills(views)
        self.codes = FunctionCodes(bank_bytes(self.rewritten.constants, old.info.params), self.follow)
        stack = _never_written(old.info.local_stack, views)
        self.named = NamedOriginal(self.original, self.names, self.codes, stack)
        self.named.of(old)  # raises first of all where the original cannot be followed
        root = self._pair(old, new, ())
        self.stats = {"functions": len(self.order), "words": sum(len(p.new) for p in self.order)}
        if root is None or any(p.product.findings for p in self.order):
            return
        for finding in check_locals([p.product for p in self.order], old.info, new.info):
            self.errors[finding] = None
        self._depth()
        self._values(root, old, new)

    def _inline(self, old: Function, new: Function) -> bool:
        """Inline calls in the original as the rewritten functions say, and return whether that was possible."""
        words: dict[str, list[int]] = {}
        for fn in self.rewritten.reached(new, indirect=False):
            origin = self.maps.get(fn.name, fn.origin)
            if origin is not None and words.setdefault(origin.function, origin.inlined) != origin.inlined:
                self.fail("inlined", "two functions stand for one with other calls inlined", fn.name)
                return False
        if not any(words.values()):
            return True
        if any(fn.calls_by_address for fn in self.original.reached(old)):
            self.fail("inlined", "where code calls by address it cannot be moved")
            return False
        try:
            self.original = with_inlined(self.original, words)
        except NotInlined as e:
            self.fail("inlined", f"word {e.word} cannot be taken as inlined: {e}")
            return False
        return True

    # -- structure

    def _pair(self, old: Function, new: Function, above: tuple[str, ...]) -> Pair | None:
        """Build the lockstep of two functions and of their callees, callees first into `order`; return None if it is
        refused."""
        key = (id(old), id(new))
        if key in self.pairs:
            pair = self.pairs[key]
            return pair if pair.complete else None
        require_followable(new.name, above)
        origin = self.maps.get(new.name, new.origin)
        if not self._map_is_usable(old, new, origin):
            return None
        assert origin is not None
        if above:
            views = self.codes.of(new).views
            for finding in check_callee(old, new, views, self.rewritten.function(self.kernel).info):
                self.errors[finding] = None
        named = self.named.of(old)
        product = self._lockstep(named, self.codes.of(new), origin.index)
        pair = Pair(product, [], {})
        for finding in product.findings:
            self.errors[finding] = None
        pair.complete = not product.findings
        self._symbols(product, new)
        for node in product.calls:
            callees = self.original.callee(old, node.m), self.rewritten.callee(new, node.n)
            entered = None
            if callees[0] is None or callees[1] is None:
                self.fail("call", f"the call at word {node.n} enters no function", new.name)
            else:
                entered = self._pair(callees[0], callees[1], (*above, new.name))
            if entered is None:
                pair.complete = False
            else:
                pair.callees[node.n] = entered
        if pair.complete:
            pair.blocks, pair.index = product.blocks()
        self.pairs[key] = pair
        self.order.append(pair)
        return pair if pair.complete else None

    def _symbols(self, product: Product, new: Function) -> None:
        """Check that the rewritten words are said to touch the variables that the original's are, or nothing is said.

        It is no matter of execution, but tools that take C's rule go by it.
        """
        for node in product.nodes.values():
            said, old = new.touches.get(node.n), product.old.fn
            m = product.old.number(node.m) if node.matches else -1
            if said not in (None, old.touches.get(m)):
                expected = ", ".join(old.touches.get(m, ())) or "nothing said"
                message = "its address is said to come from other variables than the original's"
                finding = Finding("symbols", message, new.name, node.n, old.name if m >= 0 else "", m,
                                  text(new, node.n), expected=expected, found=", ".join(said or ()))  # fmt: skip
                self.errors[finding] = None

    def _lockstep(self, named: NamedFunction, new: FunctionCode, origin: list[int]) -> Product:
        """Return the lockstep with the original in the rewritten program's order, as far as it does the same."""
        values = self.named.webs[id(named.code.fn)]
        places = find_places(new, origin)
        loaded = loaded_words(n.code for n in self.named.functions.values())
        model = self.original.memory_model
        order = find_order(named.code, named.blocks, values, loaded, new, places, origin, model)
        old = OriginalFunction(named.code, named.blocks, values, self.names, order)
        return Product(old, new, places, old.positions(origin))

    def _map_is_usable(self, old: Function, new: Function, origin: Origin | None) -> bool:
        if origin is None:
            self.fail("map", "the function has no instruction map", new.name)
        elif origin.function != old.name:
            self.fail("call", "stands for another function", new.name, expected=old.name, found=str(origin.function))
        elif len(origin.index) != len(new.instrs) or not all(type(k) is int and k >= -1 for k in origin.index):
            self.fail("map", "the instruction map does not fit the code", new.name)
        elif old.info.kind != new.info.kind:
            self.fail("kind", "the function's kind changed", new.name, expected=old.info.kind, found=new.info.kind)
        else:
            return True
        return False

    def _depth(self) -> None:
        """Check that the reconvergence stack suffices wherever it does for the original."""
        chains: dict[int, int] = {}
        for pair in self.order:
            chains[id(pair)] = max((1 + chains[id(callee)] for callee in pair.callees.values()), default=0)
        if chains[id(self.order[-1])] <= SHALLOW:
            return
        bounds: dict[int, Depth] = {}
        for pair in self.order:
            below = {n: bounds[id(callee)] for n, callee in pair.callees.items()}
            bounds[id(pair)] = depth(pair.new, below)
        bound = bounds[id(self.order[-1])]
        if may_overflow(bound, [p.product for p in self.order]):
            self.fail(
                "stack",
                "the reconvergence stack may overflow where the original's does not",
                expected=f"{STACK_ENTRIES} entries",
                found=f"up to {bound.entries}, {bound.calls} calls deep",
            )

    # -- values

    def _values(self, root: Pair, old: Function, new: Function) -> None:
        names = self.names
        for pair in self.order:
            named = self.named.functions[id(pair.old.fn)]
            pair.footprint = footprint(named.summary, pair.new, [c.footprint for c in pair.callees.values()])
        low = new.info.local_bytes
        setting = ProofSetting(
            names=names,
            pointer=new.info.slot_pointer,
            volatile=changed_registers(set_of(self.original).limits, old.info, new.info),
            slot_base=set_of(self.original).limits.slot_base,
            spill=(low, low + new.info.spill_local),
            budget=50_000 + STEPS_PER_WORD * self.stats["words"],
        )
        for merge_after in (0, setting.budget // 2) if len(self.order) > 1 else (0,):
            contexts = Contexts(setting, merge_after)
            result = contexts.analyse(root, self._launch(setting, old, new), kernel=True)
            findings, self.notes, count = collect(result)
            if not findings:
                break
        for finding in findings:
            self.errors[finding] = None
        self._slots(result, new)
        codes = [p.new for p in self.order]
        for finding in check_accesses(codes, new.info):
            self.errors[finding] = None
        rows = self._reach(new.info.slot_pointer) if self.follow else old.info.slot_bytes // SLOT_ROW
        for finding in check_reserved(codes, rows + self.idle_slots, old.info, new.info, self.follow):
            self.errors[finding] = None
        self.stats.update(contexts=count, steps=contexts.steps, slots=_rows(result))

    def _reach(self, pointer: int) -> int:
        """Return the number of slots that the code may use on any way: rows of a function's own accesses, and rows of
        callees above the largest shift of the pointer."""
        rows: dict[int, int] = {}
        for pair in self.order:
            own = max((m.offset // SLOT_ROW + 1 for i, v in enumerate(pair.new.views)
                       if (m := v.memory) is not None and pair.new.slot_access(i)), default=0)  # fmt: skip
            shifts = [add[2] // SLOT_ROW for add in pair.new.adds if add is not None and add[:2] == (pointer, pointer)]
            below = max((rows[id(callee)] for callee in pair.callees.values()), default=0)
            rows[id(pair)] = max(own, max([0, *shifts]) + below)
        return rows[id(self.order[-1])]

    def _launch(self, setting: ProofSetting, old: Function, new: Function) -> State:
        """Return the facts at a kernel's start: nothing is written but the local stack register."""
        entry = self.named.webs[id(old)].entry
        state = State(setting.names, frozenset((*entry.values(), *setting.names.words.values())))
        stack = entry.get(old.info.local_stack)
        if stack is not None:
            state.kill((stack,))
            if new.info.local_stack != NO_REGISTER:
                state.add(reg_key(new.info.local_stack), frozenset((stack,)))
        return state

    def _slots(self, result: ContextResult, new: Function) -> None:
        rows = new.info.slot_bytes // SLOT_ROW
        for row, (function, index) in sorted(result.effects.slots_touched.items()):
            if not 0 <= row < rows:
                self.errors[
                    Finding(
                        "slot",
                        "a slot lies outside what the kernel reserves",
                        function,
                        index,
                        expected=f"slots 0..{rows - 1}" if rows else "no slots",
                        found=f"slot {row} counted from the kernel's",
                    )
                ] = None


def _views(fn: Function) -> list[View]:
    try:
        return [view(instr) for instr in fn.instrs]
    except (KeyError, IndexError) as e:
        raise Malformed(f"{fn.name} has an instruction with reserved or missing fields: {e}") from e


def _spills(views: list[View]) -> bool:
    return any(v.memory is not None and v.memory.spill for v in views)


def _never_written(register: int, views: list[View]) -> int:
    """Return `register`, a local stack register, if it holds 0 throughout, else NO_REGISTER: none of these instructions
    may write it or call unknown code."""
    for v in views:
        if v.control == Flow.CALL_INDIRECT or any(d.file == REG and register in d.registers() for d in v.defs):
            return NO_REGISTER
    return register


def _rows(result: ContextResult) -> int:
    return max((r + 1 for r in result.effects.slots_touched), default=0)


def _function(module: Module, name: str) -> Function | None:
    found = [fn for fn in module.functions if fn.name == name]
    return found[0] if len(found) == 1 and found[0].info.is_kernel else None
