"""Public suites through `import-ptx`, file by file: what imports, and why not what does not.

    python -m tests.foreign.imports DIR --out OUT [-I LIBRARY] [--jobs N] [--again STATE]

DIR has a folder per suite, or per producer of PTX. Each `.cu` in it is compiled by nvcc to PTX of its own (of folders
that end in `-cuda`, one file each: the one with most kernels), each `.ptx` is taken as it is (`producers.compile` makes
such), and each PTX file goes through the command as a user would call it, in a process with a limit of time. What came
out is in OUT/outcomes.jsonl, a line per file; a second call goes on where the first stopped. `--again refused` takes
those files up once more, compiled as they are. The tables are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

HERE = Path(__file__).parent / "include"
NVCC = ["nvcc", "-ptx", "-lineinfo", "-w", "--extended-lambda", "--expt-relaxed-constexpr", "-std=c++17"]
VARIANTS = [("sm_75", False), ("sm_75", True), ("sm_90", False), ("sm_90", True)]
"""Architecture, and whether names that CUDA 13 took away are put back (nvcc_compat.h): the first that compiles."""
COMPILE_SECONDS, IMPORT_SECONDS = 240, 900
FOLDERS = ("include", "inc", "common", "Common", "src", "utils", "util")
OTHER_LANGUAGES = ("-hip", "-sycl", "-omp")
KERNEL = re.compile(rb"\b__global__\b")
ENTRY = re.compile(rb"^\s*(?:\.(?:visible|weak|extern)\s+)?\.entry\b", re.MULTILINE)
TENSOR = re.compile(rb"\b(?:wmma|mma|wgmma|tcgen05)\b[.\w]*\.")

PARTS = "is declared but not defined in this file"

Outcome = dict[str, Any]


def sources(suites: Path) -> Iterator[tuple[str, Path]]:
    """(suite, file) of every `.cu` to be compiled and of every `.ptx`, suite by suite in the order of their names."""
    for suite in sorted(p for p in suites.iterdir() if p.is_dir()):
        one_of: dict[Path, list[Path]] = {}
        for file in sorted(suite.rglob("*.cu")):
            folder = next((p for p in reversed(file.parents) if p.name.endswith("-cuda")), None)
            if folder is None and not any(p.name.endswith(OTHER_LANGUAGES) for p in file.parents):
                yield suite.name, file
            elif folder is not None:
                one_of.setdefault(folder, []).append(file)
        yield from ((suite.name, file) for file in sorted(suite.rglob("*.ptx")))
        for folder in sorted(one_of):
            yield suite.name, max(one_of[folder], key=lambda f: (len(KERNEL.findall(f.read_bytes())), str(f)))


def compiled(file: Path, root: Path, libraries: list[str], out: Path, *more: str) -> Outcome:
    """nvcc's PTX of a file at `out`, by the first variant that compiles; its complaint, where none does."""
    around = [p for p in file.parents if p == root or root in p.parents]
    places = [str(q) for p in around for q in (p, *(p / name for name in FOLDERS)) if q.is_dir()]
    complaint = ""
    for arch, compat in VARIANTS:
        command = [*NVCC, *more, f"-arch={arch}", *(f"-I{p}" for p in [*places, *libraries])]
        command += ["-include", str(HERE / "nvcc_compat.h")] if compat else []
        try:
            done = subprocess.run(
                ["nice", *command, str(file), "-o", str(out)], capture_output=True, text=True, timeout=COMPILE_SECONDS
            )
        except subprocess.TimeoutExpired:
            return {"compiled": False, "complaint": f"nvcc took more than {COMPILE_SECONDS} s"}
        if done.returncode == 0:
            return {"compiled": True, "arch": arch}
        complaint = next((x for x in done.stderr.splitlines() if "error" in x), done.stderr[:200])
    return {"compiled": False, "complaint": complaint[-300:]}


def described(ptx: Path) -> Outcome:
    text = ptx.read_bytes()
    return {"lines": text.count(b"\n"), "kernels": len(ENTRY.findall(text)), "tensor": bool(TENSOR.search(text))}


def imported(ptx: list[Path]) -> Outcome:
    """The command on the files of a program: exit code, seconds, kilobytes at the most, and what it said."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "binalloc", "import-ptx", *map(str, ptx), "-o", f"{folder}/out.loom", "--json"]
        begin = time.monotonic()
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as told:
            child = subprocess.Popen(command, stdout=told, stderr=said, preexec_fn=_limited)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            message = said.read().decode(errors="replace").strip()
    return {
        "rc": child.returncode, "seconds": round(time.monotonic() - begin, 2), "kilobytes": usage.ru_maxrss,
        "message": message[-2000:],
    }  # fmt: skip


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (IMPORT_SECONDS, IMPORT_SECONDS + 10))


def outcome(suite: str, file: Path, suites: Path, libraries: list[str], out: Path) -> Outcome:
    name = str(file.relative_to(suites))
    given = file.suffix == ".ptx"
    ptx = file if given else out / "ptx" / (name.replace("/", "__") + ".ptx")
    row: Outcome = {"suite": suite, "file": name}
    row |= {"compiled": True} if ptx.exists() else compiled(file, suites / suite, libraries, ptx)
    if row["compiled"]:
        row |= described(ptx)
        if row["kernels"]:
            row |= imported([ptx])
        if PARTS in row.get("message", "") and not given:
            row |= whole_program(file, suites / suite, libraries, ptx)
    return row


def whole_program(file: Path, root: Path, libraries: list[str], ptx: Path) -> Outcome:
    """A file that calls functions of others: all of its folder's, compiled to be linked and given together."""
    parts = []
    for part in sorted(file.parent.glob("*.cu")):
        made = ptx.with_name(f"{ptx.stem}__with__{part.name}.ptx")
        if made.exists() or compiled(part, root, libraries, made, "-rdc=true")["compiled"]:
            parts.append(made)
    return imported(parts) | {"parts": len(parts), "lines": sum(described(p)["lines"] for p in parts)}


def reason(row: Outcome) -> str:
    """What kept a file out, without what is of this file alone."""
    first = next((x for x in row["message"].splitlines() if x.strip()), f"exit code {row['rc']}")
    return re.sub(r"^binalloc: error: \S+\.ptx: (line \d+, column \d+: )?", "", first)[:160]


def tables(rows: list[Outcome]) -> str:
    lines = ["| suite | files | compiled | with kernels | tensor cores | imported | refused |", "|---|" + "--:|" * 6]
    for suite in [*sorted({r["suite"] for r in rows}), "all"]:
        some = [r for r in rows if suite in (r["suite"], "all")]
        whole = [r for r in some if r["compiled"]]
        kernels = [r for r in whole if r["kernels"]]
        right = [r for r in kernels if r["rc"] == 0]
        tensor = [r for r in kernels if r["rc"] != 0 and r["tensor"]]
        figures = [len(some), len(whole), len(kernels), len(tensor), len(right)]
        figures.append(len(kernels) - len(right) - len(tensor))
        lines.append(f"| {suite} | " + " | ".join(f"{x:,}" for x in figures) + " |")
    refused = [r for r in rows if r.get("rc")]
    lines += ["", f"{sum(r.get('lines', 0) for r in rows if r.get('rc') == 0):,} lines of PTX imported.", ""]
    for why, n in sorted(Counter(map(reason, refused)).items(), key=lambda x: (-x[1], x[0])):
        lines += [f"{n} x {why}", *(f"    {r['file']}" for r in refused if reason(r) == why)]
    return "\n".join(lines)


STATES: dict[str, Callable[[Outcome], bool]] = {
    "imported": lambda row: row.get("rc") == 0,
    "refused": lambda row: row.get("rc", 0) != 0,
    "uncompiled": lambda row: not row["compiled"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", type=Path, metavar="DIR")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("-I", "--include", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", choices=sorted(STATES), help="files to be imported once more")
    parser.add_argument("--suite", action="append", help="these folders of DIR alone")
    a = parser.parse_args()
    (a.out / "ptx").mkdir(parents=True, exist_ok=True)
    suites, log, lock = a.suites.resolve(), a.out / "outcomes.jsonl", Lock()
    known = {r["file"]: r for r in map(json.loads, log.read_text().splitlines())} if log.exists() else {}

    def one(of: tuple[str, Path]) -> None:
        row = outcome(*of, suites, a.include, a.out)
        with lock, log.open("a") as file:
            file.write(json.dumps(row) + "\n")
        known[row["file"]] = row
        print(len(known), row["file"], row.get("rc", "no kernels" if row["compiled"] else "not compiled"), flush=True,
              file=sys.stderr)  # fmt: skip

    def wanted(file: Path) -> bool:
        row = known.get(str(file.relative_to(suites)))
        return row is None or (a.again is not None and STATES[a.again](row))

    with ThreadPoolExecutor(a.jobs) as pool:
        list(pool.map(one, [(s, f) for s, f in sources(suites) if wanted(f) and s in (a.suite or [s])]))
    print(tables([known[name] for name in sorted(known)]))


if __name__ == "__main__":
    main()
