"""This module builds a kernel's version of a scheme, before it is allocated and scheduled.

Needs a laid-out module, and a request with a launch; leaves another module and its launch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from binalloc.errors import Hint, Refused
from binalloc.isa.instruction import Module
from binalloc.launch.merged import Merge
from binalloc.pipeline.multiplex.dividing import DividedVariable, divided_variables, private_of
from binalloc.pipeline.multiplex.dynamic import with_variable, without_variable
from binalloc.pipeline.request import Request

if TYPE_CHECKING:
    from binalloc.launch.types import Launch
    from binalloc.models.machines.model import Machine
    from binalloc.transform.multiplex.parts import Parts
    from binalloc.transform.multiplex.split import Split
    from binalloc.verify.report import CheckReport

VTB, PIPE, HW, CO_VTB, CO_HW = "vtb", "vtb-pipe", "hw", "co-vtb", "co-hw"
"""How blocks share memory in turns: merged, by barriers of the merged block; or as they run, by BAR.ALLOC. In a pipe
one virtual block computes while the other uses shared memory. In the collaborative schemes each block, or virtual
block, keeps a private part."""
MERGED = (VTB, PIPE, CO_VTB)
"""The schemes that merge blocks."""
BLOCK, NAMED = "block", "named"
"""Barriers at which virtual blocks of VTB and CO-VTB take turns: of the whole merged block, or named ones, at which one
hands its turn to the next. Compute capability 1.x has no named ones."""
_SINCE = 2  # major number of the compute capability that has named barriers, and barriers that vote
AS_THEY_RUN = (HW, CO_HW)
"""The schemes whose instructions no GPU has."""
SCHEMES = (VTB, PIPE, HW, CO_VTB, CO_HW)
"""All schemes, in the order in which reports have them."""
SHORTER, OWN = "shorter", "own"
"""Stand for no scheme at all: access regions are shorter, or threads' own words are in local memory."""
ALONE = (SHORTER, OWN)


def barriers_of(machine: Machine) -> tuple[str, ...]:
    """Return the barriers at which virtual blocks can take turns on a machine."""
    return (BLOCK, NAMED) if machine.limits.major >= _SINCE else (BLOCK,)


@dataclass(frozen=True)
class Wanted:
    """A wanted version names a scheme and its number."""

    scheme: str
    merge: int | None = None  #: of `MERGED`: blocks that are merged into one
    barriers: str = BLOCK  #: of VTB and CO-VTB: at which virtual blocks take turns
    over: int | None = None  #: of HW and CO-HW: most blocks beyond those of static memory; None: no limit
    #: of CO-VTB and CO-HW: what is private; empty: the cut that the model chooses
    splits: tuple[Split, ...] = ()
    shorter: bool = False  #: access regions are made shorter first
    own: bool = False  #: words that belong to one thread for a while go to its local memory first
    private: int | None = None  #: of CO-VTB and CO-HW: private bytes as a bitset, in place of `splits`

    @property
    def name(self) -> str:
        """Return the version's name in reports."""
        if self.scheme == SHORTER:
            return "shorter regions alone"
        if self.scheme == OWN:
            return "own words alone"
        several = f" of {self.merge}" if self.merge is not None else ""
        several += ", named barriers" if self.barriers == NAMED else ""
        more = f" with {self.over} more" if self.over is not None else ""
        first = (", shorter regions" if self.shorter else "") + (", own words" if self.own else "")
        return self.scheme + several + more + first


@dataclass(frozen=True)
class Built:
    """A built version has its module and launch, and how shared memory was divided."""

    module: Module
    launch: Launch
    regions: int  #: access regions of the kernel
    #: of `MERGED`: the kernel with functions inlined that have to do with its block; None if there are none
    inlined: Module | None = None
    #: of `MERGED`: what was merged, with threads that end behind access regions; None if none had to be moved
    later: Module | None = None
    parts: Parts | None = None  #: of HW and CO-HW: the parts of shared memory
    merge: Merge | None = None  #: of `MERGED`: how blocks were merged
    private: int | None = None  #: bytes that each block, or virtual block, has to itself; None for VTB and PIPE
    public: int | None = None  #: bytes that they use in turns; None for VTB and PIPE
    variables: tuple[DividedVariable, ...] = ()  #: of CO-VTB and CO-HW: those with private bytes
    #: of VTB and PIPE: bytes of dynamic shared memory for which it was made; `later` has them as a variable
    dynamic: int = 0
    cut: int = 0  #: of CO-VTB and CO-HW: the private bytes of the original, as a bitset


def build(module: Module, request: Request, wanted: Wanted) -> Built:
    """Return a version, not yet scheduled or allocated."""
    from binalloc.transform.multiplex.called import with_own_code
    from binalloc.transform.multiplex.late_exits import with_late_exits
    from binalloc.transform.multiplex.merged import HANDED, PIPED, TURNS, merge_blocks
    from binalloc.transform.multiplex.public import get_as_they_run

    assert request.launch is not None
    launch, kernel = request.launch, request.kernel
    dynamic = launch.dynamic_shared
    if dynamic and wanted.scheme not in (VTB, PIPE):
        raise Refused(
            f"{wanted.scheme} divides static shared memory alone, and the launch adds dynamic one", place=kernel,
            found=f"{dynamic:,} bytes", expected="static shared memory alone", remedy=f"Choose {VTB} or {PIPE}.",
        )  # fmt: skip
    if launch.cooperative:
        raise Refused("the launch is cooperative: a block with memory might wait for one that waits for it",
                      place=request.kernel, found="a cooperative launch", expected="independent blocks",
                      remedy="Leave this kernel as it is.")  # fmt: skip
    axis = max(range(3), key=lambda k: launch.grid[k])
    source = module
    if wanted.merge is not None:
        merge = Merge(wanted.merge, launch.block, axis)
        _require_room(merge, request)
        module = with_own_code(module, kernel, merge)
    private = wanted.private or 0
    if wanted.scheme in (CO_VTB, CO_HW) and wanted.private is None:
        private = private_of(module, request, wanted.splits, wanted.merge, wanted.over)
    variables = divided_variables(module.function(kernel), private)
    if wanted.scheme in (HW, CO_HW):
        made = get_as_they_run(module, kernel, launch.block, private)
        parts = made.parts
        return Built(
            made.module, launch, len(made.regions), parts=parts, private=parts.private, public=parts.public,
            variables=variables, cut=private,
        )  # fmt: skip
    assert wanted.merge is not None
    if wanted.barriers not in barriers_of(request.machine):
        raise Refused("the machine has no named barriers", place=kernel, found=f"{request.machine.name}, compute "
                      f"capability {request.machine.limits.cc}", expected="capability 2.0 or higher",
                      remedy=Hint("Use {barriers} block."))  # fmt: skip
    given = with_variable(module, kernel, dynamic)
    later = with_late_exits(given, kernel, launch.block)
    order = PIPED if wanted.scheme == PIPE else HANDED if wanted.barriers == NAMED else TURNS
    votes = request.machine.limits.major >= _SINCE
    merged = merge_blocks(later, kernel, launch.block, wanted.merge, axis, private, order, votes)
    turned = without_variable(merged.module, kernel, dynamic)
    built = Built(
        turned, merged.merge.launch(launch), len(merged.regions), None if module is source else module,
        None if later is given else later, merge=merged.merge, dynamic=dynamic,
    )  # fmt: skip
    if wanted.scheme != CO_VTB:
        return built
    return replace(built, private=merged.copies.private, public=merged.copies.public, variables=variables, cut=private)


def _require_room(merge: Merge, request: Request) -> None:
    """Refuse a merged block that has more threads than the machine's blocks. Those with which virtual blocks are padded
    count."""
    threads, most = math.prod(merge.merged_block), request.machine.limits.threads_per_block
    if threads > most:
        padded = "" if merge.stacked else f", with each block's {merge.threads:,} padded to {merge.padded:,}"
        raise Refused(
            "a merged block has more threads than a block of the machine can have", place=request.kernel,
            found=f"{threads:,} threads{padded}", expected=f"at most {most:,}",
            remedy=Hint("Merge fewer blocks, with a lower {merge}."),
        )  # fmt: skip


def checked(module: Module, built: Built, kernel: str) -> CheckReport:
    """Return what the scheme's checkers say of what was built of a module."""
    from binalloc.verify.checker import check
    from binalloc.verify.multiplex.check import check_public
    from binalloc.verify.multiplex.division import Division
    from binalloc.verify.multiplex.merged.check import check_merged
    from binalloc.verify.shorten.exits import check_late_exits

    parts, merge = built.parts, built.merge
    if merge is not None:
        if built.inlined is not None:
            report = check(module, built.inlined, kernel)
            if not report.ok:
                return report
            module = built.inlined
        module = with_variable(module, kernel, built.dynamic)
        merged = with_variable(built.module, kernel, built.dynamic)
        if built.later is not None:
            report = check_late_exits(module, built.later, kernel, merge.block)
            if not report.ok:
                return report
            module = built.later
        return check_merged(module, merged, kernel, merge.block, merge.count, merge.axis)
    assert parts is not None
    division = Division(parts.low, parts.first, parts.high, parts.moved)
    return check_public(module, built.module, kernel, built.launch.block, division, built.launch.dynamic_shared)
