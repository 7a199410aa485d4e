"""This module reads what CPU programs ask of the memory that they share with the GPU.

A program is a stream of misses of its last cache. `inflight` chains of misses take turns: each waits for its miss, then
for a time in which the program computes, then misses again. The time is such that the program has the IPC that the file
states where every miss takes the stated latency. So the cycles of an instruction grow linearly with the latency, as in
first-order models of processors (Karkhanis and Smith, "A First-Order Superscalar Processor Model", ISCA 2004).

After the mixed workloads of "Thread Batching for High-performance Energy-efficient GPU Memory Design", section 6.2,
whose programs are from SPEC CPU2006.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from binalloc.errors import MalformedInput
from binalloc.printable import quoted
from binalloc.toml_file import read_toml
from binalloc.toml_values import TomlPlace

SCHEMA_VERSION = 1
MOST_PROGRAMS = 8
MOST_CHAINS = 256  # misses in flight of all programs together
MOST_BYTES = 1 << 30
"""Bytes of all footprints together. Their pages of 4 KB then leave most of the table of pages to the GPU."""
LINE_BYTES = 64  # a miss of a CPU: half a line of the GPU's
NEAR, FAR = "near", "far"
_SUITES = ("schema", "memory", "seed", "programs")
_NUMBERS: dict[str, tuple[float, float, str]] = {
    "mpki": (0.001, 1000, "misses per 1,000 instructions"),
    "inflight": (1, 64, "misses in flight, a whole number"),
    "footprint": (LINE_BYTES, MOST_BYTES, "bytes, a whole number"),
    "locality": (0, 1, "share of misses to the line behind the last one"),
    "ipc": (0.001, 32, "instructions per cycle of the CPU, alone"),
    "mhz": (1, 100_000, "MHz of the CPU's clock"),
    "latency": (1, 100_000, "ns of a miss, alone"),
}
"""Least and most of each number of a program, and what it is."""
_WHOLE = ("inflight", "footprint")


@dataclass(frozen=True, slots=True)
class CpuProgram:
    """A program is described by its misses."""

    name: str
    mpki: float  #: misses per 1,000 instructions
    inflight: int  #: misses in flight
    footprint: int  #: bytes that it touches
    locality: float  #: share of misses to the line behind the last one; the others go anywhere in the footprint
    ipc: float  #: instructions per cycle of its clock where it runs alone
    mhz: float  #: its clock
    latency: float  #: ns of a miss where it runs alone, from the core and back

    @property
    def instructions(self) -> float:
        """Return the instructions from one miss to the next."""
        return 1000 / self.mpki

    @property
    def lap(self) -> float:
        """Return the ns from a miss of a chain to the chain's next one, where the program runs alone."""
        return self.inflight * self.instructions / self.ipc / self.mhz * 1000

    @property
    def lines(self) -> int:
        """Return the lines of the footprint."""
        return -(-self.footprint // LINE_BYTES)


@dataclass(frozen=True, slots=True)
class CpuTraffic:
    """CPU traffic is what some programs ask of one memory at the same time."""

    programs: tuple[CpuProgram, ...]
    memory: str = NEAR  #: the memory in which their pages lie: NEAR or FAR
    seed: int = 0  #: from which it is drawn which lines they miss
    file: str = ""  #: where it comes from, for messages

    def plain(self) -> list[object]:
        """Return all that a run depends on, as plain values."""
        programs = [[getattr(p, name) for name in ("name", *_NUMBERS)] for p in self.programs]
        return [self.memory, self.seed, programs]


class _At(TomlPlace):
    """A place in a file of CPU traffic."""

    def unknown_key(self, unknown: list[str], allowed: Collection[str]) -> NoReturn:
        self.fail("unknown key", quoted(", ".join(unknown)), f"only {', '.join(allowed)}")

    def missing_key(self, name: str, table: dict[str, Any]) -> NoReturn:
        self.sub(name).fail("missing key", "nothing", _NUMBERS[name][2] if name in _NUMBERS else name)

    def wrong_type(self, value: object, kind: type, bounds: str = "") -> NoReturn:
        self.fail("wrong type", quoted(str(value)), f"{_KINDS[kind]}{bounds}")

    def out_of_range(self, value: float, bounds: str) -> NoReturn:
        self.fail("out of range", value, bounds)

    def unknown_choice(self, value: object, choices: Collection[str]) -> NoReturn:
        self.fail("unknown value", quoted(str(value)), f"one of {', '.join(choices)}")


_KINDS = {int: "a whole number", float: "a number", str: "text", dict: "a table", list: "a list of tables"}


def read_traffic(path: str | Path) -> CpuTraffic:
    """Return the CPU traffic that a TOML file describes. Raises UsageError and MalformedInput, with the key."""
    table = read_toml(path, "file of CPU traffic")
    at = _At(str(path))
    at.only_keys(table, _SUITES)
    version = at.sub("schema").typed(at.required(table, "schema"), int)
    if version != SCHEMA_VERSION:
        at.sub("schema").fail("unknown version of the file of CPU traffic", version, SCHEMA_VERSION)
    memory = at.sub("memory").one_of(table.get("memory", NEAR), (NEAR, FAR))
    seed = at.sub("seed").typed(table.get("seed", 0), int)
    if not 0 <= seed < 1 << 30:
        at.sub("seed").out_of_range(seed, f"0 to {(1 << 30) - 1}")
    given = at.sub("programs").typed(at.required(table, "programs"), list)
    if not 1 <= len(given) <= MOST_PROGRAMS:
        at.sub("programs").fail("number of programs", len(given), f"1 to {MOST_PROGRAMS}")
    programs = tuple(_program(at.sub(f"programs[{i}]"), each) for i, each in enumerate(given))
    _require_room(at, programs)
    return CpuTraffic(programs, memory, seed, str(path))


def _program(at: _At, value: object) -> CpuProgram:
    """Return the program at a place."""
    table = at.table(value)
    at.only_keys(table, ("name", *_NUMBERS))
    name = at.sub("name").typed(at.required(table, "name"), str)
    if not name or len(name) > 64 or not name.isprintable():
        at.sub("name").fail("not a name", quoted(name), "1 to 64 printable characters")
    values: dict[str, Any] = {}
    for key, (low, high, what) in _NUMBERS.items():
        place, found = at.sub(key), at.required(table, key)
        if key in _WHOLE or not isinstance(found, int) or isinstance(found, bool):
            place.typed(found, int if key in _WHOLE else float)
        if not low <= found <= high:  # NaN is in no range
            place.out_of_range(found, f"{low:g} to {high:g} ({what})")
        values[key] = found if key in _WHOLE else float(found)
    program = CpuProgram(name, **values)
    if program.lap < program.latency:
        least = program.latency * program.ipc * program.mhz / 1000 / program.instructions
        at.sub("inflight").fail(
            "impossible traffic: so few misses in flight cannot give that IPC with that latency", program.inflight,
            f"at least {least:.3g}, or fewer misses, a lower IPC or a shorter latency",
        )  # fmt: skip
    return program


def _require_room(at: _At, programs: tuple[CpuProgram, ...]) -> None:
    """Raise MalformedInput for names that come twice, and for more misses or bytes than there is room for."""
    names = [p.name for p in programs]
    for i, name in enumerate(names):
        if name in names[:i]:
            at.sub(f"programs[{i}].name").fail("the name comes twice", quoted(name), "a name of its own")
    chains, size = sum(p.inflight for p in programs), sum(p.footprint for p in programs)
    if chains > MOST_CHAINS:
        at.sub("programs").fail("too many misses in flight", chains, f"at most {MOST_CHAINS} together")
    if size > MOST_BYTES:
        at.sub("programs").fail("footprints are too large", size, f"at most {MOST_BYTES} bytes together")


def impossible_latency(traffic: CpuTraffic, program: CpuProgram, least: float) -> MalformedInput:
    """Return the error for a program whose stated latency is shorter than that of DRAM's commands alone, in ns."""
    number = traffic.programs.index(program)
    return MalformedInput(
        "impossible traffic: a miss takes less time than DRAM needs for a closed bank", file=traffic.file or None,
        place=f"programs[{number}].latency", found=f"{program.latency:g} ns", expected=f"at least {least:.3g} ns",
    )  # fmt: skip
