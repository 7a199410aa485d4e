"""Rates of the PTX front end: lines per second of parsing and of the whole import, at three sizes: is it linear? And
what memory the command takes for the largest of them, and for one of 62,000 lines with 312 values live throughout.

Run: python -m tests.benchmarks.speed.bench_import [lines...]

Three shapes: many kernels of 3,000 lines; one kernel of all lines with some hundred values live at once, replaced one
by one; and one with more values than there are registers, live from first to last line, some of which go to memory.
"""

from __future__ import annotations

import gc
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from binalloc.frontend.importer import import_ptx
from binalloc.frontend.ptx.parser import parse
from binalloc.isa.container.files import write_module
from tests.support.ptx.generator.text import large_module

SIZES = (3000, 9000, 27000)
LARGE, LIVE = 62_000, 312


def parse_rate(lines: int, rounds: int = 3) -> tuple[int, float]:
    """Lines of a generated module, and the best of the rounds in seconds."""
    text = large_module(lines)
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        begin = time.process_time()
        module = parse(text)
        best = min(best, time.process_time() - begin)
    return module.lines, best


def import_rate(text: str) -> float:
    """Seconds from text to the bytes of the binary."""
    gc.collect()
    begin = time.process_time()
    write_module(import_ptx(text, machine="gtx680").module)
    return time.process_time() - begin


def command_peak(text: str) -> tuple[float, float]:
    """Seconds of the processor and MB of memory at the most that `binalloc import-ptx` takes, in a process of its
    own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.ptx"
        file.write_text(text)
        command = [sys.executable, "-m", "binalloc", "import-ptx", str(file), "-o", str(file.with_suffix(".loom"))]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def crowded_kernel(lines: int, live: int = 100, seed: int = 3) -> str:
    """One kernel of about `lines` lines: `live` floats replaced one by one, with loads, products and branches."""
    rng = random.Random(seed)
    out = [".version 8.0", ".target sm_75", ".address_size 64", ".visible .entry crowded(.param .u64 crowded_param_0)"]
    out += ["{", f".reg .f32 %f<{lines + live}>;", f".reg .pred %p<{lines}>;", ".reg .b64 %rd<3>;"]
    out += ["ld.param.u64 %rd1, [crowded_param_0];", "cvta.to.global.u64 %rd2, %rd1;"]
    values = list(range(live))
    out += [f"ld.global.f32 %f{k}, [%rd2+{4 * k}];" for k in values]
    number = live
    while len(out) < lines - live:
        a, b, c = (rng.choice(values) for _ in range(3))
        kind = rng.random()
        if kind < 0.03:
            out += [f"setp.lt.f32 %p{number}, %f{a}, 0f00000000;", f"@%p{number} bra L{number};"]
            out += [f"st.global.f32 [%rd2+{4 * number}], %f{b};", f"L{number}:"]
        elif kind < 0.2:
            out.append(f"ld.global.f32 %f{number}, [%rd2+{4 * rng.randrange(live)}];")
        else:
            out.append(f"fma.rn.f32 %f{number}, %f{a}, %f{b}, %f{c};")
        if kind >= 0.03:
            values[rng.randrange(live)] = number
        number += 1
    out += [f"st.global.f32 [%rd2+{4 * k}], %f{v};" for k, v in enumerate(values)]
    return "\n".join([*out, "ret;", "}"]) + "\n"


def standing_kernel(lines: int, live: int = 312, seed: int = 3) -> str:
    """One kernel of about `lines` lines without branches: `live` floats loaded at its start and stored at its end."""
    rng = random.Random(seed)
    out = [".version 8.0", ".target sm_75", ".address_size 64", ".visible .entry standing(.param .u64 crowd)"]
    out += ["{", f".reg .f32 %f<{lines + live}>;", ".reg .b64 %rd<3>;"]
    out += ["ld.param.u64 %rd1, [crowd];", "cvta.to.global.u64 %rd2, %rd1;"]
    out += [f"ld.global.f32 %f{k}, [%rd2+{4 * k}];" for k in range(live)]
    number = live
    while len(out) < lines - live:
        a, b, c = (rng.randrange(live) for _ in range(3))
        out += [f"fma.rn.f32 %f{number}, %f{a}, %f{b}, %f{c};", f"mul.f32 %f{number + 1}, %f{number}, %f{b};"]
        out.append(f"st.global.f32 [%rd2+{4 * number}], %f{number + 1};")
        number += 2
    out += [f"st.global.f32 [%rd2+{4 * k}], %f{k};" for k in range(live)]
    return "\n".join([*out, "ret;", "}"]) + "\n"


def main() -> None:
    """Print one row for each size."""
    parse(large_module(300))
    import_rate(large_module(300))
    for size in [int(a) for a in sys.argv[1:]] or SIZES:
        lines, seconds = parse_rate(size)
        print(f"parse             {lines:>8,} lines  {seconds:7.3f} s  {lines / seconds:>10,.0f} lines/s")
        shapes = {"many kernels": large_module(size), "one kernel": crowded_kernel(size)}
        for shape, text in {**shapes, "all live": standing_kernel(size)}.items():
            count, seconds = text.count("\n"), import_rate(text)
            label = f"import {shape}"
            print(f"{label:17s} {count:>8,} lines  {seconds:7.3f} s  {count / seconds:>10,.0f} lines/s")
    print(f"peak memory of all these {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")
    for label, text in {"all live": standing_kernel(LARGE), "one kernel": crowded_kernel(LARGE, LIVE)}.items():
        seconds, peak = command_peak(text)
        lines = text.count("\n")
        rate = f"{lines / seconds:>10,.0f} lines/s  {peak:,.0f} MB"
        print(f"import-ptx {label} {lines:>8,} lines  {seconds:7.3f} s  {rate}")


if __name__ == "__main__":
    main()
