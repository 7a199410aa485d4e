"""Where the memory variables of a call graph lie: what planning slots leaves.

Needs nothing; leaves data types and their text.
"""

from __future__ import annotations

from dataclasses import dataclass, field

PER_MOVE = 2
"""Accesses that take a value from one slot to another: a load and a store."""


@dataclass(frozen=True, slots=True)
class Move:
    """A live value that changes its slot at a call, from `source` to `target`."""

    variable: int
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class SitePlan:
    """One call. shift: the callee's slots start that many above the caller's. moves: before the call, in any order (no
    target is a source); back: behind it, in any order."""

    callee: str
    shift: int
    moves: tuple[Move, ...] = ()
    back: tuple[Move, ...] = ()

    @property
    def moved(self) -> int:
        """Moves before and behind."""
        return len(self.moves) + len(self.back)


@dataclass
class ProcedurePlan:
    """One procedure's memory. slot_of: variable -> slot, relative to the procedure's own first slot. moved: access, by
    number, -> slot, where moves have brought its variable elsewhere.

    local_of: variable -> word of its local frame, for those without a slot; the frame of `local_words` words starts
    at word `local_offset` of the spill area. sites: as in Procedure.calls. need: slots used, callees included.
    budget: slots there are at the deepest call path to it; need <= budget.
    """

    name: str
    slot_of: dict[int, int] = field(default_factory=dict)
    moved: dict[int, int] = field(default_factory=dict)
    local_of: dict[int, int] = field(default_factory=dict)
    sites: list[SitePlan] = field(default_factory=list)
    need: int = 0
    budget: int = 0
    local_words: int = 0
    local_offset: int = 0

    @property
    def local(self) -> set[int]:
        """Variables that live in local memory."""
        return set(self.local_of)


@dataclass
class SlotPlan:
    """The whole call graph, callers before callees. slots: what the kernel was given; need: what it uses.

    max_live: before pruning. local_words: depth of the local spill area in words.
    """

    kernel: str
    slots: int
    priority: str
    max_live: int
    procedures: dict[str, ProcedurePlan]

    @property
    def need(self) -> int:
        return self.procedures[self.kernel].need

    @property
    def local_words(self) -> int:
        return max(p.local_offset + p.local_words for p in self.procedures.values())

    def dump(self) -> str:
        """Stable text of the plan."""
        usage = f"slots {self.need} of {self.slots}, Max-live {self.max_live}, local words {self.local_words}"
        lines = [f"{usage}, priority {self.priority}"]
        for plan in self.procedures.values():
            lines.append(
                f"procedure {plan.name}: need {plan.need} of {plan.budget}, "
                f"local frame [{plan.local_offset}, {plan.local_offset + plan.local_words})"
            )
            lines += [f"  v{v} slot {s}" for v, s in sorted(plan.slot_of.items())]
            lines += [f"  v{v} local {w}" for v, w in sorted(plan.local_of.items())]
            for number, site in enumerate(plan.sites):
                moves, back = (
                    "".join(f", {word}v{m.variable} {m.source}->{m.target}" for m in some)
                    for word, some in (("", site.moves), ("back ", site.back))
                )
                lines.append(f"  call {number} {site.callee}: shift {site.shift}{moves}{back}")
            lines += [f"  access {number} slot {s}" for number, s in sorted(plan.moved.items())]
        return "\n".join(lines) + "\n"
