"""ptxas as a judge: PTX under a register cap, assembled once per content, and what it spilled.

Caps go into the text as `.maxnreg` on every entry: a `.maxntid` makes ptxas ignore `--maxrregcount`, and sm_75 raises
caps below 24 to 24. `.minnctapersm` is a cap of its own and is taken out; block sizes stay.
"""

from __future__ import annotations

import functools
import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.benchmarks.transform.judge.cubin import NotACubin, read_cubin, registers
from tests.benchmarks.transform.judge.sass import Spilled, spilled

ENTRY = re.compile(r"(\.entry\s+[\w$%]+\s*(?:\([^)]*\))?)([^{;]*)\{")
TARGET = re.compile(r"^(\s*\.target\s+)sm_(\d+)", re.MULTILINE)
LOWEST = 75
SMEM = '\n.pragma "enable_smem_spilling";'
LIMIT_S = 300


def available() -> bool:
    return shutil.which("ptxas") is not None


def capped(text: str, cap: int, smem: bool = False) -> str:
    """The PTX with each entry held to `cap` registers; smem: with ptxas' spilling to shared memory asked for."""

    def entry(match: re.Match[str]) -> str:
        kept = re.sub(r"\.(maxnreg|minnctapersm)\s+\d+", "", match[2])
        return f"{match[1]}{kept.rstrip()}\n.maxnreg {cap}\n{{{SMEM if smem else ''}"

    return ENTRY.sub(entry, text)


def retargeted(text: str, arch: str) -> str:
    """The PTX for another architecture, `sm_90` for one; features that the text names behind its own stay."""
    return re.sub(r"^(\s*\.target\s+)sm_\d+[a-z]?", rf"\g<1>{arch}", text, count=1, flags=re.MULTILINE)


def said_spills(printed: str) -> dict[str, int]:
    """What `ptxas -v` has printed: function -> bytes of spill stores and loads, of those that spill."""
    found = re.findall(
        r"Function properties for (\S+)\s.*?(\d+) bytes spill stores, (\d+) bytes spill loads", printed, re.DOTALL
    )
    return {name: int(stores) + int(loads) for name, stores, loads in found if stores != "0" or loads != "0"}


def architecture(text: str) -> str:
    """The target that the text names, at least the oldest that ptxas 13 knows."""
    match = TARGET.search(text)
    return f"sm_{max(LOWEST, int(match[2]) if match else 0)}"


@functools.cache
def version() -> str:
    return subprocess.run(["ptxas", "--version"], capture_output=True, text=True, check=True).stdout


def assemble(text: str) -> bytes | str:
    """The cubin, or ptxas' words on why there is none. Kept in the temporary folder under the hash of all input."""
    arch = architecture(text)
    key = hashlib.sha256("\0".join((version(), arch, text)).encode()).hexdigest()
    folder = Path(tempfile.gettempdir()) / "binalloc-against-ptxas"
    folder.mkdir(exist_ok=True)
    kept, refused = folder / f"{key}.cubin", folder / f"{key}.txt"
    if kept.exists():
        return kept.read_bytes()
    if refused.exists():
        return refused.read_text()
    with tempfile.TemporaryDirectory(dir=folder) as work:
        source, out = Path(work) / "in.ptx", Path(work) / "out.cubin"
        source.write_text(text)
        command = ["ptxas", f"-arch={arch}", str(source), "-o", str(out)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return f"ptxas took more than {LIMIT_S} s"
        if done.returncode == 0:
            out.replace(kept)
            return kept.read_bytes()
        reason = (done.stderr.strip() or f"exit {done.returncode}").splitlines()[0].replace(work, "")
        refused.write_text(reason)
        return reason


def spills(text: str, cap: int, smem: bool = False) -> dict[str, Spilled] | str:
    """What ptxas spilled in each kernel of the text, or why it assembles none."""
    data = assemble(capped(text, cap, smem))
    if isinstance(data, str):
        return data
    try:
        codes, counts = read_cubin(data), registers(data)
    except NotACubin as error:
        return str(error)
    found: dict[str, Spilled] = {}
    for match in ENTRY.finditer(text):
        name = match[1].split("(")[0].split()[1]
        if name in codes:
            found[name] = spilled(codes, name)
            found[name].registers = counts.get(name, 0)
    return found
