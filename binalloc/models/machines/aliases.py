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
"""By generation that no machine is of, the capability whose SM is most like its: from Maxwell on four partitions, Thor as
GB100."""

_ARCHITECTURE = re.compile(r"(?:sm|compute|lto|cc)?(\d{2,3})([af]?)")
_DECIMAL = re.compile(r"(?:sm|compute|cc)?(\d{1,2})\.(\d)[af]?")
_MAKER = re.compile(r"nvidia|geforce|tesla|quadro|gpu")
_BOARD = re.compile(r"(?:sxm\d?|pcie|nvl|hbm\d?e?|\d{2,3}gb|generation)+$")
_SERIES = ("rtx", "gtx", "c")
_CLOSE = 0.55


@dataclass(frozen=True)
class Named:
    """machine: the name of one that comes with the tool. why: how it comes from what was asked, one clause; "" where
    that is plain."""

    machine: str
    why: str


def by_alias(text: str, machines: list[str]) -> Named | None:
    """The machine that `text` means otherwise than by its own name; None where it means none. machines: the names that
    there are."""
    said = re.sub(r"[\s_\-]+", "", text.lower())
    found = _ARCHITECTURE.fullmatch(said)
    if found:
        return by_capability(int(found[1][:-1]), int(found[1][-1]))
    found = _DECIMAL.fullmatch(said)
    if found:
        return by_capability(int(found[1]), int(found[2]))
    plain = _plain(said)
    names = {re.sub(r"[\s_\-]+", "", name): name for name in machines}
    for candidate in (said, plain, *(series + plain for series in _SERIES)):
        if candidate and candidate in names:
            return Named(names[candidate], "")
    return None


def _plain(said: str) -> str:
    """Without maker, series and board."""
    return _BOARD.sub("", _MAKER.sub("", said))


def by_target(target: str) -> Named | None:
    """The machine for PTX that names `target`, as `sm_90a`; None where that is no target."""
    found = _ARCHITECTURE.fullmatch(re.sub(r"_", "", target.lower()))
    return None if found is None else by_capability(int(found[1][:-1]), int(found[1][-1]))


def by_capability(major: int, minor: int) -> Named:
    """The machine of a compute capability, or of the nearest."""
    asked = f"{major}.{minor}"
    if asked in PREFERRED:
        return Named(PREFERRED[asked], _of_several(asked))
    own = [cc for cc in PREFERRED if int(cc.split(".")[0]) == major]
    if own:
        taken = min(own, key=lambda cc: (abs(int(cc.split(".")[1]) - minor), cc))
    elif major in ALIKE:
        taken = ALIKE[major]
    else:
        taken = min(PREFERRED, key=lambda cc: (abs(float(cc) - major - minor / 10), -float(cc)))
    return Named(PREFERRED[taken], f"no machine has capability {asked}; {taken} is the nearest")


def _of_several(cc: str) -> str:
    """What there is to say where others have the capability, too."""
    others = [name for name in SHARED.get(cc, ()) if name != PREFERRED[cc]]
    return f"of capability {cc}, as {' and '.join(others)}" if others else f"of capability {cc}"


SHARED = {
    "2.0": ("c2075", "gtx480"), "7.5": ("rtx2060", "t4"), "8.9": ("l40s", "rtx4090"), "9.0": ("h100", "h200"),
}  # fmt: skip
"""Machines that have a capability in common."""


def near(text: str, machines: list[str]) -> list[str]:
    """Names of machines that are spelled much like `text`, the nearest first."""
    said = re.sub(r"[\s_\-]+", "", text.lower())
    return get_close_matches(_plain(said) or said, machines, n=3, cutoff=_CLOSE)
