"""`binalloc run` of a program: a line for each launch as a profiler has it, what each kernel took, the comparison."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from binalloc.emulator.host.stats import per
from binalloc.errors import Interrupted, LimitHit, UsageError
from binalloc.names.kernels import readable
from binalloc.pipeline.program import kernels_of, told_by
from binalloc.printable import count, one_line
from binalloc.report.runs.printed import program_printed_to_dict, render_heap, render_printed
from binalloc.report.runs.run import check_reference, plain_values, run_to_dict, save_buffers
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.emulator.runs.program import Launched, Ran, Total
    from binalloc.emulator.runs.run import Result
    from binalloc.isa.instruction import Module
    from binalloc.launch.program.types import Program
    from binalloc.launch.types import Launch


def program_run_to_dict(
    module: Module,
    program: Program,
    options: RunOptions,
    *,
    reference: bool,
    save: str | None,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """Run a program and describe what it did. reference: compare with the program's. save:
    folder for the buffers. Raises what `run_steps` does; LimitHit and Interrupted with `report`, all that is to be
    told of the launches that had ended."""
    from binalloc.emulator.runs.program import run_steps

    if reference and program.held.reference is None:
        raise UsageError("the launch file names no reference", file=program.path or None, expected="[reference]")
    try:
        ran = run_steps(module, program, options, kernels=kernels_of(module, program), progress=told_by(progress))
    except (LimitHit, Interrupted) as error:
        if error.program is not None:
            error.report = ran_to_dict(program, cast("Ran", error.program))
        raise
    found = ran_to_dict(program, ran)
    found["scalars"] = {name: _finite(value) for name, value in ran.scalars.items()}
    if reference:
        found |= check_reference(program.held, ran.buffers, program.constants)
    if save is not None:
        found["saved"] = save_buffers(Path(save), ran.buffers, ran.globals)
    return found


def launch_to_dict(
    module: Module, program: Program, options: RunOptions, step: int, **more: Any
) -> dict[str, Any]:
    """Run a program up to its launch of number `step`, and that one as `run_to_dict` does, which `more` is handed to;
    nothing behind it. options: of both runs."""
    from binalloc.emulator.runs.program import Reached, run_steps

    unseen = replace(options, every=None)
    try:
        run_steps(
            module, program, unseen, kernels=kernels_of(module, program), stop_at=step,
            progress=told_by(more["progress"]),
        )  # fmt: skip
    except Reached as there:
        reached = there
    else:
        raise AssertionError(step)  # it raises where there is no such launch

    def one(_: Module, __: str, launch: Launch, asked: RunOptions) -> Result:
        return reached.session.launch(launch, reached.parameters, asked, contents=True)

    found = run_to_dict(module, reached.launch.kernel, reached.launch, options, runner=one, **more)
    return found | {"launch": step}


def ran_to_dict(program: Program, ran: Ran) -> dict[str, Any]:
    """What a program did, be it one that was stopped."""
    return {
        "program": program.path,
        "machine": ran.machine,
        "engine": ran.engine,
        "scheduler": ran.scheduler,
        "sms": ran.sms,
        "partial": ran.partial,
        "cycles": ran.cycles,
        "launches": [_launch(launched) for launched in ran.launches],
        "kernels": [_total(name, total, ran.cycles) for name, total in ran.totals.items()],
        **program_printed_to_dict(ran),
    }


def _launch(launched: Launched) -> dict[str, Any]:
    figures = launched.figures
    return {
        "launch": launched.number,
        "step": launched.step,
        "rounds": list(launched.rounds),
        "kernel": launched.kernel,
        "name": readable(launched.kernel),
        "grid": list(launched.grid),
        "block": list(launched.block),
        "dynamic_shared": launched.dynamic_shared,
        "start": launched.start,
        "cycles": launched.cycles,
        "blocks_per_sm": launched.blocks_per_sm,
        "occupancy": launched.occupancy,
        "achieved_occupancy": launched.achieved_occupancy,
        "registers": launched.registers,
        "slots": launched.slots,
        **plain_values(figures),
        "l1_hit_rate": _rate(figures, "l1_global"),
        "l2_hit_rate": _rate(figures, "l2"),
    }


def _total(name: str, total: Total, cycles: int) -> dict[str, Any]:
    return {
        "kernel": name,
        "name": readable(name),
        "launches": total.calls,
        "cycles": total.cycles,
        "share": per(total.cycles, cycles),
        "average": total.cycles / total.calls,
        "least": total.least,
        "most": total.most,
        "l1_hit_rate": _rate(total.stats, "l1_global"),
        "l2_hit_rate": _rate(total.stats, "l2"),
        "stats": plain_values(total.stats),
    }


def _rate(figures: dict[str, Any], cache: str) -> float | None:
    """Hits of all that looked in a cache; None where nothing did."""
    hits, misses = figures[f"{cache}_hits"], figures[f"{cache}_misses"]
    return per(hits, hits + misses)


def _finite(value: float | complex) -> float | str | list[float | str]:
    """A number as JSON can have it: infinities and NaN as text, complex ones as a list of two."""
    if isinstance(value, complex):
        return [_finite(part) for part in (value.real, value.imag)]  # type: ignore[misc]
    return value if isinstance(value, int) or value - value == 0 else str(value)


# ---------------------------------------------------------------------------------------------------------------------
# As text.


def render_program(found: dict[str, Any], listed: int | None) -> str:
    """The program in one line, its launches, at most `listed` of them, the first and the last ones (None:
    all), and its kernels."""
    launches = found["launches"]
    title = "PARTIAL: " if found["partial"] else ""
    title += f"{one_line(found['program'] or 'program')} on {found['machine']}: "
    title += f"{count(len(launches), 'launch', 'launches')} of {count(len(found['kernels']), 'kernel')}, "
    title += f"{count(found['cycles'], 'cycle')} "
    scheduler = "" if found["scheduler"] == "lrr" else f", scheduler {found['scheduler']}"
    lines = [render_printed(found), f"{title}(emulated, {count(found['sms'], 'SM')}{scheduler})\n"]
    if launches:
        lines += ["\n", _timeline(launches, listed), "\n", _kernels(found["kernels"])]
    lines.append(render_heap(found))
    if "reference" in found:
        lines.append(f"\nReference: {found['reference']}.\n")
        lines += [f"  {d}\n" for d in found["differences"]]
    return "".join(lines)


_HEAD = (
    "launch", "kernel", "grid", "block", "start", "cycles", "blocks/SM", "occupancy", "registers", "bytes read",
    "written", "L1 hits", "L2 hits", "DRAM bytes", "step", "round",
)  # fmt: skip


def _timeline(launches: list[dict[str, Any]], listed: int | None) -> str:
    most = len(launches) if listed is None else listed
    first, last = -(-most // 2), most // 2
    shown = launches if len(launches) <= most else launches[:first] + launches[len(launches) - last :]
    rows: list[tuple[object, ...]] = [
        (
            f"{found['launch']:,}", found["name"], _shape(found["grid"]), _shape(found["block"]), found["start"],
            found["cycles"], found["blocks_per_sm"], found["occupancy"], found["registers"],
            found["user_global_load_bytes"], found["user_global_store_bytes"], _percent(found["l1_hit_rate"]),
            _percent(found["l2_hit_rate"]), found["dram_bytes"], found["step"],
            ",".join(map(str, found["rounds"])),
        )
        for found in shown
    ]  # fmt: skip
    text = table(_HEAD, rows, left=2)
    left_out = len(launches) - len(shown)
    if left_out:
        lines = text.splitlines(keepends=True)
        lines.insert(2 + first, f"... {count(left_out, 'launch', 'launches')} left out; --timeline all lists all\n")
        text = "".join(lines)
    return text


def _kernels(kernels: list[dict[str, Any]]) -> str:
    head = ("kernel", "launches", "cycles", "share", "average", "min", "max", "L1 hits", "L2 hits", "DRAM bytes")
    rows = [
        (
            k["name"], k["launches"], k["cycles"], _percent(k["share"]), f"{k['average']:,.1f}", k["least"], k["most"],
            _percent(k["l1_hit_rate"]), _percent(k["l2_hit_rate"]), k["stats"]["dram_bytes"],
        )
        for k in kernels
    ]  # fmt: skip
    return table(head, rows)


def _shape(sides: list[int]) -> str:
    """`64`, `8x4`: without the axes of one."""
    while len(sides) > 1 and sides[-1] == 1:
        sides = sides[:-1]
    return "x".join(map(str, sides))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"
