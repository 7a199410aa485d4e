"""CUDA source, cubins and PTX, wherever a command takes a binary. A small script stands for nvcc."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from binalloc.frontend.fatbin.records import E_MACHINE_CUDA
from tests.support.kits.bounds import FOLDER, PTX
from tests.support.kits.cli import call, refused

SOURCE = str(FOLDER / "bounds.cu")
SCRIPT = """#!{python}
import pathlib, shutil, sys
if "--list-gpu-arch" in sys.argv:
    print({listed!r}.replace(" ", chr(10)))
elif "--version" in sys.argv:
    print("Cuda compilation tools, release 13.0, V13.0.88")
elif {says!r}:
    sys.stderr.write({says!r})
    sys.exit(1)
else:
    shutil.copy({ptx!r}, sys.argv[sys.argv.index("-o") + 1])
    pathlib.Path(__file__).with_name("asked").write_text(" ".join(sys.argv[1:4]))
"""


def nvcc(folder: Path, patch: pytest.MonkeyPatch, *, says: str = "", listed: str = "compute_75 compute_80") -> Path:
    """A compiler that writes the PTX of `bounds.cu`, or says what is wrong. Returns the file that tells its options."""
    folder.mkdir()
    made = folder / "nvcc"
    made.write_text(SCRIPT.format(python=sys.executable, says=says, listed=listed, ptx=PTX))
    made.chmod(0o755)
    patch.setenv("PATH", str(folder))
    return folder / "asked"


@pytest.mark.parametrize(
    ("machine", "architecture"),
    [("gtx680", "compute_75"), ("v100", "compute_75"), ("a100", "compute_80"), ("h100", "compute_80")],
)
def test_a_source_is_compiled_for_the_machine(
    machine: str, architecture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest architecture that is no newer than the machine, else the oldest; and that is said."""
    asked = nvcc(tmp_path / "bin", monkeypatch)
    answer = call("inspect", SOURCE, "--kernel", "fma_bound", "--machine", machine, "--block", "128", "--json")
    assert answer.code == 0, answer.err
    assert asked.read_text() == f"-ptx -arch={architecture} -lineinfo"
    first, *_, second = answer.err.splitlines()
    assert first == f"binalloc: {SOURCE}: compiled by nvcc 13.0 for {architecture} (-ptx -lineinfo)"
    assert f"{SOURCE} is CUDA source: imported in memory for {machine}" in second


def test_import_asks_for_an_architecture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = nvcc(tmp_path / "bin", monkeypatch, listed="compute_75 compute_80 compute_90")
    out = str(tmp_path / "k.loom")
    assert call("import-ptx", SOURCE, "-o", out, "--arch", "sm_89").code == 0
    assert asked.read_text() == "-ptx -arch=compute_80 -lineinfo"
    assert call("verify", SOURCE, out, "--kernel", "fma_bound").code == 0


def test_what_nvcc_says_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nvcc(tmp_path / "bin", monkeypatch, says="k.cu(3): warning #177-D\nk.cu(7): error: y is undefined\n\n1 error\n")
    answer = call("recommend", SOURCE, "--block", "128")
    assert answer.code == 3
    lines = answer.err.splitlines()
    assert lines[0] == "binalloc: k.cu(3): warning #177-D"
    assert "nvcc does not compile it for compute_75; found k.cu(7): error: y is undefined" in lines[-1]
    assert call("recommend", SOURCE, "--block", "128", "--json").json["error"]["exit_code"] == 3


def test_a_compiler_of_another_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nvcc(tmp_path / "bin", monkeypatch, listed="")
    assert "does not say for which architectures" in refused(2, "inspect", SOURCE)


@pytest.mark.parametrize(
    "command", ["recommend", "inspect", "run", "rewrite", "import-ptx", "launch-skeleton", "sweep"]
)
def test_without_nvcc_it_says_how(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    launch = tmp_path / "k.toml"
    launch.write_text('kernel = "fma_bound"\ngrid = 1\nblock = 64\n')
    more = ["--launch", str(launch)] if command in ("run", "sweep") else []
    line = refused(2, command, SOURCE, *more)
    assert "there is no nvcc on the path" in line
    assert "nvcc -ptx -arch=sm_75 -lineinfo FILE.cu -o FILE.ptx" in line


def test_with_nvcc_itself(tmp_path: Path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed: a script stands for it in the other tests")
    broken = tmp_path / "broken.cu"
    broken.write_text("__global__ void k(float *x) { x[threadIdx.x] = y; }\n")
    answer = call("inspect", str(broken))
    assert answer.code == 3
    assert 'identifier "y" is undefined' in answer.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.cu"]


@pytest.mark.parametrize(
    "command",
    ["recommend", "inspect", "import-ptx", "launch-skeleton", "rewrite", "disasm", "schedule", "verify", "diff", "asm",
     "run", "sweep", "compare-allocators"],
)  # fmt: skip
def test_a_cubin_says_what_is_possible(command: str, tmp_path: Path) -> None:
    cubin = tmp_path / "k.cubin"
    cubin.write_bytes(b"\x7fELF\x02\x01\x01".ljust(18, b"\0") + E_MACHINE_CUDA.to_bytes(2, "little") + bytes(100))
    launch = tmp_path / "k.toml"
    launch.write_text('kernel = "k"\ngrid = 1\nblock = 64\n')
    more = {"verify": [str(cubin)], "diff": [str(cubin)], "run": ["--launch", str(launch)], "asm": ["-o", "x.loom"],
            "schedule": ["-o", "x.loom"], "compare-allocators": ["--registers", "32"]}  # fmt: skip
    line = refused(3, command, str(cubin), *more.get(command, []))
    assert "this is a cubin: machine code of a GPU (SASS)" in line
    assert "code=compute_75" in line


def test_verify_and_diff_take_ptx(tmp_path: Path) -> None:
    out = str(tmp_path / "out.loom")
    one = ["--kernel", "fma_bound"]
    assert call("rewrite", PTX, *one, "--machine", "a100", "--block", "256", "--registers", "10", "-o", out).code == 0
    answer = call("verify", PTX, out, *one)
    assert answer.code == 0, answer.err
    assert "imported in memory for a100" in answer.err, "the machine that the rewrite is scheduled for"
    assert "symbolic check passed" in answer.out
    assert call("verify", PTX, out).code == 0
    broken = Path(PTX).read_text().replace("fma.rn.f32", "fma.rz.f32", 1)
    (tmp_path / "other.ptx").write_text(broken)
    assert call("verify", str(tmp_path / "other.ptx"), out, *one).code == 1
    assert call("diff", PTX, out, *one).code == 0
    assert "standard input holds one binary" in refused(2, "verify", "-", "-")
