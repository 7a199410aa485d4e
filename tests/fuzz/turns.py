"""Long runs of random kernels whose blocks use shared memory in turns: `make fuzz-turns`.

Each seed's kernel is run as it is, and in each version: merged by 2 to 8 blocks in each order, with and without private
bytes, by BAR.ALLOC, and with shorter access regions in front of that. Every version that is proven has to end under
every scheduler, on one SM or three, without races, and to leave the same. See `campaign` for the options.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

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
Version = tuple[str, Module, Launch]
"""Its name, its module, and its launch."""


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
    for number, (name, made, own) in enumerate(_versions(given, launch, seed, report)):
        code = schedule(made, MACHINE)
        if not fits(code, own):
            report.counts[f"too large: {name}"] += 1
            continue
        report.counts[f"versions: {name}"] += 1
        for k, scheduler in enumerate(sorted(SCHEDULERS)):
            sms = 3 if (seed + number + k) % 2 else 1
            try:
                if not same(expected, left(code, own, scheduler=scheduler, sms=sms)):
                    report.fail("other results", f"{name}, {scheduler}, {sms} SMs")
            except BinallocError as error:
                report.fail(type(error).__name__, f"{name}, {scheduler}, {sms} SMs: {error}")
            report.counts["runs"] += 1
    return report


def _versions(module: Module, launch: Launch, seed: int, report: Report) -> Iterator[Version]:
    """The versions that are built, and proven. Counts what is refused, and what is not proven."""
    rng = random.Random(f"turns {seed}")
    size = module.function("k").info.shared_bytes
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    most = max(2, min(8, MOST_THREADS // threads))
    for private in (0, cut(rng, size)):
        for order in (TURNS, PIPED, HANDED):
            count = 2 if order == PIPED else rng.randrange(2, most + 1)
            name = f"{order}{' with private bytes' if private else ''}"
            try:
                later = with_late_exits(module, "k", launch.block)
                made = merge_blocks(later, "k", launch.block, count, private=private, order=order)
            except Refused:
                report.counts[f"refused: {name}"] += 1
                continue
            merge = made.merge
            if check_merged(later, made.module, "k", launch.block, merge.count, merge.axis).ok:
                yield name, made.module, merge.launch(launch)
            else:
                report.counts[f"not proven: {name}"] += 1
        name = f"as they run{' with private bytes' if private else ''}"
        try:
            own = get_as_they_run(module, "k", launch.block, private)
        except Refused:
            report.counts[f"refused: {name}"] += 1
            continue
        parts = own.parts
        division = Division(parts.low, parts.first, parts.high, parts.moved)
        if check_public(module, own.module, "k", launch.block, division).ok:
            yield name, own.module, launch
        else:
            report.counts[f"not proven: {name}"] += 1


def warm() -> None:
    """Compile the emulator."""
    one(0)


if __name__ == "__main__":
    sys.exit(campaign(__doc__, one, warm))
