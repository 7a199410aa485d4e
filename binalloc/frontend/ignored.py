"""This module lists every directive and pragma of PTX that an import leaves out of the binary.

The table in PTX.md is made from here. The parser may ignore nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class IgnoredForm:
    """A form is one kind of directive that is ignored."""

    forms: str  #: its name in PTX.md
    why: str  #: why it may be left out


FORMS = {
    "nounroll": IgnoredForm('`.pragma "nounroll"`', "loops are never unrolled here"),
    "frequency": IgnoredForm(
        '`.pragma "frequency N"`', "how often code runs is estimated from loops, or read off a profile"
    ),
    "used_bytes_mask": IgnoredForm('`.pragma "used_bytes_mask M"`', "a load is done whole, as it is written"),
    "smem-place": IgnoredForm('`.pragma "enable_smem_spilling"` outside of a kernel\'s body',
                       "ptxas refuses it there; in the body it is kept"),
    "pragma": IgnoredForm("`.pragma` of any other string", "PTX gives it no meaning; ptxas, too, goes on without it"),
    "again": IgnoredForm("`.maxnreg`, `.minnctapersm`, `.maxntid` and `.reqntid` that are given again",
                  "the last one counts, as in ptxas"),
    "beside": IgnoredForm("`.maxntid` beside a `.reqntid` of no more threads",
                   "a block is what `.reqntid` says; ptxas refuses the two together"),
    "min-blocks": IgnoredForm("`.minnctapersm` of a kernel with neither `.maxntid` nor `.reqntid`",
                       "it bounds nothing, as in ptxas; the binary has it"),
    "max-blocks": IgnoredForm("`.maxnctapersm`", "PTX 2.0 removed it, and ptxas refuses it"),
    "cluster-rank": IgnoredForm(
        "`.maxclusterrank`", "there are no clusters of blocks; those that need one are refused"
    ),
    "abi": IgnoredForm("`.abi_preserve`, `.abi_preserve_control`", "there is no calling convention"),
    "section": IgnoredForm("`.section`", "debug data; source lines come from `.loc`"),
    "debug": IgnoredForm("`.target` with `debug`", "nothing is left out for speed that a debugger would miss"),
    "placement": IgnoredForm(
        "`.attribute(.managed)`, `.attribute(.unified)`", "the host keeps a variable where it likes"
    ),
    "texture-state": IgnoredForm("initial values of `.texref`, `.samplerref` and `.surfref` variables",
                          "the launch says how large textures and surfaces are and how they are filtered"),
    "pointer": IgnoredForm("`.ptr` of parameters", "a promise of where a pointer leads, which is not used"),
}  # fmt: skip
"""The forms by key, in the order of PTX.md."""


@dataclass(frozen=True)
class Ignored:
    """An ignored directive is one in the text that the import leaves out."""

    key: str  #: a key of FORMS
    text: str  #: the directive as messages quote it, `.pragma "nounroll"`
    line: int  #: line of the text, from 1


@dataclass(frozen=True)
class IgnoredText:
    """An ignored text sums up the ignored directives of one file that read the same."""

    file: str
    text: str
    line: int  #: line where it occurs first, from 1
    count: int  #: how often it occurs


def summed(path: str, found: Sequence[Ignored]) -> list[IgnoredText]:
    """Return one row for each text, in the order of the lines where they occur first."""
    lines: dict[str, list[int]] = {}
    for one in found:
        lines.setdefault(one.text, []).append(one.line)
    rows = [IgnoredText(path, text, min(where), len(where)) for text, where in lines.items()]
    return sorted(rows, key=lambda row: (row.line, row.text))


def sentence(texts: Sequence[IgnoredText]) -> str:
    """Return the ignored directives of one file on one line: `.pragma "nounroll" (line 80, 3 times), .maxclusterrank
    (line 4)`."""
    return ", ".join(f"{t.text} (line {t.line}{f', {t.count} times' if t.count > 1 else ''})" for t in texts)


def table() -> str:
    """Return the table for PTX.md."""
    rows = [f"| {form.forms} | {form.why} |" for form in FORMS.values()]
    return "\n".join(["| PTX | why it may be left out |", "|---|---|", *rows])
