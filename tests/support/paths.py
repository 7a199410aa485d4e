"""Where things lie in the repository."""

from __future__ import annotations

from pathlib import Path

from binalloc.laboratory.samples import beside, find_samples

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
DATA = ROOT / "tests" / "data"
MACHINES = ROOT / "binalloc" / "models" / "machines"


def sample_file(name: str) -> Path:
    """A file of samples/ by its name, whichever folder it lies in."""
    (path,) = SAMPLES.rglob(name)
    return path


def sample_files(ending: str) -> list[Path]:
    """Samples' files with this ending, in order of name: of those in one file with a launch file of one launch."""
    found = (beside(sample, ending) for sample in find_samples(SAMPLES).values())
    return sorted((path for path in found if path.is_file()), key=lambda path: path.name)
