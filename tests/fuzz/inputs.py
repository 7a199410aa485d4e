"""Fuzzing of every command with damaged files and options: `python -m tests.fuzz.inputs --count 20000 --seed 1`.

Each case writes files (see `material`) into a folder of its own and runs one command (see `commands`) on them
in this process; one in `PROCESS_EVERY` runs as a process of its own. What must hold, whatever the input: a documented
exit code, never 70; no traceback; one JSON object with --json and nothing else on stdout; no control character on
stderr, nor on stdout where that is text; no file written outside of the case's folder, no network, no other program;
`CASE_SECONDS` of CPU time; `MEMORY_LIMIT` bytes.

Cases run in child processes of `CHUNK` cases, so that a crash of the compiled engine is seen and named, too; with
--bounds-checked that engine checks every index. A failing case's name makes it again: `--only SEED:NUMBER --keep DIR`.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from binalloc.emulator.runs.warm import warm_up
from tests.fuzz.commands import COMMANDS, RUNNERS, commands
from tests.fuzz.material import REFERENCE, ROOT, Material

CODES = {0, 1, 2, 3, 4, 5}
MEMORY_LIMIT = 4 << 30
CASE_SECONDS = 30.0
CHUNK = 4000
PROCESS_EVERY = 1000
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_PATH_EVENTS = {"os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod"}
_BANNED_EVENTS = ("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "pickle.")


class Failed(AssertionError):
    """A case that broke a rule; the text says which."""


@dataclass
class Watch:
    """Sees by an audit hook what a case does to the system. folder: where it may write; None outside of cases."""

    folder: str | None = None
    seen: list[str] = field(default_factory=list)

    def install(self) -> Watch:
        sys.addaudithook(self._hook)
        return self

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        if event == "open" and isinstance(args[0], str | bytes) and (args[2] or 0) & _WRITES:
            self._path(event, os.fsdecode(args[0]))
        elif event in _PATH_EVENTS:
            for path in args[: 2 if event in ("os.rename", "os.link", "os.symlink") else 1]:
                self._path(event, os.fsdecode(path))
        elif event.startswith(_BANNED_EVENTS) and not _from_numba(event, args):
            self.seen.append(f"{event} {args[:1]!r:.100}")

    def _path(self, event: str, path: str) -> None:
        assert self.folder is not None
        whole = os.path.realpath(path)
        # what Python keeps of a module of ours that a command imports first is nothing that the command wrote
        folder = whole if event == "os.mkdir" else os.path.dirname(whole)
        kept = os.path.basename(folder) == "__pycache__" and whole.startswith(f"{ROOT}/binalloc/")
        nothing = path == os.devnull or kept or (event == "os.mkdir" and os.path.isdir(whole))
        if not nothing and not whole.startswith(self.folder + os.sep):
            self.seen.append(f"{event} {whole:.200}")

    @contextlib.contextmanager
    def within(self, folder: Path) -> Iterator[None]:
        self.seen.clear()
        self.folder = os.path.realpath(folder)
        try:
            yield
        finally:
            self.folder = None


def _from_numba(event: str, args: tuple[Any, ...]) -> bool:
    """Numba's own index is a pickle; what may stand in its folder is `emulator.host.cache`'s business."""
    return event == "pickle.find_class" and str(args[0]).split(".")[0] in ("numba", "llvmlite", "numpy", "builtins")


@dataclass
class Ran:
    """One command's exit code and streams."""

    args: list[str]
    code: int
    out: bytes
    err: str


def run_here(args: list[str], stdin: bytes) -> Ran:
    """The command line in this process, its streams in memory."""
    from binalloc.cli.main import main

    streams = [io.TextIOWrapper(io.BytesIO(data), "utf-8", "backslashreplace") for data in (stdin, b"", b"")]
    saved = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = streams
    try:
        main(args, prog_name="binalloc")
        code: object = 0
    except SystemExit as e:
        code = e.code
    finally:
        sys.stdin, sys.stdout, sys.stderr = saved
        for stream in streams[1:]:
            stream.flush()
    out, err = (stream.buffer.getvalue() for stream in streams[1:])  # type: ignore[attr-defined]
    return Ran(args, code if isinstance(code, int) else -1, out, err.decode())


def run_apart(args: list[str], stdin: bytes) -> Ran:
    """The same as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "binalloc", *args], input=stdin, capture_output=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return Ran(args, done.returncode, done.stdout, done.stderr.decode("utf-8", "surrogateescape"))


def judge(ran: Ran) -> None:
    """Raise Failed where the command did what no input may make it do."""
    if ran.code not in CODES:
        raise Failed(f"exit code {ran.code}: {ran.err[-600:]}")
    for word in ("Traceback", "internal error", "Warning:", "This is a defect"):
        if word in ran.err:
            raise Failed(f"{word!r} on stderr: {ran.err[-600:]}")
    for stream, text in (("stderr", ran.err), ("stdout", _text(ran))):
        bad = sorted({c for c in text if not c.isprintable() and c not in "\n\t"})
        if bad:
            raise Failed(f"control characters on {stream}: {bad!r}")
    if ran.code in (2, 3, 4, 5) and "binalloc: error: " not in ran.err:
        raise Failed(f"exit code {ran.code} without a word: {ran.err!r}")
    if ran.err.count("binalloc: error: ") > 1:
        raise Failed("two errors")
    if max(map(len, ran.err.split("\n"))) > 20_000:
        raise Failed("a line on stderr is longer than anyone reads")
    if "--json" in ran.args and not {"--help", "-h", "-V", "--version"} & set(ran.args):
        _one_object(ran)


def _text(ran: Ran) -> str:
    """stdout where it is meant for people or programs to read, not a binary."""
    if ran.out[:4] == b"\x7fELF":
        return ""
    return ran.out.decode("utf-8", "surrogateescape")


def _one_object(ran: Ran) -> None:
    try:
        found = json.loads(ran.out, parse_constant=lambda name: 1 / 0)
    except (ValueError, ZeroDivisionError) as e:
        raise Failed(f"stdout is not JSON: {ran.out[:200]!r}") from e
    if not isinstance(found, dict) or found.get("schema_version") != 1:
        raise Failed("the JSON is no object of this version")
    if ran.code in (2, 3, 4, 5) and found.get("error", {}).get("exit_code") != ran.code:
        raise Failed("the JSON names no error, or another")


class Cases:
    """Makes and runs cases; each is a function of its name and of the chunk it lies in. pool: see `Material`."""

    def __init__(self, box: Path, only: list[str], pool: str = "") -> None:
        self.box = box
        self.only = only
        self.material = Material(pool)
        if not only or RUNNERS & set(only):
            warm_up()
        self.watch = Watch().install()
        self.seen: Counter[str] = Counter()

    def run(self, name: str, number: int) -> None:
        """One case in an emptied folder. Raises Failed."""
        rng = random.Random(name)
        folder = self.box / "case"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        os.chdir(folder)
        (folder / "reference.py").write_text(REFERENCE)
        args, stdin = commands(rng, self.material, folder, self.only)
        apart = number % PROCESS_EVERY == PROCESS_EVERY - 1 and all("\0" not in a for a in args)
        signal.setitimer(signal.ITIMER_PROF, CASE_SECONDS)
        if apart:
            ran = run_apart(args, stdin)
        else:
            with self.watch.within(folder):
                ran = run_here(args, stdin)
        signal.setitimer(signal.ITIMER_PROF, 0)
        if self.watch.seen:
            raise Failed(f"reached outside: {self.watch.seen[0]}")
        judge(ran)
        left = {entry.name for entry in self.box.iterdir()} - {"case"}
        if left:
            raise Failed(f"files beside the case's folder: {sorted(left)}")
        if any(entry.name.startswith(".binalloc-") for entry in folder.rglob("*")):
            raise Failed("a temporary file stayed behind")
        command = args[0] if args and args[0] in COMMANDS else "anything"
        self.seen[f"{command}: exit {ran.code}"] += 1
        self.seen["as processes"] += apart


def _too_long(*_: object) -> None:
    raise Failed(f"a case took more than {CASE_SECONDS} s of CPU time")


def child(options: argparse.Namespace) -> None:
    """Run the cases FIRST to COUNT; report as JSON lines on stdout: one per failure, then the counts."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    signal.signal(signal.SIGPROF, _too_long)
    out = os.fdopen(os.dup(1), "w", buffering=1)
    progress = os.open(options.progress, os.O_WRONLY | os.O_CREAT)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as box:
        pool = f"{options.seed}:{options.first // CHUNK}"
        cases = Cases(Path(box), options.commands.split(",") if options.commands else [], pool)
        for number in range(options.first, options.count):
            name = f"{options.seed}:{number}"
            os.pwrite(progress, f"{name:<40}".encode(), 0)
            try:
                cases.run(name, number)
            except Exception as e:
                signal.setitimer(signal.ITIMER_PROF, 0)
                print(json.dumps({"case": name, "why": f"{type(e).__name__}: {e}"}), file=out)
                if options.keep:
                    shutil.copytree(Path(box) / "case", Path(options.keep) / name.replace(":", "-"), dirs_exist_ok=True)
        os.chdir("/")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"seen": cases.seen, "peak": peak, "cpu": time.process_time()}), file=out)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", metavar="SEED:NUMBER", help="one case, named by an earlier run")
    parser.add_argument("--keep", metavar="DIR", help="keep the files of failing cases there")
    parser.add_argument("--bounds-checked", action="store_true", help="the compiled engine checks every index")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--commands", metavar="A,B", help="only these commands")
    parser.add_argument("--progress", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bounds_checked:
        os.environ["BINALLOC_BOUNDSCHECK"] = "1"
    if options.only:
        options.seed, number = options.only.rsplit(":", 1)
        options.first, options.count = int(number), int(number) + 1
    if options.progress:
        child(options)
        return
    sys.exit(_parent(options))


@dataclass
class Tally:
    """What the child processes reported."""

    cases: int = 0
    failures: int = 0
    cpu: float = 0.0
    peak: int = 0
    seen: Counter[str] = field(default_factory=Counter)

    def add(self, lines: list[str]) -> None:
        """The JSON lines of one child."""
        for line in lines:
            found = json.loads(line)
            if "case" in found:
                self.fails(f"case {found['case']} fails: {found['why']}")
            else:
                self.seen.update(found["seen"])
                self.cpu, self.peak = self.cpu + found["cpu"], max(self.peak, found["peak"])

    def fails(self, text: str) -> None:
        self.failures += 1
        print(text, flush=True)


def _chunk(options: argparse.Namespace, first: int, last: int) -> Iterator[tuple[int, list[str], str]]:
    """Cases FIRST to LAST in one child, and in further ones behind each that ends it: (cases, lines, its end or "")."""
    with tempfile.NamedTemporaryFile(prefix="fuzz-at-") as progress:
        while first < last:
            command = [sys.executable, "-m", "tests.fuzz.inputs", "--seed", options.seed, "--first", str(first)]
            command += ["--count", str(last), "--progress", progress.name]
            command += ["--keep", options.keep] if options.keep else []
            command += ["--commands", options.commands] if options.commands else []
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            end, following = "", last
            if done.returncode:
                name = Path(progress.name).read_text().strip()
                end = f"case {name} ends the process with {done.returncode}: {done.stderr[-2000:]}"
                following = int(name.rsplit(":", 1)[1]) + 1
            yield following - first, done.stdout.splitlines(), end
            first = following


def _parent(options: argparse.Namespace) -> int:
    start, tally = time.monotonic(), Tally()
    edges = [options.first, *range((options.first // CHUNK + 1) * CHUNK, options.count, CHUNK), options.count]
    with ThreadPoolExecutor(options.jobs) as pool:
        chunks = [pool.submit(lambda a, b: list(_chunk(options, a, b)), a, b) for a, b in pairwise(edges)]
        for done in as_completed(chunks):
            for cases, lines, end in done.result():
                tally.cases += cases
                tally.add(lines)
                if end:
                    tally.fails(end)
            spent = time.monotonic() - start
            print(f"{tally.cases} cases, {tally.failures} failures, {spent:.0f} s", file=sys.stderr, flush=True)
    for key, number in sorted(tally.seen.items()):
        print(f"{key}: {number}")
    print(f"{tally.cases} cases, {tally.failures} failures, {tally.cpu:.0f} s of CPU, at most {tally.peak} MB resident")
    return int(tally.failures > 0)


if __name__ == "__main__":
    main()
