"""Assembles every samples/*.lasm, schedules it for GTX680 and writes samples/*.loom beside it.

    python samples/build.py            # write what is out of date
    python samples/build.py --check    # only say what is out of date; exit code 1 if anything is

Needs the package importable. Leaves true: each .loom is the bytes `build` returns for its source.
"""

from __future__ import annotations

import sys
from pathlib import Path

from binalloc.isa.assembler import assemble
from binalloc.isa.container import write_module
from binalloc.models.machine import load_machine
from binalloc.transform.schedule import schedule

SAMPLES = Path(__file__).parent
MACHINE = "gtx680"


def sources() -> list[Path]:
    """The sample sources, in order of name."""
    return sorted(SAMPLES.glob("*.lasm"))


def build(source: Path) -> bytes:
    """The binary of one source; messages and line tables name the source without its folder."""
    module = assemble(source.read_text(), source.name)
    return write_module(schedule(module, load_machine(MACHINE)))


def main(arguments: list[str]) -> int:
    stale = []
    for source in sources():
        binary = build(source)
        target = source.with_suffix(".loom")
        if not target.exists() or target.read_bytes() != binary:
            stale.append(target)
            if "--check" not in arguments:
                target.write_bytes(binary)
    for target in stale:
        print(f"{target.name}: {'out of date' if '--check' in arguments else 'written'}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
