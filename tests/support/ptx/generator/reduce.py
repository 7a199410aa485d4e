"""A smaller program that import and emulation disagree on.

    python -m tests.support.ptx.generator.reduce SEED [OPTIONS]

Statements, then lines, are taken out, as long as the program still runs in both, does not depend on
uninitialised registers (the interpreter gives the same with two kinds of garbage), and still disagrees.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace

from tests.support.ptx.differential import differences, emulated, interpreted
from tests.support.ptx.generator.options import MARK, Options, Program
from tests.support.ptx.generator.programs import generate
from tests.support.ptx.interpreter import interpreter

KEPT = re.compile(r"^\s*(\.version|\.target|\.address_size|\.reg|\.visible|\.entry|\.param|\)|\{|\}|ret)")


def disagrees(program: Program, optimised: bool) -> bool:
    """Whether the two results differ, for a reason other than uninitialised registers."""
    try:
        interpreter.GARBAGE = 0
        found = emulated(program, optimised=optimised)
        first = interpreted(program)
        if not differences(program, first, found):
            return False
        interpreter.GARBAGE = 0xA5A5A5A5A5A5A5A5
        return not differences(program, first, interpreted(program))
    except Exception:
        return False


def statements_of(lines: list[str]) -> list[list[str]]:
    """The text as pieces: whole statements (which begin with a mark), and what lies between."""
    pieces: list[list[str]] = [[]]
    for line in lines:
        if line == MARK:
            pieces.append([])
        pieces[-1].append(line)
    return pieces


def last_needed(pieces: list[list[str]], wanted: Callable[[list[list[str]]], bool]) -> list[list[str]]:
    """Statements taken away from the end of the text by bisection; a piece that closes a function stays."""
    low, high = 0, len(pieces)

    def cut(k: int) -> list[list[str]]:
        return pieces[:k] + [p for p in pieces[k:] if not removable(p)]

    while low < high:
        middle = (low + high) // 2
        if wanted(cut(middle)):
            high = middle
        else:
            low = middle + 1
    return cut(high) if wanted(cut(high)) else pieces


def removable(piece: list[str]) -> bool:
    return piece[:1] == [MARK] and not any(
        line.startswith("}") or "%out" in line or "[result]" in line for line in piece
    )


def thinned(pieces: list[list[str]], wanted: Callable[[list[list[str]]], bool]) -> list[list[str]]:
    """Chunks of pieces taken out, large ones first, as long as `wanted` holds."""
    size = max(1, len(pieces) // 2)
    while size >= 1:
        at = 0
        while at < len(pieces):
            rest = pieces[:at] + [p for p in pieces[at : at + size] if not removable(p)] + pieces[at + size :]
            if len(rest) < len(pieces) and wanted(rest):
                pieces = rest
            else:
                at += size
        size //= 2
    return pieces


def reduced(program: Program, optimised: bool = True) -> Program:
    def text_of(pieces: list[list[str]]) -> str:
        return "\n".join(line for piece in pieces for line in piece) + "\n"

    def wanted(pieces: list[list[str]]) -> bool:
        return disagrees(replace(program, text=text_of(pieces)), optimised)

    pieces = thinned(last_needed(statements_of(program.text.splitlines()), wanted), wanted)
    lines = [[MARK, line] if not KEPT.match(line) else [line] for piece in pieces for line in piece if line != MARK]
    return replace(program, text=text_of(thinned(lines, wanted)).replace(MARK + "\n", ""))


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
