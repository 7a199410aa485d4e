"""Makes a program small that import and emulation disagree on: `python -m tests.ptx.reduce SEED [Options(...)]`.

Lines of the text are taken out, chunks first, as long as the program still runs in both, does not depend on
uninitialised registers (the interpreter gives the same with two kinds of garbage), and still disagrees.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace

from tests.ptx import interpreter
from tests.ptx.differential import differences, emulated, interpreted
from tests.ptx.generator import Options, Program
from tests.ptx.programs import generate

KEPT = re.compile(r"^\s*(\.version|\.target|\.address_size|\.reg|\.visible|\.entry|\.param|\)|\{|\}|ret)")


def disagrees(program: Program, optimised: bool) -> bool:
    """Whether the two results differ, for a reason other than uninitialised registers."""
    results = []
    try:
        for garbage in (0, 0xA5A5A5A5A5A5A5A5):
            interpreter.GARBAGE = garbage
            results.append(interpreted(program))
        found = emulated(program, optimised=optimised)
    except Exception:
        return False
    return not differences(program, results[0], results[1]) and bool(differences(program, results[0], found))


def reduced(program: Program, optimised: bool = True) -> Program:
    lines = program.text.splitlines()
    size = len(lines) // 2
    while size >= 1:
        at = 0
        while at < len(lines):
            chunk = lines[at : at + size]
            kept = [line for line in chunk if KEPT.match(line)]
            smaller = replace(program, text="\n".join(lines[:at] + kept + lines[at + size :]) + "\n")
            if len(kept) < len(chunk) and disagrees(smaller, optimised):
                lines[at : at + size] = kept
                at += len(kept)
            else:
                at += size
        size //= 2
    return replace(program, text="\n".join(lines) + "\n")


def main() -> None:
    options = eval(sys.argv[2], {"Options": Options}) if len(sys.argv) > 2 else None
    optimised = "--lowered" not in sys.argv
    program = generate(int(sys.argv[1]), options)
    if not disagrees(program, optimised):
        sys.exit("no disagreement")
    small = reduced(program, optimised)
    print(small.text)
    print("\n".join(differences(small, interpreted(small), emulated(small, optimised=optimised))))


if __name__ == "__main__":
    main()
