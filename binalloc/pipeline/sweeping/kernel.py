"""This module makes a sweep of one kernel from Python, as `binalloc sweep` does from files."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from binalloc.emulator.policies.schedulers.table import DEFAULT as DEFAULT_SCHEDULER
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.warm import warm_up
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import write_module
from binalloc.launch.file import load_launch
from binalloc.launch.merged import fitting
from binalloc.launch.types import Launch
from binalloc.models.machines.model import Machine
from binalloc.pipeline.own_machine import own_machine
from binalloc.pipeline.request import Progress
from binalloc.pipeline.steps.kernels import find_kernel
from binalloc.pipeline.sweeping.cache import Cache
from binalloc.pipeline.sweeping.configuration import ALL, Configuration, Levels, Subject, configurations
from binalloc.pipeline.sweeping.executors import Here, Processes
from binalloc.pipeline.sweeping.rows import Value, columns_of
from binalloc.pipeline.sweeping.sweep import sweep
from binalloc.pipeline.turns import OFF
from binalloc.transform.allocators.table import DEFAULT as DEFAULT_ALLOCATOR


def sweep_kernel(
    module: Module,
    launch: Launch | str | Path,
    *,
    machines: Sequence[Machine | str | Path] | None = None,
    levels: Levels = ALL,
    allocators: Sequence[str] = (DEFAULT_ALLOCATOR,),
    schedulers: Sequence[str] = (DEFAULT_SCHEDULER,),
    multiplex: str = OFF,
    sharing: Sequence[str] = (),
    jobs: int = 1,
    cache: str | Path | None = None,
    progress: Progress = lambda _: None,
    **options: Any,
) -> list[dict[str, Value]]:
    """Run the launch's kernel at every number of blocks per SM, by several allocators, on several machines.

    Args:
        module: the binary. A kernel imported for one machine is the same code on others.
        launch: a launch or the path of its file.
        machines: models, their names or paths of their files; without them, the binary's own, or its target's.
        levels: "all", "upwards" (from the original's own number of blocks), or numbers of blocks.
        allocators, schedulers: by name.
        multiplex: "today" or "any" for versions whose blocks use shared memory in turns, too; "any" has also those with
            instructions that no GPU has.
        sharing: for versions, too, whose blocks share memory two by two, as no GPU lets them: "auto" (each number of
            pairs with the most private bytes), thresholds between 0 and 1, or PAIRS:BYTES, as text.
        jobs: number of processes; 1 is this process alone.
        cache: a folder that keeps finished tasks, so that they are not done again; None to keep none.
        progress: is called with lines on how far the sweep is.
        options: fields of `RunOptions` by name.

    Returns:
        A dictionary for each row, by the columns of SWEEP.md: for each machine and scheduler the original, then every
        level by every allocator, then the versions whose blocks use shared memory in turns, then those whose blocks
        share it. If a row has no figures,
        its `status` and `reason` say why.

    Raises:
        UsageError: an unknown name, or a launch that does not fit the kernel.
        MalformedInput: a file of the launch that is not valid.
    """
    launch = launch if isinstance(launch, Launch) else load_launch(launch)
    kernel = find_kernel(module, launch.kernel)
    launch = fitting(launch, module, kernel.name)
    binary, asked, how = write_module(module), list[Configuration](), RunOptions(**options)
    for one in [None] if machines is None else machines:
        machine = own_machine(module, kernel.name, one, runs=False)
        subject = Subject(module.path, binary, kernel.name, launch, machine)
        asked += configurations(module, subject, levels, allocators, schedulers, how, multiplex, sharing)
    with tempfile.TemporaryDirectory() as folder:
        kept = Cache(Path(folder if cache is None else cache))
        with Here() if jobs == 1 else Processes(jobs, lambda: warm_up(how.engine)) as executor:
            return [columns_of(row) for row in sweep(asked, executor, kept, progress)]
