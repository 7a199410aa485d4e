"""These are the shapes of `import-ptx`."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import OnMachine, Versioned
from binalloc.report.shapes.says import says


class LinkedFile(TypedDict):
    """A file that was linked."""

    file: Annotated[str, says("where PTX that was linked came from: a file, or an entry of one as `--list` names it")]
    sha256: Annotated[str, says("hash of its text, as in the binary's provenance")]


class ImportedKernel(TypedDict):
    """A kernel that was imported."""

    name: Annotated[str, says("a kernel")]
    register_demand: Annotated[int, says("registers per thread without any limit, all it calls included")]
    max_live: Annotated[int, says("most 32-bit values that live at once")]
    instructions: Annotated[int, says("words of the kernel and all it calls")]
    shared_bytes: Annotated[int, says("static shared memory per block")]
    local_bytes: Annotated[int, says("local memory per thread")]
    calls: Annotated[list[str], says("names of the functions it reaches")]
    registers: Annotated[int, says("what the binary reserves")]
    predicates_spilled: Annotated[int, says("predicates kept outside the seven")]
    spilled: Annotated[
        int,
        says(
            "values in local memory, since 255 registers (where it reaches recursion, those of a thread of the "
            "machine) do not hold them"
        ),
    ]


class IgnoredDirective(TypedDict):
    """A directive or pragma that nothing comes of."""

    file: Annotated[
        str,
        says(
            "a file with directives or pragmas that nothing comes of ([PTX.md](../frontend/PTX.md#ignored-and-said-so))"
        ),
    ]
    text: Annotated[str, says("such a directive")]
    line: Annotated[int, says("where it stands first")]
    count: Annotated[int, says("how often it is there")]


class RefusalJson(TypedDict):
    """A reason why a kernel cannot be imported."""

    function: Annotated[str, says("it or a function it reaches, in which the reason was found")]
    file: Annotated[str | None, says("the file it stands in")]
    place: Annotated[str | None, says("line and column")]
    message: Annotated[str, says("what cannot be imported")]
    found: Annotated[str | None, says("what was there; null where the message says it")]
    expected: Annotated[str | None, says("what should have been there, or null")]
    remedy: Annotated[str | None, says("what to do, or null")]


class KernelNotImported(TypedDict):
    """A kernel that was left out."""

    kernel: Annotated[str, says("a kernel left out with `--skip-unsupported`")]
    refusals: Annotated[list[RefusalJson], says("what cannot be imported of it")]


class CodeEntry(TypedDict):
    """A piece of code in an object, program, library or fat binary."""

    file: Annotated[str, says("an object, program, library or fat binary")]
    entry: Annotated[int, says("number of a piece of code in it, from 1")]
    unit: Annotated[int, says("number of the translation unit, from 1")]
    member: Annotated[str | None, says("the archive's member that it lies in, or null")]
    section: Annotated[str | None, says("the ELF section, or null")]
    kind: Annotated[str, says("`ptx`, `cubin`, `lto`, or `kind N`")]
    architecture: Annotated[str, says("`sm_75` and so on")]
    bits: Annotated[int, says("32 or 64")]
    compression: Annotated[str, says("`none`, `lz4`, `zstd`, or `unknown`")]
    bytes: Annotated[int, says("bytes in the file")]
    unpacked_bytes: Annotated[int, says("bytes when unpacked")]
    name: Annotated[str | None, says("name of the source, where it is recorded, or null")]
    options: Annotated[str | None, says("options of ptxas that are recorded, or null")]
    debug: Annotated[bool, says("whether it was compiled for a debugger")]
    relocatable: Annotated[bool, says("whether it is to be linked (`-rdc=true`)")]


class ImportFields(TypedDict):
    """The fields of what `import-ptx` prints."""

    output: Annotated[str, says("path of the binary")]
    bytes: Annotated[int, says("its size")]
    inputs: Annotated[list[LinkedFile], says("files that were linked")]
    kernels: Annotated[list[ImportedKernel], says("kernels of the binary")]
    ignored: Annotated[
        list[IgnoredDirective],
        says("directives and pragmas that nothing comes of ([PTX.md](../frontend/PTX.md#ignored-and-said-so))"),
    ]
    left_out: Annotated[list[KernelNotImported], says("kernels left out with `--skip-unsupported`")]


class ImportJson(Versioned, ImportFields, OnMachine):
    """What `import-ptx` prints."""


class EntriesFields(TypedDict):
    """The pieces of code in files."""

    entries: Annotated[list[CodeEntry], says("pieces of code in the files")]


class EntriesJson(Versioned, EntriesFields):
    """What `import-ptx --list` prints."""
