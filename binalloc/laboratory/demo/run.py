"""The demo rewrites and measures every sample, in as many processes as there are cores, and makes a record of each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from binalloc.files import text_of
from binalloc.laboratory.demo.records import KernelDemo, ProgramDemo, UnrunSample
from binalloc.laboratory.samples import beside, choose_samples, sources

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.isa.instruction import Module
    from binalloc.models.machines.model import Machine

Record = KernelDemo | ProgramDemo | UnrunSample


@dataclass(frozen=True)
class DemoOptions:
    """A DemoOptions has the options for all samples.

    Programs with host steps are left out unless the options allow host steps.
    """

    options: RunOptions
    size: str | None  #: size of launch files that have it; None for the full size


def run_demo(samples: str, names: list[str], asked: DemoOptions, progress: Callable[[str], None]) -> Iterator[Record]:
    """Return an iterator over the records of the samples, in their order.

    samples: the folder. names: the samples to run, none for all (`choose_samples`). progress: called with a sentence
    now and then. Raises as `choose_samples` does; the iterator raises as the commands for single samples do.
    """
    stems = choose_samples(Path(samples), names, programs=True)
    workers = min(len(stems), os.cpu_count() or 1)
    if workers == 1:
        return (_record(stem, asked, progress) for stem in stems)
    return _in_parallel(stems, workers, asked, progress)


def _in_parallel(
    stems: list[Path],
    workers: int,
    asked: DemoOptions,
    progress: Callable[[str], None],
) -> Iterator[Record]:
    """Yield the records, made by `workers` processes.

    The emulator is compiled once in this process, and the others read it from the cache. After Ctrl-C, the records of
    samples that have ended are yielded before KeyboardInterrupt is raised.
    """
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import active_children, get_context

    from binalloc.emulator.runs.warm import warm_up

    progress("compiling the emulator (first run only)" if asked.options.engine == "numba" else "starting")
    warm_up(asked.options.engine)
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_ignore_interrupts) as pool:
        jobs = [pool.submit(_record, stem, asked) for stem in stems]
        names = {job: stem.name for job, stem in zip(jobs, stems, strict=True)}
        waiting = sorted(names.values())
        progress(f"running {', '.join(waiting)}")
        given = 0
        try:
            for job in as_completed(jobs):
                waiting.remove(names[job])
                progress(f"{names[job]} done; running {', '.join(waiting)}")
                while given < len(jobs) and jobs[given].done():
                    given += 1
                    yield jobs[given - 1].result()
        except KeyboardInterrupt:
            done = [job.result() for job in jobs[given:] if job.done() and job.exception() is None]
            for child in active_children():
                child.terminate()
            yield from done
            raise


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C in a worker. All processes of a terminal receive it, and the one that started the workers acts."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _silent(_: str) -> None:
    """Drop a message, because worker processes do not write to the terminal."""


def _record(stem: Path, asked: DemoOptions, progress: Callable[[str], None] = _silent) -> Record:
    from binalloc.laboratory.demo.kernels import kernel_record
    from binalloc.laboratory.demo.programs import program_record, why_left_out
    from binalloc.launch.program.file import load_either
    from binalloc.launch.program.types import Program
    from binalloc.pipeline.pipeline import Request, find_kernel

    launch = load_either(beside(stem, ".toml"), asked.size)
    options = asked.options
    request = Request(options=options, progress=progress)
    if isinstance(launch, Program):
        reason = "" if options.host_steps else why_left_out(launch)
        if reason:
            return UnrunSample(stem.name, reason)
        module, source = _module(stem, options.machine)
        return program_record(stem.name, module, source, launch, request)
    module, _ = _module(stem, options.machine)
    name = find_kernel(module, launch.kernel).name
    return kernel_record(stem.name, module, replace(request, kernel=name, launch=launch))


def _module(stem: Path, machine: Machine) -> tuple[Module, bytes]:
    """Return the sample's binary, imported from PTX if it has only that, and the bytes of its files."""
    from binalloc.frontend.importer import import_ptx
    from binalloc.isa.sets.files import load

    files = sources(stem)
    data = [file.read_bytes() for file in files]
    if files[0].suffix == ".loom":
        return load(files[0]), data[0]
    texts, names = [text_of(each) for each in data], [file.name for file in files]
    return import_ptx(texts, names, machine=machine).module, b"".join(data)
