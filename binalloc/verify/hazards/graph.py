"""This module finds blocks of the checked code, the ways of a thread through them, and where a warp may continue with
other lanes.

A *thread's* way is the control flow graph with its calls and returns. A lane that waits while others run only gains
time and waits for scoreboards. So for two instructions of one lane, the ways on which it never waits are enough.

Scoreboards are the warp's, so *other lanes* matter where a warp splits at a divergent branch. When the lanes on one
side have all come to the reconvergence point or have left (EXIT, RET), the lanes of the other side continue at its
first word. When these leave, the lanes that wait at the reconvergence point continue there. Either side may be first
here, though ISA.md says which is. Between an instruction of one lane and a later one of another there are at least two
ways: the first lane's to an end of its side, and the second lane's from where it waits. Lanes that run between the two
only add waits. Hence one such *switch* between the two is enough, and `BranchSplit` lists them.

Where every reconvergence point is the immediate post-dominator, lanes cannot pass the point of an outer branch while
they wait for that of an inner one. Elsewhere the branches that may be passed are computed (`passed`), and their sides
end only where lanes leave.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.errors import MalformedInput
from binalloc.isa.interface.view import successors
from binalloc.isa.kinds import CALLS, ENDS, LEAVES, Flow
from binalloc.isa.postdom import immediate_postdominators
from binalloc.verify.hazards.code import HazardCode


@dataclass(slots=True)
class HazardBlock:
    """A hazard block is words `start` to `end` (not included) of the code; it is empty where a call returns to."""

    number: int  #: its number
    function: int  #: number of its function
    start: int  #: first word
    end: int  #: one past the last word
    succ: list[int] = field(default_factory=list)  #: next blocks on a thread's way, without callees
    callee: int = -1  #: function that the last word calls, or -1
    back: int = -1  #: block to which the callee returns
    returns: bool = False  #: it ends in RET
    leaves: bool = False  #: it ends in RET or EXIT
    drains: bool = False  #: unseen code may run next, so that nothing may be in flight behind it

    @property
    def inside(self) -> list[int]:
        """Return the next blocks of the same function, calls passed over."""
        return self.succ if self.callee < 0 else [*self.succ, self.back]


@dataclass(frozen=True, slots=True)
class Side:
    """A side of a divergent branch is the code that its lanes execute until they reconverge or leave."""

    start: int  #: its first block
    arrive: tuple[int, ...]  #: blocks behind which its lanes may come to the reconvergence point
    leave: tuple[int, ...]  #: blocks that end in an EXIT or RET


@dataclass(frozen=True, slots=True)
class BranchSplit:
    """A split is a divergent branch with its two sides."""

    block: int  #: block whose last word it is
    point: int  #: block at the reconvergence point
    sides: tuple[Side, Side]  #: its two sides


class HazardGraph:
    """The hazard graph has all blocks of the checked code, with the ways between them.

    blocks: numbered callees first, by address inside a function. entry[f]: the first block of function f. sites[f]: the
    blocks that call f. roots: functions that the launch or unseen code enters. strangers: words that call a function
    not scheduled for this machine.
    """

    def __init__(self, code: HazardCode) -> None:
        self.code = code
        self.blocks: list[HazardBlock] = []
        self.entry = [-1] * len(code.functions)
        self.sites: list[list[int]] = [[] for _ in code.functions]
        self.strangers: list[int] = []
        self.splits: list[BranchSplit] = []
        self.starts: dict[int, int] = {}
        numbers = {fn.address: n for n, fn in enumerate(code.functions) if fn.instrs}
        self.callees: dict[int, int] = {}
        for n, v in enumerate(code.views):
            if v.control == Flow.CALL:
                f = code.owner[n]
                fn = code.functions[f]
                callee = numbers.get(fn.address + fn.target(n - code.base[f]))
                if callee is None:
                    self.strangers.append(n)
                else:
                    self.callees[n] = callee
        for f in self._callees_first():
            self._cut(f)
        self.preds: list[list[int]] = [[] for _ in self.blocks]
        for block in self.blocks:
            for after in block.inside:
                self.preds[after].append(block.number)
        self._drains()
        for f in range(len(code.functions)):
            self._splits(f)

    def _callees_first(self) -> list[int]:
        """Return the functions, callees before callers."""
        calls: list[list[int]] = [[] for _ in self.code.functions]
        for node, callee in sorted(self.callees.items()):
            calls[self.code.owner[node]].append(callee)
        done: dict[int, None] = {}
        entered: set[int] = set()
        for root in range(len(calls)):
            stack = [(root, iter(calls[root]))] if root not in entered else []
            entered.add(root)
            while stack:
                f, rest = stack[-1]
                step = next((c for c in rest if c not in entered), None)
                if step is None:
                    done[f] = None
                    stack.pop()
                else:
                    entered.add(step)
                    stack.append((step, iter(calls[step])))
        return list(done)

    # -- blocks

    def _cut(self, f: int) -> None:
        """Divide function f into blocks, and link them."""
        code, base = self.code, self.code.base[f]
        fn = code.functions[f]
        size = len(fn.instrs)
        leaders = {0} if size else set()
        for i in range(size):
            v = code.views[base + i]
            if v.control in (*CALLS, *ENDS):
                leaders.add(i + 1)
            if v.control == Flow.BRANCH:
                leaders.add(self._inside(f, i, fn.target(i)))
                point = fn.reconvergence(i)
                if point is not None:
                    leaders.add(self._inside(f, i, point))
        cuts = sorted(leaders - {size})
        first = len(self.blocks)
        for start, end in zip(cuts, [*cuts[1:], size], strict=True):
            block = HazardBlock(len(self.blocks), f, base + start, base + end)
            self.starts[block.start] = block.number
            self.blocks.append(block)
            if base + end - 1 in self.callees:
                self.blocks.append(HazardBlock(block.number + 1, f, block.end, block.end))
                block.callee, block.back = self.callees[block.end - 1], block.number + 1
        if size:
            self.entry[f] = first
        for block in self.blocks[first:]:
            self._link(block, f)

    def _inside(self, f: int, index: int, target: int) -> int:
        """Return `target`; raises MalformedInput if it is no word of the function."""
        fn = self.code.functions[f]
        if not 0 <= target < len(fn.instrs):
            raise MalformedInput(
                "a branch leaves its function",
                file=self.code.path or None,
                place=f"{fn.name}+{index}",
                found=f"word {target}",
                expected=f"a word from 0 to {len(fn.instrs) - 1}",
            )
        return target

    def _link(self, block: HazardBlock, f: int) -> None:
        code = self.code
        last = block.end - 1
        following = self.starts.get(block.end)
        if following is not None and code.owner[block.end] != f:
            following = None  # code that runs off its function's end
        after = [] if following is None else [following]
        if block.start == block.end:
            block.succ = after
            return
        v = code.views[last]
        if block.callee >= 0:
            self.sites[block.callee].append(block.number)
            block.succ = [block.back] if v.guard is not None else []
            return
        falls, jumps = successors(v.control, v.guard is not None)
        out = set(after) if falls else set()
        if jumps:
            fn = code.functions[f]
            out.add(self.starts[code.base[f] + fn.target(last - code.base[f])])
        block.succ = sorted(out)
        block.returns = v.control == Flow.RETURN
        block.leaves = v.control in LEAVES

    def _drains(self) -> None:
        """Find the blocks behind which unseen code may run.

        That is so behind an indirect call, a RET to unknown callers, or an EXIT that removes lanes of a caller.
        Indirect calls enter no function that was rewritten.
        """
        code = self.code
        indirect = any(v.control == Flow.CALL_INDIRECT for v in code.views)
        self.roots = [
            f
            for f, fn in enumerate(code.functions)
            if fn.info.is_kernel or (indirect and fn.addressable) or not self.sites[f]
        ]
        unseen = {f for f in self.roots if not code.functions[f].info.is_kernel}
        for block in self.blocks:
            control = code.views[block.end - 1].control if block.start < block.end else Flow.NONE
            device = not code.functions[block.function].info.is_kernel
            block.drains = (
                control == Flow.CALL_INDIRECT
                or (control == Flow.RETURN and block.function in unseen)
                or (control == Flow.EXIT and device)
                or (control == Flow.CALL and block.callee < 0)
            )

    # -- where other lanes go on

    def _splits(self, f: int) -> None:
        """Find the divergent branches of function f."""
        code, base = self.code, self.code.base[f]
        fn = code.functions[f]
        found: list[tuple[int, int, int, int]] = []  # block of the branch, both sides, point
        targets: dict[int, int] = {}
        for index in range(len(fn.instrs)):
            v = code.views[base + index]
            if v.control != Flow.BRANCH:
                continue
            targets[index] = fn.target(index)
            point = fn.reconvergence(index)
            sides = (index + 1, targets[index])
            if v.guard is None or point is None or sides[0] >= len(fn.instrs):
                continue
            at = [self.starts[base + word] for word in (*sides, point)]
            found.append((self._block_of(base + index), at[0], at[1], at[2]))
        if not found:
            return
        passed = self._passed(f, found, targets)
        groups: dict[tuple[int, bool], list[tuple[int, int, int, int]]] = {}
        for branch in found:
            groups.setdefault((branch[3], branch[0] in passed), []).append(branch)
        for (point, through), branches in groups.items():
            sides_of = self._sides({s for b in branches for s in b[1:3]}, point, through)
            self.splits += [BranchSplit(b[0], point, (sides_of[b[1]], sides_of[b[2]])) for b in branches]

    def _block_of(self, node: int) -> int:
        """Return the block whose last word is `node`, a branch."""
        start = node
        while start not in self.starts:
            start -= 1
        return self.starts[start]

    def region(self, starts: set[int], point: int) -> set[int]:
        """Return the blocks reached from `starts` inside their function without entering `point` (-1: stop nowhere)."""
        seen = starts - {point}
        todo = sorted(seen)
        while todo:
            for after in self.blocks[todo.pop()].inside:
                if after != point and after not in seen:
                    seen.add(after)
                    todo.append(after)
        return seen

    def _sides(self, starts: set[int], point: int, through: bool) -> dict[int, Side]:
        """Return the side from each of `starts`.

        All are computed at once: the ends that each block reaches, against the flow until nothing changes.
        """
        region = self.region(starts, -1 if through else point)
        ordered = sorted(region, reverse=True)
        ends = [n for n in ordered if self.blocks[n].leaves or point in self.blocks[n].succ]
        reach = dict.fromkeys(ordered, 0)
        for k, n in enumerate(ends):
            reach[n] = 1 << k
        changed = True
        while changed:
            changed = False
            for n in ordered:
                mask = reach[n]
                for after in self.blocks[n].inside:
                    mask |= reach[after] if through or after != point else 0
                if mask != reach[n]:
                    reach[n], changed = mask, True
        out = {}
        for start in sorted(starts):
            mask = reach.get(start, 0) if through or start != point else 0
            mine = [n for k, n in enumerate(ends) if mask >> k & 1]
            arrive = tuple(n for n in mine if point in self.blocks[n].succ)
            out[start] = Side(start, arrive, tuple(n for n in mine if self.blocks[n].leaves))
        return out

    def _passed(self, f: int, found: list[tuple[int, int, int, int]], targets: dict[int, int]) -> set[int]:
        """Return the branches whose lanes may pass their reconvergence point while they wait for another branch's
        point."""
        fn, base = self.code.functions[f], self.code.base[f]
        nearest = immediate_postdominators(fn.instrs, targets)
        size = len(fn.instrs)
        words = {self.blocks[b[0]].end - 1 - base: self.blocks[b[3]].start - base for b in found}
        if all(point == min(nearest[word], size - 1) for word, point in words.items()):
            return set()
        passed: set[int] = set()
        regions = {b[0]: self.region({b[1], b[2]}, b[3]) for b in found}
        changed = True
        while changed:
            changed = False
            for block, one, two, point in found:
                inner = [b for b in found if b[0] in regions[block] and b[3] != point]
                if block not in passed and any(point in regions[b[0]] for b in inner):
                    passed.add(block)
                    regions[block] = self.region({one, two}, -1)
                    changed = True
        return passed
