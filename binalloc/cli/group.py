"""The command group turns every error into one line and an exit code, and prepares the standard streams."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import click

from binalloc.call_stack import with_room
from binalloc.cli.terminal import SCHEMA_VERSION, Ended, end_line, note, print_json, pulsing
from binalloc.errors import BinallocError, Terminated
from binalloc.printable import count, one_line, plain, screen

if TYPE_CHECKING:
    from binalloc.report.shapes.parts.common import ErrorDetails

EXIT_DEFECT = 70  # EX_SOFTWARE of sysexits.h
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells report it

SPELLINGS: dict[str, str] = {
    "None": "none",
    "accelsim_limit": "--accelsim-limit",
    "allocator": "--allocator",
    "architecture": "--arch",
    "assemble": "`binalloc asm`",
    "barriers": "--barriers",
    "block": "--block",
    "block_dim": "--block-dim",
    "break": "--break",
    "block_order": "--block-order",
    "blocks": "--blocks",
    "carveout": "--carveout",
    "cc": "--cc",
    "cpu": "--cpu",
    "dask": "--dask",
    "dispatcher": "--dispatch",
    "batches": "--batches",
    "every": "--every",
    "explain": "--explain",
    "function": "--function",
    "host_steps": "--host-steps",
    "kernel": "--kernel",
    "launch": "--launch",
    "list_machines": "`binalloc machines`",
    "listeners": "listeners",
    "machine": "--machine",
    "max_cycles": "--max-cycles",
    "max_slowdown": "--max-slowdown",
    "merge": "--merge",
    "multiplex": "--multiplex",
    "over": "--over",
    "page_bytes": "--page-bytes",
    "pages": "--pages",
    "placement": "--placement",
    "policy": "--policy",
    "reading": "--reading",
    "profile": "--profile",
    "scheduler": "--scheduler",
    "schedulers": "--schedulers",
    "scheme": "--scheme",
    "registers": "--registers",
    "samples": "--samples",
    "schedule": "`binalloc schedule`",
    "stack_bytes": "--stack",
    "step": "--step",
    "skew": "--skews",
    "slots": "--slots",
    "sharing": "--sharing",
    "share_slots": "--share-slots",
    "smm": "--smm",
    "sms": "--sms",
    "warps": "--warps",
    "watch": "--watch",
}
"""The command line's spelling of the library's parameters and functions, for errors that name them (`errors.Hint`)."""


Report = Mapping[str, Any]
"""The fields of a run that was stopped: of one launch or of a sequence, of `run` or of another command."""


class CommandGroup(click.Group):
    """The group turns every error into a line on stderr and an exit code; with --json also into an object on stdout."""

    @with_room
    def main(self, *args: Any, **kwargs: Any) -> Any:
        kwargs["standalone_mode"] = False
        given = args[0] if args else kwargs.get("args")
        given = sys.argv[1:] if given is None else list(given)
        try:
            _prepare_streams()
            name = next((word for word in given if not word.startswith("-")), "binalloc")
            with _termination(), contextlib.nullcontext() if "--json" in given else pulsing(name):
                code = super().main(*args, **kwargs)
            code = code if isinstance(code, int) else 0
        except SystemExit:
            raise
        except BaseException as e:
            interrupted = isinstance(e, click.exceptions.Abort) and e.__cause__ is not None  # so click reports Ctrl-C
            code = _end(e.__cause__ or e if interrupted else e, "--json" in given)
        sys.exit(code)


@contextlib.contextmanager
def _termination() -> Iterator[None]:
    """Let SIGTERM end the command inside as Ctrl-C does, unless the caller has set a handler of its own."""
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if ours:
        signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated


def _prepare_streams() -> None:
    """Prepare stdout, the descriptors 0 to 2, and the package's log.

    stdout writes characters outside its encoding as escapes. If the caller closed a standard stream, its descriptor is
    filled, so that no file opened later takes its place. Messages of the library become lines on stderr.
    """
    while (spare := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(spare)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    package = logging.getLogger("binalloc")
    package.setLevel(logging.INFO)
    package.propagate = False
    package.handlers = [_Notes()]


class _Notes(logging.Handler):
    """The handler prints messages of the library as lines on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


def _end(error: BaseException, as_json: bool) -> int:
    """Report an error of ours, of the command line, of the system, or a defect, and return its exit code.

    Raise nothing, whatever the error's own text does, unless BINALLOC_DEBUG asks for the traceback.
    """
    report: Report | None = None
    if isinstance(error, Ended):
        report, error = error.report, error.error
        if isinstance(error, KeyboardInterrupt):
            end_line()  # as click does for interrupts that it sees
    if os.environ.get("BINALLOC_DEBUG") and not isinstance(error, BinallocError | click.ClickException):
        raise error
    try:
        report = _stopped(error) if report is None else report
        message, code = _describe(error, report)
    except Exception:
        message, code = f"internal error: {type(error).__name__}, which cannot be shown", EXIT_DEFECT
    try:
        if as_json:
            details = _details(error, message, code)
            print_json({"schema_version": SCHEMA_VERSION, **(report or {}), "error": details})
    except Exception:
        code = code or EXIT_DEFECT  # stdout cannot take it; stderr still says what is wrong
    note(f"error: {message}")
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        with contextlib.suppress(Exception):
            click.echo(screen(error.format_message()), err=True)
    return code


def _details(error: BaseException, message: str, code: int) -> ErrorDetails:
    """Return the field `error`: a line for people and the exit code, and of an error of ours its parts."""
    if not isinstance(error, BinallocError):
        return {"message": message, "exit_code": code}
    parts = error.details(SPELLINGS)
    return {
        "message": parts["message"] or "",
        "exit_code": code,
        "file": parts["file"],
        "place": parts["place"],
        "found": parts["found"],
        "expected": parts["expected"],
        "remedy": parts["remedy"],
    }


def _stopped(error: BaseException) -> Report:
    """Return the report on the emulated run that the error ended; {} if there was none."""
    if getattr(error, "partial", None) is None:
        return {}
    from binalloc.report.runs.facts import partial_json

    return partial_json(error) or {}


def _interruption(run: Report) -> str:
    """Say how far the interrupted run had come and which files of it were written. run: {} if there was no run."""
    where = ""
    if "launches" in run:
        where = f" after {count(len(run['launches']), 'launch', 'launches')}"
    elif run.get("partial"):
        ended = f"{run['blocks_ended']:,} of {count(run['blocks'], 'block')} ended"
        version = f" ({run['version']})" if "version" in run else ""
        where = f" in {run['kernel']}{version} at cycle {run['cycles']:,}, {ended}"
    elif run:
        where = f" when {run['kernel']} had ended"
    files = [run[name]["file"] for name in ("trace", "series") if name in run]
    files += [run["dram_log"]["folder"]] if "dram_log" in run else []
    files += [run[name] for name in ("accelsim_trace",) if name in run] + run.get("saved", [])
    return f"interrupted{where}; " + (f"written: {', '.join(map(one_line, files))}" if files else "nothing was written")


def _describe(error: BaseException, report: Report) -> tuple[str, int]:
    """Return one line for a terminal, and the exit code. report: on the emulated run that was ended; {} for none."""
    if isinstance(error, BinallocError):
        return error.text(SPELLINGS), error.exit_code
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return "a command is needed", 2
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else "binalloc"
        return f"{error.format_message()} See {command} --help.", 2
    if isinstance(error, click.ClickException):
        return error.format_message(), 2
    if isinstance(error, click.exceptions.Abort | KeyboardInterrupt):
        return _interruption(report), getattr(error, "exit_code", EXIT_INTERRUPTED)
    if isinstance(error, RecursionError):
        return "the input nests too deeply", 3
    if isinstance(error, MemoryError):
        return "out of memory", 4
    if isinstance(error, OSError):
        return f"{plain(error.filename or 'output')}: {error.strerror or error}", 2
    text = f"internal error: {type(error).__name__}: {one_line(' '.join(plain(error).split()), 300)}. "
    return f"{text}Please report it; BINALLOC_DEBUG=1 shows where", EXIT_DEFECT
