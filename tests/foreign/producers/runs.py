"""Kernels of Triton and of Numba in the emulator, beside NumPy: as they are imported, and rewritten at two budgets.

    python -m tests.foreign.producers.runs DIR [--only NAME ...] [--machine NAME]

DIR is what `producers.compile` wrote. A row for each kernel goes to standard output; the exit code is 1 where one
differs from NumPy, is not rewritten, or is not there. Triton's kernels take two pointers more than they declare, which
are null here; Numba's take an array as seven words or more, of which the fifth is the pointer.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from binalloc import Request, import_ptx, launch_kernel, load_machine, rewrite_kernel
from binalloc.errors import BinallocError
from tests.foreign.check import budgets

Array = NDArray[Any]
COLUMNS = ("producer", "kernel", "values", "largest difference", "registers", "budgets", "result")
ARCHITECTURE = "sm_80"
MACHINE = "a100"


@dataclass
class Case:
    """A launch, and what it must leave. args: arrays and numbers, as the kernel declares them; expected: arrays by
    place among them. block: threads, for Triton what it says itself. rtol, atol: how far values may be away; those of
    integers are equal."""

    producer: str
    kernel: str
    grid: tuple[int, ...]
    args: list[Any]
    expected: dict[int, Array]
    block: tuple[int, ...] = (128,)
    rtol: float = 0.0
    atol: float = 0.0
    architecture: str = ARCHITECTURE
    found: dict[str, Any] = field(default_factory=dict)


def i32(value: int) -> np.int32:
    return np.int32(value)


def f32(value: float) -> np.float32:
    return np.float32(value)


def like(*shape: int, dtype: Any = np.float32) -> Array:
    return np.zeros(shape, dtype)


# -- Triton


def triton_cases(rng: np.random.Generator) -> Iterator[Case]:
    def floats(*shape: int) -> Array:
        return rng.standard_normal(shape).astype(np.float32)

    x, y = floats(1000), floats(1000)
    yield Case("triton", "vector_scale_add", (4,), [x, y, like(1000), f32(1.5), i32(1000)],
               {2: f32(1.5) * x + y}, rtol=1e-6, atol=1e-6)  # fmt: skip
    rows = floats(6, 100)
    powers = np.exp(rows.astype(np.float64) - rows.max(axis=1, keepdims=True))
    yield Case("triton", "row_softmax", (6,), [rows, like(6, 100), i32(100), i32(100)],
               {1: powers / powers.sum(axis=1, keepdims=True)}, rtol=1e-5, atol=1e-7)  # fmt: skip
    rows, weight, bias = floats(5, 100), floats(100), floats(100)
    mean, inverse = rows.mean(axis=1), 1 / np.sqrt(rows.astype(np.float64).var(axis=1) + 1e-5)
    yield Case("triton", "layer_norm", (5,),
               [rows, weight, bias, like(5, 100), like(5), like(5), i32(100), f32(1e-5)],
               {3: (rows - mean[:, None]) * inverse[:, None] * weight + bias, 4: mean, 5: inverse},
               rtol=1e-4, atol=1e-5)  # fmt: skip
    a, b = floats(40, 48), floats(48, 40)
    yield Case("triton", "product_fp32", (2, 2), [a, b, like(40, 40), i32(40), i32(40), i32(48)],
               {2: a.astype(np.float64) @ b}, rtol=1e-4, atol=1e-4)  # fmt: skip
    q, k, v = floats(2, 50, 32), floats(2, 50, 32), floats(2, 50, 32)
    score = q.astype(np.float64) @ k.swapaxes(1, 2) * 0.25
    score[:, np.triu_indices(50, 1)[0], np.triu_indices(50, 1)[1]] = -np.inf
    powers = np.exp(score - score.max(axis=2, keepdims=True))
    yield Case("triton", "attention", (2, 2), [q, k, v, like(2, 50, 32), i32(50), f32(0.25)],
               {3: powers / powers.sum(axis=2, keepdims=True) @ v}, rtol=1e-4, atol=1e-5)  # fmt: skip
    rows = floats(3, 200)
    yield Case("triton", "running_sum", (3,), [rows, like(3, 200), i32(200)],
               {1: np.cumsum(rows.astype(np.float64), axis=1)}, rtol=1e-5, atol=1e-5)  # fmt: skip
    values = rng.integers(0, 64, 1024).astype(np.int32)
    yield Case("triton", "count_values", (2,), [values, like(64, dtype=np.int32), i32(1024)],
               {1: np.bincount(values, minlength=64)})  # fmt: skip
    yield Case("triton", "row_argmax", (3,), [rows, like(3, dtype=np.int32), i32(200)], {1: rows.argmax(axis=1)})
    tile = floats(50, 70)
    yield Case("triton", "transpose", (2, 3), [tile, like(70, 50), i32(50), i32(70)], {1: tile.T})
    halves = floats(80, 96).astype(np.float16)
    yield Case("triton", "transpose_fp16", (2, 2), [halves, like(96, 80, dtype=np.float16), i32(80), i32(96)],
               {1: halves.T})  # fmt: skip
    rows = floats(4, 64)
    yield Case("triton", "sort_rows", (4,), [rows, like(4, 64)], {1: np.sort(rows, axis=1)})
    table, index = floats(20, 100), rng.integers(0, 20, 7).astype(np.int32)
    yield Case("triton", "gather_rows", (7,), [table, index, like(7, 100), i32(100)], {2: table[index]})
    logits, target = floats(4, 300).astype(np.float16), rng.integers(0, 300, 4).astype(np.int32)
    wide = logits.astype(np.float64)
    loss = np.log(np.exp(wide).sum(axis=1)) - wide[np.arange(4), target]
    yield Case("triton", "cross_entropy", (4,), [logits, target, like(4), i32(300)], {2: loss}, rtol=1e-5)
    image, taps = floats(30, 40), floats(3, 3)
    padded = np.pad(image.astype(np.float64), 1)
    wanted = sum(taps[r, c] * padded[r : r + 30, c : c + 40] for r in range(3) for c in range(3))
    yield Case("triton", "convolution", (2, 3), [image, taps, like(30, 40), i32(30), i32(40)],
               {2: np.asarray(wanted)}, rtol=1e-4, atol=1e-5)  # fmt: skip


# -- Numba


def numba_cases(rng: np.random.Generator) -> Iterator[Case]:
    x, y = rng.standard_normal((2, 500)).astype(np.float32)
    yield Case("numba", "scale_add", (4,), [f32(2.5), x, y, like(500)], {3: f32(2.5) * x + y}, rtol=1e-6, atol=1e-6)
    yield Case("numba", "block_sums", (4,), [x, like(4)],
               {1: np.pad(x, (0, 12)).reshape(4, 128).sum(axis=1)}, rtol=1e-4, atol=1e-5)  # fmt: skip
    a, b = rng.standard_normal((40, 24)).astype(np.float32), rng.standard_normal((24, 30)).astype(np.float32)
    yield Case("numba", "tiled_product", (2, 3), [a, b, like(40, 30)], {2: a.astype(np.float64) @ b}, (16, 16),
               rtol=1e-4, atol=1e-4)  # fmt: skip
    yield Case("numba", "escape_times", (2, 4), [np.float64(-2.0), np.float64(1.0), np.int64(40),
               like(32, 32, dtype=np.int32)], {3: escape_times(-2.0, 1.0, 40, 32)}, (16, 8))  # fmt: skip
    data = rng.integers(0, 256, 3000).astype(np.uint8)
    yield Case("numba", "count_bytes", (3,), [data, like(256, dtype=np.int32)], {1: np.bincount(data, minlength=256)})
    now = rng.standard_normal((40, 50)).astype(np.float32)
    after = now.copy()
    around = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:]
    after[1:-1, 1:-1] += f32(0.1) * (around - 4 * now[1:-1, 1:-1])
    yield Case("numba", "heat_step", (4, 5), [now, now.copy(), f32(0.1)], {1: after}, (16, 8), rtol=1e-5, atol=1e-6)
    yield Case("numba", "normal_density", (4,), [x, like(500)],
               {1: np.exp(-0.5 * x.astype(np.float64) ** 2) / np.sqrt(2 * np.pi)}, rtol=1e-5)  # fmt: skip
    whole = rng.integers(-1000, 1000, 256).astype(np.int32)
    yield Case("numba", "warp_sums", (2,), [whole, like(8, dtype=np.int32)], {1: whole.reshape(8, 32).sum(axis=1)})
    px, py = rng.standard_normal((2, 100))
    apart = np.hypot(px[:, None] - px, py[:, None] - py) + np.where(np.eye(100, dtype=bool), np.inf, 0)
    yield Case("numba", "nearest_pairs", (1,), [px, py, like(100, dtype=np.float64)], {2: apart.min(axis=1)},
               rtol=1e-12)  # fmt: skip
    tile = rng.standard_normal((50, 70)).astype(np.float32)
    yield Case("numba", "transposed", (3, 2), [tile, like(70, 50)], {1: tile.T}, (32, 8))
    words = np.array([0, 1, 0x80000000, 0xFFFFFFFF, *rng.integers(0, 1 << 32, 96)], np.uint32)
    yield Case("numba", "bits_and_masks", (1,), [words, like(100, dtype=np.uint32)], {1: bits_and_masks(words)})
    price, strike, years = rng.uniform(10, 30, 200), rng.uniform(10, 30, 200), rng.uniform(0.2, 3, 200)
    yield Case("numba", "option_prices", (2,), [price, strike, years, like(200, dtype=np.float64), np.float64(0.02),
               np.float64(0.3)], {3: option_prices(price, strike, years, 0.02, 0.3)},
               rtol=1e-11, atol=1e-11)  # fmt: skip


def escape_times(low: float, high: float, most: int, side: int) -> Array:
    """The Mandelbrot set, as the kernel has it."""
    out = np.zeros((side, side), np.int32)
    for i in range(side):
        for j in range(side):
            c, z, n = complex(low + (high - low) * j / side, low + (high - low) * i / side), 0j, 0
            while n < most and z.real * z.real + z.imag * z.imag < 4.0:
                z, n = z * z + c, n + 1
            out[i, j] = n
    return out


def bits_and_masks(words: Array) -> Array:
    texts = [f"{int(w):032b}" for w in words]
    return np.array([t.count("1") + 100 * (32 - len(t.lstrip("0"))) + 10000 * (int(t[::-1], 2) & 7) for t in texts])


def option_prices(price: Array, strike: Array, years: Array, rate: float, volatility: float) -> Array:
    from math import erfc, exp, log, sqrt

    out = []
    for s, k, t in zip(price.tolist(), strike.tolist(), years.tolist(), strict=True):
        one = (log(s / k) + (rate + 0.5 * volatility**2) * t) / (volatility * sqrt(t))
        other = one - volatility * sqrt(t)
        out.append(s * 0.5 * erfc(-one / sqrt(2)) - k * exp(-rate * t) * 0.5 * erfc(-other / sqrt(2)))
    return np.array(out)


CASES: dict[str, Callable[[np.random.Generator], Iterator[Case]]] = {"triton": triton_cases, "numba": numba_cases}


# -- launches


def arguments(case: Case, arrays: list[Any]) -> list[Any]:
    """What the parameters of the kernel in PTX are."""
    if case.producer == "triton":
        return [*arrays, np.uint64(0), np.uint64(0)]
    out: list[Any] = []
    for value in arrays:
        if not isinstance(value, np.ndarray):
            out.append(value)
            continue
        words = [*value.shape, *value.strides]
        head = [np.uint64(0), np.uint64(0), np.int64(value.size), np.int64(value.itemsize), value]
        out += [*head, *(np.int64(w) for w in words)]
    return out


def difference(case: Case, arrays: list[Any]) -> float:
    """The largest difference from NumPy, relative or absolute below 1; inf where one is not allowed."""
    worst = 0.0
    for place, wanted in case.expected.items():
        got = arrays[place].astype(np.float64)
        wanted = np.asarray(wanted, np.float64)
        away = np.abs(got - wanted)
        if not (away <= case.atol + case.rtol * np.abs(wanted)).all():
            return float("inf")
        worst = max(worst, float((away / np.maximum(np.abs(wanted), 1)).max()))
    return worst


def run(case: Case, folder: Path, machine: str) -> dict[str, Any]:
    """The kernel as imported and at two budgets: a row of the table."""
    file = folder / case.producer / f"{case.kernel}.{case.architecture}.ptx"
    told = json.loads(file.with_suffix(".json").read_text())
    module = import_ptx(file.read_text(), str(file), machine=load_machine(machine)).module
    block = (32 * told["warps"],) if "warps" in told else case.block

    if not any(module.functions[0].info.block):
        x, y, z = (*block, 1, 1)[:3]
        module.functions[0].info.block = (x, y, z)

    def launched(binary: Any) -> float:
        arrays = [np.array(a) if isinstance(a, np.ndarray) and a.ndim else a for a in case.args]
        launch_kernel(binary, case.grid, block, arguments(case, arrays), machine=machine,
                      dynamic_shared=told.get("shared", 0), max_cycles=None)  # fmt: skip
        return difference(case, arrays)

    worst, given = launched(module), []
    demand = module.functions[0].info.registers
    for registers in budgets(demand):
        outcome, least = None, registers
        while outcome is None and least < demand:
            try:
                outcome = rewrite_kernel(module, Request(machine=machine, registers=least, emulate=False))
            except BinallocError:
                least += 1
        if outcome is None or not outcome.checked:
            return row(case, demand, worst, given, "not rewritten")
        demand_text = f"{least}" + (f" + {outcome.rewritten.slots} slots" if outcome.rewritten.slots else "")
        given.append(demand_text)
        worst = max(worst, launched(outcome.rewritten.module))
    return row(case, demand, worst, given, "equal" if worst < float("inf") else "differs")


def row(case: Case, demand: int, worst: float, given: list[str], result: str) -> dict[str, Any]:
    values = sum(np.asarray(v).size for v in case.expected.values())
    return dict(zip(COLUMNS, (case.producer, f"`{case.kernel}`", f"{values:,}", f"{worst:.0e}" if worst else "0",
                              demand, "; ".join(given), result), strict=True))  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--machine", default=MACHINE)
    given = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n|---|---|--:|--:|--:|---|---|", flush=True)
    bad = 0
    for producer, cases in CASES.items():
        for case in cases(np.random.default_rng(43)):
            if given.only and case.kernel not in given.only and producer not in given.only:
                continue
            try:
                found = run(case, given.folder, given.machine)
            except (BinallocError, OSError) as error:
                traceback.print_exc()
                found = row(case, 0, 0.0, [], str(error).splitlines()[0][:120])
            bad += found["result"] != "equal"
            print("| " + " | ".join(str(found[c]) for c in COLUMNS) + " |", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
