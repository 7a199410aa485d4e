"""A program's folder built twice: for the host by g++ against the headers here, and to PTX by nvcc, untouched.

    python -m tests.foreign.build FOLDER --out DIR --compile main.cu other.c --ptx main.cu [-I DIR] [-D NAME] [-l m]

DIR then has `program`, a `.ptx` for each source of --ptx, and `source/`, what g++ compiled.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path

from tests.foreign.prepare import prepare_tree

HERE = Path(__file__).parent / "include"
STANDING_FOR = (
    "cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h", "vector_types.h", "driver_types.h",
    "math_constants.h", "builtin_types.h", "sm_20_atomic_functions.h", "device_functions.h", "vector_functions.h",
    "channel_descriptor.h", "cuda_profiler_api.h", "texture_fetch_functions.h", "cuda_texture_types.h",
    "host_defines.h", "device_atomic_functions.h", "sm_11_atomic_functions.h", "sm_12_atomic_functions.h",
    "texture_types.h", "sm_30_intrinsics.h", "math_functions.h", "cuda_device_runtime_api.h",
)  # fmt: skip
"""Headers of CUDA's that have nothing to say once cuda_cpu.h has been included."""

GXX = [
    "-std=gnu++17", "-O2", "-w", "-fpermissive", "-ffp-contract=off", "-fno-strict-aliasing", "-no-pie", "-fcommon",
    # A function without the `return` that it should have returns, as C's do; g++ would run on into the next one.
    "-fsanitize=unreachable", "-fsanitize-undefined-trap-on-error",
]  # fmt: skip
GCC = ["gcc", "-O2", "-w", "-ffp-contract=off", "-fcommon", "-DcudaSetDevice(device)=0", "-x", "c"]
NVCC = ["-ptx", "-arch=sm_75", "-fmad=false", "-w", "-std=c++17", "-include", str(HERE / "nvcc_compat.h")]


def build(
    folder: Path, out: Path, compile_: list[str], ptx: list[str], *, include: tuple[str, ...] = (),
    define: tuple[str, ...] = (), library: tuple[str, ...] = (), flags: tuple[str, ...] = (),
    ptx_flags: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """Build a program. folder: its own. compile_, ptx: files relative to it; a host file that calls the runtime has
    `:cuda` behind its name, and is compiled as a `.cu`. include: folders, too; those outside of it are absolute.
    CalledProcessError with the compiler's own words on stderr."""
    source, shim = out / "source", out / "shim"
    prepare_tree(folder, source)
    shim.mkdir(parents=True, exist_ok=True)
    for name in STANDING_FOR:
        (shim / name).write_text("#pragma once\n")
    places, untouched = [], []
    for i, name in enumerate(include):
        inside = not Path(name).is_absolute()
        if not inside:
            prepare_tree(Path(name), out / f"include{i}")
        places += ["-I", str(source / name if inside else out / f"include{i}")]
        untouched += ["-I", str(folder / name if inside else name)]
    # Behind the headers, which a program's short names would break.
    (out / "defines.h").write_text("".join(f"#define {d.replace('=', ' ', 1)}\n" for d in define))
    defines = ["-include", str(out / "defines.h")]
    objects = []
    for name in compile_:
        name, _, language = name.partition(":")
        path = source / name
        where = ["-I", str(HERE), "-I", str(shim), "-I", str(path.parent), "-I", str(source), *places]
        as_c = path.suffix == ".c" and language != "cuda"
        kind = GCC if as_c else ["g++", *GXX, "-x", "c++", "-include", str(HERE / "cuda_cpu.h")]
        made = out / (name.replace("/", "_") + ".o")
        _run([*kind, *flags, *where, *defines, "-c", str(path), "-o", str(made)])
        objects.append(str(made))
    _run(["g++", "-no-pie", *objects, "-o", str(out / "program"), *[f"-l{x}" for x in library], "-lm"])
    for name in ptx:
        made = out / (Path(name).stem + ".ptx")
        where = ["-I", str(folder), "-I", str((folder / name).parent), *untouched]
        _run(["nvcc", *NVCC, *ptx_flags, *where, *defines, str(folder / name), "-o", str(made)])


def _run(command: list[str]) -> None:
    subprocess.run(["nice", "-n", "5", *command], check=True, env=os.environ | {"LC_ALL": "C"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--compile", nargs="+", required=True)
    parser.add_argument("--ptx", nargs="+", required=True)
    parser.add_argument("-I", "--include", action="append", default=[])
    parser.add_argument("-D", "--define", action="append", default=[])
    parser.add_argument("-l", "--library", action="append", default=[])
    parser.add_argument("--flag", action="append", default=[], help="of g++")
    parser.add_argument("--ptx-flag", action="append", default=[], help="of nvcc")
    a = parser.parse_args()
    build(
        a.folder.resolve(), a.out.resolve(), a.compile, a.ptx, include=tuple(a.include), define=tuple(a.define),
        library=tuple(a.library), flags=tuple(a.flag), ptx_flags=tuple(a.ptx_flag),
    )  # fmt: skip


if __name__ == "__main__":
    main()
