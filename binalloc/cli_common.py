"""What the commands share: the group with its error handling, options, input, output, progress."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from binalloc import __version__
from binalloc.emulator.cycles import DEFAULT_MAX_CYCLES
from binalloc.errors import BinallocError, MalformedInput, UsageError

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.models.machine import Machine

SCHEMA_VERSION = 1
DEFAULT_MACHINE = "gtx680"
EXIT_DEFECT = 70
EXIT_INTERRUPTED = 130
F = TypeVar("F", bound=Callable[..., Any])


class Group(click.Group):
    """Turns every error into one line on stderr, with --json one object on stdout too, and its exit code."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        kwargs["standalone_mode"] = False
        given = args[0] if args else kwargs.get("args")
        given = sys.argv[1:] if given is None else list(given)
        try:
            code = super().main(*args, **kwargs)
            sys.exit(code if isinstance(code, int) else 0)
        except Exception as e:
            _end(e, "--json" in given)


def _end(error: Exception, as_json: bool) -> NoReturn:
    """Report an error of ours, of the command line, of the system, or a defect, and leave with its exit code."""
    if isinstance(error, BrokenPipeError):
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (kept open: the interpreter flushes it at exit)
        sys.exit(0)
    if os.environ.get("BINALLOC_DEBUG") and not isinstance(error, BinallocError | click.ClickException):
        raise error
    message, code = _describe(error)
    if as_json:
        details: dict[str, object] = {"message": message, "exit_code": code}
        if isinstance(error, BinallocError):
            names = ("message", "file", "place", "found", "expected", "remedy")
            details |= {name: None if getattr(error, name) is None else str(getattr(error, name)) for name in names}
        print_json({"schema_version": SCHEMA_VERSION, "error": details})
    fail(message, code)


def _describe(error: Exception) -> tuple[str, int]:
    if isinstance(error, BinallocError):
        return str(error), error.exit_code
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return f"a command is needed\n{error.format_message()}", 2
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else "binalloc"
        return f"{error.format_message()} See {command} --help.", 2
    if isinstance(error, click.ClickException):
        return error.format_message(), 2
    if isinstance(error, click.exceptions.Abort):
        return "interrupted; nothing was written", EXIT_INTERRUPTED
    if isinstance(error, RecursionError):
        return "the input nests too deeply", 3
    if isinstance(error, MemoryError):
        return "out of memory", 4
    if isinstance(error, OSError):
        return f"{error.filename or 'output'}: {error.strerror or error}", 2
    text = " ".join(str(error).split())[:300]
    text = f"internal error: {type(error).__name__}: {text}. Please report it; BINALLOC_DEBUG=1 shows where"
    return text, EXIT_DEFECT


def fail(message: str, code: int) -> NoReturn:
    click.echo(f"binalloc: error: {message}", err=True)
    sys.exit(code)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="binalloc")
def main() -> None:
    """Registers, shared-memory slots, local memory and occupancy for compiled SIMT binaries.

    Exit codes: 0 done; 1 the answer is no (verification failed, infeasible, refused); 2 usage; 3 malformed input;
    4 a limit was hit; 5 the emulated kernel faulted; 70 a defect of binalloc; 130 interrupted.

    FILE may be - for standard input. With --json an error is one object with the key "error" on stdout. Completion in
    the shell: eval "$(_BINALLOC_COMPLETE=bash_source binalloc)", or zsh_source, or fish_source.
    """


# ---------------------------------------------------------------------------------------------------------------------
# Shared options, input and output.


def _cycle_limit(ctx: click.Context, param: click.Parameter, value: str) -> int | None:
    """The value of --max-cycles: a number, at least 1, or `none`, which becomes None."""
    return None if value == "none" else click.IntRange(min=1)(value, param, ctx)


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
    from binalloc.isa.container import FILE_LIMIT

    try:
        if file == "-":
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
    from binalloc.isa.container import read_module

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
    from binalloc.isa.assembler import assemble

    data = read_file(file)
    _not_ptx(data, file)
    try:
        text = data.decode()
    except UnicodeDecodeError as e:
        raise MalformedInput("not UTF-8 text", file=shown(file), place=f"byte {e.start}") from e
    return assemble(text, path=shown(file))


def write_output(output: str, data: bytes) -> None:
    """To stdout, or to a file by way of a temporary name: it appears whole or not at all."""
    from binalloc.isa.container import write_atomically

    if output == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        write_atomically(output, data)


def check_output(output: str | None, as_json: bool) -> None:
    """What can be known before the work is done: stdout holds one thing, and the file's folder is there."""
    if output == "-" and as_json:
        raise UsageError("--json and -o - both want standard output", remedy="Give -o FILE.")
    folder = os.path.dirname(output or "") or "."
    if output not in (None, "-") and not os.path.isdir(folder):
        raise UsageError("the output's folder does not exist", file=output, found=folder)


def not_over(output: str | None, *inputs: str) -> None:
    """UsageError where the output would overwrite an input."""
    for file in inputs:
        both = output not in (None, "-") and file != "-" and os.path.exists(file) and os.path.exists(output or "")
        if both and os.path.samefile(output or "", file):
            raise UsageError("the output would overwrite its own input", file=output, remedy="Give another -o FILE.")


def print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, allow_nan=False))


def machine_model(name: str) -> Machine:
    from binalloc.models.machine import load_machine

    return load_machine(name)


def machine_of(module: Module, kernel: str | None, given: str | None, *, runs: bool) -> Machine:
    """The machine asked for, else the one the binary's kernel was scheduled for where it is a known model.

    runs: the binary will run, so another machine than its own will not do. UsageError where its own is not known, and
    where `kernel` means no kernel.
    """
    from binalloc.models.machine import list_machines
    from binalloc.pipeline_steps import find_kernel

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
    terminal = sys.stderr.isatty()

    def show(text: str) -> None:
        if terminal:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

    try:
        yield (lambda _: None) if quiet else show
    finally:
        if terminal and not quiet:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
