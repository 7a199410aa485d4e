"""Mutations of the product, to see what the tests catch: `python -m tests.fuzz.mutations --count 20 --seed 20261127`.

Each mutation changes one place, drawn among all of the package, in a copy of the last commit. The tests of the place's
room run first, then all others, each time until the first failure. A mutation that no test notices has survived: either
it changes nothing that can be seen, or a test is missing. One line each; `--list` only shows the places.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import ROOT

SHAPES = ROOT / "binalloc" / "report" / "shapes"  # types alone, nothing of it runs
COMPARED = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.In: ("in", "not in"), ast.Is: ("is", "is not"),
}  # fmt: skip
COMPUTED = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.FloorDiv: ("//", "*"), ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"), ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"),
}  # fmt: skip
CASE_SECONDS = 5400
"""A mutation under which the tests do not end counts as seen. The whole suite takes 1,500 seconds on one core."""
TEST_SECONDS = 200
"""So does one under which a single test does not end. The longest takes 30 seconds."""


@dataclass(frozen=True, order=True)
class Mutation:
    """One place of a file, in characters from the file's start."""

    path: Path  #: from the root of the project
    line: int  #: from 1
    start: int
    end: int
    text: str  #: what stands there afterwards

    def show(self) -> str:
        lines = (ROOT / self.path).read_text().splitlines()
        return f"{self.path}:{self.line}: {lines[self.line - 1].strip()!r}: {self._before()!r} -> {self.text!r}"

    def _before(self) -> str:
        return (ROOT / self.path).read_text()[self.start : self.end]


class _Places(ast.NodeVisitor):
    """The mutations of one file. Annotations and texts are left as they are."""

    def __init__(self, path: Path, source: str) -> None:
        self.path, self.source = path, source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.found: list[Mutation] = []

    def add(self, line: int, start: int, end: int, text: str) -> None:
        self.found.append(Mutation(self.path.relative_to(ROOT), line, start, end, text))

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self._place(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._place(node.end_lineno, node.end_col_offset)

    def _place(self, line: int, column: int) -> int:
        """Characters from the file's start. The columns of a node are bytes."""
        text = self.source[self.starts[line - 1] : self.starts[line]]
        return self.starts[line - 1] + len(text.encode()[:column].decode())

    def between(self, left: ast.expr, right: ast.expr, symbols: tuple[str, str]) -> None:
        """Replace the operator between two operands."""
        start, end = self.end(left), self.start(right)
        found = self.source.find(symbols[0], start, end)
        if found >= 0 and self.source.find(symbols[0], found + 1, end) < 0:
            self.add(left.end_lineno or left.lineno, found, found + len(symbols[0]), symbols[1])

    def visit_Compare(self, node: ast.Compare) -> None:
        symbols = COMPARED.get(type(node.ops[0]))
        if len(node.ops) == 1 and symbols is not None:
            self.between(node.left, node.comparators[0], symbols)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        symbols = COMPUTED.get(type(node.op))
        if symbols is not None and not isinstance(node.left, ast.JoinedStr):
            self.between(node.left, node.right, symbols)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        symbols = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        self.between(node.values[0], node.values[1], symbols)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if type(node.value) is int:
            self.add(node.lineno, self.start(node), self.end(node), str(node.value + 1))

    def visit_If(self, node: ast.If) -> None:
        start, end = self.start(node.test), self.end(node.test)
        self.add(node.lineno, start, end, f"not ({self.source[start:end]})")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.add(node.lineno, self.start(node), self.end(node), "pass")
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """Has only an annotation below it."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Python 3.11 gives the parts of such a text no places of their own."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for child in (node.args, *node.decorator_list, *node.body):
            self.visit(child)


def all_places() -> list[Mutation]:
    """Every mutation of the package, in the order of files and places."""
    found: list[Mutation] = []
    for path in sorted((ROOT / "binalloc").rglob("*.py")):
        if SHAPES not in path.parents:
            source = path.read_text()
            places = _Places(path, source)
            places.visit(ast.parse(source))
            found += sorted(places.found)
    return found


def stages(mutation: Mutation) -> Iterator[list[str]]:
    """The tests in the order in which they run: the room's, whole commands, other rooms', all that is left."""
    room = mutation.path.parts[1].removesuffix(".py")
    own = [f"tests/{kind}/{room}" for kind in ("unit", "property") if (ROOT / "tests" / kind / room).exists()]
    if own:
        yield own
    whole = ["tests/golden", "tests/differential"]  # whole commands on samples: short, and they see much
    yield whole
    rest = [f"--ignore={path}" for path in (*own, *whole)]
    yield ["tests/unit", *rest]
    yield ["tests", "--ignore=tests/unit", *rest]


def outcome(mutation: Mutation) -> str:
    """The first test that fails, in a copy of the last commit that has the mutation."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutation") as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(tree)], check=True)
        path = tree / mutation.path
        source = path.read_text()
        path.write_text(source[: mutation.start] + mutation.text + source[mutation.end :])
        commit = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=tree, check=True, capture_output=True, text=True
        ).stdout.strip()
        for number, stage in enumerate(stages(mutation)):
            failed = _first_failure(tree, commit, stage, CASE_SECONDS - (time.monotonic() - began))
            if failed:
                return f"seen by {failed} (stage {number + 1}, {time.monotonic() - began:.0f} s)"
    return f"SURVIVED ({time.monotonic() - began:.0f} s)"


def _first_failure(tree: Path, commit: str, chosen: list[str], seconds: float) -> str:
    """Return the first line of pytest's summary that names a failure; empty if all tests passed."""
    line = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not full"]
    line += ["-o", f"faulthandler_timeout={TEST_SECONDS}", "-o", "faulthandler_exit_on_timeout=true", *chosen]
    env = {**os.environ, "PYTHONPATH": str(tree), "BINALLOC_ROTATE": commit}
    with subprocess.Popen(
        line, cwd=tree, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as child:
        try:
            out, _ = child.communicate(timeout=max(1.0, seconds))
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return "tests that did not end"
    if child.returncode in (0, 5):  # 5: none was chosen
        return ""
    lines = out.strip().splitlines() or [""]
    named = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    if named:
        return named[0][:150]
    if "Timeout (" in out:  # faulthandler's; the tests' own frame is among those that follow
        return f"a test that did not end: {next((line.strip() for line in lines if 'test_' in line), '')[:120]}"
    return f"the start of the tests: {lines[-1].strip()[:120]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip", type=int, default=0, help="mutations of the draw that have been looked at")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="only show the places")
    given = parser.parse_args()
    drawn = random.Random(given.seed).sample(all_places(), given.count)[given.skip :]
    with ThreadPoolExecutor(given.jobs) as pool:
        found = [""] * len(drawn) if given.list else pool.map(outcome, drawn)
        for number, (mutation, seen) in enumerate(zip(drawn, found, strict=True), given.skip + 1):
            print(f"{number:3} {mutation.show()} {seen}", flush=True)


if __name__ == "__main__":
    main()
