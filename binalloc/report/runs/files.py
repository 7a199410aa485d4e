"""This module writes the files that `binalloc run` makes of a run: its series, its profile and its buffers."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binalloc.errors import UsageError
from binalloc.files import write_atomically
from binalloc.pipeline.profile import profile_bytes, profile_of
from binalloc.printable import quoted
from binalloc.report.runs.facts import result_json
from binalloc.report.runs.series import series_bytes

if TYPE_CHECKING:
    from binalloc.pipeline.running.run import KernelRun
    from binalloc.report.shapes.commands.runs import RunFiles, WrittenSeriesJson


@dataclass(frozen=True)
class Files:
    """The record has the paths of the files to write; None for a file that is not asked for."""

    series: str | None = None  #: file of the series, as CSV or JSON by its name
    profile: str | None = None  #: file of the profile
    save: str | None = None  #: folder for the buffers
    accelsim: str | None = None  #: folder of the trace for Accel-Sim, which the run's recorder writes
    dram_log: str | None = None  #: folder of the DRAM log, which the run itself writes


def write_files(run: KernelRun, files: Files) -> RunFiles:
    """Write the files of a run, and return the fields of the report that name them.

    The series and the profile of a run that was stopped end at the stop; its buffers are not saved. Raise UsageError if
    a file cannot be written.
    """
    found: RunFiles = {}
    if files.series is not None:
        found["series"] = _write_series(files.series, run)
    if files.profile is not None:
        profile = profile_of(run.module, run.function, run.result)
        write_atomically(files.profile, profile_bytes(profile))
        found["profile"] = {"file": files.profile, "warps": profile.entered}
    if run.recorded and files.accelsim is not None:
        found["accelsim_trace"] = files.accelsim
    if run.dram_log is not None and files.dram_log is not None:
        log = run.dram_log
        found["dram_log"] = {
            "folder": files.dram_log,
            "requests": log.requests,
            "commands": log.commands,
            "full_at_cycle": log.full_at_cycle,
            "bytes": log.bytes,
        }
    if files.save is not None and run.whole:
        found["saved"] = save_buffers(Path(files.save), run.result.buffers, run.result.globals)
    return found


def _write_series(path: str, run: KernelRun) -> WrittenSeriesJson:
    """Write the series, and return the field of the report that describes it."""
    result = run.result
    every, full_at = run.options.every or 0, result.series_full_at
    about = {"every": every, "full_at_cycle": full_at}
    write_atomically(path, series_bytes(path, result_json(result), result.series, about))
    return {"file": path, "intervals": len(result.series), "every": every, "full_at_cycle": full_at}


def save_buffers(folder: Path, buffers: dict[str, Any], variables: dict[str, Any]) -> list[str]:
    """Write a .npy file for each buffer and for each global variable of the module, and return the files' paths.

    Raise UsageError if a file cannot be written, or if a buffer has the name of a variable's file.
    """
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
            raise AssertionError(f"{quoted(name)} is no file name")  # names were checked when they were read
        content = io.BytesIO()
        np.save(content, array, allow_pickle=False)
        write_atomically(path, content.getvalue())
        out.append(str(path))
    return out
