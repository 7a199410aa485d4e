"""The order of JSON.md: its sections, the shapes in each, and what is said in front of them."""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.report.shapes.commands.compare import CompareJson
from binalloc.report.shapes.commands.demo import DemoJson
from binalloc.report.shapes.commands.importing import EntriesJson, ImportJson
from binalloc.report.shapes.commands.inspect import InspectJson
from binalloc.report.shapes.commands.laboratory import ReproduceJson, SmemCostJson
from binalloc.report.shapes.commands.machines import MachineListJson, MachinesJson, OccupancyAnswerJson
from binalloc.report.shapes.commands.recommend import RecommendJson
from binalloc.report.shapes.commands.rewrite import ProgramRewriteJson, RewriteJson
from binalloc.report.shapes.commands.run_program import ProgramRunJson
from binalloc.report.shapes.commands.runs import RunJson, StoppedJson
from binalloc.report.shapes.commands.skeleton import SkeletonJson
from binalloc.report.shapes.commands.small import AsmJson, DiffJson, DisasmJson, ScheduleJson
from binalloc.report.shapes.commands.sweep import SweepJson, SweepRowJson
from binalloc.report.shapes.commands.verify import VerifyJson
from binalloc.report.shapes.parts.annotation import AnnotationJson
from binalloc.report.shapes.parts.common import ErrorDetails, ErrorJson
from binalloc.report.shapes.parts.counters import CountersJson
from binalloc.report.shapes.parts.files import BaselineFile, ProfileFile, SeriesFile
from binalloc.report.shapes.parts.left import HeapJson, PrintedJson
from binalloc.report.shapes.parts.pressure import PressureJson
from binalloc.report.shapes.parts.versions import DirectivesJson, LevelJson, OccupancyJson, VersionJson


@dataclass(frozen=True)
class Section:
    """A section of the page."""

    title: str
    shapes: tuple[type, ...]
    text: str = ""
    level: int = 2  #: of its heading
    printed: bool = True  #: whether a command prints its shapes as a whole


SECTIONS = (
    Section(
        "error",
        (ErrorJson, StoppedJson),
        """\
Printed in place of a command's own object where it fails with an exit code of 2 to 5, 70, 130 or 143, and with 1 where
the answer is a refusal. The same text is on stderr.

Where `--max-cycles`, Ctrl-C or SIGTERM stopped an emulated run, the object also has the results of the run up to then.
Such an object of `run` has all its fields; only there are `machine_from` and files. `partial` is false where the run
itself had ended: its trace for Accel-Sim got too long with its last block, or a later run of `--skews` was stopped. For
[a sequence of launches](#run-of-a-sequence) `run` prints the launches that had ended, `rewrite` and `verify` print the
launch that was stopped; `message` names its step, and the rounds of the loops around that step.
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
Each view is a field that is there where the view was asked for; `text` in a view is what is printed without `--json`.
""",
    ),
    Section("run", (RunJson,)),
    Section(
        "run of a sequence",
        (ProgramRunJson,),
        """\
Of a launch file with [a sequence of launches](../launch/LAUNCH.md#sequences-of-launches), without `--step`.
""",
        level=3,
    ),
    Section("rewrite", (RewriteJson,)),
    Section(
        "rewrite of a sequence",
        (ProgramRewriteJson,),
        """\
Of a launch file with [a sequence of launches](../launch/LAUNCH.md#sequences-of-launches).
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
Without names: one short row per machine. With names: each in full. With `--occupancy`: the answer alone.
""",
    ),
    Section("demo", (DemoJson,)),
    Section(
        "compare-allocators",
        (CompareJson,),
        """\
A kernel that cannot be rewritten at all is an error where it is the only one.
""",
    ),
    Section("sweep", (SweepJson,)),
    Section("reproduce", (ReproduceJson,)),
    Section("smem-cost", (SmemCostJson,)),
    Section("Parts", (), printed=False),
    Section("version", (VersionJson,), level=3, printed=False),
    Section(
        "directives",
        (DirectivesJson,),
        """\
What the author's words in PTX (`.maxnreg`, `.minnctapersm`, `.maxntid`, `.reqntid`, a pragma) leave the kernel on the
machine, and what keeping to that costs.
""",
        level=3,
        printed=False,
    ),
    Section("level", (LevelJson,), level=3, printed=False),
    Section(
        "occupancy",
        (OccupancyJson,),
        """\
How many blocks an SM holds at once, and why not more.
""",
        level=3,
        printed=False,
    ),
    Section(
        "pressure",
        (PressureJson,),
        """\
Of a kernel and what it calls.
""",
        level=3,
        printed=False,
    ),
    Section(
        "annotation",
        (AnnotationJson,),
        """\
What single instructions did and waited for. A lost issue slot is held against one instruction, by the rule in
[TIMING.md](../emulator/TIMING.md#lost-slots-by-instruction). For each reason but `no_warp` the instructions' slots add
up to the run's.
""",
        level=3,
        printed=False,
    ),
    Section(
        "profile of a run",
        (ProfileFile,),
        """\
The file of `run --profile`, for `--profile` of `rewrite` and `compare-allocators`.
""",
        level=3,
        printed=False,
    ),
    Section(
        "baseline of a test",
        (BaselineFile,),
        """\
The file that the [pytest plugin](../../docs/regression.md#baselines) keeps for a check, a line for each field. The
fields from `kernel` to `sms` must be those of the launch that is compared.
""",
        level=3,
        printed=False,
    ),
    Section(
        "series",
        (SeriesFile,),
        """\
The file of `run --series`, as JSON; as CSV it is the table of `intervals` alone, a row for each, columns by the names
behind `intervals[].`. All counters of the interval's cycles, and no others: those of all intervals add up to the run's.
Unlike elsewhere on this page the objects among the counters are not nested: their names are one key, dots and all, as
`"stalls.scoreboard"`, `"units.lsu"` or `"queues.l1_mshrs.average"`.
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
Summed over the SMs emulated. Spill code is what a rewrite added, user code the rest; accesses count warp instructions.
""",
        level=3,
        printed=False,
    ),
)

PARTS: dict[type, str] = {
    **{section.shapes[0]: section.title for section in SECTIONS if len(section.shapes) == 1 and not section.printed},
    SweepRowJson: "row",
}
"""Shapes with a section of their own, which the others refer to, by its title."""
