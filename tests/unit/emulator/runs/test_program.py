"""Sequences of launches in the emulator: against references, against single launches to the cycle, and what a device
keeps from one launch to the next."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from binalloc import KernelFault, LimitHit, MalformedInput, Refused, UsageError, run_program
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.program import FIGURES, Ran
from binalloc.emulator.runs.run import run
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.launch.file import compare, reference_outputs
from binalloc.launch.program.file import load_program
from binalloc.launch.program.schema import parse_program
from binalloc.launch.schema import parse_launch
from binalloc.models.machines.reader import load_machine
from tests.support.kits.launch.programs import KERNELS, sample_program
from tests.support.kits.machines import constant_lines, instruction_cache
from tests.support.paths import SAMPLES, sample_file

PROGRAMS = sorted(path.stem for folder in ("programs", "linked") for path in (SAMPLES / folder).glob("*.toml"))

@cache
def module(machine: str = "gtx680") -> Module:
    return import_ptx(KERNELS, "add.ptx", machine=load_machine(machine)).module


def words(name: str, n: int = 64, **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": "buffer", "dtype": "u32", "shape": n, **more}


def launch(kernel: str, arguments: list[Any], grid: Any = 1, block: Any = 64, **more: Any) -> dict[str, Any]:
    return {"launch": kernel, "grid": grid, "block": block, "arguments": arguments, **more}


def ran(steps: list[Any], arguments: list[Any], machine: str = "gtx680", **options: Any) -> Ran:
    program = parse_program({"argument": arguments, "step": steps}, path="p.toml")
    return run_program(module(machine), program, machine, **({"engine": "python"} | options))


@cache
def sample(name: str, engine: str) -> Ran:
    program = load_program(sample_file(f"{name}.toml"), "test")
    return run_program(sample_program(name), program, "gtx680", engine=engine, host_steps=True)


@pytest.mark.rotates
@pytest.mark.parametrize("name", PROGRAMS)
def test_samples_leave_what_their_references_say(name: str) -> None:
    program = load_program(sample_file(f"{name}.toml"), "test")
    expected = reference_outputs(program.held, program.held.make_buffers(), program.constants)
    assert expected
    assert compare(program.held, expected, sample(name, "python").buffers) == []


@pytest.mark.rotates
@pytest.mark.parametrize("name", PROGRAMS)
def test_engines_agree_on_everything(name: str) -> None:
    one, other = sample(name, "python"), sample(name, "numba")
    assert one.launches == other.launches
    assert one.totals == other.totals
    assert one.scalars == other.scalars
    for each, array in one.buffers.items():
        assert np.array_equal(array, other.buffers[each])


def single(name: str, size: str, machine: str) -> tuple[Any, Ran]:
    """A sample of one launch, as it is and as a program of one step."""
    import tomllib

    table = tomllib.loads(sample_file(f"{name}.toml").read_text())
    path = str(sample_file(f"{name}.toml"))
    launched = parse_launch(table, path=path, size=size)
    table["argument"] = [
        entry | table["sizes"][size].get("argument", {}).get(entry["name"], {}) for entry in table["argument"]
    ]
    own = {key: table.pop(key) for key in ("kernel", "grid", "block", "dynamic_shared", "sizes") if key in table}
    step = {
        "launch": own["kernel"], "grid": list(launched.grid), "block": list(launched.block),
        "dynamic_shared": launched.dynamic_shared,
    }  # fmt: skip
    program = parse_program(table | {"step": [step]}, path=path)
    source = sample_file(f"{name}.ptx")
    model = load_machine(machine)
    imported = import_ptx(source.read_text(), source.name, machine=model).module
    kernel = imported.kernels()[0].name
    return (
        run(imported, kernel, launched, model),
        run_program(imported, program, model),
    )


@pytest.mark.rotates
@pytest.mark.parametrize(
    ("name", "machine"),
    [
        ("reduction", "gtx680"), ("transpose", "v100"), ("cfd", "rtx2060"), ("scalarProducts", "gtx680"),
        ("imageDenoising", "c2075"),
    ],
)  # fmt: skip
def test_a_sequence_of_one_launch_is_that_launch(name: str, machine: str) -> None:
    alone, program = single(name, "test", machine)
    (told,) = program.launches
    assert told.cycles == alone.cycles
    assert (told.start, told.blocks_per_sm, told.occupancy) == (0, alone.blocks_per_sm, alone.resident_occupancy)
    assert told.figures == {figure: alone.stats[figure] for figure in FIGURES}
    (total,) = program.totals.values()
    assert {k: v for k, v in total.stats.items() if isinstance(v, int)} == {
        k: v for k, v in alone.stats.items() if isinstance(v, int)
    }
    for each, array in alone.buffers.items():
        assert np.array_equal(array, program.buffers[each])
    for each, array in alone.globals.items():
        assert np.array_equal(array, program.globals[each])


def test_memory_and_l2_are_kept_and_nothing_else() -> None:
    arguments = [words("x", init="arange"), words("y", init="ones")]
    again = ran([{"repeat": 3, "step": [launch("add", ["x", "y", 64])]}], arguments)
    assert again.buffers["x"].tolist() == [i + 3 for i in range(64)]
    first, second, third = again.launches
    assert (first.figures["l2_misses"], first.figures["l2_hits"]) == (4, 0)
    assert (second.figures["l2_misses"], second.figures["l2_hits"]) == (0, 4)
    assert second.cycles == third.cycles < first.cycles
    assert [told.start for told in again.launches] == [0, first.cycles, first.cycles + second.cycles]
    cached = ran([{"repeat": 2, "step": [launch("add", ["x", "y", 64])]}], arguments, "v100")
    assert [told.figures["l1_global_hits"] for told in cached.launches] == [0, 0]


def test_what_does_not_fit_l2_is_replaced_and_written_back() -> None:
    """More lines than the share of one SM holds, in one launch and then the next: the dirty lines of the first go to
    DRAM in the second."""
    n = 1 << 15
    arguments = [words("x", n), words("y", n, init="ones"), words("z", n)]
    steps = [launch("add", [name, "y", n], n // 1024, 1024) for name in ("x", "z")]
    found = ran(steps, arguments, engine="numba")
    assert found.buffers["x"].tolist() == found.buffers["z"].tolist() == [1] * n
    second = run_program(
        module(), parse_program({"argument": arguments, "step": steps[1:]}), "gtx680"
    ).launches[0]
    assert found.launches[1].figures["dram_bytes"] > second.figures["dram_bytes"] + 30_000


def test_swapped_buffers_keep_their_names_to_the_end() -> None:
    arguments = [words("x", init="arange"), words("y", init="ones")]
    found = ran([{"repeat": 3, "step": [launch("add", ["x", "y", 64]), {"swap": ["x", "y"]}]}], arguments)
    x, y = np.arange(64), np.ones(64)
    for _ in range(3):
        x, y = y, x + y
    assert np.array_equal(found.buffers["x"], x)
    assert np.array_equal(found.buffers["y"], y)


def test_pointers_go_to_bytes_of_buffers() -> None:
    arguments = [words("x", init="arange"), words("y", init="ones")]
    found = ran([launch("add", ["x", {"argument": "x", "at": "4 * 32"}, 32])], arguments)
    assert found.buffers["x"].tolist() == [2 * i + 32 for i in range(32)] + list(range(32, 64))


def test_variables_in_both_memories_are_filled_and_read() -> None:
    arguments = [
        words("x", init="ones"),
        {"name": "table", "kind": "symbol", "dtype": "u32", "shape": 4, "init": "ones"},
        {"name": "total", "kind": "symbol", "dtype": "u32", "shape": 1},
        {"name": "s", "kind": "scalar", "dtype": "i32", "value": 0},
    ]
    one = launch("sum", ["x"])
    found = ran(
        [
            one, {"set": "s", "value": "total[0]"},
            {"set": "table", "value": 5, "from": 1, "count": 1}, one,
            {"copy": "x", "to": "table", "count": 1, "at": 3}, {"set": "table", "value": "total[0]", "count": 1}, one,
        ],
        arguments,
    )  # fmt: skip
    totals = [64, 64 + 16 * (1 + 5 + 1 + 1)]
    totals.append(totals[1] + 16 * (totals[1] + 5 + 1 + 1))
    assert found.scalars == {"s": 64}
    assert found.buffers["total"].tolist() == [totals[2]]
    assert found.globals["total"].tolist() == [totals[2], 0]
    assert found.buffers["table"].tolist() == [totals[1], 5, 1, 1]


def test_a_texture_has_contents_of_its_own_until_they_are_copied() -> None:
    arguments = [
        {"name": "f", "kind": "buffer", "dtype": "f32", "shape": 32, "init": "ones"},
        {"name": "out", "kind": "buffer", "dtype": "f32", "shape": 32},
        {"name": "image", "kind": "texture", "dtype": "f32", "shape": 32},
    ]
    fetch = launch("fetch", ["out", "image"], block=32)
    assert ran([{"set": "f", "value": 3}, fetch], arguments).buffers["out"].tolist() == [0] * 32
    copied = ran([fetch, {"copy": "f", "to": "image", "from": 16}, fetch], arguments)
    assert copied.buffers["out"].tolist() == [1] * 16 + [0] * 16
    back = ran([{"set": "image", "value": 2}, {"copy": "image", "to": "out"}], arguments)
    assert back.buffers["out"].tolist() == [2] * 32


def test_a_texture_reads_a_surface_that_steps_change() -> None:
    arguments = [
        {"name": "out", "kind": "buffer", "dtype": "f32", "shape": 32},
        {"name": "pixels", "kind": "surface", "dtype": "f32", "shape": 32, "init": "ones"},
        {"name": "image", "kind": "texture", "array": "pixels"},
    ]
    fetch = launch("fetch", ["out", "image"], block=32)
    found = ran([{"set": "pixels", "value": 3, "count": 8}, fetch], arguments).buffers
    assert found["out"].tolist() == found["pixels"].tolist() == [3] * 8 + [1] * 24
    back = ran([fetch, {"set": "out", "value": 5, "count": 4}, {"copy": "out", "to": "pixels"}, fetch], arguments)
    assert back.buffers["out"].tolist() == back.buffers["pixels"].tolist() == [5] * 4 + [1] * 28
    with pytest.raises(MalformedInput, match=r"set.*image"):
        ran([{"set": "image", "value": 2}], arguments)


def test_a_texture_of_a_buffer_shows_what_has_its_name_now() -> None:
    """As a launch that passes the buffer's name does, also behind a swap; and so do two of one buffer."""
    arguments = [
        {"name": name, "kind": "buffer", "dtype": "f32", "shape": 32, "init": {"kind": "constant", "value": value}}
        for name, value in (("x", 1), ("y", 2), ("out", 0), ("late", 0))
    ]
    images = (("a", "x"), ("b", "y"), ("c", "x"))
    arguments += [{"name": name, "kind": "texture", "array": of} for name, of in images]

    def fetched(out: str, image: str) -> dict[str, Any]:
        return launch("fetch", [out, image], block=32)

    for image, before, after in (("a", 1, 2), ("b", 2, 1), ("c", 1, 2)):
        steps = [fetched("out", image), {"swap": ["x", "y"]}, fetched("late", image)]
        found = ran(steps, arguments).buffers
        assert (found["out"].tolist(), found["late"].tolist()) == ([before] * 32, [after] * 32)
        found = ran([*steps, {"swap": ["y", "x"]}, {"set": "x", "value": 7}, fetched("late", image)], arguments).buffers
        assert found["late"].tolist() == [7 if image != "b" else 2] * 32
    outer = ran([{"swap": ["out", "x"]}, fetched("late", "a"), {"swap": ["out", "y"]}, fetched("x", "b")], arguments)
    assert (outer.buffers["late"].tolist(), outer.buffers["x"].tolist()) == ([0] * 32, [1] * 32)


def test_a_fault_says_where_in_the_program() -> None:
    step = launch("add", ["x", "y", "64 + 1024 * t"], "2 + t")
    with pytest.raises(KernelFault, match=r"\(in step\[0\]\.step\[0\], round 1 of step\[0\]\)") as caught:
        ran([{"repeat": 2, "variable": "t", "step": [step]}], [words("x"), words("y")])
    partial = caught.value.program
    assert isinstance(partial, Ran)
    assert (partial.partial, len(partial.launches)) == (True, 1)


@pytest.mark.rotates("long")
def test_cycles_are_limited_for_all_launches_together() -> None:
    steps = [{"repeat": 9, "step": [launch("add", ["x", "y", 64])]}]
    arguments = [words("x"), words("y")]
    whole = ran(steps, arguments)
    assert ran(steps, arguments, max_cycles=whole.cycles + 1).launches == whole.launches
    for limit, ended in ((whole.cycles - 1, 8), (whole.launches[3].start, 3), (whole.launches[3].start + 5, 3), (5, 0)):
        with pytest.raises(LimitHit, match=f"within {limit:,}") as caught:
            ran(steps, arguments, max_cycles=limit)
        partial = caught.value.program
        assert isinstance(partial, Ran)
        assert partial.launches == whole.launches[:ended]


def test_a_loop_without_end_tells_what_has_run() -> None:
    with pytest.raises(LimitHit, match="the loop did not end") as caught:
        ran([{"until": "x[0] > 5", "at_most": 3, "step": [launch("add", ["x", "y", 64])]}], [words("x"), words("y")])
    assert isinstance(caught.value.program, Ran)
    assert len(caught.value.program.launches) == 3


def test_kernels_that_the_module_lacks_are_refused_before_anything_runs() -> None:
    with pytest.raises(UsageError, match=r"launched by p\.toml"):
        ran([launch("add", ["x", "y", 64]), launch("minus", [])], [words("x"), words("y")])


def test_a_binary_of_another_machine_is_scheduled_for_this_one() -> None:
    program = parse_program({"argument": [words("x")], "step": [launch("add", ["x", "x", 64])]})
    assert run_program(module(), program, "v100", engine="python").machine == "v100"
    from binalloc.emulator.runs.program import run_steps
    from binalloc.pipeline.steps.programs import kernels_of

    with pytest.raises(Refused, match="not scheduled for v100"):
        run_steps(module(), program, RunOptions("v100", "python"), kernels=kernels_of(module(), program))


def test_host_steps_need_leave() -> None:
    program = load_program(sample_file("cluster.toml"), "test")
    source = sample_file("cluster.ptx")
    imported = import_ptx(source.read_text(), source.name, machine=load_machine("gtx680")).module
    with pytest.raises(UsageError, match="the program has host steps, which execute Python code"):
        run_program(imported, program, "gtx680", engine="python")


def test_a_program_without_launches_runs() -> None:
    found = ran([{"set": "x", "value": 4}], [words("x", 2)])
    assert (found.cycles, found.launches, found.buffers["x"].tolist()) == (0, [], [4, 4])


def test_contents_may_be_given() -> None:
    given = np.full(64, 5, np.uint32)
    found = ran([launch("add", ["x", "y", 64])], [words("x"), words("y")], buffers={"x": given, "y": given})
    assert found.buffers["x"].tolist() == [10] * 64
    assert given.tolist() == [5] * 64


def test_checks_hold_for_every_launch() -> None:
    steps = [launch("add", ["x", "y", 64]), launch("add", ["y", "x", 64])]
    arguments = [words("x", init="arange"), words("y")]
    plain = ran(steps, arguments)
    checked = ran(steps, arguments, check=True, race=True, sms=2)
    assert np.array_equal(plain.buffers["y"], checked.buffers["y"])
    assert checked.sms == 2


def test_it_knows_the_launch_that_takes_most_of_an_sm() -> None:
    step = launch("add", ["x", "y", 8], "4 - i", "32 << i % 2", dynamic_shared="64 * (i == 3)")
    found = ran([{"repeat": 4, "variable": "i", "step": [step]}], [words("x"), words("y")])
    largest = found.largest["add"]
    assert (largest.grid[0], largest.threads_per_block, largest.dynamic_shared) == (1, 64, 64)


def test_code_stays_in_l2_and_parameters_do_not() -> None:
    """Each launch has parameters of its own; variables in constant memory stay where they are."""
    machine = replace(
        load_machine("v100"), constant_cache=constant_lines(64, 4, 2), instruction_cache=instruction_cache(128, 4, 2)
    )
    program = parse_program(
        {
            "argument": [words("x"), words("y", init="ones")],
            "step": [{"repeat": 3, "step": [launch("sum", ["x"]), launch("add", ["x", "y", 64])]}],
        }
    )
    found = run_program(module("v100"), program, machine, engine="python")
    assert found.buffers["x"].tolist() == [3] * 64
    stats = found.totals["add"].stats
    assert stats["l2_constant_misses"] == found.totals["add"].calls == 3
    summed = found.totals["sum"].stats
    assert summed["l2_constant_misses"] == 3 + 1
    assert stats["l2_instruction_misses"] + summed["l2_instruction_misses"] < stats["instruction_misses"] + summed[
        "instruction_misses"
    ]
