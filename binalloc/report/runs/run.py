"""`binalloc run`: one emulated run, its counters and, on request, the comparison with the launch file's reference."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from binalloc.emulator.host.skew import cycles_range, cycles_text, skewed_cycles
from binalloc.errors import Interrupted, LimitHit, UsageError
from binalloc.files import write_atomically
from binalloc.pipeline.profile import Profile, profile_bytes, profile_of
from binalloc.printable import count, one_line, quoted
from binalloc.report.runs.annotate import annotation, render_annotation
from binalloc.report.runs.observed import Wanted, observed
from binalloc.report.runs.printed import printed_to_dict, render_heap, render_printed
from binalloc.report.runs.series import series_bytes
from binalloc.report.runs.stopped import render_stopped
from binalloc.report.runs.touched import watch_lines
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.emulator.runs.issue_log import IssueLog
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.emulator.runs.run import Result
    from binalloc.isa.instruction import Module
    from binalloc.launch.file import Launch


class Annotate(NamedTuple):
    """What of the instructions is shown: so many of the hottest, all where it is None; sources from that folder."""

    most: int | None = None
    source: str | None = None


def run_to_dict(
    module: Module,
    kernel: str | None,
    launch: Launch,
    options: RunOptions,
    *,
    reference: bool,
    save: str | None,
    accelsim: tuple[str, int] | None = None,
    progress: Callable[[str], None],
    wanted: Wanted | None = None,
    annotate: Annotate | None = None,
    series: str | None = None,
    profile: str | None = None,
    runner: Callable[..., Result] | None = None,
) -> dict[str, Any]:
    """Run `kernel` (default: the launch's) and describe it. Raises KernelFault, LimitHit, Interrupted, Refused,
    UsageError; the second and third with `report`, all that is to be told of the run.

    save: folder for buffers. wanted: what else is to be seen. accelsim: the folder that the run is written to as a
    trace for that simulator, and the most bytes of it. annotate: describe single instructions, too. series: file for
    the intervals of `every` cycles. profile: file for how often code was executed. runner: in place of `run_launch`. Of
    a run that was stopped, at a break too, buffers are not told of, and there is no folder for Accel-Sim.
    """
    from binalloc.emulator.accelsim.trace import AccelsimTrace
    from binalloc.emulator.runs.run import run_launch
    from binalloc.launch.file import check_against
    from binalloc.pipeline.steps import find_kernel, run_progress

    run = run_launch if runner is None else runner
    fn = find_kernel(module, launch.kernel if kernel is None else kernel)
    check_against(launch, fn.info, module.path)
    options = replace(options, progress=run_progress(fn.name, progress), profile=annotate is not None)

    def start(log: IssueLog | None) -> Result:
        return run(module, fn.name, launch, replace(options, log=log))

    with nullcontext() if accelsim is None else AccelsimTrace(accelsim[0], module, fn, launch, accelsim[1]) as folder:
        result, seen, error = observed(start, wanted or Wanted(), folder)
        assert result is not None
        if folder is not None and error is None and not result.partial:
            folder.keep()
    found = result_to_dict(result) | seen
    if annotate is not None:
        found["annotation"] = annotation(module, fn, result, annotate.most, annotate.source)
    if series is not None:
        found["series"] = _write_series(series, found, result, options.every or 0)
    if profile is not None:
        found["profile"] = _write_profile(profile, profile_of(module, fn, result))
    if error is not None:
        error.report = found
        raise error
    if result.partial:
        return found
    if reference:
        found |= check_reference(launch, result.buffers)
    if accelsim is not None:
        found["accelsim_trace"] = accelsim[0]
    if save is not None:
        found["saved"] = save_buffers(Path(save), result.buffers, result.globals)
    bare = replace(options, every=None, profile=False)
    found["cycles_range"] = _range(
        found, options.skews, lambda seed: run(module, fn.name, launch, replace(bare, skew=seed)).cycles
    )
    return found


def _range(found: dict[str, Any], skews: int, cycles_of: Callable[[int], int]) -> list[int] | None:
    """The range of cycles with skews; where a run for it is stopped, its error tells of the one without, `found`."""
    try:
        return cycles_range(found["cycles"], skewed_cycles(cycles_of, skews))
    except LimitHit as error:
        error.report = found
        raise
    except KeyboardInterrupt as interrupted:
        stopped = Interrupted(None, getattr(interrupted, "exit_code", 130))
        stopped.report = found
        raise stopped from None


def _write_series(path: str, found: dict[str, Any], result: Result, every: int) -> dict[str, Any]:
    """What the report says of the file."""
    about = {"every": every, "full_at_cycle": result.series_full_at}
    write_atomically(path, series_bytes(path, found, result.series, about))
    return {"file": path, "intervals": len(result.series), **about}


def _write_profile(path: str, profile: Profile) -> dict[str, Any]:
    """What the report says of the file."""
    write_atomically(path, profile_bytes(profile))
    return {"file": path, "warps": profile.entered}


def result_to_dict(result: Result) -> dict[str, Any]:
    """What an emulated run did, be it one that was stopped."""
    found: dict[str, Any] = {
        "kernel": result.kernel,
        "machine": result.machine,
        "engine": result.engine,
        "scheduler": result.scheduler,
        "sms": result.sms,
        "partial": result.partial,
        "cycles": result.cycles,
        "cycles_range": None,
        "blocks": result.blocks,
        "blocks_ended": result.blocks_ended,
        "blocks_per_sm": result.blocks_per_sm,
        "occupancy": result.resident_occupancy,
        "achieved_occupancy": result.occupancy,
        "stats": plain_values(result.stats),
    }
    return found | printed_to_dict(result)


def stopped_to_dict(error: BaseException) -> dict[str, Any] | None:
    """What is to be told of the emulated run that the error stopped; None where it stopped none."""
    from binalloc.emulator.runs.run import Result

    report, partial = (getattr(error, name, None) for name in ("report", "partial"))
    if isinstance(report, dict):
        return report
    if not isinstance(partial, Result):
        return None
    version = getattr(error, "version", "")
    return result_to_dict(partial) | ({"version": version} if version else {})


def check_reference(
    launch: Launch, buffers: dict[str, Any], constants: dict[str, int | float] | None = None
) -> dict[str, Any]:
    """Whether buffers hold what the launch's reference says, and what differs."""
    from binalloc.launch.file import compare, reference_outputs

    if launch.reference is None:
        raise UsageError("the launch file names no reference", file=launch.path or None, expected="[reference]")
    expected = reference_outputs(launch, launch.make_buffers(), constants)
    differences = compare(launch, expected, {name: buffers[name] for name in expected})
    return {"reference": "differs" if differences else "same", "differences": [str(d) for d in differences]}


def save_buffers(folder: Path, buffers: dict[str, Any], variables: dict[str, Any]) -> list[str]:
    """One .npy file per buffer, and per global variable of the module; the files' paths. Raises UsageError where one
    cannot be written, or where a buffer is called as the file of a variable."""
    import numpy as np

    files = dict(buffers)
    for name, array in variables.items():
        if f"global.{name}" in files:
            found = f"the buffer global.{name} and the variable {name}"
            raise UsageError("two things to save have one file name", file=str(folder), found=found)
        files[f"global.{name}"] = array
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise UsageError("cannot make the folder", file=str(folder), found=e.strerror) from e
    out = []
    for name, array in files.items():
        path = folder / f"{name}.npy"
        if path.parent != folder:
            raise AssertionError(f"{quoted(name)} is no file name")  # names were checked where they came in
        content = io.BytesIO()
        np.save(content, array, allow_pickle=False)
        write_atomically(path, content.getvalue())
        out.append(str(path))
    return out


def plain_values(value: Any) -> Any:
    """Statistics as JSON values: NumPy numbers and arrays become Python's."""
    if isinstance(value, dict):
        return {str(k): plain_values(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(v) for v in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    return value


_GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "instructions",
        ("warp_instr", "thread_instr", "issue_slots", "dual_issues", "branches", "divergent", "barriers", "ipc"),
    ),
    ("accesses by the program", ("user_", "const_")),
    ("accesses by spill code", ("spill_",)),
    ("blocks", ("blocks_", "warp_cycles")),
    ("register file", ("register_", "operand_")),
    ("memory system", ("",)),
)
_ELSEWHERE = ("cycles", "achieved_occupancy", "stalls", "units", "queues")
_STALLS = {
    "no_warp": "no warp of a resident block",
    "stall_count": "the nearest warp sits out the stall count of its last instruction",
    "branch": "the nearest warp waits for its branch",
    "scoreboard": "the nearest warp waits for results of variable latency (memory, slow units)",
    "port_busy": "a warp is ready, its unit takes no instruction this cycle",
    "barrier": "every warp waits at a barrier",
    "block_drain": "every warp has exited, its block has not",
    "no_pair": "one instruction issued, none could go with it",
    "pending": "a warp is ready, the scheduler's policy lets none but others issue",
    "register_bank": "the last instruction waits for its registers' banks, and its scheduler with it",
}


def stall_texts() -> dict[str, str]:
    """What each reason for a lost issue slot means, by name, in the order of `STALL_NAMES`."""
    from binalloc.emulator.policies.gates.table import GATES

    return _STALLS | {name: gate.summary for name, gate in GATES.items()}


def _scheduler(name: str) -> str:
    """The warp scheduler, where it is not the usual one."""
    from binalloc.emulator.policies.schedulers.table import DEFAULT

    return "" if name == DEFAULT else f", scheduler {name}"


def render_run(found: dict[str, Any]) -> str:
    """The run in one line, then its counters in groups (zeros left out), stall reasons with what they mean; of a run
    that stopped at a break the warp, without the counters."""
    title = f"{found['kernel']} on {found['machine']}: "
    ended = f"{found['blocks_ended']:,} of {count(found['blocks'], 'block')} ended"
    if found.get("break") is not None:
        lines = [render_printed(found), title, render_stopped(found["break"])]
        lines.append(f"\nUntil then {ended}; --json has the counters so far.\n")
        return "".join([*lines, *_asked_for(found), _seen(found)])
    if found["partial"]:
        title = f"PARTIAL, {ended}: {title}"
    title += f"{cycles_text(found['cycles'], found['cycles_range'])} cycle{'s' if found['cycles'] != 1 else ''} "
    title += f"(emulated, {count(found['sms'], 'SM')}{_scheduler(found['scheduler'])}), "
    title += f"{count(found['blocks_per_sm'], 'block')} per SM, occupancy {found['occupancy']:.3f}, "
    lines = [render_printed(found), title + f"achieved occupancy {found['achieved_occupancy']:.3f}\n"]
    stats = found["stats"]
    rest = {k: v for k, v in stats.items() if k not in _ELSEWHERE and v}
    for name, starts in _GROUPS:
        rows = [(k, rest.pop(k)) for k in list(rest) if k.startswith(starts)]
        lines.append("\n" + table([name, "value"], rows) if rows else "")
    used, stalls = stats["issue_slots"], stats["stalls"]
    says = stall_texts()
    total = max(1, used + sum(stalls.values()))
    slots = [("issued", used), *((f"{k}: {says[k]}", v) for k, v in stalls.items() if v)]
    lines.append("\n" + table(["issue slots", "value", "share"], [(k, v, v / total) for k, v in slots]))
    units = [(k, v) for k, v in stats["units"].items() if v]
    lines.append("\n" + table(["warp instructions by unit", "value"], units))
    names = ("queues", "places", "average", "most", "full")
    queues = [(k, *(queue[name] for name in names)) for k, queue in stats["queues"].items() if queue["most"]]
    header = ["queues", "how many", "places each", "average", "most", "full for"]
    lines.append("\n" + table(header, queues) if queues else "")
    lines.append("\nCounters that are zero are left out; --json has them all.\n")
    lines.append(render_heap(found))
    if "accelsim_trace" in found:
        lines.append(f"Trace for Accel-Sim: {found['accelsim_trace']}.\n")
    if "reference" in found:
        lines.append(f"Reference: {found['reference']}.\n")
        lines += [f"  {d}\n" for d in found["differences"]]
    return "".join([*lines, *_asked_for(found), _seen(found)])


def _asked_for(found: dict[str, Any]) -> list[str]:
    """Single instructions, and the series."""
    lines = []
    if "annotation" in found:
        lines.append(render_annotation(found["annotation"]))
        if any(source["path"] is None for source in found["annotation"]["sources"]):
            lines.append("--source DIR says in which folder to look.\n")
    if "series" in found:
        series = found["series"]
        intervals, every = count(series["intervals"], "interval"), count(series["every"], "cycle")
        rest = series["full_at_cycle"]
        more = "" if rest is None else f"; the last one has all the rest, from cycle {rest:,} on"
        lines.append(f"Series: {one_line(series['file'])}, {intervals} of {every}{more}.\n")
    if "profile" in found:
        profile = found["profile"]
        begun = count(profile["warps"], "warp")
        lines.append(f"Profile: {one_line(profile['file'])}, executions by {begun}, for `rewrite --profile`.\n")
    return lines


def _seen(found: dict[str, Any]) -> str:
    """What was watched, and written of the run."""
    lines = []
    if "break" in found and found["break"] is None:
        lines.append("no break was reached")
    if "watch" in found:
        lines += watch_lines(found["watch"])
    if "trace" in found:
        trace = found["trace"]
        lines.append(f"trace {one_line(trace['file'])}: {count(trace['events'], 'event')}, {trace['bytes']:,} bytes")
    return "".join(f"{line}\n" for line in lines)
