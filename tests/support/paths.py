"""Where things lie in the repository."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
DATA = ROOT / "tests" / "data"
MACHINES = ROOT / "binalloc" / "models" / "machines"
