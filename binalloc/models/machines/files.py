"""The machine files that come with the package: each is one machine, called as its file."""

from __future__ import annotations

from pathlib import Path

DEFAULT_MACHINE = "gtx680"
_DIRECTORY = Path(__file__).parent


def list_machines() -> list[str]:
    """Names of the machines that come with the package, sorted."""
    return sorted(path.stem for path in _DIRECTORY.glob("*.toml"))


def machine_file(name: str) -> Path:
    """The file of the machine called `name`."""
    return _DIRECTORY / f"{name}.toml"
