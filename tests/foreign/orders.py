"""What other orders of blocks give: two-dimensional kernels of the samples and of public suites, whole a100 and h100.

    python -m tests.foreign.orders --out FILE [--suites DIR] [-I LIBRARY] [--machine NAME]... [--only WORD]...
    python -m tests.foreign.orders --estimate [...]
    python -m tests.foreign.orders --out FILE --table

The kernels and their sizes are in `orders.toml`; DIR has a folder per suite, and nvcc compiles its sources. Each kernel
goes through what `rewrite --block-order auto` does, with the registers that it has. FILE gets a line of JSON for each
kernel and machine as it is done, kernels with few warp instructions first, and a second call goes on where the first
one stopped. `--estimate` says how large kernels are, by a run of their first blocks. The table of
docs/measured/block_order.md is printed.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from binalloc.cli.load import load_or_import
from binalloc.emulator.runs.options import RunOptions
from binalloc.errors import BinallocError
from binalloc.isa.instruction import Module
from binalloc.launch.schema import parse_launch
from binalloc.launch.types import Launch
from binalloc.models.batches.order import BlockOrder
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.block_order.choice import OrderChoice, Orderer
from binalloc.pipeline.original import baseline
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.measure import measure
from binalloc.pipeline.steps.version import Version
from binalloc.transform.block_order.renumber import renumber_blocks
from binalloc.verify.block_order.check import check_order
from tests.foreign.imports import compiled
from tests.support.paths import ROOT

MACHINES = ["a100", "h100"]
MOST = 60_000_000  # warp instructions of a kernel
FIRST = 2  # so many times the blocks that the SMs hold are run for an estimate
RANDOM: dict[str, dict[str, Any]] = {
    "f": {"kind": "random", "distribution": "uniform", "low": 0.5, "high": 1.5, "seed": 1},
    "i": {"kind": "random", "distribution": "integers", "low": 0, "high": 256, "seed": 1},
}
"""Contents of buffers, by the first letter of their type."""

Three = tuple[int, int, int]


@dataclass
class Row:
    """A row is a kernel on a machine."""

    kernel: str
    source: str
    machine: str
    grid: Three
    block: Three
    data_bytes: int
    warp_instructions: int = 0
    resident: int = 0  #: blocks of all SMs at one time
    share: float | None = None  #: of the memory that is touched, what several blocks touch
    now: float | None = None  #: estimated fetches of L2, over the memory that is touched
    best: float | None = None
    suggested: list[str] = field(default_factory=list)
    taken: str = ""  #: the order; "" where it stays as it is
    cycles: tuple[int, int] = (0, 0)  #: before and after
    dram_bytes: tuple[int, int] = (0, 0)
    activations: tuple[int, int] = (0, 0)
    tried: dict[str, tuple[int, int]] = field(default_factory=dict)  #: cycles and bytes of DRAM of runs of all blocks
    in_place: int | None = None
    proven: dict[str, bool] = field(default_factory=dict)  #: by order; of a kernel that stays, one that would move it
    same: bool | None = None  #: results, where another order is taken
    reason: str = ""
    seconds: float = 0.0  #: of CPU time
    error: str = ""


def launch_of(one: dict[str, Any]) -> Launch:
    """The launch of an entry of `orders.toml`."""
    if "sample" in one:
        file = ROOT / "samples" / one["sample"]
        data = tomllib.loads(file.with_suffix(".toml").read_text())
        for argument in data["argument"]:
            argument |= one.get("argument", {}).get(argument["name"], {})
        data |= {key: one[key] for key in ("grid", "block") if key in one}
        for left_out in ("reference", "sizes"):
            data.pop(left_out, None)
        return parse_launch(data)
    arguments: list[dict[str, Any]] = []
    for k, (dtype, value, *margin) in enumerate(one["arguments"]):
        if not isinstance(value, list):
            arguments.append({"name": f"p{k}", "kind": "scalar", "dtype": dtype, "value": value})
            continue
        shape = [math.prod(value) + sum(margin)] if margin else value
        buffer = {"name": f"p{k}", "kind": "buffer", "dtype": dtype, "shape": shape, "init": RANDOM[dtype[0]]}
        if not margin:
            arguments.append(buffer)
            continue
        buffer |= {"name": f"whole{k}", "parameter": False}  # elements in front, which the kernel reads and discards
        at = margin[0] * int(dtype[1:]) // 8
        arguments += [buffer, {"name": f"p{k}", "kind": "pointer", "argument": f"whole{k}", "at": at}]
    keys = {key: one[key] for key in ("grid", "block", "dynamic_shared") if key in one}
    given: dict[str, Any] = {"kernel": one["name"], "argument": arguments} | keys
    return parse_launch(given)


def loaded(one: dict[str, Any], launch: Launch, machine: str, given: argparse.Namespace, folder: Path) -> Module | None:
    """The kernel's binary for a machine; None where its source does not compile."""
    if "sample" in one:
        file = ROOT / "samples" / one["sample"]
    else:
        source = given.suites / one["suite"] / one["file"]
        file = folder / f"{one['id'] if 'define' in one else one['file'].replace('/', '_')}.ptx"
        options = [word.replace("SUITE", str(given.suites / one["suite"])) for word in one.get("options", [])]
        if "define" in one:  # cuda.h uses some of these names
            header = file.with_suffix(".h")
            macros = "".join(f"#define {name} {value}\n" for name, value in one["define"].items())
            header.write_text(f"#include <cuda.h>\n{macros}")
            options += ["-include", str(header)]
        if not file.exists():
            found = compiled(source, given.suites / one["suite"], given.libraries, file, *options)
            if not found["compiled"]:
                print(f"{one['file']}: NOT compiled: {found['complaint']}", file=sys.stderr)
                return None
    return load_or_import(str(file), machine, launch.kernel)[0]


def provable(orderer: Orderer, module: Module, kernel: str, grid: Three, sms: int) -> dict[str, bool]:
    """Whether an order is proven that would move the blocks."""
    order = next(o for o in (BlockOrder("tile", 1, 2), BlockOrder("mod", 2)) if o.moves(grid, sms))
    made = renumber_blocks(orderer.program, order, grid, sms)
    return {str(order): check_order(module, made.module, kernel, str(order), grid, sms).ok}


def measured(one: dict[str, Any], launch: Launch, module: Module, machine: str) -> Row:
    """The row of a kernel on a machine."""
    model = load_machine(machine)
    options = RunOptions(machine=model, sms=model.chip.sms)
    request = Request(launch.kernel, launch=launch, options=options, block_order="auto")
    request = replace(request, kernel=module.function(launch.kernel).name)
    source = one.get("sample") or f"{one['suite']}/{one['file']}"
    data = sum(math.prod(a.shape) * a.numpy_dtype.itemsize for a in launch.arguments if a.kind == "buffer")
    row = Row(one["id"], source, machine, launch.grid, launch.block, data)
    before = _seconds()
    try:
        orderer = Orderer(module, request, True)
        original = measure(baseline(module, request), request)
        choice = orderer.choose(request, original, original)
        fill(row, choice, orderer)
        if not row.proven:
            row.proven = provable(orderer, module, request.kernel, launch.grid, model.chip.sms)
    except BinallocError as error:
        row.error = str(error)
    row.seconds = round(_seconds() - before, 1)
    return row


def fill(row: Row, choice: OrderChoice, orderer: Orderer) -> None:
    """Put what was found into a row."""

    def figures(version: Version) -> tuple[int, int, int]:
        stats = version.stats
        return version.cycles or 0, stats["dram_bytes"], stats["dram_activations"]

    before = figures(choice.without)
    after = before if choice.best is None or choice.best.version is None else figures(choice.best.version)
    row.cycles, row.dram_bytes, row.activations = zip(before, after, strict=True)
    row.warp_instructions = choice.without.stats["warp_instructions"]
    row.resident = choice.without.blocks_per_sm * choice.sms
    if (found := choice.suggestion) is not None:
        row.share, row.now, row.best = (round(figure, 4) for figure in (found.share, found.now, found.best))
    row.suggested = [str(order) for order in orderer.orders]
    row.taken, row.same = ("", None) if choice.best is None else (str(choice.best.order), choice.best.same)
    row.tried = {str(t.order): (t.cycles, t.dram_bytes) for t in choice.tried if t.cycles is not None}
    row.proven = {str(t.order): t.version is not None for t in choice.tried}  # each was proven before it was run
    row.in_place, row.reason = choice.in_place, choice.reason


def _seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def estimate(one: dict[str, Any], launch: Launch, module: Module, machine: str) -> tuple[int, float]:
    """The warp instructions of a kernel, and the CPU seconds of a run, from a run of its first blocks."""
    model = load_machine(machine)
    request = Request(launch.kernel, launch=launch, options=RunOptions(machine=model, sms=model.chip.sms))
    version = baseline(module, request)
    blocks = math.prod(launch.grid)
    part = min(blocks, FIRST * version.blocks_per_sm * model.chip.sms)
    before = _seconds()
    ran = measure(version, replace(request, kernel=version.functions[0].name), only=range(part))
    return ran.stats["warp_instructions"] * blocks // part, (_seconds() - before) * blocks / part


def kernels(given: argparse.Namespace) -> list[dict[str, Any]]:
    """The entries that were asked for, those with few warp instructions first."""
    text = (Path(__file__).parent / "orders.toml").read_text()
    found = [one for one in tomllib.loads(text)["kernel"] if "sample" in one or given.suites is not None]
    wanted = [one for one in found if not given.only or any(word in one["id"] for word in given.only)]
    return sorted(wanted, key=lambda one: one.get("millions", 0))


def rows_of(file: Path) -> list[Row]:
    """The rows of a file, the last one of each kernel and machine."""
    lines = file.read_text().splitlines() if file.exists() else []
    return list({(row["kernel"], row["machine"]): Row(**row) for row in map(json.loads, lines)}.values())


def run(given: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """The rows that the file lacks."""
    done = {(row.kernel, row.machine) for row in rows_of(given.out)}
    for one in kernels(given):
        for machine in given.machines or MACHINES:
            if (one["id"], machine) in done:
                continue
            launch = launch_of(one)
            module = loaded(one, launch, machine, given, folder)
            if module is not None:
                yield measured(one, launch, module, machine)


COLUMNS = ("kernel", "machine", "blocks", "million warp instructions", "data", "shared", "estimate", "order",
           "DRAM bytes", "cycles", "proven", "kept because")  # fmt: skip


def table(rows: list[Row]) -> str:
    """The table of the page, and the figures that sum it up."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"|---|---|{'--:|' * 5}---|--:|--:|---|---|"]
    good = sorted((row for row in rows if not row.error), key=lambda row: (row.kernel.lower(), row.machine))
    lines += [f"| {' | '.join(cells(row))} |" for row in good]
    parts = {
        "all": good, "whose blocks share memory": [row for row in good if row.share],
        "with orders that were run": [row for row in good if row.suggested],
        "in another order": [row for row in good if row.taken],
    }  # fmt: skip
    for name, some in parts.items():
        dram, cycles = mean([row.dram_bytes for row in some]), mean([row.cycles for row in some])
        slowest = max((row.cycles[1] / row.cycles[0] for row in some), default=1)
        runs = f"{len(some)} runs of {len({row.kernel for row in some})} kernels"
        lines.append(f"\n{name}: {runs}; DRAM bytes {dram:.3f}, cycles {cycles:.3f}, slowest {slowest:.4f}")
    lines += ["", f"{sum(row.seconds for row in rows) / 3600:.2f} hours of CPU time"]
    return "\n".join([*lines, "", *(f"{row.kernel} on {row.machine}: {row.error}" for row in rows if row.error)])


def cells(row: Row) -> list[str]:
    """A row of the table."""

    def change(pair: tuple[int, int]) -> str:
        before, after = pair
        return f"{before:,}" + (f", {after:,} ({after / before - 1:+.1%})" if row.taken else "")

    in_place = "" if row.in_place is None else f"; in place {row.in_place:,}"

    proven = f"{sum(row.proven.values())} of {len(row.proven)}"
    share = "-" if row.share is None else f"{row.share:.0%}"
    guess = "-" if row.now is None or row.best is None else f"{row.now:.2f}, {row.best:.2f}"
    return [
        row.kernel, row.machine, " x ".join(f"{side:,}" for side in row.grid if side > 1),
        f"{row.warp_instructions / 1e6:.1f}", f"{row.data_bytes >> 20:,} MB", share, guess,
        f"`{row.taken}`" if row.taken else "as it is", change(row.dram_bytes), change(row.cycles) + in_place, proven,
        kept(row),
    ]  # fmt: skip


def kept(row: Row) -> str:
    """Why an order stays, in few words; "" if it does not."""
    if row.taken:
        return ""
    if not row.suggested:
        return "nothing is shared" if not row.share else "L2 holds it" if row.now == 1 else "no order fetches less"
    orders = (f"`{order}` {c / row.cycles[0] - 1:+.1%} cycles, {d / row.dram_bytes[0] - 1:+.1%} bytes"
              for order, (c, d) in row.tried.items())  # fmt: skip
    return "; ".join(orders)


def mean(pairs: list[tuple[int, int]]) -> float:
    """The geometric mean of what is left."""
    return math.exp(sum(math.log(b / a) for a, b in pairs) / max(len(pairs), 1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suites", type=Path)
    parser.add_argument("-I", action="append", default=[], dest="libraries")
    parser.add_argument("--machine", action="append", dest="machines")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--estimate", action="store_true")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if given.out is None and not given.estimate:
        parser.error("--out is needed")
    with TemporaryDirectory() as folder:
        if given.estimate:
            for one in kernels(given):
                try:
                    launch = launch_of(one)
                    module = loaded(one, launch, MACHINES[0], given, Path(folder))
                    if module is not None:
                        warps, seconds = estimate(one, launch, module, MACHINES[0])
                        print(f"{one['id']}: {warps:,} warp instructions, {seconds:.0f} s", flush=True)
                except BinallocError as error:
                    print(f"{one['id']}: {error}", flush=True)
            return 0
        if not given.table:
            for row in run(given, Path(folder)):
                with given.out.open("a") as file:
                    file.write(json.dumps(asdict(row)) + "\n")
                print(f"{row.kernel} {row.machine}: {row.error or row.reason} ({row.seconds} s)", file=sys.stderr)
    print(table(rows_of(given.out)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
