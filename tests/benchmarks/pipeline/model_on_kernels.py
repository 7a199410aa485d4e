"""What policy `model` takes of kernels in a folder, nothing run, against every level by every allocator.

    python -m tests.benchmarks.pipeline.model_on_kernels FOLDER [MACHINE]

FOLDER has a .ptx and a .toml (a launch) of one name for each kernel. Finished runs are kept in FOLDER/cache.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import geometric_mean

from binalloc.cli.load import subjects_of
from binalloc.emulator.runs.options import USUAL
from binalloc.emulator.runs.warm import warm_up
from binalloc.isa.instruction import Module
from binalloc.laboratory.papers.reproduce import ALLOCATORS, OURS, PLAIN
from binalloc.launch.file import load_launch
from binalloc.pipeline.pipeline import rewrite_kernel
from binalloc.pipeline.policies.model import Model
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.row import OK, Row
from binalloc.pipeline.sweeping.cache import Cache
from binalloc.pipeline.sweeping.configuration import ALL, Subject, configurations
from binalloc.pipeline.sweeping.executors import Processes
from binalloc.pipeline.sweeping.rows import cycles_of
from binalloc.pipeline.sweeping.sweep import sweep


def taken(module: Module, subject: Subject) -> int | None:
    """The level that the model takes; None where it leaves the original its number of blocks."""
    request = Request(kernel=subject.kernel, machine=subject.machine, launch=subject.launch, emulate=False,
                      policy=Model.name, allocator=OURS)  # fmt: skip
    found = rewrite_kernel(module, request)
    if found.kept_original or found.by_order_alone:
        return None
    chosen = found.rewritten.module
    return next(t.budget.blocks for t in found.tried if t.version is not None and t.version.module is chosen)


def line(name: str, module: Module, subject: Subject, rows: list[Row]) -> tuple[float, str]:
    """What is reached of the best, and a line of the table."""
    ran = [row for row in rows if row.status == OK and row.same_results]
    own = rows[0].blocks_per_sm
    base = min(
        (row for row in ran if row is rows[0] or (row.allocator, row.blocks) == (PLAIN, own)), key=cycles_of
    )
    best, level = min(ran, key=cycles_of), taken(module, subject)
    auto = base if level is None else next(r for r in ran if (r.allocator, r.blocks) == (OURS, level))
    share = cycles_of(best) / cycles_of(auto)
    gains = (
        f"auto {level or 'orig'} {cycles_of(base) / cycles_of(auto):.3f}, best {cycles_of(base) / cycles_of(best):.3f}"
    )
    return share, f"{name:24} own {own}, {gains} ({best['allocator']} {best['blocks']}): {share:.3f}"


def main(folder: Path, machine: str = "gtx680") -> None:
    files = sorted(path for path in folder.glob("*.toml") if path.with_suffix(".ptx").exists())
    cases = []
    for path in files:
        source = path.with_suffix(".ptx")
        module, (subject,) = subjects_of(source.read_bytes(), str(source), load_launch(path), machine)
        cases.append((path.stem, module, subject))
    asked = [list(configurations(module, subject, ALL, ALLOCATORS, ("lrr",), USUAL)) for _, module, subject in cases]
    shares = []
    with Processes(2, lambda: warm_up("numba")) as executor:
        rows = sweep([one for group in asked for one in group], executor, Cache(folder / "cache"))
        for case, group in zip(cases, asked, strict=True):
            share, text = line(*case, [next(rows) for _ in group])
            shares.append(share)
            print(text, flush=True)
    print(f"{len(shares)} kernels: {geometric_mean(shares):.3f} of the best in geometric mean, least {min(shares):.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
