"""Prints what each part of the memory system does to every sample:
`python -m tests.benchmarks.emulator.memory_parts [MACHINE]`.

The binaries that `demo` makes of a sample at full size on the machine (the original, the one that spills to local
memory, the best), run on the machine and on copies of it with one part less: the table of
docs/measured/memory_system.md. Some minutes a machine.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from binalloc.launch.file import load_launch
from binalloc.models.machines.model import Machine
from binalloc.pipeline.pipeline import Request, Version, measure, rewrite_kernel
from tests.benchmarks.emulator.one_sm import module_of, program_launches


def variants(machine: Machine) -> dict[str, Machine]:
    """past L2: global memory, where L1 does not cache it, is not cached in L2 either. small L2: 8 KB a slice, which is
    room for what is under way. no rows: every access finds its row open; the latency of a single one stays. 4-byte
    banks: of shared memory, where the machine has wider ones."""
    d, l2 = machine.dram, machine.l2
    found = {"whole": machine}
    if not machine.l1.caches_global:
        found["past L2"] = replace(machine, l2=replace(l2, caches_data=False))
    found["small L2"] = replace(machine, l2=replace(l2, sets=1, ways=64, bytes=64 * l2.slices * l2.line_bytes))
    rows = replace(d, rcd=1, rp=1, ras=1, rc=2, rrd=1, rtp=1, wr=1, cdlr=1, ccdl=d.ccd, faw=0)
    found["no rows"] = replace(machine, dram=rows)
    if machine.shared.bank_bytes > 4:
        found["4-byte banks"] = replace(machine, shared=replace(machine.shared, bank_bytes=4, mode_bytes=4))
    return found


def cycles(version: Version, request: Request, machine: Machine) -> int:
    found = measure(version, replace(request, machine=machine)).cycles
    assert found is not None
    return found


def main(name: str = "gtx680") -> None:
    machine = Request("", name).machine
    names = list(variants(machine))
    print(f"| {name} | cycles | {' | '.join(names[1:])} | local | {' | '.join(names[1:])} |", end="")
    print(f" best | {' | '.join(names[1:])} |\n{'|---' * (3 * len(names) + 1)}|")
    for path in program_launches():
        launch = load_launch(path)
        request = Request(launch.kernel, machine, launch)
        outcome = rewrite_kernel(module_of(path), request)
        base = {part: cycles(outcome.original, request, m) for part, m in variants(machine).items()}
        cells = [f"{base['whole']:,}", *(f"{base[part] / base['whole']:.3f}" for part in names[1:])]
        for version in (outcome.local, outcome.rewritten):
            if version is None or outcome.kept_original:
                cells += [""] * len(names)
                continue
            cells += [f"{base[part] / cycles(version, request, m):.3f}" for part, m in variants(machine).items()]
        print(f"| {path.stem} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
