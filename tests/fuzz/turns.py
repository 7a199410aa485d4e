"""Long runs of random kernels whose blocks use shared memory in turns: `make fuzz-turns`.

Each seed's kernel is run as it is, and in versions: merged by 2 to 8 blocks in each order, with and without private
bytes, by BAR.ALLOC, and with shorter access regions in front of that. A version has to end under every scheduler, on
one SM or three, without races, and to leave the same. Every sixteenth seed has all versions, and each is proven first.
Others have one version, the next kind in turn; it is proven only where a run fails, since proofs take most of the time.
See `campaign` for the options.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.errors import BinallocError, Refused
from binalloc.isa.instruction import Module
from binalloc.launch.types import Launch
from binalloc.transform.multiplex.late_exits import with_late_exits
from binalloc.transform.multiplex.merged import HANDED, PIPED, TURNS, merge_blocks
from binalloc.transform.multiplex.public import get_as_they_run
from binalloc.transform.schedule.schedule import schedule
from binalloc.transform.shorten.shorten import shortened
from binalloc.verify.multiplex.check import check_public
from binalloc.verify.multiplex.division import Division
from binalloc.verify.multiplex.merged.check import check_merged
from tests.fuzz.campaign import campaign, timed
from tests.property.transform.multiplex.test_cuts import cut
from tests.property.transform.multiplex.test_public import MACHINE, fits, left, same
from tests.support.generator.transform.exchanges import exchanging
from tests.support.generator.transform.wide_exchanges import widely_exchanging
from tests.support.kits.transform.wide_cases import Report
from tests.support.programs.builder import program

SHORTER_EVERY = 3
MOST_THREADS = 1024
WHOLE_EVERY = 16


@dataclass(frozen=True)
class Version:
    """A kernel whose blocks use shared memory in turns. proven: asks the checker."""

    module: Module
    launch: Launch
    proven: Callable[[], bool]


def one(seed: int) -> Report:
    """The report of one seed."""
    return timed(_report, seed)


def kernel(seed: int) -> tuple[str, Launch]:
    """Kernels of two generators in turn: one for every order, one with all kinds of accesses."""
    return widely_exchanging(seed // 2) if seed % 2 else exchanging(seed // 2, aligned=seed % 4 == 0)


def _report(seed: int) -> Report:
    report = Report(seed)
    text, launch = kernel(seed)
    module = program(text)
    expected = left(schedule(module, MACHINE), launch)
    given = module
    if seed % SHORTER_EVERY == 0:
        for step in shortened(module, "k", launch.block):
            given = step.module
    whole = seed % WHOLE_EVERY == 0
    kinds = _kinds(given, launch, seed)
    for number, (name, build) in enumerate(kinds if whole else [kinds[seed // WHOLE_EVERY % len(kinds)]]):
        try:
            version = build()
        except Refused:
            report.counts[f"refused: {name}"] += 1
            continue
        if whole and not version.proven():
            report.counts[f"not proven: {name}"] += 1
            continue
        _run(version, expected, report, name, seed + number)
    return report


def _run(version: Version, expected: dict[str, np.ndarray], report: Report, name: str, number: int) -> None:
    """Runs a version under every scheduler. What fails counts only where the version is proven."""
    code = schedule(version.module, MACHINE)
    if not fits(code, version.launch):
        report.counts[f"too large: {name}"] += 1
        return
    report.counts[f"versions: {name}"] += 1
    for k, scheduler in enumerate(sorted(SCHEDULERS)):
        sms = 3 if (number + k) % 2 else 1
        report.counts["runs"] += 1
        try:
            if same(expected, left(code, version.launch, scheduler=scheduler, sms=sms)):
                continue
            kind, text = "other results", f"{name}, {scheduler}, {sms} SMs"
        except BinallocError as error:
            kind, text = type(error).__name__, f"{name}, {scheduler}, {sms} SMs: {error}"
        if version.proven():
            report.fail(kind, text)
        else:
            report.counts[f"fails, and not proven: {name}"] += 1


def _kinds(module: Module, launch: Launch, seed: int) -> list[tuple[str, Callable[[], Version]]]:
    """The kinds of versions of a kernel. What builds one raises Refused where the kernel has no such version."""
    rng = random.Random(f"turns {seed}")
    size = module.function("k").info.shared_bytes
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    most = max(2, min(8, MOST_THREADS // threads))
    kinds: list[tuple[str, Callable[[], Version]]] = []
    for private in (0, cut(rng, size)):
        beside = " with private bytes" if private else ""
        for order in (TURNS, PIPED, HANDED):
            count = 2 if order == PIPED else rng.randrange(2, most + 1)
            kinds.append((f"{order}{beside}", partial(_merged, module, launch, order, count, private)))
        kinds.append((f"as they run{beside}", partial(_as_they_run, module, launch, private)))
    return kinds


def _merged(module: Module, launch: Launch, order: str, count: int, private: int) -> Version:
    later = with_late_exits(module, "k", launch.block)
    made = merge_blocks(later, "k", launch.block, count, private=private, order=order)
    merge = made.merge
    return Version(
        made.module, merge.launch(launch),
        lambda: check_merged(later, made.module, "k", launch.block, merge.count, merge.axis).ok,
    )


def _as_they_run(module: Module, launch: Launch, private: int) -> Version:
    own = get_as_they_run(module, "k", launch.block, private)
    parts = own.parts
    division = Division(parts.low, parts.first, parts.high, parts.moved)
    return Version(own.module, launch, lambda: check_public(module, own.module, "k", launch.block, division).ok)


def warm() -> None:
    """Compile the emulator."""
    one(0)


if __name__ == "__main__":
    sys.exit(campaign(__doc__, one, warm))
