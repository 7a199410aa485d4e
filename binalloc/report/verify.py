"""`binalloc verify`: symbolic check of two binaries, hazard check of the second's control codes and, with a launch,
comparison of their emulated runs; and whether the second keeps limits set to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from binalloc.errors import running
from binalloc.launch.types import CompareMode
from binalloc.printable import count, quoted
from binalloc.report.control_codes import check_control_codes, render_control_codes
from binalloc.report.limits import Limits, check_limits, render_limits

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.isa.instruction import Function, Module, Origin
    from binalloc.launch.comparison import Shown
    from binalloc.launch.file import Difference, Launch
    from binalloc.launch.program.types import Program
    from binalloc.models.machines.model import Machine


MOST_NOTES = 5


def verify_to_dict(
    old: Module,
    new: Module,
    kernel: str | None,
    launch: Launch | Program | None,
    options: RunOptions,
    progress: Callable[[str], None],
    limits: Limits | None = None,
) -> dict[str, Any]:
    """Findings of the checker, the first differing outputs, and whether limits are kept. Raises KernelFault where a run
    faults.

    Without `kernel` every kernel is proven that is not as it was, code and callees; of those that are the checker takes
    the only one there is, if it can. With `kernel` that one alone is proven, and that the others are as they were.

    A binary that `rewrite` did not write has no instruction map; where its functions are as long as the original's of
    the same name, the checker is offered the identity as the map (a hint that it does not trust).
    """
    from binalloc.launch.program.types import Program

    names = _kernels(old, new, kernel)
    if isinstance(launch, Program):
        return _verify_program(old, new, names, launch, options, limits, progress, whole=kernel is None)
    ran = _kernel_to_run(new, kernel, launch)
    found = _proof(old, new, names, options.machine, whole=kernel is None)
    if launch is not None and any(fn.name == ran for fn in old.kernels()):  # else a finding says that it is missing
        found |= _compare_runs(old, new, ran, launch, options, progress)
    return _judged(old, new, names, ran, found, limits, options.machine)


def _proof(old: Module, new: Module, names: list[str], machine: Machine, *, whole: bool) -> dict[str, Any]:
    """What the checker finds, and the look at control codes; of runs nothing."""
    findings, notes, unchanged = _check(old, new, names, whole=whole)
    return {
        "kernel": names[0] if len(names) == 1 else None,
        "kernels": names,
        "unchanged": unchanged,
        "checked": None if unchanged == names and not findings else not findings,
        "findings": findings,
        "notes": notes,
        "hint": _hint(old, new) if findings else None,
        "control_codes": check_control_codes(new, machine),
        "same_results": None,
        "differences": [],
        "first_store": None,
        "cycles": None,
        "limits": [],
        "within_limits": None,
        "exceeded": [],
    }


def _judged(
    old: Module, new: Module, names: list[str], ran: str, found: dict[str, Any], limits: Limits | None,
    machine: Machine,
) -> dict[str, Any]:  # fmt: skip
    """The same with limits and verdict. ran: what was run, in words."""
    if limits is not None:
        found |= check_limits(old, new, names, ran, found["cycles"], limits, machine)
    sound = found["control_codes"]["ok"] is not False and found["same_results"] is not False
    found["verified"] = found["checked"] is not False and sound
    return found


def _verify_program(
    old: Module, new: Module, names: list[str], program: Program, options: RunOptions, limits: Limits | None,
    progress: Callable[[str], None], *, whole: bool,
) -> dict[str, Any]:  # fmt: skip
    """The proof, and both runs of a whole program compared, if both binaries have its kernels."""
    from binalloc.emulator.runs.program import run_steps
    from binalloc.launch.file import compare, compare_globals
    from binalloc.pipeline.program import kernels_of, scheduled_for, told_by

    machine = options.machine
    found = _proof(old, new, names, machine, whole=whole)
    results = []
    given = scheduled_for(old, kernels_of(old, program), machine)
    for which, module in (("original", given), ("rewritten", new)):
        with running(f"the {which}"):
            kernels = kernels_of(module, program)
            results.append(run_steps(module, program, options, kernels=kernels, progress=told_by(progress)))
    before, after = results
    differences = compare(program.held, before.buffers, after.buffers)
    differences += compare_globals(program.held, before.globals, after.globals)
    printed = before.said.differs(after.said)
    found |= {
        "machine": machine.name,
        "scheduler": options.scheduler,
        "original_rescheduled": given is not old,
        "same_results": not differences and printed is None,
        "differences": [str(d) for d in differences] + ([] if printed is None else [printed]),
        "cycles": {"original": before.cycles, "rewritten": after.cycles},
    }
    return _judged(old, new, names, program.path or "the program", found, limits, machine)


def _kernels(old: Module, new: Module, kernel: str | None) -> list[str]:
    """The kernels to prove: the one named, else all that both have."""
    from binalloc.pipeline.pipeline import find_kernel

    if kernel is not None or not (old.kernels() and new.kernels()):
        name = find_kernel(new, kernel).name
        return [find_kernel(old, name).name]
    known = {fn.name for fn in old.kernels()}
    return [fn.name for fn in new.kernels() if fn.name in known]


def _kernel_to_run(new: Module, kernel: str | None, launch: Launch | None) -> str:
    from binalloc.pipeline.pipeline import find_kernel

    return find_kernel(new, launch.kernel if kernel is None else kernel).name if launch is not None else ""


def _check(
    old: Module, new: Module, names: list[str], *, whole: bool
) -> tuple[list[str], list[str], list[str]]:
    """Findings and notes about all these kernels, and which of them were left to be as they are, unchecked. `whole`:
    they are all there should be."""
    from binalloc.pipeline.holding import declared_idle
    from binalloc.verify.checker import check
    from binalloc.verify.resources import check_data
    from binalloc.verify.surroundings import changed_kernels, check_surroundings

    maps = _identities(old, new)
    changed = changed_kernels(old, new) if whole else names
    reports = {
        name: check(old, new, name, also=changed, maps=maps, idle_slots=declared_idle(new, name))
        for name in (changed if len(names) > 1 else names)
    }  # those whose code is the same in both need no proof, and may be beyond one
    proven = [name for name, report in reports.items() if name in changed or report.ok]
    findings: dict[str, None] = {}
    if not proven or len(names) > 1:
        findings |= dict.fromkeys(map(str, check_surroundings(old, new, "", also=proven) + check_data(old, new)))
    for name in proven:
        findings |= dict.fromkeys(map(str, reports[name].errors))
    notes = dict.fromkeys(str(note) for name in proven for note in reports[name].notes)
    return list(findings), list(notes), [name for name in names if name not in proven]


def _identities(old: Module, new: Module) -> dict[str, Origin]:
    """Maps for functions of `new` without one (of their own), wherever the identity can be one."""
    known = {fn.name: fn for fn in old}
    found = {fn.name: _identity(known.get(fn.name), fn) for fn in new}
    return {name: origin for name, origin in found.items() if origin is not None}


def _identity(old: Function | None, new: Function) -> Origin | None:
    from binalloc.isa.instruction import Origin

    if old is None or len(old) != len(new) or (new.origin is not None and old.origin is None):
        return None
    # Where `old` was rewritten itself, the map of `new` leads to the binary before it, not to `old`.
    return Origin(old.name, list(range(len(new))))


def _hint(old: Module, new: Module) -> str | None:
    """What findings may come from, in a sentence or two."""
    hints = []
    if apart := _imported_apart(old, new):
        hints.append(f"the two were imported differently: {', '.join(apart)}")
    known = _identities(old, new)
    unmapped = [fn.name for fn in new if fn.origin is None and fn.name not in known]
    if unmapped:
        text = f"{new.path or 'the rewritten binary'} carries no instruction map of {', '.join(unmapped)}, as "
        hints.append(text + "`binalloc rewrite` writes one: are the two arguments swapped (verify ORIGINAL REWRITTEN)?")
    return ". ".join(hints) or None


_IMPORTED = {
    "input_sha256": "from other PTX",
    "inputs_sha256": "from other PTX",
    "machine": "for the machines {} and {}, to whose registers code that recurses keeps",
    "stack_bytes": "with stacks of {} and {} bytes per thread, which code that recurses has as numbers",
    "version": "by binalloc {} and {}",
}
"""What records of two imports may have apart, by key, in words."""


def _imported_apart(old: Module, new: Module) -> list[str]:
    """In what two imports differ, by their records; nothing where one of the binaries has none."""
    from binalloc.frontend.importer import TOOL

    one, other = (next((r for r in module.provenance if r.get("tool") == TOOL), None) for module in (old, new))
    if one is None or other is None:
        return []
    pairs = ((words, one.get(key), other.get(key)) for key, words in _IMPORTED.items())
    return [words.format(quoted(a), quoted(b)) for words, a, b in pairs if a != b]


def _compare_runs(
    old: Module, new: Module, kernel: str, launch: Launch, options: RunOptions, progress: Callable[[str], None],
) -> dict[str, Any]:
    from binalloc.emulator.runs.run import run_launch
    from binalloc.launch.file import check_against, compare, compare_globals, variable_name
    from binalloc.pipeline.steps import run_progress

    machine = options.machine
    rescheduled = any(fn.info.machine != machine.name for fn in old)
    if rescheduled:
        from binalloc.transform.schedule.schedule import schedule

        old = schedule(old, machine)
    for module in (old, new):
        check_against(launch, module.function(kernel).info, module.path)
    results = []
    for which, module in (("original", old), ("rewritten", new)):
        with running(f"the {which}"):
            tell = run_progress(f"{kernel}, {which}", progress)
            results.append(run_launch(module, kernel, launch, replace(options, progress=tell)))
    before, after = results
    differences = compare(launch, before.buffers, after.buffers)
    differences += compare_globals(launch, before.globals, after.globals)
    printed = before.printed.differs(after.printed)
    data = before.buffers | {variable_name(name): values for name, values in before.globals.items()}
    return {
        "machine": machine.name,
        "scheduler": options.scheduler,
        "original_rescheduled": rescheduled,
        "same_results": not differences and printed is None,
        "first_store": _first_store(old, new, kernel, launch, options, differences[0], data)
        if differences
        else None,
        "differences": [str(d) for d in differences] + ([] if printed is None else [printed]),
        "cycles": {"original": before.cycles, "rewritten": after.cycles},
    }


def _first_store(
    old: Module, new: Module, kernel: str, launch: Launch, options: RunOptions, d: Difference, results: dict[str, Any],
) -> dict[str, Any] | None:
    """The store that wrote the first differing element in both runs, and what it left there. None where elements have
    no place of their own (compare = "unordered")."""
    import numpy as np

    from binalloc.emulator.runs.watch import first_store

    if d.mode == CompareMode.UNORDERED:
        return None
    data = results[d.name]
    offset = int(np.ravel_multi_index(d.index, data.shape)) * data.itemsize + d.offset
    size = data.itemsize if d.bytes is None else d.bytes
    stores = [first_store(m, kernel, launch, d.name, offset, size, options) for m in (old, new)]
    return {
        "element": d.element,
        "original": {"store": str(stores[0]) if stores[0] else None, "value": _value(d.expected)},
        "rewritten": {"store": str(stores[1]) if stores[1] else None, "value": _value(d.actual)},
    }


def _value(v: Shown) -> int | float | str:
    """JSON has no NaN and no infinity, and no complex numbers."""
    return v if isinstance(v, int) or (isinstance(v, float) and math.isfinite(v)) else str(v)


def render_verification(found: dict[str, Any]) -> str:
    lines = []
    if found["checked"] is not None:
        names = [name for name in found["kernels"] if name not in found["unchanged"]]
        what = ", ".join(names) or f"no kernel {'that changed' if found['kernels'] else 'in common'}"
        lines.append(f"{what}: symbolic check {'passed' if found['checked'] else 'FAILED'}\n")
    lines += [f"  {text}\n" for text in found["findings"][:20]]
    if len(found["findings"]) > 20:
        lines.append(f"  and {len(found['findings']) - 20} more\n")
    lines += [f"  note: {text}\n" for text in found["notes"][:MOST_NOTES]]
    if len(found["notes"]) > MOST_NOTES:
        lines.append(f"  and {count(len(found['notes']) - MOST_NOTES, 'more note')}\n")
    if found["hint"]:
        lines.append(f"  {found['hint']}\n")
    if found["unchanged"]:
        lines.append(f"{', '.join(found['unchanged'])}: unchanged, not checked\n")
    lines.append(render_control_codes(found["control_codes"]))
    if found["same_results"] is not None:
        cycles = found["cycles"]
        lines.append(f"emulated results {'same' if found['same_results'] else 'DIFFERENT'}; ")
        lines.append(f"cycles {cycles['original']:,} and {cycles['rewritten']:,} on {found['machine']}")
        lines.append(" (the original rescheduled for it)\n" if found["original_rescheduled"] else "\n")
        lines += [f"  {text}\n" for text in found["differences"]]
    if found["first_store"] is not None:
        first = found["first_store"]
        lines.append(f"first differing element {first['element']}\n")
        for side in ("original", "rewritten"):
            lines.append(f"  {side:9s} {first[side]['value']!r}, by {first[side]['store'] or 'no store'}\n")
    lines.append(render_limits(found))
    return "".join(lines)
