"""This module lists the sections of JSON.md in their order, with the shapes of each and the text before them."""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.report.shapes.commands.compare import CompareJson
from binalloc.report.shapes.commands.demo import DemoJson
from binalloc.report.shapes.commands.importing import EntriesJson, ImportJson
from binalloc.report.shapes.commands.inspect import InspectJson
from binalloc.report.shapes.commands.laboratory import (
    BatchesJson,
    OverlayJson,
    ReproduceBatchingJson,
    ReproduceJson,
    ReproduceSharingJson,
    ShareJson,
    SmemCostJson,
)
from binalloc.report.shapes.commands.machines import MachineListJson, MachinesJson, OccupancyAnswerJson
from binalloc.report.shapes.commands.multiplex import MultiplexJson, ReproduceMultiplexJson, TurnsJson
from binalloc.report.shapes.commands.recommend import RecommendJson
from binalloc.report.shapes.commands.rewrite import ProgramRewriteJson, RewriteJson
from binalloc.report.shapes.commands.run_program import ProgramRunJson
from binalloc.report.shapes.commands.runs import RunJson, StoppedJson
from binalloc.report.shapes.commands.skeleton import SkeletonJson
from binalloc.report.shapes.commands.small import AsmJson, DiffJson, DisasmJson, ScheduleJson
from binalloc.report.shapes.commands.sweep import SweepJson, SweepRowJson
from binalloc.report.shapes.commands.verify import VerifyJson
from binalloc.report.shapes.parts.annotation import AnnotationJson
from binalloc.report.shapes.parts.block_order import BlockOrderJson
from binalloc.report.shapes.parts.common import ErrorDetails, ErrorJson
from binalloc.report.shapes.parts.counters import CountersJson
from binalloc.report.shapes.parts.files import BaselineFile, ProfileFile, SeriesFile
from binalloc.report.shapes.parts.left import HeapJson, PrintedJson
from binalloc.report.shapes.parts.pressure import PressureJson
from binalloc.report.shapes.parts.sharing.pairs import PairsJson
from binalloc.report.shapes.parts.versions import DirectivesJson, LevelJson, OccupancyJson, VersionJson


@dataclass(frozen=True)
class Section:
    """A section of the page describes one shape, or several that one command prints."""

    title: str  #: its heading
    shapes: tuple[type, ...]  #: shapes that it describes, in order
    text: str = ""  #: Markdown before the shapes
    level: int = 2  #: level of its heading
    printed: bool = True  #: whether a command prints its shapes as a whole


SECTIONS = (
    Section(
        "error",
        (ErrorJson, StoppedJson),
        """\
A command that fails prints this object in place of its own: with the exit codes 2 to 5, 70, 130 and 143, and with 1 if
it refuses. The same message is on stderr.

If `--max-cycles`, Ctrl-C or SIGTERM stops an emulated run, the object also has the results up to the stop. For `run` it
has all fields of that command, `machine_from` and the files included. `partial` is false if the run itself had ended:
its trace for Accel-Sim became too long with the last block, or a later run of `--skews` was stopped. For
[a sequence of launches](#run-of-a-sequence) `run` prints the launches that had ended; `rewrite` and `verify` print the
launch that was stopped. `message` names its step, and the rounds of the loops around that step.
""",
    ),
    Section("details", (ErrorDetails,), level=3, printed=False),
    Section("asm", (AsmJson,)),
    Section("disasm", (DisasmJson,)),
    Section("launch-skeleton", (SkeletonJson,)),
    Section("schedule", (ScheduleJson,)),
    Section("import-ptx", (ImportJson, EntriesJson)),
    Section(
        "inspect",
        (InspectJson,),
        """\
Each view has a field, which is left out if the view was not asked for. `text` of a view is the output without `--json`.
""",
    ),
    Section("run", (RunJson,)),
    Section(
        "run of a sequence",
        (ProgramRunJson,),
        """\
`run` prints this object for a launch file with [a sequence of launches](../launch/LAUNCH.md#sequences-of-launches),
without `--step`.
""",
        level=3,
    ),
    Section("batches", (BatchesJson,)),
    Section("rewrite", (RewriteJson,)),
    Section(
        "rewrite of a sequence",
        (ProgramRewriteJson,),
        """\
`rewrite` prints this object for a launch file with
[a sequence of launches](../launch/LAUNCH.md#sequences-of-launches).
""",
        level=3,
    ),
    Section("recommend", (RecommendJson,)),
    Section("verify", (VerifyJson,)),
    Section("diff", (DiffJson,)),
    Section(
        "machines",
        (MachineListJson, MachinesJson, OccupancyAnswerJson),
        """\
Without names the command prints every machine in short, with names each named machine in full, and with `--occupancy`
the answer alone.
""",
    ),
    Section("demo", (DemoJson,)),
    Section(
        "compare-allocators",
        (CompareJson,),
        """\
If the only kernel cannot be rewritten at all, the command fails.
""",
    ),
    Section("multiplex", (MultiplexJson,)),
    Section(
        "share",
        (ShareJson, OverlayJson),
        """\
`share` prints the first object, `share --overlay` the second one.
""",
    ),
    Section("sweep", (SweepJson,)),
    Section(
        "reproduce",
        (ReproduceJson, ReproduceMultiplexJson, ReproduceSharingJson, ReproduceBatchingJson),
        """\
`reproduce unified`, `reproduce multiplex`, `reproduce sharing` and `reproduce batching` print different objects.
""",
    ),
    Section("smem-cost", (SmemCostJson,)),
    Section("Parts", (), printed=False),
    Section("version", (VersionJson,), level=3, printed=False),
    Section(
        "directives",
        (DirectivesJson,),
        """\
The author's directives in PTX (`.maxnreg`, `.minnctapersm`, `.maxntid`, `.reqntid`, a pragma) limit the registers of a
kernel on a machine. This object has these limits, and the cost of obeying them.
""",
        level=3,
        printed=False,
    ),
    Section("level", (LevelJson,), level=3, printed=False),
    Section(
        "turns",
        (TurnsJson,),
        """\
`rewrite` and `recommend` print this object with `--multiplex today` or `any`.
""",
        level=3,
        printed=False,
    ),
    Section(
        "pairs",
        (PairsJson,),
        """\
`rewrite` and `recommend` print this object with `--sharing`.
""",
        level=3,
        printed=False,
    ),
    Section(
        "block order",
        (BlockOrderJson,),
        """\
`rewrite` prints this object with `--block-order`.
""",
        level=3,
        printed=False,
    ),
    Section(
        "occupancy",
        (OccupancyJson,),
        """\
This object says how many blocks an SM holds at once, and what limits them.
""",
        level=3,
        printed=False,
    ),
    Section(
        "pressure",
        (PressureJson,),
        """\
This object describes the register pressure in a kernel and its callees.
""",
        level=3,
        printed=False,
    ),
    Section(
        "annotation",
        (AnnotationJson,),
        """\
An annotation says what single instructions did and waited for. Each lost issue slot is charged to one instruction, by
the rule in [TIMING.md](../emulator/TIMING.md#lost-slots-by-instruction). For each reason except `no_warp`, the slots of
all instructions add up to the slots of the run.
""",
        level=3,
        printed=False,
    ),
    Section(
        "profile of a run",
        (ProfileFile,),
        """\
`run --profile` writes this file. `--profile` of `rewrite`, `compare-allocators`, `recommend` and `share` reads it.
""",
        level=3,
        printed=False,
    ),
    Section(
        "baseline of a test",
        (BaselineFile,),
        """\
The [pytest plugin](../../docs/regression.md#baselines) keeps this file for a check, with a line for each field. The
fields from `kernel` to `sms` must be the same as for the launch that is compared.
""",
        level=3,
        printed=False,
    ),
    Section(
        "series",
        (SeriesFile,),
        """\
`run --series` writes this file as JSON. As CSV the file is the table of `intervals` alone: a row for each interval, and
a column for each name after `intervals[].`. An interval also has all counters of its cycles; the counters of all
intervals add up to the counters of the run. Here, unlike elsewhere on this page, the objects among the counters are not
nested: a name in such an object is one key with dots, such as `"stalls.scoreboard"`, `"units.lsu"` or
`"queues.l1_mshrs.average"`.
""",
        level=3,
        printed=False,
    ),
    Section("printed", (PrintedJson,), level=3, printed=False),
    Section("heap", (HeapJson,), level=3, printed=False),
    Section(
        "counters",
        (CountersJson,),
        """\
Counters are sums over the SMs that were emulated. Spill code is code that a rewrite added; user code is all other code.
Accesses are counted in warp instructions.
""",
        level=3,
        printed=False,
    ),
)

PARTS: dict[type, str] = {
    **{section.shapes[0]: section.title for section in SECTIONS if len(section.shapes) == 1 and not section.printed},
    SweepRowJson: "row",
}
"""Titles of sections by shape, for shapes that are parts of others and have a section of their own."""
