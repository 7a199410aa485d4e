"""Assembles samples by ptxas for several architectures, and keeps the cubins with what `ptxas -v` said of them.

    python -m tests.benchmarks.transform.judge.record

Run where ptxas is installed. The cubins, without lines and debug sections, go to tests/data/cubins/, compressed;
`said.json` there has for each the bytes of spill stores and loads of every function, by the name that ptxas prints.
"""

from __future__ import annotations

import json
import lzma
import re
import subprocess
import tempfile
from pathlib import Path

from tests.benchmarks.transform.judge import ptxas
from tests.support.paths import DATA, sample_file

CUBINS = DATA / "cubins"
CAP = 24
SAMPLES = ("FDTD3d", "particles", "particles_256")
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100")
_LINES = re.compile(r"^\s*\.(loc|file)\s.*$", re.MULTILINE)
_DEBUG = re.compile(r"^\s*\.section\s+\.debug\w*\s*\{[^}]*\}", re.MULTILINE)


def main() -> None:
    said: dict[str, dict[str, int]] = {}
    for sample in SAMPLES:
        text = _DEBUG.sub("", _LINES.sub("", sample_file(f"{sample}.ptx").read_text()))
        for arch in ARCHITECTURES:
            capped = ptxas.capped(ptxas.retargeted(text, arch), CAP)
            with tempfile.TemporaryDirectory() as work:
                source, out = Path(work) / "in.ptx", Path(work) / "out.cubin"
                source.write_text(capped)
                command = ["ptxas", "-v", f"-arch={arch}", str(source), "-o", str(out)]
                printed = subprocess.run(command, capture_output=True, text=True, check=True).stderr
                (CUBINS / f"{sample}.{arch}.cubin.xz").write_bytes(lzma.compress(out.read_bytes(), preset=9))
            said[f"{sample}.{arch}"] = dict(sorted(ptxas.said_spills(printed).items()))
    (CUBINS / "said.json").write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main()
