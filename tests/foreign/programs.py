"""The programs of `suites/`, all of them: built, checked at two budgets, and the README's table of what came out.

    python -m tests.foreign.programs --suites DIR [--only NAME ...] [--out DIR] [--jobs N]

The folder of --suites has the suites as `rodinia`, `polybench`, `hecbench` and `samples`. Rows go to standard output,
everything else that is known to programs.json in the folder of --out, where each program has a folder of its own.
One that fails does not stop the others. The exit code is 1 where one differs from the host, or could not be run.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.foreign.build import build
from tests.foreign.check import check
from tests.foreign.inputs import write_inputs

HERE = Path(__file__).parent
SUITES = ("rodinia", "polybench", "hecbench", "samples")
COLUMNS = (
    "suite", "program", "arguments", "kernels", "launches", "warp instructions", "values", "other bits",
    "largest difference", "registers", "budgets",
)  # fmt: skip
HEAD = f"| {' | '.join(COLUMNS)} |\n|---|---|---|{'--:|' * 7}---|"
MACHINE = "gtx680"


@dataclass(frozen=True)
class Program:
    """What is run of a suite. Files and folders are the suite's, relative to `folder`.

    compile, ptx: sources for the host and for the device, as `build` wants them; ptx is compile where it isn't said.
    include: folders; `{suites}` is where the suites are. define: macros; n: what all of `sizes` are. arguments:
    `{name}` is a file of `inputs.py`; inputs: others, where the program looks for them. margin, untyped, rtol, atol: as
    in `check`.
    """

    suite: str
    home: str
    name: str
    compile: tuple[str, ...]
    folder: str = "."
    ptx: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    define: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    n: int = 0
    arguments: str = ""
    inputs: tuple[str, ...] = ()
    margin: int = 0
    untyped: str = "u32"
    rtol: float = 1e-5
    atol: float = 1e-6

    @property
    def files(self) -> list[str]:
        """Of `inputs.py`."""
        return [*re.findall(r"{(.+?)}", self.arguments), *self.inputs]

    @property
    def told(self) -> str:
        """Arguments as the table has them."""
        return f"n = {self.n}" if self.n else re.sub(r"{(.+?)}", r"*\1*", self.arguments) or "-"

    def place(self, out: Path) -> Path:
        """Its folder."""
        return out / self.home / self.name


def read_programs() -> list[Program]:
    """All programs, in the table's order. TypeError for a key that there isn't, or one that is missing."""
    found = []
    for suite in SUITES:
        facts = tomllib.loads((HERE / "suites" / f"{suite}.toml").read_text())
        for own in facts["program"]:
            keys: dict[str, Any] = facts.get("default", {}) | own
            keys = {k: tuple(v) if isinstance(v, list) else v for k, v in keys.items()}
            found.append(Program(suite=facts["suite"], home=facts["folder"], **keys))
    return found


def build_program(p: Program, suites: Path, out: Path) -> None:
    """Build it anew, and lay its input files beside it."""
    made = p.place(out)
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    build(
        (suites / p.home / p.folder).resolve(), made, list(p.compile), list(p.ptx or p.compile),
        include=tuple(i.replace("{suites}", str(suites)) for i in p.include),
        define=(*p.define, *[f"{macro}={p.n}" for macro in p.sizes]),
    )  # fmt: skip
    write_inputs(p.files, made)


def check_program(p: Program, out: Path) -> dict[str, Any]:
    """Run it on the host and in the emulator, where it was built: the outcome of `check`."""
    arguments = [word.strip("{}") for word in p.arguments.split()]
    outcome = check(
        p.place(out), arguments, rtol=p.rtol, atol=p.atol, machine=MACHINE, margin=p.margin, untyped=p.untyped,
    )  # fmt: skip
    (p.place(out) / "outcome.json").write_text(json.dumps(outcome, indent=1) + "\n")
    return outcome


def row(p: Program, outcome: dict[str, Any]) -> str:
    """The table's row of one that was run."""
    found, rewrites = outcome["before"], outcome["rewrites"]
    largest = max(found["largest"], *[r["after"]["largest"] for r in rewrites], 0)
    given = [
        str(r["registers"]) + (f" + {r['slots']} slots" if r["slots"] else "")
        + (f" + {r['local_bytes']} B local" if r["local_bytes"] else "") for r in rewrites
    ]  # fmt: skip
    cells = [
        p.suite, f"`{p.name}`", p.told, outcome["kernels"], f"{outcome['launches']:,}",
        f"{outcome['warp_instructions']:,}", f"{found['values']:,}", f"{found['other_bits']:,}",
        f"{largest:.1g}" if largest else "0", outcome["demand"], "; ".join(given),
    ]  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def rows_of(page: str) -> dict[tuple[str, str], str]:
    """Rows of a page with the table, by suite and name."""
    rows = {}
    for line in page.splitlines():
        cells = line.split(" | ")
        if len(cells) == len(COLUMNS) and cells[1].startswith("`"):
            rows[cells[0].removeprefix("| "), cells[1].strip("`")] = line
    return rows


def _tried(do: Callable[[Program], Any], p: Program) -> tuple[Any, str, float]:
    """What it gave, or what went wrong, and the seconds. SystemExit is how `check` says what went wrong."""
    started = time.monotonic()
    try:
        given, error = do(p), ""
    except (Exception, SystemExit) as e:
        given, error = None, f"{type(e).__name__}: {e}"
    return given, error, time.monotonic() - started


def _each(do: Callable[[Program], Any], programs: list[Program], jobs: int) -> Iterator[tuple[Any, str, float]]:
    if jobs == 1:
        yield from map(partial(_tried, do), programs)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for future in [pool.submit(_tried, do, p) for p in programs]:
            try:
                yield future.result()
            except BrokenProcessPool as e:  # a process was killed, and takes with it what had not been begun
                yield None, f"{type(e).__name__}: {e}", 0.0


def run_all(programs: list[Program], suites: Path, out: Path, jobs: int) -> list[dict[str, Any]]:
    """Everything built, then everything run. Of each its row, the outcome or an error, and how long both took."""
    told: list[dict[str, Any]] = [
        {"suite": p.suite, "program": p.name, "arguments": p.told, "equal": False, "error": ""} for p in programs
    ]
    steps: list[tuple[str, Callable[[Program], Any]]] = [
        ("build", partial(build_program, suites=suites, out=out)), ("check", partial(check_program, out=out)),
    ]  # fmt: skip
    for step, do in steps:
        left = [(p, t) for p, t in zip(programs, told, strict=True) if not t["error"]]
        for (p, t), (given, error, seconds) in zip(left, _each(do, [p for p, _ in left], jobs), strict=True):
            t |= {f"{step}_seconds": round(seconds, 1), "error": f"{step}: {error}" if error else ""}
            if step == "check" and given is not None:
                t |= {"equal": given["equal"], "row": row(p, given), "outcome": given}
            (out / "programs.json").write_text(json.dumps(told, indent=1) + "\n")
            said = error or (given and ("equal" if given["equal"] else f"differs: {given['before']['bad']}")) or "built"
            print(f"{p.suite} {p.name}: {said} ({seconds:.0f} s)", file=sys.stderr, flush=True)
    return told


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suites", type=Path, required=True)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="programs, by the names of the table")
    parser.add_argument("--out", type=Path, default=Path("build/foreign"))
    parser.add_argument("--jobs", type=int, default=1)
    a = parser.parse_args(words)
    programs = read_programs()
    unknown = sorted(set(a.only) - {p.name for p in programs})
    if unknown:
        parser.error(f"no program {', '.join(unknown)}; there are: {', '.join(p.name for p in programs)}")
    programs = [p for p in programs if not a.only or p.name in a.only]
    out = a.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    told = run_all(programs, a.suites.resolve(), out, a.jobs)
    print(HEAD, *[t["row"] for t in told if "row" in t], sep="\n")
    known = rows_of((HERE / "README.md").read_text())
    for t in told:
        if not t["equal"]:
            print(f"{t['suite']} {t['program']}: not equal. {t['error']}", file=sys.stderr)
        elif t["row"] != known.get((t["suite"], t["program"])):
            print(f"{t['suite']} {t['program']}: equal, but its row is another in the README", file=sys.stderr)
    raise SystemExit(0 if all(t["equal"] for t in told) else 1)


if __name__ == "__main__":
    main()
