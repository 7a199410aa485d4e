"""This task builds and proves a version of a kernel whose blocks share memory two by two; another task runs it.

Versions are those of a number of blocks, with registers and slots of their own, or with the original's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from binalloc.emulator.host.pairs import require_sharing
from binalloc.errors import BinallocError, Refused, UsageError
from binalloc.models.machines.budget import Budget
from binalloc.pipeline.original import baseline
from binalloc.pipeline.sharing.paired import Maker
from binalloc.pipeline.sharing.sharing import AUTO
from binalloc.pipeline.sweeping.cache import Outcome
from binalloc.pipeline.sweeping.configuration import ORIGINAL, Subject
from binalloc.pipeline.sweeping.keys import key_of
from binalloc.pipeline.sweeping.tasks import built_figures, opened
from binalloc.transform.allocate.functions.registers import Infeasible


@dataclass(frozen=True)
class BuildPairs:
    """This task builds a version of the subject whose blocks share memory two by two, proven."""

    subject: Subject
    sharing: str  #: how: auto, a threshold, or PAIRS:BYTES
    blocks: int | None  #: resident blocks; None where there are none such
    allocator: str = ORIGINAL  #: by name, or ORIGINAL
    registers: int = 0  #: per thread; 0 for the original
    slots: int = 0  #: per thread

    @cached_property
    def key(self) -> str:
        """Return a key that changes with the subject, the allocator, the budget and the pairs."""
        subject, budget = self.subject, [self.allocator, self.registers, self.slots]
        return key_of(["pairs", subject.binary_key, subject.launch_key, *budget, self.sharing, self.blocks])

    @property
    def name(self) -> str:
        """Return a name for people."""
        return f"{self.subject.kernel} in pairs by {self.allocator}"

    def figures(self) -> Outcome:
        """Build and prove the version, and return its figures. Raises Refused where there is none, with the limit that
        binds."""
        try:
            return self._figures()
        except Infeasible:
            raise
        except (Refused, UsageError) as error:
            raise Refused(_in_full(error)) from error

    def _figures(self) -> Outcome:
        module, request = opened(self.subject)
        request = replace(request, sharing=self.sharing)
        if self.allocator != ORIGINAL:
            require_sharing(self.sharing, AUTO, slots=False)
            request = replace(request, allocator=self.allocator)
        maker = Maker(module, request, baseline(module, request))
        if self.allocator == ORIGINAL:
            made = maker.as_it_came(self.blocks)
        else:
            made = maker.allocated(Budget(self.blocks or 0, self.registers, self.slots), self.blocks)
        if not made:
            raise Refused(f"with what it takes, pairs give other numbers of blocks than {self.blocks}")
        pairing = made[0].plan.pairing
        shared = {"sharing": made[0].record.option, "pairs": pairing.pairs, "private_bytes": pairing.private}
        return built_figures(made[0].version, proven=True) | shared


def _in_full(error: BinallocError) -> str:
    """Return what is wrong, what was found and what was expected."""
    return error.said() + (f"; expected {error.expected}" if error.expected is not None else "")
