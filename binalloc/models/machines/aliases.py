"""This module finds machines by other names than their own: product names of GPUs, and compute capabilities as
compilers write them.

A capability means one machine (`PREFERRED`), also where several machines have it. Where no machine has it, it means the
machine with the nearest capability of the same generation, or of the generation that works most alike (`ALIKE`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

PREFERRED = {
    "1.3": "gtx285", "2.0": "c2075", "3.0": "gtx680", "3.5": "gtx780ti", "7.0": "v100", "7.5": "t4", "8.0": "a100",
    "8.6": "rtx3070", "8.9": "rtx4090", "9.0": "h100", "10.0": "b200", "12.0": "rtx5090",
}  # fmt: skip
"""The machine for each capability; of several machines, the one that most people have."""
ALIKE = {5: "7.0", 6: "7.0", 11: "10.0"}
"""For each generation that no machine belongs to, the capability whose SM is most similar: Maxwell's and Pascal's have
partitions as Volta's, Thor's is one of Blackwell's."""
SHARED = {
    "2.0": ("c2075", "gtx480"), "7.5": ("rtx2060", "t4"), "8.9": ("l40s", "rtx4090"), "9.0": ("h100", "h200"),
}  # fmt: skip
"""Machines that have a capability in common."""

# an architecture as compilers write it: sm_86, compute_86, 86
_ARCHITECTURE = re.compile(r"(?:sm|compute|lto|cc)?(\d{1,2})(\d)[af]?")
_DECIMAL = re.compile(r"(?:sm|compute|cc)?(\d{1,2})\.(\d)[af]?")  # a capability with a point: 8.6
_MAKERS = {"nvidia", "geforce", "tesla", "quadro", "gpu"}  # words of a product's name that no machine's name has
_BOARD = re.compile(r"sxm\d?|pcie|nvl|hbm\d?e?|\d{2,3}gb")
"""Words of a product's name that do not distinguish machines."""
_SERIES = ("", "rtx", "gtx", "c")  # prefixes with which a bare model number, as 4090, becomes a machine's name
_NEWEST = 16
"""Capabilities with a larger first number are not taken for any machine: the newest one here has 12."""
_CLOSE = 0.6
"""Similarity, from 0 to 1, from which a name is suggested for a misspelt one; it is the default of
`get_close_matches`."""


@dataclass(frozen=True)
class AliasedMachine:
    """An alias stands for one of the machines that come with the tool."""

    machine: str  #: name of a machine that comes with the tool
    why: str  #: how the machine follows from the alias, one clause; "" where that is plain


def by_alias(text: str, machines: list[str]) -> AliasedMachine | None:
    """Return the machine that `text` means as an alias; None where it means none. machines: names of all machines."""
    words = [word for word in re.split(r"[\s_\-]+", text.lower()) if word]
    said = "".join(words)
    found = _ARCHITECTURE.fullmatch(said) or _DECIMAL.fullmatch(said)
    if found:
        return _by_parts(found)
    plain = "".join(word for word in words if word not in _MAKERS and not _BOARD.fullmatch(word))
    names = {re.sub(r"[_\-]+", "", name): name for name in machines}
    for candidate in (said, *(series + plain for series in _SERIES)):
        if candidate in names:
            return AliasedMachine(names[candidate], "")
    return None


def by_target(target: str) -> AliasedMachine | None:
    """Return the machine for PTX with target `target`, as `sm_90a`; None where it is no target similar to any
    machine's."""
    found = _ARCHITECTURE.fullmatch(target.lower().replace("_", ""))
    return None if found is None else _by_parts(found)


def _by_parts(found: re.Match[str]) -> AliasedMachine | None:
    """Return the machine of a capability's two numbers, or of the nearest capability."""
    major, minor = int(found[1]), int(found[2])
    asked = f"{major}.{minor}"
    if asked in PREFERRED:
        others = " and ".join(name for name in SHARED.get(asked, ()) if name != PREFERRED[asked])
        return AliasedMachine(PREFERRED[asked], f"capability {asked}" + (f" ({others} has it, too)" if others else ""))
    if not 1 <= major <= _NEWEST:
        return None
    own = [cc for cc in PREFERRED if int(cc.split(".")[0]) == major]
    if own:
        taken = min(own, key=lambda cc: (abs(int(cc.split(".")[1]) - minor), cc))
    elif major in ALIKE:
        taken = ALIKE[major]
    else:
        taken = min(PREFERRED, key=lambda cc: (abs(float(cc) - float(asked)), -float(cc)))
    return AliasedMachine(PREFERRED[taken], f"capability {taken}, the nearest: no machine has {asked}")


def near(text: str, machines: list[str]) -> list[str]:
    """Return names of machines that are spelled much like `text`, the nearest first."""
    words = re.split(r"[\s_\-]+", text.lower())
    plain = "".join(word for word in words if word not in _MAKERS and not _BOARD.fullmatch(word))
    return get_close_matches(plain[:64], machines, n=3, cutoff=_CLOSE)
