"""This module finds batches for a run whose policies know batches, where the user leaves them to us."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from binalloc.emulator.pages.table import chosen_pages
from binalloc.emulator.runs.run import knows_batches
from binalloc.models.batches.formula import AUTO, EACH_BLOCK, NONE
from binalloc.pipeline.batches.profiled import profiled_batches

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.isa.instruction import Module
    from binalloc.launch.types import Launch


def with_batches(
    module: Module, kernel: str | None, launch: Launch, options: RunOptions, progress: Callable[[str], None]
) -> tuple[RunOptions, str]:
    """Return the options with a formula of batches, found by a run of its own where the user asks for `auto` and a
    policy knows batches; and a line about it, "" where nothing was found. Without a formula each block is a batch.
    Raises what `profiled_batches` raises."""
    if options.batches != AUTO or not knows_batches(options):
        return options, ""
    size = chosen_pages(options.pages).values.get("page_bytes", 0) or options.machine.pages.bytes
    usual = type(options)(machine=options.machine, engine=options.engine, max_cycles=options.max_cycles)
    found = profiled_batches(module, kernel, launch, usual, size, progress=progress)
    pages = f"pages of {size:,} bytes"
    if found.formula.kind == NONE:
        return replace(options, batches=EACH_BLOCK), f"no formula fits {pages}: each block is a batch"
    return replace(options, batches=str(found.formula)), f"batches {found.formula}, by a run with {pages}"
