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
    """All samples' files with this ending, in order of name: those with a launch file of one launch beside them."""
    found = (
        path
        for path in SAMPLES.rglob(f"*{ending}")
        if path.with_suffix(".toml").is_file() and path.parent.name not in ("programs", "linked")
    )
    return sorted(found, key=lambda path: path.name)
