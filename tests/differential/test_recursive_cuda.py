"""What nvcc makes of recursive CUDA: fib, Ackermann, quicksort, a tree of virtual functions, a ray tracer, parity;
beside the interpreter of the tests and plain Python, and what commands say of such kernels."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binalloc.errors import KernelFault
from binalloc.frontend.importer import import_ptx
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.instruction import Module
from binalloc.isa.text.assembler import assemble
from binalloc.isa.text.disassembler import disassemble
from tests.support.kits.cli import ROOT, call, refused
from tests.support.ptx.harness import launched
from tests.support.ptx.interpreter.interpreter import interpret
from tests.support.ptx.patterns import Array

PTX = ROOT / "tests/data/ptx/recursion.ptx"
TEXT = PTX.read_text()
THREADS = 64
LANE = np.arange(THREADS)
CYCLES = {
    "fibonacci": "fib -> fib", "ackermanns": "ackermann -> ackermann", "sort": "quicksort -> quicksort",
    "tree": "Sum::value -> Sum::value", "rays": "trace -> trace", "parity": "even -> odd -> even",
}  # fmt: skip


@cache
def module(stack: int = 4096) -> Module:
    return import_ptx(TEXT, "recursion.ptx", stack_bytes=stack, machine="gtx680").module


def values(kernel: str) -> list[Any]:
    """What the kernel is launched with."""
    if kernel == "sort":
        return [np.random.default_rng(5).integers(-99, 99, 24 * THREADS).astype(np.int32), np.int32(24)]
    if kernel == "rays":
        return [np.zeros(4 * THREADS, np.uint32), np.uint32(5)]
    return [np.zeros(THREADS, np.float64 if kernel == "tree" else np.uint32)]


def emulated(made: Module, kernel: str, given: list[Any], **options: Any) -> Array:
    names = [p.name for p in made.function(kernel).info.params]
    return launched(made, kernel, names, given, grid=2, block=THREADS // 2, **options)[names[0]]


def ran(kernel: str) -> Array:
    """The buffer after a launch, in which the interpreter leaves the same."""
    given = values(kernel)
    interpret(TEXT, kernel, 2, THREADS // 2, given)
    found = emulated(module(), kernel, values(kernel), check=True)
    np.testing.assert_array_equal(found.view(np.uint8), given[0].view(np.uint8))
    return found


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def ackermann(m: int, n: int) -> int:
    if m == 0:
        return n + 1
    return ackermann(m - 1, 1 if n == 0 else ackermann(m, n - 1))


def parity(odd: bool, n: int, salt: int) -> int:
    """The two functions of each other, one of which begins."""
    low = 2**32 - 1
    if n == 0:
        return ~salt & low if odd else salt
    return parity(False, n - 1, salt + 7) + n & low if odd else parity(True, n - 1, salt * 3 + 1 & low) ^ n


def test_what_plain_python_says_too() -> None:
    np.testing.assert_array_equal(ran("fibonacci"), [1000 * fib(t % 13) + t for t in range(THREADS)])
    np.testing.assert_array_equal(ran("ackermanns"), [ackermann(t % 3, t % 5) for t in range(THREADS)])
    before = values("sort")[0].reshape(THREADS, 24)
    np.testing.assert_array_equal(ran("sort").reshape(THREADS, 24), np.sort(before, axis=1))
    expected = [parity(t % 2 == 1, t % 29 if t % 2 else t % 31, t) for t in range(THREADS)]
    np.testing.assert_array_equal(ran("parity"), expected)


@pytest.mark.parametrize("kernel", ["tree", "rays"])
def test_structs_and_virtual_functions(kernel: str) -> None:
    assert len(np.unique(ran(kernel))) > 40


@pytest.mark.rotates
@pytest.mark.parametrize("kernel", CYCLES)
def test_not_optimised_in_a_file_and_as_text(kernel: str) -> None:
    expected = emulated(module(), kernel, values(kernel))
    plain = import_ptx(TEXT, optimised=False, stack_bytes=8192, machine="gtx680").module
    again = read_module(write_module(module()), path="")
    for other in (plain, again, assemble(disassemble(module()))):
        np.testing.assert_array_equal(emulated(other, kernel, values(kernel)), expected)


@pytest.mark.rotates("long")
@pytest.mark.parametrize("kernel", ["fibonacci", "rays"])
def test_the_engines_agree(kernel: str) -> None:
    found = [emulated(module(), kernel, values(kernel), engine=engine) for engine in ("python", "numba")]
    np.testing.assert_array_equal(*found)


def test_a_stack_too_small_says_how_deep_it_came() -> None:
    with pytest.raises(KernelFault) as caught:
        emulated(module(64), "rays", values("rays"))
    text = str(caught.value)
    assert "stack overflow" in text
    assert "recursion.cu:" in text
    assert "_Z5trace3Rayjy needs a frame of" in text
    assert "the stack of 64 bytes per thread" in text


LAUNCH = """kernel = "{kernel}"
grid = 2
block = 32
[[argument]]
name = "{kernel}_param_0"
kind = "buffer"
dtype = "u32"
shape = [64]
"""


def files(folder: Path, kernel: str) -> tuple[str, str]:
    binary, launch = str(folder / "r.loom"), folder / "launch.toml"
    launch.write_text(LAUNCH.format(kernel=kernel))
    assert call("import-ptx", str(PTX), "-o", binary, "--stack", "2048", "--block-dim", "32").code == 0
    return binary, str(launch)


@pytest.mark.parametrize("kernel", CYCLES)
def test_what_needs_a_static_call_graph_refuses_the_kernel_and_names_the_cycle(kernel: str, tmp_path: Path) -> None:
    binary, _ = files(tmp_path, kernel)
    out = str(tmp_path / "out.loom")
    commands = [("rewrite", "--registers", "24", "-o", out), ("recommend",)]
    commands += [("inspect", view) for view in ("--webs", "--live", "--pressure", "--stack", "--minimum")]
    for command, *options in commands:
        text = refused(1, command, binary, "--kernel", kernel, *options)
        assert f"kernel {kernel}: recursion: the depth of the call stack is not known statically" in text
        assert f"found {CYCLES[kernel]}." in text
        assert "other kernels can be rewritten" in text
    assert not (tmp_path / "out.loom").exists()
    verdict = call("verify", binary, binary, "--kernel", kernel)
    assert verdict.code == 1
    assert f"recursion cannot be followed ({CYCLES[kernel]})" in verdict.out
    assert call("inspect", binary, "--kernel", kernel, "--cfg").code == 0


def test_the_other_kernels_of_the_file_are_rewritten(tmp_path: Path) -> None:
    binary, launch = files(tmp_path, "plain")
    out = str(tmp_path / "out.loom")
    assert call("rewrite", binary, "--kernel", "plain", "--registers", "16", "-o", out).code == 0
    assert call("verify", binary, out, "--launch", launch).code == 0
    other = str(tmp_path / "other.toml")
    Path(other).write_text(LAUNCH.format(kernel="fibonacci"))
    counts = [call("run", file, "--launch", other, "--json").json["cycles"] for file in (binary, out)]
    assert counts[0] == counts[1]


def test_the_option_says_how_large_the_stack_is(tmp_path: Path) -> None:
    out = str(tmp_path / "r.loom")
    sizes = []
    for options in ((), ("--stack", "4096")):
        assert call("import-ptx", str(PTX), "-o", out, *options).code == 0
        sizes.append(read_module((tmp_path / "r.loom").read_bytes(), path="").function("sort").info.local_bytes)
    assert sizes[1] - sizes[0] == 4096 - 1024
    assert "--stack" in refused(2, "import-ptx", str(PTX), "-o", out, "--stack", "0")
    launch = tmp_path / "launch.toml"
    launch.write_text(LAUNCH.format(kernel="fibonacci"))
    small = str(tmp_path / "small.loom")
    assert call("import-ptx", str(PTX), "-o", small, "--stack", "32").code == 0
    text = refused(5, "run", small, "--launch", str(launch))
    assert "stack overflow" in text
    assert "Import the PTX with more --stack" in text
