"""This module has the shapes of `import-ptx`."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import OnMachine, Versioned
from binalloc.report.shapes.says import says


class LinkedFile(TypedDict):
    """This object describes a PTX text that was linked."""

    file: Annotated[str, says("path of the file with the text, or an entry of a file as `--list` names it")]
    sha256: Annotated[str, says("SHA-256 of the text, as in the provenance of the binary")]


class ImportedKernel(TypedDict):
    """This object describes a kernel that was imported."""

    name: Annotated[str, says("name of the kernel")]
    register_demand: Annotated[int, says("registers per thread without any limit, callees included")]
    max_live: Annotated[int, says("most 32-bit values live at once, callees included")]
    instructions: Annotated[int, says("instructions of the kernel and its callees")]
    shared_bytes: Annotated[int, says("static shared memory per block, in bytes")]
    local_bytes: Annotated[int, says("local memory per thread, in bytes")]
    calls: Annotated[list[str], says("names of the functions in its call graph")]
    registers: Annotated[int, says("registers per thread that the binary reserves")]
    predicates_spilled: Annotated[int, says("predicates that are not in one of the seven predicate registers")]
    spilled: Annotated[
        int,
        says(
            "values spilled to local memory because 255 registers do not hold them; with recursion in the call graph, "
            "because the registers of a thread of the machine do not"
        ),
    ]


class IgnoredDirective(TypedDict):
    """This object describes a directive or pragma that has no effect on the binary."""

    file: Annotated[str, says("file that has the directive")]
    text: Annotated[str, says("the directive")]
    line: Annotated[int, says("line of the file at which it occurs first")]
    count: Annotated[int, says("how often it occurs in the file")]


class RefusalJson(TypedDict):
    """This object is a reason why a kernel cannot be imported."""

    function: Annotated[str, says("the kernel, or the function in its call graph that the reason is about")]
    file: Annotated[str | None, says("file of the function; null where it is not known")]
    place: Annotated[str | None, says("line and column in the file; null where they are not known")]
    message: Annotated[str, says("what cannot be imported")]
    found: Annotated[str | None, says("what was at that place; null where `message` says it")]
    expected: Annotated[str | None, says("what should have been at that place; null where nothing else would do")]
    remedy: Annotated[str | None, says("what the user can do; null where there is no advice")]


class KernelNotImported(TypedDict):
    """This object describes a kernel that was left out."""

    kernel: Annotated[str, says("name of the kernel")]
    refusals: Annotated[list[RefusalJson], says("reasons why the kernel cannot be imported")]


class CodeEntry(TypedDict):
    """An entry is a piece of code in an object, a program, a library or a fat binary."""

    file: Annotated[str, says("path of the object, program, library or fat binary")]
    entry: Annotated[int, says("number of the entry in the file, from 1")]
    unit: Annotated[int, says("number of the entry's translation unit in the file, from 1")]
    member: Annotated[str | None, says("member of the archive that has the entry; null where the file is no archive")]
    section: Annotated[str | None, says("ELF section that has the entry; null where the file is no ELF file")]
    kind: Annotated[str, says("`ptx`, `cubin`, `lto`, or `kind N` for another kind of number N")]
    architecture: Annotated[str, says("architecture that the code is for, such as `sm_75`")]
    bits: Annotated[int, says("bits of an address: 32 or 64")]
    compression: Annotated[str, says("`none`, `lz4`, `zstd`, or `unknown`")]
    bytes: Annotated[int, says("size of the entry in the file, in bytes")]
    unpacked_bytes: Annotated[int, says("size of the entry without compression, in bytes")]
    name: Annotated[str | None, says("name of the source; null where none is recorded")]
    options: Annotated[str | None, says("options of ptxas; null where none are recorded")]
    debug: Annotated[bool, says("whether the code was compiled for a debugger")]
    relocatable: Annotated[bool, says("whether the code still has to be linked (`-rdc=true`)")]


class ImportFields(TypedDict):
    """These fields describe an import."""

    output: Annotated[str, says("path of the binary")]
    bytes: Annotated[int, says("size of the binary in bytes")]
    inputs: Annotated[list[LinkedFile], says("PTX texts that were linked")]
    kernels: Annotated[list[ImportedKernel], says("kernels of the binary")]
    ignored: Annotated[
        list[IgnoredDirective],
        says("directives and pragmas without effect ([PTX.md](../frontend/PTX.md#ignored-and-said-so))"),
    ]
    left_out: Annotated[
        list[KernelNotImported],
        says("kernels that were left out; empty without `--skip-unsupported`"),
    ]


class ImportJson(Versioned, ImportFields, OnMachine):
    """`import-ptx` prints this object."""


class EntriesFields(TypedDict):
    """This field has the pieces of code in files."""

    entries: Annotated[list[CodeEntry], says("pieces of code in the files")]


class EntriesJson(Versioned, EntriesFields):
    """`import-ptx --list` prints this object."""
