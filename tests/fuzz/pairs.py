"""Long runs of random kernels whose blocks share memory two by two: `make fuzz-pairs`.

Each seed's kernel has variables moved and releases inserted for one of its plans, in one of four ways. It has to end
under every scheduler, on one SM or three, without races, without a read of what its block has not written, and with no
access behind a release; and to leave the same as blocks that share nothing. The kernel as it is, with its blocks in
pairs, has to do so, too. Per-cycle and event-skipping bookkeeping have to agree. Then the kernel is shared
and allocated with few registers and some slots, and has to do all that again, in pairs and without. See `campaign` for
the options.
"""

from __future__ import annotations

import random
import sys

from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.errors import BinallocError
from binalloc.isa.instruction import Module
from binalloc.launch.types import Launch
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.sharing.check import check_shared
from tests.fuzz.campaign import campaign, timed
from tests.support.generator.transform.exchanges import exchanging
from tests.support.generator.transform.wide_exchanges import widely_exchanging
from tests.support.kits.transform.pairs_of_blocks import (
    RELEASES,
    in_step,
    narrow,
    paired,
    planned,
    ran,
    same,
    with_variables,
)
from tests.support.kits.transform.slotted_pairs import slotted, unshared
from tests.support.kits.transform.wide_cases import Report
from tests.support.programs.builder import program


def one(seed: int) -> Report:
    """The report of one seed."""
    return timed(_report, seed)


def kernel(seed: int, rng: random.Random) -> tuple[Module, Launch]:
    """Kernels of two generators in turn."""
    text, launch = widely_exchanging(seed // 2) if seed % 2 else exchanging(seed // 2, aligned=seed % 4 == 0)
    return with_variables(program(text), rng), launch


def _report(seed: int) -> Report:
    report, rng = Report(seed), random.Random(f"fuzz pairs {seed}")
    module, launch = kernel(seed, rng)
    size = module.function("k").info.shared_bytes
    machine = narrow(size, rng.randrange(1, 5), rng.randrange(16, size) // 4 * 4)
    _with_slots(report, module, launch, random.Random(f"fuzz slots {seed}"))
    found = planned(module, launch, machine)
    if not found.all:
        report.counts["no pair"] += 1
        return report
    release = RELEASES[seed // 2 % len(RELEASES)]
    made = paired(module, launch, machine, rng.randrange(len(found.all)), release)
    report.counts[f"kernels: {release}"] += 1
    report.counts["moved"] += any(made.plan.distances)
    proof = check_shared(module, made.module, "k", launch.block, made.plan.private, launch.dynamic_shared)
    report.counts["proven" if proof.ok else "not proven"] += 1
    plain = schedule(module, machine)
    expected = ran(plain, launch, machine)
    for k, scheduler in enumerate(SCHEDULERS):
        options = {"scheduler": scheduler, "sms": 3 if (seed + k) % 2 else 1, "sharing": made.sharing}
        for name, code in (("made", made.code), ("as it is", plain)):
            report.counts["runs"] += 1
            try:
                if not same(expected, ran(code, launch, machine, **options)):
                    report.fail("other results", f"{name}, {options}")
            except BinallocError as error:
                report.fail(type(error).__name__, f"{name}, {options}: {error}")
    options = {"scheduler": list(SCHEDULERS)[seed % len(SCHEDULERS)], "sharing": made.sharing}
    if not in_step(made.code, launch, machine, options):
        report.fail("the modes differ", f"{options}")
    return report


def _with_slots(report: Report, module: Module, launch: Launch, rng: random.Random) -> Report:
    """The report, with runs of the kernel with slots added."""
    found = slotted(module, launch, rng, rng.choice(("auto", "0.1")))
    if not found.made:
        report.counts[f"no slots and pairs: {found.refused}"] += 1
        return report
    made = rng.choice(found.made)
    code, machine = made.version.module, found.machine
    report.counts["with slots" if made.version.slots else "with few registers"] += 1
    expected = unshared(module, launch, machine)
    for k, scheduler in enumerate(SCHEDULERS):
        for sharing in ("off", made.record.option):
            options = {"scheduler": scheduler, "sms": 3 if (report.seed + k) % 2 else 1, "sharing": sharing}
            report.counts["runs"] += 1
            try:
                if not same(expected, ran(code, launch, machine, **options)):
                    report.fail("other results", f"with slots, {options}")
            except BinallocError as error:
                report.fail(type(error).__name__, f"with slots, {options}: {error}")
    options = {"scheduler": list(SCHEDULERS)[report.seed % len(SCHEDULERS)], "sharing": made.record.option}
    if not in_step(code, launch, machine, options):
        report.fail("the modes differ", f"with slots, {options}")
    return report


def warm() -> None:
    """Compile the emulator."""
    one(0)


if __name__ == "__main__":
    sys.exit(campaign(__doc__, one, warm))
