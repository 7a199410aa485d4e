"""This module builds the lockstep of one rewritten function with its original: the pairs of positions executed
together.

Needs two `FunctionCode`s and the instruction map as a hint. Leaves a graph whose nodes are pairs (new index n, old
index m): "the rewritten program is about to execute n, the original is about to execute m". A node either *inserts* (n
has no counterpart, the original waits), or *matches* n with m. Where m has no counterpart here the original continues
alone: edges carry the positions that it passes so. Nothing here needs knowledge of values:

- Both programs start at their first word. A matched branch leads to a pair of targets, and every reachable pair must
  match again, so that the rewritten execution follows the original one step by step, in order. It leaves out only
  instructions that may be left out, and adds only instructions that may be added. Pure instructions may be both: where
  one stands elsewhere than its counterpart, each program executes its own.
- The reconvergence stacks of both programs must always agree (`reconvergence.py`).
- A branch may be added only around one guarded call (`@!P BRA skip, skip; ...; CALL; ...; skip:`).
- Neither program may go round a loop in which nothing is matched.

What cannot be shown becomes a `Finding`; a product with findings is incomplete and its values are not followed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from binalloc.isa.kinds import ENDS, LEAVES, Flow
from binalloc.verify.lockstep import Lockstep, LockstepEdge, LockstepNode, NodeBlock, Position
from binalloc.verify.original import OriginalFunction
from binalloc.verify.reading.blocks import Places
from binalloc.verify.reading.code import FunctionCode, text
from binalloc.verify.reading.exchanges import find_exchanges
from binalloc.verify.reading.footprint import Footprint
from binalloc.verify.reading.order import Home, find_homes
from binalloc.verify.reconvergence import Disagreement, compare_stacks
from binalloc.verify.remade import remade_operands
from binalloc.verify.report import Finding
from binalloc.verify.values.conditions import Cond


class Product(Lockstep):
    """A product is the lockstep graph of (old, new). Read `findings` before using the blocks.

    origin: the hint, in old's positions. places: new's blocks.
    """

    old: OriginalFunction

    def __init__(self, old: OriginalFunction, new: FunctionCode, places: Places, origin: list[int]) -> None:
        super().__init__(old, new)
        self.places, self.origin = places, origin
        self.findings: list[Finding] = []
        self.image = set(origin)
        self.silent_locals: set[int] = set()
        self.matched: set[int] = set()
        self.calls: list[LockstepNode] = []
        self.remade: set[tuple[object, ...]] = set()
        self.exchanges = find_exchanges(new, origin)
        self.limit = 4 * len(new) + 256
        self._build()
        if not self.findings:
            try:
                compare_stacks(self)
            except Disagreement as e:
                self._fail("reconvergence", e.message, e.node.n, e.node.m, e.expected, e.found)

    # -- walking the original

    def _alone(self, m: int, stop: int | None) -> tuple[int, tuple[int, ...]] | None:
        """Let the original go on from m: to `stop`, or (None) to the first position that has a counterpart or cannot be
        left out.

        Return the position reached and those passed; None if there is no such position, or `stop` cannot be reached.
        """
        old, passed, seen = self.old, [], set()
        while m != stop:
            if not 0 <= m < len(old):
                return None
            if stop is None and m in self.image:
                break
            jump = old.jump(m)
            if not jump and not old.silent(m):
                if stop is None:
                    break
                return None
            if m in seen:
                return None
            seen.add(m)
            passed.append(m)
            m = old.fn.target(m) if jump else m + 1
        self.silent_locals.update(i for i in passed if old.locals[i] is not None)
        return m, tuple(passed)

    def _edge(self, n: int, m: int, condition: Cond | None = None, before: tuple[int, ...] = ()) -> LockstepEdge | None:
        """Return an edge to (n, m), from where the original goes on alone; None, with a finding, if it cannot."""
        at = self._alone(m, None)
        if at is None:
            self._fail("control", "the original runs off its code or in circles where instructions were left out", n, m)
            return None
        return LockstepEdge((n, at[0]), before + at[1], condition)

    # -- building

    def _build(self) -> None:
        self.entry = self._edge(0, 0)
        work = [self.entry.target] if self.entry else []
        while work:
            at = work.pop()
            if at in self.nodes:
                continue
            if len(self.nodes) >= self.limit:
                self._fail("control", "the two programs' positions do not line up", *at)
                return
            node = self._node(*at)
            if node is None:
                continue
            self.nodes[at] = node
            work.extend(e.target for e in reversed(node.edges))

    def _node(self, n: int, m: int) -> LockstepNode | None:
        """Return the step at (n, m); None if there is a finding."""
        if not 0 <= n < len(self.new):
            return self._fail("control", "execution leaves the function's code", n, m)
        k = self.origin[n]
        if k == -1:
            return self._insert(n, m)
        if not 0 <= k < len(self.old):
            return self._fail("map", f"the instruction map names original word {k}, which does not exist", n, m)
        way = self._alone(m, k)
        # A pure word may be elsewhere than its counterpart, or exist more than once: it is then inserted.
        pure = self.new.views[n].pure
        if way is None:
            return self._insert(n, m) if pure else self._lost(n, m, k)
        return self._insert(n, m) if pure and self._is_elsewhere(n, k) else self._match(n, k, way[1])

    def _is_elsewhere(self, n: int, k: int) -> bool:
        """Return whether n has left the block that stands for word k's block.

        If it were matched, it would pull the original over the first round of a loop, or hold it back before a meeting
        point.
        """
        home = self._homes.get(self.old.blocks.of(k))
        return home is None or self.places.of(n) != home.block

    @cached_property
    def remade_operands(self) -> frozenset[int]:
        """Return the original values whose copies matter (`remade.py`)."""
        return remade_operands(self.old, self.remade)

    @cached_property
    def _homes(self) -> dict[int, Home]:
        return find_homes(self.old, self.old.blocks, self.old, self.new, self.places, self.origin)

    def _lost(self, n: int, m: int, k: int) -> LockstepNode | None:
        """Record that the next counterpart cannot be reached: name the original instruction that was left out or
        overtaken."""
        at = self._alone(m, None) or (m, ())
        stuck = at[0]
        where = f"{self.old.name}+{self.old.number(stuck)}"
        what = self.old.text(stuck) or "the end of its code"
        kind = "order" if stuck in self.image else "deleted"
        return self._fail(
            kind,
            "the original executes another instruction here",
            n,
            stuck,
            expected=f"a counterpart of {where} `{what}`",
            found=f"a counterpart of {self.old.name}+{self.old.number(k)}",
        )

    def _insert(self, n: int, m: int) -> LockstepNode | None:
        """Return the step of an instruction that the rewritten program executes alone."""
        new = self.new
        if new.views[n].control == Flow.BRANCH:
            if new.jump(n):
                return LockstepNode("insert", n, m, (), [LockstepEdge((new.fn.target(n), m))])
            return self._skip(n, m)
        if not new.insertable(n):
            return self._fail("inserted", "an instruction was added that does more than move values", n, m)
        if new.views[n].pure and not new.transparent(n):
            self.remade.add(new.views[n].signature)
        return LockstepNode("insert", n, m, (), [LockstepEdge((n + 1, m))])

    def _skip(self, n: int, m: int) -> LockstepNode | None:
        """Return the step of an added conditional branch, which must lead around one guarded call, and reconverge
        behind it."""
        new, old = self.new, self.old
        end = new.fn.target(n)
        guard = new.views[n].guard
        inside = range(n + 1, end) if end <= len(new) else range(0)
        counterparts = [i for i in inside if self.origin[i] != -1 and not new.views[i].pure]
        call = self.origin[counterparts[0]] if counterparts else -1
        way = self._alone(m, call) if 0 <= call < len(old) else None
        condition = old.condition(call) if way is not None and old.views[call].control == Flow.CALL else None
        plain = all(i in counterparts or new.views[i].control == Flow.NONE for i in inside)
        if (
            guard is None
            or condition is None
            or way is None
            or new.fn.reconvergence(n) != end
            or len(counterparts) != 1
            or new.views[counterparts[0]].control != Flow.CALL
            or not plain
            or guard[1] != condition[1]  # leaves out the call exactly where the call's guard fails
            or self._entered(n, end)
        ):
            return self._fail("inserted", "a branch was added that is not a detour around one guarded call", n, m)
        around = self._edge(end, call + 1, (condition[0], not condition[1]), (call,))
        if around is None:
            return None
        return LockstepNode("skip", n, call, way[1], [LockstepEdge((n + 1, call), (), condition), around])

    def _entered(self, n: int, end: int) -> bool:
        """Return whether a branch other than the one at n leads between n and end."""
        new = self.new
        for i, v in enumerate(new.views):
            if v.control == Flow.BRANCH and (n < new.fn.target(i) < end or n < (new.fn.reconvergence(i) or 0) < end):
                return True
        return False

    def _match(self, n: int, k: int, passed: tuple[int, ...]) -> LockstepNode | None:
        """Return the step in which n and k are executed together."""
        new, old = self.new, self.old
        if new.transparent(n) and (old.transparent(k) or old.locals[k] is not None):
            if old.locals[k] is not None:
                self.silent_locals.add(k)
            return self._step("move", n, k, passed)
        self.matched.add(k)
        nv, ov = new.views[n], old.views[k]
        if nv.signature != ov.signature or nv.control != ov.control:
            self._differs("operation", n, k)
        elif nv.guard != ov.guard and not self._guards_agree(n, k):
            self._differs("guard", n, k)
        elif nv.control == Flow.BRANCH:
            return self._branch(n, k, passed)
        elif nv.control in LEAVES:
            node = LockstepNode("end", n, k, passed)
            condition = old.condition(k)
            if condition is not None:
                edge = self._edge(n + 1, k + 1, (condition[0], not condition[1]))
                node.edges = [edge] if edge else []
            return node
        elif nv.control == Flow.CALL_INDIRECT:
            self._fail("call", "indirect calls cannot be followed", n, k)
        else:
            return self._step("call" if nv.control == Flow.CALL else "match", n, k, passed)
        return None

    def _differs(self, what: str, n: int, k: int) -> None:
        expected, found = self.old.text(k), text(self.new.fn, n)
        self._fail(what, f"not the original's {what}", n, k, expected=f"`{expected}`", found=f"`{found}`")

    def _guards_agree(self, n: int, k: int) -> bool:
        """Return whether the guards could mean the same; which predicate it is, is a question of values.

        A guard may be dropped where the branch taken implies that it holds (never on branches and ends).
        """
        ng, og = self.new.views[n].guard, self.old.views[k].guard
        if og is None:
            return ng is None
        if ng is None:
            return self.old.views[k].control not in ENDS
        return ng[1] == og[1] or self.old.views[k].control == Flow.BRANCH

    def _step(self, kind: str, n: int, k: int, passed: tuple[int, ...]) -> LockstepNode | None:
        edge = self._edge(n + 1, k + 1)
        if edge is None:
            return None
        node = LockstepNode(kind, n, k, passed, [edge])
        if kind == "call":
            self.calls.append(node)
        return node

    def _branch(self, n: int, k: int, passed: tuple[int, ...]) -> LockstepNode | None:
        new, old = self.new, self.old
        rn, ro = new.fn.reconvergence(n), old.fn.reconvergence(k)
        if rn is not None and ro is not None:
            self.reconvergence.append((rn, ro))
        condition = old.condition(k)
        if condition is None:
            edges = [self._edge(new.fn.target(n), old.fn.target(k))]
        else:
            otherwise = (condition[0], not condition[1])
            taken, falls = new.fn.target(n), n + 1
            if self._inverted(n, k):
                taken, falls = falls, taken
            edges = [self._edge(taken, old.fn.target(k), condition), self._edge(falls, k + 1, otherwise)]
        return LockstepNode("branch", n, k, passed, [e for e in edges if e is not None])

    def _inverted(self, n: int, k: int) -> bool:
        """Return whether the branch jumps exactly where the original's does not.

        Its two ways are then swapped, and diverging lanes take them in the other order.
        """
        ng, og = self.new.views[n].guard, self.old.views[k].guard
        return ng is not None and og is not None and ng[1] != og[1]

    # -- blocks

    def blocks(self) -> tuple[list[NodeBlock], dict[Position, int]]:
        """Return maximal straight runs of nodes in reverse postorder, and the number of the run that starts at each
        position."""
        assert self.entry is not None
        incoming: dict[Position, int] = {self.entry.target: 2}
        for node in self.nodes.values():
            for e in node.edges:
                incoming[e.target] = incoming.get(e.target, 0) + (2 if len(node.edges) > 1 else 1)
        leaders = {at for at in self.nodes if incoming.get(at, 0) > 1}
        order = _reverse_postorder(self.entry.target, self.nodes)
        blocks: list[NodeBlock] = []
        index: dict[Position, int] = {}
        for at in order:
            if at not in leaders:
                continue
            index[at] = len(blocks)
            nodes = [self.nodes[at]]
            while len(nodes[-1].edges) == 1 and nodes[-1].edges[0].target not in leaders:
                nodes.append(self.nodes[nodes[-1].edges[0].target])
            blocks.append(NodeBlock(nodes))
        return blocks, index

    def _fail(
        self, kind: str, message: str, n: int, m: int, expected: str = "", found: str = ""
    ) -> LockstepNode | None:
        """Record a finding, and return None, so that a caller may return the result."""
        words = text(self.new.fn, n)
        at = self.old.number(m)
        self.findings.append(Finding(kind, message, self.new.name, n, self.old.name, at, words, "", expected, found))
        return None


def _reverse_postorder(root: Position, nodes: dict[Position, LockstepNode]) -> list[Position]:
    out: list[Position] = []
    seen = {root}
    stack = [(root, iter(nodes[root].edges))]
    while stack:
        at, edges = stack[-1]
        for e in edges:
            if e.target not in seen:
                seen.add(e.target)
                stack.append((e.target, iter(nodes[e.target].edges)))
                break
        else:
            out.append(at)
            stack.pop()
    return out[::-1]


@dataclass
class Pair:
    """A pair is a rewritten function and the original one that it stands for."""

    product: Product  #: lockstep of the two
    blocks: list[NodeBlock]  #: straight runs of its nodes
    index: dict[Position, int]  #: number of the block that starts at a position
    callees: dict[int, Pair] = field(default_factory=dict)  #: for each call node's n the pair that it enters
    complete: bool = True  #: the lockstep of this pair and of all its callees was established
    footprint: Footprint = field(default_factory=Footprint)  #: places that the pair may touch

    @property
    def old(self) -> OriginalFunction:
        return self.product.old

    @property
    def new(self) -> FunctionCode:
        return self.product.new
