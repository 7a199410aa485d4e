"""Control flow of the random program generator: branches, loops, calls, ways out, around the instructions of `Ops`."""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.generator.ops import C_CONST, IMM, PT, RZ, Ops
from tests.support.generator.options import ADDRESS_BANK
from tests.support.generator.warps import harmless, sees_lanes, split_condition, uniform_condition
from tests.support.programs.builder import ALWAYS, Guard

WILD = 2
"""Branches per function whose reconvergence point may lie anywhere: each can take entries of the stack for good."""

State = tuple[set[int], set[int], set[int]]


@dataclass
class Summary:
    """What a caller must know of a callee: values it needs, what it may change, what it leaves defined. barriers: it
    waits for other lanes, so that all have to come to it. matrices: it loads some, for which no lane may have ended."""

    name: str
    needs: set[int]
    needs_preds: set[int]
    written: set[int]
    written_preds: set[int]
    leaves: set[int]
    leaves_preds: set[int]
    barriers: bool
    exits: bool = False
    matrices: bool = False


class Body:
    """One function: structured control flow around `Ops`.

    callees: what it may call. by_address: what it may call by address. wild: labels that get a random word at the end.
    """

    def __init__(self, ops: Ops, callees: list[Summary], by_address: list[Summary] | None = None) -> None:
        self.ops = ops
        self.rng = ops.rng
        self.code = ops.code
        self.callees = callees
        self.by_address = by_address or []
        self.called: set[str] = set()
        self.returned: list[tuple[set[int], set[int]]] = []
        self.is_callee = not ops.code.kernel
        self.wild: list[str] = []

    def fill(self, size: int, depth: int) -> None:
        """About `size` instructions."""
        o = self.ops.options
        end = len(self.code.instrs) + size
        while len(self.code.instrs) < end:
            if o.hops and self.rng.random() < 0.12:
                self.hop()
                continue
            if self.by_address and self.rng.random() < 0.1:
                self.call(self.rng.choice(self.by_address), by_address=True)
                continue
            pick = self.rng.random()
            left = end - len(self.code.instrs)
            if pick < 0.07 and self.callees:
                self.call(self.rng.choice(self.callees))
            elif pick < 0.13 and depth and left > 4:
                self.branch(left // 2, depth - 1)
            elif pick < 0.18 and depth and left > 6:
                self.loop(left // 2, depth - 1)
            elif pick < 0.19 and self.is_callee and self.ops.preds and o.guards:
                self.leave((self.rng.choice(sorted(self.ops.preds)), self.rng.random() < 0.5))
                self.returned.append((set(self.ops.regs), set(self.ops.preds)))
                self.ops.uniform = False
            else:
                self.ops.any()

    def leave(self, guard: Guard = ALWAYS) -> None:
        """RET, the frame given back first."""
        self.ops.move_stack(-1, guard)
        self.code.emit("RET", guard)

    def close(self) -> None:
        """The function is written: the wild reconvergence points get their words."""
        for label in self.wild:
            self.code.labels[label] = self.rng.randrange(len(self.code.instrs))

    # -- calls

    def call(self, callee: Summary, *, by_address: bool = False) -> None:
        ops = self.ops
        if callee.written & ops.protected or (callee.barriers and not ops.uniform):
            return
        if (callee.exits and ops.in_loop) or (callee.matrices and ops.exits):
            return
        missing = callee.needs - ops.regs
        if missing & ops.protected or not missing <= set(ops.pool):
            return
        place = ops.dst() if by_address else RZ
        if by_address and (place == RZ or place in callee.needs):
            return
        for r in sorted(missing):
            ops.put("MOV", rd=r, form=IMM, imm=ops.imm())
        for p in sorted(callee.needs_preds - ops.preds):
            ops.put("ISETP", pd0=p, ra=ops.src(), form=IMM, imm=ops.imm(), icmp=self.rng.randrange(8))
        guard = self._call_guard(callee)
        if by_address:
            self._address(callee.name, place)
            self.code.emit("CALL.IND", guard, ra=place)
        else:
            self.code.call(callee.name, guard)
        self.called.add(callee.name)
        ops.written |= callee.written
        ops.written_preds |= callee.written_preds
        ops.exits |= callee.exits
        if guard == ALWAYS:
            ops.regs |= callee.leaves
            ops.preds |= callee.leaves_preds
        if by_address:
            # code addresses differ between a binary and its rewrite: nobody may see them
            ops.put("MOV", rd=place, form=IMM, imm=ops.imm())

    def _call_guard(self, callee: Summary) -> Guard:
        if not callee.barriers:
            return self.ops.guard()
        if self.ops.options.barriers and not callee.needs_preds and self.rng.random() < 0.4:
            return uniform_condition(self.ops, block=True)
        return ALWAYS

    def _address(self, name: str, place: int) -> None:
        """Into `place` the code address of function `name`: as an immediate, by arithmetic, from a constant bank."""
        r, ops = self.rng, self.ops
        pick = r.randrange(4)
        ops.regs.discard(place)
        ops.written.add(place)
        if pick == 3:
            table = ops.params.addressed
            if name not in table:
                table.append(name)
            self.code.emit("MOV", rd=place, form=2, cbank=ADDRESS_BANK, coff=4 * table.index(name))
            return
        delta = r.randrange(-100, 100) if pick else 0
        at = self.code.emit("MOV", rd=place, form=IMM, imm=0)
        self.code.addresses.append((at, name, delta))
        if delta:
            self.code.emit("IADD3", rd=place, ra=place, form=IMM, imm=-delta & 0xFFFFFFFF, rc=RZ)

    # -- branches

    def condition(self) -> Guard:
        """A predicate to branch on, in use or made for it."""
        ops = self.ops
        if not ops.preds or self.rng.random() < 0.6:
            p = self.rng.randrange(7)
            ops.put("ISETP", pd0=p, ra=ops.src(), form=IMM, imm=ops.imm(), icmp=self.rng.randrange(8), u32cmp=1)
            return p, self.rng.random() < 0.5
        return self.rng.choice(sorted(ops.preds)), self.rng.random() < 0.5

    def _state(self) -> State:
        return set(self.ops.regs), set(self.ops.preds), set(self.ops.slots)

    def _meet(self, other: State) -> None:
        self.ops.regs &= other[0]
        self.ops.preds &= other[1]
        self.ops.slots &= other[2]

    def branch(self, size: int, depth: int) -> None:
        """if, or if and else, with the join as reconvergence point, another word, or none where all lanes agree."""
        ops, code, o = self.ops, self.code, self.ops.options
        other, join = code.new_label(), code.new_label()
        two = self.rng.random() < 0.6
        agreed = o.uniform > 0 and self.rng.random() < o.uniform
        block = agreed and self.rng.random() < 0.5
        guard = uniform_condition(ops, block=block) if agreed else self.condition()
        uniform, ops.uniform = ops.uniform, ops.uniform and block
        target = other if two else join
        point = None if agreed else self._point(target, join)
        code.bra(target, point, guard)
        before = self._state()
        self.fill(size // (2 if two else 1), depth)
        after = self._state()
        ops.regs, ops.preds, ops.slots = (set(x) for x in before)
        if two:
            code.bra(join)
            code.label(other)
            self.fill(size // 2, depth)
        code.label(join)
        self._meet(after)
        self._later(point, uniform, depth)

    def _point(self, target: str, join: str) -> str:
        """The label to name as reconvergence point: the join, mostly."""
        o, r = self.ops.options, self.rng
        if not o.odd_points or r.random() >= o.odd_points:
            return join
        if self.ops.in_loop or o.chain or len(self.wild) >= WILD or r.random() < 0.5:
            return self.code.new_label()
        self.ops.apart = True
        self.wild.append(self.code.new_label())
        return target if r.random() < 0.3 else self.wild[-1]

    def _later(self, point: str | None, uniform: bool, depth: int) -> None:
        """Behind the join: up to a later reconvergence point the lanes are apart still."""
        ops = self.ops
        if point is not None and point not in self.code.labels and point not in self.wild:
            ops.uniform = False
            self.fill(self.rng.randrange(1, 6), min(depth, 1))
            self.code.label(point)
        ops.uniform = uniform and not self.returned and not ops.apart

    def loop(self, size: int, depth: int) -> None:
        """A counted loop, its count the same for all or different per thread, with a divergent way out or without."""
        ops, code, r = self.ops, self.code, self.rng
        free = list(ops.groups(1))
        if len(free) < 4:
            return
        counter = r.choice(free)
        divergent = r.random() < 0.5
        if divergent:
            ops.put("LOP3", rd=counter, ra=ops.src(), form=IMM, imm=r.choice([1, 3]), lut=0xC0, rc=RZ)
            ops.put("IADD3", rd=counter, ra=counter, form=IMM, imm=1, rc=RZ)
        else:
            ops.put("MOV", rd=counter, form=IMM, imm=r.randrange(1, 4))
        ops.protected.add(counter)
        ops.in_loop += 1
        top, out = code.new_label(), code.new_label()
        way_out = r.random() < 0.4
        uniform = ops.uniform
        ops.uniform = uniform and not divergent and not way_out
        odd = ops.options.odd_points > 0 and r.random() < ops.options.odd_points
        point = code.new_label() if odd else out
        code.label(top)
        leaving = None
        self.fill(size // 2, depth)
        if way_out:
            code.bra(out, point, self.condition())
            leaving = self._state()
            self.fill(size // 2, depth)
        ops.put("IADD3", rd=counter, ra=counter, form=IMM, imm=0xFFFFFFFF, rc=RZ)
        p = r.randrange(7)
        ops.put("ISETP", pd0=p, ra=counter, form=IMM, imm=0, icmp=4)
        agreed = not (divergent or ops.apart) and ops.options.uniform > 0 and r.random() < 0.5
        code.bra(top, None if agreed else point, (p, False))
        code.label(out)
        ops.in_loop -= 1
        if leaving is not None:
            self._meet(leaving)
        ops.protected.discard(counter)
        self._later(point, uniform, depth)

    # -- branches over little

    def hop(self) -> None:
        """A branch over nothing or over what a rewriter deletes, then operations that see which lanes are active."""
        ops, code, r = self.ops, self.code, self.rng
        guard = split_condition(ops) if r.random() < 0.6 else self.condition()
        if guard is None:
            return
        target, behind, later = (code.new_label() for _ in range(3))
        uniform, ops.uniform = ops.uniform, False
        same = self._copied()
        kinds = [self._dead, self._same, self._no_effect, self._jump]
        point = r.choice([behind, behind, target, later])
        code.bra(target, point, guard)
        dead: list[int] = []
        for _ in range(r.choice([0, 0, 1, 1, 2])):
            r.choice(kinds)(dead, same)
        code.label(target)
        for register in dead:
            ops.regs.discard(register)
        for _ in range(r.randrange(1, 3)):
            sees_lanes(ops)
        code.label(behind)
        for register in dead:
            ops.put("MOV", rd=register, form=IMM, imm=ops.imm())
        if point == later:
            sees_lanes(ops)
        code.label(later)
        ops.uniform = uniform

    def _copied(self) -> tuple[int, int]:
        """(copy, source): registers that hold the same value from here on, until one is written."""
        source, copy = self.ops.src(), self.ops.dst()
        if source != copy:
            self.ops.put("MOV", rd=copy, rb=source)
        return copy, source

    def _dead(self, dead: list[int], same: tuple[int, int]) -> None:
        """A value that nobody reads: its register is written anew behind."""
        ops = self.ops
        register = ops.dst()
        if register == RZ or register in same:
            return
        if ops.slots and self.rng.random() < 0.4:
            self.code.emit("LDL", rd=register, **ops.frame(self.rng.choice(sorted(ops.slots))), width=4)
        elif self.rng.random() < 0.5:
            self.code.emit("MOV", rd=register, form=IMM, imm=ops.imm())
        else:
            self.code.emit("IADD3", rd=register, ra=ops.src(), form=C_CONST, rc=RZ, cbank=0, coff=ops.params.scalar)
        dead.append(register)
        ops.regs.discard(register)

    def _same(self, dead: list[int], same: tuple[int, int]) -> None:
        copy, source = same if self.rng.random() < 0.6 else (same[1], same[1])
        if copy not in dead and source not in dead:
            self.code.emit("MOV", rd=copy, rb=source)

    def _no_effect(self, dead: list[int], same: tuple[int, int]) -> None:
        harmless(self.ops)

    def _jump(self, dead: list[int], same: tuple[int, int]) -> None:
        label = self.code.new_label()
        guard = ALWAYS if self.rng.random() < 0.8 else (PT, True)
        self.code.bra(label, None, guard)
        self.code.label(label)
