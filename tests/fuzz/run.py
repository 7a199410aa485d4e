"""Hostile programs in the emulator: `python -m tests.fuzz.run --count 3000 --seed 1`.

Three sorts of programs: random well-formed code, samples with flipped bits, and samples whose accesses are given
addresses from all over 64 bits. They run for a few thousand cycles in the compiled engine, on request with its checking
modes, as binaries that were read from a file. What a launch says is random, too. A fault, a refusal and the cycle limit
are all fine; a wild access is not: run it with BINALLOC_BOUNDSCHECK=1, where it is an IndexError and no chance of
memory. Every so many cases the plain Python source must say the same.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from binalloc.emulator.host.engines.engine import bounds_checked
from binalloc.emulator.runs.run import run
from binalloc.emulator.runs.warm import warm_up
from binalloc.errors import BinallocError, LimitHit
from binalloc.isa.instruction import Instr, Module, make
from binalloc.isa.loom.view import view
from binalloc.isa.sets.files import load, read_module, write_module
from binalloc.launch.types import Argument, CellField, Init, Launch, Texture
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from tests.fuzz.corruptions import SMALL, smash_code
from tests.support.paths import sample_file, sample_files
from tests.support.programs.words import random_module

CYCLES = 20_000
TWIN_CYCLES = 600  # of runs that the uncompiled engine repeats
TWIN_EVERY = 20
EDGES = (0, 1 << 31, 1 << 32, 1 << 63, 1 << 24, 1 << 25, 3 << 24, 0x08000000, 0x10000000, 0x10001000)


def hostile_word(rng: random.Random) -> int:
    """An address or size of 64 bits, mostly near an edge, mostly aligned."""
    base = rng.choice((*EDGES, rng.getrandbits(64), rng.getrandbits(32)))
    step = rng.choice((0, 0, -1, 1, -16, 16)) * rng.choice((1, 2, 4, 8, 16))
    return (base + step) % (1 << 64)


def aimed(rng: random.Random, module: Module) -> Module:
    """`module`, where a few memory accesses are preceded by constants for their address in some of the lanes."""
    functions = []
    for fn in module.functions:
        code = list(fn.instrs)
        places = [i for i, instr in enumerate(code) if i >= 2 and view(instr).memory is not None]
        for i in rng.sample(places, min(len(places), rng.randrange(4))):
            ra = code[i].f.get("ra", 255)
            if ra < 254:
                word, guard = hostile_word(rng), (rng.randrange(8), bool(rng.getrandbits(1)))
                code[i - 2 : i] = [constant(ra, word & 0xFFFFFFFF, guard), constant(ra | 1, word >> 32, guard)]
        functions.append(replace(fn, instrs=code))
    return replace(module, functions=functions)


def constant(register: int, value: int, guard: tuple[int, bool]) -> Instr:
    return make("MOV", guard=guard, rd=register, form=1, imm=value)


def sample_case(rng: random.Random, data: dict[str, bytes]) -> tuple[Module, str, Launch]:
    """A damaged sample with its own launch, or one that says something else."""
    name = rng.choice(sorted(data))
    if rng.getrandbits(1):
        module = read_module(smash_code(rng, data[name]), "fuzzed.loom")
    else:
        module = read_module(data[name], "fuzzed.loom")
    if rng.randrange(3):
        module = read_module(write_module(aimed(rng, module)), "fuzzed.loom")
    launch = SMALL[name]
    if rng.randrange(3) == 0:
        launch = replace(launch, grid=(rng.choice((1, 2, 65535)), rng.choice((1, 1, 3)), 1))
    if rng.randrange(4) == 0:
        shapes = ((1, 1, 1), (31, 1, 1), (33, 2, 1), (1024, 1, 1), (32, 16, 2))
        launch = replace(launch, block=rng.choice(shapes), dynamic_shared=rng.choice((0, 4, 1024)))
    return module, launch.kernel, launch


def random_case(rng: random.Random) -> tuple[Module, str, Launch]:
    """Random code with buffers and textures of random kinds for its parameters, and structs for those of odd sizes."""
    module = read_module(write_module(random_module(rng)), "fuzzed.loom")
    kernel = rng.choice(module.kernels())
    arguments = []
    for p in kernel.info.params:
        if p.size == 8 and rng.randrange(3):
            arguments.append(Argument(p.name, "buffer", "u32", (rng.choice((1, 64, 1024)),)))
        elif p.size in (4, 8) and rng.getrandbits(1):
            sides = (5,) * rng.randrange(1, 4)
            modes = tuple(rng.choice(("clamp", "border")) for _ in sides)
            texture = Texture(sides, address=modes, filter=rng.choice(("point", "linear")))
            arguments.append(Argument(p.name, "texture", "f32", sides, init=Init("random", seed=1), texture=texture))
        elif p.size in (1, 2, 4, 8):
            value = hostile_word(rng) % (1 << 8 * p.size)
            arguments.append(Argument(p.name, "scalar", f"u{8 * p.size}", (), value))
        else:
            fields = (CellField(0, "u8", tuple(rng.randbytes(p.size))),)
            arguments.append(Argument(p.name, "struct", "u8", size=p.size, fields=fields))
    x, y, z = kernel.info.block
    block = (x, y, z) if x else (rng.choice((1, 32, 100, 256)), 1, 1)
    return module, kernel.name, Launch(kernel.name, (rng.choice((1, 3)), 1, 1), block, 0, tuple(arguments))


def told(module: Module, kernel: str, launch: Launch, machine: Machine, options: dict[str, Any]) -> tuple[str, str]:
    """(sort of the outcome, all that it says)."""
    try:
        result = run(module, kernel, launch, machine, hazards=False, **options)
    except LimitHit as limit:
        return "cycle limit", str(limit)
    except BinallocError as error:
        return f"{type(error).__name__}: {error.message[:40]}", str(error)
    left = [(name, np.ascontiguousarray(data).tobytes()) for name, data in sorted(result.buffers.items())]
    return "ended", f"{result.cycles} {hash(tuple(left))} {result.stats}"


def fuzz(count: int, seed: int, first: int = 0, seconds: float = 1e9, modes: bool = False) -> Counter[str]:
    """`count` cases, fewer if `seconds` are over; AssertionError where the engines differ. modes: with the poison and
    race modes, for which the engine is compiled a second time."""
    machines = [load_machine(name) for name in ("gtx680", "c2075", "v100", "gtx285")]
    data = {p.stem: p.read_bytes() for p in sample_files(".loom") if p.stem in SMALL}
    assert all(load(sample_file(f"{name}.loom")).kernels() for name in data)
    seen: Counter[str] = Counter()
    end = time.monotonic() + seconds
    for case in range(first, count):
        if time.monotonic() > end:
            break
        rng = random.Random(f"{seed}:{case}")
        try:
            one_case(rng, case, machines, data, seen, modes)
        except Exception:
            print(f"case {seed}:{case} fails; --seed {seed} --first {case} runs it again", file=sys.stderr)
            raise
    return seen


def with_room(machines: list[Machine], module: Module, kernel: str, launch: Launch) -> list[Machine]:
    """Those on which a block fits; all where it does so on none. Random code asks for up to 255 registers."""
    use = KernelUse.of(module.function(kernel).info, launch.threads_per_block, launch.dynamic_shared)
    return [machine for machine in machines if machine.occupancy(use).blocks_per_sm] or machines


def one_case(
    rng: random.Random, case: int, machines: list[Machine], data: dict[str, bytes], seen: Counter[str], modes: bool
) -> None:
    """One program, once in the compiled engine, sometimes in both."""
    try:
        module, kernel, launch = random_case(rng) if rng.randrange(3) == 0 else sample_case(rng, data)
    except BinallocError:
        seen["no program"] += 1
        return
    machine = rng.choice(with_room(machines, module, kernel, launch))
    options: dict[str, Any] = {"sms": rng.choice((1, 1, 2))}
    if modes:
        options |= {"check": rng.randrange(4) == 0, "race": rng.randrange(4) == 0}
    seen["runs"] += 1
    sort, _ = told(module, kernel, launch, machine, options | {"max_cycles": CYCLES})
    seen[sort] += 1
    if case % TWIN_EVERY == 0 and launch.threads_per_block <= 256:
        options |= {"max_cycles": TWIN_CYCLES}
        both = [told(module, kernel, launch, machine, options | {"engine": name}) for name in ("numba", "python")]
        assert both[0] == both[1], both
        seen["the same in both engines"] += 1


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="start at this case, to see a failing one again")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so much time")
    parser.add_argument("--modes", action="store_true", help="with the poison and race modes, too")
    options = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    warm_up()
    seen = fuzz(options.count, options.seed, options.first, options.seconds, options.modes)
    for key, number in sorted(seen.items()):
        print(f"{key}: {number}")
    print(f"indices checked: {'yes' if bounds_checked() else 'no'}")


if __name__ == "__main__":
    main()
