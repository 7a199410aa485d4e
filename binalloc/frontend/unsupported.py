"""This module lists every form of PTX that binalloc refuses. The table in PTX.md is made from here.

A form is refused by its key. A form with `ops`, `mods` or `specials` is found by the text of an instruction, before the
instruction is lowered. The code that meets any other form names it. Text that is refused without a form is not valid
PTX.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from binalloc.errors import MalformedInput


@dataclass(frozen=True)
class Form:
    """A form is one kind of PTX that is refused.

    It applies to instructions with one of `ops` (any, where empty) and one of `mods` (any, where empty), and to reads
    of the special registers whose names begin with one of `specials`.
    """

    key: str
    forms: str  #: its name in PTX.md
    reason: str  #: the reason, for the message
    instead: str = ""  #: what the user can do
    ops: frozenset[str] = frozenset()
    mods: frozenset[str] = frozenset()
    specials: tuple[str, ...] = ()


class NotSupported(MalformedInput):
    """`NotSupported` refuses PTX that binalloc does not import. The remedy of the error is the form's."""

    def __init__(
        self, form: Form, message: str, *, file: str | None, place: str, found: object, expected: object = None
    ) -> None:
        super().__init__(
            message, file=file, place=place, found=found, expected=expected, remedy=form.instead or None
        )  # fmt: skip
        self.form = form  #: the row of FORMS


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NARROW = "e4m3 e5m2 e2m1x2 e2m3x2 e3m2x2 ue8m0x2 e4m3x4 e5m2x4 e2m1x4 e2m3x4 e3m2x4 s2f6x2 ue4m3"
_REBUILD = "Compile the source without it, or for an older architecture (nvcc -arch=sm_75)."

FORMS: tuple[Form, ...] = (
    # -- instructions, by opcode and modifiers; the first that fits
    Form("tensor", "`wmma`, `mma`, `wgmma`, `tcgen05`, `movmatrix`, `tensormap`; `ldmatrix` and `stmatrix` of "
         "`.m16n16`, `.m8n16` and `.m16n8`", "tensor instructions are not supported", _REBUILD,
         _set("wmma mma wgmma tcgen05 movmatrix tensormap")),
    Form("tensor", "", "", "", _set("ldmatrix stmatrix"), _set("m16n16 m8n16 m16n8")),
    Form("async", "`cp` with `.bulk`, `.reduce`, `.mbarrier` or a tensor; `mbarrier`, `st.async`, `st.bulk`, "
         "`red.async`",
         "copies in bulk and barriers in memory are not supported", _REBUILD, _set("cp"),
         _set("bulk reduce mbarrier")),
    Form("async", "", "", "", _set("mbarrier")),
    Form("async", "", "", "", _set("st red"), _set("async bulk")),
    Form("cluster", "`barrier.cluster`, `mapa`, `getctarank`, `clusterlaunchcontrol`, `.shared::cluster`, "
         "`%cluster...`; `.reqnctapercluster`, `.explicitcluster`, `.blocksareclusters`",
         "clusters of blocks are not supported", _REBUILD, _set("mapa getctarank clusterlaunchcontrol"),
         specials=("%cluster", "%nclusterid", "%is_explicit_cluster")),
    Form("cluster", "", "", "", _set("barrier"), _set("cluster")),
    Form("cluster", "", "", "", _set("ld st atom red cp cvta isspacep ldmatrix stmatrix"), _set("shared::cluster")),
    Form("multimem", "`multimem`", "memory of several devices at one address is not supported", _REBUILD,
         _set("multimem")),
    Form("surface-format", "`sust.p`", "PTX does not say to the bit how values become elements of the surface",
         "Use sust.b, with x in bytes.", _set("sust"), _set("p")),
    Form("texture-query", "`txq` of `.num_samples` and of samplers (`.filter_mode`, `.addr_mode_0` and others), `suq` "
         "of `.memory_layout`, `istypep.samplerref`", "PTX does not say what numbers are answered",
         "Pass it as an argument.", _set("txq"),
         _set("num_samples filter_mode force_unnormalized_coords addr_mode_0 addr_mode_1 addr_mode_2")),
    Form("texture-query", "", "", "", _set("suq"), _set("memory_layout")),
    Form("texture-query", "", "", "", _set("istypep"), _set("samplerref")),
    Form("multisampled", "`tex.2dms`, `.a2dms`", "multisampled textures are not supported",
         "Use one texture for each sample.", _set("tex"), _set("2dms a2dms")),
    Form("narrow", "`.e2m1x2`, `.ue8m0x2`, fours of small floats (`.e4m3x4`) and other formats of sm_100",
         "floats of so few bits are not supported", "Compute in f32.", frozenset(), _set(_NARROW)),
    Form("stochastic", "`cvt` with `.rs`", "stochastic rounding is not supported", "Round by .rn.", _set("cvt"),
         _set("rs")),
    Form("oob", "`fma` with `.oob`", "operands that may be out of bounds are not supported", "Compute without .oob.",
         _set("fma"), _set("oob")),
    Form("texture-half", "`tex` with `.f16` or `.f16x2`", "textures of halves are not supported",
         "Fetch .f32 and convert.", _set("tex"), _set("f16 f16x2")),
    Form("atomic-vector", "`atom` and `red` on vectors with `.min` or `.max`",
         "minima and maxima of halves are no atomics here", "Use a loop around atom.cas of the word."),
    Form("wide", "`atom` with `.b128`", "there are no atomics of 128 bits", "Use two of 64 bits, or a lock.",
         _set("atom"), _set("b128")),
    Form("setmaxnreg", "`setmaxnreg`", "a thread's registers cannot change in number", _REBUILD, _set("setmaxnreg")),
    Form("alloca", "`alloca`, `stacksave`, `stackrestore`", "local memory of a varying size is not supported",
         "Use an array of the greatest size.", _set("alloca stacksave stackrestore")),
    # -- special registers
    Form("environment", "`%envreg0`, `%envreg3` to `%envreg31`, and `%envreg1`, `%envreg2` elsewhere than in a `mov` "
         "of 32 bits",
         "environment registers hold what the driver puts there", "", specials=("%envreg",)),
    Form("counters", "`%pm0` to `%pm7`, `%pm0_64` to `%pm7_64`", "kernels read no performance counters",
         "The report of `binalloc run` has the figures.", specials=("%pm",)),
    Form("shared-layout", "`%aggr_smem_size`, `%reserved_smem_offset_...`",
         "no shared memory is reserved for the system", specials=("%aggr_smem_size", "%reserved_smem")),
    Form("graph", "`%current_graph_exec`", "graphs of launches are not supported", specials=("%current_graph_exec",)),
    # -- calls, addresses, declarations, limits: named where they are met
    Form("indirect", "`call` of a register where no function with such arguments and results has its address taken in "
         "the file", "there is no function that it could reach",
         "Define the function in this file, or call it by its name."),
    Form("other-file", "`call` of a `.func` without a body: a function of another file",
         "it is declared but not defined in this file",
         "Give the file that defines it, too: import-ptx links the PTX of several files (nvcc -rdc=true -ptx writes "
         "one for each source). Else #include the callee's source."),
    Form("device-runtime", "`call` of a `.func` without a body whose name begins with `cuda`: CUDA's device runtime",
         "kernels start no others here, and decide on no graphs",
         "Launch from the host: launch files have sequences of launches, loops and conditions."),
    Form("function-address", "`mov` of the name of a kernel, or of a function without a body",
         "only functions with a body have an address here",
         "Define the function in this file, or give the file that does."),
    Form("label-address", "`mov` of a label's name", "a label's address is not a value here",
         "Use `brx.idx` with a list of labels."),
    Form("external", "`.extern` variables of another file", "it is declared but not defined in this file",
         "Give the file that defines it, too: import-ptx links the PTX of several files (nvcc -rdc=true -ptx writes "
         "one for each source)."),
    Form("object-address", "`mov` of a `.samplerref` variable", "samplers have no address",
         "Use textures with the launch file's filter and addressing."),
    Form("initialiser", "initialisers with the address of a variable in `.shared`, or of what a file defines that is "
         "not given", "only addresses of variables in .global and .const and of functions that are defined can be "
         "initial values",
         "Store the address when the kernel runs, or use a .global variable."),
    Form("sampler", "`tex` with a sampler of its own (`.target texmode_independent`)", "samplers are not supported",
         "Compile for unified textures; the launch file says how a texture is filtered."),
    Form("gradient", "`tex.grad` of `.cube` and `.acube`", "how the gradients of a direction fall on a face is not "
         "stated", "Use tex.level."),
    Form("texture-operands", "`tex` with a depth to compare with",
         "PTX does not say how a texture is set to compare, nor CUDA", "Compare what is fetched."),
    Form("outside-register", "registers declared outside of functions, where a function reads one that another may "
         "have written", "functions share no registers", "Pass the value as a parameter."),
    Form("carry", "`addc`, `subc`, `madc` behind no instruction with `.cc`",
         "the condition code is read, but no instruction with .cc comes before", "Set it by add.cc."),
    Form("old-rounding", "`mad.f32` and others without the rounding or `.approx` that they name since PTX 1.4 (targets "
         "sm_10 to sm_13)", "PTX before 1.4 for sm_1x is not supported: what it computes depends on the machine",
         "Compile again for sm_20 or newer."),
    Form("map-doubles", "`.target map_f64_to_f32` where doubles are used", "doubles as f32 are not supported",
         "Compile for a target with doubles."),
    Form("predicate-parameter", "`.func` parameters of type `.pred`", "parameters are no predicates",
         "Pass a .u32 that is 0 or 1."),
    Form("variadic", "`.func` with a parameter of no size (variable argument lists)",
         "variable argument lists are not supported", "Pass an array."),
    Form("attribute", "`.func` with `.attribute`", "attributes of functions are not supported", _REBUILD),
    Form("too-large", "more than 64 KB of `.const` variables or parameters, 16 MB of shared or local memory, 128 MB of "
         "`.global` variables", "it does not fit", "Pass large data as buffers."),
    Form("other", "opcodes, modifiers, types and numbers of operands that stand neither in PTX.md nor in what the "
         "front end knows: the message says which", "the front end does not know them", _REBUILD),
)  # fmt: skip
"""The forms in the order of PTX.md. A further row with the key of an earlier one adds a condition and has no text of
its own."""

BY_KEY: dict[str, Form] = {}
for _form in FORMS:
    BY_KEY.setdefault(_form.key, _form)


@lru_cache(maxsize=4096)
def of_instruction(op: str, mods: tuple[str, ...]) -> Form | None:
    """Return the form that refuses an instruction by its opcode and modifiers, if any."""
    for form in FORMS:
        if not form.ops and not form.mods:
            continue
        said = (not form.ops or op in form.ops) and (not form.mods or not form.mods.isdisjoint(mods))
        if said:
            return BY_KEY[form.key]
    return None


def of_special(name: str) -> Form:
    """Return the form that refuses a special register. It is called for registers without a counterpart in Loom."""
    return next((form for form in FORMS if form.specials and name.startswith(form.specials)), BY_KEY["other"])


def table() -> str:
    """Return the table for PTX.md."""
    rows = [f"| {form.forms} | {form.reason} | {form.instead} |" for form in BY_KEY.values()]
    return "\n".join(["| PTX | why | instead |", "|---|---|---|", *rows])
