"""This module describes where the memory variables of a call graph lie: the result of planning slots.

Needs nothing. Leaves data types and their text.
"""

from __future__ import annotations

from dataclasses import dataclass, field

PER_MOVE = 2
"""Accesses that move a value from one slot to another: a load and a store."""


@dataclass(frozen=True, slots=True)
class SlotMove:
    """A move changes the slot of a live value at a call."""

    variable: int  #: variable that moves
    source: int  #: slot that it leaves
    target: int  #: slot that it enters


@dataclass(frozen=True, slots=True)
class SitePlan:
    """A site plan says where the callee's slots start at one call, and which values move for it."""

    callee: str  #: name of the callee
    shift: int  #: the callee's slots start that many above the caller's
    moves: tuple[SlotMove, ...] = ()  #: moves before the call, in any order (no target is a source)
    back: tuple[SlotMove, ...] = ()  #: moves behind the call, in any order

    @property
    def moved(self) -> int:
        """Return the number of moves before and behind the call."""
        return len(self.moves) + len(self.back)


@dataclass
class ProcedurePlan:
    """A procedure plan says where the memory variables of one procedure lie."""

    name: str  #: name of the procedure
    #: slot of each variable, relative to the procedure's own first slot
    slot_of: dict[int, int] = field(default_factory=dict)
    #: slot of each access, by number, whose variable moves have brought elsewhere
    moved: dict[int, int] = field(default_factory=dict)
    local_of: dict[int, int] = field(default_factory=dict)  #: word in the local frame, for each variable without a slot
    sites: list[SitePlan] = field(default_factory=list)  #: calls, in the order of `Procedure.calls`
    need: int = 0  #: slots used, callees included; need <= budget
    budget: int = 0  #: slots that are left on the deepest call path to the procedure
    local_words: int = 0  #: size of the local frame in words
    local_offset: int = 0  #: word of the spill area at which the local frame starts

    @property
    def local(self) -> set[int]:
        """Return the variables that live in local memory."""
        return set(self.local_of)


@dataclass
class SlotPlan:
    """A slot plan says where the memory variables of a whole call graph lie."""

    kernel: str  #: name of the kernel
    slots: int  #: slots that the kernel was given
    priority: str  #: one of `pruning.PRIORITIES`
    max_live: int  #: Max-live before pruning
    procedures: dict[str, ProcedurePlan]  #: plans by name, callers before callees

    @property
    def need(self) -> int:
        """Return the slots that the kernel uses."""
        return self.procedures[self.kernel].need

    @property
    def local_words(self) -> int:
        """Return the depth of the local spill area in words."""
        return max(p.local_offset + p.local_words for p in self.procedures.values())

    def dump(self) -> str:
        """Return a stable text of the plan."""
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
