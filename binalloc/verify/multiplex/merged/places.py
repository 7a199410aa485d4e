"""The course of a virtual block goes from place to place.

Needs nothing; leaves `Place`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.verify.multiplex.merged.roles import Role


@dataclass(eq=False)
class Place:
    """A place is a pair of the course, a barrier between two of them, or a barrier that is missing there."""

    node: int  #: of the outline
    role: Role | None = None  #: of a barrier
    number: int = 0  #: of the barrier
    word: int = 0  #: of the merged kernel, of an inserted barrier
    missing: bool = False
    idle: bool = False
    gives: bool | None = None  #: of a vote, what the virtual block gives
    #: of a vote whose answer matters: the same place if the answer is "true", from where it comes to the vote again
    again: Place | None = None
    out: list[Place] = field(default_factory=list)
    before: list[Place] = field(default_factory=list)

    @property
    def orders(self) -> bool:
        """Return whether it is a barrier that orders accesses of its own virtual block."""
        return self.role not in (None, Role.GIVE)

    @property
    def closes(self) -> bool:
        """Return whether it is a vote at which the virtual block takes "false" for the answer without a look at it."""
        return self.gives is False and self.again is None

    def told(self, answer: bool) -> Place:
        """Return where the virtual block is behind a barrier. answer: of a vote."""
        return self.again if answer and self.again is not None else self


def linked(place: Place, to: Place) -> Place:
    """Let a place be followed by another one, and return that."""
    if to not in place.out:
        place.out.append(to)
        to.before.append(place)
    return to
