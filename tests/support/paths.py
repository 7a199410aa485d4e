"""Where things lie in the repository."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
DATA = ROOT / "tests" / "data"
MACHINES = ROOT / "binalloc" / "models" / "machines"


def sample_file(name: str) -> Path:
    """A file of samples/ by its name, whichever folder it lies in."""
    (path,) = SAMPLES.rglob(name)
    return path


def sample_files(ending: str) -> list[Path]:
    """All files of samples/ with this ending, in order of name."""
    return sorted(SAMPLES.rglob(f"*{ending}"), key=lambda path: path.name)
