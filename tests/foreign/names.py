"""What a host program's functions and variables are called in PTX."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np

_ENTRY = re.compile(r"\.entry\s+([\w$.]+)")
_VARIABLE = re.compile(
    r"^\s*(?:\.visible |\.weak |\.extern )?\.(?:global|const)\b[^;=\[]*?\s([\w$.]+)\s*(?:\[|;|=)", re.MULTILINE
)


def element_of(dtype: str) -> np.dtype:
    """NumPy's type of one of launch files' types."""
    return np.dtype(f"<{dtype[0]}{int(dtype[1:]) // 8}")


class Names:
    """Names of PTX. program: a host binary with its table of symbols; ptx: the files that nvcc made of its sources."""

    def __init__(self, program: Path, ptx: list[Path]) -> None:
        text = "\n".join(p.read_text() for p in ptx)
        self.entries = set(_ENTRY.findall(text))
        self.variables = set(_VARIABLE.findall(text))
        listed = subprocess.run(["nm", str(program)], check=True, capture_output=True, text=True).stdout
        rows = [line.split() for line in listed.splitlines()]
        self.functions = {int(r[0], 16): r[2] for r in rows if len(r) == 3 and r[1] in "tTwW"}

    def kernel(self, spelling: str, address: int) -> str:
        """The entry that stands for a function of the host at that address, or for what the source calls so."""
        mangled = self.functions.get(address, "")
        for name in (mangled, mangled.replace("_ZL", "_Z", 1)):
            if name in self.entries:
                return name
        base = re.sub(r"<.*", "", spelling).split("::")[-1].strip()
        return self._only(base, self.entries, mangled)

    def variable(self, spelling: str) -> str:
        base = re.sub(r"[^\w].*", "", spelling.split("::")[-1])
        return base if base in self.variables else self._only(base, self.variables, "")

    @staticmethod
    def _only(base: str, names: set[str], mangled: str) -> str:
        spelled = re.compile(rf"(?<!\d){len(base)}{re.escape(base)}")
        fitting = sorted(n for n in names if n == base or spelled.search(n))
        if mangled:  # of one template: the one whose parameters are the same
            same = [n for n in fitting if n.split(base)[-1] == mangled.split(base)[-1]]
            fitting = same or fitting
        if len(fitting) != 1:
            raise SystemExit(f"{base}: {len(fitting)} names in PTX fit: {', '.join(fitting or sorted(names))}")
        return fitting[0]
