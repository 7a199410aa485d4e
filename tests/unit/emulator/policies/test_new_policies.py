"""A block dispatcher, a placement of shared memory, a gate, a page policy and a listener of one's own: one file and one
row each, in a copy of the package, used by the command line and from Python. What CONTRIBUTING.md promises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.kits.cli import launch, loom
from tests.support.kits.extended import Extended

HEAD = '''
from __future__ import annotations

from typing import Any

from binalloc.emulator.state.device import device
'''
DISPATCHER = f'''
"""Blocks from the last to the first."""
{HEAD}
from binalloc.emulator.policies.dispatchers.dispatcher import BlockDispatcher


@device
def next_backwards(g: Any, s: Any) -> int:
    return g.first_block + g.blocks - 1 - g.dispatched if g.dispatched < g.blocks else -1


BACKWARDS = BlockDispatcher("backwards", "the last block first", next_backwards)
'''
PLACEMENT = f'''
"""Where nothing has lain yet, as long as there is such a place; then nowhere."""
{HEAD}
from binalloc.emulator.policies.placements.placement import Placement


@device
def highest_end(g: Any, s: Any, words: int) -> int:
    first = 0
    for r in range(s.regions):
        if s.region_owner[r]:
            first = max(first, s.region_end[r])
    return first if first + words <= g.shared_words else -1


ABOVE = Placement("above", "above all that is taken", highest_end)
'''
GATE = f'''
"""A toll that takes two cycles before each instruction."""
{HEAD}
from binalloc.emulator.policies.gates.gate import Gate


@device
def locked(g: Any, s: Any, program: Any, regs: Any, w: int, pc: int, again: int) -> int:
    return 0 if again else g.cycle + 2


@device
def open_for_pairs(g: Any, s: Any, program: Any, regs: Any, w: int, pc: int) -> int:
    return 1


@device
def goes_through(g: Any, s: Any, program: Any, regs: Any, w: int, pc: int) -> None:
    return


TOLL = Gate(
    "toll", "the nearest warp waits for a toll", "a toll", False, lambda machine, pairs: machine.name == "v100",
    locked, open_for_pairs, goes_through,
)
'''
PAGES = f'''
"""Neighbouring pages change places."""
{HEAD}
from binalloc.emulator.pages.frames import take_frame
from binalloc.emulator.pages.page import PagePolicy


@device
def turned(g: Any, m: int, source: int, high: int) -> int:
    return (take_frame(g, m, 0, high) ^ 1) << g.page_shift


TURNED = PagePolicy("turned", "neighbours swapped", turned)
'''
LISTENER = f'''
"""Counts all events of an SM."""
{HEAD}
from binalloc.emulator.state.policy import EVENTS, SmPolicy


{{functions}}

COUNTS = SmPolicy("counts", "counts events", hears={{{{{{rows}}}}}})
'''


def listener() -> str:
    """A file with a listener for each event."""
    from binalloc.emulator.state.policy import EVENTS

    functions, rows = [], []
    for n, (event, arguments) in enumerate(EVENTS.items()):
        typed = ", ".join(f"{name}: Any" for name in arguments.split(", "))
        functions.append(f"@device\ndef on_{event}({typed}) -> None:\n    s.notes[{n}] += 1\n")
        rows.append(f'"{event}": on_{event}')
    return LISTENER.format(functions="\n\n".join(functions), rows=", ".join(rows))


POLICIES = "binalloc/emulator/policies"
ADDED = (
    ("dispatchers/backwards.py", DISPATCHER, "dispatchers", "BACKWARDS", f"{POLICIES}/dispatchers"),
    ("placements/above.py", PLACEMENT, "placements", "ABOVE", f"{POLICIES}/placements"),
    ("gates/toll.py", GATE, "gates", "TOLL", f"{POLICIES}/gates"),
    ("listeners/counts.py", None, "listeners", "COUNTS", f"{POLICIES}/listeners"),
    ("turned.py", PAGES, "pages", "TURNED", "binalloc/emulator/pages"),
)


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Extended:
    package = Extended(tmp_path_factory.mktemp("policies"))
    for file, text, _, row, folder in ADDED:
        name = file.rsplit("/", 1)[-1]
        package.add_file(f"{folder}/{name}", listener() if text is None else text)
        module = f"{folder}/{name}".removesuffix(".py").replace("/", ".")
        package.add_named(f"{folder}/table.py", row, f"from {module} import {row}")
    return package


def ran(extended: Extended, sample: str, *options: str, machine: str = "gtx680", sms: int = 2) -> Any:
    line = ["run", loom(sample), *launch(sample, "python"), "--machine", machine, "--sms", str(sms), "--reference"]
    found = extended.json(*line, *options)
    assert found["reference"] == "same"
    return found


def test_the_command_line_offers_what_has_been_added(extended: Extended) -> None:
    text = " ".join(extended.run("run", "--help").split())
    for words in ("backwards: the last block first", "above: above all that is taken", "turned: neighbours swapped"):
        assert words in text


def test_an_option_is_shown_where_there_is_a_choice() -> None:
    from binalloc.emulator.pages.table import PAGES
    from binalloc.emulator.policies.dispatchers.table import DISPATCHERS
    from binalloc.emulator.policies.placements.table import PLACEMENTS
    from tests.support.kits.cli import call

    text = call("run", "--help").out
    for option, table in (("--dispatch", DISPATCHERS), ("--placement", PLACEMENTS), ("--pages", PAGES)):
        assert (option in text) == (len(table) > 1)
        assert call("run", "x.loom", option, "nobody").code == 2


def test_a_run_by_each_of_them(extended: Extended) -> None:
    usual = ran(extended, "callchain")
    for options in (["--dispatch", "backwards"], ["--placement", "above"], ["--pages", "turned"]):
        found = ran(extended, "callchain", *options)
        key = {"--dispatch": "dispatcher"}.get(options[0], options[0].removeprefix("--"))
        assert found[key] == options[1] != usual[key]
        assert found["stats"]["warp_instructions"] == usual["stats"]["warp_instructions"]
        if options[0] != "--placement":  # blocks that never move lie where they lay
            assert found["stats"] != usual["stats"], options


def test_a_dispatcher_chooses_the_block(extended: Extended) -> None:
    script = """
import sys, binalloc
from binalloc.emulator.runs.run import run
binary, launched = sys.argv[1:]
launch, module = binalloc.load_launch(launched, "test"), binalloc.load(binary)
for name in ("interleaved", "backwards"):
    seen = []
    def look(device, cycle):
        blocks, active = (device.engine.get(device.sms, 0, name) for name in ("block_id", "block_active"))
        seen.extend(b for b, a in zip(map(int, blocks), active) if a and b not in seen)
    run(module, launch.kernel, launch, "gtx680", engine="python", dispatcher=name, observer=look)
    print(*seen)
"""
    first, second = extended.python(script, loom("callchain"), launch("callchain")[1]).splitlines()
    assert first.split() == sorted(first.split(), key=int)
    assert second.split() == first.split()[::-1]
    assert len(first.split()) > 1


def test_a_gate_keeps_warps_back_and_gives_its_name_to_lost_slots(extended: Extended, tmp_path: Path) -> None:
    assert ran(extended, "callchain")["stats"]["stalls"]["toll"] == 0  # none on that machine
    binary = str(tmp_path / "k.loom")
    extended.run("schedule", loom("callchain"), "--machine", "v100", "-o", binary)
    assert extended.json("run", binary, *launch("callchain", "python"))["stats"]["stalls"]["toll"] > 0
    text = extended.run("run", binary, *launch("callchain", "python"), "--annotate")
    assert " toll" in text
    assert "toll: the nearest warp waits for a toll" in text


def test_both_forms_of_a_cycles_bookkeeping_agree_with_them(extended: Extended) -> None:
    script = """
import sys, binalloc
binary, launched = sys.argv[1:]
launch, machine = binalloc.load_launch(launched, "test"), binalloc.load_machine("v100")
module = binalloc.schedule(binalloc.load(binary), machine)
asked = dict(engine="python", sms=2, dispatcher="backwards", placement="above", pages="turned")
one, other = (binalloc.run(module, launch.kernel, launch, machine, reference=r, **asked) for r in (False, True))
print(one.stats == other.stats, one.stats["stalls"]["toll"] > 0)
"""
    assert extended.python(script, loom("callchain"), launch("callchain")[1]) == "True True\n"


@pytest.mark.rotates("long")
def test_a_listener_hears_every_event(extended: Extended) -> None:
    script = """
import sys, json, binalloc
from binalloc.emulator.state.policy import EVENTS
binary, launched, scheduler, machine = sys.argv[1:]
launch, machine = binalloc.load_launch(launched, "test"), binalloc.load_machine(machine)
module = binalloc.schedule(binalloc.load(binary), machine)
held = []
result = binalloc.run(module, launch.kernel, launch, machine, engine="python", scheduler=scheduler,
    listeners=("counts",), observer=lambda device, _: held.append(device) if not held else None)
notes = [int(n) for n in held[0].engine.get(held[0].sms, 0, "notes")]
print(json.dumps({"events": dict(zip(EVENTS, notes)), "stats": result.stats}))
"""
    import json

    files = loom("stencil2d"), launch("stencil2d")[1]
    found = json.loads(extended.python(script, *files, "two_level", "v100"))
    events, stats = found["events"], found["stats"]
    blocks = stats["blocks_dispatched"]
    assert events["issued"] == stats["warp_instructions"]
    assert events["block_begins"] == events["block_ends"] == blocks
    assert events["started"] == events["ended"] == events["started"] // blocks * blocks > 0
    assert events["evicted"] == stats["l1_evictions"]
    assert events["arrived"] == events["opened"] > 0
    assert events["promoted"] >= events["started"]
    assert events["closed"] > 0
    assert events["waits"] == events["resumed"] > 0
    assert events["missed"] > 0
    assert events["completed"] > 0


def test_an_unknown_listener_is_refused_with_the_known_ones(extended: Extended) -> None:
    script = """
import sys, binalloc
launch, module = binalloc.load_launch(sys.argv[2], "test"), binalloc.load(sys.argv[1])
try:
    binalloc.run(module, launch.kernel, launch, "gtx680", engine="python", listeners=("nobody",))
except binalloc.UsageError as error:
    print(error)
"""
    text = extended.python(script, loom("callchain"), launch("callchain")[1])
    assert "no such listener" in text
    assert "counts" in text
