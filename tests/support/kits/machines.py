"""Machines that tests run programs on."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from random import Random

from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from binalloc.models.machines.sections import ConstantLines, InstructionCache, RegisterFile
from tests.support.paths import MACHINES


def roomy_machine(name: str = "gtx680") -> Machine:
    """The machine with 255 registers per thread allowed."""
    m = load_machine(name)
    return replace(m, sm=replace(m.sm, registers_per_thread=255))


def machines() -> list[Machine]:
    """Machines that issue one or two at a time, with other latencies."""
    dual = load_machine("gtx680")
    single = replace(dual, schedulers=replace(dual.schedulers, issue_width=1))
    units = replace(
        dual.units,
        fma=replace(dual.units.fma, latency=3),
        imad=replace(dual.units.imad, latency=15),
        alu=replace(dual.units.alu, latency=5),
        dp=replace(dual.units.dp, latency=16),
    )
    return [dual, single, replace(single, units=units)]


def with_register_banks(m: Machine, rng: Random) -> Machine:
    """The machine with some banks of the register file, most often as many as there really are."""
    return replace(m, register_file=RegisterFile(rng.choice((2, 2, 4, 3, 8)), 1, 3, rng.random() < 0.5))


def instruction_cache(line_bytes: int, sets: int, ways: int, mshrs: int = 2, prefetch: int = 0) -> InstructionCache:
    """One that is on."""
    return InstructionCache(True, line_bytes * sets * ways, line_bytes, sets, ways, mshrs, prefetch)


def constant_lines(line_bytes: int, sets: int, ways: int, mshrs: int = 2) -> ConstantLines:
    """Those of a constant cache that is on."""
    return ConstantLines(True, line_bytes * sets * ways, line_bytes, sets, ways, mshrs)


def with_small_caches(m: Machine, rng: Random) -> Machine:
    """The machine with an instruction cache, a constant cache or both, of one line or some."""

    def shape() -> tuple[int, int, int, int]:
        return rng.choice((32, 64, 128)), rng.choice((1, 1, 2, 3, 13)), rng.choice((1, 2, 4)), rng.choice((1, 2, 8))

    code = instruction_cache(*shape(), rng.choice((0, 0, 1, 2, 8, 64)))
    constants = constant_lines(*shape())
    which = rng.randrange(4)
    return replace(
        m, instruction_cache=None if which == 0 else code, constant_cache=None if which == 1 else constants
    )


def one_sm(folder: Path, name: str = "gtx680") -> str:
    """The path of a machine file in `folder`: that machine, with one SM, so that few blocks fill it."""
    text = (MACHINES / f"{name}.toml").read_text()
    text = re.sub(r"^sms = \{ value = \d+", "sms = { value = 1", text, count=1, flags=re.MULTILINE)
    made = folder / f"one_{name}.toml"
    made.write_text(text.replace(f'name = "{name}"', f'name = "one_{name}"', 1))
    return str(made)
