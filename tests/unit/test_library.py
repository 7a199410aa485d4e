"""binalloc as a library: one front door that costs nothing to open, names and paths as arguments, errors without
command-line flags."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import binalloc
from binalloc.cli.group import SPELLINGS
from tests.support.kits.cli import ROOT, loom, refused
from tests.support.paths import sample_file

SOURCES = sorted(p for p in (ROOT / "binalloc").rglob("*.py") if p.relative_to(ROOT / "binalloc").parts[0] != "cli")
FLAG = re.compile(r"(?<![\w-])--[a-z]")
# Programs of their own, what only the command line prints, and flags of other programs, the linker and pytest.
OF_THE_COMMAND_LINE = {
    "isa/table/doc.py", "report/runs/run.py", "report/runs/program.py", "report/runs/printed.py",
    "laboratory/demo/programs.py",
    "emulator/packing/machine_code.py", "frontend/nvcc.py",
    "testing/baseline.py", "testing/plugin.py",
}  # fmt: skip


def texts(path: Path) -> Iterator[str]:
    """Every string of a source file that is no docstring."""
    tree = ast.parse(path.read_text())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    documents = {id(n.body[0].value) for n in ast.walk(tree) if isinstance(n, documented) and n.body
                 and isinstance(n.body[0], ast.Expr)}  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node.value


def test_the_library_speaks_of_no_flag() -> None:
    found = [
        f"{path.name}: {text}"
        for path in SOURCES
        if (name := path.relative_to(ROOT / "binalloc").as_posix()) not in OF_THE_COMMAND_LINE
        if not name.startswith("report/shapes/")  # of what the command line prints
        for text in texts(path)
        if FLAG.search(text)
    ]
    assert found == []


def test_everything_shown_leaves_by_the_functions_that_escape_it() -> None:
    """`say`, `note` and `print_json` of `cli.terminal`; sys.stderr is written to for the progress line alone.
    `doc.py` and `wheel.py` are programs of their own."""
    for path in sorted((ROOT / "binalloc").rglob("*.py")):
        text = path.read_text()
        echoes = len(re.findall(r"click\.echo\(|(?<![\w.])print\(|sys\.stdout\.write|sys\.stdout\.buffer", text))
        allowed = {"terminal.py": 3, "group.py": 1, "doc.py": 1, "wheel.py": 3}.get(path.name, 0)
        assert echoes <= allowed, path.name


def test_the_command_line_spells_every_parameter_that_hints_name() -> None:
    named = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Hint":
                named |= set(re.findall(r"\{(\w+)\}", ast.unparse(node.args[0]).replace("{{", "{").replace("}}", "}")))
    assert {"registers", "kernel", "max_cycles", "schedule"} <= named
    assert named - set(SPELLINGS) - {"name"} == set()


def test_importing_it_imports_nothing_heavy() -> None:
    program = "import sys, binalloc; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert set(run.stdout.split()) & {"numpy", "numba", "construct", "ortools", "networkx", "click"} == set()


def test_every_name_it_exports_is_there() -> None:
    for name in binalloc.__all__:
        assert getattr(binalloc, name) is not None
    assert set(binalloc.__all__) <= set(dir(binalloc))
    assert {n for names in binalloc._HOMES.values() for n in names} == set(binalloc.__all__) - {"__version__"}
    with pytest.raises(AttributeError, match="nothing"):
        binalloc.nothing  # noqa: B018


def test_a_request_takes_names_and_paths() -> None:
    launch = sample_file("callchain.toml")
    request = binalloc.Request(machine="gtx680", launch=str(launch), registers=6, slots=4, emulate=False)
    assert request.machine == binalloc.load_machine("gtx680")
    assert request.launch == binalloc.load_launch(launch)
    assert request == binalloc.Request(
        "", binalloc.load_machine("gtx680"), binalloc.load_launch(launch), registers=6, slots=4, emulate=False
    )
    outcome = binalloc.rewrite_kernel(binalloc.load(loom("callchain")), request)
    assert (outcome.request.kernel, outcome.verified, outcome.rewritten.registers) == ("callchain", True, 6)
    assert binalloc.Request().machine.name == "gtx680"
    own = ROOT / "binalloc/models/machines/c2075.toml"
    assert binalloc.Request(machine=own).machine.name == "c2075"


def test_its_errors_name_parameters_and_the_command_line_spells_them() -> None:
    module = binalloc.load(loom("callchain"))
    with pytest.raises(binalloc.UsageError, match="unknown machine"):
        binalloc.Request(machine="nope")
    with pytest.raises(binalloc.UsageError, match="cannot read the launch file"):
        binalloc.Request(launch="nope.toml")
    with pytest.raises(binalloc.UsageError, match=r"^registers: .* expected 1 to 63$"):
        binalloc.rewrite_kernel(
            module, binalloc.Request(registers=200, launch=sample_file("callchain.toml"), emulate=False)
        )
    with pytest.raises(binalloc.UsageError, match="Give launch, or choose policy unified"):
        binalloc.rewrite_kernel(module, binalloc.Request(launch=sample_file("callchain.toml"), emulate=False))
    launch = ["--launch", str(sample_file("callchain.toml")), "--no-emulate"]
    assert "error: --registers: " in refused(2, "rewrite", loom("callchain"), "--registers", "200", *launch)
    assert "Give --launch, or choose --policy unified" in refused(2, "rewrite", loom("callchain"), *launch)


def test_the_package_holds_every_file_that_is_no_source() -> None:
    import tomllib

    package = ROOT / "binalloc"
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["binalloc"]
    packed = {path for pattern in patterns for path in package.glob(pattern)}
    there = {p for p in package.rglob("*") if p.is_file() and p.suffix not in (".py", ".pyc")}
    assert {p.name for p in there} >= {"ISA.md", "LAUNCH.md", "MACHINES.md", "PTX.md", "JSON.md", "py.typed"}
    assert there - packed == set()
