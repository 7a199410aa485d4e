"""The batching paper's kernels: PTX against references, and what samples/README.md says of them."""

from __future__ import annotations

from functools import cache

import pytest

from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import run
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import load
from binalloc.launch.file import compare, load_launch, reference_outputs
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.batches.profiled import profiled_batches
from tests.golden.test_samples import BATCHES, readme_rows
from tests.support.kits.launch.references import differences_from_reference
from tests.support.paths import SAMPLES, sample_file, sample_files

MACHINE = load_machine("gem5gpu-batching")
NAMES = [path.stem for path in sample_files(".ptx") if SAMPLES / "batching" in path.parents]
ROWS = {row["sample"]: row for row in readme_rows("batching")}
IN_CONSTANT_MEMORY = "cenergy"  # the interpreter gives variables no contents


@cache
def imported(name: str) -> Module:
    return import_ptx(sample_file(f"{name}.ptx").read_text(), f"{name}.ptx", machine=MACHINE).module


@pytest.mark.parametrize("name", [name for name in NAMES if name != IN_CONSTANT_MEMORY])
def test_ptx_leaves_what_the_reference_says(name: str) -> None:
    assert differences_from_reference(name) == []


def test_a_kernel_with_constants_leaves_what_the_reference_says() -> None:
    launch = load_launch(sample_file(f"{IN_CONSTANT_MEMORY}.toml"), "test")
    before = launch.make_buffers()
    result = run(imported(IN_CONSTANT_MEMORY), launch.kernel, launch, MACHINE, engine="python")
    expected = reference_outputs(launch, before)
    assert (expected["energygrid"] > before["energygrid"] + 0.1).all()
    assert compare(launch, expected, result.buffers) == []


@pytest.mark.parametrize("name", [*BATCHES, *NAMES])
def test_readme_states_blocks_registers_and_comparison(name: str) -> None:
    row, launch = ROWS[name], load_launch(sample_file(f"{name}.toml"))
    module = load(sample_file(f"{name}.loom")) if name in BATCHES else imported(name)
    assert row["block"] == " x ".join(str(n) for n in launch.block if n > 1)
    assert row["blocks"] == " x ".join(f"{n:,}" for n in launch.grid if n > 1)
    assert row["registers"] == str(module.function(name).info.registers)
    loose = {a.compare.mode for a in launch.buffers} - {"exact"}
    assert (row["compared"] == "exact") == (not loose)


@pytest.mark.parametrize("name", NAMES)
def test_data_are_larger_than_l2(name: str) -> None:
    launch = load_launch(sample_file(f"{name}.toml"))
    local = imported(name).function(name).info.local_bytes * launch.blocks * launch.threads_per_block
    assert sum(b.nbytes for b in launch.make_buffers().values()) + local > 4 * MACHINE.l2.bytes
    assert load_launch(sample_file(f"{name}.toml"), "test").blocks <= 4


@pytest.mark.rotates("long commands")
@pytest.mark.parametrize("name", ["mapper", "dense", "pgain", "splitk", "blackScholes"])
def test_readme_states_the_batches(name: str) -> None:
    options = RunOptions(machine=MACHINE, sms=8)
    formula = profiled_batches(imported(name), name, load_launch(sample_file(f"{name}.toml")), options).formula
    assert ROWS[name]["batches"] == f"{formula.kind} {formula.value}"
