"""What the commands share: the group with its error handling, options, input, output, progress."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from binalloc.emulator.host.cycles import DEFAULT_MAX_CYCLES
from binalloc.errors import BinallocError, MalformedInput, UsageError
from binalloc.printable import one_line, plain, screen
from binalloc.version import VERSION

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.models.machines.reader import Machine

SCHEMA_VERSION = 1
DEFAULT_MACHINE = "gtx680"
EXIT_DEFECT = 70
EXIT_INTERRUPTED = 130
F = TypeVar("F", bound=Callable[..., Any])


SPELLINGS: dict[str, str] = {
    "None": "none",
    "allocator": "--allocator",
    "block_dim": "--block-dim",
    "blocks": "--blocks",
    "carveout": "--carveout",
    "cc": "--cc",
    "kernel": "--kernel",
    "launch": "--launch",
    "list_machines": "`binalloc machines`",
    "machine": "--machine",
    "max_cycles": "--max-cycles",
    "minimum_registers": "`binalloc inspect --minimum`",
    "policy": "--policy",
    "scheduler": "--scheduler",
    "registers": "--registers",
    "samples": "--samples",
    "schedule": "`binalloc schedule`",
    "slots": "--slots",
    "sms": "--sms",
}
"""How the command line spells the library's parameters and functions that errors name (`errors.Hint`)."""


class Group(click.Group):
    """Turns every error into one line on stderr, with --json one object on stdout too, and its exit code."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        kwargs["standalone_mode"] = False
        given = args[0] if args else kwargs.get("args")
        given = sys.argv[1:] if given is None else list(given)
        try:
            _prepare_streams()
            code = super().main(*args, **kwargs)
            code = code if isinstance(code, int) else 0
        except SystemExit:
            raise
        except BaseException as e:
            code = _end(e, "--json" in given)
        sys.exit(code)


def _prepare_streams() -> None:
    """Make stdout write what its encoding lacks as escapes, and keep files that are opened later off the descriptors
    of streams that the caller closed."""
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
    """What the library has to say on its way, as lines on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


def _end(error: BaseException, as_json: bool) -> int:
    """Report an error of ours, of the command line, of the system, or a defect; its exit code. Raises nothing, whatever
    the error's own text does, except where a developer asks for the traceback."""
    if os.environ.get("BINALLOC_DEBUG") and not isinstance(error, BinallocError | click.ClickException):
        raise error
    try:
        message, code = _describe(error)
    except Exception:
        message, code = f"internal error: {type(error).__name__}, which cannot be shown", EXIT_DEFECT
    try:
        if as_json:
            details: dict[str, object] = {"message": message, "exit_code": code}
            if isinstance(error, BinallocError):
                details |= error.details(SPELLINGS)
            print_json({"schema_version": SCHEMA_VERSION, "error": details})
    except Exception:
        code = code or EXIT_DEFECT  # stdout cannot take it; stderr still says what is wrong
    note(f"error: {message}")
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        with contextlib.suppress(Exception):
            click.echo(screen(error.format_message()), err=True)
    return code


def _describe(error: BaseException) -> tuple[str, int]:
    """One line for a terminal, and the exit code."""
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
        return "interrupted; nothing was written", EXIT_INTERRUPTED
    if isinstance(error, RecursionError):
        return "the input nests too deeply", 3
    if isinstance(error, MemoryError):
        return "out of memory", 4
    if isinstance(error, OSError):
        return f"{plain(error.filename or 'output')}: {error.strerror or error}", 2
    text = f"internal error: {type(error).__name__}: {one_line(' '.join(plain(error).split()), 300)}. "
    return f"{text}Please report it; BINALLOC_DEBUG=1 shows where", EXIT_DEFECT


# ---------------------------------------------------------------------------------------------------------------------
# What the user sees: every text leaves by one of these.


def note(text: str) -> None:
    """One line on stderr, in front of it the tool's name. Where stderr is closed or full, nobody is there to tell."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        click.echo(f"binalloc: {one_line(text)}", err=True)


def fail(message: str, code: int) -> NoReturn:
    note(f"error: {message}")
    sys.exit(code)


def say(text: str) -> None:
    """Text on stdout, as a terminal may see it."""
    _to_stdout(screen(text).encode(getattr(sys.stdout, "encoding", None) or "utf-8", "backslashreplace"))


def print_json(value: object) -> None:
    """One JSON object on stdout, in plain ASCII."""
    text = json.dumps(value, indent=2, allow_nan=False)
    _to_stdout(f"{text}\n".encode())


def _to_stdout(data: bytes) -> None:
    """Bytes to stdout. A reader that has seen enough and left changes nothing about the answer: the rest is dropped."""
    if sys.stdout is None:
        raise UsageError("standard output is closed", remedy="Give it somewhere to go.")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(VERSION, "-V", "--version", prog_name="binalloc")
def main() -> None:
    """Registers, shared-memory slots, local memory and occupancy for compiled SIMT binaries.

    Exit codes: 0 done; 1 the answer is no (verification failed, infeasible, refused); 2 usage; 3 malformed input;
    4 a limit was hit; 5 the emulated kernel faulted; 70 a defect of binalloc; 130 interrupted.

    FILE may be - for standard input. With --json an error is one object with the key "error" on stdout. Completion in
    the shell: eval "$(_BINALLOC_COMPLETE=bash_source binalloc)", or zsh_source, or fish_source.
    """


# ---------------------------------------------------------------------------------------------------------------------
# Shared options, input and output.

INTEGER_LIMIT = 1 << 31
CYCLES_LIMIT = 1 << 62


def integer(low: int = -INTEGER_LIMIT, high: int = INTEGER_LIMIT) -> click.IntRange:
    """An integer option's type: far beyond whatever is sensible, and well within what 64 bits can compute with."""
    return click.IntRange(low, high)


def _cycle_limit(ctx: click.Context, param: click.Parameter, value: str) -> int | None:
    """The value of --max-cycles: a number, at least 1, or `none`, which becomes None."""
    return None if value == "none" else integer(1, CYCLES_LIMIT)(value, param, ctx)


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout, nothing else.")
kernel_option = click.option("--kernel", metavar="NAME", help="The kernel, where there are several; also by C++ name.")
machine_option = click.option(
    "--machine", default=DEFAULT_MACHINE, show_default=True, metavar="NAME|FILE", help="Machine model."
)
own_machine_option = click.option(
    "--machine", metavar="NAME|FILE", help=f"Machine model.  [default: the binary's own, else {DEFAULT_MACHINE}]"
)
launch_option = click.option("--launch", type=click.Path(dir_okay=False), help="Launch file (TOML).")
size_option = click.option("--size", metavar="NAME", help="Use [sizes.NAME] of the launch file.")
output_option = click.option("-o", "--output", type=click.Path(allow_dash=True), help="Output file, - for stdout.")
engine_option = click.option("--engine", type=click.Choice(["numba", "python"]), default="numba", show_default=True)
max_cycles_option = click.option(
    "--max-cycles",
    callback=_cycle_limit,
    default=str(DEFAULT_MAX_CYCLES),
    show_default=True,
    metavar="N|none",
    help="Cycles after which an emulated run ends with exit code 4; none: no limit.",
)
file_argument = click.argument("file", type=click.Path(allow_dash=True))


def options(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    def apply(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


def read_file(file: str) -> bytes:
    from binalloc.isa.container.files import FILE_LIMIT

    try:
        if file == "-":
            if sys.stdin is None:
                raise UsageError("standard input is closed", remedy="Name a file.")
            return sys.stdin.buffer.read(FILE_LIMIT + 1)
        with open(file, "rb") as f:
            return f.read(FILE_LIMIT + 1)
    except OSError as e:
        raise UsageError("cannot read the file", file=file, found=e.strerror) from e


def load_module(file: str) -> tuple[Module, bytes]:
    """The module of a binary, and the file's bytes."""
    data = read_file(file)
    _not_ptx(data, file)
    return load_bytes(data, file), data


def load_bytes(data: bytes, file: str) -> Module:
    """The module of a binary already read from `file`."""
    from binalloc.isa.container.files import read_module

    return read_module(data, path=shown(file))


def _not_ptx(data: bytes, file: str) -> None:
    from binalloc.frontend.ptx.recognise import is_ptx

    if is_ptx(data, file):
        raise MalformedInput(
            "this is PTX", file=shown(file),
            remedy="Import it first: binalloc import-ptx FILE.ptx -o FILE.loom.",
        )  # fmt: skip


def load_two(original: str, rewritten: str) -> tuple[Module, Module]:
    if original == rewritten == "-":
        raise UsageError("standard input holds one binary", remedy="Name a file for one of the two.")
    return load_module(original)[0], load_module(rewritten)[0]


def shown(file: str) -> str:
    return "<stdin>" if file == "-" else file


def assemble_file(file: str) -> Module:
    from binalloc.isa.text.assembler import assemble

    data = read_file(file)
    _not_ptx(data, file)
    try:
        text = data.decode()
    except UnicodeDecodeError as e:
        raise MalformedInput("not UTF-8 text", file=shown(file), place=f"byte {e.start}") from e
    return assemble(text, path=shown(file))


def write_output(output: str, data: bytes) -> None:
    """To stdout, or to a file by way of a temporary name: it appears whole or not at all."""
    from binalloc.isa.container.files import write_atomically

    if output == "-":
        _to_stdout(data)
    else:
        write_atomically(output, data)


def check_output(output: str | None, as_json: bool) -> None:
    """What can be known before the work is done: stdout holds one thing, and the file's folder is there."""
    if output == "-" and as_json:
        raise UsageError("--json and -o - both want standard output", remedy="Give -o FILE.")
    if output == "" or (output is not None and os.path.isdir(output)):
        raise UsageError("the output is no file's name", file=output or "''", remedy="Give -o FILE.")
    folder = os.path.dirname(output or "") or "."
    if output not in (None, "-") and not os.path.isdir(folder):
        raise UsageError("the output's folder does not exist", file=output, found=folder)


def not_over(output: str | None, *inputs: str) -> None:
    """UsageError where the output would overwrite an input."""
    for file in inputs:
        both = output not in (None, "-") and file != "-" and os.path.exists(file) and os.path.exists(output or "")
        if both and os.path.samefile(output or "", file):
            raise UsageError("the output would overwrite its own input", file=output, remedy="Give another -o FILE.")


def machine_model(name: str) -> Machine:
    from binalloc.models.machines.reader import load_machine

    return load_machine(name)


def machine_of(module: Module, kernel: str | None, given: str | None, *, runs: bool) -> Machine:
    """The machine asked for, else the one the binary's kernel was scheduled for where it is a known model.

    runs: the binary will run, so another machine than its own will not do. UsageError where its own is not known, and
    where `kernel` means no kernel.
    """
    from binalloc.models.machines.reader import list_machines
    from binalloc.pipeline.steps import find_kernel

    kernels = module.kernels() if kernel is None else [find_kernel(module, kernel)]
    recorded = [fn.info.machine for fn in kernels]
    known = [name for name in recorded if name in list_machines()]
    if runs and not known and not given and any(recorded):
        raise UsageError(
            "the binary is scheduled for a machine that is no known model",
            file=module.path or None, found=next(filter(None, recorded)), expected=", ".join(list_machines()),
            remedy="Give its machine file, --machine FILE.",
        )  # fmt: skip
    return machine_model(given or (known[0] if known else DEFAULT_MACHINE))


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[[str], None]]:
    """A progress line on stderr, rewritten in place; only on a terminal, so that logs and pipes get none of it."""
    terminal = sys.stderr is not None and sys.stderr.isatty()

    def show(text: str) -> None:
        if terminal:
            sys.stderr.write(f"\r\x1b[K{one_line(text)}")
            sys.stderr.flush()

    try:
        yield (lambda _: None) if quiet else show
    finally:
        if terminal and not quiet:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
