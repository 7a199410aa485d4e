"""Machines by other names than their own: as GPUs are called, and by compute capability, as compilers call it.

A capability stands for one machine (`PREFERRED`), also where several have it; one that no machine has, for the machine
of the nearest in the same generation, or of the generation that works most alike (`ALIKE`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

PREFERRED = {
    "1.3": "gtx285", "2.0": "c2075", "3.0": "gtx680", "3.5": "gtx780ti", "7.0": "v100", "7.5": "t4", "8.0": "a100",
    "8.6": "rtx3070", "8.9": "rtx4090", "9.0": "h100", "10.0": "b200", "12.0": "rtx5090",
}  # fmt: skip
"""By capability: of several the one that most people have."""
ALIKE = {5: "7.0", 6: "7.0", 11: "10.0"}
"""By generation that no machine is of, the capability whose SM is most like its: Maxwell's and Pascal's have partitions
as Volta's, Thor's is one of Blackwell's."""
SHARED = {
    "2.0": ("c2075", "gtx480"), "7.5": ("rtx2060", "t4"), "8.9": ("l40s", "rtx4090"), "9.0": ("h100", "h200"),
}  # fmt: skip
"""Machines that have a capability in common."""

_ARCHITECTURE = re.compile(r"(?:sm|compute|lto|cc)?(\d{1,2})(\d)[af]?")
_DECIMAL = re.compile(r"(?:sm|compute|cc)?(\d{1,2})\.(\d)[af]?")
_MAKERS = {"nvidia", "geforce", "tesla", "quadro", "gpu"}
_BOARD = re.compile(r"sxm\d?|pcie|nvl|hbm\d?e?|\d{2,3}gb")
"""Words of a product's name that do not tell one machine from another."""
_SERIES = ("", "rtx", "gtx", "c")
_NEWEST = 16
"""Above that no generation is near enough to any."""
_CLOSE = 0.6


@dataclass(frozen=True)
class Named:
    """machine: the name of one that comes with the tool. why: how it comes from what was asked, one clause; "" where
    that is plain."""

    machine: str
    why: str


def by_alias(text: str, machines: list[str]) -> Named | None:
    """The machine that `text` means otherwise than by its own name; None where it means none. machines: the names that
    there are."""
    words = [word for word in re.split(r"[\s_\-]+", text.lower()) if word]
    said = "".join(words)
    found = _ARCHITECTURE.fullmatch(said) or _DECIMAL.fullmatch(said)
    if found:
        return _by_parts(found)
    plain = "".join(word for word in words if word not in _MAKERS and not _BOARD.fullmatch(word))
    names = {re.sub(r"[_\-]+", "", name): name for name in machines}
    for candidate in (said, *(series + plain for series in _SERIES)):
        if candidate in names:
            return Named(names[candidate], "")
    return None


def by_target(target: str) -> Named | None:
    """The machine for PTX that names `target`, as `sm_90a`; None where that is no target that any machine is like."""
    found = _ARCHITECTURE.fullmatch(target.lower().replace("_", ""))
    return None if found is None else _by_parts(found)


def _by_parts(found: re.Match[str]) -> Named | None:
    """The machine of a capability's two numbers, or of the nearest."""
    major, minor = int(found[1]), int(found[2])
    asked = f"{major}.{minor}"
    if asked in PREFERRED:
        others = " and ".join(name for name in SHARED.get(asked, ()) if name != PREFERRED[asked])
        return Named(PREFERRED[asked], f"capability {asked}" + (f" ({others} has it, too)" if others else ""))
    if not 1 <= major <= _NEWEST:
        return None
    own = [cc for cc in PREFERRED if int(cc.split(".")[0]) == major]
    if own:
        taken = min(own, key=lambda cc: (abs(int(cc.split(".")[1]) - minor), cc))
    elif major in ALIKE:
        taken = ALIKE[major]
    else:
        taken = min(PREFERRED, key=lambda cc: (abs(float(cc) - float(asked)), -float(cc)))
    return Named(PREFERRED[taken], f"capability {taken}, the nearest: no machine has {asked}")


def near(text: str, machines: list[str]) -> list[str]:
    """Names of machines that are spelled much like `text`, the nearest first."""
    words = re.split(r"[\s_\-]+", text.lower())
    plain = "".join(word for word in words if word not in _MAKERS and not _BOARD.fullmatch(word))
    return get_close_matches(plain[:64], machines, n=3, cutoff=_CLOSE)
