"""`Any` in the emulator stands where Numba or an array of any type needs it, and nowhere else."""

from __future__ import annotations

import re

from tests.support.paths import ROOT

ALLOWED = {
    "arithmetic/bits_numba.py": 22,  # Numba's typing contexts and LLVM's builders have no types
    "state/scan_numba.py": 7,
    "host/compile_costs.py": 2,  # one name for all of Numba that it replaces
    "host/engine.py": 4,  # dispatchers, and a record field that is an int or an array
    "runs/options.py": 2,  # fields of a record by name
    "runs/run.py": 2,  # the same, as keywords
    "host/stats.py": 2,  # numbers and tables of numbers by name, as JSON has them
    "state/memories.py": 2,  # arrays of any type that a launch brings
}


def test_any_stands_only_where_it_is_listed() -> None:
    emulator = ROOT / "binalloc" / "emulator"
    found = {}
    for path in sorted(emulator.rglob("*.py")):
        code = re.sub(r'"""[\s\S]*?"""', "", path.read_text())
        if lines := sum(bool(re.search(r"\bAny\b", line.split("#")[0])) for line in code.splitlines()):
            found[path.relative_to(emulator).as_posix()] = lines
    assert found == ALLOWED
    assert sum(ALLOWED.values()) < 45
