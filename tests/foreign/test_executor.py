"""The executor of CUDA source, on a program of our own: what it computes, what it writes down, and that the emulator
leaves the same. Skipped where there is no g++. `own.ptx` is what `nvcc -ptx -arch=sm_75 -fmad=false own.cu` made."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.foreign.build import build
from tests.foreign.check import differences
from tests.foreign.names import Names
from tests.foreign.prepare import deduced_kernels, prepared
from tests.foreign.replay import Replay, rolled
from tests.support.kits.cli import call

HERE = Path(__file__).parent
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here, which compiles CUDA for the host")
N = 256


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The folder of the program's build, with its trace; what it printed."""
    folder = tmp_path_factory.mktemp("own")
    source = folder / "from"
    source.mkdir()
    shutil.copy(HERE / "own.cu", source)
    build(source, folder, ["own.cu"], [])
    done = subprocess.run(
        [folder / "program", str(N)], env=os.environ | {"CUDA_CPU_TRACE": str(folder / "trace")}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    return folder, done.stdout


@pytest.mark.rotates("long")
@needs_compiler
def test_a_program_runs_on_the_host(ran):
    folder, printed = ran
    values = [i * i % 101 for i in range(N)]
    last = (N - 1) * 0.5 * 2 + 0.5 + 3
    assert printed.split() == [str(3 * sum(values)), str(N), f"{5 * 0.5 * 4 + 1 + 3:g}", f"{last:g}"]
    records = [json.loads(line) for line in (folder / "trace" / "trace.jsonl").read_text().splitlines()]
    launches = [r for r in records if r["do"] == "launch"]
    assert [r["kernel"] for r in launches] == ["block_sums"] * 3 + ["warps", "scaled<float>", "scaled"]
    assert launches[5]["grid"] == [N // 2 // 64, 1, 1]
    assert launches[5]["arguments"][0]["pointers"] == [[0, 4, N // 2 * 4]], "a pointer in a struct"
    warps = next(r for r in records if r["do"] == "end" and r.get("id") == 2)
    sums = np.fromfile(folder / "trace" / warps["file"], np.int32)
    assert sums.tolist() == [sum(values[k : k + 32]) for k in range(0, N, 32)]


@needs_compiler
def test_the_order_of_threads_is_nothing_to_a_program_without_races(ran):
    folder, printed = ran
    again = subprocess.run(
        [folder / "program", str(N)], env=os.environ | {"CUDA_CPU_BACKWARDS": "1"}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert again.stdout == printed


@needs_compiler
def test_the_clock_that_seeds_random_numbers_stands_still(tmp_path):
    source = tmp_path / "from"
    source.mkdir()
    (source / "main.cu").write_text(
        'extern "C" int said();\n'
        'int main() { time_t t; time(&t); printf("%ld %ld %d", (long)time(0), (long)t, said()); }\n'
    )
    (source / "said.c").write_text("#include <time.h>\nint said() { return time(NULL); }\n")
    build(source, tmp_path, ["main.cu", "said.c"], [])
    assert subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=True).stdout == "1 1 1"


@needs_compiler
@pytest.mark.parametrize("margin", [0, 64])
def test_the_emulator_leaves_what_the_host_did(ran, tmp_path, margin):
    folder, _ = ran
    replay = Replay(folder / "trace", Names(folder / "program", [HERE / "own.ptx"]), margin=margin)
    replay.read()
    replay.write(tmp_path / "sequence")
    sequence, saved = tmp_path / "sequence", tmp_path / "saved"
    answer = call(
        "run", str(HERE / "own.ptx"), "--launch", str(sequence / "program.toml"), "--save", str(saved),
        "--engine", "python", "--json",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    assert len(answer.json["launches"]) == 6
    found = differences(sequence, saved, 0.0, 0.0)
    assert found["bad"] == {}
    assert found["other_bits"] == 0
    assert found["values"] > 3 * N
    for name in json.loads((sequence / "expected.json").read_text()):
        right = np.load(saved / f"{name}.npy")
        wrong = right.copy()
        wrong.view(np.uint8)[-1] ^= 1
        np.save(saved / f"{name}.npy", wrong)
        assert differences(sequence, saved, 0.0, 0.0)["bad"].keys() == {name}, "a bit that is wrong is found"
        np.save(saved / f"{name}.npy", right)


def test_launches_and_dynamic_shared_memory_alone_are_changed():
    text = (
        "// k<<<1, 1>>>(0)\n"
        "template <class T> __global__ void k(T *p) { extern __shared__ T s[]; s[0] = *p; }\n"
        "template <class T> __global__\nvoid __launch_bounds__(64) m(T);\n"
        '__global__ void l(int); void f() { ns::l<<<dim3(1, 2), 3\n, 4>>>(5); k<float><<<1, 1>>>(p); '
        'k <<< 1, 1 >>>(p); "<<<"; }\n'
    )
    deduced = deduced_kernels(text)
    assert deduced == {"k", "m"}
    made = prepared(text, deduced)
    assert made.count("\n") == text.count("\n"), "lines keep their numbers"
    assert made.startswith("// k<<<1, 1>>>(0)\n")
    assert made.rstrip().endswith('"<<<"; }')
    assert '::cuda_cpu::launch(::cuda_cpu::config(dim3(1, 2), 3\n, 4), R"(ns::l)", ns::l)(5)' in made
    assert '::cuda_cpu::launch(::cuda_cpu::config(1, 1), R"(k<float>)", k<float>)(p)' in made
    assert "{ k(cuda_cpu_a...); })(p)" in made
    assert "extern" not in made


@pytest.mark.parametrize(
    ("steps", "tables"),
    [
        ("abab", [["repeat = 2", "a", "b"]]),
        ("aabc", [["a"], ["a"], ["b"], ["c"]]),
        ("xaaaay", [["x"], ["repeat = 4", "a"], ["y"]]),
        ("abcabcabd", [["repeat = 2", "a", "b", "c"], ["a"], ["b"], ["d"]]),
    ],
)
def test_runs_of_steps_become_loops(steps, tables):
    plain = [[line for line in table if not line.startswith("[[")] for table in rolled(list(steps))]
    assert plain == tables
