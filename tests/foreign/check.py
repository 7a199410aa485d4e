"""A built program through everything: on the host, as a sequence of launches, and that rewritten at two budgets.

    python -m tests.foreign.check DIR [--rtol R] [--atol A] [--machine NAME] [-- ARGUMENTS OF THE PROGRAM]

DIR is what `build` made. What the host left in its buffers, and what it read of them in between, is compared with the
emulator's, before and after each rewrite: integers and words exactly, floats within the tolerance. The outcome goes to
DIR/outcome.json; the exit code is 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.foreign.names import Names, element_of
from tests.foreign.replay import Replay
from tests.support.kits.cli import call

BUDGETS = (0.75, 0.55)
"""Of the registers that the neediest kernel asks for."""


def binalloc(*words: object, may_fail: bool = False) -> dict[str, Any] | None:
    """What a command prints with --json; None where its answer is no, if it may be."""
    answer = call(*map(str, words), "--json")
    if answer.code and not (may_fail and answer.code == 1 and "error" in answer.json):
        raise SystemExit(f"{' '.join(map(str, words))}: exit code {answer.code}\n{answer.err}{answer.out[-2000:]}")
    return answer.json if answer.code == 0 else None


def record(folder: Path, arguments: list[str], stdin: Path | None) -> Path:
    """Run the program on the host, and keep what it did."""
    trace = folder / "trace"
    shutil.rmtree(trace, ignore_errors=True)
    given = stdin.open() if stdin else subprocess.DEVNULL
    done = subprocess.run(
        [str(folder / "program"), *arguments], cwd=folder, env=os.environ | {"CUDA_CPU_TRACE": str(trace)},
        stdin=given, capture_output=True, text=True, errors="replace",
    )  # fmt: skip
    (folder / "program.txt").write_text(done.stdout + done.stderr)
    if done.returncode < 0 or not (trace / "trace.jsonl").exists():
        raise SystemExit(f"the program: exit code {done.returncode}\n{done.stdout[-1500:]}{done.stderr[-1500:]}")
    return trace


def differences(sequence: Path, saved: Path, rtol: float, atol: float) -> dict[str, Any]:
    """How the emulator's buffers differ from the host's: values compared, those that differ by a bit, those beyond the
    tolerance, the largest difference relative to the larger of value and 1, and where it is."""
    total = bits = beyond = 0
    largest, where, bad = 0.0, "", {}
    for name, dtype in json.loads((sequence / "expected.json").read_text()).items():
        want = np.fromfile(sequence / f"{name}.expected", element_of(dtype))
        got = np.load(saved / f"{name}.npy").reshape(-1)[: want.size]
        differ = got.view(f"u{got.itemsize}") != want.view(f"u{want.itemsize}")
        total, bits = total + want.size, bits + int(differ.sum())
        if not differ.any():
            continue
        outside = differ
        if dtype[0] == "f":
            with np.errstate(all="ignore"):
                gap = np.abs(got.astype("f8") - want.astype("f8"))
                outside = differ & ~(gap <= atol + rtol * np.abs(want)) & ~(np.isnan(got) & np.isnan(want))
                scaled = np.where(np.isfinite(gap), gap / np.maximum(np.abs(want), 1), 0)
            if scaled.max() > largest:
                largest, where = float(scaled.max()), f"{name}[{int(scaled.argmax())}]"
        if outside.any():
            i = int(outside.argmax())
            bad[name] = f"{int(outside.sum())} of {want.size} {dtype}, first [{i}]: {got[i]!r}, the host {want[i]!r}"
            beyond += int(outside.sum())
    return {"values": total, "other_bits": bits, "beyond": beyond, "largest": largest, "at": where, "bad": bad}


def budgets(demand: int) -> list[int]:
    """Two budgets below what is asked for, where there is room for two."""
    first = max(2, min(demand - 1, round(demand * BUDGETS[0])))
    return [first, max(2, min(first - 1, round(demand * BUDGETS[1])))]


def check(
    folder: Path, arguments: list[str], *, rtol: float, atol: float, machine: str, stdin: Path | None = None,
    recorded: bool = False, margin: int = 0, untyped: str = "u32",
) -> dict[str, Any]:  # fmt: skip
    ptx = sorted(folder.glob("*.ptx"))
    sequence, loom = folder / "sequence", folder / "program.loom"
    trace = folder / "trace" if recorded else record(folder, arguments, stdin)
    replay = Replay(trace, Names(folder / "program", ptx), margin=margin, untyped=untyped)
    replay.read()
    shutil.rmtree(sequence, ignore_errors=True)
    replay.write(sequence)
    used = sorted(replay.kernels)
    only = [w for k in used for w in ("--kernel", k)]
    imported = binalloc("import-ptx", *ptx, *only, "--machine", machine, "-o", loom)
    launch = ("--launch", sequence / "program.toml")

    def compared(binary: Path, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        saved = folder / f"saved_{name}"
        shutil.rmtree(saved, ignore_errors=True)
        result = binalloc("run", binary, *launch, "--save", saved, "--max-cycles", "none")
        return result, differences(sequence, saved, rtol, atol)

    result, found = compared(loom, "before")
    outcome: dict[str, Any] = {
        "kernels": len(used), "launches": replay.launches, "steps": len(replay.steps),
        "warp_instructions": sum(k["stats"]["warp_instructions"] for k in result["kernels"]),
        "thread_instructions": sum(k["stats"]["thread_instructions"] for k in result["kernels"]),
        "cycles": result["cycles"], "machine": machine, "rtol": rtol, "atol": atol, "margin": margin,
        "before": found, "rewrites": [],
    }  # fmt: skip
    demand = max(k["register_demand"] for k in imported["kernels"])
    outcome["demand"] = demand
    least = demand
    for wanted in budgets(demand):
        made = folder / f"rewritten_{wanted}.loom"
        for registers in range(wanted, least):
            report = binalloc("rewrite", loom, *launch, "--registers", registers, "-o", made, "--max-cycles", "none",
                              may_fail=True)  # fmt: skip
            if report is not None:
                break
        else:
            continue
        least = registers
        _, after = compared(made, str(registers))
        outcome["rewrites"].append({
            "registers": registers, "verified": report["verified"], "same_results": report["same_results"],
            "slots": max(k["rewritten"]["slots"] for k in report["kernels"]),
            "local_bytes": max(k["rewritten"]["local_bytes"] for k in report["kernels"]), "after": after,
        })  # fmt: skip
    good = not found["beyond"] and len(outcome["rewrites"]) == 2
    good = good and all(r["same_results"] and r["verified"] and not r["after"]["beyond"] for r in outcome["rewrites"])
    outcome["equal"] = good
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rtol", type=float, default=0.0)
    parser.add_argument("--atol", type=float, default=0.0)
    parser.add_argument("--machine", default="gtx680")
    parser.add_argument("--margin", type=int, default=0, help="bytes around each allocation, a multiple of 16")
    parser.add_argument("--untyped", default="u32", help="type of memory that kernels find by pointers in memory")
    parser.add_argument("--stdin", type=Path)
    parser.add_argument("--recorded", action="store_true", help="take the trace that is there")
    own, of_program = sys.argv[1:], []
    if "--" in own:
        at = own.index("--")
        own, of_program = own[:at], own[at + 1 :]
    a = parser.parse_args(own)
    outcome = check(
        a.folder.resolve(), of_program, rtol=a.rtol, atol=a.atol, machine=a.machine, stdin=a.stdin, recorded=a.recorded,
        margin=a.margin, untyped=a.untyped,
    )  # fmt: skip
    (a.folder / "outcome.json").write_text(json.dumps(outcome, indent=1) + "\n")
    print(json.dumps(outcome, indent=1))
    raise SystemExit(0 if outcome["equal"] else 1)


if __name__ == "__main__":
    main()
