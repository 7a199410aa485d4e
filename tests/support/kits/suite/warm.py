"""Compiles the builds of the emulator that the tests use, side by side, before a run on a fresh machine. Otherwise each
worker of the run would compile both. Nothing to do where they are in the cache:
`python -m tests.support.kits.suite.warm`."""

from __future__ import annotations

import subprocess
import sys

BUILDS = {"plain": False, "checking": True}


def main() -> int:
    if len(sys.argv) > 1:
        from binalloc.emulator.runs.warm import warm_up

        warm_up(checking=BUILDS[sys.argv[1]])
        return 0
    children = [subprocess.Popen([sys.executable, "-m", "tests.support.kits.suite.warm", build]) for build in BUILDS]
    return max(abs(child.wait()) for child in children)


if __name__ == "__main__":
    sys.exit(main())
