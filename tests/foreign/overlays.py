"""Which variables of shared memory may lie over one another, in the samples and in kernels of public suites.

    python -m tests.foreign.overlays [--suites DIR] [-I LIBRARY] [--machine NAME]... [--json FILE]

DIR has a folder per suite; the kernels and their block sizes are in `overlays.toml`. Each source is compiled by nvcc.
Without DIR only the samples are looked at: every launch of every folder. A kernel counts that has several variables in
static shared memory. The tables of docs/measured/overlay.md are printed; the samples among those whose blocks gain
are run at their full sizes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from math import prod
from pathlib import Path

from binalloc.analysis.shared.memory import shared_memory_of
from binalloc.analysis.shared.variables import variables
from binalloc.cli.load import load_or_import
from binalloc.emulator.runs.options import RunOptions
from binalloc.errors import BinallocError, Refused
from binalloc.isa.instruction import Module
from binalloc.launch.program.expressions import Number, NumberScope
from binalloc.launch.program.file import load_either
from binalloc.launch.program.types import LaunchStep, Program, every_step
from binalloc.launch.types import Launch
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.request import Request
from binalloc.pipeline.sharing.overlay import overlay_kernel
from binalloc.pipeline.sharing.overlays import overlay_plan
from binalloc.transform.sharing.overlay import overlay_memory
from binalloc.verify.sharing.overlay.check import check_overlay
from tests.foreign.imports import compiled
from tests.support.paths import ROOT

Three = tuple[int, int, int]
KINDS = {
    "meet": "they meet", "unknown": "accesses cannot be attributed", "barrier": "not all threads of the block meet",
    "one": "it has only one", "nothing": "no byte would be saved",
}  # fmt: skip
"""By kind of refusal, words of its message."""


@dataclass
class Row:
    """A row is one kernel."""

    source: str
    kernel: str
    block: Three
    variables: int
    before: int  #: static bytes
    after: int
    proven: bool | None = None  #: None where no byte is saved
    kind: str = ""  #: of the refusal
    reason: str = ""
    blocks: dict[str, tuple[int, int]] = field(default_factory=dict)  #: by machine, before and after
    cycles: dict[str, tuple[int, int]] = field(default_factory=dict)  #: likewise, where blocks are gained


def looked_at(source: str, file: Path, name: str, block: Three, dynamic: int, machines: list[str]) -> Row | None:
    """The row of a kernel; None where it has no two variables."""
    module, _ = load_or_import(str(file), machines[0], name)
    memory = shared_memory_of(module, name, block)
    count = len({v.name for _, v in variables(memory.program) if v.size})
    if count < 2:
        return None
    size = memory.reach.size
    row = Row(source, name, block, count, size, size)
    try:
        plan = overlay_plan(memory, dynamic)
        made = overlay_memory(module, memory, plan.units, plan.distances, plan.bytes)
        report = check_overlay(module, made, name, block, dynamic)
        row.proven, row.reason = report.ok, "" if report.ok else str(report.errors[0])
        row.after = plan.bytes if report.ok else size
    except Refused as error:
        row.reason = str(error)
        row.kind = next(kind for kind, words in KINDS.items() if words in error.message)
    for machine in machines:
        found, _ = load_or_import(str(file), machine, name)
        row.blocks[machine] = resident(found, name, machine, block, dynamic, row.before - row.after)
    return row


def resident(module: Module, name: str, machine: str, block: Three, dynamic: int, saved: int) -> tuple[int, int]:
    """The blocks of an SM, as they are and with so many bytes less."""
    info, model = module.function(name).info, load_machine(machine)
    use = KernelUse.of(info, prod(block), dynamic)
    before = model.occupancy(use).blocks_per_sm
    info.shared_bytes -= saved
    after = model.occupancy(KernelUse.of(info, prod(block), dynamic)).blocks_per_sm
    info.shared_bytes += saved
    return before, after


def of_samples(machines: list[str]) -> Iterator[Row]:
    """The rows of all samples' launches, by source; each kernel of a program once for each block size."""
    for file in sorted(find for ending in ("ptx", "loom") for find in (ROOT / "samples").rglob(f"*.{ending}")):
        launch = file.with_suffix(".toml")
        if not launch.exists():
            continue
        loaded = load_either(str(launch))
        shapes = launched(loaded)
        for name, block, dynamic in sorted(shapes):
            row = looked_at(str(file.relative_to(ROOT / "samples")), file, name, block, dynamic, machines)
            if row is not None:
                for machine, (before, after) in row.blocks.items():
                    if after > before and isinstance(loaded, Launch):
                        row.cycles[machine] = ran(file, loaded, machine)
                yield row
        print(f"{file.name}: {len(shapes)} kernels with a block size", file=sys.stderr)


def launched(loaded: Launch | Program) -> set[tuple[str, Three, int]]:
    """The kernels that are launched, with block size and dynamic bytes. In a sequence of launches they may be computed:
    numbers are taken as they are at its begin; what also needs a loop's variable or an element is left out."""
    if isinstance(loaded, Launch):
        return {(loaded.kernel, loaded.block, loaded.dynamic_shared)}
    numbers: dict[str, Number] = dict(loaded.constants)
    for argument in loaded.held.arguments:
        if argument.kind == "scalar" and isinstance(argument.value, int | float):
            numbers[argument.name] = argument.value
    found = set()
    for step in every_step(loaded.steps):
        if isinstance(step, LaunchStep):
            try:
                x, y, z = (int(side.number(NumberScope(numbers))) for side in step.block)
                found.add((step.kernel, (x, y, z), int(step.dynamic_shared.number(NumberScope(numbers)))))
            except (KeyError, BinallocError):
                print(f"{loaded.path}: {step.kernel}: no block size at the begin", file=sys.stderr)
    return found


def ran(file: Path, launch: Launch, machine: str) -> tuple[int, int]:
    """The cycles of a kernel, as it is and overlaid."""
    module, _ = load_or_import(str(file), machine, launch.kernel)
    model = load_machine(machine)
    found = overlay_kernel(module, Request(launch.kernel, model, launch, options=RunOptions(machine=model)))
    assert found.right
    return found.original.cycles or 0, found.version.cycles or 0


def of_suites(suites: Path, libraries: list[str], machines: list[str]) -> Iterator[Row]:
    """The rows of public kernels."""
    kernels = tomllib.loads((Path(__file__).parent / "overlays.toml").read_text())["kernel"]
    with tempfile.TemporaryDirectory() as folder:
        made: dict[str, Path | None] = {}
        for one in kernels:
            source = f"{one['suite']}/{one['file']}"
            if source not in made:
                out = Path(folder) / f"{len(made)}.ptx"
                file = suites / one["suite"] / one["file"]
                done = file.exists() and compiled(file, suites / one["suite"], libraries, out)["compiled"]
                made[source] = out if done else None
                print(f"{source}: {'compiled' if done else 'NOT compiled'}", file=sys.stderr)
            ptx = made[source]
            if ptx is None:
                continue
            x, y, z = (*one["block"], 1, 1, 1)[:3]
            try:
                row = looked_at(source, ptx, one["name"], (x, y, z), 0, machines)
            except BinallocError as error:
                print(f"{source}: {one['name']}: {error}", file=sys.stderr)
                continue
            if row is not None:
                yield row


def table(rows: list[Row], machines: list[str]) -> str:
    """A table in Markdown: the kernels that need fewer bytes, then how many of the others there are, and why."""
    columns = [f"blocks on {m}" for m in machines] + [f"cycles on {m}" for m in machines]
    lines = ["| kernel | threads | variables | bytes | " + " | ".join(columns) + " |",
             "|---|--:|--:|--:|" + "--:|" * len(columns)]  # fmt: skip
    for row in rows:
        if row.proven:
            cells = [f"{row.blocks[m][0]}, {row.blocks[m][1]}" for m in machines]
            cells += [", ".join(f"{c:,}" for c in row.cycles[m]) if m in row.cycles else "-" for m in machines]
            lines.append(f"| {row.kernel} ({row.source}) | {prod(row.block)} | {row.variables} | "
                         f"{row.before:,}, {row.after:,} | {' | '.join(cells)} |")  # fmt: skip
    unproven = sum(row.proven is False for row in rows)
    counts = {kind: sum(row.kind == kind for row in rows) for kind in KINDS}
    refused = ", ".join(f"{kind} {n}" for kind, n in counts.items())
    fewer = sum(bool(row.proven) for row in rows)
    lines += ["", f"{len(rows)} kernels; {fewer} need fewer bytes, {unproven} are not proven; refused: {refused}"]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suites", type=Path)
    parser.add_argument("-I", action="append", default=[], dest="libraries")
    parser.add_argument("--machine", action="append", dest="machines")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    machines = given.machines or ["v100", "h100"]
    parts = {"samples": list(of_samples(machines))}
    if given.suites is not None:
        parts["suites"] = list(of_suites(given.suites, given.libraries, machines))
    for name, rows in parts.items():
        print(f"\n{name}\n\n{table(rows, machines)}")
    if given.json is not None:
        text = {name: [asdict(row) for row in rows] for name, rows in parts.items()}
        given.json.write_text(json.dumps(text, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
