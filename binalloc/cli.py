"""The `binalloc` command line. Heavy imports happen inside the command that needs them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from binalloc import __version__
from binalloc.errors import BinallocError, MalformedInput, UsageError

if TYPE_CHECKING:
    from binalloc.emulator.launch import Launch
    from binalloc.isa.instruction import Module
    from binalloc.models.machine import Machine

SCHEMA_VERSION = 1
DEFAULT_MACHINE = "gtx680"
EXIT_DEFECT = 70
EXIT_INTERRUPTED = 130
F = TypeVar("F", bound=Callable[..., Any])


class _Group(click.Group):
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
        _print_json({"schema_version": SCHEMA_VERSION, "error": details})
    _fail(message, code)


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


def _fail(message: str, code: int) -> NoReturn:
    click.echo(f"binalloc: error: {message}", err=True)
    sys.exit(code)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
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

_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout, nothing else.")
_kernel = click.option("--kernel", metavar="NAME", help="The kernel, where the binary has several.")
_machine = click.option(
    "--machine", default=DEFAULT_MACHINE, show_default=True, metavar="NAME|FILE", help="Machine model."
)
_own_machine = click.option(
    "--machine", metavar="NAME|FILE", help=f"Machine model.  [default: the binary's own, else {DEFAULT_MACHINE}]"
)
_launch = click.option("--launch", type=click.Path(dir_okay=False), help="Launch file (TOML).")
_size = click.option("--size", metavar="NAME", help="Use [sizes.NAME] of the launch file.")
_output = click.option("-o", "--output", type=click.Path(allow_dash=True), help="Output file, - for stdout.")
_engine = click.option("--engine", type=click.Choice(["numba", "python"]), default="numba", show_default=True)
_max_cycles = click.option("--max-cycles", type=click.IntRange(min=1), help="Stop the emulation there.")
_file = click.argument("file", type=click.Path(allow_dash=True))


def _options(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    def apply(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


def _read(file: str) -> bytes:
    from binalloc.isa.container import FILE_LIMIT

    try:
        if file == "-":
            return sys.stdin.buffer.read(FILE_LIMIT + 1)
        with open(file, "rb") as f:
            return f.read(FILE_LIMIT + 1)
    except OSError as e:
        raise UsageError("cannot read the file", file=file, found=e.strerror) from e


def _load(file: str) -> tuple[Module, bytes]:
    from binalloc.isa.container import read_module

    data = _read(file)
    return read_module(data, path=_shown(file)), data


def _load_two(original: str, rewritten: str) -> tuple[Module, Module]:
    if original == rewritten == "-":
        raise UsageError("standard input holds one binary", remedy="Name a file for one of the two.")
    return _load(original)[0], _load(rewritten)[0]


def _shown(file: str) -> str:
    return "<stdin>" if file == "-" else file


def _assemble(file: str) -> Module:
    from binalloc.isa.assembler import assemble

    try:
        text = _read(file).decode()
    except UnicodeDecodeError as e:
        raise MalformedInput("not UTF-8 text", file=_shown(file), place=f"byte {e.start}") from e
    return assemble(text, path=_shown(file))


def _write(output: str, data: bytes) -> None:
    """To stdout, or to a file by way of a temporary name: it appears whole or not at all."""
    from binalloc.isa.container import write_atomically

    if output == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        write_atomically(output, data)


def _check_output(output: str | None, as_json: bool) -> None:
    """What can be known before the work is done: stdout holds one thing, and the file's folder is there."""
    if output == "-" and as_json:
        raise UsageError("--json and -o - both want standard output", remedy="Give -o FILE.")
    folder = os.path.dirname(output or "") or "."
    if output not in (None, "-") and not os.path.isdir(folder):
        raise UsageError("the output's folder does not exist", file=output, found=folder)


def _print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, allow_nan=False))


def _load_machine(name: str) -> Machine:
    from binalloc.models.machine import load_machine

    return load_machine(name)


def _machine_of(module: Module, kernel: str | None, given: str | None, *, runs: bool) -> Machine:
    """The machine asked for, else the one the binary's kernel was scheduled for where it is a known model.

    runs: the binary will run, so another machine than its own will not do. UsageError where its own is not known.
    """
    from binalloc.models.machine import list_machines

    recorded = [fn.info.machine for fn in module.kernels() if kernel in (None, fn.name)]
    known = [name for name in recorded if name in list_machines()]
    if runs and not known and not given and any(recorded):
        raise UsageError(
            "the binary is scheduled for a machine that is no known model",
            file=module.path or None, found=next(filter(None, recorded)), expected=", ".join(list_machines()),
            remedy="Give its machine file, --machine FILE.",
        )  # fmt: skip
    return _load_machine(given or (known[0] if known else DEFAULT_MACHINE))


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Progress lines on stderr, rewritten in place on a terminal."""
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


# ---------------------------------------------------------------------------------------------------------------------
# Commands on binaries.


@main.command()
@_options(_file, _output, _json)
@click.option("--schedule", "machine", metavar="NAME|FILE", help="Set control codes for that machine, too.")
def asm(file: str, output: str | None, machine: str | None, as_json: bool) -> None:
    """Assemble FILE (.lasm) into a Loom binary; without -o into FILE with the suffix .loom."""
    from binalloc.isa.container import write_module

    _check_output(output, as_json)
    module = _assemble(file)
    if machine is not None:
        from binalloc.transform.schedule import schedule

        module = schedule(module, _load_machine(machine))
    data = write_module(module)
    output = output or _default_output(file, ".loom", as_json)
    _write(output, data)
    if as_json:
        functions = [{"name": f.name, "kind": f.info.kind, "instructions": len(f)} for f in module]
        _print_json({"schema_version": SCHEMA_VERSION, "output": output, "bytes": len(data), "functions": functions})


def _default_output(file: str, suffix: str, as_json: bool) -> str:
    if file == "-":
        if as_json:
            raise UsageError("with --json and standard input an output file must be named", remedy="Give -o FILE.")
        return "-"
    return os.path.splitext(file)[0] + suffix


@main.command()
@_options(_file, _output, _json)
def disasm(file: str, output: str | None, as_json: bool) -> None:
    """Disassemble a binary; `binalloc asm` of the text gives the same bytes. The text goes to stdout without -o."""
    from binalloc.isa.disassembler import disassemble

    _check_output(output, as_json)
    module, _ = _load(file)
    text = disassemble(module)
    if output is not None or not as_json:
        _write(output or "-", text.encode())
    if as_json:
        functions = [{"name": f.name, "kind": f.info.kind, "instructions": len(f)} for f in module]
        _print_json({"schema_version": SCHEMA_VERSION, "output": output, "functions": functions, "text": text})


@main.command()
@_options(_file, _kernel, _own_machine, _json)
@click.option("--sections", is_flag=True, help="Sections and resources (the default view).")
@click.option("--cfg", is_flag=True, help="Basic blocks, edges, loops, call graph.")
@click.option("--webs", is_flag=True, help="Life-range table.")
@click.option("--pressure", is_flag=True, help="Register pressure per instruction, Max-live over calls.")
@click.option("--stack", is_flag=True, help="Stack layouts across calls: traditional, register stack, moving stack.")
@click.option("--minimum", is_flag=True, help="Fewest registers any allocation can do with.")
def inspect(file: str, kernel: str | None, machine: str | None, as_json: bool, **views: bool) -> None:
    """Show what is in a binary: sections, resources, control flow, live ranges, pressure, stack layouts."""
    from binalloc.report.inspect import inspect_module, render_inspection

    chosen = [name for name, on in views.items() if on] or ["sections"]
    module, data = _load(file)
    found = inspect_module(module, data, kernel, chosen, _machine_of(module, kernel, machine, runs=False))
    if as_json:
        _print_json({"schema_version": SCHEMA_VERSION, **found})
    else:
        click.echo(render_inspection(found), nl=False)


@main.command()
@_options(_file, _machine, _output, _json)
def schedule(file: str, machine: str, output: str | None, as_json: bool) -> None:
    """Set the control codes of every instruction for a machine.

    -o is needed, except where standard output is a pipe: the binary goes there.
    """
    from binalloc.isa.container import write_module
    from binalloc.transform.schedule import average_dispatch_interval
    from binalloc.transform.schedule import schedule as run_pass

    _check_output(output, as_json)
    output = output or _required_output(as_json)
    module, _ = _load(file)
    module = run_pass(module, _load_machine(machine))
    _write(output, write_module(module))
    if as_json:
        interval = {f.name: round(float(average_dispatch_interval(f)), 4) for f in module}
        _print_json({"schema_version": SCHEMA_VERSION, "output": output, "average_dispatch_interval": interval})


def _required_output(as_json: bool) -> str:
    if as_json or sys.stdout.isatty():
        raise UsageError("a binary is written: name the output", remedy="Give -o FILE (or -o - without --json).")
    return "-"


@main.command()
@_options(_file, _kernel, _own_machine, _launch, _size, _engine, _max_cycles, _json)
@click.option("--sms", type=click.IntRange(min=1), default=1, show_default=True, help="SMs to emulate.")
@click.option("--check", is_flag=True, help="Propagate poison from uninitialised registers and shared words.")
@click.option("--race", is_flag=True, help="Find shared-memory races between barriers.")
@click.option("--reference", is_flag=True, help="Compare the buffers with the launch file's reference.")
@click.option("--save", type=click.Path(file_okay=False), help="Folder for the final buffers as .npy files.")
def run(
    file: str,
    kernel: str | None,
    machine: str | None,
    launch: str | None,
    size: str | None,
    engine: str,
    max_cycles: int | None,
    as_json: bool,
    sms: int,
    check: bool,
    race: bool,
    reference: bool,
    save: str | None,
) -> None:
    """Run a kernel on the SM emulator. Writes no file but the buffers of --save."""
    from binalloc.report.run import render_run, run_to_dict

    loaded = _required_launch(launch, size)
    module, _ = _load(file)
    found = run_to_dict(
        module,
        kernel,
        loaded,
        _machine_of(module, kernel or loaded.kernel, machine, runs=True),
        {"engine": engine, "max_cycles": max_cycles, "sms": sms, "check": check, "race": race},
        reference=reference,
        save=save,
    )
    if as_json:
        _print_json({"schema_version": SCHEMA_VERSION, **found})
    else:
        click.echo(render_run(found), nl=False)
    if found.get("reference") == "differs":
        sys.exit(1)


def _optional_launch(launch: str | None, size: str | None) -> Launch | None:
    if launch is not None:
        from binalloc.emulator.launch import load_launch

        return load_launch(launch, size)
    if size is not None:
        raise UsageError("--size chooses among a launch file's sizes", remedy="Give --launch FILE, too.")
    return None


def _required_launch(launch: str | None, size: str | None) -> Launch:
    if launch is None:
        raise UsageError("a launch file is needed", expected="--launch FILE")
    loaded = _optional_launch(launch, size)
    assert loaded is not None
    return loaded


# ---------------------------------------------------------------------------------------------------------------------
# Rewriting.


@main.command()
@_options(_file, _kernel, _machine, _launch, _size, _engine, _max_cycles, _output, _json)
@click.option("--registers", type=click.IntRange(min=1), metavar="R", help="Registers per thread.")
@click.option("--slots", type=click.IntRange(min=0), metavar="S", help="Shared-memory slots per thread.")
@click.option("--blocks", type=click.IntRange(min=1), metavar="N", help="Blocks per SM; R and S follow from occupancy.")
@click.option("--auto", "automatic", is_flag=True, help="Choose the number of blocks (the default without R, S, N).")
@click.option("--policy", type=click.Choice(["exhaustive", "unified"]), help="How to choose.  [default: exhaustive]")
@click.option("--allocator", default="best", show_default=True, metavar="NAME", help="local, unified, best or cpsat.")
@click.option("--emulate/--no-emulate", default=None, help="Run both versions (default: where a launch is given).")
def rewrite(
    file: str,
    kernel: str | None,
    machine: str,
    launch: str | None,
    size: str | None,
    engine: str,
    max_cycles: int | None,
    output: str | None,
    as_json: bool,
    registers: int | None,
    slots: int | None,
    blocks: int | None,
    automatic: bool,
    policy: str | None,
    allocator: str,
    emulate: bool | None,
) -> None:
    """Rewrite a kernel for a register budget, a number of blocks, or the best of them; prove and measure it.

    The binary is written to -o FILE; without it the report is all there is.
    """
    from binalloc.isa.container import write_module
    from binalloc.models.registry import allocator as known_allocator
    from binalloc.pipeline import Request, add_provenance, find_kernel, rewrite_kernel
    from binalloc.report.rewrite import render_outcome

    known_allocator(allocator)
    _check_output(output, as_json)
    if (automatic or policy) and not (registers is slots is blocks is None):
        raise UsageError(
            f"--{'auto' if automatic else 'policy'} chooses registers, slots and blocks itself",
            remedy="Leave out --registers, --slots and --blocks.",
        )
    if emulate and launch is None:
        raise UsageError("--emulate needs something to run", expected="--launch FILE")
    loaded = _optional_launch(launch, size)
    module, data = _load(file)
    name = find_kernel(module, kernel or (loaded.kernel if loaded else None)).name
    if loaded is not None:
        from binalloc.emulator.launch import check_against

        check_against(loaded, module.function(name).info, module.path)
    with _progress(as_json) as show:
        request = Request(
            kernel=name,
            machine=_load_machine(machine),
            launch=loaded,
            registers=registers,
            slots=slots,
            blocks=blocks,
            policy=policy or "exhaustive",
            allocator=allocator,
            emulate=loaded is not None if emulate is None else emulate,
            engine=engine,
            cycles_limit=max_cycles,
            progress=show,
        )
        outcome = rewrite_kernel(module, request)
    if output is not None and outcome.verified:
        _write(output, write_module(add_provenance(outcome, data)))
    if as_json:
        _print_json(outcome.to_dict())
    elif output != "-":
        click.echo(render_outcome(outcome), nl=False)
        if output is None and outcome.verified:
            click.echo("No file was written (-o FILE).")
    if not outcome.verified:
        _fail(f"{name}: the rewritten binary does not give the same results; nothing was written", 1)


@main.command()
@click.argument("original", type=click.Path(allow_dash=True))
@click.argument("rewritten", type=click.Path(allow_dash=True))
@_options(_kernel, _own_machine, _launch, _size, _engine, _max_cycles, _json)
def verify(
    original: str,
    rewritten: str,
    kernel: str | None,
    machine: str | None,
    launch: str | None,
    size: str | None,
    engine: str,
    max_cycles: int | None,
    as_json: bool,
) -> None:
    """Prove REWRITTEN equal to ORIGINAL with the symbolic checker and, with --launch, compare emulated runs.

    The runs are on REWRITTEN's machine; ORIGINAL is scheduled for it first where it is not.
    """
    from binalloc.report.verify import render_verification, verify_to_dict

    loaded = _optional_launch(launch, size)
    old, new = _load_two(original, rewritten)
    ran_on = _machine_of(new, kernel or (loaded.kernel if loaded else None), machine, runs=loaded is not None)
    found = verify_to_dict(old, new, kernel, loaded, ran_on, engine, max_cycles)
    if as_json:
        _print_json({"schema_version": SCHEMA_VERSION, **found})
    else:
        click.echo(render_verification(found), nl=False)
    if not found["verified"]:
        sys.exit(1)


@main.command()
@click.argument("original", type=click.Path(allow_dash=True))
@click.argument("rewritten", type=click.Path(allow_dash=True))
@_options(_kernel, _json)
def diff(original: str, rewritten: str, kernel: str | None, as_json: bool) -> None:
    """Old and new code side by side, by the instruction map."""
    from binalloc.report.diff import diff_modules, render_diff

    old, new = _load_two(original, rewritten)
    rows = diff_modules(old, new, kernel)
    if as_json:
        _print_json({"schema_version": SCHEMA_VERSION, "functions": rows})
    else:
        click.echo(render_diff(rows), nl=False)


@main.command()
@click.argument("names", nargs=-1)
@_json
@click.option("--occupancy", "ask", is_flag=True, help="Answer an occupancy question instead of listing machines.")
@click.option("--cc", help="Compute capability, e.g. 3.0 (or --machine).")
@click.option("--machine", "machine", metavar="NAME|FILE", help="Machine whose limits and rule to use.")
@click.option("--registers", type=int, default=32, show_default=True, help="Registers per thread.")
@click.option("--shared", type=int, default=0, show_default=True, help="Shared bytes per block.")
@click.option("--threads", type=int, default=256, show_default=True, help="Threads per block.")
@click.option("--cache-config", type=click.Choice(["none", "shared", "l1", "equal"]), default="none", show_default=True)
@click.option("--carveout", type=int, help="Shared-memory carve-out in per cent (cc 7.0 and up).")
def machines(
    names: tuple[str, ...],
    as_json: bool,
    ask: bool,
    cc: str | None,
    machine: str | None,
    registers: int,
    shared: int,
    threads: int,
    cache_config: str,
    carveout: int | None,
) -> None:
    """List machine models, show NAMES with units and sources, or answer an occupancy question for one."""
    from binalloc.report.machines import machines_to_dict, occupancy_answer, render_machines, render_occupancy

    if ask:
        if len(names) > 1 or (names and machine):
            raise UsageError(
                "an occupancy question is about one machine", found=", ".join(filter(None, [*names, machine]))
            )
        machine = names[0] if names else machine
        question = {"registers": registers, "shared_bytes": shared, "threads": threads}
        found = occupancy_answer(cc, machine, question, cache_config, carveout)
        text = render_occupancy(found)
    else:
        _only_with_occupancy()
        found = machines_to_dict(list(names) + ([machine] if machine else []))
        text = render_machines(found)
    if as_json:
        _print_json({"schema_version": SCHEMA_VERSION, **found})
    else:
        click.echo(text, nl=False)


def _only_with_occupancy() -> None:
    """Refuse the options of an occupancy question where none is asked."""
    given = click.get_current_context().get_parameter_source
    for name in ("cc", "registers", "shared", "threads", "cache_config", "carveout"):
        if given(name) is click.core.ParameterSource.COMMANDLINE:
            option = "--" + name.replace("_", "-")
            raise UsageError(f"{option} is part of an occupancy question", remedy="Give --occupancy, too.")


@main.command()
@_options(_machine, _engine, _json)
@click.option("--size", metavar="NAME", help="Use [sizes.NAME] of every launch file (test: a few blocks).")
@click.option("--samples", type=click.Path(file_okay=False), default="samples", show_default=True)
@click.argument("names", nargs=-1)
def demo(machine: str, engine: str, as_json: bool, size: str | None, samples: str, names: tuple[str, ...]) -> None:
    """Rewrite the samples and print what each gains; the main job of `make demo`."""
    from binalloc.report.demo import render_demo, run_demo

    with _progress(False) as show:
        rows = run_demo(samples, list(names), _load_machine(machine), engine, size, show)
    if as_json:
        _print_json({"schema_version": SCHEMA_VERSION, "machine": machine, "rows": rows})
    else:
        click.echo(render_demo(rows, machine), nl=False)
    if not all(row["verified"] for row in rows):
        sys.exit(1)
