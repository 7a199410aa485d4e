"""This module has the options of rewriting, a row for each, and turns their values into fields of `Request`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from binalloc.cli.gather import Decorator, gathered
from binalloc.cli.inputs import optional_profile, require_read_paper
from binalloc.cli.options import (
    block_of,
    block_option,
    block_order_option,
    emulate_option,
    inline_option,
    integer,
    layout_option,
    multiplex_option,
    profile_option,
    sharing_option,
)
from binalloc.cli.tables import (
    SCHEDULER_NAMES,
    allocator_option,
    policy_option,
    reading_option,
    solver_limit_option,
)
from binalloc.errors import UsageError
from binalloc.pipeline.turns import OFF
from binalloc.transform.allocators.allocator import CPSAT

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.pipeline.profile import Profile

ROWS: dict[str, Decorator] = {
    "registers": click.option("--registers", type=integer(1), metavar="R", help="Registers per thread."),
    "slots": click.option("--slots", type=integer(0), metavar="S", help="Shared-memory slots per thread."),
    "blocks": click.option(
        "--blocks", type=integer(1), metavar="N", help="Blocks per SM; R and S follow from occupancy."
    ),
    "automatic": click.option(
        "--auto", "automatic", is_flag=True, help="Choose the number of blocks (the default without R, S, N)."
    ),
    "block": block_option,
    "policy": policy_option,
    "readings": reading_option,
    "allocator": allocator_option,
    "solver_limit": solver_limit_option,
    "layout": layout_option,
    "profile": profile_option,
    "inline": inline_option,
    "multiplex": multiplex_option,
    "sharing": sharing_option,
    "block_order": block_order_option,
    "schedulers": click.option(
        "--schedulers", type=SCHEDULER_NAMES, metavar="LIST",
        help="Warp schedulers under which versions of --sharing are run, by name.  [default: --scheduler if it is "
        "given; else owf, and where levels are searched lrr, too]",
    ),
    "whole_gpu": click.option(
        "--whole-gpu", is_flag=True,
        help="Let an SM hold at most the blocks that it would get of the grid on the whole GPU, as recommend does.",
    ),
    "explain": click.option(
        "--explain", is_flag=True, help="Say for each spilled value why it is spilled, and where to."
    ),
    "emulate": emulate_option,
}
"""The options, by field of `GivenRequest`."""


@dataclass(frozen=True)
class GivenRequest:
    """The record holds the options as given; None, or "" for names of tables, means that the option was not given."""

    registers: int | None = None  #: registers per thread
    slots: int | None = None  #: slots per thread
    blocks: int | None = None  #: blocks per SM
    automatic: bool = False  #: whether --auto is given
    block: str | None = None  #: block size, as text
    policy: str | None = None  #: name of the policy that chooses the number of blocks
    readings: tuple[str, ...] = ()  #: departures of the policy `unified` from the printed listing
    allocator: str = ""  #: name of the allocator
    solver_limit: float | None = None  #: deterministic time of the solver for each function, in seconds
    layout: str = ""  #: name of the layout of the stack of slots
    profile: str | None = None  #: file of the profile that weights code
    inline: str = ""  #: which calls are inlined first
    multiplex: str = ""  #: which versions are tried whose blocks use shared memory in turns
    sharing: str = OFF  #: which versions are tried whose blocks share memory two by two
    block_order: str = OFF  #: in which other order blocks work
    schedulers: tuple[str, ...] | None = None  #: under which these are run
    whole_gpu: bool = False  #: whether an SM holds at most what it would get of the grid on the whole GPU
    explain: bool = False  #: whether spilled values are explained
    emulate: bool | None = None  #: whether versions are run; None to run them if there is a launch

    @property
    def multiplexes(self) -> bool:
        """Return whether versions are tried whose blocks use shared memory in turns."""
        return self.multiplex not in ("", OFF)

    @property
    def shares(self) -> bool:
        """Return whether versions are tried whose blocks share memory two by two."""
        return self.sharing != OFF

    def require_consistent(self) -> None:
        """Raise UsageError if options contradict each other, or if an option needs another one that is missing."""
        budget = (self.registers, self.slots, self.blocks)
        if self.automatic or self.policy:
            _alone("--auto" if self.automatic else "--policy", budget)
        if self.multiplexes:
            _alone("--multiplex", budget)
            if self.explain:
                raise UsageError("--multiplex may take a version of other code, whose values --explain does not know",
                                 remedy="Leave out one of them.")  # fmt: skip
        self.require_sharing()
        self.require_block_order()
        require_read_paper(self.readings, self.policy)
        block_of(self.block, "--block")
        if self.solver_limit is not None and self.allocator and self.allocator != CPSAT:
            raise UsageError("--solver-limit applies only to allocators with a solver", expected=f"--allocator {CPSAT}")

    def require_sharing(self) -> None:
        """Raise UsageError if the options of pairs of blocks are none, or contradict others."""
        if self.schedulers is not None and not self.shares:
            raise UsageError("--schedulers are those of versions with pairs of blocks", expected="--sharing, not off")
        if not self.shares:
            return
        from binalloc.emulator.host.pairs import require_sharing
        from binalloc.pipeline.sharing.sharing import AUTO

        require_sharing(self.sharing, AUTO, OFF, slots=False)
        for option, given in (("--blocks", self.blocks is not None), ("--multiplex", self.multiplexes),
                              ("--explain", self.explain)):  # fmt: skip
            if given:
                raise UsageError(f"--sharing takes versions of other code, or blocks, than {option} asks for",
                                 remedy="Leave out one of them.")  # fmt: skip

    def require_block_order(self) -> None:
        """Raise UsageError if an order of blocks contradicts other options."""
        if self.block_order == OFF:
            return
        for option, given in (("--multiplex", self.multiplexes), ("--sharing", self.shares),
                              ("--explain", self.explain), ("--profile", self.profile is not None)):  # fmt: skip
            if given:
                raise UsageError(f"--block-order makes other code of the kernel, of which {option} knows nothing",
                                 remedy="Leave out one of them.")  # fmt: skip

    def counted(self) -> Profile | None:
        """Load the profile; None if no file is named."""
        return optional_profile(self.profile)

    def fields(self) -> dict[str, Any]:
        """Return fields of `Request` from all options given, except `profile` (see `counted`) and `emulate`."""
        from binalloc.models.search.unified import reading_of

        found: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("registers", "slots", "blocks", "solver_limit", "whole_gpu", "explain")
        }
        named = ("policy", "allocator", "layout", "inline", "multiplex", "sharing", "block_order")
        found |= {name: getattr(self, name) or None for name in named}
        found["block"] = block_of(self.block, "--block")
        found["reading"] = reading_of(self.readings)
        found["schedulers"] = self.schedulers
        return {name: value for name, value in found.items() if value is not None}


def request_options(*names: str) -> Decorator:
    """Return a decorator for the options of these rows; the command gets them as its parameter `wanted`."""
    return gathered("wanted", GivenRequest, *(ROWS[name] for name in names))


def with_named_scheduler(wanted: GivenRequest, options: RunOptions) -> GivenRequest:
    """Return the request with the scheduler that --scheduler names as the one of pairs of blocks, if it is given."""
    source = click.get_current_context().get_parameter_source("scheduler")
    if not wanted.shares or wanted.schedulers is not None or source != ParameterSource.COMMANDLINE:
        return wanted
    return replace(wanted, schedulers=(options.scheduler,))


def _alone(option: str, given: Sequence[int | None]) -> None:
    """Raise UsageError if a budget is given together with an option that chooses the budget."""
    if any(number is not None for number in given):
        raise UsageError(
            f"{option} chooses registers, slots and blocks itself",
            remedy="Leave out --registers, --slots and --blocks.",
        )
